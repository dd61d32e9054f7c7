/* SPDX-License-Identifier: Apache-2.0
 *
 * The recommendation of a sweep.
 *
 * The smallest setting is recommended when the load does not saturate it: a
 * larger one cannot help this load. Otherwise it is the smallest that is shown
 * not to be worse than the best (stat/select.h), graded by how sure that is; or,
 * when so many requests per second are needed, the smallest that carries them.
 *
 * Never the largest number alone: on a plateau that picks at random.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Too many failures, or nothing at all: its throughput is of something else. */
static void judge_errors(struct sz_setting *setting)
{
	const struct sz_window *window = &setting->window;
	double failed = (double)window->errors + (double)window->stale;
	double attempts = (double)window->ok + failed;
	if (window->ok > 0 && failed <= SZ_ERROR_RATIO * attempts)
		return;
	setting->verdict = SZ_INFEASIBLE;
	char how[80] = "";
	if (window->stale > window->errors)
		snprintf(how, sizeof(how), ": kept-alive connections were closed instead");
	else if (window->error_status)
		snprintf(how, sizeof(how), ": the service answers %d%s", window->error_status,
			 window->error_status < 400 ? " without the expected text" : "");
	snprintf(setting->why_infeasible, sizeof(setting->why_infeasible),
		 "%.0f of %.0f requests failed%s", failed, attempts, how);
}

static void judge_goal(const struct sz_sweep *sweep, struct sz_setting *setting)
{
	const struct sz_goal *goal = &sweep->goal;
	if (setting->verdict == SZ_INFEASIBLE || setting->window.goal_rps != 0)
		return;
	setting->verdict = SZ_INFEASIBLE;
	snprintf(setting->why_infeasible, sizeof(setting->why_infeasible),
		 "p%.0f is above %.4g ms at every rate that was tried", goal->ratio * 100,
		 goal->most_ms);
}

static void judge_memory(const struct sz_sweep *sweep, struct sz_setting *setting)
{
	const struct sz_memory_budget *memory = &sweep->advice.memory;
	char needed[SZ_UNIT_TEXT], left[SZ_UNIT_TEXT], limit[SZ_UNIT_TEXT];
	if (setting->verdict == SZ_INFEASIBLE || sz_fits_memory(sweep, setting))
		return;
	setting->verdict = SZ_INFEASIBLE;
	snprintf(setting->why_infeasible, sizeof(setting->why_infeasible),
		 "not enough memory: it takes %s, and other programs leave %s of %s",
		 sz_format_bytes(needed, sz_memory_needed(sweep, setting)),
		 sz_format_bytes(left, (double)(memory->limit_bytes - memory->others_bytes)),
		 sz_format_bytes(limit, (double)memory->limit_bytes));
}

static void compare(struct sz_sweep *sweep)
{
	const struct sz_setting *first = NULL;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		setting->verdict = SZ_UNDECIDED;
		snprintf(setting->why_infeasible, sizeof(setting->why_infeasible), "%s",
			 setting->failure);
		if (setting->failure[0])
			setting->verdict = SZ_INFEASIBLE;
		if (!setting->measured)
			continue;
		judge_errors(setting);
		judge_goal(sweep, setting);
		judge_memory(sweep, setting);
		setting->speedup = setting->efficiency = SZ_NAN;
		setting->saturated = !sz_is_unsaturated(sweep, &setting->window);
		if (setting->verdict == SZ_INFEASIBLE)
			continue;
		if (!first)
			first = setting;
		setting->speedup = setting->window.score / first->window.score;
		setting->efficiency = setting->speedup * first->workers / setting->workers;
	}
}

static const char *plural(unsigned count)
{
	return count == 1 ? "" : "s";
}

/* Why the smallest is enough, whatever the larger ones do. */
static void recommend_unsaturated(struct sz_sweep *sweep, size_t chosen)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_setting *setting = &sweep->setting[chosen];
	unsigned clean = setting->windows - setting->disturbed;
	advice->recommended = true;
	advice->setting = chosen;
	advice->grade = clean >= SZ_REPEATS ? SZ_GRADE_DECIDED : SZ_GRADE_WEAK;
	snprintf(advice->reason, sizeof(advice->reason),
		 "%u worker%s answer%s all %u %s without queueing; the capacity is above %.0f "
		 "req/s, and this load cannot show where it ends",
		 setting->workers, plural(setting->workers), setting->workers == 1 ? "s" : "",
		 sweep->clients, sweep->burst ? "requests of a burst" : "clients",
		 setting->window.throughput_rps);
}

