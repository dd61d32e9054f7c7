/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advise/advise.h"
#include "base/mem.h"

/* One window as it might have been seen at a setting. */
struct row {
	unsigned workers;
	double rps, mean_ms, p50_ms, cores;
};

static struct sz_window *add_window(struct sz_sweep *sweep, unsigned block, const struct row *row)
{
	size_t index = sz_sweep_add_setting(sweep, row->workers);
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	struct sz_window *window = &visit->window;
	assert_non_null(visit);
	visit->setting = index;
	visit->block = block;
	visit->purpose = block ? SZ_FOR_RACE : SZ_FOR_ASCENT;
	visit->clients = 50;
	visit->settled = true;
	window->duration_s = 4;
	window->ok = window->sent = (uint64_t)(row->rps * 4);
	window->throughput_rps = window->score = row->rps;
	window->latency_mean_ms = row->mean_ms;
	window->latency_p50_ms = row->p50_ms;
	window->tree_cores = row->cores;
	window->cpu_s_per_request = row->cores / row->rps;
	window->client_cores = 0.01;
	window->workers = row->workers;
	window->workers_known = true;
	window->foreign_cores = 0.01;
	window->share = calloc(row->workers, sizeof(*window->share));
	return window;
}

static void fill(struct sz_sweep *sweep, double cores, double alone_ms, const struct row *rows,
		 size_t count)
{
	sz_sweep_init(sweep);
	sweep->machine.cores_allowed = cores;
	sweep->clients = 50;
	sweep->alone_latency_ms = alone_ms;
	sweep->client_ceiling_rps = 1e6;
	for (size_t i = 0; i < count; i++)
		add_window(sweep, 0, &rows[i]);
}

static void advise(struct sz_sweep *sweep)
{
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
}

#define FILL(sweep, cores, alone_ms, rows) fill(sweep, cores, alone_ms, rows, SZ_ARRAY_LEN(rows))

static bool warned(const struct sz_sweep *sweep, const char *code, const char *word)
{
	for (size_t i = 0; i < sweep->advice.warning_count; i++) {
		const struct sz_warning *warning = &sweep->advice.warnings[i];
		if (strcmp(warning->code, code) == 0)
			return strstr(warning->text, word) && warning->remedy[0];
	}
	return false;
}

static unsigned recommended(const struct sz_sweep *sweep)
{
	return sweep->advice.recommended ? sweep->setting[sweep->advice.setting].workers : 0;
}

static void cpu_bound_stops_at_the_cores(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 49.6, 1008, 1008, 1.0},
					  {2, 98.4, 508, 507, 1.98},
					  {4, 98.9, 505, 504, 1.99}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20.1, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_CPU_BOUND);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	assert_int_equal(sweep.advice.status, SZ_STATUS_ANSWERED);
	assert_false(sweep.advice.range_limited);
	assert_true(sweep.advice.saturated);
	assert_true(fabs(sweep.setting[1].speedup - 98.4 / 49.6) < 1e-9);
	assert_true(fabs(sweep.setting[2].efficiency - 98.9 / 49.6 / 4) < 1e-9);
	assert_non_null(strstr(sweep.advice.runner_up, "waiting"));
	sz_sweep_fini(&sweep);
}

static void client_on_the_same_cores_is_allowed_for(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 900, 55, 55, 1.0}, {2, 1600, 31, 31, 1.7}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 1.1, rows);
	sweep.visits[1].window.client_cores = 0.25;
	sweep.visits[1].window.cpu_some_ratio = 0.4;
	advise(&sweep);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_CPU_BOUND);
	assert_non_null(strstr(sweep.advice.evidence[2], "waited for a CPU for 40 %"));
	sz_sweep_fini(&sweep);
}

static void waiting_needs_one(void **state)
{
	(void)state;
	/* The larger setting even looks 3 % faster; it does not matter. */
	static const struct row rows[] = {{1, 2440, 20.3, 20.2, 0.2},
					  {2, 2515, 20.2, 20.2, 0.2},
					  {4, 2470, 20.2, 20.2, 0.2}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20.1, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 1);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_WAITING);
	assert_false(sweep.advice.saturated);
	sz_sweep_fini(&sweep);
}

