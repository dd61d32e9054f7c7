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
#include "stat/interval.h"

static double parse_fraction(const char *text)
{
	char *slash;
	double numerator = strtod(text, &slash);
	assert_true(*slash == '/');
	return numerator / strtod(slash + 1, NULL);
}

/* An empty field means no such rank, as 0 does. */
static uint64_t parse_rank(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void rank_vectors(void **state)
{
	(void)state;
	FILE *file = data_open("quantile_ci.csv");
	char line[200], *field[6];
	size_t rows = 0;
	assert_true(data_row(file, line, field, 6));
	for (; data_row(file, line, field, 6); rows++) {
		struct sz_rank_interval ranks =
			sz_quantile_ranks(strtoull(field[1], NULL, 10), parse_fraction(field[0]),
					  strtod(field[2], NULL));
		assert_int_equal(ranks.low, parse_rank(field[3]));
		assert_int_equal(ranks.high, parse_rank(field[4]));
	}
	fclose(file);
	assert_int_equal(rows, 104);
}

static void few_values(void **state)
{
	(void)state;
	struct sz_rank_interval ranks = sz_quantile_ranks(0, 0.5, 0.95);
	assert_int_equal(ranks.low, 0);
	assert_int_equal(ranks.high, 0);
	ranks = sz_quantile_ranks(1, 0.5, 0.95);
	assert_int_equal(ranks.low, 0);
	assert_int_equal(ranks.high, 0);
	/* An upper rank for p99 takes 0.99^n <= 0.025, so 368 values. */
	assert_int_equal(sz_quantile_ranks(367, 0.99, 0.95).high, 0);
	assert_int_equal(sz_quantile_ranks(368, 0.99, 0.95).high, 368);
	/* All but 3e-6 of the law sits at one end. */
	ranks = sz_quantile_ranks(3, 0.999999, 0.95);
	assert_int_equal(ranks.low, 3);
	assert_int_equal(ranks.high, 0);
	assert_int_equal(sz_quantile_ranks(3, 0.000001, 0.95).high, 1);
	ranks = sz_quantile_ranks(1000000, nextafter(1, 0), 0.95);
	assert_int_equal(ranks.low, 1000000);
	assert_int_equal(ranks.high, 0);
}

/* Half a million tosses either side: the ranks of the median are symmetric, and
 * with the continuity correction they are the normal law's. */
static void many_values(void **state)
{
	(void)state;
	static const uint64_t counts[] = {1000000, 999999, 100000000};
	for (size_t i = 0; i < SZ_ARRAY_LEN(counts); i++) {
		uint64_t n = counts[i];
		struct sz_rank_interval ranks = sz_quantile_ranks(n, 0.5, 0.95);
		double half = 1.959963984540054 * sqrt((double)n) / 2;
		assert_int_equal(ranks.low + ranks.high, n + 1);
		assert_near((double)ranks.low, (double)n / 2 - half + 0.5, 1);
	}
	/* Far out in the tails: 6.1094 is exceeded with probability 5e-10. */
	assert_near((double)sz_quantile_ranks(1000000, 0.5, 1 - 1e-9).low,
		    500000 - 6.1094 * 500 + 0.5, 1);
	/* Rare events: P(B > k) is Poisson's with mean 10, whose 0.975 quantile is 17
	 * and whose 0.025 quantile is 4. */
	struct sz_rank_interval ranks = sz_quantile_ranks(1000000, 0.99999, 0.95);
	assert_int_equal(ranks.low, 1000000 - 17);
	assert_int_equal(ranks.high, 1000000 - 4 + 1);
}

static size_t read_list(const json_t *list, double *values, size_t max)
{
	size_t i;
	const json_t *item;
	assert_true(json_array_size(list) <= max);
	json_array_foreach(list, i, item) values[i] = json_number_value(item);
	return json_array_size(list);
}

static void ratio_vector(void **state)
{
	(void)state;
	json_t *root = data_json("ratio_tests.json");
	const json_t *paired = json_object_get(root, "paired_log_ratio");
	const json_t *two_sided = json_object_get(paired, "ci95_two_sided");
	double before[16], after[16];
	size_t pairs = read_list(json_object_get(root, "A"), before, 16);
	assert_int_equal(read_list(json_object_get(root, "B"), after, 16), pairs);
	struct sz_ratio_interval interval;
	assert_int_equal(sz_paired_ratio(before, after, pairs, 0.95, &interval, NULL), 0);
	assert_near(interval.ratio, data_number(paired, "ratio"), 1e-12);
	assert_near(interval.low, json_number_value(json_array_get(two_sided, 0)), 1e-9);
	assert_near(interval.high, json_number_value(json_array_get(two_sided, 1)), 1e-9);
	/* The lower bound of a two-sided 90 % is a one-sided 95 %. */
	assert_int_equal(sz_paired_ratio(before, after, pairs, 0.90, &interval, NULL), 0);
	assert_near(interval.low, data_number(paired, "lower95_one_sided"), 1e-9);
	json_decref(root);
}

/* Swapping the sides inverts the interval; luck that both share is not seen. */
static void ratio_symmetry(void **state)
{
	(void)state;
	static const double before[] = {100, 50, 200}, after[] = {110, 54, 221};
	struct sz_ratio_interval there, back;
	assert_int_equal(sz_paired_ratio(before, after, 3, 0.95, &there, NULL), 0);
	assert_int_equal(sz_paired_ratio(after, before, 3, 0.95, &back, NULL), 0);
	assert_true(there.low < there.ratio && there.ratio < there.high);
	assert_near(there.low * back.high, 1, 1e-12);
	assert_near(there.high * back.low, 1, 1e-12);
	assert_int_equal(sz_paired_ratio(before, before, 3, 0.95, &there, NULL), 0);
	assert_true(there.low == 1 && there.ratio == 1 && there.high == 1);
}

static void ratio_refusals(void **state)
{
	(void)state;
	static const double good[] = {1, 2, 3}, zero[] = {1, 0, 3}, unknown[] = {1, 2, NAN};
	static const struct {
		const double *before, *after;
		size_t pairs;
		double confidence;
		enum sz_code code;
	} cases[] = {
		{good, good, 1, 0.95, SZ_UNTRUSTED},    {good, good, 0, 0.95, SZ_UNTRUSTED},
		{good, zero, 3, 0.95, SZ_UNTRUSTED},    {zero, good, 3, 0.95, SZ_UNTRUSTED},
		{unknown, good, 3, 0.95, SZ_UNTRUSTED}, {good, good, 3, 1, SZ_USAGE},
		{good, good, 3, NAN, SZ_USAGE},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_ratio_interval interval = {.ratio = 42};
		struct sz_err err = {0};
		assert_int_equal(sz_paired_ratio(cases[i].before, cases[i].after, cases[i].pairs,
						 cases[i].confidence, &interval, &err),
				 -1);
		assert_int_equal(err.code, cases[i].code);
		assert_true(err.hint[0] != '\0');
		assert_true(interval.ratio == 42);
	}
}

/* 2 per unit; what ends a batch half done is in two of them. */
static void cost_of_a_unit(void **state)
{
	(void)state;
	double cost[40], units[40];
	for (size_t i = 0; i < SZ_ARRAY_LEN(cost); i++) {
		units[i] = 100;
		cost[i] = 200;
	}
	/* Nothing varies: what is left is the last unit. */
	assert_true(fabs(sz_cost_error_ratio(cost, units, 40) - 1.0 / 4000) < 1e-9);
	/* Loads that vary are no uncertainty of the cost. */
	for (size_t i = 0; i < SZ_ARRAY_LEN(cost); i++) {
		units[i] = 50 + 10 * (double)(i % 7);
		cost[i] = 2 * units[i];
	}
	assert_true(sz_cost_error_ratio(cost, units, 40) < 0.001);
	/* Batches of four whose costs alternate by 10 % of the mean: what one has too
	 * much the next has too little, r = -0.9 + 0.1, so the variance of the sum is
	 * that of one batch. t(9) sqrt(10/9 x 10 x 0.1) x 0.1 / 10. */
	for (size_t i = 0; i < SZ_ARRAY_LEN(cost); i++) {
		units[i] = 100;
		cost[i] = i / 4 % 2 ? 180 : 220;
	}
	assert_true(fabs(sz_cost_error_ratio(cost, units, 40) - 0.02385) < 0.0001);
	/* A step in the middle: r = 0.7 + 0.1, so nine times the variance. */
	for (size_t i = 0; i < SZ_ARRAY_LEN(cost); i++)
		cost[i] = i < 20 ? 180 : 220;
	assert_true(fabs(sz_cost_error_ratio(cost, units, 40) - 0.2262) < 0.001);
}

static void cost_unknown(void **state)
{
	(void)state;
	double cost[20], units[20], none[20] = {0};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cost); i++)
		cost[i] = units[i] = 1;
	assert_true(isinf(sz_cost_error_ratio(cost, units, 9)));
	assert_true(isinf(sz_cost_error_ratio(cost, units, 0)));
	assert_true(isinf(sz_cost_error_ratio(cost, none, 20)));
	assert_true(isinf(sz_cost_error_ratio(none, units, 20)));
	cost[3] = -1;
	assert_true(isinf(sz_cost_error_ratio(cost, units, 20)));
	cost[3] = NAN;
	assert_true(isinf(sz_cost_error_ratio(cost, units, 20)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_vectors),   cmocka_unit_test(few_values),
		cmocka_unit_test(many_values),    cmocka_unit_test(ratio_vector),
		cmocka_unit_test(ratio_symmetry), cmocka_unit_test(ratio_refusals),
		cmocka_unit_test(cost_of_a_unit), cmocka_unit_test(cost_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
