/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "measure/reference.h"
#include "measure/sampler.h"
#include "os/cpu.h"
#include "os/downstream.h"
#include "os/memory.h"
#include "os/pressure.h"
#include "os/proc.h"
#include "os/sched.h"
#include "os/sock.h"
#include "stat/interval.h"
#include "stat/warmup.h"

/* What the kernel says at one edge of the window. */
struct edge {
	uint64_t at_ns;
	struct sz_tree tree;
	struct sz_cpu_times machine;
	bool tree_known, machine_known;
	uint64_t own_cpu_ns; /* sizeup itself, the load generator included */
	uint64_t downstream_cpu_ns;
	struct sz_sched sched;
	struct sz_stalls stalls;
	bool sched_known, stalls_known;
};

/* What a request costs, as the window goes on: increments from poll to poll. */
#define COURSE_MAX 256
struct course {
	double cpu_ns[COURSE_MAX], ok[COURSE_MAX];
	size_t count;
	uint64_t cpu_before_ns, ok_before;
	bool known; /* every process of the start is still there */
};

struct edges {
	const struct sz_measure_config *config;
	struct edge start, end;
	int listen_queue; /* at the start; negative when unknown */
	/* Found at the start: services that this one calls are not noise. */
	struct sz_downstreams downstreams;
	uint64_t polled_ns;
	bool paused;
	struct course course;
	/* After the end, under load. */
	struct sz_tree tree;
	struct sz_port_view view;
	struct sz_memory_use memory;
	bool classified, memory_known;
};

static void edge_fini(struct edge *edge)
{
	sz_tree_fini(&edge->tree);
	sz_sched_fini(&edge->sched);
}

static void edges_fini(struct edges *edges)
{
	edge_fini(&edges->start);
	edge_fini(&edges->end);
	sz_tree_fini(&edges->tree);
}

/* Called with the clients waiting: only what is quick and must be in step. */
static void read_edge(struct edges *edges, struct edge *edge)
{
	const struct sz_measure_config *config = edges->config;
	edge->tree_known = sz_target_tree(config->target, &edge->tree) == 0;
	edge->machine_known = sz_cpu_read(config->os, config->cpus, &edge->machine) == 0;
	edge->sched_known = sz_sched_read(config->os, &edge->tree, &edge->sched) == 0;
	edge->stalls_known = sz_stalls_read(config->os, &edge->stalls) == 0;
	edge->downstream_cpu_ns = sz_downstreams_cpu_ns(config->os, &edges->downstreams);
	edge->own_cpu_ns = sz_process_cpu_ns();
	edge->at_ns = sz_now_ns();
}

/* After t1, under the load still: what takes milliseconds to read. */
static void read_processes(struct edges *edges)
{
	const struct sz_measure_config *config = edges->config;
	if (sz_target_tree(config->target, &edges->tree) < 0)
		return; /* gone: whoever owns the target says so, with its status */
	edges->classified = sz_tree_classify(config->os, &edges->tree, config->load.url.port,
					     &edges->view) == 0;
	sz_tree_read_memory(config->os, &edges->tree);
	edges->memory_known =
		sz_memory_use_read(config->os, sz_target_pid(config->target), &edges->memory) == 0;
}

static void at_edge(void *arg, enum sz_edge edge)
{
	struct edges *edges = arg;
	const struct sz_measure_config *config = edges->config;
	if (edge == SZ_EDGE_SETTLED) {
		read_processes(edges);
		return;
	}
	/* A few milliseconds, of which only requests before the window suffer. */
	if (edge == SZ_EDGE_START && sz_target_tree(config->target, &edges->tree) == 0)
		sz_downstreams_read(config->os, &edges->tree, config->load.url.port,
				    &edges->downstreams);
	read_edge(edges, edge == SZ_EDGE_START ? &edges->start : &edges->end);
	if (edge == SZ_EDGE_START) {
		edges->polled_ns = edges->start.at_ns;
		edges->course.known =
			sz_tree_cpu_now_ns(&edges->start.tree, &edges->course.cpu_before_ns) == 0;
		edges->listen_queue = sz_listen_queue(config->os, sz_target_pid(config->target),
						      config->load.url.port);
	}
}

