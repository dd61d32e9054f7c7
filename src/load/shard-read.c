/* SPDX-License-Identifier: Apache-2.0
 *
 * A shard's file, and nothing of it is believed: whatever is out of range or does not
 * go together is refused by name. What follows from the counters is computed anew.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "load/inside.h"
#include "load/requests-inside.h"
#include "load/shard-inside.h"
#include "stat/hist.h"

static char *text_at(struct sz_shard_run *run, const struct sz_text_member *text)
{
	return (char *)run + text->offset;
}

static bool is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

/* What is wrong is told once, where it is seen. */

struct source {
	const char *name; /* of the file */
	struct sz_err *err;
};

static int refuse(const struct source *source, const char *what, const char *which)
{
	sz_err_set(source->err, SZ_USAGE, 0, "%.200s: %s%s%s", source->name, which,
		   which[0] ? " " : "", what);
	return sz_err_hint(source->err, "give files as sizeup load --out wrote them");
}

static bool scan_count(const json_t *value, uint64_t most, uint64_t *count)
{
	json_int_t number = json_integer_value(value);
	if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
		return false;
	*count = (uint64_t)number;
	return true;
}

static bool scan_member(const json_t *value, const struct sz_member *member, uint64_t *count)
{
	if (member->bytes != sizeof(bool))
		return scan_count(value, member->most, count);
	*count = json_is_true(value);
	return json_is_boolean(value);
}

static int take_members(const struct source *source, const json_t *from,
			const struct sz_members *members, void *object)
{
	for (size_t i = 0; i < members->count; i++) {
		const struct sz_member *member = &members->item[i];
		uint64_t value;
		if (!scan_member(json_object_get(from, member->name), member, &value))
			return refuse(source, "is missing or out of range", member->name);
		sz_member_set(member, object, value);
	}
	return 0;
}

static int take_texts(const struct source *source, const json_t *document, struct sz_shard_run *run)
{
	for (size_t i = 0; i < SZ_SHARD_TEXTS; i++) {
		const char *text =
			json_string_value(json_object_get(document, sz_shard_texts[i].name));
		if (!text || strlen(text) >= SZ_SHARD_TEXT || !is_printable(text))
			return refuse(source, "is missing or no plain text",
				      sz_shard_texts[i].name);
		snprintf(text_at(run, &sz_shard_texts[i]), SZ_SHARD_TEXT, "%s", text);
	}
	return 0;
}

/* The item of an array of whole numbers. */
static bool scan_at(const json_t *array, size_t i, uint64_t most, uint64_t *count)
{
	return scan_count(json_array_get(array, i), most, count);
}

static bool scan_buckets(const json_t *buckets, struct sz_hist *hist)
{
	const json_t *pair;
	uint64_t seen = hist->overflow, next = 0, bucket, count;
	size_t i;
	json_array_foreach(buckets, i, pair)
	{
		if (!scan_at(pair, 0, SZ_HIST_BUCKETS - 1, &bucket) || bucket < next ||
		    !scan_at(pair, 1, hist->count, &count) || count == 0)
			return false;
		hist->buckets[bucket] = count;
		seen += count;
		if (seen > hist->count)
			return false;
		next = bucket + 1;
	}
	return json_is_array(buckets) && seen == hist->count;
}

static bool scan_hist(const json_t *from, struct sz_hist *hist)
{
	double sum_ns = json_number_value(json_object_get(from, "sum_ns"));
	if (!scan_count(json_object_get(from, "count"), SZ_SHARD_COUNT_MAX, &hist->count) ||
	    !scan_count(json_object_get(from, "overflow"), hist->count, &hist->overflow) ||
	    !scan_count(json_object_get(from, "min_ns"), SZ_SHARD_COUNT_MAX, &hist->min_ns) ||
	    !scan_count(json_object_get(from, "max_ns"), SZ_SHARD_COUNT_MAX, &hist->max_ns) ||
	    hist->min_ns > hist->max_ns || !isfinite(sum_ns) || sum_ns < 0)
		return false;
	hist->sum_ns = sum_ns;
	return scan_buckets(json_object_get(from, "buckets"), hist);
}

