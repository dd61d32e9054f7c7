/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "advise/advise.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "measure/measure.h"
#include "os/limits.h"
#include "study/ceiling.h"
#include "target/target.h"

/* One client alone: enough requests for a mean, soon over when they are slow. */
static const struct {
	uint64_t min_ns, max_ns, requests;
} alone_span = {300 * SZ_NS_PER_MS, 3 * SZ_NS_PER_S, 30};

static void report(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
		   enum sz_step step, size_t setting, double expected_s)
{
	const struct sz_progress progress = {.step = step,
					     .setting = setting,
					     .expected_s = expected_s};
	if (config->progress)
		config->progress(config->progress_arg, sweep, &progress);
}

static uint64_t window_max_ns(const struct sz_sweep_config *config)
{
	return config->window_ns > SZ_WINDOW_MAX_NS ? config->window_ns : SZ_WINDOW_MAX_NS;
}

void sz_sweep_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s)
{
	double settings = (double)config->workers.count;
	double warmup_s = sz_ns_to_s(config->load.warmup_ns);
	*least_s = settings * (1.0 + warmup_s + sz_ns_to_s(config->window_ns)) + 2.0;
	*most_s = settings * (4.0 + warmup_s + sz_ns_to_s(window_max_ns(config))) + 6.0;
}

/* --- the machine --- */

static void describe_machine(const struct sz_limits *limits, struct sz_machine *machine)
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

/* --- one setting --- */

static int measure(const struct sz_sweep_config *config, const struct sz_limits *limits,
		   const struct sz_target *target, struct sz_window *window, struct sz_err *err)
{
	const struct sz_measure_config measure = {
		.os = &config->os,
		.limits = limits,
		.guard_pid = sz_target_guard_pid(target),
		.load = config->load,
		.window_min_ns = config->window_ns,
		.window_max_ns = window_max_ns(config),
		.window_requests = SZ_WINDOW_REQUESTS,
	};
	return sz_measure_window(&measure, window, err);
}

/* R1 and D1: the service with nobody else in the queue. */
static int measure_alone(const struct sz_sweep_config *config, const struct sz_limits *limits,
			 const struct sz_target *target, struct sz_sweep *sweep, struct sz_err *err)
{
	__attribute__((cleanup(sz_window_fini))) struct sz_window window;
	sz_window_init(&window);
	struct sz_measure_config measure = {
		.os = &config->os,
		.limits = limits,
		.guard_pid = sz_target_guard_pid(target),
		.load = config->load,
		.window_min_ns = alone_span.min_ns,
		.window_max_ns = alone_span.max_ns,
		.window_requests = alone_span.requests,
	};
	measure.load.clients = 1;
	measure.load.warmup_ns = 100 * SZ_NS_PER_MS;
	if (sz_measure_window(&measure, &window, err) < 0)
		return sz_err_wrap(err, "one client alone");
	sweep->alone_latency_ms = window.latency_mean_ms;
	sweep->alone_cpu_s_per_request = window.cpu_s_per_request;
	sweep->alone_requests = window.ok;
	return 0;
}

/* The window, and once more when something external disturbed it. */
static int measure_gated(const struct sz_sweep_config *config, const struct sz_limits *limits,
			 struct sz_target *target, struct sz_sweep *sweep, size_t index,
			 struct sz_err *err)
{
	enum { TRIES = 2 };
	struct sz_setting *setting = &sweep->setting[index];
	for (unsigned try = 0; try < TRIES; try++) {
		report(config, sweep, try ? SZ_STEP_AGAIN : SZ_STEP_LOAD, index,
		       sz_ns_to_s(config->load.warmup_ns + config->window_ns));
		setting->retries = try;
		if (measure(config, limits, target, &setting->window, err) < 0)
			return -1;
		if (!setting->window.disturbed)
			break;
	}
	return sz_target_alive(target, err) ? 0 : -1;
}

static int measure_setting(const struct sz_sweep_config *config, struct sz_target *target,
			   struct sz_sweep *sweep, size_t index, struct sz_err *err)
{
	struct sz_setting *setting = &sweep->setting[index];
	struct sz_ready ready;
	struct sz_limits limits;
	if (sz_target_wait_ready(target, &ready, err) < 0)
		return -1;
	setting->ready_s = sz_ns_to_s(ready.ready_ns);
	setting->start_cpu_s = sz_ns_to_s(ready.start_cpu_ns);
	setting->settled = ready.settled;
	if (sz_limits_read(&config->os, sz_target_pid(target), &limits, err) < 0)
		return -1;
	/* The service's own limits: its command may narrow them (taskset). */
	describe_machine(&limits, &sweep->machine);
	if (index == 0) {
		report(config, sweep, SZ_STEP_ALONE, index, sz_ns_to_s(alone_span.min_ns));
		if (measure_alone(config, &limits, target, sweep, err) < 0)
			return -1;
	}
	return measure_gated(config, &limits, target, sweep, index, err);
}

