/* SPDX-License-Identifier: Apache-2.0
 *
 * What to beware of: each check looks at the whole sweep and adds at most one
 * warning, with the remedy.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* A warning with its text; the remedy follows. NULL when there is no room. */
__attribute__((format(printf, 3, 4))) static struct sz_warning *warn(struct sz_advice *advice,
								     const char *code,
								     const char *fmt, ...)
{
	if (advice->warning_count == SZ_WARNINGS_MAX)
		return NULL;
	struct sz_warning *warning = &advice->warnings[advice->warning_count++];
	warning->code = code;
	va_list args;
	va_start(args, fmt);
	vsnprintf(warning->text, sizeof(warning->text), fmt, args);
	va_end(args);
	return warning;
}

__attribute__((format(printf, 2, 3))) static void remedy(struct sz_warning *warning,
							 const char *fmt, ...)
{
	if (!warning)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(warning->remedy, sizeof(warning->remedy), fmt, args);
	va_end(args);
}

/* --- nagle-floor --- */

static void warn_nagle(struct sz_sweep *sweep)
{
	if (!sz_has_nagle_floor(sweep))
		return;
	remedy(warn(&sweep->advice, "nagle-floor",
		    "with 2 or more workers every response takes 40 ms or more that one worker "
		    "does not need: the listening socket that the workers inherit has lost "
		    "TCP_NODELAY, so the second part of a response waits for the client's delayed "
		    "acknowledgement. These numbers say nothing about worker counts"),
	       "make the server set TCP_NODELAY on accepted sockets (for uvicorn: --loop uvloop, "
	       "or a newer version), then sweep again");
}

/* --- spread --- */

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
		remedy(warn(&sweep->advice, "uneven-spread",
			    "at %u workers one of them holds %u of the %u connections: kept-alive "
			    "connections stay where they were accepted, so more workers may look "
			    "useless here and not be so",
			    setting->workers, most, total),
		       "try %s--reconnect-every 1, and compare with how your own clients or "
		       "balancer open connections",
		       sweep->connect_burst ? "" : "--connect burst and ");
		return;
	}
}

/* --- processes --- */

static void warn_worker_count(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !setting->window.workers_known ||
		    setting->window.workers == setting->workers || sweep->advice.knob_does_nothing)
			continue;
		remedy(warn(&sweep->advice, "worker-count",
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
	remedy(warn(&sweep->advice, "more-than-cores",
		    "the recommended %u workers are more than the %.2g cores the service may use",
		    workers, sweep->machine.cores_allowed),
	       "repeat on a quiet machine; CPU-bound work seldom gains beyond the cores");
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
	remedy(warn(&sweep->advice, "min-costs",
		    "%u workers, of which at least %u were asked for, give only %.2f x what %u "
		    "give%s",
		    raised->workers, sweep->least, raised->window.score / enough->window.score,
		    enough->workers, enough->workers == 1 ? "s" : ""),
	       "ask for fewer (--min), or run two instances of %u", enough->workers);
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
		remedy(warn(&sweep->advice, "oversubscribed",
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
	remedy(warn(&sweep->advice, "starts-differ",
		    "starts with %u worker%s differ: the best does %.2f x what the worst does, and "
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
	remedy(warn(&sweep->advice, "answers-differ",
		    "a request costs %.2f ms of CPU at %u workers and %.2f ms at %u: that is not "
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
		remedy(warn(&sweep->advice, "super-linear",
			    "%u workers give %.2f x the throughput for %.4g x the workers: "
			    "something "
			    "besides the count changed (a warm cache, a pool that fills, a slow "
			    "first "
			    "start)",
			    setting->workers, setting->speedup,
			    setting->speedup / setting->efficiency),
		       "make the smallest setting comparable: a longer --warmup");
		return;
	}
}

/* --- trust --- */

static void describe_disturbances(const struct sz_sweep *sweep, struct sz_buf *text)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !setting->window.disturbed)
			continue;
		sz_buf_printf(text, "%sat %u: ", text->len ? "; " : "", setting->workers);
		const char *separator = "";
		for (unsigned bit = 0; bit < SZ_DISTURBANCES; bit++) {
			if (!(setting->window.disturbed >> bit & 1))
				continue;
			sz_buf_printf(text, "%s%s", separator, sz_disturbance_text(bit));
			separator = ", ";
		}
	}
}

static void warn_disturbed(struct sz_sweep *sweep)
{
	sz_autobuf struct sz_buf text = {0};
	uint32_t bits = 0;
	describe_disturbances(sweep, &text);
	for (size_t i = 0; i < sweep->setting_count; i++)
		bits |= sweep->setting[i].measured ? sweep->setting[i].window.disturbed : 0;
	if (!bits)
		return;
	/* The first in the order of the enumeration: what comes from outside. */
	remedy(warn(&sweep->advice, "disturbed", "disturbed windows never decide: %s",
		    sz_buf_text(&text)),
	       "%s", sz_disturbance_remedy((enum sz_disturbance)__builtin_ctz(bits)));
}

static void warn_client(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	/* 70 % of what one core of this client can send. */
	if (!best || !(best->window.throughput_rps >= 0.7 * sweep->client_ceiling_rps))
		return;
	remedy(warn(&sweep->advice, "client-bound",
		    "%.0f req/s is close to the %.0f that this load generator can send over "
		    "plain HTTP/1.1: the service may be faster than the table says",
		    best->window.throughput_rps, sweep->client_ceiling_rps),
	       "choose a URL that does real work");
}

static void warn_loopback(struct sz_sweep *sweep)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	/* Where nobody queues, the cost of a request decides nothing. */
	if (!best || !sweep->advice.saturated || !(best->window.cpu_s_per_request < 50e-6))
		return;
	remedy(warn(&sweep->advice, "loopback",
		    "a request costs the service only %.0f us of CPU, and the loopback device "
		    "costs both sides about 4.5 us: the result is about both programs",
		    best->window.cpu_s_per_request * 1e6),
	       "choose a URL that does real work");
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
		remedy(warn(&sweep->advice, "failed-start",
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
		remedy(warn(&sweep->advice, "infeasible", "%u worker%s: %s", setting->workers,
			    setting->workers == 1 ? "" : "s", setting->why_infeasible),
		       "%s",
		       !sz_fits_memory(sweep, setting)
			       ? "give the service more memory, or stop what else takes it"
			       : failure_remedy(&setting->window));
		return;
	}
}

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
	remedy(warn(&sweep->advice, "range-limited",
		    "%u is the largest setting tested and throughput was still rising", workers),
	       "add larger settings: --workers 1..%u",
	       larger_range(&sweep->setting[advice->setting]));
}

static void warn_start(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || setting->settled)
			continue;
		remedy(warn(&sweep->advice, "busy-start",
			    "at %u workers the service still used CPU 10 s after it was ready, "
			    "without any request",
			    setting->workers),
		       "background work takes part in these numbers; stop it if it should not");
		return;
	}
}

