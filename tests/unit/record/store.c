/* SPDX-License-Identifier: Apache-2.0
 *
 * What is stored comes back, bit by bit, and only to whom it belongs.
 */
#include "scratch.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#include "base/mem.h"

/* --- every member --- */

static const double reals[] = {0.1, NAN, 5e-324, DBL_MAX, INFINITY, -1.0 / 3, 0, 12345.678};
static const int64_t integers[] = {-1, 0, INT64_MAX, 4096};
static const uint64_t counts[] = {0, UINT64_MAX, UINT64_C(1) << 63, 7};
static const unsigned unsigneds[] = {3, 0, UINT_MAX};

/* Values that are hard to keep, in every column. */
static void fill(const struct sz_columns *columns, void *object, size_t salt)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct sz_column *column = &columns->column[i];
		void *member = (char *)object + column->offset;
		size_t n = i + salt;
		switch (column->type) {
		case SZ_COLUMN_REAL:
			*(double *)member = reals[n % SZ_ARRAY_LEN(reals)];
			break;
		case SZ_COLUMN_INTEGER:
			*(int64_t *)member = integers[n % SZ_ARRAY_LEN(integers)];
			break;
		case SZ_COLUMN_COUNT:
			*(uint64_t *)member = counts[n % SZ_ARRAY_LEN(counts)];
			break;
		case SZ_COLUMN_UNSIGNED:
			*(unsigned *)member = unsigneds[n % SZ_ARRAY_LEN(unsigneds)];
			break;
		case SZ_COLUMN_BOOL:
			*(bool *)member = n % 2;
			break;
		case SZ_COLUMN_TEXT:
			snprintf(member, column->size, "caf\xc3\xa9 '%zu", n);
			break;
		}
	}
}

static void assert_same(const struct sz_columns *columns, const void *left, const void *right)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct sz_column *column = &columns->column[i];
		const void *a = (const char *)left + column->offset;
		const void *b = (const char *)right + column->offset;
		bool both_nan = column->type == SZ_COLUMN_REAL && isnan(*(const double *)a) &&
				isnan(*(const double *)b);
		bool same = column->type == SZ_COLUMN_TEXT ? strcmp(a, b) == 0
							   : memcmp(a, b, column->size) == 0;
		if (!both_nan && !same)
			fail_msg("%s differs", column->name);
	}
}

static void fill_share(struct sz_window *window, unsigned workers)
{
	window->workers = workers;
	window->share = workers ? calloc(workers, sizeof(*window->share)) : NULL;
	for (unsigned i = 0; i < workers; i++)
		window->share[i] = (struct sz_worker_share){i, 0.1 * i};
	if (workers)
		window->share[0].cpu_cores = NAN;
}

static void assert_same_share(const struct sz_window *left, const struct sz_window *right)
{
	for (unsigned i = 0; i < left->workers; i++) {
		const struct sz_worker_share *a = &left->share[i], *b = &right->share[i];
		assert_int_equal(a->connections, b->connections);
		assert_true(a->cpu_cores == b->cpu_cores ||
			    (isnan(a->cpu_cores) && isnan(b->cpu_cores)));
	}
}

static void every_number_comes_back(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep, resumed;
	describe(&sweep);
	for (unsigned i = 0; i < 8; i++) {
		struct sz_visit *visit = add_visit(&sweep, 1U << (i % 3), 0);
		fill(&sz_visit_columns, visit, i);
		fill_share(&visit->window, i % 4);
	}
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	fill(&sz_run_columns, &sweep, 1);
	snprintf(sweep.machine.kernel, sizeof(sweep.machine.kernel), "Linux 6.1.0");
	snprintf(sweep.setting[1].failure, sizeof(sweep.setting[1].failure), "it's dead");
	sweep.setting[1].failed_starts = 3;
	for (size_t i = 0; i < sweep.visit_count; i++)
		keep_visit(scratch->store, run_id, &sweep, i);
	scratch_close(scratch);

	scratch_open(scratch);
	describe(&resumed);
	resume(scratch->store, &resumed);
	assert_same(&sz_run_columns, &sweep, &resumed);
	assert_int_equal(resumed.visit_count, sweep.visit_count);
	for (size_t i = 0; i < sweep.visit_count; i++) {
		assert_same(&sz_visit_columns, &sweep.visits[i], &resumed.visits[i]);
		assert_int_equal(resumed.visits[i].setting, sweep.visits[i].setting);
		assert_same_share(&sweep.visits[i].window, &resumed.visits[i].window);
	}
	assert_string_equal(resumed.setting[0].failure, "");
	assert_string_equal(resumed.setting[1].failure, "it's dead");
	assert_int_equal(resumed.setting[1].failed_starts, 3);
	sz_sweep_fini(&sweep);
	sz_sweep_fini(&resumed);
}