/* Linear to eight workers on a larger machine: the published shape. */
static void still_rising_is_said(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 58, 860, 1061, 1.0},
					  {2, 102, 490, 528, 2.0},
					  {4, 192, 260, 249, 4.0},
					  {8, 364, 137, 122, 8.0}};
	struct sz_sweep sweep;
	FILL(&sweep, 16, 20, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 8);
	assert_true(sweep.advice.range_limited);
	assert_true(warned(&sweep, "range-limited", "8"));
	assert_int_equal(sweep.advice.limit, SZ_CLASS_CPU_BOUND);
	sz_sweep_fini(&sweep);
}

/* A quota of 2 CPUs: the plateau falls, the median latency keeps falling too
 * and must not be what decides. */
static void median_latency_does_not_decide(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{1, 28893.18, 1.7, 1.46, 1}, {2, 44715.07, 1.1, 0.84, 2},
		{3, 44212.93, 1.1, 0.66, 2}, {4, 41071.15, 1.2, 0.57, 2},
		{8, 33111.69, 1.5, 0.43, 2}, {24, 22191.40, 2.2, 0.45, 2},
	};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 0.1, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	sz_sweep_fini(&sweep);
}

static void nagle_floor_is_no_answer(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 2600, 19, 19, 1.0},
					  {2, 1180, 42, 43.9, 0.6},
					  {4, 1190, 42, 44.0, 0.6}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 0.5, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_NO);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_NAGLE_FLOOR);
	assert_true(warned(&sweep, "nagle-floor", "TCP_NODELAY"));
	sz_sweep_fini(&sweep);
}

static void busy_cores_are_no_nagle_floor(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 1800, 27, 27, 1.0}, {2, 1150, 43, 43, 1.95}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 0.5, rows);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 1);
	assert_false(warned(&sweep, "nagle-floor", ""));
	sz_sweep_fini(&sweep);
}

static void disturbed_windows_never_decide(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {2, 70, 700, 700, 1.4}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	sweep.visits[1].window.disturbed = 1u << SZ_DISTURBED_FOREIGN_CPU;
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_UNTRUSTWORTHY);
	assert_true(warned(&sweep, "disturbed", "at 2: other programs"));
	sz_sweep_fini(&sweep);
}

static void failing_settings_are_no_candidates(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {2, 400, 100, 100, 1.0}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	sweep.visits[1].window.errors = 100;
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 1);
	assert_int_equal(sweep.setting[1].verdict, SZ_INFEASIBLE);
	assert_true(warned(&sweep, "infeasible", "2 workers: 100 of"));
	sz_sweep_fini(&sweep);
}

static void one_at_a_time_is_serialised(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 49, 1000, 1000, 0.05}, {2, 98, 500, 500, 0.1}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	advise(&sweep);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_SERIALISED);
	assert_non_null(strstr(sweep.advice.runner_up, "cpu-bound"));
	sz_sweep_fini(&sweep);
}

/* 30 ms of waiting and 10 ms in a pool of 4 give 405 req/s: several at once,
 * idle cores, and nothing here can see the pool. */
static void idle_cores_with_a_queue_are_unknown(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 405, 123, 123, 0.05}, {2, 405, 123, 123, 0.1}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 40, rows);
	advise(&sweep);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_UNKNOWN);
	assert_true(sweep.advice.evidence_count >= 1);
	assert_non_null(strstr(sweep.advice.runner_up, "cpu-bound"));
	sz_sweep_fini(&sweep);
}

/* Twice the workers, 3.2 x the throughput (a pool that warmed up). */
static void super_linear_is_flagged(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 569, 112, 117, 0.9}, {2, 1822, 35, 50, 1.9}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 2, rows);
	advise(&sweep);
	assert_true(warned(&sweep, "super-linear", "3.20 x"));
	sz_sweep_fini(&sweep);
}

static void falling_beyond_the_cores_is_told(void **state)
{
	(void)state;
	static const struct row rows[] = {{2, 44715, 1.1, 0.84, 2},
					  {8, 33111, 1.5, 0.43, 2},
					  {24, 22191, 2.2, 0.45, 2}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 0.1, rows);
	for (unsigned block = 1; block <= 2; block++)
		for (size_t i = 0; i < SZ_ARRAY_LEN(rows); i++)
			add_window(&sweep, block, &rows[i]);
	for (size_t i = 0; i < sweep.visit_count; i++) {
		/* A perfect fit leaves no noise to compare with. */
		sweep.visits[i].window.score *= 1 + 0.002 * (double)(i * 5 % 7);
		sweep.visits[i].window.runqueue_cores = (double)(i % 3) * 6;
	}
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_CPU_BOUND);
	assert_true(warned(&sweep, "oversubscribed", "24 workers"));
	sz_sweep_fini(&sweep);
}

