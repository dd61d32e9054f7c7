/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest setting that carries what is needed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "told.h"

static const struct told rising[] = {{1, 58, 860, 0},
				     {2, 102, 490, 0},
				     {4, 192, 260, 0},
				     {8, 364, 137, 0}};

static void begin_rising(struct sz_sweep *sweep, uint64_t need_rps, unsigned blocks)
{
	begin(sweep, 50, 20);
	sweep->need_rps = need_rps;
	for (unsigned block = 0; block < blocks; block++) {
		for (size_t i = 0; i < SZ_ARRAY_LEN(rising); i++) {
			struct told told = rising[i];
			told.rps *= 1 + 0.004 * ((double)((i * 3 + block * 2) % 5) - 2);
			tell(sweep, block, &told);
		}
	}
}

static void assert_next(const struct sz_sweep *sweep, const unsigned *again, size_t again_count,
			unsigned untested)
{
	struct sz_next next;
	sz_advise_next(sweep, &next);
	assert_int_equal(next.again_count, again_count);
	for (size_t i = 0; i < again_count; i++)
		assert_int_equal(next.again[i], again[i]);
	assert_int_equal(next.untested_count, untested != 0);
	if (untested)
		assert_int_equal(next.untested[0], untested);
}
#define ASSERT_NEXT(sweep, untested, ...)                                                          \
	assert_next(sweep, (const unsigned[]){__VA_ARGS__},                                        \
		    sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned), untested)

static void without_repeats_it_is_weak(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 140, 1);
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	assert_int_equal(sweep.advice.status, SZ_STATUS_ANSWERED);
	assert_non_null(strstr(sweep.advice.reason, "carries 140 req/s: it gives 19"));
	/* 4 looks like it; 2 is near enough to be on the wrong side by luck. */
	ASSERT_NEXT(&sweep, 0, 2, 4);
	sz_sweep_fini(&sweep);
}

/* Between the last that fails and the first that carries, then decided. */
static void what_lies_between_is_tested(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 140, 3);
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	ASSERT_NEXT(&sweep, 3, 4);
	tell(&sweep, 3, &(struct told){3, 147, 340, 0});
	tell(&sweep, 3, &(struct told){4, 192, 260, 0});
	assert_int_equal(answer(&sweep), 3);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_non_null(strstr(sweep.advice.reason, "it gives 147.0, at least 14"));
	struct sz_next next;
	sz_advise_next(&sweep, &next);
	assert_int_equal(next.again_count + next.untested_count, 0);
	sz_sweep_fini(&sweep);
}

/* The answer to the other question would be 8. */
static void more_than_needed_is_not_recommended(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 50, 3);
	assert_int_equal(answer(&sweep), 1);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_false(sweep.advice.range_limited);
	sweep.least = 2;
	assert_int_equal(answer(&sweep), 2);
	assert_non_null(strstr(sweep.advice.reason, "1 would carry the load"));
	sweep.least = 0;
	sweep.need_rps = 0;
	assert_int_equal(answer(&sweep), 8);
	sz_sweep_fini(&sweep);
}

/* Nothing smaller than the first that carries it was tested. */
static void below_the_first_is_tested(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin(&sweep, 50, 20);
	sweep.need_rps = 50;
	for (unsigned block = 0; block < 2; block++)
		tell(&sweep, block, &(struct told){4, 192 + block, 260, 0});
	assert_int_equal(answer(&sweep), 4);
	ASSERT_NEXT(&sweep, 2, 4);
	sz_sweep_fini(&sweep);
}

static void none_carries_it(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 1000, 2);
	assert_int_equal(answer(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_NO);
	assert_true(
		warned(&sweep, "need-unmet", "carries 1000 req/s: the best, 8 workers, gives 36"));
	assert_true(warned(&sweep, "need-unmet", "1..32"));
	struct sz_next next;
	sz_advise_next(&sweep, &next);
	assert_int_equal(next.again_count + next.untested_count, 0);
	sz_sweep_fini(&sweep);
}

/* A peak between those tested may carry it. */
static void a_peak_is_looked_for(void **state)
{
	(void)state;
	static const struct told peak[] = {{1, 50, 1000, 0}, {4, 98, 510, 0}, {16, 80, 620, 0}};
	struct sz_sweep sweep;
	struct sz_next next;
	begin(&sweep, 50, 20);
	sweep.need_rps = 105;
	TELL(&sweep, 0, peak);
	for (unsigned block = 1; block < 3; block++) {
		for (size_t i = 0; i < SZ_ARRAY_LEN(peak); i++)
			tell(&sweep, block,
			     &(struct told){peak[i].workers,
					    peak[i].rps + 0.1 * block * (double)(i % 2),
					    peak[i].mean_ms, 0});
	}
	assert_int_equal(answer(&sweep), 0);
	assert_true(warned(&sweep, "need-unmet", "do not help"));
	sz_advise_next(&sweep, &next);
	assert_int_equal(next.untested_count, 2);
	assert_int_equal(next.untested[0], 2);
	assert_int_equal(next.untested[1], 8);
	sz_sweep_fini(&sweep);
}