static int run_setting(const struct sz_sweep_config *config, struct sz_sweep *sweep, size_t index,
		       struct sz_err *err)
{
	struct sz_setting *setting = &sweep->setting[index];
	struct sz_binding bindings[] = {{.name = "workers"}, {.name = "port"}};
	snprintf(bindings[0].value, sizeof(bindings[0].value), "%u", setting->workers);
	snprintf(bindings[1].value, sizeof(bindings[1].value), "%u", config->load.url.port);
	const struct sz_target_config target_config = {
		.argv = config->argv,
		.env = config->env,
		.ready_url = config->ready_url,
		.addr = config->load.addr,
		.ready_timeout_ns = config->ready_timeout_ns,
		.stop_timeout_ns = config->stop_timeout_ns,
	};
	struct sz_target *target;
	report(config, sweep, SZ_STEP_START, index, 1.0);
	if (sz_target_start(&config->os, &target_config, bindings, SZ_ARRAY_LEN(bindings), &target,
			    err) < 0)
		return -1;
	int status = measure_setting(config, target, sweep, index, err);
	/* A load that failed because the service died is told by its death. */
	if (status < 0 && err->code == SZ_MACHINE)
		sz_target_alive(target, err);

	struct sz_stopped stopped;
	report(config, sweep, SZ_STEP_STOP, index, 1.0);
	sz_target_stop(target, &stopped);
	setting->exit_s = sz_ns_to_s(stopped.exit_ns);
	setting->killed = stopped.killed;
	setting->measured = status == 0;
	return status;
}

/* --- the ascent --- */

/* What a failure at setting `index` means for the whole sweep. */
static int note_failure(struct sz_sweep *sweep, size_t index, struct sz_err *err)
{
	if (err->code == SZ_INTERRUPTED) {
		sweep->interrupted = true;
		return 0;
	}
	struct sz_setting *setting = &sweep->setting[index];
	if (index == 0)
		return sz_err_wrap(err, "at %u worker%s", setting->workers,
				   setting->workers == 1 ? "" : "s");
	snprintf(setting->why_infeasible, sizeof(setting->why_infeasible), "%.290s", err->message);
	setting->verdict = SZ_INFEASIBLE;
	return 0;
}

static int ascend(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (run_setting(config, sweep, i, err) < 0)
			return note_failure(sweep, i, err);
	}
	return 0;
}

static void describe_load(const struct sz_sweep_config *config, struct sz_sweep *sweep)
{
	char host[272];
	size_t used = 0;
	sweep->clients = config->load.clients;
	sweep->connect_burst = config->load.connect == SZ_CONNECT_BURST;
	snprintf(sweep->url, sizeof(sweep->url), "http://%s%.200s",
		 sz_url_host_header(&config->load.url, host), config->load.url.target);
	for (char *const *arg = config->argv; *arg && used < sizeof(sweep->command); arg++) {
		int n = snprintf(sweep->command + used, sizeof(sweep->command) - used, "%s%s",
				 used ? " " : "", *arg);
		used += n > 0 ? (size_t)n : 0;
	}
}

int sz_sweep_run(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	/* Failures are told apart by their code even when the caller does not care. */
	struct sz_err own = {0};
	err = err ? err : &own;
	describe_load(config, sweep);
	sweep->setting_count = config->workers.count;
	for (size_t i = 0; i < sweep->setting_count; i++)
		sweep->setting[i].workers = config->workers.value[i];

	report(config, sweep, SZ_STEP_CALIBRATE, 0, 1.0);
	if (sz_client_ceiling(config, &sweep->client_ceiling_rps, err) < 0) {
		if (err->code != SZ_INTERRUPTED)
			return sz_err_wrap(err, "measuring the load generator");
		sweep->interrupted = true;
	}
	if (!sweep->interrupted && ascend(config, sweep, err) < 0)
		return -1;
	sz_advise_sweep(sweep);
	return 0;
}
