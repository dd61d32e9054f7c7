/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory buys, and what fits into it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "told.h"

#define MIB (INT64_C(1) << 20)

static const struct told told[] = {{1, 50, 1000, 0},
				   {2, 98, 510, 0},
				   {4, 140, 350, 0},
				   {8, 90, 550, 0}};
enum { COUNT = SZ_ARRAY_LEN(told) };

/* 20 MiB and 100 for each worker; others take what is told, of limit_mib. */
static void begin_memory(struct sz_sweep *sweep, int64_t limit_mib, const int64_t others_mib[COUNT])
{
	begin(sweep, 50, 20);
	for (size_t i = 0; i < COUNT; i++) {
		struct sz_window *window = tell(sweep, 0, &told[i]);
		window->pss_total_bytes = (20 + 100 * (int64_t)told[i].workers) * MIB;
		window->pss_worker_bytes = 100 * MIB;
		window->memory_limit_bytes = limit_mib * MIB;
		window->memory_taken_bytes =
			window->pss_total_bytes + (others_mib ? others_mib[i] : 300) * MIB;
	}
}

static void the_rest_is_divided(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	const struct sz_memory_budget *memory = &sweep.advice.memory;
	begin_memory(&sweep, 1400, NULL);
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(memory->limit_bytes, 1400 * MIB);
	assert_int_equal(memory->others_bytes, 300 * MIB);
	assert_int_equal(memory->fits_workers, 10); /* (1400 - 300 - 20) / 100 */
	sz_sweep_fini(&sweep);

	/* One window in which somebody took more does not decide. */
	begin_memory(&sweep, 1400, (const int64_t[]){300, 900, 310, 290});
	answer(&sweep);
	assert_int_equal(memory->others_bytes, 310 * MIB);
	sz_sweep_fini(&sweep);
}

static void unknown_memory_excludes_nothing(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_memory(&sweep, 500, NULL);
	for (size_t i = 0; i < sweep.visit_count; i++)
		sweep.visits[i].window.memory_taken_bytes = -1;
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.memory.limit_bytes, -1);
	assert_int_equal(sweep.advice.memory.others_bytes, -1);
	assert_int_equal(sweep.advice.memory.fits_workers, -1);
	sz_sweep_fini(&sweep);
}

/* It ran (by swapping, or while others rested), and is no candidate. */
static void what_does_not_fit_is_not_recommended(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_memory(&sweep, 700, NULL);
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.setting[2].verdict, SZ_INFEASIBLE);
	assert_string_equal(sweep.setting[2].why_infeasible,
			    "not enough memory: it takes 420 MiB, and other programs leave "
			    "400 MiB of 700 MiB");
	assert_true(warned(&sweep, "infeasible", "more memory"));
	assert_int_equal(sweep.advice.larger, SZ_SETTINGS_MAX);
	sz_sweep_fini(&sweep);
}

/* What a worker grew by in the soak, all workers are taken to grow by. */
static void a_soak_makes_it_grow(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_memory(&sweep, 800, NULL);
	assert_int_equal(answer(&sweep), 4);
	struct sz_window *window = tell(&sweep, 1, &told[2]);
	sweep.visits[COUNT].purpose = SZ_FOR_SOAK;
	window->duration_s = 180;
	window->pss_total_bytes = 460 * MIB;
	assert_int_equal(answer(&sweep), 4);
	assert_int_equal(sweep.advice.memory.fits_workers, 4); /* 480 / 110 */
	window->pss_total_bytes = 540 * MIB;
	assert_int_equal(answer(&sweep), 2);                   /* 4 take 540 of 500 */
	assert_int_equal(sweep.advice.memory.fits_workers, 3); /* 480 / 130 */
	sz_sweep_fini(&sweep);
}

static void the_frontier_leaves_out_what_is_beaten(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	begin_memory(&sweep, 8000, NULL);
	assert_int_equal(answer(&sweep), 4);
	const struct sz_advice *advice = &sweep.advice;
	assert_int_equal(advice->frontier_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(advice->frontier[i], i);
	assert_int_equal(advice->beaten_count, 1);
	assert_int_equal(advice->smaller, 1);
	assert_int_equal(advice->larger, 3);

	/* Disturbed ones are no neighbours. */
	sweep.visits[1].window.disturbed = 1u << SZ_DISTURBED_STEAL;
	sweep.need_rps = 0;
	answer(&sweep);
	assert_int_equal(advice->frontier_count, 2);
	assert_int_equal(advice->larger, SZ_SETTINGS_MAX); /* nothing is recommended */
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_divided),
		cmocka_unit_test(unknown_memory_excludes_nothing),
		cmocka_unit_test(what_does_not_fit_is_not_recommended),
		cmocka_unit_test(a_soak_makes_it_grow),
		cmocka_unit_test(the_frontier_leaves_out_what_is_beaten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