static int take_hists(const struct source *source, const json_t *from,
		      struct sz_load_result *result)
{
	for (size_t i = 0; i < SZ_RESULT_HISTS; i++) {
		const char *name = sz_result_hists[i].name;
		if (!scan_hist(json_object_get(from, name), sz_result_hist(result, i)))
			return refuse(source, "is no histogram", name);
	}
	return 0;
}

static int take_rate(const struct source *source, const json_t *legs, struct sz_rate *rate)
{
	const json_t *leg;
	size_t i;
	if (!json_is_array(legs) || json_array_size(legs) > SZ_RATE_LEGS_MAX)
		return refuse(source, "is missing or too long", "rate");
	json_array_foreach(legs, i, leg)
	{
		struct sz_rate_leg *into = &rate->leg[i];
		into->from_rps = json_number_value(json_array_get(leg, 0));
		into->to_rps = json_number_value(json_array_get(leg, 1));
		if (!scan_at(leg, 2, SZ_SHARD_COUNT_MAX, &into->span_ns))
			return refuse(source, "is out of range", "rate");
	}
	rate->count = json_array_size(legs);
	if (rate->count && !sz_rate_is_valid(rate))
		return refuse(source, "is out of range", "rate");
	return 0;
}

static bool is_error(enum sz_phase phase, int errnum)
{
	if (phase == SZ_PHASE_STATUS)
		return errnum >= 100 && errnum <= 999;
	return strerrorname_np(errnum) != NULL;
}

static int take_errors(const struct source *source, const json_t *from,
		       struct sz_load_result *result)
{
	const json_t *error;
	uint64_t phase, errnum;
	size_t i;
	if (!json_is_array(from) || json_array_size(from) > SZ_LOAD_ERRORS_MAX)
		return refuse(source, "is missing or too long", "errors");
	json_array_foreach(from, i, error)
	{
		struct sz_load_error *into = &result->errors[i];
		if (!scan_at(error, 0, SZ_PHASE_COUNT - 1, &phase) ||
		    !scan_at(error, 1, INT32_MAX, &errnum) ||
		    !is_error((enum sz_phase)phase, (int)errnum) ||
		    !scan_at(error, 2, SZ_SHARD_COUNT_MAX, &into->count))
			return refuse(source, "is out of range", "errors");
		into->phase = (enum sz_phase)phase;
		into->errnum = (int)errnum;
	}
	result->error_count = json_array_size(from);
	return 0;
}

static int take_sample(const struct source *source, const json_t *from,
		       char sample[SZ_LOAD_SAMPLE_TEXT])
{
	const char *text = json_string_value(from);
	if (!text || strlen(text) >= SZ_LOAD_SAMPLE_TEXT || !is_printable(text))
		return refuse(source, "is missing or no plain text", "not_http_sample");
	snprintf(sample, SZ_LOAD_SAMPLE_TEXT, "%s", text);
	return 0;
}

static int take_series(const struct source *source, const json_t *from,
		       struct sz_load_series *series)
{
	const json_t *ok = json_object_get(from, "ok"), *value;
	uint64_t count;
	size_t i;
	if (!json_is_array(ok) || json_array_size(ok) >= SZ_LOAD_SERIES_MAX ||
	    !scan_count(json_object_get(from, "interval_ns"), SZ_SHARD_COUNT_MAX,
			&series->interval_ns))
		return refuse(source, "is missing or too long", "series");
	json_array_foreach(ok, i, value)
	{
		if (!scan_count(value, SZ_SHARD_COUNT_MAX, &count))
			return refuse(source, "is out of range", "series");
		series->ok[i] = (double)count;
	}
	series->count = json_array_size(ok);
	return sz_series_is_sound(series) ? 0 : refuse(source, "is out of range", "series");
}