/* What it is compared by, for people. */
static void describe_score(const struct sz_window *window, char *text, size_t size)
{
	if (!isnan(window->goal_rps))
		snprintf(text, size, "%.0f req/s within the goal", window->goal_rps);
	else if (window->rounds)
		snprintf(text, size, "%.0f ms to the slowest first byte", window->burst_ttfb_ms);
	else
		snprintf(text, size, "%.0f req/s", window->throughput_rps);
}

/* Others are as fast; their tails are not as good. */
static void explain_tail(struct sz_sweep *sweep, const struct sz_candidate *chosen,
			 const struct sz_candidate *passed)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_setting *from = &sweep->setting[sz_setting_index(sweep, passed->setting)];
	const struct sz_setting *to = &sweep->setting[sz_setting_index(sweep, chosen->setting)];
	snprintf(advice->reason, sizeof(advice->reason),
		 "%u worker%s as fast, but with a p99 of %.4g ms instead of %.4g ms", from->workers,
		 from->workers == 1 ? " is" : "s are", from->window.latency_p99_ms,
		 to->window.latency_p99_ms);
}

static void recommend_selected(struct sz_sweep *sweep, struct sz_selection *selection)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_candidate *smallest = &selection->candidate[selection->selected];
	bool passed_over = sz_weigh_tails(sweep, selection);
	const struct sz_candidate *chosen = &selection->candidate[selection->selected];
	const struct sz_candidate *best = &selection->candidate[selection->best];
	advice->recommended = true;
	advice->setting = sz_setting_index(sweep, chosen->setting);
	advice->grade = selection->grade;
	advice->range_limited = selection->range_limited;
	char what[64];
	describe_score(&sweep->setting[advice->setting].window, what, sizeof(what));
	if (passed_over)
		explain_tail(sweep, chosen, smallest);
	else if (selection->count == 1)
		snprintf(advice->reason, sizeof(advice->reason),
			 "it is the only one that could be measured, and clients queue at %s",
			 what);
	else if (chosen == best)
		snprintf(advice->reason, sizeof(advice->reason),
			 "no other tested setting is better than its %s", what);
	else
		snprintf(advice->reason, sizeof(advice->reason),
			 "the smallest setting that is as good as the best: %.1f %% of the speed "
			 "of "
			 "%u workers",
			 chosen->ratio_to_best * 100, best->setting);
}

static void recommend_carrying(struct sz_sweep *sweep, const struct sz_setting *chosen)
{
	struct sz_advice *advice = &sweep->advice;
	advice->recommended = true;
	advice->setting = (size_t)(chosen - sweep->setting);
	snprintf(advice->reason, sizeof(advice->reason),
		 "the smallest tested that carries %llu req/s: it gives %.1f",
		 (unsigned long long)sweep->need_rps, chosen->window.throughput_rps);
	if (chosen->throughput_low_rps >= (double)sweep->need_rps) {
		size_t used = strlen(advice->reason);
		snprintf(advice->reason + used, sizeof(advice->reason) - used, ", at least %.1f",
			 chosen->throughput_low_rps);
	}
}

/* The load may need fewer than the user wants for other reasons. */
static void raise_to_least(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	unsigned enough = sweep->setting[advice->setting].workers;
	if (!advice->recommended || enough >= sweep->least)
		return;
	for (size_t i = advice->setting; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->workers < sweep->least || !sz_setting_decides(setting))
			continue;
		advice->setting = i;
		snprintf(advice->reason, sizeof(advice->reason),
			 "at least %u were asked for; %u would carry the load", sweep->least,
			 enough);
		return;
	}
	advice->recommended = false; /* nothing that large could be measured */
	advice->status = SZ_STATUS_NO;
}

static bool any_disturbed(const struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->measured && setting->verdict != SZ_INFEASIBLE &&
		    setting->window.disturbed)
			return true;
	}
	return false;
}