static void note_course(struct edges *edges, uint64_t ok)
{
	struct course *course = &edges->course;
	uint64_t cpu_ns;
	if (!course->known || course->count == COURSE_MAX)
		return;
	course->known = sz_tree_cpu_now_ns(&edges->start.tree, &cpu_ns) == 0;
	if (!course->known)
		return;
	course->cpu_ns[course->count] = (double)cpu_ns - (double)course->cpu_before_ns;
	course->ok[course->count++] = (double)(ok - course->ok_before);
	course->cpu_before_ns = cpu_ns;
	course->ok_before = ok;
}

/* Where the service hardly computes, what a request costs decides nothing, and
 * where its processes come and go it cannot be followed. */
static bool cost_is_known(const struct edges *edges, uint64_t now_ns)
{
	const struct course *course = &edges->course;
	double cpu_ns = 0;
	if (!course->known)
		return true;
	for (size_t i = 0; i < course->count; i++)
		cpu_ns += course->cpu_ns[i];
	double cores = cpu_ns / (double)(now_ns - edges->start.at_ns);
	return cores < SZ_PRECISE_COST_RATIO * edges->config->cores_allowed ||
	       sz_cost_error_ratio(course->cpu_ns, course->ok, course->count) <= SZ_COST_PRECISION;
}

/* Polled all through the window: when a poll comes late, sizeup was stopped or
 * starved, and its clients with it. */
static bool note_poll(void *arg, uint64_t ok)
{
	struct edges *edges = arg;
	uint64_t now_ns = sz_now_ns();
	if (now_ns - edges->polled_ns > SZ_LOAD_POLL_NS + SZ_GATE_LATE_NS)
		edges->paused = true;
	edges->polled_ns = now_ns;
	note_course(edges, ok);
	return cost_is_known(edges, now_ns);
}

static double per_second(uint64_t before_ns, uint64_t after_ns, double elapsed_s)
{
	return ((double)after_ns - (double)before_ns) / 1e9 / elapsed_s;
}

/* --- requests --- */

static double quantile_ms(const struct sz_hist *hist, double ratio)
{
	return sz_hist_quantile_or_nan_ns(hist, ratio) / 1e6;
}

static double max_ms(const struct sz_hist *hist)
{
	return hist->count ? (double)hist->max_ns / 1e6 : SZ_NAN;
}

static void fill_requests(struct sz_window *window, const struct sz_load_result *result,
			  const struct sz_load_config *load)
{
	const struct sz_hist *ok = &result->latency[SZ_OUTCOME_OK];
	const uint64_t *outcomes = result->outcomes;
	window->duration_s = sz_ns_to_s(result->duration_ns);
	window->sent = result->sent;
	window->ok = outcomes[SZ_OUTCOME_OK];
	window->unfinished = outcomes[SZ_OUTCOME_UNFINISHED];
	window->error_status = result->error_status;
	window->stale = outcomes[SZ_OUTCOME_STALE];
	window->errors = sz_load_failed(result);
	window->due = result->scheduled;
	window->dropped = result->dropped;
	window->server_closed = result->server_closed;
	window->reconnects = result->reconnects;
	window->longest_gap_ms = sz_ns_to_ms(result->longest_gap_ns);
	window->client_cores = sz_ns_to_s(result->client_cpu_ns) / window->duration_s;

	window->throughput_rps = sz_load_goodput_rps(load, result);
	window->latency_mean_ms = sz_hist_mean_ns(ok) / 1e6;
	window->latency_p50_ms = quantile_ms(ok, 0.50);
	window->latency_p90_ms = quantile_ms(ok, 0.90);
	window->latency_p95_ms = quantile_ms(ok, 0.95);
	window->latency_p99_ms = quantile_ms(ok, 0.99);
	window->latency_max_ms = max_ms(ok);
	window->ttfb_p50_ms = quantile_ms(&result->ttfb, 0.50);
	window->ttfb_max_ms = max_ms(&result->ttfb);

	window->rounds = (unsigned)result->round_count;
	window->score = window->throughput_rps;
	if (result->round_count) {
		window->burst_ttfb_ms = sz_ns_to_ms(result->slowest_ttfb.p50_ns);
		window->score = 1e3 / window->burst_ttfb_ms;
	}

	/* Little's law: clients = X * R in a closed loop without think time, of all
	 * outcomes: who waits for an error waits, too. Time spent reconnecting is in
	 * neither factor, so it says nothing then. */
	double waited_ns = 0;
	for (unsigned i = 0; i < SZ_OUTCOME_COUNT; i++)
		waited_ns += result->latency[i].sum_ns;
	window->in_flight = waited_ns / (double)result->duration_ns;
	if (!sz_window_reconnects(window) && load->arrivals == SZ_ARRIVALS_CLOSED)
		window->little_ratio = window->in_flight / load->clients;
}

