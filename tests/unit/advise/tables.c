/* SPDX-License-Identifier: Apache-2.0
 *
 * Published measurements of real services (tests/data/advise), each with the
 * answer that an honest reader gives, as windows of a sweep.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "measure/measure.h"
#include "told.h"

enum { FIELDS_MAX = 7 };

struct row {
	char label[40];            /* the first field */
	double number[FIELDS_MAX]; /* all of them; 0 for words */
};

struct table {
	struct row rows[16];
	size_t count;
};

static struct table read_table(const char *name)
{
	struct table table = {0};
	char path[4096], line[200];
	snprintf(path, sizeof(path), "%s/advise/%s.csv", getenv("SIZEUP_TEST_DATA"), name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		struct row *row = &table.rows[table.count++];
		char *rest = line, *field = strsep(&rest, ",\n");
		snprintf(row->label, sizeof(row->label), "%s", field);
		for (size_t i = 0; i < FIELDS_MAX && field; field = strsep(&rest, ",\n"))
			row->number[i++] = strtod(field, NULL);
	}
	fclose(file);
	assert_in_range(table.count, 2, SZ_ARRAY_LEN(table.rows));
	return table;
}

/* All rows in one block: no repeats. `tail` is the column of the tail told. */
static void tell_table(struct sz_sweep *sweep, unsigned block, const struct table *table,
		       size_t tail, double luck)
{
	for (size_t i = 0; i < table->count; i++) {
		const double *number = table->rows[i].number;
		/* Something like noise, differing from row to row and block to block. */
		double noise = 1 + luck * ((double)((i * 3 + block * 5) % 7) - 3);
		tell(sweep, block,
		     &(struct told){(unsigned)number[0], number[1] * noise, 0, number[tail]});
	}
}

/* A quota of 2 CPUs of 24. The median latency keeps falling up to 8 threads and
 * must not decide; 3 threads are as fast, with a longer tail. */
static void quota(void **state)
{
	(void)state;
	struct table table = read_table("automaxprocs");
	struct sz_sweep sweep;
	begin(&sweep, 50, 0);
	tell_table(&sweep, 0, &table, 3, 0);
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	assert_false(sweep.advice.range_limited);
	for (unsigned block = 1; block <= 3; block++)
		tell_table(&sweep, block, &table, 3, 0.002);
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
	assert_int_equal(sweep.setting[2].verdict, SZ_ACCEPTED);
	sz_sweep_fini(&sweep);
}

/* Within 4 %; 4 threads also have the longer tail. */
static void threads_of_a_reactor(void **state)
{
	(void)state;
	struct table table = read_table("cwist");
	struct sz_sweep sweep;
	begin(&sweep, 400, 0);
	tell_table(&sweep, 0, &table, 2, 0);
	assert_int_equal(answer(&sweep), 2);
	assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
	sz_sweep_fini(&sweep);
}

/* A tie. The smaller one has the better tail; were it the other way round, the
 * tail would decide for 12, but not from one window each. */
static void tie(void **state)
{
	(void)state;
	struct table table = read_table("vayu");
	for (size_t swapped = 0; swapped <= 1; swapped++) {
		struct sz_sweep sweep;
		begin(&sweep, 64, 0);
		tell_table(&sweep, 0, &table, 4, 0);
		assert_int_equal(answer(&sweep), 8);
		assert_int_equal(sweep.advice.grade, SZ_GRADE_WEAK);
		for (unsigned block = 1; block <= 3; block++)
			tell_table(&sweep, block, &table, 4, 0.002);
		assert_int_equal(answer(&sweep), swapped ? 12 : 8);
		assert_int_equal(sweep.advice.grade, SZ_GRADE_DECIDED);
		assert_false(sweep.advice.range_limited);
		assert_int_equal(strstr(sweep.advice.reason, "8 workers are as fast") != NULL,
				 swapped);
		sz_sweep_fini(&sweep);
		double tail_ms = table.rows[0].number[4];
		table.rows[0].number[4] = table.rows[1].number[4];
		table.rows[1].number[4] = tail_ms;
	}
}