static bool scan_part(const json_t *from, struct sz_load_part *part)
{
	const json_t *outcomes = json_object_get(from, "outcomes");
	for (size_t i = 0; i < SZ_OUTCOME_COUNT; i++) {
		if (!scan_at(outcomes, i, SZ_SHARD_COUNT_MAX, &part->outcomes[i]))
			return false;
	}
	return scan_hist(json_object_get(from, "ttfb"), &part->ttfb) &&
	       scan_hist(json_object_get(from, "latency"), &part->latency);
}

static int take_label(const struct source *source, const json_t *from, struct sz_shard_run *run,
		      struct sz_load_part *part)
{
	const char *label = json_string_value(from);
	if (json_is_null(from))
		return 0;
	if (!label || !is_printable(label))
		return refuse(source, "has no plain name", "one of the requests");
	part->label = sz_arena_copy(&run->arena, label, strlen(label));
	return part->label ? 0 : sz_err_nomem(source->err);
}

static int take_parts(const struct source *source, const json_t *from, struct sz_shard_run *run)
{
	const json_t *part;
	size_t i;
	if (!json_is_array(from) || json_array_size(from) > SZ_LOAD_PARTS_MAX)
		return refuse(source, "are missing or too many", "requests");
	run->parts = calloc(json_array_size(from) + 1, sizeof(run->parts[0]));
	if (!run->parts)
		return sz_err_nomem(source->err);
	json_array_foreach(from, i, part)
	{
		if (!scan_part(part, &run->parts[i]))
			return refuse(source, "is out of range", "one of the requests");
		if (take_label(source, json_object_get(part, "request"), run, &run->parts[i]) < 0)
			return -1;
	}
	run->result.part_count = json_array_size(from);
	run->result.parts = run->parts;
	return 0;
}

static int take_rounds(const struct source *source, const json_t *from,
		       struct sz_load_result *result)
{
	const json_t *round;
	uint64_t failed, part, parts_most = result->part_count ? result->part_count - 1 : 0;
	size_t i;
	if (!json_is_array(from) || json_array_size(from) > SZ_LOAD_ROUNDS_MAX)
		return refuse(source, "are missing or too many", "rounds");
	json_array_foreach(from, i, round)
	{
		struct sz_load_round *into = &result->rounds[i];
		if (!scan_at(round, 0, SZ_SHARD_COUNT_MAX, &into->slowest_ttfb_ns) ||
		    !scan_at(round, 1, SZ_SHARD_COUNT_MAX, &into->slowest_ns) ||
		    !scan_at(round, 2, SZ_LOAD_CLIENTS_MAX * SZ_REQUESTS_MAX, &failed) ||
		    !scan_at(round, 3, parts_most, &part))
			return refuse(source, "are out of range", "rounds");
		into->failed = (unsigned)failed;
		into->slowest_part = part;
	}
	result->round_count = json_array_size(from);
	return 0;
}

static int check_sense(const struct source *source, const struct sz_shard_run *run)
{
	const struct sz_load_config *config = &run->config;
	bool bursts = config->arrivals == SZ_ARRIVALS_BURST;
	if (run->shard.number < 1 || run->shard.number > run->shard.of)
		return refuse(source, "is not one of the shards", "it");
	if (config->clients < run->shard.of ||
	    (bursts &&
	     (run->rounds == 0 || config->users == 0 || config->clients % config->users != 0)) ||
	    (config->arrivals == SZ_ARRIVALS_OPEN && config->rate.count == 0))
		return refuse(source, "asks for what no load can do", "it");
	if (run->result.duration_ns == 0)
		return refuse(source, "has no window", "it");
	if (!sz_load_counts_ok(&run->result))
		return refuse(source, "has counts that do not add up", "it");
	return 0;
}

