/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/reference.h"

#include <math.h>
#include <stdint.h>

#include "base/clock.h"

#define STEPS 1000000 /* a few ms: long beside a timer tick's work, short beside a window */

/* A chain of multiplications, each of which needs the one before: latency
 * bound, so that neither compiler nor CPU can do several at once. */
static double work_ms(uint64_t *state)
{
	uint64_t begun_ns = sz_thread_cpu_ns(), x = *state;
	for (unsigned i = 0; i < STEPS; i++)
		x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + 1;
	*state = x;
	return sz_ns_to_ms(sz_thread_cpu_ns() - begun_ns);
}

double sz_reference_ms(void)
{
	/* volatile: the result is used, so the work is done. */
	static volatile uint64_t sink;
	uint64_t state = sink;
	double least_ms = INFINITY;
	for (unsigned i = 0; i < 3; i++)
		least_ms = fmin(least_ms, work_ms(&state));
	sink = state;
	return least_ms;
}