/* What spoilt the windows names the class when none is left. */
static void spoilt_windows_have_classes(void **state)
{
	(void)state;
	static const struct {
		enum sz_disturbance disturbance;
		enum sz_class limit;
	} cases[] = {{SZ_DISTURBED_CLIENT, SZ_CLASS_CLIENT_BOUND},
		     {SZ_DISTURBED_STEAL, SZ_CLASS_NOISY},
		     {SZ_DISTURBED_FOREIGN_CPU, SZ_CLASS_NOISY},
		     {SZ_DISTURBED_LITTLE, SZ_CLASS_UNKNOWN}};
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {2, 70, 700, 700, 1.4}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		FILL(&sweep, 2, 20, rows);
		sweep.visits[0].window.disturbed = 1u << cases[i].disturbance;
		sweep.visits[1].window.disturbed = 1u << cases[i].disturbance;
		advise(&sweep);
		assert_int_equal(sweep.advice.limit, cases[i].limit);
		assert_int_equal(sweep.advice.status, SZ_STATUS_UNTRUSTWORTHY);
		sz_sweep_fini(&sweep);
	}
}

static void uneven_spread_is_told(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 37, 1350, 1350, 0.02}, {4, 37, 1350, 1350, 0.02}};
	static const unsigned connections[] = {47, 1, 1, 1};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	struct sz_window *window = &sweep.visits[1].window;
	for (size_t i = 0; i < 4; i++)
		window->share[i].connections = connections[i];
	window->connections_known = true;
	window->imbalance = 47.0 * 4 / 50;
	window->share[0].cpu_cores = 0.02;
	advise(&sweep);
	assert_true(warned(&sweep, "uneven-spread", "47 of the 50"));
	assert_int_equal(sweep.advice.limit, SZ_CLASS_UNEVEN_SPREAD);
	assert_int_equal(recommended(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_NO);
	sz_sweep_fini(&sweep);

	/* Uneven connections may still be served evenly. */
	FILL(&sweep, 2, 20, rows);
	window = &sweep.visits[1].window;
	for (size_t i = 0; i < 4; i++)
		window->share[i] = (struct sz_worker_share){connections[i], 0.005};
	window->connections_known = true;
	window->imbalance = 2.4;
	advise(&sweep);
	assert_true(warned(&sweep, "uneven-spread", "47 of the 50"));
	assert_int_not_equal(sweep.advice.limit, SZ_CLASS_UNEVEN_SPREAD);
	sz_sweep_fini(&sweep);
}

static void interrupted_keeps_what_is_finished(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0},
					  {2, 99, 500, 500, 2.0},
					  {4, 0, 0, 0, 0}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	sweep.setting[2].measured = false;
	sweep.interrupted = true;
	advise(&sweep);
	assert_int_equal(sweep.advice.status, SZ_STATUS_INTERRUPTED);
	assert_int_equal(recommended(&sweep), 2);
	sz_sweep_fini(&sweep);

	sz_sweep_init(&sweep);
	sz_sweep_add_setting(&sweep, 1);
	sweep.interrupted = true;
	advise(&sweep);
	assert_int_equal(sweep.advice.status, SZ_STATUS_INTERRUPTED);
	assert_int_equal(recommended(&sweep), 0);
	sz_sweep_fini(&sweep);
}

/* --- repeats --- */

static struct sz_next next_of(const struct sz_sweep *sweep)
{
	struct sz_next next;
	sz_advise_next(sweep, &next);
	return next;
}

