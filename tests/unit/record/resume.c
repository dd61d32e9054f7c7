/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that is cut anywhere and resumed says what the whole run says.
 */
#include "scratch.h"

#include <math.h>

#include "advise/advise.h"
#include "base/mem.h"

struct seen {
	unsigned block;
	enum sz_purpose purpose;
	unsigned workers;
	double rps;
	uint32_t disturbed;
};

/* CPU-bound on two cores; 3 was added by the race. */
static const struct seen windows[] = {
	{0, SZ_FOR_ASCENT, 1, 49.61, 0}, {0, SZ_FOR_ASCENT, 2, 98.37, 0},
	{0, SZ_FOR_ASCENT, 4, 99.02, 0}, {1, SZ_FOR_RACE, 4, 97.1, 0},
	{1, SZ_FOR_RACE, 2, 96.9, 0},    {2, SZ_FOR_RACE, 2, 80.2, 1U << SZ_DISTURBED_FOREIGN_CPU},
	{2, SZ_FOR_RACE, 3, 98.8, 0},    {2, SZ_FOR_RACE, 4, 98.7, 0},
	{3, SZ_FOR_RACE, 1, 49.9, 0},    {3, SZ_FOR_RACE, 2, 99.3, 0},
	{3, SZ_FOR_RACE, 4, 99.6, 0},    {3, SZ_FOR_RACE, 3, 99.4, 0},
	{4, SZ_FOR_TWICE, 2, 98.1, 0},   {4, SZ_FOR_TWICE, 3, 98.5, 0},
};

static void replay(struct sz_sweep *sweep, const struct seen *seen)
{
	struct sz_visit *visit = add_visit(sweep, seen->workers, seen->rps);
	struct sz_window *window = &visit->window;
	double cores = seen->workers < 2 ? 1.0 : 1.99;
	visit->block = seen->block;
	visit->purpose = seen->purpose;
	visit->clients = seen->purpose == SZ_FOR_TWICE ? 100 : 50;
	visit->settled = true;
	visit->ready_s = 0.1 * seen->workers;
	window->duration_s = 4;
	window->ok = window->sent = (uint64_t)(seen->rps * 4);
	window->latency_mean_ms = visit->clients / seen->rps * 1e3;
	window->latency_p50_ms = window->latency_mean_ms / 1.01;
	window->tree_cores = cores;
	window->cpu_s_per_request = cores / seen->rps;
	window->client_cores = 0.01;
	window->disturbed = seen->disturbed;
	window->workers = seen->workers;
	window->share = calloc(seen->workers, sizeof(*window->share));
	for (unsigned i = 0; i < seen->workers; i++)
		window->share[i] =
			(struct sz_worker_share){50 / seen->workers, cores / seen->workers};
}

/* What the first visit finds out beside its window. */
static void calibrate(struct sz_sweep *sweep)
{
	sweep->client_ceiling_rps = 61234.5678901;
	sweep->alone_latency_ms = 20.123456789012345;
	sweep->alone_cpu_s_per_request = 0.0201;
}

static void assert_same_double(double left, double right)
{
	assert_true(left == right || (isnan(left) && isnan(right)));
}

static void assert_same_settings(const struct sz_sweep *left, const struct sz_sweep *right)
{
	assert_int_equal(left->setting_count, right->setting_count);
	for (size_t i = 0; i < left->setting_count; i++) {
		const struct sz_setting *a = &left->setting[i], *b = &right->setting[i];
		assert_int_equal(a->workers, b->workers);
		assert_int_equal(a->verdict, b->verdict);
		assert_int_equal(a->windows, b->windows);
		assert_int_equal(a->disturbed, b->disturbed);
		assert_same_double(a->window.throughput_rps, b->window.throughput_rps);
		assert_same_double(a->throughput_low_rps, b->throughput_low_rps);
		assert_same_double(a->throughput_high_rps, b->throughput_high_rps);
		assert_same_double(a->speedup, b->speedup);
	}
}

static void assert_same_advice(const struct sz_advice *left, const struct sz_advice *right)
{
	assert_int_equal(left->status, right->status);
	assert_int_equal(left->recommended, right->recommended);
	assert_int_equal(left->setting, right->setting);
	assert_int_equal(left->grade, right->grade);
	assert_int_equal(left->limit, right->limit);
	assert_int_equal(left->warning_count, right->warning_count);
	assert_string_equal(left->reason, right->reason);
	assert_string_equal(left->reach, right->reach);
	assert_string_equal(left->runner_up, right->runner_up);
}

static void make_whole(struct sz_sweep *sweep)
{
	describe(sweep);
	calibrate(sweep);
	for (size_t i = 0; i < SZ_ARRAY_LEN(windows); i++)
		replay(sweep, &windows[i]);
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
}

/* Make the first windows and be killed: the run is never finished. */
static void make_part(struct scratch *scratch, size_t count)
{
	struct sz_sweep sweep;
	describe(&sweep);
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	for (size_t i = 0; i < count; i++) {
		replay(&sweep, &windows[i]);
		calibrate(&sweep);
		keep_visit(scratch->store, run_id, &sweep, i);
	}
	scratch_close(scratch);
	sz_sweep_fini(&sweep);
}

static void make_rest(struct scratch *scratch, size_t count, struct sz_sweep *sweep)
{
	scratch_open(scratch);
	describe(sweep);
	resume(scratch->store, sweep);
	assert_int_equal(sweep->visit_count, count);
	for (size_t i = count; i < SZ_ARRAY_LEN(windows); i++)
		replay(sweep, &windows[i]);
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
	scratch_close(scratch);
}

static void a_cut_changes_nothing(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep whole, resumed;
	make_whole(&whole);
	assert_true(whole.advice.recommended);
	assert_int_equal(whole.setting[whole.advice.setting].workers, 2);
	for (size_t cut = 1; cut <= SZ_ARRAY_LEN(windows); cut++) {
		make_part(scratch, cut);
		make_rest(scratch, cut, &resumed);
		assert_same_settings(&whole, &resumed);
		assert_same_advice(&whole.advice, &resumed.advice);
		sz_sweep_fini(&resumed);
	}
	sz_sweep_fini(&whole);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {SCRATCH_TEST(a_cut_changes_nothing)};
	return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
