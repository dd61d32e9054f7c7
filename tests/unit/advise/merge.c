/* SPDX-License-Identifier: Apache-2.0
 *
 * When several parts are no load.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../load/shards.h"
#include "advise/merge.h"

enum { SHARDS = 3 };
#define MS ((int64_t)SZ_NS_PER_MS)

static struct sz_shard_run *runs[SHARDS];

static int make(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i] = shards_make(i + 1, SHARDS);
	return 0;
}

static int make_bursts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i] = shards_make_burst(i + 1, SHARDS);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++)
		free(runs[i]);
	return 0;
}

static void assert_accepted(void)
{
	struct sz_err err = {0};
	if (sz_merge_check(runs, SHARDS, &err) < 0)
		fail_msg("%s", err.message);
}

static void assert_refused(size_t count, enum sz_code code, const char *says, const char *try)
{
	struct sz_err err = {0};
	assert_int_equal(sz_merge_check(runs, count, &err), -1);
	assert_int_equal(err.code, code);
	if (!strstr(err.message, says) || !strstr(err.hint, try))
		fail_msg("'%s', '%s' do not say '%s', '%s'", err.message, err.hint, says, try);
}

static void good_ones_are_one_load(void **state)
{
	(void)state;
	assert_accepted();
	/* 2 ms apart. */
	assert_true(fabs(sz_merge_common_ratio(runs, SHARDS) - 9.998 / 10.002) < 1e-6);
}

static void other_version(void **state)
{
	(void)state;
	snprintf(runs[2]->version, sizeof(runs[2]->version), "9.9.9");
	assert_refused(SHARDS, SZ_USAGE, "shard 3 of 3 (host-3) sizeup 9.9.9", "--version");
}

static void asked_for_something_else(void **state)
{
	(void)state;
	runs[1]->config.timeout_ns = SZ_NS_PER_S;
	assert_refused(SHARDS, SZ_USAGE, "timeout_ns is 30000000000 and 1000000000",
		       "command line");
	runs[1]->config.timeout_ns = runs[0]->config.timeout_ns;
	runs[1]->config.rate.leg[0].to_rps = 101;
	assert_refused(SHARDS, SZ_USAGE, "the rates differ", "");
	runs[1]->config.rate = runs[0]->config.rate;
	snprintf(runs[1]->url, sizeof(runs[1]->url), "http://other/");
	assert_refused(SHARDS, SZ_USAGE, "http://other/", "");
	snprintf(runs[1]->url, sizeof(runs[1]->url), "%s", runs[0]->url);
	runs[1]->requests++;
	assert_refused(SHARDS, SZ_USAGE, "requests_digest", "");
	runs[1]->requests--;
	runs[1]->start_at_ns++;
	assert_refused(SHARDS, SZ_USAGE, "start_at", "");
	runs[1]->start_at_ns--;
	runs[1]->result.part_count = 1;
	assert_refused(SHARDS, SZ_USAGE, "the requests differ", "");
}

static void twice_or_missing(void **state)
{
	(void)state;
	assert_refused(2, SZ_USAGE, "one is missing: 3", "all 3");
	assert_refused(1, SZ_USAGE, "some are missing: 2, 3", "all 3");
	runs[2]->shard.number = 1;
	assert_refused(SHARDS, SZ_USAGE, "shard 1 of 3 (host-1) is there twice", "once");
	runs[0]->shard.of = 1024;
	assert_refused(1, SZ_USAGE, "missing: 2, 3, 4, 5, 6, 7, 8, 9, …", "all 1024");
}

static void ended_early(void **state)
{
	(void)state;
	runs[1]->result.interrupted = true;
	assert_refused(SHARDS, SZ_UNTRUSTED,
		       "shard 2 of 3 (host-2) ended early, after 10.0 s: it was interrupted",
		       "run all shards again");
	runs[1]->result.interrupted = false;
	runs[1]->result.aborted = SZ_ABORT_DEAD;
	assert_refused(SHARDS, SZ_UNTRUSTED, "the service was gone", "");
}

