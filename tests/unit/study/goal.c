/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "study/goal.h"

static void goals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double ratio, most_ms;
	} good[] = {
		{"p99<250ms", 0.99, 250},
		{"p95<1s", 0.95, 1000},
		{"p50<1.5ms", 0.50, 1.5},
		{"p90<800us", 0.90, 0.8},
	};
	static const char *const bad[] = {"",          "p99",       "p99<",       "p99<0ms",
					  "p99>250ms", "p98<250ms", "p0<1s",      "p999<1s",
					  "99<250ms",  "p99<-1ms",  "p99<250ms2", "mean<1s",
					  "p99<5"};
	struct sz_goal goal;
	struct sz_err err;
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		assert_int_equal(sz_goal_parse(good[i].text, &goal, &err), 0);
		assert_true(goal.ratio == good[i].ratio);
		assert_true(goal.most_ms == good[i].most_ms);
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		if (sz_goal_parse(bad[i], &goal, &err) == 0)
			fail_msg("%s", bad[i]);
		assert_int_equal(err.code, SZ_USAGE);
		assert_non_null(strstr(err.hint, "p99<250ms"));
	}
}

/* How many windows it takes to find the limit of a service that meets the goal
 * up to limit_rps. */
static unsigned search(double limit_rps, double most_rps, double *met_rps)
{
	double missed_rps = 0, rate_rps;
	unsigned windows = 0;
	*met_rps = 0;
	while ((rate_rps = sz_goal_next_rps(*met_rps, missed_rps, most_rps)) > 0) {
		assert_true(rate_rps <= most_rps);
		assert_true(++windows <= 12);
		*(rate_rps <= limit_rps ? met_rps : &missed_rps) = rate_rps;
	}
	return windows;
}

static void the_limit_is_bracketed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 98; i++) {
		double limit_rps = 25 + 10 * i, met_rps;
		unsigned windows = search(limit_rps, 1000, &met_rps);
		assert_true(met_rps <= limit_rps);
		assert_true(met_rps * SZ_GOAL_PRECISION >= limit_rps);
		if (limit_rps >= 500)
			assert_true(windows <= 6);
	}
}

static void a_goal_that_is_met_nowhere(void **state)
{
	(void)state;
	double met_rps;
	search(1, 1000, &met_rps);
	assert_true(met_rps == 0);
}

static void who_is_not_answered_misses_the_goal(void **state)
{
	(void)state;
	const struct sz_goal goal = {.ratio = 0.99, .most_ms = 100};
	struct sz_window window;
	sz_window_init(&window);
	window.due = 4000;
	window.duration_s = 10;
	window.throughput_rps = 400;
	window.latency_mean_ms = 20;
	assert_false(sz_goal_is_met(&goal, &window)); /* too few to quote a p99 */
	window.latency_p99_ms = 100;
	assert_true(sz_goal_is_met(&goal, &window));
	window.dropped = 2;
	window.errors = 2;
	assert_true(sz_goal_is_met(&goal, &window));
	window.unfinished = 1;
	assert_false(sz_goal_is_met(&goal, &window));
	window.unfinished = 0;
	window.latency_p99_ms = 100.1;
	assert_false(sz_goal_is_met(&goal, &window));
}

/* 2 s at 1,000 calls a second: one that does 960 is 40 ms late at the end, and within
 * the goal. */
static void a_queue_that_grows_misses_the_goal(void **state)
{
	(void)state;
	const struct sz_goal goal = {.ratio = 0.99, .most_ms = 100};
	struct sz_window window;
	sz_window_init(&window);
	window.due = 2000;
	window.duration_s = 2;
	window.latency_mean_ms = 41;
	window.latency_p99_ms = 82;
	window.throughput_rps = 960;
	assert_false(sz_goal_is_met(&goal, &window));
	window.throughput_rps = 981;
	assert_true(sz_goal_is_met(&goal, &window));
	/* By chance as many more are on their way: of 1,000 on average. */
	window.latency_mean_ms = 1000;
	window.throughput_rps = 960;
	assert_true(sz_goal_is_met(&goal, &window));
}

static void a_window_is_long_enough_for_its_quantile(void **state)
{
	(void)state;
	struct sz_measure_config measure = {.load = {.clients = 50, .seed = 7},
					    .window_min_ns = 2000000000};
	struct sz_measure_config fast = measure, slow = measure;
	sz_open_at(&fast, 1000, 0.99);
	assert_int_equal(fast.window_min_ns, 2000000000);
	assert_int_equal(fast.window_max_ns, 2000000000);
	assert_int_equal(fast.load.arrivals, SZ_ARRIVALS_OPEN);
	assert_true(fast.load.rate.poisson);
	assert_int_equal(fast.load.rate.seed, 7);
	assert_int_equal(fast.load.clients, 100);
	assert_true(sz_rate_is_valid(&fast.load.rate));
	/* 299 calls for a p99, and half as many more. */
	sz_open_at(&slow, 29.9, 0.99);
	assert_int_equal(slow.window_min_ns / 1000000, 15000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goals),
		cmocka_unit_test(the_limit_is_bracketed),
		cmocka_unit_test(a_goal_that_is_met_nowhere),
		cmocka_unit_test(who_is_not_answered_misses_the_goal),
		cmocka_unit_test(a_queue_that_grows_misses_the_goal),
		cmocka_unit_test(a_window_is_long_enough_for_its_quantile),
	};
	return cmocka_run_group_tests_name("study/goal", tests, NULL, NULL);
}
