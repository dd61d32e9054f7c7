/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sz_window_init(struct sz_window *window)
{
	*window = (struct sz_window){
		.duration_s = SZ_NAN,
		.throughput_rps = SZ_NAN,
		.score = SZ_NAN,
		.goal_rps = SZ_NAN,
		.burst_ttfb_ms = SZ_NAN,
		.latency_mean_ms = SZ_NAN,
		.latency_p50_ms = SZ_NAN,
		.latency_p90_ms = SZ_NAN,
		.latency_p95_ms = SZ_NAN,
		.latency_p99_ms = SZ_NAN,
		.latency_max_ms = SZ_NAN,
		.ttfb_p50_ms = SZ_NAN,
		.ttfb_max_ms = SZ_NAN,
		.longest_gap_ms = SZ_NAN,
		.cpu_s_per_request = SZ_NAN,
		.tree_cores = SZ_NAN,
		.client_cores = SZ_NAN,
		.foreign_cores = SZ_NAN,
		.steal_ratio = SZ_NAN,
		.runqueue_cores = SZ_NAN,
		.downstream_cores = SZ_NAN,
		.reference_ms = SZ_NAN,
		.sampler_cores = SZ_NAN,
		.client_peak_cores = SZ_NAN,
		.rss_peak_bytes = -1,
		.in_flight = SZ_NAN,
		.little_ratio = SZ_NAN,
		.imbalance = SZ_NAN,
		.pss_total_bytes = -1,
		.rss_total_bytes = -1,
		.pss_worker_bytes = -1,
		.rss_worker_bytes = -1,
		.pss_supervisor_bytes = -1,
		.memory_limit_bytes = -1,
		.memory_taken_bytes = -1,
		.cpu_some_ratio = SZ_NAN,
		.memory_some_ratio = SZ_NAN,
		.memory_full_ratio = SZ_NAN,
		.listen_queue = -1,
		.listeners = -1,
	};
}

void sz_window_fini(struct sz_window *window)
{
	free(window->share);
	sz_window_init(window);
}

const double sz_goal_ratios[SZ_GOAL_RATIOS] = {0.50, 0.90, 0.95, 0.99};

double sz_window_latency_ms(const struct sz_window *window, double ratio)
{
	const double known[SZ_GOAL_RATIOS] = {window->latency_p50_ms, window->latency_p90_ms,
					      window->latency_p95_ms, window->latency_p99_ms};
	for (size_t i = 0; i < SZ_GOAL_RATIOS; i++) {
		if (sz_goal_ratios[i] == ratio)
			return known[i];
	}
	return SZ_NAN;
}

static void setting_init(struct sz_setting *setting, unsigned workers)
{
	*setting = (struct sz_setting){
		.workers = workers,
		.throughput_low_rps = SZ_NAN,
		.throughput_high_rps = SZ_NAN,
		.ready_s = SZ_NAN,
		.start_cpu_s = SZ_NAN,
		.exit_s = SZ_NAN,
		.speedup = SZ_NAN,
		.efficiency = SZ_NAN,
	};
	sz_window_init(&setting->window);
}

void sz_sweep_init(struct sz_sweep *sweep)
{
	*sweep = (struct sz_sweep){
		.knee_gain_ratio = SZ_NAN,
		.client_ceiling_rps = SZ_NAN,
		.alone_latency_ms = SZ_NAN,
		.alone_cpu_s_per_request = SZ_NAN,
		.advice.memory = {.limit_bytes = -1, .others_bytes = -1, .fits_workers = -1},
	};
}

void sz_sweep_fini(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++)
		sz_window_fini(&sweep->setting[i].window);
	for (size_t i = 0; i < sweep->visit_count; i++)
		sz_window_fini(&sweep->visits[i].window);
	free(sweep->visits);
	sz_sweep_init(sweep);
}

bool sz_is_latency_row(const struct sz_sweep *sweep, const struct sz_visit *visit)
{
	return visit->purpose == SZ_FOR_RATE && sweep->advice.recommended &&
	       visit->setting == sweep->advice.setting;
}

struct sz_visit *sz_sweep_add_visit(struct sz_sweep *sweep)
{
	if (sz_grow(&sweep->visits, &sweep->visit_cap, sweep->visit_count + 1,
		    sizeof(*sweep->visits)) < 0)
		return NULL;
	struct sz_visit *visit = &sweep->visits[sweep->visit_count++];
	*visit = (struct sz_visit){.rate_rps = SZ_NAN,
				   .ready_s = SZ_NAN,
				   .start_cpu_s = SZ_NAN,
				   .age_s = SZ_NAN,
				   .fresh_score = SZ_NAN,
				   .exit_s = SZ_NAN};
	sz_window_init(&visit->window);
	return visit;
}

