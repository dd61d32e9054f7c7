/* SPDX-License-Identifier: Apache-2.0
 *
 * What limits the service: one rule per class, tried in the order of the
 * table; the first that holds names the class, and the nearest of the others
 * is told as the runner-up, with what speaks against it. "unknown" is an
 * answer.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

__attribute__((format(printf, 2, 3))) static void evidence(struct sz_advice *advice,
							   const char *fmt, ...)
{
	if (advice->evidence_count == SZ_EVIDENCE_MAX)
		return;
	char *text = advice->evidence[advice->evidence_count++];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(advice->evidence[0]), fmt, args);
	va_end(args);
}

/* What all rules look at. */
struct view {
	const struct sz_sweep *sweep;
	const struct sz_setting *setting; /* the one the answer is about; NULL: none to trust */
	const struct sz_setting *largest; /* that may decide */
	double cores;       /* the setting could use: its workers, at most what is allowed */
	double busy_ratio;  /* of those, less what the client took */
	double queue_ratio; /* R / R1 */
};

struct rule {
	enum sz_class limit;
	bool (*holds)(const struct view *view);
	void (*explain)(const struct view *view, struct sz_advice *advice);
	/* What speaks against it when it does not hold; NULL: never a runner-up. */
	void (*against)(const struct view *view, char *text, size_t size);
};

static bool is_busy(const struct view *view)
{
	/* Between bursts everybody rests: means over the window say nothing. */
	return !view->sweep->burst && view->busy_ratio >= SZ_BUSY_RATIO;
}

/* --- nothing to trust --- */

/* Share of the measured settings that this disturbance spoilt. */
static bool spoilt_by(const struct view *view, uint32_t bits)
{
	unsigned measured = 0, spoilt = 0;
	for (size_t i = 0; i < view->sweep->setting_count; i++) {
		if (view->sweep->setting[i].verdict == SZ_INFEASIBLE)
			continue;
		measured += view->sweep->setting[i].measured;
		spoilt += (view->sweep->setting[i].window.disturbed & bits) != 0;
	}
	return !view->setting && spoilt * 2 > measured;
}

static bool client_holds(const struct view *view)
{
	return spoilt_by(view, 1u << SZ_DISTURBED_CLIENT);
}

static void client_explain(const struct view *view, struct sz_advice *advice)
{
	evidence(advice,
		 "the load generator was at its own limit in most windows; its ceiling "
		 "here, over plain HTTP/1.1, is %.0f req/s",
		 view->sweep->client_ceiling_rps);
}

static bool noisy_holds(const struct view *view)
{
	return spoilt_by(view, 1u << SZ_DISTURBED_FOREIGN_CPU | 1u << SZ_DISTURBED_STEAL);
}

static void noisy_explain(const struct view *view, struct sz_advice *advice)
{
	for (size_t i = 0; i < view->sweep->setting_count; i++) {
		const struct sz_setting *setting = &view->sweep->setting[i];
		if (setting->measured)
			evidence(advice,
				 "at %u: other programs used %.2f cores, the hypervisor took "
				 "%.1f %%",
				 setting->workers, setting->window.foreign_cores,
				 setting->window.steal_ratio * 100);
	}
}

/* --- nagle-floor --- */

static bool nagle_holds(const struct view *view)
{
	return view->setting && sz_has_nagle_floor(view->sweep);
}

static void nagle_explain(const struct view *view, struct sz_advice *advice)
{
	for (size_t i = 0; i < view->sweep->setting_count; i++) {
		const struct sz_setting *setting = &view->sweep->setting[i];
		if (setting->measured)
			evidence(advice, "p50 at %u worker%s: %.1f ms", setting->workers,
				 setting->workers == 1 ? "" : "s", setting->window.latency_p50_ms);
	}
	evidence(advice, "40 ms is the client kernel's delayed acknowledgement, and the cores "
			 "are not busy");
}

/* --- uneven-spread --- */

/* The worker with the least CPU time, as a ratio of an even share. */
static double least_share(const struct sz_window *window)
{
	double total = 0, least = INFINITY;
	for (unsigned i = 0; i < window->workers; i++) {
		total += window->share[i].cpu_cores;
		least = fmin(least, window->share[i].cpu_cores);
	}
	return total > 0 ? least * window->workers / total : SZ_NAN;
}

static bool is_flat(const struct view *view)
{
	const struct sz_setting *first = &view->sweep->setting[sz_smallest_setting(view->sweep)];
	double gain = view->largest->window.throughput_rps / first->window.throughput_rps;
	double growth = (double)view->largest->workers / first->workers;
	return growth > 1 && gain < 1 + (growth - 1) / 2;
}