/* --- CPU --- */

static void fill_cpu(struct sz_window *window, const struct edges *edges)
{
	const struct edge *start = &edges->start, *end = &edges->end;
	double elapsed_s = per_second(start->at_ns, end->at_ns, 1.0);
	if (!start->tree_known || !end->tree_known)
		return;
	window->tree_cores =
		per_second(sz_tree_cpu_ns(&start->tree), sz_tree_cpu_ns(&end->tree), elapsed_s);
	if (window->ok)
		window->cpu_s_per_request =
			window->tree_cores * window->duration_s / (double)window->ok;
	if (start->sched_known && end->sched_known)
		window->runqueue_cores =
			(double)sz_sched_between(&start->sched, &end->sched).wait_ns / 1e9 /
			elapsed_s;
	if (!start->machine_known || !end->machine_known)
		return;
	double cpus = end->machine.cpus;
	double idle = per_second(start->machine.idle_ns, end->machine.idle_ns, elapsed_s);
	double steal = per_second(start->machine.steal_ns, end->machine.steal_ns, elapsed_s);
	double own = per_second(start->own_cpu_ns, end->own_cpu_ns, elapsed_s);
	window->steal_ratio = steal / cpus;
	window->downstream_cores =
		per_second(start->downstream_cpu_ns, end->downstream_cpu_ns, elapsed_s);
	window->foreign_cores =
		cpus - idle - steal - window->tree_cores - window->downstream_cores - own;
}

static uint64_t cpu_of(const struct sz_tree *tree, const struct sz_proc *proc)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct sz_proc *candidate = &tree->procs[i];
		if (candidate->pid == proc->pid && candidate->start_ticks == proc->start_ticks)
			return candidate->cpu_ns;
	}
	return 0; /* born later: it had used nothing */
}

/* --- pressure --- */

static void fill_pressure(struct sz_window *window, const struct edges *edges)
{
	const struct edge *start = &edges->start, *end = &edges->end;
	if (!start->stalls_known || !end->stalls_known)
		return;
	double elapsed_s = per_second(start->at_ns, end->at_ns, 1.0);
	window->cpu_some_ratio =
		per_second(start->stalls.cpu_some_ns, end->stalls.cpu_some_ns, elapsed_s);
	window->memory_some_ratio =
		per_second(start->stalls.memory_some_ns, end->stalls.memory_some_ns, elapsed_s);
	window->memory_full_ratio =
		per_second(start->stalls.memory_full_ns, end->stalls.memory_full_ns, elapsed_s);
}

/* --- processes --- */

/* Running totals over the service's processes; -1 once one is unreadable. */
static void add_bytes(int64_t *sum, int64_t bytes)
{
	*sum = *sum < 0 || bytes < 0 ? -1 : *sum + bytes;
}

static int64_t mean_bytes(int64_t sum, unsigned count)
{
	return sum < 0 || count == 0 ? -1 : sum / count;
}

static void fill_memory(struct sz_window *window, const struct sz_tree *tree, pid_t guard_pid)
{
	int64_t pss_worker = 0, rss_worker = 0, pss_supervisor = 0;
	unsigned supervisors = 0;
	/* A tree in which nobody lives takes an unknown amount, not 0. */
	window->pss_total_bytes = window->rss_total_bytes = tree->count ? 0 : -1;
	for (size_t i = 0; i < tree->count; i++) {
		const struct sz_proc *proc = &tree->procs[i];
		if (proc->pid == guard_pid || proc->state == 'Z')
			continue;
		add_bytes(&window->pss_total_bytes, proc->pss_bytes);
		add_bytes(&window->rss_total_bytes, proc->rss_bytes);
		if (proc->role == SZ_ROLE_WORKER) {
			add_bytes(&pss_worker, proc->pss_bytes);
			add_bytes(&rss_worker, proc->rss_bytes);
		} else if (proc->role == SZ_ROLE_SUPERVISOR) {
			supervisors++;
			add_bytes(&pss_supervisor, proc->pss_bytes);
		}
	}
	window->pss_worker_bytes = mean_bytes(pss_worker, window->workers);
	window->rss_worker_bytes = mean_bytes(rss_worker, window->workers);
	window->pss_supervisor_bytes = supervisors ? pss_supervisor : -1;
}

