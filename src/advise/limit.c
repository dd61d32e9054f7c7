/* SPDX-License-Identifier: Apache-2.0
 *
 * What limits the service: one rule per class, tried in the order of the
 * table; the first that holds names the class, and the next best is told as
 * the runner-up with what speaks against it. "unknown" is an answer.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

/* What all rules look at: the setting the answer is about. */
struct view {
	struct sz_sweep *sweep;
	const struct sz_setting *setting;
	double cores;       /* the service could have used: its workers, at most what is allowed */
	double busy_ratio;  /* of those */
	double queue_ratio; /* R / R1 */
};

struct rule {
	enum sz_class limit;
	bool (*holds)(const struct view *view);
	void (*explain)(const struct view *view, struct sz_advice *advice);
	/* What speaks against it, when it does not hold. */
	void (*against)(const struct view *view, char *text, size_t size);
};

/* --- waiting --- */

static bool waiting_holds(const struct view *view)
{
	return !view->setting->saturated;
}

static void waiting_explain(const struct view *view, struct sz_advice *advice)
{
	const struct sz_window *window = &view->setting->window;
	sz_evidence(advice,
		    "with %u clients the mean latency is %.1f ms, %.2f x that of one client alone "
		    "(%.1f ms): nobody queues",
		    view->sweep->clients, window->latency_mean_ms, view->queue_ratio,
		    view->sweep->alone_latency_ms);
	sz_evidence(advice, "throughput is what %u clients can ask for: %u / %.1f ms = %.0f req/s",
		    view->sweep->clients, view->sweep->clients, view->sweep->alone_latency_ms,
		    view->sweep->clients / view->sweep->alone_latency_ms * 1e3);
	sz_evidence(advice, "CPU used: %.2f of %.2f cores", window->tree_cores, view->cores);
}

static void waiting_against(const struct view *view, char *text, size_t size)
{
	snprintf(text, size,
		 "waiting: ruled out, latency with %u clients is %.1f x that of one client alone",
		 view->sweep->clients, view->queue_ratio);
}

/* --- cpu-bound --- */

static bool cpu_bound_holds(const struct view *view)
{
	return view->busy_ratio >= SZ_BUSY_RATIO;
}

static void cpu_bound_explain(const struct view *view, struct sz_advice *advice)
{
	const struct sz_window *window = &view->setting->window;
	sz_evidence(advice, "at %u workers the service used %.2f of the %.2f cores it can use",
		    view->setting->workers, window->tree_cores, view->cores);
	sz_evidence(advice,
		    "each request costs %.2f ms of CPU, so %.2f cores end at %.1f req/s; measured "
		    "%.1f",
		    window->cpu_s_per_request * 1e3, view->cores,
		    view->cores / window->cpu_s_per_request, window->throughput_rps);
	if (window->client_cores > 0.05)
		sz_evidence(advice,
			    "client and service share the cores: the load generator used %.2f",
			    window->client_cores);
}

static void cpu_bound_against(const struct view *view, char *text, size_t size)
{
	snprintf(text, size, "cpu-bound: the service used only %.2f of the %.2f cores it can use",
		 view->setting->window.tree_cores, view->cores);
}

/* --- nagle-floor --- */

static bool nagle_holds(const struct view *view)
{
	return sz_has_nagle_floor(view->sweep);
}

static void nagle_explain(const struct view *view, struct sz_advice *advice)
{
	for (size_t i = 0; i < view->sweep->setting_count; i++) {
		const struct sz_setting *setting = &view->sweep->setting[i];
		if (setting->measured)
			sz_evidence(advice, "p50 at %u worker%s: %.1f ms", setting->workers,
				    setting->workers == 1 ? "" : "s",
				    setting->window.latency_p50_ms);
	}
	sz_evidence(advice, "40 ms is the client kernel's delayed acknowledgement, and the cores "
			    "are not busy");
}

/* In order of what they would explain away. A rule without `against` is never
 * a runner-up. */
static const struct rule rules[] = {
	{SZ_CLASS_NAGLE_FLOOR, nagle_holds, nagle_explain, NULL},
	{SZ_CLASS_WAITING, waiting_holds, waiting_explain, waiting_against},
	{SZ_CLASS_CPU_BOUND, cpu_bound_holds, cpu_bound_explain, cpu_bound_against},
};

static void name_runner_up(const struct view *view, struct sz_advice *advice)
{
	/* From the back: the busiest explanation first. */
	for (size_t i = SZ_ARRAY_LEN(rules); i-- > 0;) {
		if (rules[i].against && rules[i].limit != advice->limit) {
			rules[i].against(view, advice->runner_up, sizeof(advice->runner_up));
			return;
		}
	}
}

static struct view look(struct sz_sweep *sweep)
{
	struct view view = {.sweep = sweep};
	const struct sz_advice *advice = &sweep->advice;
	view.setting =
		advice->recommended ? &sweep->setting[advice->setting] : sz_best_setting(sweep);
	if (!view.setting)
		return view;
	const struct sz_window *window = &view.setting->window;
	view.cores = fmin(view.setting->workers, sweep->machine.cores_allowed);
	/* What the client takes on cores they share is not there for the service. */
	double shared = fmax(0, view.cores + window->client_cores - sweep->machine.cores_allowed);
	view.busy_ratio = window->tree_cores / (view.cores - shared);
	view.queue_ratio = window->latency_mean_ms / sweep->alone_latency_ms;
	return view;
}

void sz_classify_limit(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	struct view view = look(sweep);
	if (!view.setting) {
		sz_evidence(advice, "no window can be trusted");
		return;
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(rules) && advice->limit == SZ_CLASS_UNKNOWN; i++) {
		if (rules[i].holds(&view)) {
			advice->limit = rules[i].limit;
			rules[i].explain(&view, advice);
		}
	}
	if (advice->limit == SZ_CLASS_UNKNOWN)
		sz_evidence(advice,
			    "clients queue (latency is %.1f x that of one alone) while the service "
			    "uses %.2f of the %.2f cores it can use: something else is the limit",
			    view.queue_ratio, view.setting->window.tree_cores, view.cores);
	name_runner_up(&view, advice);
}
