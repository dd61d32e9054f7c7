/* SPDX-License-Identifier: Apache-2.0
 *
 * The recommendation of a sweep without repeats.
 *
 * The smallest setting is recommended when the load does not saturate it: a
 * larger one cannot help this load. Otherwise the smallest whose throughput
 * is at least 1 - 0.4 delta of the best (delta = 5 %). Both are *weak*: one
 * window each cannot exclude the neighbours.
 *
 * Never the largest number alone: on a plateau that picks at random.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool sz_setting_decides(const struct sz_setting *setting)
{
	return setting->measured && setting->verdict != SZ_INFEASIBLE && !setting->window.disturbed;
}

const struct sz_setting *sz_best_setting(const struct sz_sweep *sweep)
{
	const struct sz_setting *best = NULL;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (sz_setting_decides(setting) &&
		    (!best || setting->window.throughput_rps > best->window.throughput_rps))
			best = setting;
	}
	return best;
}

void sz_evidence(struct sz_advice *advice, const char *fmt, ...)
{
	if (advice->evidence_count == SZ_EVIDENCE_MAX)
		return;
	char *text = advice->evidence[advice->evidence_count++];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(advice->evidence[0]), fmt, args);
	va_end(args);
}

/* Too many failures, or nothing at all: its throughput is of something else. */
static void judge_errors(struct sz_setting *setting)
{
	const struct sz_window *window = &setting->window;
	double attempts = (double)window->ok + (double)window->errors;
	if (window->ok > 0 && (double)window->errors <= SZ_ERROR_RATIO * attempts)
		return;
	setting->verdict = SZ_INFEASIBLE;
	snprintf(setting->why_infeasible, sizeof(setting->why_infeasible),
		 "%llu of %.0f requests failed", (unsigned long long)window->errors, attempts);
}

static void compare(struct sz_sweep *sweep)
{
	const struct sz_setting *first = &sweep->setting[0];
	for (size_t i = 0; i < sweep->setting_count; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured)
			continue;
		judge_errors(setting);
		setting->speedup = setting->window.throughput_rps / first->window.throughput_rps;
		setting->efficiency = setting->speedup * first->workers / setting->workers;
		/* Unknown latency is no proof of spare capacity. */
		setting->saturated = !(setting->window.latency_mean_ms <=
				       SZ_UNSATURATED_RATIO * sweep->alone_latency_ms);
	}
}

/* The first setting that is good enough, or -1. */
static ptrdiff_t smallest_good(const struct sz_sweep *sweep, double best_rps)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (sz_setting_decides(setting) &&
		    setting->window.throughput_rps >= SZ_WEAK_RATIO * best_rps)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* Is the chosen one the last of the range, with the curve still rising? */
static bool still_rising(const struct sz_sweep *sweep, size_t chosen)
{
	if (chosen == 0 || chosen + 1 != sweep->setting_count)
		return false;
	const struct sz_setting *last = &sweep->setting[chosen], *before = last - 1;
	return last->window.throughput_rps > (1.0 + SZ_DELTA) * before->window.throughput_rps;
}

static const char *plural(unsigned count)
{
	return count == 1 ? "" : "s";
}

static void recommend(struct sz_sweep *sweep, size_t chosen, const struct sz_setting *best)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_setting *setting = &sweep->setting[chosen];
	double ratio = setting->window.throughput_rps / best->window.throughput_rps;
	advice->recommended = true;
	advice->setting = chosen;
	advice->grade = SZ_GRADE_WEAK;
	if (!setting->saturated) {
		snprintf(advice->reason, sizeof(advice->reason),
			 "%u worker%s answer%s all %u clients without queueing; the capacity is "
			 "above %.0f req/s, and this load cannot show where it ends",
			 setting->workers, plural(setting->workers),
			 setting->workers == 1 ? "s" : "", sweep->clients,
			 setting->window.throughput_rps);
		return;
	}
	advice->range_limited = still_rising(sweep, chosen);
	if (sweep->setting_count == 1)
		snprintf(advice->reason, sizeof(advice->reason),
			 "it is the only one tested, and clients queue at %.0f req/s",
			 setting->window.throughput_rps);
	else if (best == setting)
		snprintf(advice->reason, sizeof(advice->reason),
			 "no other tested setting gives more than %.0f req/s",
			 setting->window.throughput_rps);
	else
		snprintf(advice->reason, sizeof(advice->reason),
			 "the smallest setting with at least %.0f %% of the best throughput: %.1f "
			 "req/s is %.1f %% of the %.1f at %u workers",
			 SZ_WEAK_RATIO * 100, setting->window.throughput_rps, ratio * 100,
			 best->window.throughput_rps, best->workers);
}

static bool any_disturbed(const struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->measured && setting->window.disturbed)
			return true;
	}
	return false;
}

static void conclude(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	const struct sz_setting *first = &sweep->setting[0];
	const struct sz_setting *best = sz_best_setting(sweep);
	advice->status = sweep->interrupted ? SZ_STATUS_INTERRUPTED : SZ_STATUS_ANSWERED;
	if (sz_has_nagle_floor(sweep) || !best) {
		if (!sweep->interrupted)
			advice->status = any_disturbed(sweep) && !best ? SZ_STATUS_UNTRUSTWORTHY
								       : SZ_STATUS_NO;
		return;
	}
	/* The smallest one settles it alone, whatever happened above it. */
	if (sz_setting_decides(first) && !first->saturated) {
		recommend(sweep, 0, best);
		return;
	}
	/* A disturbed window never decides, so a table with one in it does not. */
	if (any_disturbed(sweep)) {
		if (!sweep->interrupted)
			advice->status = SZ_STATUS_UNTRUSTWORTHY;
		return;
	}
	ptrdiff_t chosen = smallest_good(sweep, best->window.throughput_rps);
	if (chosen >= 0)
		recommend(sweep, (size_t)chosen, best);
}

void sz_advise_sweep(struct sz_sweep *sweep)
{
	sweep->advice = (struct sz_advice){0};
	compare(sweep);
	sweep->advice.saturated = sweep->setting[0].measured && sweep->setting[0].saturated;
	conclude(sweep);
	sz_classify_limit(sweep);
	sz_warn_all(sweep);
}
