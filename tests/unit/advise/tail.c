/* SPDX-License-Identifier: Apache-2.0
 *
 * When a tail decides between settings that are equally fast, and when not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../stat/prng.h"
#include "told.h"

static const unsigned plateau[] = {2, 4, 8};
enum { PLATEAU = SZ_ARRAY_LEN(plateau) };

/* 1 is half as fast; 2, 4 and 8 are equal but for 1 % of noise, with tails of so
 * much more noise, of ln, from start to start. */
static unsigned recommend(uint64_t seed, const double p99_ms[PLATEAU], double noise,
			  unsigned blocks, enum sz_grade *grade)
{
	struct prng prng = {seed};
	struct sz_sweep sweep;
	begin(&sweep, 50, 20);
	for (unsigned block = 0; block < blocks; block++) {
		tell(&sweep, block,
		     &(struct told){1, 50 * exp(0.01 * prng_normal(&prng)), 1000, 0});
		for (size_t i = 0; i < PLATEAU; i++)
			tell(&sweep, block,
			     &(struct told){plateau[i], 100 * exp(0.01 * prng_normal(&prng)), 500,
					    p99_ms[i] * exp(noise * prng_normal(&prng))});
	}
	unsigned workers = answer(&sweep);
	*grade = sweep.advice.grade;
	sz_sweep_fini(&sweep);
	return workers;
}

/* How many of 100 sweeps recommend it. */
static unsigned count(const double p99_ms[PLATEAU], double noise, unsigned blocks, unsigned workers)
{
	unsigned found = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		enum sz_grade grade;
		found += recommend(seed, p99_ms, noise, blocks, &grade) == workers;
	}
	return found;
}

/* How many of 100 sweeps recommend what they do without any tail. The comparison
 * errs in 5 at the most, when noise is far above the 15 %. */
static unsigned unmoved(const double p99_ms[PLATEAU], double noise, unsigned blocks)
{
	static const double unknown[PLATEAU];
	unsigned same = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		enum sz_grade grade;
		same += recommend(seed, p99_ms, noise, blocks, &grade) ==
			recommend(seed, unknown, noise, blocks, &grade);
	}
	return same;
}

static void noise_decides_nothing(void **state)
{
	(void)state;
	static const double equal[] = {600, 600, 600}, slightly[] = {660, 600, 590};
	static const double few[] = {600, 0, 550}; /* requests at 4, so no p99 */
	static const double noises[] = {0.02, 0.04, 0.08, 0.16, 0.32, 0.64};
	for (size_t i = 0; i < SZ_ARRAY_LEN(noises); i++) {
		for (unsigned blocks = 2; blocks <= 6; blocks++) {
			unsigned least = noises[i] < 0.05 ? 100 : 95;
			assert_in_range(unmoved(equal, noises[i], blocks), least, 100);
			assert_in_range(unmoved(slightly, noises[i], blocks), 95, 100);
			assert_in_range(unmoved(few, noises[i], blocks), 95, 100);
		}
	}
}

/* Twice as long, with 5 % from start to start; but once is never enough. */
static void a_clear_difference_decides(void **state)
{
	(void)state;
	static const double halved[] = {1200, 600, 590}, last[] = {1200, 1180, 590};
	enum sz_grade grade;
	assert_in_range(count(halved, 0.05, 4, 4), 95, 100);
	assert_in_range(count(last, 0.05, 4, 8), 95, 100);
	assert_int_equal(recommend(1, halved, 0.05, 4, &grade), 4);
	assert_int_equal(grade, SZ_GRADE_DECIDED);
	assert_int_equal(recommend(1, halved, 0, 1, &grade), 2);
}

/* What is not as fast is no better for its tail. */
static void speed_comes_first(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin(&sweep, 50, 20);
	for (unsigned block = 0; block < 4; block++) {
		tell(&sweep, block, &(struct told){2, 100 + 0.1 * (block % 2), 500, 900});
		tell(&sweep, block, &(struct told){4, 80 - 0.1 * (block % 3), 500, 300});
	}
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_decides_nothing),
		cmocka_unit_test(a_clear_difference_decides),
		cmocka_unit_test(speed_comes_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
