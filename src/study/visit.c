/* SPDX-License-Identifier: Apache-2.0 */
#include "study/visit.h"

#include <math.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "study/goal.h"
#include "target/target.h"

/* One client alone: enough requests for a mean, soon over when they are slow. */
static const struct {
	uint64_t min_ns, max_ns, requests;
} alone_span = {300 * SZ_NS_PER_MS, 3 * SZ_NS_PER_S, 30};

/* What one visit works with. */
struct here {
	const struct sz_sweep_config *config;
	const struct sz_visit_plan *plan;
	struct sz_sweep *sweep;
	struct sz_visit *visit;
	struct sz_target *target;
	struct sz_limits limits;     /* of the service */
	uint64_t cpus[SZ_CPU_WORDS]; /* the service's and our own */
	sz_windows_fn *windows;      /* of an unrecorded visit */
	void *arg;
};

void sz_sweep_report(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
		     enum sz_step step, size_t setting, double expected_s)
{
	const struct sz_progress progress = {.step = step,
					     .setting = setting,
					     .expected_s = expected_s};
	if (config->progress)
		config->progress(config->arg, sweep, &progress);
}

static void report(const struct here *here, enum sz_step step, uint64_t expected_ns)
{
	sz_sweep_report(here->config, here->sweep, step, here->plan->setting,
			sz_ns_to_s(expected_ns));
}

uint64_t sz_window_max_ns(const struct sz_sweep_config *config)
{
	/* Rounds are counted, not timed; the bound is for those that take for ever. */
	uint64_t most_ns = config->rounds ? 6 * SZ_WINDOW_MAX_NS : SZ_WINDOW_MAX_NS;
	return config->window_ns > most_ns ? config->window_ns : most_ns;
}

void sz_describe_machine(const struct sz_limits *limits, struct sz_machine *machine)
{
	struct utsname kernel;
	machine->cores_allowed = limits->cores;
	machine->cpus_allowed = limits->cpus;
	machine->cpus_online = limits->cpus_online;
	machine->memory_limit_bytes = limits->memory_bytes;
	machine->memory_limited = limits->memory_limited;
	snprintf(machine->cores_from, sizeof(machine->cores_from), "%s", limits->cores_from);
	snprintf(machine->memory_from, sizeof(machine->memory_from), "%s", limits->memory_from);
	snprintf(machine->unseen, sizeof(machine->unseen), "%s", limits->unseen);
	if (uname(&kernel) == 0)
		snprintf(machine->kernel, sizeof(machine->kernel), "%s %.30s", kernel.sysname,
			 kernel.release);
}

static struct sz_measure_config measure_config(const struct here *here)
{
	const struct sz_sweep_config *config = here->config;
	return (struct sz_measure_config){
		.os = &config->os,
		.cores_allowed = here->limits.cores,
		.cpus = here->cpus,
		.target = here->target,
		.load = config->load,
		.window_min_ns = config->window_ns,
		.window_max_ns = sz_window_max_ns(config),
		.window_requests = SZ_WINDOW_REQUESTS,
		.rounds = config->rounds,
	};
}

/* R1 and D1: the service with nobody else in the queue. After the loaded
 * window, so that the service is as warm as it was there. */
static int measure_alone(struct here *here, struct sz_err *err)
{
	enum { TRIES = 3 };
	__attribute__((cleanup(sz_window_fini))) struct sz_window window;
	sz_window_init(&window);
	struct sz_measure_config measure = measure_config(here);
	measure.load.clients = 1;
	measure.load.arrivals = SZ_ARRIVALS_CLOSED;
	measure.rounds = 0;
	measure.load.warmup_ns = 100 * SZ_NS_PER_MS;
	measure.window_min_ns = alone_span.min_ns;
	measure.window_max_ns = alone_span.max_ns;
	measure.window_requests = alone_span.requests;
	for (unsigned try = 0; try < TRIES; try++) {
		report(here, SZ_STEP_ALONE, alone_span.min_ns);
		if (sz_measure_window(&measure, &window, err) < 0)
			return sz_err_wrap(err, "one client alone");
		if (window.disturbed)
			continue;
		here->sweep->alone_latency_ms = window.latency_mean_ms;
		here->sweep->alone_cpu_s_per_request = window.cpu_s_per_request;
		break;
	}
	return 0;
}

/* The load of this visit: what its purpose changes. */
static struct sz_measure_config visit_config(const struct here *here)
{
	struct sz_measure_config measure = measure_config(here);
	measure.load.clients = here->visit->clients;
	if (here->sweep->burst)
		measure.load.users = here->visit->clients / here->sweep->burst;
	if (here->plan->purpose == SZ_FOR_SOAK)
		measure.window_min_ns = measure.window_max_ns = here->config->soak_ns;
	if (here->plan->purpose == SZ_FOR_RATE)
		sz_open_at(&measure, here->plan->rate_rps, 0.99);
	if (here->plan->purpose == SZ_FOR_CONNECT)
		measure.load.connect = measure.load.connect == SZ_CONNECT_PACED ? SZ_CONNECT_BURST
										: SZ_CONNECT_PACED;
	return measure;
}

