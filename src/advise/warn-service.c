/* SPDX-License-Identifier: Apache-2.0
 *
 * What the service does that costs it, or that the answer has to be read with.
 */
#include "advise/warn.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

static void warn_nagle(struct sz_sweep *sweep)
{
	if (!sz_has_nagle_floor(sweep))
		return;
	sz_remedy(
		sz_warn(&sweep->advice, "nagle-floor",
			"with 2 or more workers every response takes 40 ms or more that one worker "
			"does not need: the listening socket that the workers inherit has lost "
			"TCP_NODELAY, so the second part of a response waits for the client's "
			"delayed "
			"acknowledgement. These numbers say nothing about worker counts"),
		"make the server set TCP_NODELAY on accepted sockets (for uvicorn: --loop uvloop, "
		"or a newer version), then sweep again");
}

static void warn_spread(struct sz_sweep *sweep)
{
	for (size_t i = sweep->setting_count; i-- > 0;) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !(setting->window.imbalance >= SZ_UNEVEN))
			continue;
		unsigned most = 0, total = 0;
		for (unsigned k = 0; k < setting->window.workers; k++) {
			unsigned connections = setting->window.share[k].connections;
			total += connections;
			most = connections > most ? connections : most;
		}
		sz_remedy(sz_warn(&sweep->advice, "uneven-spread",
				  "at %u workers one of them holds %u of the %u connections: "
				  "kept-alive "
				  "connections stay where they were accepted, so more workers may "
				  "look "
				  "useless here and not be so",
				  setting->workers, most, total),
			  "try %s--reconnect-every 1, and compare with how your own clients or "
			  "balancer open connections",
			  sweep->connect_burst ? "" : "--connect burst and ");
		return;
	}
}

static void warn_worker_count(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !setting->window.workers_known ||
		    setting->window.workers == setting->workers || sweep->advice.knob_does_nothing)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "worker-count",
				  "asked for %u workers, counted %u processes that serve port "
				  "connections",
				  setting->workers, setting->window.workers),
			  "check that {workers} reaches the service's own option");
		return;
	}
}

static void warn_oversubscribed(struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended || advice->limit != SZ_CLASS_CPU_BOUND)
		return;
	unsigned workers = sweep->setting[advice->setting].workers;
	if (workers <= ceil(sweep->machine.cores_allowed))
		return;
	sz_remedy(sz_warn(&sweep->advice, "more-than-cores",
			  "the recommended %u workers are more than the %.2g cores the service may "
			  "use",
			  workers, sweep->machine.cores_allowed),
		  "repeat on a quiet machine; CPU-bound work seldom gains beyond the cores");
}

/* Larger counts that are measurably worse while threads wait for a CPU. */
static void warn_falling(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	for (size_t i = sweep->setting_count; best && i-- > 0;) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->workers <= best->workers)
			return;
		if (setting->verdict != SZ_INFERIOR ||
		    setting->workers <= sweep->machine.cores_allowed ||
		    !(setting->window.runqueue_cores > best->window.runqueue_cores))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "oversubscribed",
				  "%u workers give %.2f x the speed of %u: on %.4g cores %.1f "
				  "threads "
				  "wait for a CPU at any time",
				  setting->workers, setting->window.score / best->window.score,
				  best->workers, sweep->machine.cores_allowed,
				  setting->window.runqueue_cores),
			  "do not run more than needed; memory is not the only price");
		return;
	}
}

/* Each start is like the others, or the table is of a mixture. */
static void warn_differing(struct sz_sweep *sweep)
{
	double low, high;
	size_t setting = sz_find_differing(sweep, &low, &high);
	if (setting == sweep->setting_count)
		return;
	unsigned workers = sweep->setting[setting].workers;
	sz_remedy(sz_warn(&sweep->advice, "starts-differ",
			  "starts with %u worker%s differ: the best does %.2f x what the worst "
			  "does, and "
			  "nothing in between; which ones a count happens to get decides its place",
			  workers, workers == 1 ? "" : "s", high / low),
		  "look for what is decided at the start: memory placement, a cache, which worker "
		  "gets which connections");
}

