/* SPDX-License-Identifier: Apache-2.0
 *
 * The histogram against sorted arrays of the same values.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "stat/hist.h"

#define ERROR_BOUND (1.0 / 512)
#define SAMPLES 20000

static struct sz_hist hist; /* 71 KiB each: not for the stack */
static struct sz_hist other;

/* xorshift64*: the same values in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* A value with a random number of bits, so that all magnitudes are alike. */
static uint64_t random_value(uint64_t *state)
{
	uint64_t value = next_random(state) >> (21 + next_random(state) % 43);
	return value > SZ_HIST_MAX_NS ? SZ_HIST_MAX_NS : value;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static void assert_near(double value, double truth, double bound_ratio)
{
	if (!(fabs(value - truth) <= bound_ratio * truth))
		fail_msg("%.9g is not within %.3g %% of %.9g", value, bound_ratio * 100, truth);
}

static int reset_all(void **state)
{
	(void)state;
	sz_hist_reset(&hist);
	sz_hist_reset(&other);
	return 0;
}

static void empty(void **state)
{
	(void)state;
	assert_true(isnan(sz_hist_quantile_ns(&hist, 0.5)));
	assert_true(isnan(sz_hist_mean_ns(&hist)));
	assert_true(isnan(sz_hist_quantile_or_nan_ns(&hist, 0.5)));
	assert_int_equal(hist.count, 0);
}

static void one_sample_is_exact(void **state)
{
	(void)state;
	static const uint64_t values[] = {0, 1, 511, 512, 513, 1000003, SZ_HIST_MAX_NS};
	for (size_t i = 0; i < SZ_ARRAY_LEN(values); i++) {
		sz_hist_reset(&hist);
		sz_hist_add(&hist, values[i]);
		assert_true(sz_hist_quantile_ns(&hist, 0.001) == (double)values[i]);
		assert_true(sz_hist_quantile_ns(&hist, 1) == (double)values[i]);
		assert_true(sz_hist_mean_ns(&hist) == (double)values[i]);
		assert_int_equal(hist.min_ns, values[i]);
		assert_int_equal(hist.max_ns, values[i]);
	}
}

/* Lower and higher outliers keep min and max away from the value between
 * them, so that clamping cannot hide a wrong middle. */
static void error_bound(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (int i = 0; i < 2000; i++) {
		uint64_t value = random_value(&seed);
		sz_hist_reset(&hist);
		sz_hist_add(&hist, 0);
		sz_hist_add(&hist, value);
		sz_hist_add(&hist, SZ_HIST_MAX_NS);
		assert_near(sz_hist_quantile_ns(&hist, 0.5), (double)value, ERROR_BOUND);
	}
}

static void small_values_are_exact(void **state)
{
	(void)state;
	for (uint64_t value = 0; value < 512; value++)
		sz_hist_add(&hist, value);
	for (unsigned rank = 1; rank <= 512; rank++)
		assert_true(sz_hist_quantile_ns(&hist, rank / 512.0) == rank - 1);
}

static void last_bucket(void **state)
{
	(void)state;
	sz_hist_add(&hist, SZ_HIST_MAX_NS);
	assert_int_equal(hist.buckets[SZ_HIST_BUCKETS - 1], 1);
	assert_int_equal(hist.overflow, 0);
	sz_hist_add(&hist, SZ_HIST_MAX_NS + 1);
	assert_int_equal(hist.overflow, 1);
	assert_int_equal(hist.buckets[SZ_HIST_BUCKETS - 1], 1);
}

static void ranks(void **state)
{
	(void)state;
	static uint64_t values[SAMPLES];
	uint64_t seed = 42;
	double sum = 0;
	for (size_t i = 0; i < SAMPLES; i++) {
		values[i] = random_value(&seed);
		sz_hist_add(&hist, values[i]);
		sum += (double)values[i];
	}
	qsort(values, SAMPLES, sizeof(values[0]), by_value);
	static const struct {
		double ratio;
		size_t rank;
	} cases[] = {{0.00001, 1},     {0.07, 1400},    {0.29, 5800},     {0.5, 10000},
		     {0.50001, 10001}, {0.9, 18000},    {0.95, 19000},    {0.99, 19800},
		     {0.999, 19980},   {0.9999, 19998}, {0.99995, 19999}, {1, SAMPLES}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++)
		assert_near(sz_hist_quantile_ns(&hist, cases[i].ratio),
			    (double)values[cases[i].rank - 1], ERROR_BOUND);
	assert_int_equal(hist.count, SAMPLES);
	assert_int_equal(hist.min_ns, values[0]);
	assert_int_equal(hist.max_ns, values[SAMPLES - 1]);
	assert_near(sz_hist_mean_ns(&hist), sum / SAMPLES, 1e-12);
}

/* 100 values 1 … 100 have quantile p at the value 100 p, whatever the binary
 * fraction that stands for p. */
static void decimal_ratios(void **state)
{
	(void)state;
	for (uint64_t value = 1; value <= 100; value++)
		sz_hist_add(&hist, value);
	for (int percent = 1; percent <= 100; percent++)
		assert_true(sz_hist_quantile_ns(&hist, percent / 100.0) == percent);
}

static void clamped_to_min_and_max(void **state)
{
	(void)state;
	uint64_t low = (UINT64_C(1) << 30) + (UINT64_C(1) << 22) - 1; /* top of its bucket */
	uint64_t high = UINT64_C(1) << 40;                            /* bottom of its bucket */
	sz_hist_add(&hist, low);
	sz_hist_add(&hist, high);
	assert_true(sz_hist_quantile_ns(&hist, 0.1) == (double)low);
	assert_true(sz_hist_quantile_ns(&hist, 1) == (double)high);
}

static void overflow_ranks_last(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++)
		sz_hist_add(&hist, 1000);
	sz_hist_add(&hist, 2 * SZ_HIST_MAX_NS);
	assert_int_equal(hist.count, 10);
	assert_int_equal(hist.overflow, 1);
	assert_near(sz_hist_quantile_ns(&hist, 0.9), 1000, ERROR_BOUND);
	assert_true(sz_hist_quantile_ns(&hist, 0.91) == 2.0 * (double)SZ_HIST_MAX_NS);
	assert_near(sz_hist_mean_ns(&hist), (9000 + 2.0 * (double)SZ_HIST_MAX_NS) / 10, 1e-12);
	sz_hist_add(&hist, UINT64_MAX);
	assert_int_equal(hist.overflow, 2);
	assert_true(hist.max_ns == UINT64_MAX);
}

