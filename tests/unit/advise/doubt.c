/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an answer must not be surer than it is.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "told.h"

/* Three counts in five blocks, with noise of some 0.5 %. */
static void begin_three(struct sz_sweep *sweep, double one, double two, double four)
{
	const double rps[] = {one, two, four};
	begin(sweep, 50, 20);
	sweep->machine.cores_allowed = 2;
	for (unsigned block = 0; block < 5; block++) {
		for (unsigned i = 0; i < 3; i++) {
			double noise = 1 + 0.004 * ((double)((i * 3 + block * 2) % 5) - 2);
			const struct told told = {1u << i, rps[i] * noise, 50e3 / rps[i], 0};
			tell(sweep, block, &told);
		}
	}
}

static struct sz_window *window_of(struct sz_sweep *sweep, unsigned workers, unsigned block)
{
	size_t i = 0;
	while (i < sweep->visit_count &&
	       (sweep->visits[i].block != block ||
		sweep->setting[sweep->visits[i].setting].workers != workers))
		i++;
	assert_true(i < sweep->visit_count);
	return &sweep->visits[i].window;
}

static void set_costs(struct sz_sweep *sweep, unsigned workers, double cores)
{
	for (unsigned block = 0; block < 5; block++) {
		struct sz_window *window = window_of(sweep, workers, block);
		window->tree_cores = cores;
		window->client_cores = 0.01;
		window->cpu_s_per_request = cores / window->throughput_rps;
	}
}

/* --- what was asked for --- */

static void what_is_asked_for_must_carry_the_need(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 150, 300, 218);
	sweep.need_rps = 280;
	assert_int_equal(answer(&sweep), 2);
	sweep.least = 4;
	assert_int_equal(answer(&sweep), 0);
	assert_true(sweep.advice.need_unmet);
	assert_int_equal(sweep.advice.status, SZ_STATUS_NO);
	sz_sweep_fini(&sweep);
}

static void more_than_needed_may_cost(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 100, 200, 60);
	sweep.least = 4;
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.enough_workers, 2);
	assert_true(warned(&sweep, "min-costs", "only 0.30 x what 2 give"));
	sz_sweep_fini(&sweep);
	begin_three(&sweep, 100, 200, 200);
	sweep.least = 4;
	assert_int_equal(answer(&sweep), 4);
	assert_false(warned(&sweep, "min-costs", ""));
	sz_sweep_fini(&sweep);
}

/* --- starts --- */

static void starts_that_fail_are_told(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 100, 200, 300);
	sweep.setting[2].failed_starts = 1;
	snprintf(sweep.setting[2].failure, sizeof(sweep.setting[2].failure), "it died");
	assert_int_equal(answer(&sweep), 4);
	assert_true(
		warned(&sweep, "failed-start", "one of 6 starts with 4 workers failed: it died"));
	sweep.setting[2].failed_starts = 2;
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.setting[2].verdict, SZ_INFEASIBLE);
	assert_non_null(strstr(sweep.setting[2].why_infeasible, "2 of 7 starts failed"));
	sz_sweep_fini(&sweep);
}

/* Every second start of 4 does 17 % less than 2, and the others as much. */
static void starts_that_differ_are_not_decided(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 100, 200, 200);
	answer(&sweep);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	for (unsigned block = 1; block < 5; block += 2) {
		struct sz_window *window = window_of(&sweep, 2, block);
		window->score = window->throughput_rps *= 0.83;
	}
	answer(&sweep);
	assert_true(sweep.advice.grade < SZ_GRADE_DECIDED);
	assert_true(warned(&sweep, "starts-differ", "starts with 2 workers differ"));
	sz_sweep_fini(&sweep);
}

/* As far apart, but evenly: noise, which the bounds know of. */
static void what_is_spread_evenly_is_one_group(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 100, 200, 200);
	for (unsigned block = 0; block < 5; block++) {
		struct sz_window *window = window_of(&sweep, 2, block);
		window->score = window->throughput_rps = 240 * pow(0.8, block);
	}
	answer(&sweep);
	assert_false(warned(&sweep, "starts-differ", ""));
	sz_sweep_fini(&sweep);
}