static void warn_cheaper(struct sz_sweep *sweep)
{
	const struct sz_setting *cheaper = sz_find_cheaper(sweep);
	if (!cheaper)
		return;
	const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
	sz_remedy(sz_warn(&sweep->advice, "answers-differ",
			  "a request costs %.2f ms of CPU at %u workers and %.2f ms at %u: that is "
			  "not "
			  "the same answer (an error page with a good status, a cache)",
			  cheaper->window.cpu_s_per_request * 1e3, cheaper->workers,
			  first->window.cpu_s_per_request * 1e3, first->workers),
		  "tell good answers by --expect-body TEXT");
}

/* Twice the workers never do more than twice the work: something else changed. */
static void warn_superlinear(struct sz_sweep *sweep)
{
	const double too_good = 1.15;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !(setting->efficiency > too_good) ||
		    sz_find_cheaper(sweep))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "super-linear",
				  "%u workers give %.2f x the throughput for %.4g x the workers: "
				  "something "
				  "besides the count changed (a warm cache, a pool that fills, a "
				  "slow "
				  "first "
				  "start)",
				  setting->workers, setting->speedup,
				  setting->speedup / setting->efficiency),
			  "make the smallest setting comparable: a longer --warmup");
		return;
	}
}

static const char *failure_remedy(const struct sz_window *window)
{
	int status = window->error_status;
	if (status && status < 400)
		return "correct --expect-body, or look why the service answers something else";
	if (status >= 400 && status < 500)
		return "correct --url, or give --expect-status when that is a good answer";
	return "look at the service's own log";
}

static void warn_starts(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || setting->failed_starts == 0 ||
		    setting->failed_starts >= SZ_FAILED_STARTS_MOST)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "failed-start",
				  "one of %u starts with %u worker%s failed: %s",
				  setting->failed_starts + setting->windows, setting->workers,
				  setting->workers == 1 ? "" : "s", setting->failure),
			  "look at the service's own log: it may fail to start in production, too");
		return;
	}
}

static void warn_errors(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->verdict != SZ_INFEASIBLE)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "infeasible", "%u worker%s: %s", setting->workers,
				  setting->workers == 1 ? "" : "s", setting->why_infeasible),
			  "%s",
			  !sz_fits_memory(sweep, setting)
				  ? "give the service more memory, or stop what else takes it"
				  : failure_remedy(&setting->window));
		return;
	}
}

static void warn_start(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || setting->settled)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "busy-start",
				  "at %u workers the service still used CPU 10 s after it was "
				  "ready, "
				  "without any request",
				  setting->workers),
			  "background work takes part in these numbers; stop it if it should not");
		return;
	}
}

static void warn_limits(struct sz_sweep *sweep)
{
	if (sweep->machine.unseen[0])
		sz_remedy(sz_warn(&sweep->advice, "limits-unseen",
				  "some limits could not be read: %s", sweep->machine.unseen),
			  "run sizeup where the service runs, with the rights to read its cgroup");
}

/* A few failures do not exclude a setting, and are told all the same. */
static void warn_failures(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		uint64_t failed = setting->window.errors + setting->window.stale;
		if (!setting->measured || setting->verdict == SZ_INFEASIBLE || failed == 0)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "errors",
				  "at %u worker%s %llu of %llu requests failed", setting->workers,
				  setting->workers == 1 ? "" : "s", (unsigned long long)failed,
				  (unsigned long long)setting->window.sent),
			  "%s", failure_remedy(&setting->window));
		return;
	}
}

/* Long silences: the service stood still, though the mean looks well. */
static void warn_stall(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_window *window = &sweep->setting[i].window;
		if (!sweep->setting[i].measured || !(window->longest_gap_ms > 250) ||
		    !(window->longest_gap_ms > 3 * window->latency_mean_ms))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "stall",
				  "at %u worker%s nothing was answered for %.0f ms, %.0f x the "
				  "mean "
				  "latency",
				  sweep->setting[i].workers,
				  sweep->setting[i].workers == 1 ? "" : "s", window->longest_gap_ms,
				  window->longest_gap_ms / window->latency_mean_ms),
			  "look for what stops the service: garbage collection, a lock, a disk");
		return;
	}
}

