/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data.h"
#include "prng.h"
#include "stat/warmup.h"

#define POINTS_MAX 300

static size_t read_series(const json_t *series, double *x)
{
	const json_t *list = json_object_get(series, "x"), *item;
	size_t i;
	assert_true(json_array_size(list) <= POINTS_MAX);
	json_array_foreach(list, i, item) x[i] = json_number_value(item);
	return json_array_size(list);
}

static bool data_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static void near_relative(double value, double expected)
{
	assert_near(value, expected, 1e-11 * fabs(expected));
}

static void compare_mser(const double *x, size_t count, const json_t *expected)
{
	struct sz_mser mser = sz_mser(x, count, (size_t)data_number(expected, "batch"));
	assert_int_equal(mser.batches, (size_t)data_number(expected, "batches"));
	assert_int_equal(mser.cut, (size_t)data_number(expected, "truncate_points"));
	near_relative(mser.statistic, data_number(expected, "statistic"));
	near_relative(mser.mean_after, data_number(expected, "mean_after"));
	assert_int_equal(mser.unreliable, data_flag(expected, "unreliable"));
}

static void compare_changepoint(const double *x, size_t count, const json_t *expected)
{
	/* Their search leaves at least two points on either side. */
	struct sz_changepoint split = sz_changepoint(x, count, 2);
	assert_int_equal(split.index, (size_t)data_number(expected, "index"));
	near_relative(split.sse0, data_number(expected, "sse0"));
	near_relative(split.sse1, data_number(expected, "sse1"));
	near_relative(split.gain, data_number(expected, "gain"));
	near_relative(split.mean_before, data_number(expected, "mean_before"));
	near_relative(split.mean_after, data_number(expected, "mean_after"));
	assert_int_equal(split.accepted, data_flag(expected, "accepted"));
}

static void vectors(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum sz_steady steady;
		size_t from;
	} verdicts[] = {
		{"exp_warmup", SZ_STEADY, 35},
		{"flat", SZ_STEADY, 15},
		{"step_at_40", SZ_STEADY, 40},
		{"slow_drift", SZ_UNSTEADY_DRIFTS, 999},
	};
	json_t *root = data_json("warmup.json"), *all = json_object_get(root, "series");
	assert_int_equal(json_object_size(all), SZ_ARRAY_LEN(verdicts));
	for (size_t i = 0; i < SZ_ARRAY_LEN(verdicts); i++) {
		const json_t *series = json_object_get(all, verdicts[i].name);
		double x[POINTS_MAX];
		size_t count = read_series(series, x), from = 999;
		compare_mser(x, count, json_object_get(series, "mser5"));
		compare_mser(x, count, json_object_get(series, "mser1"));
		compare_changepoint(x, count, json_object_get(series, "changepoint"));
		assert_int_equal(sz_steady_from(x, count, &from), verdicts[i].steady);
		assert_int_equal(from, verdicts[i].from);
	}
	json_decref(root);
}

/* No rounding may turn a constant into a shift. */
static void constant(void **state)
{
	(void)state;
	static const double values[] = {0, 0.1, 1e-300, 123456.7, -3};
	for (size_t i = 0; i < SZ_ARRAY_LEN(values); i++) {
		double x[47];
		size_t from = 999;
		for (size_t k = 0; k < 47; k++)
			x[k] = values[i];
		struct sz_mser mser = sz_mser(x, 47, 5);
		assert_int_equal(mser.batches, 9);
		assert_int_equal(mser.cut, 0);
		assert_true(mser.statistic == 0 && mser.mean_after == values[i]);
		struct sz_changepoint split = sz_changepoint(x, 47, 1);
		assert_true(split.sse0 == 0 && split.gain == 0 && !split.accepted);
		struct sz_line line = sz_line(x, 47);
		assert_true(line.slope == 0 && line.slope_error == 0);
		assert_int_equal(sz_steady_from(x, 47, &from), SZ_STEADY);
		assert_int_equal(from, 0);
	}
}

static void perfect_step(void **state)
{
	(void)state;
	double x[40];
	for (size_t i = 0; i < 40; i++)
		x[i] = i < 10 ? 100 : 200;
	struct sz_changepoint split = sz_changepoint(x, 40, 1);
	assert_int_equal(split.index, 10);
	assert_true(split.sse1 == 0 && isinf(split.gain) && split.accepted);
	assert_int_equal(sz_changepoint(x, 40, 15).index, 15);
}