/* Bytes of a struct that no column covers, beyond what alignment leaves. */
static void no_member_is_forgotten(void **state)
{
	(void)state;
	unsigned char covered[sizeof(struct sz_visit)] = {0};
	memset(covered + offsetof(struct sz_visit, setting), 1, sizeof(size_t));
	memset(covered + offsetof(struct sz_visit, window.share), 1, sizeof(void *));
	for (size_t i = 0; i < sz_visit_columns.count; i++) {
		const struct sz_column *column = &sz_visit_columns.column[i];
		assert_int_equal(covered[column->offset], 0);
		memset(covered + column->offset, 1, column->size);
	}
	for (size_t at = 0, gap = 0; at < sizeof(covered); at++) {
		gap = covered[at] ? 0 : gap + 1;
		if (gap == sizeof(double))
			fail_msg("no column for the member near byte %zu of struct sz_visit", at);
	}
}

/* Indices of settings move when the race adds one; counts of workers do not. */
static void settings_are_known_by_their_workers(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep, resumed;
	scratch_open(scratch);
	describe(&sweep);
	int64_t run_id = begin(scratch->store, &sweep);
	add_visit(&sweep, 4, 40);
	keep_visit(scratch->store, run_id, &sweep, 0);
	add_visit(&sweep, 3, 30);
	keep_visit(scratch->store, run_id, &sweep, 1);
	describe(&resumed);
	resume(scratch->store, &resumed);
	assert_int_equal(resumed.setting_count, 4);
	assert_int_equal(resumed.setting[resumed.visits[0].setting].workers, 4);
	assert_int_equal(resumed.setting[resumed.visits[1].setting].workers, 3);
	sz_sweep_fini(&sweep);
	sz_sweep_fini(&resumed);
}

/* --- which run --- */

static void only_what_is_unfinished_is_resumed(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int64_t none = 0;
	describe(&sweep);
	scratch_open(scratch);
	int64_t first = begin(scratch->store, &sweep);
	int64_t second = begin(scratch->store, &sweep);
	assert_int_equal(sz_store_finish(scratch->store, first, "interrupted", &err), 0);
	assert_int_equal(sz_store_finish(scratch->store, second, "answered", &err), 0);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &second, &sweep, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &none, &sweep, &err), 0);
	assert_int_equal(none, first);

	assert_int_equal(sz_store_finish(scratch->store, first, "no", &err), 0);
	none = 0;
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &none, &sweep, &err), -1);
	assert_int_equal(none, 0);
	sz_sweep_fini(&sweep);
}

/* One file holds the runs of many services. */
static void a_newer_run_of_another_service_is_passed_over(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int64_t other, resumed = 0;
	describe(&sweep);
	scratch_open(scratch);
	int64_t first = begin(scratch->store, &sweep);
	assert_int_equal(sz_store_begin(scratch->store, &sweep,
					"{\"command\": [\"other\"], \"clients\": 9}", &other, &err),
			 0);
	assert_int_equal(sz_store_finish(scratch->store, first, "interrupted", &err), 0);
	assert_int_equal(sz_store_finish(scratch->store, other, "interrupted", &err), 0);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &resumed, &sweep, &err), 0);
	assert_int_equal(resumed, first);
	sz_sweep_fini(&sweep);
}

struct terms {
	const char *options;
	double cores;
	const char *kernel;
	const char *told;
};