/* Differing counts were asked for, and the service runs as many processes
 * each time: whatever differs is not the count. */
static bool knob_does_nothing(const struct sz_sweep *sweep)
{
	const struct sz_setting *seen = NULL;
	unsigned settings = 0;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured)
			continue;
		if (!setting->window.workers_known ||
		    (seen && setting->window.workers != seen->window.workers))
			return false;
		seen = setting;
		settings++;
	}
	return settings > 1;
}

/* Ended in mid-ascent at a saturated setting: the next one may be better. */
static bool too_early_to_say(const struct sz_sweep *sweep, const struct sz_selection *selection)
{
	unsigned chosen = selection->candidate[selection->selected].setting;
	const struct sz_setting *last = &sweep->setting[sweep->setting_count - 1];
	return sweep->interrupted && !last->measured && !last->failure[0] &&
	       !sweep->stopped_early &&
	       chosen == selection->candidate[selection->count - 1].setting;
}

/* The status when nothing can be recommended. */
static enum sz_status no_answer(const struct sz_sweep *sweep)
{
	if (sweep->interrupted)
		return SZ_STATUS_INTERRUPTED;
	bool noise = any_disturbed(sweep) || sweep->advice.incomparable;
	return noise ? SZ_STATUS_UNTRUSTWORTHY : SZ_STATUS_NO;
}

static void conclude_need(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_setting *carrying = sz_find_carrying(sweep, &advice->grade);
	advice->need_unasked = !carrying && sz_find_unasked(sweep);
	bool unknown = !carrying && !advice->need_unasked;
	advice->need_open = unknown && (any_disturbed(sweep) || sz_need_is_open(sweep));
	advice->need_unmet = unknown && !advice->need_open;
	if (carrying && !any_disturbed(sweep))
		recommend_carrying(sweep, carrying);
	else if ((advice->need_unasked || advice->need_open) && !sweep->interrupted)
		advice->status = SZ_STATUS_UNTRUSTWORTHY;
	else
		advice->status = no_answer(sweep);
}

static void conclude(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	struct sz_selection selection;
	advice->status = sweep->interrupted ? SZ_STATUS_INTERRUPTED : SZ_STATUS_ANSWERED;
	advice->knob_does_nothing = knob_does_nothing(sweep);
	if (sz_has_nagle_floor(sweep) || advice->knob_does_nothing || !sz_best_setting(sweep)) {
		advice->status = no_answer(sweep);
		return;
	}
	bool comparable = sz_select_setting(sweep, &selection, NULL) == 0;
	advice->incomparable = !comparable;
	if (comparable)
		sz_copy_verdicts(sweep, &selection);
	if (sweep->need_rps)
		conclude_need(sweep);
	else if (sz_smallest_is_enough(sweep))
		recommend_unsaturated(sweep, sz_smallest_setting(sweep));
	else if (comparable && !any_disturbed(sweep) && !too_early_to_say(sweep, &selection))
		recommend_selected(sweep, &selection);
	else
		advice->status = no_answer(sweep);
}

/* When one worker has the connections and others idle, the numbers are about
 * how connections were spread and not about counts of workers. */
static void withdraw_if_uneven(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	if (advice->limit != SZ_CLASS_UNEVEN_SPREAD || !advice->recommended)
		return;
	advice->recommended = false;
	advice->status = no_answer(sweep);
}

int sz_advise_sweep(struct sz_sweep *sweep, struct sz_err *err)
{
	sweep->advice = (struct sz_advice){0};
	if (sz_summarise(sweep, err) < 0)
		return -1;
	sz_budget_memory(sweep);
	compare(sweep);
	sz_fill_intervals(sweep);
	const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
	sweep->advice.saturated = sweep->setting_count && first->measured && first->saturated;
	conclude(sweep);
	raise_to_least(sweep);
	sz_judge_reach(sweep);
	sz_confirm(sweep);
	sz_classify_limit(sweep);
	withdraw_if_uneven(sweep);
	sz_judge_users(sweep);
	sz_weigh_memory(sweep);
	sz_warn_all(sweep);
	return 0;
}
