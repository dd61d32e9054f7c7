/* SPDX-License-Identifier: Apache-2.0
 *
 * From the visits of a setting to one row: medians over its windows.
 *
 * A disturbed window never decides: it is left out when the setting has any
 * other, and when it has none the row is shown and marked.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define AT(member) offsetof(struct sz_window, member)

static const size_t number_offsets[] = {
	AT(duration_s),        AT(throughput_rps),    AT(score),
	AT(burst_ttfb_ms),     AT(latency_mean_ms),   AT(latency_p50_ms),
	AT(latency_p90_ms),    AT(latency_p95_ms),    AT(latency_p99_ms),
	AT(latency_max_ms),    AT(ttfb_p50_ms),       AT(ttfb_max_ms),
	AT(longest_gap_ms),    AT(cpu_s_per_request), AT(tree_cores),
	AT(client_cores),      AT(foreign_cores),     AT(steal_ratio),
	AT(in_flight),         AT(little_ratio),      AT(imbalance),
	AT(runqueue_cores),    AT(downstream_cores),  AT(cpu_some_ratio),
	AT(memory_some_ratio), AT(memory_full_ratio), AT(sampler_cores),
	AT(reference_ms),      AT(client_peak_cores), AT(goal_rps),
};

static const size_t byte_offsets[] = {
	AT(pss_total_bytes),    AT(rss_total_bytes),      AT(pss_worker_bytes),
	AT(rss_worker_bytes),   AT(pss_supervisor_bytes), AT(memory_limit_bytes),
	AT(memory_taken_bytes), AT(rss_peak_bytes),
};

/* The visits that make up one row. */
struct group {
	const struct sz_visit **visits;
	size_t count;
};

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Median of the known ones; NaN when none is. Sorts. */
static double median(double *numbers, size_t count)
{
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (!isnan(numbers[i]))
			numbers[known++] = numbers[i];
	}
	if (known == 0)
		return SZ_NAN;
	qsort(numbers, known, sizeof(numbers[0]), compare_numbers);
	return (numbers[(known - 1) / 2] + numbers[known / 2]) / 2;
}

/* Median of a double at `offset` of every visit of the group. */
static double median_at(const struct group *group, size_t offset, double *scratch)
{
	for (size_t i = 0; i < group->count; i++)
		memcpy(&scratch[i], (const char *)group->visits[i] + offset, sizeof(double));
	return median(scratch, group->count);
}

static int64_t median_bytes_at(const struct group *group, size_t offset, double *scratch)
{
	for (size_t i = 0; i < group->count; i++) {
		int64_t bytes;
		memcpy(&bytes, (const char *)group->visits[i] + offset, sizeof(bytes));
		scratch[i] = bytes < 0 ? SZ_NAN : (double)bytes;
	}
	double middle = median(scratch, group->count);
	return isnan(middle) ? -1 : (int64_t)middle;
}

/* How much slower than usual the machine was at a window. What the reference
 * work itself varies by, a few percent, is no news of the machine. */
static double slowness(const struct sz_window *window, double reference_ms)
{
	const double own_spread = 0.05;
	double slower = window->reference_ms / reference_ms;
	return fabs(slower - 1) > own_spread ? slower : 1.0;
}

/* What a request costs, at the speed that the machine had in most windows of
 * the run: the reference work before each window tells how fast it was then. */
static double median_cost_s(const struct group *group, double reference_ms, double *scratch)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct sz_window *window = &group->visits[i]->window;
		scratch[i] = window->cpu_s_per_request / slowness(window, reference_ms);
	}
	return median(scratch, group->count);
}

/* Counts add up; what describes processes is the last window's. */
static void copy_counts(const struct group *group, struct sz_window *window)
{
	const struct sz_window *last = &group->visits[group->count - 1]->window;
	for (size_t i = 0; i < group->count; i++) {
		const struct sz_window *one = &group->visits[i]->window;
		window->sent += one->sent;
		window->ok += one->ok;
		window->errors += one->errors;
		window->unfinished += one->unfinished;
		window->rounds += one->rounds;
		window->stale += one->stale;
		window->due += one->due;
		window->dropped += one->dropped;
		if (one->error_status)
			window->error_status = one->error_status;
		window->samples += one->samples;
		if (one->processes_peak > window->processes_peak)
			window->processes_peak = one->processes_peak;
		if (one->threads_peak > window->threads_peak)
			window->threads_peak = one->threads_peak;
		window->server_closed += one->server_closed;
		window->reconnects += one->reconnects;
		window->disturbed |= one->disturbed;
	}
	window->workers_known = last->workers_known;
	window->listeners = last->listeners;
	window->connections_known = last->connections_known;
	window->listen_queue = last->listen_queue;
	window->share = calloc(last->workers + 1, sizeof(*window->share));
	if (!window->share)
		return; /* a row without its spread, and without workers counted */
	window->workers = last->workers;
	if (last->workers)
		memcpy(window->share, last->share, last->workers * sizeof(*window->share));
}

