/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "load/schedule.h"

static void even_gaps(void **state)
{
	(void)state;
	const struct sz_rate rate = {.leg = {{100, 100, SZ_NS_PER_S}}, .count = 1};
	struct sz_schedule schedule;
	sz_schedule_init(&schedule, &rate);
	/* Behind the only leg its rate goes on. */
	for (uint64_t i = 0; i < 250; i++) {
		int64_t off_ns = (int64_t)(sz_schedule_next_ns(&schedule) - i * 10 * SZ_NS_PER_MS);
		assert_true(off_ns >= -2 && off_ns <= 2);
	}
}

static void steps(void **state)
{
	(void)state;
	const struct sz_rate rate = {.leg = {{10, 10, SZ_NS_PER_S},
					     {1000, 1000, SZ_NS_PER_S},
					     {50, 50, SZ_NS_PER_S}},
				     .count = 3};
	struct sz_schedule schedule;
	unsigned calls[4] = {0};
	sz_schedule_init(&schedule, &rate);
	for (unsigned i = 0; i < 1100; i++) {
		uint64_t at_s = sz_schedule_next_ns(&schedule) / SZ_NS_PER_S;
		calls[at_s < 4 ? at_s : 3]++;
	}
	assert_in_range(calls[0], 10, 11);
	assert_in_range(calls[1], 999, 1001);
	assert_in_range(calls[2], 49, 51);
}

/* From 0 + e to 200 per second in 10 s: 1000 calls, half of them in the last
 * 2.93 s, since N(t) goes with t^2. */
static void ramp(void **state)
{
	(void)state;
	const struct sz_rate rate = {.leg = {{SZ_RATE_MIN_RPS, 200, 10 * SZ_NS_PER_S}}, .count = 1};
	struct sz_schedule schedule;
	uint64_t before_ns = 0, at_ns = 0, middle_ns = 0;
	sz_schedule_init(&schedule, &rate);
	for (unsigned i = 0; i <= 1000; i++) {
		at_ns = sz_schedule_next_ns(&schedule);
		assert_true(at_ns >= before_ns);
		before_ns = at_ns;
		if (i == 500)
			middle_ns = at_ns;
	}
	assert_true(fabs(sz_ns_to_s(at_ns) - 10) < 0.001);
	assert_true(fabs(sz_ns_to_s(middle_ns) - 10 / sqrt(2)) < 0.001);
	assert_true(fabs(sz_rate_at_rps(&rate, 5 * SZ_NS_PER_S) - 100) < 0.01);
	assert_true(sz_rate_at_rps(&rate, 50 * SZ_NS_PER_S) == 200);
}

/* Gaps of an exponential law: mean and standard deviation are equal, and a
 * share of 1/e is longer than the mean. */
static void poisson_gaps(void **state)
{
	(void)state;
	enum { CALLS = 100000 };
	const struct sz_rate rate = {.leg = {{1000, 1000, SZ_NS_PER_S}},
				     .count = 1,
				     .poisson = true,
				     .seed = 7};
	struct sz_schedule schedule, again;
	double sum = 0, squares = 0;
	unsigned longer = 0;
	uint64_t before_ns = 0;
	sz_schedule_init(&schedule, &rate);
	sz_schedule_init(&again, &rate);
	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t at_ns = sz_schedule_next_ns(&schedule);
		assert_int_equal(sz_schedule_next_ns(&again), at_ns);
		double gap_ms = sz_ns_to_ms(at_ns - before_ns);
		before_ns = at_ns;
		sum += gap_ms;
		squares += gap_ms * gap_ms;
		longer += gap_ms > 1;
	}
	double mean = sum / CALLS, sd = sqrt(squares / CALLS - mean * mean);
	assert_true(fabs(mean - 1) < 0.02);
	assert_true(fabs(sd - 1) < 0.02);
	assert_true(fabs((double)longer / CALLS - exp(-1)) < 0.01);
}

