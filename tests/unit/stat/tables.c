/* SPDX-License-Identifier: Apache-2.0
 *
 * Published measurements of real services, each with the answer that an honest
 * reader gives, through the same functions as a sweep's own windows.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "prng.h"
#include "stat/select.h"

static const struct sz_select_rule five_percent = {.delta = 0.05, .confidence = 0.95};

static unsigned selected(const struct sz_selection *selection)
{
	return selection->candidate[selection->selected].setting;
}

/* One row each: no repeats. */
static void once(const unsigned *settings, const double *rps, size_t count,
		 struct sz_selection *selection)
{
	struct sz_observation observations[8];
	assert_true(count <= 8);
	for (size_t i = 0; i < count; i++)
		observations[i] = (struct sz_observation){0, settings[i], rps[i]};
	assert_int_equal(sz_select(observations, count, &five_percent, selection, NULL), 0);
	assert_int_equal(selection->grade, SZ_GRADE_WEAK);
}

/* Go load balancer under a quota of 2 CPUs of 24 (uber-go/automaxprocs). */
static void quota(void **state)
{
	(void)state;
	static const unsigned threads[] = {1, 2, 3, 4, 8, 24};
	static const double rps[] = {28893.18, 44715.07, 44212.93, 41071.15, 33111.69, 22191.40};
	struct sz_selection selection;
	unsigned untested[SZ_UNTESTED_MAX];
	once(threads, rps, 6, &selection);
	assert_int_equal(selected(&selection), 2);
	assert_false(selection.range_limited);
	/* A peak, but no whole number lies between it and its neighbours. */
	assert_int_equal(sz_select_untested(&selection, untested), 0);
}

/* Ties in throughput: the smaller one, which here also has the better tail. */
static void ties(void **state)
{
	(void)state;
	struct sz_selection selection;
	once((const unsigned[]){1, 2, 4}, (const double[]){185004, 189988, 182522}, 3, &selection);
	assert_int_equal(selected(&selection), 2);
	once((const unsigned[]){8, 12}, (const double[]){55965, 56015}, 2, &selection);
	assert_int_equal(selected(&selection), 8);
	assert_false(selection.range_limited);
}

/* Clients of a saturated server (puma): flat from the first row on, so the answer
 * lies at or below it. */
static void plateau(void **state)
{
	(void)state;
	static const unsigned clients[] = {50, 65, 85, 115, 150};
	static const double rps[] = {10504, 10536, 10580, 10627, 10604};
	struct sz_selection selection;
	unsigned untested[SZ_UNTESTED_MAX];
	once(clients, rps, 5, &selection);
	assert_int_equal(selected(&selection), 50);
	assert_int_equal(sz_select_untested(&selection, untested), 1);
	assert_int_equal(untested[0], 25);
}

/* 1 and 2 workers with one database read each: more than twice as fast, which
 * workers alone cannot be. */
static void faster_than_linear(void **state)
{
	(void)state;
	static const struct {
		double one_rps, two_rps, speedup;
	} rows[] = {{569, 1822, 3.2}, {205, 541, 2.6}, {456, 669, 1.5}, {236, 409, 1.7}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(rows); i++) {
		struct sz_selection selection;
		once((const unsigned[]){1, 2}, (const double[]){rows[i].one_rps, rows[i].two_rps},
		     2, &selection);
		double speedup = 1 / selection.candidate[0].ratio_to_best;
		assert_true(fabs(speedup - rows[i].speedup) < 0.05);
		assert_int_equal(selected(&selection), 2);
		assert_true(selection.range_limited);
	}
}

/* Seconds of a fixed job with 3 … 32 threads per rank, 16 cores each: 32 is
 * within noise, 8 is not as good. */
static void fixed_job(void **state)
{
	(void)state;
	static const struct sz_observation runs[] = {
		{0, 32, 1 / 0.097}, {0, 16, 1 / 0.102}, {0, 8, 1 / 0.122}, {0, 3, 1 / 0.251},
		{1, 32, 1 / 0.108}, {1, 16, 1 / 0.095}, {1, 8, 1 / 0.123}, {1, 3, 1 / 0.259},
	};
	struct sz_selection selection;
	assert_int_equal(sz_select(runs, SZ_ARRAY_LEN(runs), &five_percent, &selection, NULL), 0);
	assert_int_equal(selected(&selection), 16);
	assert_int_equal(selection.grade, SZ_GRADE_WEAK);
	assert_int_equal(selection.candidate[0].verdict, SZ_INFERIOR);
	assert_int_equal(selection.candidate[3].verdict, SZ_UNDECIDED);
	assert_false(selection.range_limited);
}

/* Database pool of 10 or 20 (PostgREST), three repeats at each number of clients. */
static const struct {
	unsigned clients;
	double ten[3], twenty[3];
} pools[] = {
	{10, {2278.3, 2370.6, 2438.7}, {2331.4, 2349.6, 2456.7}},
	{20, {2210.7, 2295.1, 2280.4}, {2395.4, 2388.4, 2419.1}},
	{30, {2186.8, 2163.3, 2207.6}, {2344.6, 2350.2, 2353.0}},
	{250, {2099.9, 2141.4, 2140.8}, {2365.7, 2337.8, 2238.9}},
};