/* 10 and 20 connections, at so many clients. */
static unsigned pool_at(unsigned clients, struct sz_sweep *sweep)
{
	struct table table = read_table("postgrest");
	begin(sweep, clients, 0);
	for (unsigned block = 0; block < 3; block++) {
		for (size_t i = 0; i < table.count; i++) {
			const double *number = table.rows[i].number;
			if (number[1] == clients)
				tell(sweep, block,
				     &(struct told){(unsigned)number[0], number[2 + block], 0, 0});
		}
	}
	assert_int_equal(sweep->setting_count, 2);
	return answer(sweep);
}

/* At 10 clients the repeats differ by more than the pools. From 20 on the larger
 * one is better by 5 to 9 % (of medians), and nothing above it was tested. */
static void database_pool(void **state)
{
	(void)state;
	static const unsigned many[] = {20, 30, 250};
	struct sz_sweep sweep;
	assert_int_equal(pool_at(10, &sweep), 10);
	assert_false(sweep.advice.range_limited);
	assert_false(warned(&sweep, "range-limited", ""));
	assert_int_not_equal(sweep.setting[1].verdict, SZ_INFERIOR);
	sz_sweep_fini(&sweep);
	for (size_t i = 0; i < SZ_ARRAY_LEN(many); i++) {
		assert_int_equal(pool_at(many[i], &sweep), 20);
		assert_true(sweep.advice.range_limited);
		assert_true(warned(&sweep, "range-limited", ""));
		assert_in_range(lround(sweep.setting[1].window.score /
				       sweep.setting[0].window.score * 100),
				105, 109);
		sz_sweep_fini(&sweep);
	}
}

static void tell_config(struct sz_sweep *sweep, const struct table *table, const char *label)
{
	begin(sweep, 64, 0);
	for (size_t i = 0; i < table->count; i++) {
		const double *number = table->rows[i].number;
		if (strcmp(table->rows[i].label, label) == 0)
			tell(sweep, 0,
			     &(struct told){(unsigned)number[1], number[2], number[3], 0});
	}
	assert_int_equal(sweep->visit_count, 2);
}

/* More than twice as fast with twice the workers: something else changed. */
static void faster_than_linear(void **state)
{
	(void)state;
	static const struct {
		const char *config;
		const char *speedup; /* told as too good, or "" */
	} cases[] = {{"sync django", ""},
		     {"sync pooled", "2 workers give 3.20 x"},
		     {"async django", "2 workers give 2.64 x"},
		     {"fastapi", ""}};
	struct table table = read_table("django");
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		tell_config(&sweep, &table, cases[i].config);
		assert_int_equal(answer(&sweep), 2);
		assert_true(sweep.advice.range_limited);
		assert_int_equal(warned(&sweep, "super-linear", cases[i].speedup),
				 cases[i].speedup[0] != 0);
		sz_sweep_fini(&sweep);
	}
}

/* Throughput times latency is the clients, in all rows; a tenth more is not. */
static void littles_law(void **state)
{
	(void)state;
	struct table table = read_table("django");
	assert_int_equal(table.count, 8);
	for (size_t i = 0; i < table.count; i++) {
		const double *number = table.rows[i].number;
		struct sz_window window;
		sz_window_init(&window);
		window.sent = 1000;
		window.duration_s = 10;
		window.latency_mean_ms = number[3];
		window.in_flight = number[2] * number[3] / 1e3;
		window.little_ratio = window.in_flight / 64;
		assert_true(fabs(window.in_flight - 64) <= 0.3);
		assert_int_equal(sz_window_gate(&window, 2, 64, 64), 0);
		window.little_ratio = number[2] * number[3] * 1.1 / 1e3 / 64;
		assert_int_equal(sz_window_gate(&window, 2, 64, 64), 1u << SZ_DISTURBED_LITTLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quota),
		cmocka_unit_test(threads_of_a_reactor),
		cmocka_unit_test(tie),
		cmocka_unit_test(database_pool),
		cmocka_unit_test(faster_than_linear),
		cmocka_unit_test(littles_law),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