size_t sz_sweep_add_setting(struct sz_sweep *sweep, unsigned workers)
{
	size_t at = 0;
	while (at < sweep->setting_count && sweep->setting[at].workers < workers)
		at++;
	if (at < sweep->setting_count && sweep->setting[at].workers == workers)
		return at;
	if (sweep->setting_count == SZ_SETTINGS_MAX)
		return SZ_SETTINGS_MAX;
	memmove(&sweep->setting[at + 1], &sweep->setting[at],
		(sweep->setting_count - at) * sizeof(sweep->setting[0]));
	sweep->setting_count++;
	setting_init(&sweep->setting[at], workers);
	for (size_t i = 0; i < sweep->visit_count; i++)
		sweep->visits[i].setting += sweep->visits[i].setting >= at;
	return at;
}

size_t sz_sweep_current(const struct sz_sweep *sweep)
{
	size_t at = 0;
	while (at < sweep->setting_count && !sweep->setting[at].current)
		at++;
	return at;
}

static const struct {
	const char *text, *remedy;
} disturbances[SZ_DISTURBANCES] = {
	[SZ_DISTURBED_FOREIGN_CPU] = {"other programs used the CPU",
				      "stop what else runs on this machine and repeat"},
	[SZ_DISTURBED_STEAL] = {"the hypervisor took CPU time away",
				"repeat at a quieter time, or on a machine of your own"},
	[SZ_DISTURBED_CLIENT] = {"the load generator itself was near its limit",
				 "choose a URL that does real work, or fewer clients"},
	[SZ_DISTURBED_UNANSWERED] = {"some clients never got an answer",
				     "raise the service's backlog, or use fewer --clients"},
	[SZ_DISTURBED_QUEUE] =
		{"connections sat in the listen queue unaccepted",
		 "look why the service does not accept them, or use fewer --clients"},
	[SZ_DISTURBED_PAUSED] = {"sizeup itself was stopped or starved for a while",
				 "do not suspend it; repeat on a quieter machine"},
	[SZ_DISTURBED_UNSTEADY] = {"the throughput was still changing",
				   "give the service a longer --warmup"},
	[SZ_DISTURBED_LITTLE] = {"throughput times latency does not add up to the clients",
				 "make windows longer: --window 10s"},
	[SZ_DISTURBED_MEMORY] = {"programs stood still for want of memory",
				 "stop what else takes memory, or try fewer workers"},
};

const char *sz_disturbance_text(enum sz_disturbance disturbance)
{
	return disturbances[disturbance].text;
}

const char *sz_disturbance_remedy(enum sz_disturbance disturbance)
{
	return disturbances[disturbance].remedy;
}

const char *sz_verdict_name(enum sz_verdict verdict)
{
	static const char *const names[] = {
		[SZ_UNDECIDED] = "undecided",
		[SZ_ACCEPTED] = "accepted",
		[SZ_INFERIOR] = "inferior",
		[SZ_INFEASIBLE] = "infeasible",
	};
	return names[verdict];
}

const char *sz_grade_name(enum sz_grade grade)
{
	static const char *const names[] = {
		[SZ_GRADE_WEAK] = "weak",
		[SZ_GRADE_NOT_WORSE_SHOWN] = "not-worse-shown",
		[SZ_GRADE_DECIDED] = "decided",
	};
	return names[grade];
}

const char *sz_class_name(enum sz_class limit)
{
	static const char *const names[] = {
		[SZ_CLASS_UNKNOWN] = "unknown",
		[SZ_CLASS_CPU_BOUND] = "cpu-bound",
		[SZ_CLASS_WAITING] = "waiting",
		[SZ_CLASS_SERIALISED] = "serialised",
		[SZ_CLASS_UNEVEN_SPREAD] = "uneven-spread",
		[SZ_CLASS_OVERSUBSCRIBED] = "oversubscribed",
		[SZ_CLASS_NAGLE_FLOOR] = "nagle-floor",
		[SZ_CLASS_CLIENT_BOUND] = "client-bound",
		[SZ_CLASS_NOISY] = "noisy",
	};
	return names[limit];
}

const char *sz_status_name(enum sz_status status)
{
	static const char *const names[] = {
		[SZ_STATUS_ANSWERED] = "answered",
		[SZ_STATUS_NO] = "no",
		[SZ_STATUS_UNTRUSTWORTHY] = "untrustworthy",
		[SZ_STATUS_INTERRUPTED] = "interrupted",
		[SZ_STATUS_FAILED] = "failed",
	};
	return names[status];
}