static void began_late(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->began_ns += 190 * MS;
	assert_accepted();
	/* Even when all are late alike. */
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->began_ns += 10 * MS;
	assert_refused(SHARDS, SZ_UNTRUSTED, "began 201 ms after --start-at", "--start-at");
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->start_at_ns = 0;
	assert_accepted();
}

static void hardly_overlap(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->start_at_ns = 0;
	/* 98.06 %, then 97.9 %. */
	runs[2]->began_ns = runs[0]->began_ns + 98 * MS;
	assert_accepted();
	runs[2]->began_ns = runs[0]->began_ns + 106 * MS;
	assert_refused(SHARDS, SZ_UNTRUSTED,
		       "97.9 % of their time in common, and 98 % is the least: shard 3 of 3 "
		       "(host-3) began 106 ms after shard 1 of 3 (host-1)",
		       "--start-at");
	runs[2]->began_ns += 3600000 * MS;
	assert_refused(SHARDS, SZ_UNTRUSTED, "0.0 %", "");
}

static void fell_behind(void **state)
{
	(void)state;
	/* Gaps are 10 ms, 5 ms and 3.3 ms: a tenth of that is less than this. */
	for (unsigned i = 0; i < 200; i++)
		sz_hist_add(&runs[1]->result.lateness, 20 * SZ_NS_PER_MS);
	assert_refused(SHARDS, SZ_UNTRUSTED, "shard 2 of 3 (host-2) fell behind its schedule",
		       "a core of its own");
}

static void left_rounds_out(void **state)
{
	(void)state;
	assert_accepted();
	runs[2]->result.duration_ns += SZ_NS_PER_S;
	assert_refused(SHARDS, SZ_UNTRUSTED,
		       "shard 3 of 3 (host-3) fell behind its schedule: rounds", "--every");
}

static size_t distrusted(void)
{
	struct sz_load_judgement judgement = {.count = 0};
	sz_merge_judge(runs, SHARDS, &judgement);
	return judgement.count;
}

static void clocks_that_nobody_keeps(void **state)
{
	(void)state;
	/* One machine, so one clock. */
	for (unsigned i = 0; i < SHARDS; i++) {
		runs[i]->clock_error_ns = -1;
		snprintf(runs[i]->boot, sizeof(runs[i]->boot), "same");
	}
	assert_int_equal(distrusted(), 0);
	runs[1]->boot[0] = 'S';
	assert_int_equal(distrusted(), 1);
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->clock_error_ns = 199 * MS;
	assert_int_equal(distrusted(), 0);
	runs[2]->clock_error_ns = 201 * MS;
	assert_int_equal(distrusted(), 1);
	for (unsigned i = 0; i < SHARDS; i++) {
		runs[i]->clock_error_ns = -1;
		runs[i]->boot[0] = '\0';
	}
	assert_int_equal(distrusted(), 1);
}

static void rounds_that_do_not_meet(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SHARDS; i++) {
		snprintf(runs[i]->boot, sizeof(runs[i]->boot), "same");
		runs[i]->result.slowest.p50_ns = 15 * SZ_NS_PER_MS;
	}
	/* 2 ms apart, of 15. */
	assert_int_equal(distrusted(), 1);
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i]->result.slowest.p50_ns = 25 * SZ_NS_PER_MS;
	assert_int_equal(distrusted(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_ones_are_one_load),
		TEST(other_version),
		TEST(asked_for_something_else),
		TEST(twice_or_missing),
		TEST(ended_early),
		TEST(began_late),
		TEST(hardly_overlap),
		TEST(fell_behind),
		cmocka_unit_test_setup_teardown(left_rounds_out, make_bursts, forget),
		TEST(clocks_that_nobody_keeps),
		cmocka_unit_test_setup_teardown(rounds_that_do_not_meet, make_bursts, forget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
