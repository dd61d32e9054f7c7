/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings that are equally fast may differ in their tails; advise.h has the
 * rule.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static const struct sz_candidate *find(const struct sz_selection *selection, unsigned workers)
{
	for (size_t i = 0; i < selection->count; i++) {
		if (selection->candidate[i].setting == workers)
			return &selection->candidate[i];
	}
	return NULL;
}

static bool is_accepted(const struct sz_selection *selection, unsigned workers)
{
	const struct sz_candidate *candidate = find(selection, workers);
	return candidate && candidate->verdict == SZ_ACCEPTED;
}

/* Compare the accepted settings by the p99 of their windows. */
static int select_tail(const struct sz_sweep *sweep, const struct sz_selection *speed,
		       struct sz_selection *tail)
{
	const struct sz_select_rule rule = {SZ_TAIL_DELTA, SZ_CONFIDENCE};
	size_t count = 0;
	sz_autofree struct sz_observation *observations =
		calloc(sweep->visit_count + 1, sizeof(*observations));
	if (!observations)
		return -1;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		unsigned workers = sweep->setting[visit->setting].workers;
		if (!sz_visit_compares(visit) || visit->window.disturbed ||
		    isnan(visit->window.latency_p99_ms) || !is_accepted(speed, workers))
			continue;
		observations[count++] = (struct sz_observation){visit->block, workers,
								1 / visit->window.latency_p99_ms};
	}
	return sz_select(observations, count, &rule, tail, NULL);
}

bool sz_weigh_tails(const struct sz_sweep *sweep, struct sz_selection *speed)
{
	struct sz_selection tail;
	size_t smallest = speed->selected, chosen = smallest;
	/* A goal is about the tail already. */
	if (sweep->burst || sweep->goal.ratio > 0 || speed->grade == SZ_GRADE_WEAK ||
	    select_tail(sweep, speed, &tail) < 0)
		return false;
	const struct sz_candidate *found = find(&tail, speed->candidate[smallest].setting);
	if (!found || found->verdict != SZ_INFERIOR)
		return false;
	/* The best of them is not inferior, so there is one. */
	while (found->verdict == SZ_INFERIOR)
		found++;
	while (speed->candidate[chosen].setting != found->setting)
		chosen++;
	/* What lies between is excluded when its tail is. */
	for (size_t i = smallest; i < chosen; i++) {
		const struct sz_candidate *between = find(&tail, speed->candidate[i].setting);
		if (speed->candidate[i].verdict != SZ_INFERIOR && !between)
			speed->grade = SZ_GRADE_NOT_WORSE_SHOWN;
	}
	speed->selected = chosen;
	return true;
}