/* Several workers with even shares gain as little: then it is not the spread. */
static bool even_ones_gain_nothing(const struct view *view)
{
	const double even = 1.3, gain = 1.1;
	const struct sz_setting *first = &view->sweep->setting[sz_smallest_setting(view->sweep)];
	for (const struct sz_setting *one = first + 1; one < view->largest; one++) {
		const struct sz_window *window = &one->window;
		if (sz_setting_decides(one) && one->workers > 1 && window->imbalance <= even &&
		    window->throughput_rps < gain * first->window.throughput_rps)
			return true;
	}
	return false;
}

static bool uneven_holds(const struct view *view)
{
	if (!view->setting || even_ones_gain_nothing(view))
		return false;
	const struct sz_window *window = &view->largest->window;
	double idle =
		view->sweep->machine.cores_allowed - window->tree_cores - window->client_cores;
	return window->imbalance >= SZ_UNEVEN && least_share(window) < 0.5 && is_flat(view) &&
	       idle > (1 - SZ_BUSY_RATIO) * view->sweep->machine.cores_allowed;
}

static void uneven_explain(const struct view *view, struct sz_advice *advice)
{
	const struct sz_window *window = &view->largest->window;
	evidence(advice,
		 "at %u workers one holds %.1f x its share of the connections, and another gets "
		 "%.0f %% of its share of the CPU time",
		 view->largest->workers, window->imbalance, least_share(window) * 100);
	const struct sz_setting *first = &view->sweep->setting[sz_smallest_setting(view->sweep)];
	evidence(advice,
		 "%u workers give only %.2f x the throughput of %u while %.2f of %.2f cores are "
		 "used",
		 view->largest->workers, window->throughput_rps / first->window.throughput_rps,
		 first->workers, window->tree_cores, view->sweep->machine.cores_allowed);
}

/* --- waiting --- */

static bool waiting_holds(const struct view *view)
{
	return view->setting && !view->setting->saturated;
}

static void waiting_explain(const struct view *view, struct sz_advice *advice)
{
	const struct sz_sweep *sweep = view->sweep;
	const struct sz_window *window = &view->setting->window;
	evidence(advice,
		 "with %u clients the mean latency is %.1f ms, %.2f x that of one client alone "
		 "(%.1f ms): nobody queues",
		 sweep->clients, window->latency_mean_ms, view->queue_ratio,
		 sweep->alone_latency_ms);
	evidence(advice, "throughput is what %u clients can ask for: %u / %.1f ms = %.0f req/s",
		 sweep->clients, sweep->clients, sweep->alone_latency_ms,
		 sweep->clients / sweep->alone_latency_ms * 1e3);
	evidence(advice, "CPU used: %.2f of %.2f cores", window->tree_cores, view->cores);
}

static void waiting_against(const struct view *view, char *text, size_t size)
{
	snprintf(text, size,
		 "waiting: ruled out, latency with %u clients is %.1f x that of one client alone",
		 view->sweep->clients, view->queue_ratio);
}

/* --- oversubscribed --- */

/* Of the whole machine: evidence only where tasks wait for much of the time. */
static void cpu_pressure(const struct view *view, struct sz_advice *advice)
{
	if (view->setting->window.cpu_some_ratio >= 0.2)
		evidence(advice, "some task was ready and waited for a CPU for %.0f %% of the time",
			 view->setting->window.cpu_some_ratio * 100);
}

/* The answer itself lies beyond the cores, and more is worse. */
static bool oversubscribed_holds(const struct view *view)
{
	if (!view->setting || !is_busy(view))
		return false;
	const struct sz_window *chosen = &view->setting->window;
	const struct sz_window *largest = &view->largest->window;
	return view->setting->workers >= 2 * view->sweep->machine.cores_allowed &&
	       view->largest != view->setting && view->largest->verdict == SZ_INFERIOR &&
	       !(largest->runqueue_cores <= chosen->runqueue_cores);
}

static void oversubscribed_explain(const struct view *view, struct sz_advice *advice)
{
	evidence(advice, "from %u to %u workers throughput falls from %.0f to %.0f req/s",
		 view->setting->workers, view->largest->workers,
		 view->setting->window.throughput_rps, view->largest->window.throughput_rps);
	evidence(advice, "threads waiting for a CPU: %.1f at %u, %.1f at %u",
		 view->setting->window.runqueue_cores, view->setting->workers,
		 view->largest->window.runqueue_cores, view->largest->workers);
	cpu_pressure(view, advice);
}

/* --- cpu-bound --- */

/* More workers could use more cores, do not, and gain nothing: something else than
 * the CPU holds them back, a lock for one. */