static void compare_pools(size_t first, size_t end, struct sz_selection *selection)
{
	struct sz_observation observations[24];
	size_t count = 0;
	for (size_t i = first; i < end; i++) {
		for (unsigned k = 0; k < 3; k++) {
			unsigned block = pools[i].clients * 3 + k;
			observations[count++] = (struct sz_observation){block, 10, pools[i].ten[k]};
			observations[count++] =
				(struct sz_observation){block, 20, pools[i].twenty[k]};
		}
	}
	assert_int_equal(sz_select(observations, count, &five_percent, selection, NULL), 0);
}

static void database_pool(void **state)
{
	(void)state;
	struct sz_selection selection;
	compare_pools(0, 1, &selection);
	assert_int_equal(selected(&selection), 10);
	assert_false(selection.range_limited);
	assert_true(selection.candidate[0].ratio_low < 1 && selection.candidate[0].ratio_high > 1);
	/* From 20 clients on the larger one is better beyond noise, by 6 to 9 %, and
	 * nothing above it was tested. */
	for (size_t i = 1; i < SZ_ARRAY_LEN(pools); i++) {
		compare_pools(i, i + 1, &selection);
		assert_int_equal(selected(&selection), 20);
		assert_true(selection.range_limited);
		assert_true(selection.candidate[0].ratio_high < 1);
		assert_in_range(lround(100 / selection.candidate[0].ratio_to_best), 106, 109);
	}
	compare_pools(1, SZ_ARRAY_LEN(pools), &selection);
	assert_int_equal(selected(&selection), 20);
	assert_int_equal(selection.grade, SZ_GRADE_DECIDED);
	assert_true(selection.range_limited);
}

/* A burst of clients at 1 … 33 workers: seconds until the slowest has its first
 * byte. Between 4 and 16 less than 15 % is to be had. */
#define BURST_SETTINGS 6
#define BURST_BUDGET 48
static const unsigned burst_workers[BURST_SETTINGS] = {1, 2, 4, 8, 16, 33};
static const double burst_s[BURST_SETTINGS] = {6.474, 3.515, 1.939, 2.007, 1.784, 5.767};
static const struct sz_select_rule burst_rule = {.delta = 0.15, .confidence = 0.95};

struct burst {
	struct prng prng;
	double noise; /* of ln X */
	struct sz_observation windows[BURST_BUDGET];
	size_t count;
	unsigned blocks;
};

static void burst_block(struct burst *burst, const unsigned *workers, size_t count)
{
	double luck = 0.05 * prng_normal(&burst->prng);
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (burst_workers[k] != workers[i])
			k++;
		double noise = burst->noise * prng_normal(&burst->prng);
		burst->windows[burst->count++] =
			(struct sz_observation){burst->blocks, workers[i],
						exp(luck + noise) / burst_s[k]};
	}
	burst->blocks++;
}

static void burst_run(struct burst *burst, unsigned blocks, bool race,
		      struct sz_selection *selection)
{
	unsigned settings[SZ_SETTINGS_MAX];
	size_t count;
	for (unsigned i = 0; i < blocks; i++)
		burst_block(burst, burst_workers, BURST_SETTINGS);
	assert_int_equal(sz_select(burst->windows, burst->count, &burst_rule, selection, NULL), 0);
	while (race && (count = sz_select_race(selection, settings)) > 0 &&
	       burst->count + count <= BURST_BUDGET) {
		burst_block(burst, settings, count);
		assert_int_equal(sz_select(burst->windows, burst->count, &burst_rule, selection,
					   NULL),
				 0);
	}
}

static void burst_table(void **state)
{
	(void)state;
	static const struct {
		double least_noise, most_noise;
		bool race;
		unsigned least_right; /* of 100 */
	} cases[] = {
		{0.01, 0.01, false, 100},
		{0.02, 0.02, false, 95},
		{0.01, 0.03, true, 99},
		/* Without the race, 3 blocks of this find 4 in three of four cases. */
		{0.03, 0.03, true, 99},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		unsigned right = 0;
		for (uint64_t seed = 1; seed <= 100; seed++) {
			struct burst burst = {.prng = {seed}};
			struct sz_selection selection;
			burst.noise = cases[i].least_noise +
				      (cases[i].most_noise - cases[i].least_noise) *
					      prng_uniform(&burst.prng);
			burst_run(&burst, 3 + (unsigned)(seed % 2), cases[i].race, &selection);
			right += selected(&selection) == 4;
		}
		assert_in_range(right, cases[i].least_right, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quota),       cmocka_unit_test(ties),
		cmocka_unit_test(plateau),     cmocka_unit_test(faster_than_linear),
		cmocka_unit_test(fixed_job),   cmocka_unit_test(database_pool),
		cmocka_unit_test(burst_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
