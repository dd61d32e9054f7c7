/* SPDX-License-Identifier: Apache-2.0
 *
 * From what was recorded to what it means: which setting, what limits the
 * service, what to beware of. Pure: sees only record structs, wherever they
 * were filled; no I/O, no clock.
 */
#ifndef SZ_ADVISE_ADVISE_H
#define SZ_ADVISE_ADVISE_H

#include "record/record.h"

/* Fill the comparison of every measured setting (speed-up, efficiency,
 * saturated) and sweep->advice, from nothing but the measured fields. */
void sz_advise_sweep(struct sz_sweep *sweep);

#endif