static void warn_limits(struct sz_sweep *sweep)
{
	if (sweep->machine.unseen[0])
		remedy(warn(&sweep->advice, "limits-unseen", "some limits could not be read: %s",
			    sweep->machine.unseen),
		       "run sizeup where the service runs, with the rights to read its cgroup");
}

/* A gate that cannot be read never trips: that must not look like silence. */
static void warn_blind(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured ||
		    (!isnan(setting->window.foreign_cores) && setting->window.workers_known &&
		     !isnan(setting->window.memory_full_ratio)))
			continue;
		remedy(warn(&sweep->advice, "blind",
			    "at %u worker%s %s could not be read, so this is not checked",
			    setting->workers, setting->workers == 1 ? "" : "s",
			    isnan(setting->window.foreign_cores) ? "the CPU time of the machine"
			    : !setting->window.workers_known     ? "the sockets of the service"
								 : "/proc/pressure/memory"),
		       "run sizeup with the rights to read /proc of the service; pressure is "
		       "counted by "
		       "a kernel that was booted with psi=1");
		return;
	}
}

/* A few failures do not exclude a setting, and are told all the same. */
static void warn_failures(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		uint64_t failed = setting->window.errors + setting->window.stale;
		if (!setting->measured || setting->verdict == SZ_INFEASIBLE || failed == 0)
			continue;
		remedy(warn(&sweep->advice, "errors", "at %u worker%s %llu of %llu requests failed",
			    setting->workers, setting->workers == 1 ? "" : "s",
			    (unsigned long long)failed, (unsigned long long)setting->window.sent),
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
		remedy(warn(&sweep->advice, "stall",
			    "at %u worker%s nothing was answered for %.0f ms, %.0f x the mean "
			    "latency",
			    sweep->setting[i].workers, sweep->setting[i].workers == 1 ? "" : "s",
			    window->longest_gap_ms,
			    window->longest_gap_ms / window->latency_mean_ms),
		       "look for what stops the service: garbage collection, a lock, a disk");
		return;
	}
}

static void warn_incomparable(struct sz_sweep *sweep)
{
	if (sweep->advice.incomparable && !sweep->advice.recommended)
		remedy(warn(&sweep->advice, "incomparable",
			    "the undisturbed windows of different settings lie too far apart in "
			    "time to "
			    "be compared"),
		       "give it more time (--budget), or a quieter machine");
}

static void warn_knob(struct sz_sweep *sweep)
{
	if (!sweep->advice.knob_does_nothing)
		return;
	unsigned workers = sweep->setting[sz_smallest_setting(sweep)].window.workers;
	remedy(warn(&sweep->advice, "knob",
		    "the count does nothing: %u process%s served as much at every setting", workers,
		    workers == 1 ? "" : "es"),
	       "check that {workers} reaches the service's own option");
}