static void merged_equals_added(void **state)
{
	(void)state;
	static struct sz_hist whole;
	sz_hist_reset(&whole);
	uint64_t seed = 7;
	for (int i = 0; i < 1000; i++) {
		uint64_t value = random_value(&seed) + (i == 500 ? 2 * SZ_HIST_MAX_NS : 0);
		sz_hist_add(&whole, value);
		sz_hist_add(i % 3 ? &hist : &other, value);
	}
	sz_hist_merge(&hist, &other);
	assert_near(hist.sum_ns, whole.sum_ns, 1e-12);
	hist.sum_ns = whole.sum_ns; /* adding in another order rounds differently */
	assert_memory_equal(&hist, &whole, sizeof(hist));
	assert_int_equal(hist.overflow, 1);
}

static void merging_empty_ones(void **state)
{
	(void)state;
	sz_hist_add(&other, 5);
	sz_hist_merge(&hist, &other);
	assert_memory_equal(&hist, &other, sizeof(hist));
	sz_hist_reset(&other);
	sz_hist_merge(&hist, &other);
	assert_int_equal(hist.count, 1);
	assert_int_equal(hist.min_ns, 5);
}

static void least_counts(void **state)
{
	(void)state;
	assert_int_equal(sz_quantile_least_count(0.5), 5);
	assert_int_equal(sz_quantile_least_count(0.95), 59);
	assert_int_equal(sz_quantile_least_count(0.99), 299);
	assert_int_equal(sz_quantile_least_count(0.999), 2995);
	assert_true(sz_quantile_least_count(1) == UINT64_MAX);

	for (int i = 0; i < 58; i++)
		sz_hist_add(&hist, 100);
	assert_true(isnan(sz_hist_quantile_or_nan_ns(&hist, 0.95)));
	sz_hist_add(&hist, 100);
	assert_true(sz_hist_quantile_or_nan_ns(&hist, 0.95) == 100);
	assert_true(isnan(sz_hist_quantile_or_nan_ns(&hist, 0.99)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(empty, reset_all),
		cmocka_unit_test_setup(one_sample_is_exact, reset_all),
		cmocka_unit_test_setup(error_bound, reset_all),
		cmocka_unit_test_setup(small_values_are_exact, reset_all),
		cmocka_unit_test_setup(last_bucket, reset_all),
		cmocka_unit_test_setup(ranks, reset_all),
		cmocka_unit_test_setup(decimal_ratios, reset_all),
		cmocka_unit_test_setup(clamped_to_min_and_max, reset_all),
		cmocka_unit_test_setup(overflow_ranks_last, reset_all),
		cmocka_unit_test_setup(merged_equals_added, reset_all),
		cmocka_unit_test_setup(merging_empty_ones, reset_all),
		cmocka_unit_test_setup(least_counts, reset_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
