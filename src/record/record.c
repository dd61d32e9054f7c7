/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <math.h>
#include <stdlib.h>

void sz_window_init(struct sz_window *window)
{
	*window = (struct sz_window){
		.duration_s = SZ_NAN,
		.throughput_rps = SZ_NAN,
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
		.in_flight = SZ_NAN,
		.little_ratio = SZ_NAN,
		.imbalance = SZ_NAN,
		.pss_total_bytes = -1,
		.rss_total_bytes = -1,
		.pss_worker_bytes = -1,
		.rss_worker_bytes = -1,
		.pss_supervisor_bytes = -1,
	};
}

void sz_window_fini(struct sz_window *window)
{
	free(window->share);
	sz_window_init(window);
}

void sz_sweep_init(struct sz_sweep *sweep)
{
	*sweep = (struct sz_sweep){
		.client_ceiling_rps = SZ_NAN,
		.alone_latency_ms = SZ_NAN,
		.alone_cpu_s_per_request = SZ_NAN,
	};
	for (size_t i = 0; i < SZ_SETTINGS_MAX; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		sz_window_init(&setting->window);
		setting->ready_s = setting->start_cpu_s = setting->exit_s = SZ_NAN;
		setting->speedup = setting->efficiency = SZ_NAN;
	}
}

void sz_sweep_fini(struct sz_sweep *sweep)
{
	for (size_t i = 0; i < SZ_SETTINGS_MAX; i++)
		sz_window_fini(&sweep->setting[i].window);
	sweep->setting_count = 0;
}

const char *sz_disturbance_text(enum sz_disturbance disturbance)
{
	static const char *const texts[SZ_DISTURBANCES] = {
		[SZ_DISTURBED_FOREIGN_CPU] = "other programs used the CPU",
		[SZ_DISTURBED_STEAL] = "the hypervisor took CPU time away",
		[SZ_DISTURBED_CLIENT] = "the load generator itself was near its limit",
		[SZ_DISTURBED_UNANSWERED] = "some clients never got an answer",
		[SZ_DISTURBED_QUEUE] = "connections sat in the listen queue unaccepted",
		[SZ_DISTURBED_LITTLE] = "throughput times latency does not add up to the clients",
	};
	return texts[disturbance];
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
		[SZ_CLASS_NAGLE_FLOOR] = "nagle-floor",
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
	};
	return names[status];
}