static bool more_leave_cores_idle(const struct view *view)
{
	const struct sz_setting *more = view->largest;
	if (!more || more->workers <= view->setting->workers)
		return false;
	double could = fmin(more->workers, view->sweep->machine.cores_allowed);
	double used = more->window.tree_cores + more->window.client_cores;
	return could > view->cores && used < SZ_BUSY_RATIO * could &&
	       more->window.throughput_rps < 1.1 * view->setting->window.throughput_rps;
}

static bool cpu_bound_holds(const struct view *view)
{
	return view->setting && is_busy(view) && !more_leave_cores_idle(view);
}

static void cpu_bound_explain(const struct view *view, struct sz_advice *advice)
{
	const struct sz_window *window = &view->setting->window;
	evidence(advice, "at %u worker%s the service used %.2f of the %.2f cores it can use",
		 view->setting->workers, view->setting->workers == 1 ? "" : "s", window->tree_cores,
		 view->cores);
	evidence(advice,
		 "each request costs %.2f ms of CPU, so %.2f cores end at %.1f req/s; measured "
		 "%.1f",
		 window->tree_cores / window->throughput_rps * 1e3, view->cores,
		 view->cores * window->throughput_rps / window->tree_cores, window->throughput_rps);
	double dearer = window->cpu_s_per_request / view->sweep->alone_cpu_s_per_request;
	/* That of the one alone is not corrected for a drift of the machine. */
	if (dearer > 1.1 && !(view->sweep->advice.speed_drift > 0.05))
		evidence(advice, "that is %.2f x the CPU time of a request that comes alone",
			 dearer);
	cpu_pressure(view, advice);
	if (window->client_cores > 0.05)
		evidence(advice, "client and service share the cores: the load generator used %.2f",
			 window->client_cores);
}

static void cpu_bound_against(const struct view *view, char *text, size_t size)
{
	if (is_busy(view)) {
		snprintf(text, size, "cpu-bound: %u workers use only %.2f cores and gain nothing",
			 view->largest->workers, view->largest->window.tree_cores);
		return;
	}
	snprintf(text, size, "cpu-bound: the service used only %.2f of the %.2f cores it can use",
		 view->setting->window.tree_cores, view->cores);
}

/* --- serialised --- */

/* X R1 / N: how many requests each worker has in hand at once. */
static double at_once(const struct view *view, const struct sz_setting *setting)
{
	return setting->window.throughput_rps * view->sweep->alone_latency_ms / 1e3 /
	       setting->workers;
}

/* Every worker of every setting handles one request at a time. */
static bool serialised_holds(const struct view *view)
{
	if (!view->setting || !view->setting->saturated || view->sweep->burst)
		return false;
	for (size_t i = 0; i < view->sweep->setting_count; i++) {
		const struct sz_setting *setting = &view->sweep->setting[i];
		if (sz_setting_decides(setting) && setting->saturated &&
		    fabs(at_once(view, setting) - 1) > SZ_ONE_AT_A_TIME)
			return false;
	}
	return true;
}

static void serialised_explain(const struct view *view, struct sz_advice *advice)
{
	evidence(advice,
		 "%u worker%s at %.1f req/s with %.1f ms each: %.2f requests in hand per "
		 "worker, "
		 "so they are handled one at a time",
		 view->setting->workers, view->setting->workers == 1 ? "" : "s",
		 view->setting->window.throughput_rps, view->sweep->alone_latency_ms,
		 at_once(view, view->setting));
	evidence(advice, "while it used only %.2f of the %.2f cores it can use",
		 view->setting->window.tree_cores, view->cores);
}

static void serialised_against(const struct view *view, char *text, size_t size)
{
	snprintf(text, size, "serialised: each worker has %.2f requests in hand, not one",
		 at_once(view, view->setting));
}

/* In order of what they would explain away; see the top. */
static const struct rule rules[] = {
	{SZ_CLASS_CLIENT_BOUND, client_holds, client_explain, NULL},
	{SZ_CLASS_NOISY, noisy_holds, noisy_explain, NULL},
	{SZ_CLASS_NAGLE_FLOOR, nagle_holds, nagle_explain, NULL},
	{SZ_CLASS_UNEVEN_SPREAD, uneven_holds, uneven_explain, NULL},
	{SZ_CLASS_WAITING, waiting_holds, waiting_explain, waiting_against},
	{SZ_CLASS_OVERSUBSCRIBED, oversubscribed_holds, oversubscribed_explain, NULL},
	{SZ_CLASS_CPU_BOUND, cpu_bound_holds, cpu_bound_explain, cpu_bound_against},
	{SZ_CLASS_SERIALISED, serialised_holds, serialised_explain, serialised_against},
};

