/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers that are the same everywhere: splitmix64 (Steele, Lea and
 * Flood, OOPSLA 2014). For simulations in tests.
 */
#ifndef SZ_TESTS_UNIT_STAT_PRNG_H
#define SZ_TESTS_UNIT_STAT_PRNG_H

#include <math.h>
#include <stdint.h>

struct prng {
	uint64_t state; /* any seed */
};

static inline uint64_t prng_next(struct prng *prng)
{
	uint64_t z = prng->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* In (0, 1). */
static inline double prng_uniform(struct prng *prng)
{
	return ((double)(prng_next(prng) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double prng_normal(struct prng *prng)
{
	double radius = sqrt(-2 * log(prng_uniform(prng)));
	return radius * cos(2 * M_PI * prng_uniform(prng));
}

#endif
