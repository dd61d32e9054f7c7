/* SPDX-License-Identifier: Apache-2.0
 *
 * How far the answer carries: the finalists again, with twice the clients.
 */
#include "advise/inside.h"

#include <stdio.h>

/* The undisturbed window of a setting with twice the clients, or NULL. */
static const struct sz_visit *twice(const struct sz_sweep *sweep, size_t setting)
{
	for (size_t i = sweep->visit_count; i-- > 0;) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose == SZ_FOR_TWICE && visit->setting == setting &&
		    !visit->window.disturbed)
			return visit;
	}
	return NULL;
}

static const struct sz_visit *best_other(const struct sz_sweep *sweep, size_t chosen)
{
	const struct sz_visit *best = NULL;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_visit *visit = i == chosen ? NULL : twice(sweep, i);
		if (visit && (!best || visit->window.throughput_rps > best->window.throughput_rps))
			best = visit;
	}
	return best;
}

void sz_judge_reach(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended)
		return;
	const struct sz_visit *chosen = twice(sweep, advice->setting);
	if (!chosen)
		return;
	const struct sz_visit *other = best_other(sweep, advice->setting);
	unsigned workers = sweep->setting[advice->setting].workers;
	if (sz_is_unsaturated(sweep, &chosen->window)) {
		snprintf(advice->reach, sizeof(advice->reach),
			 "also with %u clients nobody queues at %u: the advice holds up to there",
			 chosen->clients, workers);
		return;
	}
	if (!other) {
		snprintf(advice->reach, sizeof(advice->reach),
			 "up to %u clients only: with %u, clients queue at %u", sweep->clients,
			 chosen->clients, workers);
		return;
	}
	double ratio = chosen->window.throughput_rps / other->window.throughput_rps;
	unsigned others = sweep->setting[other->setting].workers;
	if (ratio >= 1.0 - SZ_DELTA)
		snprintf(advice->reach, sizeof(advice->reach),
			 "from %u to %u clients: with %u it gives %.0f %% of what %u workers give",
			 sweep->clients, chosen->clients, chosen->clients, ratio * 100, others);
	else
		snprintf(advice->reach, sizeof(advice->reach),
			 "for about %u clients only: with %u, %u workers give %.2f x as much",
			 sweep->clients, chosen->clients, others, 1.0 / ratio);
}
