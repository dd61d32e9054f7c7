/* SPDX-License-Identifier: Apache-2.0
 *
 * A reproducible random order: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood,
 * OOPSLA 2014) and the Fisher-Yates shuffle. For orders of measuring, not for
 * secrets. Header only.
 */
#ifndef SZ_STAT_SHUFFLE_H
#define SZ_STAT_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sz_random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The modulo's bias is below count / 2^64. */
static inline void sz_shuffle(unsigned *values, size_t count, uint64_t *state)
{
	for (size_t left = count; left > 1; left--) {
		size_t other = (size_t)(sz_random_next(state) % left);
		unsigned kept = values[left - 1];
		values[left - 1] = values[other];
		values[other] = kept;
	}
}

#endif
