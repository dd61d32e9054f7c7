/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing the settings by all their windows, and what to measure next.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "stat/dunnett.h"

static bool was_ascended(const struct sz_sweep *sweep, size_t setting)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		if (sweep->visits[i].setting == setting &&
		    sweep->visits[i].purpose == SZ_FOR_ASCENT)
			return true;
	}
	return false;
}

static bool counts(const struct sz_visit *visit)
{
	return sz_visit_compares(visit) && !visit->window.disturbed;
}

/* A mid-point that the race added, and whose block ended before any of the
 * others was in it (the budget, an interrupt), compares with nothing. It is left
 * out; it must not make the rest incomparable. */
static bool is_lone_newcomer(const struct sz_sweep *sweep, size_t setting)
{
	if (was_ascended(sweep, setting))
		return false;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *own = &sweep->visits[i];
		if (own->setting != setting || !counts(own))
			continue;
		for (size_t k = 0; k < sweep->visit_count; k++) {
			const struct sz_visit *other = &sweep->visits[k];
			if (other->block == own->block && counts(other) &&
			    was_ascended(sweep, other->setting))
				return false;
		}
	}
	return true;
}

int sz_select_setting(const struct sz_sweep *sweep, struct sz_selection *selection,
		      struct sz_err *err)
{
	const struct sz_select_rule rule = {sz_delta(sweep), SZ_CONFIDENCE};
	size_t count = 0;
	sz_autofree struct sz_observation *observations =
		calloc(sweep->visit_count + 1, sizeof(*observations));
	if (!observations)
		return sz_err_nomem(err);
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		const struct sz_setting *setting = &sweep->setting[visit->setting];
		if (!counts(visit) || setting->verdict == SZ_INFEASIBLE ||
		    is_lone_newcomer(sweep, visit->setting))
			continue;
		observations[count++] = (struct sz_observation){visit->block, setting->workers,
								visit->window.score};
	}
	return sz_select(observations, count, &rule, selection, err);
}

/* ln X of a setting's windows that may decide: how many, their mean, and the
 * sum of squares about it. */
static unsigned spread_of(const struct sz_sweep *sweep, size_t setting, double *squares)
{
	unsigned count = 0;
	double mean = 0;
	*squares = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting != setting || !sz_visit_compares(visit) ||
		    visit->window.disturbed)
			continue;
		double before = log(visit->window.score) - mean;
		mean += before / ++count;
		*squares += before * (log(visit->window.score) - mean);
	}
	return count;
}

/* The luck of a block is left in: it cancels where settings are compared, and
 * not where a throughput is told. One spread for all: most have few windows. */
void sz_fill_intervals(struct sz_sweep *sweep)
{
	unsigned windows[SZ_SETTINGS_MAX], df = 0;
	double squares = 0;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		double own;
		windows[i] = sz_setting_decides(&sweep->setting[i]) ? spread_of(sweep, i, &own) : 0;
		if (windows[i] == 0)
			continue;
		squares += own;
		df += windows[i] - 1;
	}
	for (size_t i = 0; i < sweep->setting_count; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		setting->throughput_low_rps = setting->throughput_high_rps = SZ_NAN;
		if (df == 0 || windows[i] == 0)
			continue;
		double half = sz_t_quantile(df, 0.975) * sqrt(squares / df / windows[i]);
		setting->throughput_low_rps = setting->window.throughput_rps * exp(-half);
		setting->throughput_high_rps = setting->window.throughput_rps * exp(half);
	}
}

void sz_copy_verdicts(struct sz_sweep *sweep, const struct sz_selection *selection)
{
	for (size_t i = 0; i < selection->count; i++) {
		const struct sz_candidate *candidate = &selection->candidate[i];
		sweep->setting[sz_setting_index(sweep, candidate->setting)].verdict =
			candidate->verdict;
	}
}

void sz_next_again(struct sz_next *next, unsigned workers)
{
	for (size_t i = 0; i < next->again_count; i++) {
		if (next->again[i] == workers)
			return;
	}
	next->again[next->again_count++] = workers;
}

/* Settings of which no window counts yet, though one could. */
static void add_disturbed(const struct sz_sweep *sweep, struct sz_next *next)
{
	enum { PATIENCE = 4 }; /* windows, after which the machine is simply too noisy */
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->measured && setting->window.disturbed && setting->windows < PATIENCE)
			sz_next_again(next, setting->workers);
	}
}

/* Windows that share no block cannot be compared: one block of all mends it. */
static void add_deciding(const struct sz_sweep *sweep, struct sz_next *next)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (sz_setting_decides(&sweep->setting[i]))
			sz_next_again(next, sweep->setting[i].workers);
	}
}

