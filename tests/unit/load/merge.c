/* SPDX-License-Identifier: Apache-2.0
 *
 * What shards keep, and what they are together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "shards.h"

enum { SHARDS = 3 };

static struct sz_shard_run *through_file(struct sz_shard_run *run)
{
	sz_autobuf struct sz_buf text = {0};
	struct sz_shard_run *back = NULL;
	struct sz_err err = {0};
	sz_shard_run_write(run, &text);
	assert_false(text.failed);
	if (sz_shard_run_read("a.json", text.data, text.len, &back, &err) < 0)
		fail_msg("%s", err.message);
	free(run);
	return back;
}

static void a_file_keeps_everything(void **state)
{
	(void)state;
	struct sz_shard_run *made = shards_make(2, 3);
	struct sz_load_result *result = &made->result;
	result->errors[0] = (struct sz_load_error){SZ_PHASE_BODY, 104, 7};
	result->error_count = 1;
	snprintf(result->not_http, sizeof(result->not_http), "\\x15\\x03");
	made->clock_error_ns = 12345;
	/* Each counter another one; the rest of the samples accounts for them. */
	for (size_t i = 0; i < sz_result_counters.count; i++) {
		const struct sz_member *counter = &sz_result_counters.item[i];
		if (sz_member_get(counter, result) == 0)
			sz_member_set(counter, result, counter->most == 1 ? 1 : 2);
	}
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		for (; result->latency[i].count < result->outcomes[i]; result->sent++)
			sz_hist_add(&result->latency[i], (uint64_t)i);
	result->attempts = result->sent + result->connect_failed;
	result->scheduled = result->sent - result->outcomes[SZ_OUTCOME_STALE] +
			    result->connect_failed + result->dropped + result->unsent;
	result->aborted = SZ_ABORT_ERRORS;
	result->latency[SZ_OUTCOME_OK].sum_ns += 1.0 / 3;
	struct sz_shard_run kept = *made;
	struct sz_shard_run *back = through_file(made);
	assert_int_equal(back->result.part_count, 2);
	assert_string_equal(back->result.parts[1].label, "GET /b");
	assert_memory_equal(back->result.parts[1].latency.buckets,
			    kept.result.parts[1].latency.buckets,
			    sizeof(kept.result.parts[1].latency.buckets));
	assert_string_equal(back->path, "a.json");
	/* What does not survive, or is another's. */
	kept.path = back->path;
	kept.parts = back->parts;
	kept.arena = back->arena;
	kept.result.parts = back->result.parts;
	assert_memory_equal(&back->result, &kept.result, sizeof(kept.result));
	assert_memory_equal(back, &kept, sizeof(kept));
	sz_shard_run_free(back);
}

/* A round trip keeps what is in a table; this finds what is in none. */
static void no_member_is_forgotten(void **state)
{
	(void)state;
	static const struct {
		size_t offset, bytes;
	} others[] = {
#define OTHER(member)                                                                              \
	{offsetof(struct sz_load_result, member), sizeof(((struct sz_load_result *)NULL)->member)}
		/* The run has it as a time of day. */
		OTHER(began_ns),
		/* Of one load alone. */
		OTHER(seconds),
		OTHER(second_count),
		/* In lists of their own. */
		OTHER(errors),
		OTHER(error_count),
		OTHER(not_http),
		OTHER(parts),
		OTHER(part_count),
		OTHER(series),
		OTHER(rounds),
		OTHER(round_count),
		/* Told by the load itself alone. */
		OTHER(cookies),
		OTHER(addresses),
		OTHER(address_count),
		/* Follow from these. */
		OTHER(error_ratio),
		OTHER(rounds_failed),
		OTHER(slowest_ttfb),
		OTHER(slowest),
	};
	static char known[sizeof(struct sz_load_result)];
	for (size_t i = 0; i < sz_result_counters.count; i++)
		memset(known + sz_result_counters.item[i].offset, 1,
		       sz_result_counters.item[i].bytes);
	for (size_t i = 0; i < SZ_RESULT_HISTS; i++)
		memset(known + sz_result_hists[i].offset, 1, sizeof(struct sz_hist));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		memset(known + others[i].offset, 1, others[i].bytes);
	size_t gap = 0;
	for (size_t i = 0; i < sizeof(known); i++) {
		gap = known[i] ? 0 : gap + 1;
		/* Shorter ones are between members. */
		if (gap == 4 && i % 4 == 3 && (i + 1) % 8 != 0)
			fail_msg("4 bytes before %zu are of no member", i + 1);
		if (gap == 8)
			fail_msg("8 bytes before %zu are of no member", i + 1);
	}
}

