/* SPDX-License-Identifier: Apache-2.0
 *
 * The series of a window, and how well it tells the throughput.
 */
#include <math.h>

#include "script.h"

#include "load/inside.h"

#define MS SZ_NS_PER_MS

static struct sz_load_config config;
static struct sz_load_result result;
static struct sz_load_series series;
static uint64_t start_ns;

static int begin(void **state)
{
	(void)state;
	sz_series_begin(&series, &start_ns, 7 * MS);
	return 0;
}

/* Intervals */

static void add_at(uint64_t now_ns)
{
	sz_series_advance(&series, &start_ns, now_ns);
	series.ok[series.count]++;
}

static void silence_is_zeros(void **state)
{
	(void)state;
	assert_int_equal(series.interval_ns, 100 * MS);
	add_at(7 * MS);
	add_at(106 * MS);
	add_at(107 * MS); /* the second interval's first moment */
	add_at(7 * MS + 350 * MS);
	assert_int_equal(series.count, 3);
	assert_true(series.ok[0] == 2 && series.ok[1] == 1 && series.ok[2] == 0);
	assert_int_equal(sz_series_sum(&series), 4);
}

static void a_full_series_halves_its_resolution(void **state)
{
	(void)state;
	uint64_t added = 0;
	for (uint64_t i = 0; i < SZ_LOAD_SERIES_MAX; i++)
		for (uint64_t j = 0; j <= i % 2; j++, added++)
			add_at((7 + 100 * i) * MS);
	assert_int_equal(series.count, SZ_LOAD_SERIES_MAX - 1);
	add_at((7 + 100 * SZ_LOAD_SERIES_MAX) * MS);
	assert_int_equal(series.interval_ns, 200 * MS);
	assert_int_equal(series.count, SZ_LOAD_SERIES_MAX / 2);
	for (size_t i = 0; i < series.count; i++)
		assert_true(series.ok[i] == 3);
	assert_true(series.ok[series.count] == 1);
	assert_int_equal(sz_series_sum(&series), added + 1);

	/* Silence up to ten times that time: doubled thrice more. */
	sz_series_advance(&series, &start_ns, (7 + 1000 * SZ_LOAD_SERIES_MAX) * MS);
	assert_int_equal(series.interval_ns, 1600 * MS);
	assert_int_equal(series.count, 1000 * SZ_LOAD_SERIES_MAX / 1600);
	assert_int_equal(sz_series_sum(&series), added + 1);
}

/* Precision */

static void set(const double *ok, size_t count)
{
	memset(&series, 0, sizeof(series));
	memcpy(series.ok, ok, count * sizeof(ok[0]));
	series.count = count;
}

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) < 1e-6))
		fail_msg("%.9f is not %.9f", value, wanted);
}

static void too_little_tells_nothing(void **state)
{
	(void)state;
	const double nine[9] = {5, 5, 5, 5, 5, 5, 5, 5, 5}, nothing[20] = {0};
	set(nine, 9);
	assert_true(isinf(sz_series_error_ratio(&series)));
	set(nothing, 20);
	assert_true(isinf(sz_series_error_ratio(&series)));
}

static void no_better_than_one_answer(void **state)
{
	(void)state;
	const double even[12] = {90, 90, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
	set(even, 12); /* the first two are left out */
	assert_near(sz_series_error_ratio(&series), 1.0 / 50);
}

/* Mean 100, standard deviation 10 sqrt(10/9); t(9, .975) = 2.2621572. */
static void independent_batches(void **state)
{
	(void)state;
	/* Deviations + - + - …: r is negative and does not narrow. */
	const double ok[10] = {110, 90, 110, 90, 110, 90, 110, 90, 110, 90};
	set(ok, 10);
	assert_near(sz_series_error_ratio(&series), 2.2621572 * 0.1 / 3);
	/* The same in batches of two intervals. */
	double fine[20];
	for (size_t i = 0; i < 20; i++)
		fine[i] = ok[i / 2] / 2 + (i % 2 ? 7 : -7);
	set(fine, 20);
	assert_near(sz_series_error_ratio(&series), 2.2621572 * 0.1 / 3);
}

/* One step up: products of neighbours 8 - 1 of 10, and r = 0.7 + 0.1. */
static void correlated_batches(void **state)
{
	(void)state;
	const double ok[10] = {90, 90, 90, 90, 90, 110, 110, 110, 110, 110};
	set(ok, 10);
	assert_near(sz_series_error_ratio(&series), 2.2621572 * 0.1 / 3 * 3);
}

/* A window's */

static void play_one_stall(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) == 20)
			script_sleep_ms(250);
		script_answer(fd, HELLO);
	}
}

static void a_window_has_its_series(void **state)
{
	(void)state;
	script_start(play_one_stall, &config, 1);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = 350 * MS,
					  .max_ns = 5 * SZ_NS_PER_S,
					  .requests = 50};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_int_equal(result.series.interval_ns, 100 * MS);
	assert_int_equal(result.series.count, result.duration_ns / (100 * MS));
	size_t silent = 0;
	for (size_t i = 0; i < result.series.count; i++)
		silent += result.series.ok[i] == 0;
	assert_in_range(silent, 1, result.series.count - 1);
	assert_true(sz_series_sum(&result.series) <= result.outcomes[SZ_OUTCOME_OK] + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(silence_is_zeros, begin),
		cmocka_unit_test_setup(a_full_series_halves_its_resolution, begin),
		cmocka_unit_test(too_little_tells_nothing),
		cmocka_unit_test(no_better_than_one_answer),
		cmocka_unit_test(independent_batches),
		cmocka_unit_test(correlated_batches),
		cmocka_unit_test_teardown(a_window_has_its_series, script_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