static void another_run_is_told_by_what_differs(void **state)
{
	static const struct terms others[] = {
		{"{\"command\": [\"serve\", \"{workers}\", \"-x\"], \"clients\": 50, \"url\": "
		 "\"/a\"}",
		 2, "Linux 6.1.0", "command was [\"serve\",\"{workers}\"] and is"},
		{"{\"command\": [\"serve\", \"{workers}\"], \"clients\": 60, \"url\": \"/a\"}", 2,
		 "Linux 6.1.0", "clients was 50 and is 60"},
		{"{\"command\": [\"serve\", \"{workers}\"], \"clients\": 50, \"url\": \"/b\"}", 2,
		 "Linux 6.1.0", "url was \"/a\" and is \"/b\""},
		{"{\"command\": [\"serve\", \"{workers}\"], \"clients\": 50}", 2, "Linux 6.1.0",
		 "url was \"/a\" and is unknown"},
		{OPTIONS, 4, "Linux 6.1.0", "number of cores was 2.0 and is 4.0"},
		{OPTIONS, 2, "Linux 6.2.0", "kernel was \"Linux 6.1.0\" and is"},
	};
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	describe(&sweep);
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	add_visit(&sweep, 1, 10);
	/* The service's own cores may be fewer: they are not what is compared. */
	sweep.machine.cores_allowed = 1;
	keep_visit(scratch->store, run_id, &sweep, 0);
	sz_sweep_fini(&sweep);
	for (size_t i = 0; i < SZ_ARRAY_LEN(others); i++) {
		struct sz_err err = {0};
		int64_t newest = 0;
		describe(&sweep);
		sweep.machine.cores_allowed = others[i].cores;
		snprintf(sweep.machine.kernel, sizeof(sweep.machine.kernel), "%s",
			 others[i].kernel);
		assert_int_equal(sz_store_resume(scratch->store, others[i].options, &newest, &sweep,
						 &err),
				 -1);
		assert_int_equal(err.code, SZ_USAGE);
		assert_int_equal(sweep.visit_count, 0);
		if (!strstr(err.message, others[i].told))
			fail_msg("'%s' does not say '%s'", err.message, others[i].told);
	}
	describe(&sweep);
	resume(scratch->store, &sweep);
	assert_true(sweep.machine.cores_allowed == 1);
	sz_sweep_fini(&sweep);
}

/* --- secrets --- */

static bool holds(sqlite3 *db, const char *text)
{
	unsigned char *image;
	sqlite3_int64 size;
	assert_non_null(image = sqlite3_serialize(db, "main", &size, 0));
	bool found = memmem(image, (size_t)size, text, strlen(text)) != NULL;
	sqlite3_free(image);
	return found;
}

static void secrets_are_not_stored(void **state)
{
	static const char options[] =
		"{\"command\": [\"serve\", \"--password\", \"hunter2\", \"amqp://u:hunter2@h\"],"
		" \"env\": [\"API_TOKEN=hunter2 hunter2\", \"HOST=localhost\"]}";
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int64_t run_id;
	describe(&sweep);
	snprintf(sweep.url, sizeof(sweep.url), "http://127.0.0.1:1/a?key=hunter2&b=1");
	snprintf(sweep.setting[0].failure, sizeof(sweep.setting[0].failure),
		 "it said: bad TOKEN=hunter2");
	sweep.setting[0].failed_starts = 1;
	scratch_open(scratch);
	assert_int_equal(sz_store_begin(scratch->store, &sweep, options, &run_id, &err), 0);
	assert_int_equal(sz_store_update(scratch->store, run_id, &sweep, &err), 0);
	assert_true(holds(scratch->store->db, "HOST=localhost"));
	assert_true(holds(scratch->store->db, "serve --password *** amqp://***@h"));
	assert_true(holds(scratch->store->db, "bad TOKEN=***"));
	assert_false(holds(scratch->store->db, "hunter2"));
	run_id = 0;
	assert_int_equal(sz_store_resume(scratch->store, options, &run_id, &sweep, &err), 0);
	sz_sweep_fini(&sweep);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(every_number_comes_back),
		cmocka_unit_test(no_member_is_forgotten),
		SCRATCH_TEST(settings_are_known_by_their_workers),
		SCRATCH_TEST(only_what_is_unfinished_is_resumed),
		SCRATCH_TEST(a_newer_run_of_another_service_is_passed_over),
		SCRATCH_TEST(another_run_is_told_by_what_differs),
		SCRATCH_TEST(secrets_are_not_stored),
	};
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