static void assert_same_hist(const struct sz_hist *a, const struct sz_hist *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->overflow, b->overflow);
	assert_int_equal(a->min_ns, b->min_ns);
	assert_int_equal(a->max_ns, b->max_ns);
	assert_true(a->sum_ns == b->sum_ns);
	assert_memory_equal(a->buckets, b->buckets, sizeof(a->buckets));
}

/* Every sample told to one result, and to three that are then added. */
static void the_sum_is_that_of_all_samples(void **state)
{
	(void)state;
	struct sz_shard_run *runs[SHARDS];
	static struct sz_load_result all;
	static struct sz_load_part parts[2];
	struct sz_err err = {0};
	for (unsigned i = 0; i < SHARDS; i++) {
		uint64_t random = i + 1;
		runs[i] = through_file(shards_make(i + 1, SHARDS));
		shards_fill(&all, parts, 1000 * (i + 1), &random);
	}
	struct sz_shard_run *sum = sz_shard_runs_add(runs, SHARDS, &err);
	assert_non_null(sum);
	for (size_t i = 0; i < SZ_RESULT_HISTS; i++)
		assert_same_hist(sz_result_hist(&sum->result, i), sz_result_hist(&all, i));
	for (size_t i = 0; i < 2; i++) {
		assert_same_hist(&sum->parts[i].latency, &parts[i].latency);
		assert_same_hist(&sum->parts[i].ttfb, &parts[i].ttfb);
		assert_memory_equal(sum->parts[i].outcomes, parts[i].outcomes,
				    sizeof(parts[i].outcomes));
	}
	assert_int_equal(sum->result.sent, 6000);
	assert_int_equal(sum->result.scheduled, 6000);
	assert_memory_equal(sum->result.outcomes, all.outcomes, sizeof(all.outcomes));
	assert_true(sz_load_counts_ok(&sum->result));
	assert_int_equal(sum->result.duration_ns, 10 * SZ_NS_PER_S + 3);
	assert_int_equal(sum->result.longest_gap_ns, SZ_NS_PER_MS);
	assert_int_equal(sum->result.client_cpu_ns, 6 * SZ_NS_PER_S);
	assert_int_equal(sum->result.busiest_cpu_ns, 3 * SZ_NS_PER_S);
	assert_true(sum->result.series.ok[10] == 60);
	assert_true(sum->began_ns == SHARDS_BEGAN_NS + (int64_t)SZ_NS_PER_MS);
	for (unsigned i = 0; i < SHARDS; i++)
		sz_shard_run_free(runs[i]);
	assert_string_equal(sum->parts[0].label, "GET /a");
	sz_shard_run_free(sum);
}

static void a_round_is_over_with_its_last(void **state)
{
	(void)state;
	struct sz_shard_run *runs[SHARDS];
	struct sz_err err = {0};
	for (unsigned i = 0; i < SHARDS; i++)
		runs[i] = through_file(shards_make_burst(i + 1, SHARDS));
	struct sz_shard_run *sum = sz_shard_runs_add(runs, SHARDS, &err);
	assert_non_null(sum);
	assert_int_equal(sum->result.round_count, 10);
	assert_int_equal(sum->result.rounds[4].slowest_ns, 15 * SZ_NS_PER_MS);
	assert_int_equal(sum->result.rounds_failed, 1);
	assert_int_equal(sum->result.rounds[4].failed, 1);
	assert_int_equal(sum->result.slowest.min_ns, 3 * SZ_NS_PER_MS);
	assert_int_equal(sum->result.slowest.p50_ns, 15 * SZ_NS_PER_MS);
	assert_int_equal(sum->result.slowest.max_ns, 30 * SZ_NS_PER_MS);
	assert_int_equal(sum->parts[1].slowest_rounds, 10);
	assert_int_equal(sum->parts[0].slowest_rounds, 0);
	for (unsigned i = 0; i < SHARDS; i++)
		sz_shard_run_free(runs[i]);
	sz_shard_run_free(sum);
}

