/* SPDX-License-Identifier: Apache-2.0
 *
 * What was asked for and not looked at, or not found.
 */
#include "advise/warn.h"

#include <math.h>

#include "base/mem.h"

/* As far as another sweep should look; --workers ends at 4096. */
static unsigned larger_range(const struct sz_setting *setting)
{
	return setting->workers > 1024 ? 4096 : setting->workers * 4;
}

static bool is_largest_deciding(const struct sz_sweep *sweep, const struct sz_setting *setting)
{
	const struct sz_setting *end = sweep->setting + sweep->setting_count;
	while (++setting < end) {
		if (sz_setting_decides(setting))
			return false;
	}
	return true;
}

static void warn_range(struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended || !advice->range_limited)
		return;
	unsigned workers = sweep->setting[advice->setting].workers;
	sz_remedy(sz_warn(&sweep->advice, "range-limited",
			  "%u is the largest setting tested and throughput was still rising",
			  workers),
		  "add larger settings: --workers 1..%u",
		  larger_range(&sweep->setting[advice->setting]));
}

/* Asked for more, and more are worse. */
static void warn_least(struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended || advice->enough_workers == 0)
		return;
	const struct sz_setting *raised = &sweep->setting[advice->setting];
	const struct sz_setting *enough =
		&sweep->setting[sz_setting_index(sweep, advice->enough_workers)];
	if (raised->verdict != SZ_INFERIOR)
		return;
	sz_remedy(
		sz_warn(&sweep->advice, "min-costs",
			"%u workers, of which at least %u were asked for, give only %.2f x what %u "
			"give%s",
			raised->workers, sweep->least, raised->window.score / enough->window.score,
			enough->workers, enough->workers == 1 ? "s" : ""),
		"ask for fewer (--min), or run two instances of %u", enough->workers);
}

/* The clients ask for less than is needed, and nobody queues. */
static void warn_unasked(struct sz_sweep *sweep)
{
	const struct sz_setting *setting = sz_find_unasked(sweep);
	if (!sweep->advice.need_unasked)
		return;
	const struct sz_window *window = &setting->window;
	sz_remedy(sz_warn(&sweep->advice, "need-unasked",
			  "%u clients ask for only %.0f req/s at %u worker%s, where nobody queues: "
			  "this "
			  "load cannot show whether %llu are carried",
			  sweep->clients, window->throughput_rps, setting->workers,
			  setting->workers == 1 ? "" : "s", (unsigned long long)sweep->need_rps),
		  "give more --clients: %.0f or more",
		  ceil((double)sweep->need_rps * window->latency_mean_ms / 1e3));
}

static void warn_unmet(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	if (!sweep->advice.need_unmet)
		return;
	struct sz_warning *warning =
		sz_warn(&sweep->advice, "need-unmet",
			"no count tested carries %llu req/s: the best, %u worker%s, gives %.1f",
			(unsigned long long)sweep->need_rps, best->workers,
			best->workers == 1 ? "" : "s", best->window.throughput_rps);
	if (is_largest_deciding(sweep, best))
		sz_remedy(warning, "add larger settings: --workers 1..%u", larger_range(best));
	else
		sz_remedy(warning, "more workers do not help: make a request cheaper, or give the "
				   "service more of what limits it");
}

static void warn_open(struct sz_sweep *sweep)
{
	if (sweep->advice.need_open)
		sz_remedy(sz_warn(&sweep->advice, "need-open",
				  "whether a count tested carries %llu req/s is not decided by "
				  "these "
				  "windows",
				  (unsigned long long)sweep->need_rps),
			  "give it more time (--budget), or a quieter machine");
}

void sz_warn_range(struct sz_sweep *sweep)
{
	static void (*const checks[])(struct sz_sweep *) = {
		warn_range, warn_least, warn_unasked, warn_unmet, warn_open,
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++)
		checks[i](sweep);
}