/* Clients that do not queue ask for no more: no false "no". */
static void the_load_must_ask_for_it(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	struct sz_next next;
	begin(&sweep, 50, 20.1);
	sweep.need_rps = 3000;
	for (unsigned block = 0; block < 3; block++)
		tell(&sweep, block, &(struct told){1, 2440 + block, 20.3, 0});
	assert_int_equal(answer(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_UNTRUSTWORTHY);
	assert_false(warned(&sweep, "need-unmet", ""));
	assert_true(warned(&sweep, "need-unasked", "50 clients ask for only 2441 req/s"));
	assert_true(warned(&sweep, "need-unasked", "61 or more"));
	sz_advise_next(&sweep, &next);
	assert_int_equal(next.again_count + next.untested_count, 0);

	sweep.need_rps = 2000;
	assert_int_equal(answer(&sweep), 1);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	sz_sweep_fini(&sweep);
}

/* A need within what repeats vary by: weak, and measured again. */
static void too_close_to_call(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 102, 3);
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_NOT_WORSE_SHOWN);
	ASSERT_NEXT(&sweep, 0, 2);
	sz_sweep_fini(&sweep);
	begin_rising(&sweep, 363, 3);
	assert_int_equal(answer(&sweep), 8);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	ASSERT_NEXT(&sweep, 0, 8);
	sz_sweep_fini(&sweep);
}

/* Luck that all windows of a block share cancels between settings and stays in
 * the throughput of each. */
static void blocks_of_luck_widen_the_interval(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin(&sweep, 50, 20);
	for (unsigned block = 0; block < 4; block++) {
		double luck = block % 2 ? 1.1 : 0.9;
		tell(&sweep, block, &(struct told){1, 50 * luck, 1000, 0});
		tell(&sweep, block, &(struct told){2, (100 + 0.1 * block) * luck, 500, 0});
	}
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_true(sweep.setting[1].throughput_low_rps < 90);
	assert_true(sweep.setting[1].throughput_high_rps > 110);
	sweep.need_rps = 95;
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	sz_sweep_fini(&sweep);
}

/* Twice the clients: is it still carried? */
static void reach_is_about_the_need(void **state)
{
	(void)state;
	static const struct {
		double rps;
		const char *words;
	} cases[] = {{55, "with 100 clients it carries 55.0 req/s: no less than"},
		     {45, "with 100 clients it carries 45.0 req/s: less than"}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		begin_rising(&sweep, 50, 3);
		tell(&sweep, 3, &(struct told){1, cases[i].rps, 1800, 0});
		tell(&sweep, 3, &(struct told){2, 102, 980, 0});
		for (size_t k = sweep.visit_count - 2; k < sweep.visit_count; k++) {
			sweep.visits[k].purpose = SZ_FOR_TWICE;
			sweep.visits[k].clients = 100;
		}
		assert_int_equal(answer(&sweep), 1);
		assert_non_null(strstr(sweep.advice.reach, cases[i].words));
		sz_sweep_fini(&sweep);
	}
}

static void a_disturbed_window_answers_nothing(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_rising(&sweep, 140, 1);
	sweep.visits[1].window.disturbed = 1u << SZ_DISTURBED_STEAL;
	assert_int_equal(answer(&sweep), 0);
	assert_int_equal(sweep.advice.status, SZ_STATUS_UNTRUSTWORTHY);
	ASSERT_NEXT(&sweep, 0, 2, 4);
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_repeats_it_is_weak),
		cmocka_unit_test(what_lies_between_is_tested),
		cmocka_unit_test(more_than_needed_is_not_recommended),
		cmocka_unit_test(below_the_first_is_tested),
		cmocka_unit_test(none_carries_it),
		cmocka_unit_test(a_peak_is_looked_for),
		cmocka_unit_test(the_load_must_ask_for_it),
		cmocka_unit_test(too_close_to_call),
		cmocka_unit_test(blocks_of_luck_widen_the_interval),
		cmocka_unit_test(reach_is_about_the_need),
		cmocka_unit_test(a_disturbed_window_answers_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