#define STILL_FALLING 0.9 /* of an unsteady window's throughput */

/* The window, and once more when something external disturbed it. */
static int measure_gated(struct here *here, struct sz_err *err)
{
	const struct sz_sweep_config *config = here->config;
	const struct sz_measure_config measure = visit_config(here);
	struct sz_window *window = &here->visit->window;
	unsigned tries = here->plan->purpose == SZ_FOR_SOAK ? 1 : 2;
	double unsteady_score = SZ_NAN; /* of the window before */
	for (unsigned try = 0; try < tries; try++) {
		report(here, try ? SZ_STEP_AGAIN : SZ_STEP_LOAD,
		       config->load.warmup_ns + measure.window_min_ns);
		here->visit->retries = try;
		if (sz_measure_window(&measure, window, err) < 0)
			return -1;
		/* A service that slows down goes on doing so, if too evenly to be seen
		 * in the second window alone. */
		if (window->score < STILL_FALLING * unsteady_score)
			window->disturbed |= 1u << SZ_DISTURBED_UNSTEADY;
		if (!window->disturbed)
			break;
		if (window->disturbed >> SZ_DISTURBED_UNSTEADY & 1)
			unsteady_score = window->score;
	}
	return sz_target_alive(here->target, err) ? 0 : -1;
}

/* What settings are compared by, when there is a goal. */
static int measure_goal(struct here *here, struct sz_err *err)
{
	const struct sz_goal *goal = &here->config->goal;
	const struct sz_measure_config measure = visit_config(here);
	struct sz_window *window = &here->visit->window;
	bool is_compared =
		here->plan->purpose == SZ_FOR_ASCENT || here->plan->purpose == SZ_FOR_RACE;
	uint32_t disturbed;
	if (goal->ratio == 0 || !is_compared || window->ok == 0)
		return 0;
	report(here, SZ_STEP_GOAL, 5 * measure.window_min_ns);
	if (sz_measure_goal(&measure, goal, window->throughput_rps, &window->goal_rps, &disturbed,
			    err) < 0)
		return -1;
	/* What meets it nowhere is at most as good as the least that was asked. */
	window->score = fmax(window->goal_rps, SZ_GOAL_LEAST_RATIO * window->throughput_rps);
	window->disturbed |= disturbed;
	return sz_target_alive(here->target, err) ? 0 : -1;
}

/* One window, or for a control several, of which the first is kept as well. */
static int measure_windows(struct here *here, struct sz_err *err)
{
	struct sz_visit *visit = here->visit;
	uint64_t ready_ns = sz_now_ns();
	unsigned more = here->plan->purpose == SZ_FOR_CONTROL ? SZ_CONTROL_WINDOWS - 1 : 0;
	if (measure_gated(here, err) < 0)
		return -1;
	if (more && !visit->window.disturbed)
		visit->fresh_score = visit->window.score;
	for (; more > 0; more--) {
		if (measure_gated(here, err) < 0)
			return -1;
	}
	visit->age_s = sz_ns_to_s(sz_now_ns() - ready_ns);
	return measure_goal(here, err);
}

/* The client may run on CPUs that the service may not, and the other way. */
static int join_own_cpus(struct here *here, struct sz_err *err)
{
	struct sz_limits own;
	if (sz_limits_read(&here->config->os, getpid(), &own, err) < 0)
		return -1;
	for (size_t i = 0; i < SZ_CPU_WORDS; i++)
		here->cpus[i] = here->limits.cpu_set[i] | own.cpu_set[i];
	return 0;
}

/* What answers must be what was started: a command that only tells another
 * program to serve leaves a tree in which nothing happens. */
static int check_serves(const struct here *here, struct sz_err *err)
{
	if (!here->config->argv || here->visit->window.listeners != 0)
		return 0;
	sz_err_set(err, SZ_MACHINE, 0,
		   "no process that the command started listens on port %u, though something "
		   "answers "
		   "there",
		   here->config->load.url.port);
	return sz_err_hint(err,
			   "for a service that another program runs (a container, systemd) use "
			   "--apply with --port, --pid-file or --cgroup");
}

static int get_ready(struct here *here, struct sz_err *err)
{
	const struct sz_sweep_config *config = here->config;
	struct sz_visit *visit = here->visit;
	struct sz_ready ready;
	if (sz_target_wait_ready(here->target, &ready, err) < 0)
		return -1;
	visit->ready_s = sz_ns_to_s(ready.ready_ns);
	visit->start_cpu_s = sz_ns_to_s(ready.start_cpu_ns);
	visit->settled = ready.settled;
	visit->old_workers = ready.old_workers;
	if (sz_limits_read(&config->os, sz_target_pid(here->target), &here->limits, err) < 0)
		return -1;
	/* The service's own limits: its command may narrow them (taskset). */
	sz_describe_machine(&here->limits, &here->sweep->machine);
	return join_own_cpus(here, err);
}