/* Who explains best why it is not this one: per class, the next in question. */
static const enum sz_class runners_up[] = {
	[SZ_CLASS_UNKNOWN] = SZ_CLASS_CPU_BOUND,       [SZ_CLASS_CPU_BOUND] = SZ_CLASS_WAITING,
	[SZ_CLASS_WAITING] = SZ_CLASS_CPU_BOUND,       [SZ_CLASS_SERIALISED] = SZ_CLASS_CPU_BOUND,
	[SZ_CLASS_UNEVEN_SPREAD] = SZ_CLASS_CPU_BOUND, [SZ_CLASS_OVERSUBSCRIBED] = SZ_CLASS_WAITING,
	[SZ_CLASS_NAGLE_FLOOR] = SZ_CLASS_CPU_BOUND,   [SZ_CLASS_CLIENT_BOUND] = SZ_CLASS_UNKNOWN,
	[SZ_CLASS_NOISY] = SZ_CLASS_UNKNOWN,
};

static void name_runner_up(const struct view *view, struct sz_advice *advice)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(rules) && !view->sweep->burst; i++) {
		if (view->setting && rules[i].against &&
		    rules[i].limit == runners_up[advice->limit] && !rules[i].holds(view))
			rules[i].against(view, advice->runner_up, sizeof(advice->runner_up));
	}
}

static const struct sz_setting *largest_deciding(const struct sz_sweep *sweep)
{
	const struct sz_setting *largest = NULL;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (sz_setting_decides(&sweep->setting[i]))
			largest = &sweep->setting[i];
	}
	return largest;
}

static struct view look(const struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	struct view view = {.sweep = sweep, .largest = largest_deciding(sweep)};
	view.setting =
		advice->recommended ? &sweep->setting[advice->setting] : sz_best_setting(sweep);
	if (!view.setting)
		return view;
	const struct sz_window *window = &view.setting->window;
	/* A worker that uses more than one core has threads: then all cores are
	 * there for every setting. */
	bool threads = window->tree_cores > 1.05 * view.setting->workers;
	view.cores = threads ? sweep->machine.cores_allowed
			     : fmin(view.setting->workers, sweep->machine.cores_allowed);
	/* What the client takes on cores they share is not there for the service. */
	double shared = fmax(0, view.cores + window->client_cores - sweep->machine.cores_allowed);
	view.busy_ratio = window->tree_cores / (view.cores - shared);
	view.queue_ratio = window->latency_mean_ms / sweep->alone_latency_ms;
	return view;
}

static void explain_unknown(const struct view *view, struct sz_advice *advice)
{
	if (view->setting && view->sweep->burst)
		evidence(advice,
			 "of %u requests at once the slowest waits %.1f x as long for its first "
			 "byte "
			 "as one alone; what they wait for is not shown by bursts (sweep the "
			 "closed "
			 "loop as well)",
			 view->sweep->clients,
			 view->setting->window.burst_ttfb_ms / view->sweep->alone_latency_ms);
	else if (view->setting && is_busy(view))
		evidence(advice,
			 "%u workers use %.2f of the %.2f cores allowed and do no more than %u: "
			 "something that they share is the limit, such as a lock",
			 view->largest->workers, view->largest->window.tree_cores,
			 view->sweep->machine.cores_allowed, view->setting->workers);
	else if (view->setting)
		evidence(advice,
			 "clients queue (latency is %.1f x that of one alone) while the service "
			 "uses %.2f of the %.2f cores it can use: something else is the limit",
			 view->queue_ratio, view->setting->window.tree_cores, view->cores);
	else
		evidence(advice, "%s",
			 view->sweep->setting[0].verdict == SZ_INFEASIBLE
				 ? "no setting serves without failing"
				 : "no window can be trusted");
}

/* What the service calls on this machine may be the limit, whatever the class. */
static void tell_downstream(const struct view *view, struct sz_advice *advice)
{
	if (view->setting && view->setting->window.downstream_cores > 0.3)
		evidence(advice, "what it calls on this machine used %.2f cores meanwhile",
			 view->setting->window.downstream_cores);
}

void sz_classify_limit(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	struct view view = look(sweep);
	for (size_t i = 0; i < SZ_ARRAY_LEN(rules) && advice->limit == SZ_CLASS_UNKNOWN; i++) {
		if (rules[i].holds(&view)) {
			advice->limit = rules[i].limit;
			rules[i].explain(&view, advice);
		}
	}
	if (advice->limit == SZ_CLASS_UNKNOWN)
		explain_unknown(&view, advice);
	if (advice->limit == SZ_CLASS_UNKNOWN || advice->limit == SZ_CLASS_SERIALISED)
		tell_downstream(&view, advice);
	name_runner_up(&view, advice);
}
