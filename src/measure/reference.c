/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/reference.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Short pieces, so that some fall between interrupts and a neighbour's turns:
 * the least of 24 spread by 1 % on an idle machine where that of 3 long ones,
 * as much work in all, spread by 5 %. */
#define STEPS 200000
#define PIECES 24

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

/* Cores of one machine may differ: always the first that we may use. */
static bool move_to_first(cpu_set_t *before)
{
	cpu_set_t first;
	int cpu = 0;
	if (sched_getaffinity(0, sizeof(*before), before) < 0)
		return false;
	while (!CPU_ISSET(cpu, before))
		cpu++;
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	return sched_setaffinity(0, sizeof(first), &first) == 0;
}

double sz_reference_ms(void)
{
	cpu_set_t before;
	bool moved = move_to_first(&before);
	/* volatile: the result is used, so the work is done. */
	static volatile uint64_t sink;
	uint64_t state = sink;
	double least_ms = INFINITY;
	for (unsigned i = 0; i < PIECES; i++)
		least_ms = fmin(least_ms, work_ms(&state));
	sink = state;
	if (moved)
		sched_setaffinity(0, sizeof(before), &before);
	return least_ms;
}
