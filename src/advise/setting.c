/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about settings that every other file of this room asks.
 */
#include "advise/inside.h"

bool sz_setting_decides(const struct sz_setting *setting)
{
	return setting->measured && setting->verdict != SZ_INFEASIBLE && !setting->window.disturbed;
}

const struct sz_setting *sz_find_cheaper(const struct sz_sweep *sweep)
{
	const double much = 0.6;
	const struct sz_setting *first = NULL;
	for (size_t i = 0; i < sweep->setting_count && !sweep->burst; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!sz_setting_decides(setting))
			continue;
		if (!first)
			first = setting;
		/* Where a request hardly costs anything, its cost varies. */
		if (first->window.cpu_s_per_request > 1e-3 &&
		    setting->window.cpu_s_per_request < much * first->window.cpu_s_per_request)
			return setting;
	}
	return NULL;
}

const struct sz_setting *sz_best_setting(const struct sz_sweep *sweep)
{
	const struct sz_setting *best = NULL;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (sz_setting_decides(setting) &&
		    (!best || setting->window.score > best->window.score))
			best = setting;
	}
	return best;
}

bool sz_is_unsaturated(const struct sz_sweep *sweep, const struct sz_window *window)
{
	/* Unknown latency (NaN) is no proof of spare capacity, and neither is an R1
	 * that is longer than under load: it was not measured right. */
	double ratio = window->latency_mean_ms / sweep->alone_latency_ms;
	if (window->rounds)
		return window->burst_ttfb_ms <= SZ_UNSATURATED_RATIO * sweep->alone_latency_ms;
	return ratio <= SZ_UNSATURATED_RATIO && ratio >= SZ_CREDIBLE_RATIO;
}

size_t sz_smallest_setting(const struct sz_sweep *sweep)
{
	size_t i = 0;
	while (i + 1 < sweep->setting_count && !sweep->setting[i].measured)
		i++;
	return i;
}

bool sz_smallest_is_enough(const struct sz_sweep *sweep)
{
	const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
	return sz_setting_decides(first) && !first->saturated;
}

bool sz_was_tried(const struct sz_sweep *sweep, unsigned workers)
{
	size_t at = sz_setting_index(sweep, workers);
	return at < sweep->setting_count &&
	       (sweep->setting[at].measured || sweep->setting[at].failure[0]);
}

size_t sz_setting_index(const struct sz_sweep *sweep, unsigned workers)
{
	size_t i = 0;
	while (i < sweep->setting_count && sweep->setting[i].workers != workers)
		i++;
	return i;
}

/* Measured: 40-44 ms, and some scheduling on top; well apart from 30. */
static bool on_the_floor(double p50_ms)
{
	return p50_ms >= 40.0 && p50_ms <= 48.0;
}

bool sz_has_nagle_floor(const struct sz_sweep *sweep)
{
	const struct sz_setting *first = &sweep->setting[0];
	if (!first->measured || first->workers != 1 || !(first->window.latency_p50_ms < 30.0))
		return false;
	bool seen = false;
	for (size_t i = 1; i < sweep->setting_count; i++) {
		const struct sz_window *window = &sweep->setting[i].window;
		if (!sweep->setting[i].measured)
			continue;
		/* With every core busy, 40 ms may simply be the queue. */
		if (!on_the_floor(window->latency_p50_ms) ||
		    window->tree_cores >= SZ_BUSY_RATIO * sweep->machine.cores_allowed)
			return false;
		seen = true;
	}
	return seen;
}