static void one_that_is_far_behind_may_differ(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 100, 200, 200);
	struct sz_window *window = window_of(&sweep, 1, 2);
	window->score = window->throughput_rps *= 0.83;
	assert_int_equal(answer(&sweep), 2);
	assert_false(warned(&sweep, "starts-differ", ""));
	sz_sweep_fini(&sweep);
}

/* --- answers --- */

static void cheap_answers_are_other_answers(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 194, 507, 1499);
	set_costs(&sweep, 1, 1.0);
	set_costs(&sweep, 2, 1.95);
	set_costs(&sweep, 4, 1.99);
	answer(&sweep);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	assert_true(warned(&sweep, "answers-differ", "1.33 ms of CPU at 4 workers and 5.1"));
	assert_false(warned(&sweep, "super-linear", ""));
	sz_sweep_fini(&sweep);
}

/* --- classes --- */

static void a_lock_around_the_work_is_not_cpu_bound(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 194, 195, 192);
	set_costs(&sweep, 1, 1.0);
	set_costs(&sweep, 2, 1.0);
	set_costs(&sweep, 4, 1.0);
	assert_int_equal(answer(&sweep), 1);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_UNKNOWN);
	assert_non_null(strstr(sweep.advice.evidence[0], "4 workers use 1.00 of the 2.00 cores"));
	sz_sweep_fini(&sweep);
}

static void share_out(struct sz_sweep *sweep, unsigned workers, const double *cores,
		      double imbalance)
{
	for (unsigned block = 0; block < 5; block++) {
		struct sz_window *window = window_of(sweep, workers, block);
		window->imbalance = imbalance;
		for (unsigned i = 0; i < workers; i++)
			window->share[i].cpu_cores = cores[i];
	}
}

/* A lock: 4 workers are uneven and useless, but 2 are even and as useless. */
static void what_even_workers_do_not_gain_is_not_the_spread(void **state)
{
	(void)state;
	const double even[] = {0.05, 0.05}, uneven[] = {0.1, 0, 0, 0};
	struct sz_sweep sweep;
	begin_three(&sweep, 190, 189, 189);
	for (unsigned workers = 1; workers <= 4; workers *= 2)
		set_costs(&sweep, workers, 0.1);
	share_out(&sweep, 2, even, 1.0);
	share_out(&sweep, 4, uneven, 4.0);
	assert_int_equal(answer(&sweep), 1);
	assert_int_not_equal(sweep.advice.limit, SZ_CLASS_UNEVEN_SPREAD);
	share_out(&sweep, 2, uneven, 2.0);
	assert_int_equal(answer(&sweep), 0);
	assert_int_equal(sweep.advice.limit, SZ_CLASS_UNEVEN_SPREAD);
	sz_sweep_fini(&sweep);
}

/* --- counts that are not of processes --- */

static void a_count_of_threads_does_something(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_three(&sweep, 94, 187, 375);
	for (size_t i = 0; i < sweep.visit_count; i++)
		sweep.visits[i].window.workers = 1;
	assert_int_equal(answer(&sweep), 4);
	assert_false(sweep.advice.knob_does_nothing);
	sz_sweep_fini(&sweep);
	begin_three(&sweep, 94, 94, 95);
	for (size_t i = 0; i < sweep.visit_count; i++)
		sweep.visits[i].window.workers = 1;
	assert_int_equal(answer(&sweep), 0);
	assert_true(warned(&sweep, "knob", "the count does nothing"));
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_must_carry_the_need),
		cmocka_unit_test(more_than_needed_may_cost),
		cmocka_unit_test(starts_that_fail_are_told),
		cmocka_unit_test(starts_that_differ_are_not_decided),
		cmocka_unit_test(what_is_spread_evenly_is_one_group),
		cmocka_unit_test(one_that_is_far_behind_may_differ),
		cmocka_unit_test(cheap_answers_are_other_answers),
		cmocka_unit_test(a_lock_around_the_work_is_not_cpu_bound),
		cmocka_unit_test(what_even_workers_do_not_gain_is_not_the_spread),
		cmocka_unit_test(a_count_of_threads_does_something),
	};
	return cmocka_run_group_tests_name("advise/doubt", tests, NULL, NULL);
}