/* After the ascent alone nothing is known of the noise: repeat what may be
 * the answer, and what stands just below it. A setting far below the best
 * keeps its one window and is judged by the noise of the others. */
static void add_promising(const struct sz_selection *selection, struct sz_next *next)
{
	const double promising = 0.7;
	for (size_t i = 0; i < selection->count; i++) {
		bool below = i + 1 == selection->selected;
		if (below || selection->candidate[i].ratio_to_best >= promising)
			sz_next_again(next, selection->candidate[i].setting);
	}
}

/* It was measured well, and a run that is resumed may give it company. */
static bool compares_with_nothing(const struct sz_sweep *sweep, unsigned workers)
{
	size_t at = sz_setting_index(sweep, workers);
	return sz_setting_decides(&sweep->setting[at]) && is_lone_newcomer(sweep, at);
}

/* Below the selected one a count matters only if it can be as good as the best.
 * Twice the workers do at most twice the work, so between tested neighbours no
 * count does more than its share from the smaller one on. */
static bool could_be_enough(const struct sz_selection *selection, unsigned workers, double delta)
{
	const struct sz_candidate *left = NULL, *right = NULL;
	for (size_t i = 0; i < selection->count; i++) {
		const struct sz_candidate *candidate = &selection->candidate[i];
		if (candidate->setting < workers)
			left = candidate;
		else if (!right)
			right = candidate;
	}
	if (!left || !right || right->setting > selection->candidate[selection->selected].setting)
		return true;
	return left->ratio_to_best * (right->setting - 1) / left->setting >= 1 - delta;
}

/* A mid-point that turned out to be no candidate is not asked for again. */
void sz_next_untested(const struct sz_sweep *sweep, const struct sz_selection *selection,
		      struct sz_next *next)
{
	unsigned untested[SZ_UNTESTED_MAX];
	size_t count = sz_select_untested(selection, untested);
	for (size_t i = 0; i < count; i++) {
		if ((!sz_was_tried(sweep, untested[i]) ||
		     compares_with_nothing(sweep, untested[i])) &&
		    could_be_enough(selection, untested[i], sz_delta(sweep)))
			next->untested[next->untested_count++] = untested[i];
	}
}

static void add_answering(const struct sz_sweep *sweep, struct sz_next *next)
{
	struct sz_selection selection;
	if (sweep->need_rps) {
		add_disturbed(sweep, next);
		sz_next_for_need(sweep, next);
		return;
	}
	if (sz_smallest_is_enough(sweep)) {
		const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
		if (first->windows - first->disturbed < SZ_REPEATS)
			sz_next_again(next, first->workers);
		return;
	}
	add_disturbed(sweep, next);
	if (sz_select_setting(sweep, &selection, NULL) < 0) {
		add_deciding(sweep, next);
		return;
	}
	if (selection.count < 2)
		return;
	if (selection.df == 0) {
		add_promising(&selection, next);
		return;
	}
	unsigned race[SZ_SETTINGS_MAX];
	size_t count = sz_select_race(&selection, race);
	sz_next_untested(sweep, &selection, next);
	/* What is new is measured in one block with what it is compared with. */
	if (next->untested_count) {
		sz_next_again(next, selection.candidate[selection.selected].setting);
		sz_next_again(next, selection.candidate[selection.best].setting);
	}
	for (size_t i = 0; i < count; i++)
		sz_next_again(next, race[i]);
}

/* The answer stands: now the pairs that show what it changes. They come to an
 * end on a noisy machine as well. */
static void add_confirming(const struct sz_sweep *sweep, struct sz_next *next)
{
	const struct sz_advice *advice = &sweep->advice;
	size_t current = sz_sweep_current(sweep);
	if (!advice->recommended || current == sweep->setting_count || current == advice->setting ||
	    !sz_setting_decides(&sweep->setting[current]) ||
	    advice->confirmation.pairs >= SZ_PAIRS ||
	    sweep->setting[current].windows >= 2 * SZ_PAIRS)
		return;
	sz_next_again(next, sweep->setting[current].workers);
	sz_next_again(next, sweep->setting[advice->setting].workers);
}

void sz_advise_next(const struct sz_sweep *sweep, struct sz_next *next)
{
	*next = (struct sz_next){0};
	if (sz_has_nagle_floor(sweep))
		return;
	add_answering(sweep, next);
	if (next->again_count + next->untested_count == 0)
		add_confirming(sweep, next);
}