static int take_document(const struct source *source, const json_t *document,
			 struct sz_shard_run *run)
{
	const json_t *error_ns = json_object_get(document, "clock_error_ns");
	struct sz_load_result *result = &run->result;
	uint64_t clock_error_ns = 0;
	if (!json_is_null(error_ns) && !scan_count(error_ns, SZ_SHARD_COUNT_MAX, &clock_error_ns))
		return refuse(source, "is missing or out of range", "clock_error_ns");
	run->clock_error_ns = json_is_null(error_ns) ? -1 : (int64_t)clock_error_ns;
	if (take_texts(source, document, run) < 0 ||
	    take_members(source, document, &sz_shard_own, run) < 0 ||
	    take_members(source, json_object_get(document, "asked"), &sz_shard_asked, run) < 0 ||
	    take_rate(source, json_object_get(document, "rate"), &run->config.rate) < 0 ||
	    take_members(source, json_object_get(document, "counts"), &sz_result_counters, result) <
		    0 ||
	    take_errors(source, json_object_get(document, "errors"), result) < 0 ||
	    take_sample(source, json_object_get(document, "not_http_sample"), result->not_http) <
		    0 ||
	    take_hists(source, json_object_get(document, "histograms"), result) < 0 ||
	    take_series(source, json_object_get(document, "series"), &result->series) < 0 ||
	    take_parts(source, json_object_get(document, "requests"), run) < 0 ||
	    take_rounds(source, json_object_get(document, "rounds"), result) < 0 ||
	    check_sense(source, run) < 0)
		return -1;
	run->config.rate.seed = run->config.seed;
	return sz_shard_run_derive(run, source->err);
}

/* What is no such file at all, or one of another time. */
static int check_schema(const struct source *source, const json_t *document)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	json_int_t layout = json_integer_value(json_object_get(document, "histogram_layout"));
	char quote[SZ_INPUT_QUOTE];
	if (!schema || strncmp(schema, SZ_SHARD_FAMILY, strlen(SZ_SHARD_FAMILY)) != 0)
		return refuse(source, "not the result of a shard", "");
	if (strcmp(schema, SZ_SHARD_SCHEMA) != 0)
		sz_err_set(source->err, SZ_USAGE, 0,
			   "%.200s is of version %s, not " SZ_SHARD_SCHEMA, source->name,
			   sz_input_quote(schema, strlen(schema), quote));
	else if (layout != SZ_HIST_LAYOUT_ID)
		sz_err_set(source->err, SZ_USAGE, 0,
			   "%.200s has histograms of layout %lld, and this sizeup of layout %d",
			   source->name, (long long)layout, SZ_HIST_LAYOUT_ID);
	else
		return 0;
	return sz_err_hint(source->err,
			   "run all shards, and sizeup merge, with the same version of sizeup "
			   "(sizeup --version)");
}

static json_t *parse(const struct source *source, const char *text, size_t len)
{
	json_error_t error;
	json_t *document = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!document)
		refuse(source, "not the result of a shard, nor JSON at all", "");
	return document;
}

int sz_shard_run_read(const char *name, const char *text, size_t len, struct sz_shard_run **run,
		      struct sz_err *err)
{
	const struct source source = {.name = name, .err = err};
	struct sz_shard_run *made = calloc(1, sizeof(*made));
	json_t *document = parse(&source, text, len);
	int status = -1;
	if (made && document && check_schema(&source, document) == 0)
		status = take_document(&source, document, made);
	if (status == 0 && !(made->path = sz_arena_copy(&made->arena, name, strlen(name))))
		status = sz_err_nomem(err);
	if (!made)
		sz_err_fill_nomem(err);
	json_decref(document);
	if (status == 0)
		*run = made;
	else
		sz_shard_run_free(made);
	return status;
}

int sz_shard_run_load(const char *path, struct sz_shard_run **run, struct sz_err *err)
{
	sz_autobuf struct sz_buf text = {0};
	if (sz_input_read(path, SZ_SHARD_FILE_MAX_BYTES, &text, NULL, err) < 0)
		return -1;
	return sz_shard_run_read(path, sz_buf_text(&text), text.len, run, err);
}

void sz_shard_run_free(struct sz_shard_run *run)
{
	if (!run)
		return;
	sz_arena_fini(&run->arena);
	free(run->parts);
	free(run);
}