static void repeats_decide(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 49.6, 1008, 1008, 1.0},
					  {2, 98.4, 508, 507, 1.98},
					  {4, 98.9, 505, 504, 1.99}};
	static const struct row again[] = {{4, 97.5, 512, 512, 1.99},
					   {1, 49.0, 1020, 1020, 1.0},
					   {2, 97.2, 514, 514, 1.98}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20.1, rows);
	advise(&sweep);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	/* All three: 2 and 4 may be the answer, 1 stands just below. */
	assert_int_equal(next_of(&sweep).again_count, 3);
	for (size_t i = 0; i < SZ_ARRAY_LEN(again); i++)
		add_window(&sweep, 1, &again[i]);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_int_equal(sweep.setting[0].verdict, SZ_INFERIOR);
	assert_int_equal(sweep.setting[1].verdict, SZ_ACCEPTED);
	assert_int_equal(sweep.setting[1].windows, 2);
	assert_true(sweep.setting[1].throughput_low_rps < 97.8);
	assert_true(sweep.setting[1].throughput_high_rps > 97.8);
	assert_int_equal(next_of(&sweep).again_count, 0);
	assert_int_equal(next_of(&sweep).untested_count, 0);
	sz_sweep_fini(&sweep);
}

static void far_below_is_not_repeated(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 58, 860, 1061, 1.0},
					  {2, 102, 490, 528, 2.0},
					  {4, 192, 260, 249, 4.0},
					  {8, 364, 137, 122, 8.0}};
	struct sz_sweep sweep;
	FILL(&sweep, 16, 20, rows);
	advise(&sweep);
	struct sz_next next = next_of(&sweep);
	assert_int_equal(next.again_count, 2);
	assert_int_equal(next.again[0], 4);
	assert_int_equal(next.again[1], 8);
	sz_sweep_fini(&sweep);
}

static void a_clean_window_replaces_a_disturbed_one(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {2, 70, 700, 700, 1.4}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	sweep.visits[1].window.disturbed = 1u << SZ_DISTURBED_STEAL;
	advise(&sweep);
	struct sz_next next = next_of(&sweep);
	assert_int_equal(next.again_count, 1);
	assert_int_equal(next.again[0], 2);
	add_window(&sweep, 1, &(struct row){1, 50, 1000, 1000, 1.0});
	add_window(&sweep, 1, &(struct row){2, 99, 505, 505, 2.0});
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	assert_int_equal(sweep.setting[1].windows, 2);
	assert_int_equal(sweep.setting[1].disturbed, 1);
	assert_true(sweep.setting[1].window.throughput_rps == 99);
	sz_sweep_fini(&sweep);
}

static void unsaturated_is_decided_by_repeats(void **state)
{
	(void)state;
	static const struct row row = {1, 2440, 20.3, 20.2, 0.2};
	struct sz_sweep sweep;
	fill(&sweep, 2, 20.1, &row, 1);
	advise(&sweep);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	assert_int_equal(next_of(&sweep).again_count, 1);
	add_window(&sweep, 1, &row);
	add_window(&sweep, 2, &row);
	advise(&sweep);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_int_equal(next_of(&sweep).again_count, 0);
	sz_sweep_fini(&sweep);
}

static void no_fewer_than_asked(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 2440, 20.3, 20.2, 0.2}, {2, 2515, 20.2, 20.2, 0.2}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20.1, rows);
	sweep.least = 2;
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 2);
	assert_non_null(strstr(sweep.advice.reason, "1 would carry the load"));
	sweep.least = 3;
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_NO);
	sz_sweep_fini(&sweep);
}

/* Twice the clients: does the same count still do? */
static void reach_is_told(void **state)
{
	(void)state;
	static const struct {
		double chosen_rps, larger_rps;
		const char *words;
	} cases[] = {{98, 99, "from 50 clients to 100 clients"},
		     {98, 140, "for about 50 clients only"}};
	static const struct row rows[] = {{2, 98.4, 508, 507, 1.98}, {4, 98.9, 505, 504, 1.99}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		FILL(&sweep, 2, 20.1, rows);
		add_window(&sweep, 1, &(struct row){2, cases[i].chosen_rps, 1000, 1000, 2});
		add_window(&sweep, 1, &(struct row){4, cases[i].larger_rps, 1000, 1000, 2});
		for (size_t k = 2; k < 4; k++) {
			sweep.visits[k].purpose = SZ_FOR_TWICE;
			sweep.visits[k].clients = 100;
		}
		advise(&sweep);
		assert_int_equal(recommended(&sweep), 2);
		assert_non_null(strstr(sweep.advice.reach, cases[i].words));
		/* They are no part of the comparison itself. */
		assert_int_equal(sweep.setting[0].windows, 1);
		sz_sweep_fini(&sweep);
	}
}

