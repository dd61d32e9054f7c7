/* SPDX-License-Identifier: Apache-2.0
 *
 * The other question: not which setting is as good as the best, but which is
 * the smallest that carries so many requests per second.
 *
 * The 95 % interval of a setting's throughput answers it: all of it at or above
 * the need carries it, all of it below does not. Without repeats there is no
 * interval, and the throughput itself gives a weak answer.
 */
#include "advise/inside.h"

#include <math.h>

enum carries { MAY_CARRY, CARRIES, FAILS };

static enum carries judge(const struct sz_sweep *sweep, const struct sz_setting *setting)
{
	double need_rps = (double)sweep->need_rps;
	if (setting->throughput_low_rps >= need_rps)
		return CARRIES;
	/* When nobody queues, the clients asked for no more. */
	bool queues = setting->saturated && !isnan(sweep->alone_latency_ms);
	return queues && setting->throughput_high_rps < need_rps ? FAILS : MAY_CARRY;
}

/* The first from `least` on that may decide and is so judged; NULL: none. */
static const struct sz_setting *first_judged(const struct sz_sweep *sweep, unsigned least,
					     enum carries as)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->workers >= least && sz_setting_decides(setting) &&
		    judge(sweep, setting) == as)
			return setting;
	}
	return NULL;
}

static const struct sz_setting *first_by_mean(const struct sz_sweep *sweep, unsigned least)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->workers >= least && sz_setting_decides(setting) &&
		    setting->window.throughput_rps >= (double)sweep->need_rps)
			return setting;
	}
	return NULL;
}

const struct sz_setting *sz_find_carrying(const struct sz_sweep *sweep, unsigned least,
					  enum sz_grade *grade)
{
	const struct sz_setting *shown = first_judged(sweep, least, CARRIES);
	const struct sz_setting *open = first_judged(sweep, least, MAY_CARRY);
	*grade = !shown                 ? SZ_GRADE_WEAK
		 : open && open < shown ? SZ_GRADE_NOT_WORSE_SHOWN
					: SZ_GRADE_DECIDED;
	return shown ? shown : first_by_mean(sweep, least);
}

bool sz_need_is_open(const struct sz_sweep *sweep)
{
	const struct sz_setting *open = first_judged(sweep, sweep->least, MAY_CARRY);
	return open && !isnan(open->throughput_high_rps);
}

const struct sz_setting *sz_find_unasked(const struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (sz_setting_decides(setting) && !setting->saturated)
			return setting;
	}
	return NULL;
}

/* --- what to measure next --- */

/* Near enough that noise may have it on the wrong side. */
static bool is_near(const struct sz_sweep *sweep, const struct sz_setting *setting)
{
	const double near_ratio = 0.7;
	return setting->window.throughput_rps >= near_ratio * (double)sweep->need_rps;
}

/* Those that may be the answer, up to the first that is or looks like it. */
static void add_open(const struct sz_sweep *sweep, struct sz_next *next)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!sz_setting_decides(setting))
			continue;
		enum carries carries = judge(sweep, setting);
		bool enough = setting->window.throughput_rps >= (double)sweep->need_rps;
		if (carries == CARRIES)
			return;
		if (carries == MAY_CARRY &&
		    (enough || (setting->saturated && is_near(sweep, setting))))
			sz_next_again(next, setting->workers);
		if (enough && isnan(setting->throughput_low_rps))
			return;
	}
}

/* The largest that may decide and is smaller than this one; NULL: none. */
static const struct sz_setting *left_neighbour(const struct sz_sweep *sweep,
					       const struct sz_setting *setting)
{
	while (setting-- > sweep->setting) {
		if (sz_setting_decides(setting))
			return setting;
	}
	return NULL;
}

/* Between the last that fails and the first that carries; below the first. */
static void add_between(const struct sz_sweep *sweep, const struct sz_setting *carrying,
			struct sz_next *next)
{
	const struct sz_setting *left = left_neighbour(sweep, carrying);
	unsigned high = carrying->workers, low = left ? left->workers : 0;
	unsigned middle = left ? (unsigned)lround(sqrt((double)low * high)) : high / 2;
	if (high - low < 2 || sz_was_tried(sweep, middle))
		return;
	next->untested[next->untested_count++] = middle;
	sz_next_again(next, high);
}

/* None carries it: a peak may lie between those tested. */
static void add_peak(const struct sz_sweep *sweep, struct sz_next *next)
{
	struct sz_selection selection;
	const struct sz_setting *best = sz_best_setting(sweep);
	if (best && is_near(sweep, best) && !sz_find_unasked(sweep) &&
	    sz_select_setting(sweep, &selection, NULL) == 0 && selection.best + 1 < selection.count)
		sz_next_untested(sweep, &selection, next);
}

void sz_next_for_need(const struct sz_sweep *sweep, struct sz_next *next)
{
	enum sz_grade grade;
	const struct sz_setting *carrying = sz_find_carrying(sweep, sweep->least, &grade);
	add_open(sweep, next);
	if (next->again_count)
		return;
	if (carrying)
		add_between(sweep, carrying, next);
	else
		add_peak(sweep, next);
}
