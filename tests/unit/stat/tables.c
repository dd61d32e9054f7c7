/* SPDX-License-Identifier: Apache-2.0
 *
 * Published measurements that are no sweeps of workers, each with the answer that
 * an honest reader gives; those that are have their place in advise/tables.c.
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
		cmocka_unit_test(plateau),
		cmocka_unit_test(fixed_job),
		cmocka_unit_test(burst_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