/* An error page with status 200 is told from other errors. */
static void another_body_is_no_answer(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 49.6, 1008, 1008, 1.0}, {2, 98.4, 508, 507, 1.98}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20.1, rows);
	sweep.visits[1].window.errors = 200;
	sweep.visits[1].window.error_status = 200;
	advise(&sweep);
	assert_int_equal(sweep.setting[1].verdict, SZ_INFEASIBLE);
	assert_non_null(
		strstr(sweep.setting[1].why_infeasible, "answers 200 without the expected text"));
	sweep.visits[1].window.error_status = 500;
	advise(&sweep);
	assert_null(strstr(sweep.setting[1].why_infeasible, "expected"));
	sz_sweep_fini(&sweep);
}

/* The published burst: 14 requests at once, a plateau from 4 on, and a fall. */
static void bursts_are_compared_by_their_slowest(void **state)
{
	(void)state;
	static const struct {
		unsigned workers;
		double slowest_s;
	} rows[] = {{1, 6.474}, {2, 3.515}, {4, 1.939}, {8, 2.007}, {16, 1.784}, {33, 5.767}};
	struct sz_sweep sweep;
	fill(&sweep, 16, 450, NULL, 0);
	sweep.burst = sweep.clients = 14;
	sweep.users = 1;
	for (unsigned block = 0; block < 4; block++) {
		for (size_t i = 0; i < SZ_ARRAY_LEN(rows); i++) {
			/* 1 % of something like noise, and a block that is slower. */
			double noise =
				1 + 0.01 * ((double)((i * 7 + block * 5) % 5) - 2) + 0.02 * block;
			struct sz_window *window =
				add_window(&sweep, block,
					   &(struct row){rows[i].workers, 14, 2000, 2000, 0.5});
			window->rounds = 20;
			window->burst_ttfb_ms = rows[i].slowest_s * 1e3 * noise;
			window->score = 1e3 / window->burst_ttfb_ms;
		}
	}
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 4);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_int_equal(sweep.setting[5].verdict, SZ_INFERIOR);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_UNKNOWN);
	assert_true(sweep.setting[2].speedup > 3.2 && sweep.setting[2].speedup < 3.5);
	sz_sweep_fini(&sweep);
}

/* The budget ended a block behind its first window, of a mid-point. */
static void a_block_cut_short_spoils_nothing(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 0.1},
					  {2, 100, 500, 500, 0.1},
					  {4, 200, 250, 250, 0.1},
					  {8, 400, 125, 125, 0.1}};
	static const struct row middle = {6, 300, 166, 166, 0.1};
	struct sz_sweep sweep;
	struct sz_next next;
	FILL(&sweep, 2, 20, rows);
	add_window(&sweep, 1, &rows[3]);
	add_window(&sweep, 1, &rows[2]);
	add_window(&sweep, 2, &middle);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 8);
	assert_int_equal(sweep.advice.status, SZ_STATUS_ANSWERED);
	assert_false(sweep.advice.incomparable);
	/* With another in its block it takes part. */
	add_window(&sweep, 2, &rows[3]);
	advise(&sweep);
	assert_int_equal(recommended(&sweep), 8);
	assert_int_equal(sweep.setting[3].workers, 6);
	assert_int_equal(sweep.setting[3].verdict, SZ_INFERIOR);
	/* What was tried and is no candidate is not asked for again. */
	sz_advise_next(&sweep, &next);
	for (size_t i = 0; i < next.untested_count; i++)
		assert_int_not_equal(next.untested[i], 6);
	sz_sweep_fini(&sweep);
}

/* Twice the workers, twice the work: nothing below 8 can come within 4 % of it.
 * Where 4 do 90 % of what 8 do, 6 can. */
static void mid_points_are_asked_for_where_they_can_matter(void **state)
{
	(void)state;
	for (int linear = 0; linear <= 1; linear++) {
		const struct row rows[] = {{1, 50, 1000, 1000, 0.1},
					   {2, 100, 500, 500, 0.1},
					   {4, linear ? 200 : 360, 250, 250, 0.1},
					   {8, 400, 125, 125, 0.1}};
		struct sz_sweep sweep;
		struct sz_next next;
		FILL(&sweep, 2, 20, rows);
		add_window(&sweep, 1, &rows[3]);
		add_window(&sweep, 1, &rows[2]);
		advise(&sweep);
		assert_int_equal(recommended(&sweep), 8);
		sz_advise_next(&sweep, &next);
		assert_int_equal(next.untested_count > 0, !linear);
		sz_sweep_fini(&sweep);
	}
}