static void errors_add_by_kind(void **state)
{
	(void)state;
	struct sz_shard_run *runs[2] = {shards_make(1, 2), shards_make(2, 2)};
	struct sz_err err = {0};
	for (int i = 0; i < SZ_LOAD_ERRORS_MAX; i++) {
		runs[0]->result.errors[i] = (struct sz_load_error){SZ_PHASE_WAIT, 100 + i, 1};
		runs[1]->result.errors[i] = (struct sz_load_error){SZ_PHASE_WAIT, 101 + i, 2};
	}
	runs[0]->result.error_count = runs[1]->result.error_count = SZ_LOAD_ERRORS_MAX;
	struct sz_shard_run *sum = sz_shard_runs_add(runs, 2, &err);
	assert_non_null(sum);
	assert_int_equal(sum->result.error_count, SZ_LOAD_ERRORS_MAX);
	assert_int_equal(sum->result.errors[0].count, 1);
	assert_int_equal(sum->result.errors[1].count, 3);
	assert_int_equal(sum->result.errors_other, 2);
	sz_shard_run_free(sum);
	free(runs[0]);
	free(runs[1]);
}

static void series_of_other_intervals_add(void **state)
{
	(void)state;
	static struct sz_load_series fine = {.interval_ns = SZ_NS_PER_S / 10,
					     .count = 5,
					     .ok = {1, 2, 3, 4, 5}};
	static struct sz_load_series coarse = {.interval_ns = SZ_NS_PER_S / 5,
					       .count = 3,
					       .ok = {10, 20, 30}};
	sz_series_add(&fine, &coarse);
	assert_true(fine.interval_ns == SZ_NS_PER_S / 5 && fine.count == 2);
	assert_true(fine.ok[0] == 13 && fine.ok[1] == 27 && fine.ok[2] == 0 && fine.ok[4] == 0);
}

/* Reading: a good file with one thing changed. */

static void assert_refused(json_t *document, const char *says)
{
	struct sz_shard_run *run = NULL;
	struct sz_err err = {0};
	sz_autofree char *text = json_dumps(document, JSON_REAL_PRECISION(17));
	assert_int_equal(sz_shard_run_read("a.json", text, strlen(text), &run, &err), -1);
	assert_null(run);
	assert_int_equal(err.code, SZ_USAGE);
	if (!strstr(err.message, says))
		fail_msg("'%s' does not say '%s'", err.message, says);
	assert_non_null(strstr(err.message, "a.json"));
	assert_true(err.hint[0] != '\0');
}

static json_t *good(void)
{
	sz_autobuf struct sz_buf text = {0};
	struct sz_shard_run *run = shards_make_burst(2, 3);
	sz_shard_run_write(run, &text);
	free(run);
	return json_loadb(text.data, text.len, 0, NULL);
}

static void assert_change_refused(const char *object, const char *key, json_t *value,
				  const char *says)
{
	json_t *document = good();
	json_t *changed = object ? json_object_get(document, object) : document;
	assert_non_null(json_object_get(changed, key));
	if (value)
		json_object_set_new(changed, key, value);
	else
		json_object_del(changed, key);
	assert_refused(document, says);
	json_decref(document);
}

static void other_versions_are_refused(void **state)
{
	(void)state;
	assert_change_refused(NULL, "schema", json_string("sizeup/shard/2"),
			      "version sizeup/shard/2");
	assert_change_refused(NULL, "schema", json_string("sizeup/load/1"), "not the result");
	assert_change_refused(NULL, "schema", NULL, "not the result");
	assert_change_refused(NULL, "histogram_layout", json_integer(1), "layout 1");
}