static void warn_alone(struct sz_sweep *sweep)
{
	const struct sz_setting *first = &sweep->setting[sz_smallest_setting(sweep)];
	if (first->measured &&
	    first->window.latency_mean_ms < SZ_CREDIBLE_RATIO * sweep->alone_latency_ms)
		remedy(warn(&sweep->advice, "alone",
			    "one client alone waited %.1f ms, longer than %u clients together "
			    "(%.1f "
			    "ms): so it cannot be said whether clients queue",
			    sweep->alone_latency_ms, sweep->clients, first->window.latency_mean_ms),
		       "look for what makes the service slow when it is idle, and repeat");
	if (sweep->visit_count && isnan(sweep->alone_latency_ms) && sz_best_setting(sweep))
		remedy(warn(&sweep->advice, "alone",
			    "the latency of one client alone could not be measured, for failed "
			    "requests or a disturbance: so it cannot be said whether clients "
			    "queue"),
		       "repeat on a quiet machine");
}

/* The utilisation law, X D = cores used, holds within a window by how D is
 * measured; that it stays within the cores does not. */
static void warn_utilisation(struct sz_sweep *sweep)
{
	const double allowed = sweep->machine.cores_allowed, slack = 1.05;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || !(setting->window.tree_cores > slack * allowed))
			continue;
		remedy(warn(&sweep->advice, "utilisation",
			    "at %u worker%s the service used %.2f cores though its first process "
			    "may use %.2f: some of its processes have other limits",
			    setting->workers, setting->workers == 1 ? "" : "s",
			    setting->window.tree_cores, allowed),
		       "look at the affinity and the cgroups of its workers; the cores in this "
		       "answer are those of the first process");
		return;
	}
}

static void warn_drift(struct sz_sweep *sweep)
{
	const double much = 0.10;
	if (sweep->advice.speed_drift > much)
		remedy(warn(&sweep->advice, "speed-drift",
			    "the machine computed up to %.0f %% slower in some windows than in "
			    "others: costs per request are corrected for it, throughput cannot be",
			    sweep->advice.speed_drift * 100),
		       "look for burst credits, heat, power saving, or neighbours on the same "
		       "cores");
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
		remedy(warn(&sweep->advice, "warm-cache",
			    "%u worker%s that run for %.0f s do %.2f x what they do just after the "
			    "start: the table is of a service that is still cold",
			    workers, workers == 1 ? "" : "s", advice->control_age_s,
			    advice->control_ratio),
		       "give it a longer --warmup; or empty what is cached outside it with "
		       "--reset");
	else if (advice->control_ratio <= slower)
		remedy(warn(&sweep->advice, "ageing",
			    "%u worker%s that run for %.0f s do only %.2f x what they do just "
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
		remedy(warn(&sweep->advice, "connect-matters",
			    "with connections opened %s, %u workers do %.2f x as much: which of "
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
		remedy(warn(&sweep->advice, "undo", "the service is not as it was: %s",
			    sweep->undo_failure),
		       "run the --undo command by hand");
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->old_workers == 0)
			continue;
		remedy(warn(&sweep->advice, "old-workers",
			    "at %u, %u workers from before the change were still there",
			    sweep->setting[visit->setting].workers, visit->old_workers),
		       "let --apply wait for them, or raise --ready-timeout");
		return;
	}
}

/* The clients ask for less than is needed, and nobody queues. */
static void warn_unasked(struct sz_sweep *sweep)
{
	const struct sz_setting *setting = sz_find_unasked(sweep);
	if (!sweep->advice.need_unasked)
		return;
	const struct sz_window *window = &setting->window;
	remedy(warn(&sweep->advice, "need-unasked",
		    "%u clients ask for only %.0f req/s at %u worker%s, where nobody queues: this "
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
		warn(&sweep->advice, "need-unmet",
		     "no count tested carries %llu req/s: the best, %u worker%s, gives %.1f",
		     (unsigned long long)sweep->need_rps, best->workers,
		     best->workers == 1 ? "" : "s", best->window.throughput_rps);
	if (is_largest_deciding(sweep, best))
		remedy(warning, "add larger settings: --workers 1..%u", larger_range(best));
	else
		remedy(warning, "more workers do not help: make a request cheaper, or give the "
				"service more of what limits it");
}

static void warn_open(struct sz_sweep *sweep)
{
	if (sweep->advice.need_open)
		remedy(warn(&sweep->advice, "need-open",
			    "whether a count tested carries %llu req/s is not decided by these "
			    "windows",
			    (unsigned long long)sweep->need_rps),
		       "give it more time (--budget), or a quieter machine");
}

void sz_warn_all(struct sz_sweep *sweep)
{
	static void (*const checks[])(struct sz_sweep *) = {
		warn_nagle,        warn_disturbed, warn_errors,         warn_spread,
		warn_worker_count, warn_client,    warn_oversubscribed, warn_loopback,
		warn_range,        warn_start,     warn_limits,         warn_falling,
		warn_superlinear,  warn_blind,     warn_alone,          warn_attached,
		warn_failures,     warn_stall,     warn_knob,           warn_incomparable,
		warn_drift,        warn_age,       warn_connect,        warn_utilisation,
		warn_unasked,      warn_unmet,     warn_open,           warn_least,
		warn_starts,       warn_differing, warn_cheaper,
	};
	/* One of them adds two. */
	_Static_assert(SZ_ARRAY_LEN(checks) < SZ_WARNINGS_MAX, "room for all warnings");
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++)
		checks[i](sweep);
}