static void other_seeds_differ(void **state)
{
	(void)state;
	struct sz_rate one = {.leg = {{10, 10, 1}}, .count = 1, .poisson = true, .seed = 1};
	struct sz_rate two = one;
	struct sz_schedule first, second;
	two.seed = 2;
	sz_schedule_init(&first, &one);
	sz_schedule_init(&second, &two);
	assert_true(sz_schedule_next_ns(&first) != sz_schedule_next_ns(&second));
}

/* An hour at the highest rate loses no call to rounding. */
static void long_and_fast(void **state)
{
	(void)state;
	const struct sz_rate rate = {.leg = {{SZ_RATE_MAX_RPS, SZ_RATE_MAX_RPS,
					      3600 * SZ_NS_PER_S}},
				     .count = 1};
	struct sz_schedule schedule;
	sz_schedule_init(&schedule, &rate);
	schedule.call = 3599.0 * SZ_RATE_MAX_RPS;
	assert_true(fabs(sz_ns_to_s(sz_schedule_next_ns(&schedule)) - 3599) < 1e-6);
	uint64_t at_ns = sz_schedule_next_ns(&schedule);
	assert_in_range(sz_schedule_next_ns(&schedule) - at_ns, 98, 102);
}

static void rates_as_text(void **state)
{
	(void)state;
	struct sz_rate rate = {.poisson = true, .seed = 3};
	assert_int_equal(sz_rate_parse("2.5k", SZ_NS_PER_S, &rate, NULL), 0);
	assert_int_equal(rate.count, 1);
	assert_true(rate.leg[0].from_rps == 2500 && rate.leg[0].to_rps == 2500);
	assert_true(rate.poisson && rate.seed == 3);
	assert_int_equal(sz_rate_parse("10..20", SZ_NS_PER_S, &rate, NULL), 0);
	assert_true(rate.leg[0].from_rps == 10 && rate.leg[0].to_rps == 20);
	assert_int_equal(sz_rate_parse("1,2,4", 3 * SZ_NS_PER_S, &rate, NULL), 0);
	assert_int_equal(rate.count, 3);
	assert_int_equal(rate.leg[2].span_ns, SZ_NS_PER_S);
	assert_true(rate.leg[2].to_rps == 4);
}

static void no_rates(void **state)
{
	(void)state;
	static const char *const texts[] = {"",        "0",    "-1",   "1e12", "nan",   "inf",
					    "x",       "1,,2", "1,",   ",1",   "1..",   "..1",
					    "1..2..3", "1 2",  "10/s", "0..5", "0.0001"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sz_rate rate = {.count = 42};
		struct sz_err err = {0};
		if (sz_rate_parse(texts[i], SZ_NS_PER_S, &rate, &err) == 0)
			fail_msg("'%s' was taken for a rate", texts[i]);
		assert_int_equal(err.code, SZ_USAGE);
		assert_int_equal(rate.count, 42);
	}
	char many[4 * SZ_RATE_LEGS_MAX] = "";
	for (size_t i = 0; i < SZ_RATE_LEGS_MAX + 1; i++) {
		many[2 * i] = '1';
		many[2 * i + 1] = i < SZ_RATE_LEGS_MAX ? ',' : '\0';
	}
	struct sz_rate rate = {0};
	assert_int_equal(sz_rate_parse(many, SZ_NS_PER_S, &rate, NULL), -1);
	many[2 * SZ_RATE_LEGS_MAX - 1] = '\0';
	assert_int_equal(sz_rate_parse(many, SZ_NS_PER_S, &rate, NULL), 0);
	assert_int_equal(rate.count, SZ_RATE_LEGS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_gaps),     cmocka_unit_test(steps),
		cmocka_unit_test(ramp),          cmocka_unit_test(poisson_gaps),
		cmocka_unit_test(long_and_fast), cmocka_unit_test(other_seeds_differ),
		cmocka_unit_test(rates_as_text), cmocka_unit_test(no_rates),
	};
	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