/* Four blocks of the current 8 and the recommended 2 after the ascent. */
static void fill_current(struct sz_sweep *sweep, unsigned blocks)
{
	static const struct row ascent[] = {{1, 50, 1000, 1000, 1.0},
					    {2, 100, 500, 500, 2.0},
					    {8, 100, 500, 500, 2.0}};
	static const double drift[] = {1.00, 1.05, 0.97, 1.02};
	FILL(sweep, 2, 20, ascent);
	sweep->setting[2].current = true;
	for (unsigned block = 1; block <= blocks; block++) {
		double luck = drift[block - 1];
		const struct row two = {2, 100 * luck, 500, 500, 2.0};
		const struct row eight = {8, 99 * luck, 505, 505, 2.0};
		add_window(sweep, block, &two);
		add_window(sweep, block, &eight);
	}
	advise(sweep);
}

static void current_is_compared_by_pairs(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	struct sz_next next;
	fill_current(&sweep, 4);
	const struct sz_confirmation *confirmation = &sweep.advice.confirmation;
	assert_int_equal(recommended(&sweep), 2);
	/* What both share of each block cancels: the interval is narrow. */
	assert_int_equal(confirmation->pairs, 4);
	assert_true(fabs(confirmation->ratio - 100.0 / 99) < 1e-9);
	assert_true(confirmation->high - confirmation->low < 1e-6);
	sz_advise_next(&sweep, &next);
	assert_int_equal(next.again_count, 0);
	sz_sweep_fini(&sweep);
}

static void pairs_are_asked_for(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	struct sz_next next;
	fill_current(&sweep, 3);
	assert_int_equal(sweep.advice.confirmation.pairs, 3);
	/* A disturbed window is half of no pair. */
	sweep.visits[sweep.visit_count - 1].window.disturbed = 1;
	advise(&sweep);
	assert_int_equal(sweep.advice.confirmation.pairs, 2);
	sz_advise_next(&sweep, &next);
	bool current = false, chosen = false;
	for (size_t i = 0; i < next.again_count; i++) {
		current |= next.again[i] == 8;
		chosen |= next.again[i] == 2;
	}
	assert_true(current && chosen);
	/* The ascent alone is no pair. */
	sz_sweep_fini(&sweep);
	fill_current(&sweep, 0);
	assert_int_equal(sweep.advice.confirmation.pairs, 0);
	sz_sweep_fini(&sweep);
}

/* Of the recommended setting: what it did fresh and what some time later. */
static void add_control(struct sz_sweep *sweep, double fresh, double later)
{
	const struct row row = {2, later, 500, 500, 2.0};
	add_window(sweep, 9, &row);
	struct sz_visit *visit = &sweep->visits[sweep->visit_count - 1];
	visit->purpose = SZ_FOR_CONTROL;
	visit->fresh_score = fresh;
	visit->age_s = 14;
	advise(sweep);
}

static void age_is_told(void **state)
{
	(void)state;
	static const struct {
		double fresh, later;
		const char *code;
	} cases[] = {{100, 103, NULL},
		     {100, 140, "warm-cache"},
		     {100, 60, "ageing"},
		     {SZ_NAN, 60, NULL}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		fill_current(&sweep, 4);
		double before = sweep.setting[1].window.score;
		add_control(&sweep, cases[i].fresh, cases[i].later);
		assert_int_equal(warned(&sweep, "warm-cache", "14 s"),
				 cases[i].code && strcmp(cases[i].code, "warm-cache") == 0);
		assert_int_equal(warned(&sweep, "ageing", "14 s"),
				 cases[i].code && strcmp(cases[i].code, "ageing") == 0);
		/* It is compared with itself alone. */
		assert_true(sweep.setting[1].window.score == before);
		sz_sweep_fini(&sweep);
	}
}