static void warn_knob(struct sz_sweep *sweep)
{
	if (!sweep->advice.knob_does_nothing)
		return;
	unsigned workers = sweep->setting[sz_smallest_setting(sweep)].window.workers;
	sz_remedy(sz_warn(&sweep->advice, "knob",
			  "the count does nothing: %u process%s served as much at every setting",
			  workers, workers == 1 ? "" : "es"),
		  "check that {workers} reaches the service's own option");
}

/* Between windows one after the other 10 % is more than noise. */
static void warn_age(struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	const double faster = 1.10, slower = 1 / 1.10;
	if (!advice->recommended)
		return;
	unsigned workers = sweep->setting[advice->setting].workers;
	if (advice->control_ratio >= faster)
		sz_remedy(sz_warn(&sweep->advice, "warm-cache",
				  "%u worker%s that run for %.0f s do %.2f x what they do just "
				  "after the "
				  "start: the table is of a service that is still cold",
				  workers, workers == 1 ? "" : "s", advice->control_age_s,
				  advice->control_ratio),
			  "give it a longer --warmup; or empty what is cached outside it with "
			  "--reset");
	else if (advice->control_ratio <= slower)
		sz_remedy(sz_warn(&sweep->advice, "ageing",
				  "%u worker%s that run for %.0f s do only %.2f x what they do "
				  "just "
				  "after the start: the table is of a young service",
				  workers, workers == 1 ? "" : "s", advice->control_age_s,
				  advice->control_ratio),
			  "look for what grows with every request: a list, a table, a log");
}

/* The window of a setting with connections opened the other way; NULL: none. */
static const struct sz_visit *connected_otherwise(const struct sz_sweep *sweep, size_t setting)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose == SZ_FOR_CONNECT && visit->setting == setting &&
		    !visit->window.disturbed)
			return visit;
	}
	return NULL;
}

static void warn_connect(struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	const double much = 1.15;
	for (size_t i = advice->setting; advice->recommended && i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		const struct sz_visit *other = connected_otherwise(sweep, i);
		/* These visits look for no goal. */
		double ratio =
			!other ? 1.0
			: sweep->goal.ratio > 0
				? other->window.throughput_rps / setting->window.throughput_rps
				: other->window.score / setting->window.score;
		if (!setting->measured || (ratio < much && ratio > 1 / much))
			continue;
		sz_remedy(sz_warn(&sweep->advice, "connect-matters",
				  "with connections opened %s, %u workers do %.2f x as much: which "
				  "of "
				  "them gets a connection is decided when it is opened",
				  sweep->connect_burst ? "one after the other" : "all at once",
				  setting->workers, ratio),
			  "sweep again with --connect %s if your clients do that",
			  sweep->connect_burst ? "paced" : "burst");
		return;
	}
}

static void warn_attached(struct sz_sweep *sweep)
{
	if (sweep->undo_failure[0])
		sz_remedy(sz_warn(&sweep->advice, "undo", "the service is not as it was: %s",
				  sweep->undo_failure),
			  "run the --undo command by hand");
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->old_workers == 0)
			continue;
		sz_remedy(sz_warn(&sweep->advice, "old-workers",
				  "at %u, %u workers from before the change were still there",
				  sweep->setting[visit->setting].workers, visit->old_workers),
			  "let --apply wait for them, or raise --ready-timeout");
		return;
	}
}

void sz_warn_service(struct sz_sweep *sweep)
{
	static void (*const checks[])(struct sz_sweep *) = {
		warn_nagle,     warn_spread,  warn_worker_count, warn_oversubscribed, warn_falling,
		warn_differing, warn_cheaper, warn_superlinear,  warn_starts,         warn_errors,
		warn_start,     warn_limits,  warn_failures,     warn_stall,          warn_knob,
		warn_age,       warn_connect, warn_attached,
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++)
		checks[i](sweep);
}
