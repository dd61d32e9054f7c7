/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "stat/knee.h"

/* Clients 1, 2, 4 … with these throughputs. */
static enum sz_knee find(const double *rps, size_t count, size_t *at)
{
	struct sz_knee_point points[16];
	assert_true(count <= SZ_ARRAY_LEN(points));
	for (size_t i = 0; i < count; i++)
		points[i] = (struct sz_knee_point){1u << i, rps[i]};
	return sz_knee_find(points, count, at);
}

#define FIND(at, ...)                                                                              \
	find((const double[]){__VA_ARGS__}, SZ_ARRAY_LEN(((const double[]){__VA_ARGS__})), at)

static void two_gainless_steps_make_a_knee(void **state)
{
	(void)state;
	size_t at = 99;
	assert_int_equal(FIND(&at, 50, 98, 99), SZ_KNEE_BEYOND);
	assert_int_equal(at, 99);
	assert_int_equal(FIND(&at, 50, 98, 99, 100), SZ_KNEE_FOUND);
	assert_int_equal(at, 1);
	assert_int_equal(FIND(&at, 50, 98, 99, 100, 400, 800), SZ_KNEE_FOUND);
	assert_int_equal(at, 1);
	/* What falls gains nothing either. */
	assert_int_equal(FIND(&at, 50, 98, 190, 150, 90), SZ_KNEE_FOUND);
	assert_int_equal(at, 2);
}

/* Two clients may have met the same worker. */
static void one_gainless_step_makes_none(void **state)
{
	(void)state;
	size_t at = 99;
	assert_int_equal(FIND(&at, 50, 50, 98, 99, 98), SZ_KNEE_FOUND);
	assert_int_equal(at, 2);
}

static void below_three_percent_is_nothing(void **state)
{
	(void)state;
	size_t at = 99;
	assert_int_equal(FIND(&at, 50, 100, 102.9, 105.9), SZ_KNEE_FOUND);
	assert_int_equal(FIND(&at, 50, 100, 103.1, 106.0), SZ_KNEE_BEYOND);
	assert_int_equal(FIND(&at, 50, 100, 102.9, 106.1), SZ_KNEE_BEYOND);
}

static void too_few_points_tell_nothing(void **state)
{
	(void)state;
	size_t at = 99;
	assert_int_equal(find(NULL, 0, &at), SZ_KNEE_BEYOND);
	assert_int_equal(FIND(&at, 50), SZ_KNEE_BEYOND);
	assert_int_equal(FIND(&at, 50, 50), SZ_KNEE_BEYOND);
	assert_int_equal(FIND(&at, 50, 50, 50), SZ_KNEE_BELOW);
	assert_int_equal(at, 0);
}

/* A saturated server under rising clients (puma/puma#2695): a plateau from the
 * first row on, so the knee is at or below it. */
static void plateau_from_the_first_point(void **state)
{
	(void)state;
	static const struct sz_knee_point puma[] = {
		{50, 10504}, {65, 10536}, {85, 10580}, {115, 10627}, {150, 10604},
	};
	size_t at = 99;
	assert_int_equal(sz_knee_find(puma, SZ_ARRAY_LEN(puma), &at), SZ_KNEE_BELOW);
	assert_int_equal(puma[at].clients, 50);
	assert_true(fabs(sz_knee_gain_ratio(&puma[at]) - 32.0 / 10504) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_gainless_steps_make_a_knee),
		cmocka_unit_test(one_gainless_step_makes_none),
		cmocka_unit_test(below_three_percent_is_nothing),
		cmocka_unit_test(too_few_points_tell_nothing),
		cmocka_unit_test(plateau_from_the_first_point),
	};
	return cmocka_run_group_tests_name("knee", tests, NULL, NULL);
}