static void fill_row(struct sz_setting *setting, const struct group *group, double reference_ms,
		     double *scratch)
{
	enum { WINDOW = offsetof(struct sz_visit, window) };
	struct sz_window *window = &setting->window;
	for (size_t i = 0; i < SZ_ARRAY_LEN(number_offsets); i++) {
		double middle = median_at(group, WINDOW + number_offsets[i], scratch);
		memcpy((char *)window + number_offsets[i], &middle, sizeof(middle));
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(byte_offsets); i++) {
		int64_t middle = median_bytes_at(group, WINDOW + byte_offsets[i], scratch);
		memcpy((char *)window + byte_offsets[i], &middle, sizeof(middle));
	}
	window->cpu_s_per_request = median_cost_s(group, reference_ms, scratch);
	setting->ready_s = median_at(group, offsetof(struct sz_visit, ready_s), scratch);
	setting->start_cpu_s = median_at(group, offsetof(struct sz_visit, start_cpu_s), scratch);
	setting->exit_s = median_at(group, offsetof(struct sz_visit, exit_s), scratch);
	setting->settled = true;
	for (size_t i = 0; i < group->count; i++) {
		setting->settled &= group->visits[i]->settled;
		setting->killed |= group->visits[i]->killed;
	}
	copy_counts(group, window);
}

/* Visits of one setting under the normal load; the clean ones when there are
 * any. */
static void gather(const struct sz_sweep *sweep, size_t index, struct group *group)
{
	group->count = 0;
	for (int want_disturbed = 0; want_disturbed <= 1 && group->count == 0; want_disturbed++) {
		for (size_t i = 0; i < sweep->visit_count; i++) {
			const struct sz_visit *visit = &sweep->visits[i];
			if (visit->setting == index && sz_visit_compares(visit) &&
			    (visit->window.disturbed != 0) == want_disturbed)
				group->visits[group->count++] = visit;
		}
	}
}

static void count_windows(const struct sz_sweep *sweep, size_t index, struct sz_setting *setting)
{
	setting->windows = setting->disturbed = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting != index || !sz_visit_compares(visit))
			continue;
		setting->windows++;
		setting->disturbed += visit->window.disturbed != 0;
	}
}

/* How fast the machine computed, over all visits. */
static void judge_speed(struct sz_sweep *sweep, double *scratch)
{
	struct sz_advice *advice = &sweep->advice;
	double least_ms = INFINITY, most_ms = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		scratch[i] = sweep->visits[i].window.reference_ms;
		least_ms = fmin(least_ms, scratch[i]);
		most_ms = fmax(most_ms, scratch[i]);
	}
	advice->reference_ms = median(scratch, sweep->visit_count);
	advice->speed_drift = most_ms > 0 ? most_ms / least_ms - 1 : SZ_NAN;
}

int sz_summarise(struct sz_sweep *sweep, struct sz_err *err)
{
	size_t room = sweep->visit_count + 1;
	sz_autofree const struct sz_visit **visits = calloc(room, sizeof(*visits));
	sz_autofree double *scratch = calloc(room, sizeof(*scratch));
	if (!visits || !scratch)
		return sz_err_nomem(err);
	judge_speed(sweep, scratch);
	for (size_t i = 0; i < sweep->setting_count; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		struct group group = {.visits = visits};
		sz_window_fini(&setting->window);
		setting->killed = false;
		gather(sweep, i, &group);
		count_windows(sweep, i, setting);
		setting->measured = group.count > 0;
		if (group.count)
			fill_row(setting, &group, sweep->advice.reference_ms, scratch);
	}
	return 0;
}
