/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shard keeps, as a JSON document "sizeup/shard/1". Only counters are in it,
 * and histograms as [bucket, count] (stat/hist.h says which bucket is what).
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/replace.h"
#include "load/inside.h"
#include "load/shard-inside.h"
#include "stat/hist.h"

static json_t *put_members(const struct sz_members *members, const void *object)
{
	json_t *made = json_object();
	for (size_t i = 0; i < members->count; i++) {
		const struct sz_member *member = &members->item[i];
		uint64_t value = sz_member_get(member, object);
		json_object_set_new(made, member->name,
				    member->bytes == sizeof(bool)
					    ? json_boolean(value)
					    : json_integer((json_int_t)value));
	}
	return made;
}

static json_t *put_hist(const struct sz_hist *hist)
{
	json_t *buckets = json_array();
	for (size_t i = 0; i < SZ_HIST_BUCKETS; i++) {
		if (hist->buckets[i])
			json_array_append_new(buckets, json_pack("[I, I]", (json_int_t)i,
								 (json_int_t)hist->buckets[i]));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:f, s:o}", "count", (json_int_t)hist->count,
			 "overflow", (json_int_t)hist->overflow, "min_ns", (json_int_t)hist->min_ns,
			 "max_ns", (json_int_t)hist->max_ns, "sum_ns", hist->sum_ns, "buckets",
			 buckets);
}

static json_t *put_hists(const struct sz_load_result *result)
{
	json_t *made = json_object();
	for (size_t i = 0; i < SZ_RESULT_HISTS; i++)
		json_object_set_new(made, sz_result_hists[i].name,
				    put_hist((const void *)((const char *)result +
							    sz_result_hists[i].offset)));
	return made;
}

static json_t *put_rate(const struct sz_rate *rate)
{
	json_t *legs = json_array();
	for (size_t i = 0; i < rate->count; i++)
		json_array_append_new(legs, json_pack("[f, f, I]", rate->leg[i].from_rps,
						      rate->leg[i].to_rps,
						      (json_int_t)rate->leg[i].span_ns));
	return legs;
}

static json_t *put_errors(const struct sz_load_result *result)
{
	json_t *made = json_array();
	for (size_t i = 0; i < result->error_count; i++) {
		const struct sz_load_error *error = &result->errors[i];
		json_array_append_new(made, json_pack("[i, i, I]", (int)error->phase, error->errnum,
						      (json_int_t)error->count));
	}
	return made;
}

static json_t *put_series(const struct sz_load_series *series)
{
	json_t *ok = json_array();
	for (size_t i = 0; i < series->count; i++)
		json_array_append_new(ok, json_integer((json_int_t)series->ok[i]));
	return json_pack("{s:I, s:o}", "interval_ns", (json_int_t)series->interval_ns, "ok", ok);
}

static json_t *put_rounds(const struct sz_load_result *result)
{
	json_t *made = json_array();
	for (size_t i = 0; i < result->round_count; i++) {
		const struct sz_load_round *round = &result->rounds[i];
		json_array_append_new(made,
				      json_pack("[I, I, I, I]", (json_int_t)round->slowest_ttfb_ns,
						(json_int_t)round->slowest_ns,
						(json_int_t)round->failed,
						(json_int_t)round->slowest_part));
	}
	return made;
}

static json_t *put_part(const struct sz_load_part *part)
{
	json_t *outcomes = json_array();
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		json_array_append_new(outcomes, json_integer((json_int_t)part->outcomes[i]));
	return json_pack("{s:s?, s:o, s:o, s:o}", "request", part->label, "outcomes", outcomes,
			 "ttfb", put_hist(&part->ttfb), "latency", put_hist(&part->latency));
}

static json_t *put_parts(const struct sz_load_result *result)
{
	json_t *made = json_array();
	for (size_t i = 0; i < result->part_count; i++)
		json_array_append_new(made, put_part(&result->parts[i]));
	return made;
}

void sz_shard_run_write(const struct sz_shard_run *run, struct sz_buf *out)
{
	json_t *document = json_object();
	json_object_set_new(document, "schema", json_string(SZ_SHARD_SCHEMA));
	json_object_set_new(document, "histogram_layout", json_integer(SZ_HIST_LAYOUT_ID));
	for (size_t i = 0; i < SZ_SHARD_TEXTS; i++)
		json_object_set_new(document, sz_shard_texts[i].name,
				    json_string((const char *)run + sz_shard_texts[i].offset));
	json_object_update_new(document, put_members(&sz_shard_own, run));
	json_object_set_new(document, "clock_error_ns",
			    run->clock_error_ns < 0 ? json_null()
						    : json_integer(run->clock_error_ns));
	json_object_set_new(document, "asked", put_members(&sz_shard_asked, run));
	json_object_set_new(document, "rate", put_rate(&run->config.rate));
	json_object_set_new(document, "counts", put_members(&sz_result_counters, &run->result));
	json_object_set_new(document, "errors", put_errors(&run->result));
	json_object_set_new(document, "not_http_sample", json_string(run->result.not_http));
	json_object_set_new(document, "histograms", put_hists(&run->result));
	json_object_set_new(document, "series", put_series(&run->result.series));
	json_object_set_new(document, "rounds", put_rounds(&run->result));
	json_object_set_new(document, "requests", put_parts(&run->result));
	/* 17 digits: a double comes back as it was. */
	sz_autofree char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(document);
	if (!text)
		out->failed = true;
	else
		sz_buf_printf(out, "%s\n", text);
}

int sz_shard_run_save(const struct sz_shard_run *run, const char *path, struct sz_err *err)
{
	sz_autobuf struct sz_buf document = {0};
	sz_shard_run_write(run, &document);
	return sz_replace(path, &document, err);
}
