/* SPDX-License-Identifier: Apache-2.0
 *
 * A fixed piece of work that tells how fast this machine computes at the
 * moment: a neighbour on the same core (SMT), turbo, heat and burst credits
 * change it by tens of percent, and with it every cost that is measured.
 *
 * For this room only.
 */
#ifndef SZ_MEASURE_REFERENCE_H
#define SZ_MEASURE_REFERENCE_H

/* CPU time of the work on this thread, in ms: the least of many short pieces, some
 * ten milliseconds together. Not time on the clock: who else wants the CPU does
 * not change it, how fast the CPU is does. */
double sz_reference_ms(void);

#endif