/* Largest share of the connections, times the workers: 1 is even. */
static double imbalance(const struct sz_window *window)
{
	unsigned total = 0, most = 0;
	for (unsigned i = 0; i < window->workers; i++) {
		unsigned connections = window->share[i].connections;
		total += connections;
		if (connections > most)
			most = connections;
	}
	/* Fewer connections than workers cannot be even. */
	unsigned could = window->workers < total ? window->workers : total;
	return total ? (double)most * could / total : SZ_NAN;
}

static int fill_shares(struct sz_window *window, const struct sz_tree *tree,
		       const struct edges *edges, struct sz_err *err)
{
	double elapsed_s = per_second(edges->start.at_ns, edges->end.at_ns, 1.0);
	window->share = calloc(tree->count + 1, sizeof(*window->share));
	if (!window->share)
		return sz_err_nomem(err);
	for (size_t i = 0; i < tree->count; i++) {
		const struct sz_proc *proc = &tree->procs[i];
		if (proc->role != SZ_ROLE_WORKER || proc->state == 'Z')
			continue;
		struct sz_worker_share *share = &window->share[window->workers++];
		share->connections = proc->connections;
		share->cpu_cores = per_second(cpu_of(&edges->start.tree, proc),
					      cpu_of(&edges->end.tree, proc), elapsed_s);
	}
	return 0;
}

static int fill_processes(struct sz_window *window, const struct edges *edges, struct sz_err *err)
{
	const struct sz_measure_config *config = edges->config;
	const struct sz_port_view *view = &edges->view;
	if (fill_shares(window, &edges->tree, edges, err) < 0)
		return -1;
	fill_memory(window, &edges->tree, sz_target_guard_pid(config->target));
	if (edges->memory_known) {
		window->memory_limit_bytes = (int64_t)edges->memory.limit_bytes;
		window->memory_taken_bytes = (int64_t)edges->memory.taken_bytes;
	}
	/* No listener in sight: the port is another one inside (a container). */
	window->listeners = edges->classified ? (int64_t)view->listeners : -1;
	window->workers_known = edges->classified && view->fds_readable && view->listeners > 0;
	/* Where connections are reopened some are always on their way. */
	window->connections_known =
		window->workers_known && view->established * 10 >= config->load.clients * 9;
	if (window->connections_known)
		window->imbalance = imbalance(window);
	return 0;
}

/* --- the gate --- */

bool sz_window_reconnects(const struct sz_window *window)
{
	return window->reconnects * 100 >= window->sent;
}

uint32_t sz_window_gate(const struct sz_window *window, double cores_allowed, unsigned clients,
			unsigned clients_answered)
{
	/* Comparisons with NaN are false: what is unknown disturbs nothing. */
	bool reopened = sz_window_reconnects(window); /* then the listen queue is the queue */
	/* Clients in step complete in steps of R: the ends cut off up to one. */
	double little = fmax(SZ_GATE_LITTLE, window->latency_mean_ms / 1e3 / window->duration_s);
	const bool tripped[SZ_DISTURBANCES] = {
		[SZ_DISTURBED_FOREIGN_CPU] =
			window->foreign_cores > SZ_GATE_FOREIGN_RATIO * cores_allowed,
		[SZ_DISTURBED_STEAL] = window->steal_ratio > SZ_GATE_STEAL_RATIO,
		[SZ_DISTURBED_CLIENT] = fmax(window->client_cores, window->client_peak_cores) >=
					SZ_GATE_CLIENT_CORES,
		[SZ_DISTURBED_UNANSWERED] = (clients_answered < clients),
		[SZ_DISTURBED_QUEUE] = (window->listen_queue > 0 && !reopened),
		[SZ_DISTURBED_LITTLE] = fabs(window->little_ratio - 1.0) > little,
		[SZ_DISTURBED_MEMORY] = window->memory_full_ratio > SZ_GATE_MEMORY_RATIO,
	};
	uint32_t bits = 0;
	for (unsigned i = 0; i < SZ_DISTURBANCES; i++)
		bits |= (uint32_t)tripped[i] << i;
	return bits;
}

/* A series too short to be judged is no evidence. */
static bool is_unsteady(const struct sz_load_series *series)
{
	size_t from;
	enum sz_steady steady = sz_steady_from(series->ok, series->count, &from);
	return steady == SZ_UNSTEADY_SHIFTS || steady == SZ_UNSTEADY_DRIFTS;
}

