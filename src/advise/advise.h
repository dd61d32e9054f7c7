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