/* The machine runs at three quarters of its speed in the last windows. */
static void speed_drift_is_taken_out_of_costs(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {2, 100, 500, 500, 2.0}};
	static const struct row slow = {2, 75, 666, 666, 2.0};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	for (size_t i = 0; i < sweep.visit_count; i++)
		sweep.visits[i].window.reference_ms = 3;
	advise(&sweep);
	assert_true(fabs(sweep.advice.speed_drift) < 1e-9);
	assert_false(warned(&sweep, "speed-drift", "slower"));
	double cost_s = sweep.setting[1].window.cpu_s_per_request;
	add_window(&sweep, 1, &slow)->reference_ms = 4;
	add_window(&sweep, 2, &slow)->reference_ms = 4;
	add_window(&sweep, 2, &rows[0])->reference_ms = 3;
	add_window(&sweep, 3, &rows[0])->reference_ms = 3;
	advise(&sweep);
	assert_true(fabs(sweep.advice.reference_ms - 3) < 1e-9);
	assert_true(fabs(sweep.advice.speed_drift - 1.0 / 3) < 1e-9);
	assert_true(warned(&sweep, "speed-drift", "33 %"));
	assert_true(fabs(sweep.setting[1].window.cpu_s_per_request - cost_s) < 1e-9);
	sz_sweep_fini(&sweep);
}

static void more_than_the_cores_is_told(void **state)
{
	(void)state;
	static const struct row rows[] = {{1, 50, 1000, 1000, 1.0}, {4, 150, 333, 333, 3.0}};
	struct sz_sweep sweep;
	FILL(&sweep, 2, 20, rows);
	sweep.alone_cpu_s_per_request = 0.010;
	advise(&sweep);
	assert_true(warned(&sweep, "utilisation", "3.00 cores"));
	assert_int_equal(sweep.advice.limit, SZ_CLASS_CPU_BOUND);
	/* 20 ms under load, 10 alone. */
	bool dearer = false;
	for (size_t i = 0; i < sweep.advice.evidence_count; i++)
		dearer |= strstr(sweep.advice.evidence[i], "2.00 x the CPU time") != NULL;
	assert_true(dearer);
	sz_sweep_fini(&sweep);
}

static void connecting_otherwise_is_told(void **state)
{
	(void)state;
	for (int even = 0; even <= 1; even++) {
		struct sz_sweep sweep;
		const struct row row = {2, even ? 101 : 52, 500, 500, 2.0};
		fill_current(&sweep, 4);
		add_window(&sweep, 9, &row);
		sweep.visits[sweep.visit_count - 1].purpose = SZ_FOR_CONNECT;
		advise(&sweep);
		assert_int_equal(warned(&sweep, "connect-matters", "all at once"), !even);
		sz_sweep_fini(&sweep);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_bound_stops_at_the_cores),
		cmocka_unit_test(client_on_the_same_cores_is_allowed_for),
		cmocka_unit_test(waiting_needs_one),
		cmocka_unit_test(still_rising_is_said),
		cmocka_unit_test(median_latency_does_not_decide),
		cmocka_unit_test(nagle_floor_is_no_answer),
		cmocka_unit_test(busy_cores_are_no_nagle_floor),
		cmocka_unit_test(disturbed_windows_never_decide),
		cmocka_unit_test(failing_settings_are_no_candidates),
		cmocka_unit_test(one_at_a_time_is_serialised),
		cmocka_unit_test(idle_cores_with_a_queue_are_unknown),
		cmocka_unit_test(super_linear_is_flagged),
		cmocka_unit_test(falling_beyond_the_cores_is_told),
		cmocka_unit_test(spoilt_windows_have_classes),
		cmocka_unit_test(uneven_spread_is_told),
		cmocka_unit_test(interrupted_keeps_what_is_finished),
		cmocka_unit_test(repeats_decide),
		cmocka_unit_test(far_below_is_not_repeated),
		cmocka_unit_test(a_clean_window_replaces_a_disturbed_one),
		cmocka_unit_test(unsaturated_is_decided_by_repeats),
		cmocka_unit_test(no_fewer_than_asked),
		cmocka_unit_test(reach_is_told),
		cmocka_unit_test(bursts_are_compared_by_their_slowest),
		cmocka_unit_test(a_block_cut_short_spoils_nothing),
		cmocka_unit_test(mid_points_are_asked_for_where_they_can_matter),
		cmocka_unit_test(current_is_compared_by_pairs),
		cmocka_unit_test(pairs_are_asked_for),
		cmocka_unit_test(age_is_told),
		cmocka_unit_test(speed_drift_is_taken_out_of_costs),
		cmocka_unit_test(connecting_otherwise_is_told),
		cmocka_unit_test(more_than_the_cores_is_told),
		cmocka_unit_test(another_body_is_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