/* On cores that it shares with a busy service the client is late by a slice of the
 * scheduler: that is part of every latency, and matters where those are short. */
static bool was_too_late(const struct sz_load_result *result)
{
	const double harmless = 0.1;
	return sz_load_was_late(result) &&
	       sz_hist_quantile_ns(&result->lateness, 0.99) >
		       harmless * sz_hist_quantile_ns(&result->latency[SZ_OUTCOME_OK], 0.99);
}

static int load_window(struct edges *edges, struct sz_load *load, struct sz_load_result *result,
		       struct sz_err *err)
{
	const struct sz_measure_config *config = edges->config;
	const struct sz_load_span span = {
		.min_ns = config->window_min_ns,
		.max_ns = config->window_max_ns,
		.requests = config->window_requests,
		.rounds = config->rounds,
		.error_ratio = SZ_PRECISION,
		.precise_enough = note_poll,
		.at_edge = at_edge,
		.arg = edges,
	};
	if (sz_load_open(load, err) < 0 || sz_load_window(load, &span, result, err) < 0)
		return -1;
	if (result->interrupted)
		return sz_err_set(err, SZ_INTERRUPTED, 0, "interrupted");
	if (result->streams_lacking)
		return sz_err_set(err, SZ_MACHINE, 0,
				  "the service came to take fewer streams of a connection than are "
				  "asked for");
	if (!sz_load_counts_ok(result))
		return sz_err_set(err, SZ_UNTRUSTED, 0,
				  "the counts of requests do not add up: this is a bug of sizeup");
	return 0;
}

static void fill_samples(struct sz_window *window, const struct sz_samples *samples)
{
	window->samples = samples->looks;
	window->sampler_cores = samples->cost_cores;
	window->client_peak_cores = samples->client_peak_cores;
	if (samples->looks == 0)
		return;
	window->rss_peak_bytes = samples->rss_peak_bytes;
	window->processes_peak = samples->processes_peak;
	window->threads_peak = samples->threads_peak;
}

/* The load, watched from inside the window as well. */
static int run_watched(struct edges *edges, struct sz_load *load, struct sz_load_result *result,
		       struct sz_window *window, struct sz_err *err)
{
	struct sz_sampler *sampler = NULL;
	struct sz_samples samples;
	window->reference_ms = sz_reference_ms();
	if (sz_sampler_start(edges->config->os, edges->config->target, &sampler, err) < 0)
		return -1;
	int status = load_window(edges, load, result, err);
	sz_sampler_stop(sampler, edges->start.at_ns, edges->end.at_ns, &samples);
	if (status == 0)
		fill_samples(window, &samples);
	return status;
}

static int run_load(struct edges *edges, struct sz_load *load, struct sz_load_result *result,
		    struct sz_window *window, struct sz_err *err)
{
	const struct sz_measure_config *config = edges->config;
	if (run_watched(edges, load, result, window, err) < 0)
		return -1;
	fill_requests(window, result, &config->load);
	fill_cpu(window, edges);
	fill_pressure(window, edges);
	window->listen_queue = edges->listen_queue < 0 ? -1 : edges->listen_queue;
	if (fill_processes(window, edges, err) < 0)
		return -1;
	/* In an open loop few of the clients may be needed. */
	bool is_open = config->load.arrivals == SZ_ARRIVALS_OPEN;
	window->disturbed =
		sz_window_gate(window, config->cores_allowed, config->load.clients,
			       is_open ? config->load.clients : result->clients_answered);
	if (window->rounds)
		return 0; /* no series to be steady, and rounds last as long as they do */
	if (is_unsteady(&result->series))
		window->disturbed |= 1u << SZ_DISTURBED_UNSTEADY;
	if (edges->paused || was_too_late(result) ||
	    result->duration_ns > config->window_max_ns + SZ_GATE_LATE_NS)
		window->disturbed |= 1u << SZ_DISTURBED_PAUSED;
	return 0;
}

int sz_measure_window(const struct sz_measure_config *config, struct sz_window *window,
		      struct sz_err *err)
{
	sz_window_fini(window);
	struct edges edges = {.config = config, .listen_queue = -1};
	struct sz_load *load = NULL;
	sz_autofree struct sz_load_result *result = malloc(sizeof(*result));
	if (!result)
		return sz_err_nomem(err);
	int status = sz_load_new(&config->load, &load, err);
	if (status == 0)
		status = run_load(&edges, load, result, window, err);
	sz_load_free(load);
	edges_fini(&edges);
	return status;
}
