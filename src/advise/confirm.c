/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer against what is there: the count in use now beside the
 * recommended one, and a service that ran on beside one just started.
 */
#include "advise/inside.h"

#include <math.h>

#include "stat/interval.h"

/* The undisturbed window of a setting in a block of the race, or NULL. */
static const struct sz_visit *in_block(const struct sz_sweep *sweep, size_t setting, unsigned block)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting == setting && visit->block == block &&
		    visit->purpose == SZ_FOR_RACE && !visit->window.disturbed)
			return visit;
	}
	return NULL;
}

/* The ascent goes upwards, so it is no pair: what drifts would look like gain. */
static unsigned gather_pairs(const struct sz_sweep *sweep, size_t current, double *before,
			     double *after)
{
	unsigned pairs = 0;
	for (size_t i = 0; i < sweep->visit_count && pairs < SZ_PAIRS_MAX; i++) {
		const struct sz_visit *visit = &sweep->visits[i], *other;
		if (visit->setting != current || in_block(sweep, current, visit->block) != visit)
			continue;
		other = in_block(sweep, sweep->advice.setting, visit->block);
		if (!other)
			continue;
		before[pairs] = visit->window.score;
		after[pairs++] = other->window.score;
	}
	return pairs;
}

static void confirm(struct sz_sweep *sweep)
{
	struct sz_confirmation *confirmation = &sweep->advice.confirmation;
	struct sz_ratio_interval interval;
	double before[SZ_PAIRS_MAX], after[SZ_PAIRS_MAX];
	size_t current = sz_sweep_current(sweep);
	if (!sweep->advice.recommended || current == sweep->setting_count ||
	    current == sweep->advice.setting || !sz_setting_decides(&sweep->setting[current]))
		return;
	confirmation->pairs = gather_pairs(sweep, current, before, after);
	if (confirmation->pairs == 0)
		return;
	confirmation->ratio = after[0] / before[0];
	confirmation->low = confirmation->high = SZ_NAN;
	if (sz_paired_ratio(before, after, confirmation->pairs, SZ_CONFIDENCE, &interval, NULL) < 0)
		return;
	confirmation->ratio = interval.ratio;
	confirmation->low = interval.low;
	confirmation->high = interval.high;
}

static void compare_with_control(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	advice->control_ratio = advice->control_age_s = SZ_NAN;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose != SZ_FOR_CONTROL || !advice->recommended ||
		    visit->setting != advice->setting || visit->window.disturbed ||
		    isnan(visit->fresh_score))
			continue;
		advice->control_ratio = visit->window.score / visit->fresh_score;
		advice->control_age_s = visit->age_s;
	}
}

void sz_confirm(struct sz_sweep *sweep)
{
	confirm(sweep);
	compare_with_control(sweep);
}
