/* SPDX-License-Identifier: Apache-2.0
 *
 * From what was recorded to what it means: which setting, what limits the
 * service, what to beware of. Pure: sees only record structs, wherever they
 * were filled; no I/O, no clock.
 */
#ifndef SZ_ADVISE_ADVISE_H
#define SZ_ADVISE_ADVISE_H

#include "record/record.h"

/* Fill every setting's row from its visits (see record.h) and sweep->advice.
 *
 * Recommended is the smallest setting that is shown to be as fast as the best.
 * Of several that are, it is passed over only when its p99 is shown to be more
 * than 15 % longer than the best of theirs, by the same comparison over the same
 * starts; then the smallest of which that is not shown is taken. So a tail
 * decides between equals when its difference exceeds what it varies by from
 * start to start, and never without repeats: a tail seen once is noise.
 *
 * May be called after every visit: each call starts anew. -1 only when memory
 * is out. */
int sz_advise_sweep(struct sz_sweep *sweep, struct sz_err *err);

/* The settings whose further windows bring the answer nearer, ascending
 * counts of workers, and those not yet tested that could change it. Both may
 * be empty: nothing is left to do. */
struct sz_next {
	unsigned again[SZ_SETTINGS_MAX];
	size_t again_count;
	unsigned untested[SZ_UNTESTED_MAX];
	size_t untested_count;
};
void sz_advise_next(const struct sz_sweep *sweep, struct sz_next *next);

#endif
