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
		if (visit && (!best || visit->window.score > best->window.score))
			best = visit;
	}
	return best;
}

/* "50 clients", or in bursts "2 users". */
static const char *crowd(const struct sz_sweep *sweep, unsigned clients, char text[32])
{
	if (sweep->burst)
		snprintf(text, 32, "%u user%s", clients / sweep->burst,
			 clients == sweep->burst ? "" : "s");
	else
		snprintf(text, 32, "%u clients", clients);
	return text;
}

static void judge_need(struct sz_sweep *sweep, const struct sz_visit *chosen)
{
	double rps = chosen->window.throughput_rps;
	char more[32];
	crowd(sweep, chosen->clients, more);
	snprintf(sweep->advice.reach, sizeof(sweep->advice.reach),
		 "with %s it carries %.1f req/s: %s than is needed", more, rps,
		 rps >= (double)sweep->need_rps ? "no less" : "less");
}

void sz_judge_reach(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended)
		return;
	const struct sz_visit *chosen = twice(sweep, advice->setting);
	if (!chosen)
		return;
	if (sweep->need_rps) {
		judge_need(sweep, chosen);
		return;
	}
	char usual[32], more[32];
	const struct sz_visit *other = best_other(sweep, advice->setting);
	unsigned workers = sweep->setting[advice->setting].workers;
	crowd(sweep, sweep->clients, usual);
	crowd(sweep, chosen->clients, more);
	if (sz_is_unsaturated(sweep, &chosen->window)) {
		snprintf(advice->reach, sizeof(advice->reach),
			 "also with %s nobody queues at %u: the advice holds up to there", more,
			 workers);
		return;
	}
	if (!other) {
		snprintf(advice->reach, sizeof(advice->reach),
			 "for %s; with %s %u worker%s %.1f req/s, and no other count was tried "
			 "with so many",
			 usual, more, workers, workers == 1 ? " gives" : "s give",
			 chosen->window.throughput_rps);
		return;
	}
	double ratio = chosen->window.score / other->window.score;
	unsigned others = sweep->setting[other->setting].workers;
	if (ratio >= 1.0 - sz_delta(sweep))
		snprintf(advice->reach, sizeof(advice->reach),
			 "from %s to %s: with %s it gives %.0f %% of what %u workers give", usual,
			 more, more, ratio * 100, others);
	else
		snprintf(advice->reach, sizeof(advice->reach),
			 "for about %s only: with %s, %u workers give %.2f x as much", usual, more,
			 others, 1.0 / ratio);
}