static void what_is_out_of_range_is_refused(void **state)
{
	(void)state;
	static const char *const members[] = {"version",        "host",
					      "boot",           "url",
					      "shard",          "began_unix_ns",
					      "clock_error_ns", "asked",
					      "rate",           "counts",
					      "errors",         "histograms",
					      "series",         "rounds",
					      "requests",       "not_http_sample"};
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		assert_change_refused(NULL, members[i], NULL, "");
	assert_change_refused(NULL, "host", json_string("a\x1b[2J"), "host");
	assert_change_refused(NULL, "shard", json_integer(4), "not one of the shards");
	assert_change_refused(NULL, "shard", json_integer(0), "not one of the shards");
	assert_change_refused("asked", "users", json_integer(0), "no load can do");
	assert_change_refused("asked", "users", json_integer(4), "no load can do");
	assert_change_refused("asked", "rounds", json_integer(0), "no load can do");
	assert_change_refused("asked", "arrivals", json_integer(4), "arrivals");
	assert_change_refused("asked", "tls", json_integer(1), "tls");
	assert_change_refused(NULL, "not_http_sample", json_string("\x1b[2J"), "not_http_sample");
	assert_change_refused("counts", "aborted", json_integer(5), "aborted");
	assert_change_refused("counts", "sent", json_integer(-1), "sent");
	assert_change_refused("counts", "sent", json_real(5), "sent");
	assert_change_refused("counts", "body_bytes", json_integer(INT64_MAX), "body_bytes");
	assert_change_refused("counts", "ok", json_integer(1), "do not add up");
	assert_change_refused("counts", "duration_ns", json_integer(0), "no window");
	assert_change_refused("series", "interval_ns", json_integer(300000000), "series");
	assert_change_refused(NULL, "rounds", json_pack("[[i,i,i,i]]", 1, 1, 0, 2), "rounds");
}

static void assert_hist_refused(const char *key, json_t *value)
{
	json_t *document = good();
	json_t *hist = json_object_get(json_object_get(document, "histograms"), "ttfb");
	json_object_set_new(hist, key, value);
	assert_refused(document, "ttfb is no histogram");
	json_decref(document);
}

static void broken_histograms_are_refused(void **state)
{
	(void)state;
	assert_hist_refused("count", json_integer(1));
	assert_hist_refused("overflow", json_integer(1));
	assert_hist_refused("min_ns", json_integer(INT64_C(1) << 52));
	assert_hist_refused("sum_ns", json_real(-1));
	assert_hist_refused("buckets", json_pack("[[i,i]]", SZ_HIST_BUCKETS, 1875));
	assert_hist_refused("buckets", json_pack("[[i,i]]", -1, 1875));
	assert_hist_refused("buckets", json_pack("[[i,i],[i,i]]", 5, 1000, 5, 875));
	assert_hist_refused("buckets", json_pack("[[i,i],[i,i]]", 5, 1875, 6, 0));
	assert_hist_refused("buckets", json_integer(0));
}

static void what_is_no_json_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "{", "null", "[]", "{\"schema\": 1}", "\xff"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sz_shard_run *run = NULL;
		struct sz_err err = {0};
		assert_int_equal(sz_shard_run_read("x", texts[i], strlen(texts[i]), &run, &err),
				 -1);
		assert_int_equal(err.code, SZ_USAGE);
		assert_non_null(strstr(err.message, "not the result of a shard"));
	}
}

static void a_file_is_replaced_as_a_whole(void **state)
{
	(void)state;
	char directory[] = "/tmp/sizeup-shard-XXXXXX", path[64];
	struct sz_shard_run *run = shards_make(1, 1), *back = NULL;
	struct sz_err err = {0};
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s.json", directory);
	assert_int_equal(sz_shard_run_save(run, path, &err), 0);
	assert_int_equal(sz_shard_run_save(run, path, &err), 0);
	assert_int_equal(sz_shard_run_load(path, &back, &err), 0);
	assert_int_equal(back->result.sent, 1000);
	sz_shard_run_free(back);
	assert_int_equal(unlink(path), 0);
	/* Nothing else is left. */
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(sz_shard_run_save(run, path, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(sz_shard_run_load(path, &back, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_keeps_everything),
		cmocka_unit_test(no_member_is_forgotten),
		cmocka_unit_test(the_sum_is_that_of_all_samples),
		cmocka_unit_test(a_round_is_over_with_its_last),
		cmocka_unit_test(errors_add_by_kind),
		cmocka_unit_test(series_of_other_intervals_add),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(what_is_out_of_range_is_refused),
		cmocka_unit_test(broken_histograms_are_refused),
		cmocka_unit_test(what_is_no_json_is_refused),
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