static void line(void **state)
{
	(void)state;
	static const double x[] = {1, 3, 2, 5, 4};
	struct sz_line fit = sz_line(x, 5);
	assert_near(fit.mean, 3, 1e-15);
	assert_near(fit.slope, 0.8, 1e-15);
	/* Residuals -0.4 0.8 -1 1.2 -0.6, squares 3.6 over 3, over 10. */
	assert_near(fit.slope_error, sqrt(3.6 / 3 / 10), 1e-15);
}

static void too_short(void **state)
{
	(void)state;
	double x[SZ_STEADY_POINTS];
	size_t from = 999;
	for (size_t i = 0; i < SZ_STEADY_POINTS; i++)
		x[i] = 5;
	assert_int_equal(sz_steady_from(x, 0, &from), SZ_UNSTEADY_SHORT);
	assert_int_equal(sz_steady_from(x, SZ_STEADY_POINTS - 1, &from), SZ_UNSTEADY_SHORT);
	x[7] = NAN;
	assert_int_equal(sz_steady_from(x, SZ_STEADY_POINTS, &from), SZ_UNSTEADY_SHORT);
	assert_int_equal(from, 999);
	x[7] = 5;
	assert_int_equal(sz_steady_from(x, SZ_STEADY_POINTS, &from), SZ_STEADY);
	assert_int_equal(from, 0);
}

/* A course of the mean, 1 where it is right; u runs from 0 to 1. */
static double flat(double u)
{
	(void)u;
	return 1;
}

static double early_step(double u)
{
	return u < 0.3 ? 0.6 : 1;
}

static double quick_start(double u)
{
	return 1 - exp(-u / 0.05);
}

static double late_step(double u)
{
	return u < 0.7 ? 1 : 0.9;
}

static double slow_start(double u)
{
	return 1 - exp(-u / 0.4);
}

static double creep(double u)
{
	return 1 - 0.1 * u;
}

static double late_stall(double u)
{
	return u >= 0.98 && u < 0.985 ? 0.5 : 1;
}

/* Noise of 1 %, 200 points: how many of 100 series are called steady. */
static void courses(void **state)
{
	(void)state;
	static const struct {
		double (*mean)(double u);
		unsigned least, most;
		size_t least_from;
	} cases[] = {
		{flat, 99, 100, 0},       {early_step, 95, 100, 60}, {quick_start, 95, 100, 20},
		{late_stall, 99, 100, 0}, {late_step, 0, 0, 0},      {slow_start, 0, 0, 0},
		{creep, 0, 0, 0},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		unsigned steady = 0;
		for (uint64_t seed = 1; seed <= 100; seed++) {
			struct prng prng = {seed};
			double x[200];
			size_t from = 999;
			for (size_t k = 0; k < 200; k++)
				x[k] = 800 * cases[i].mean((double)k / 200) *
				       (1 + 0.01 * prng_normal(&prng));
			if (sz_steady_from(x, 200, &from) != SZ_STEADY)
				continue;
			steady++;
			assert_in_range(from, cases[i].least_from, 100);
		}
		assert_in_range(steady, cases[i].least, cases[i].most);
	}
}

/* Where MSER-5 itself cannot tell: four batches, of which it may cut two. */
static void short_and_flat(void **state)
{
	(void)state;
	unsigned steady = 0, unreliable = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct prng prng = {seed};
		double x[SZ_STEADY_POINTS];
		size_t from;
		for (size_t k = 0; k < SZ_STEADY_POINTS; k++)
			x[k] = 800 * (1 + 0.05 * prng_normal(&prng));
		unreliable += sz_mser(x, SZ_STEADY_POINTS, 5).unreliable;
		steady += sz_steady_from(x, SZ_STEADY_POINTS, &from) == SZ_STEADY;
	}
	assert_in_range(unreliable, 25, 55);
	assert_in_range(steady, 95, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),        cmocka_unit_test(constant),
		cmocka_unit_test(perfect_step),   cmocka_unit_test(line),
		cmocka_unit_test(too_short),      cmocka_unit_test(courses),
		cmocka_unit_test(short_and_flat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