static int measure_setting(struct here *here, struct sz_err *err)
{
	if (get_ready(here, err) < 0 || measure_windows(here, err) < 0 ||
	    check_serves(here, err) < 0)
		return -1;
	if (!isnan(here->sweep->alone_latency_ms) || measure_alone(here, err) == 0)
		return 0;
	/* What the window has told is not lost for it; the next visit tries again. */
	return err->code != SZ_INTERRUPTED && sz_target_alive(here->target, err) ? 0 : -1;
}

void sz_sweep_attached(const struct sz_sweep_config *config, struct sz_attached_config *attached)
{
	*attached = (struct sz_attached_config){
		.apply = config->attached.apply,
		.undo = config->attached.undo,
		.pid_file = config->attached.pid_file,
		.cgroup = config->attached.cgroup,
		.hook_timeout_ns = config->hook_timeout_ns,
		.ready_url = config->ready_url,
		.addr = config->load.addr,
		.tls = config->ready_tls,
		.ready_timeout_ns = config->ready_timeout_ns,
	};
}

static int start_own(struct here *here, const struct sz_binding *bindings, size_t count,
		     struct sz_err *err)
{
	const struct sz_sweep_config *config = here->config;
	const struct sz_target_config target = {
		.argv = config->argv,
		.env = config->env,
		.reset = config->reset,
		.hook_timeout_ns = config->hook_timeout_ns,
		.ready_url = config->ready_url,
		.addr = config->load.addr,
		.tls = config->ready_tls,
		.ready_timeout_ns = config->ready_timeout_ns,
		.stop_timeout_ns = config->stop_timeout_ns,
	};
	return sz_target_start(&config->os, &target, bindings, count, &here->target, err);
}

static int start(struct here *here, struct sz_err *err)
{
	const struct sz_sweep_config *config = here->config;
	struct sz_attached_config attached;
	struct sz_binding bindings[] = {{.name = "workers"}, {.name = "port"}};
	snprintf(bindings[0].value, sizeof(bindings[0].value), "%u",
		 here->sweep->setting[here->plan->setting].workers);
	snprintf(bindings[1].value, sizeof(bindings[1].value), "%u", config->load.url.port);
	report(here, SZ_STEP_START, SZ_NS_PER_S);
	if (config->argv)
		return start_own(here, bindings, SZ_ARRAY_LEN(bindings), err);
	sz_sweep_attached(config, &attached);
	return sz_target_apply(&config->os, &attached, bindings, SZ_ARRAY_LEN(bindings),
			       &here->target, err);
}

static void stop(struct here *here)
{
	struct sz_stopped stopped;
	report(here, SZ_STEP_STOP, SZ_NS_PER_S);
	sz_target_stop(here->target, &stopped);
	if (here->config->argv)
		here->visit->exit_s = sz_ns_to_s(stopped.exit_ns);
	here->visit->killed = stopped.killed;
}

static int measure_unrecorded(struct here *here, struct sz_err *err)
{
	if (get_ready(here, err) < 0)
		return -1;
	const struct sz_measure_config measure = measure_config(here);
	return here->windows(here->arg, &measure, err);
}

/* Start, measure, stop; here->visit is filled when it went well. */
static int visit(struct here *here, int (*measure)(struct here *here, struct sz_err *err),
		 struct sz_err *err)
{
	if (start(here, err) < 0)
		return -1;
	int status = measure(here, err);
	/* A load that failed because the service died is told by its death. */
	if (status < 0 && err->code == SZ_MACHINE)
		sz_target_alive(here->target, err);
	stop(here);
	return status;
}

static unsigned clients_of(const struct sz_sweep *sweep, const struct sz_visit_plan *plan)
{
	if (plan->users)
		return sweep->burst * plan->users;
	return sweep->clients * (plan->purpose == SZ_FOR_TWICE ? 2 : 1);
}

int sz_visit_setting(const struct sz_sweep_config *config, struct sz_sweep *sweep,
		     const struct sz_visit_plan *plan, struct sz_err *err)
{
	struct here here = {.config = config, .plan = plan, .sweep = sweep};
	here.visit = sz_sweep_add_visit(sweep);
	if (!here.visit)
		return sz_err_nomem(err);
	here.visit->setting = plan->setting;
	here.visit->block = plan->block;
	here.visit->purpose = plan->purpose;
	here.visit->clients = clients_of(sweep, plan);
	if (plan->purpose == SZ_FOR_RATE)
		here.visit->rate_rps = plan->rate_rps;
	if (visit(&here, measure_setting, err) == 0) {
		here.visit->done = true;
		return 0;
	}
	/* A visit that failed is no visit: what it means is the caller's to note. */
	sz_window_fini(&here.visit->window);
	sweep->visit_count--;
	return -1;
}

int sz_visit_unrecorded(const struct sz_sweep_config *config, struct sz_sweep *sweep,
			size_t setting, sz_windows_fn *windows, void *arg, struct sz_err *err)
{
	const struct sz_visit_plan plan = {.setting = setting};
	struct sz_visit unrecorded = {0};
	struct here here = {.config = config,
			    .plan = &plan,
			    .sweep = sweep,
			    .visit = &unrecorded,
			    .windows = windows,
			    .arg = arg};
	return visit(&here, measure_unrecorded, err);
}
