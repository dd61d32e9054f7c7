/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shard keeps, as a JSON document "sizeup/shard/1", and back. Only
 * counters are in it, and histograms as [bucket, count] (stat/hist.h says which
 * bucket is what); whatever follows from them is computed anew by who reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "load/inside.h"
#include "load/requests-inside.h"
#include "load/shard-inside.h"
#include "stat/hist.h"

#define SCHEMA_FAMILY "sizeup/shard/"
#define SCHEMA SCHEMA_FAMILY "1"

#define RUN(name_, member_, most_)                                                                 \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct sz_shard_run, member_),                 \
		.bytes = sizeof(((struct sz_shard_run *)NULL)->member_), .most = (most_)           \
	}
#define ASKED(member, most) RUN(#member, config.member, most)

/* What all shards have to agree on. Numbers of enumerations stay what they are. */
static const struct sz_member asked[] = {
	RUN("shards", shard.of, SZ_SHARDS_MAX),
	RUN("requests_digest", requests, SZ_SHARD_COUNT_MAX),
	RUN("start_at_unix_ns", start_at_ns, INT64_MAX),
	RUN("duration_ns", duration_ns, SZ_SHARD_COUNT_MAX),
	RUN("rounds", rounds, SZ_LOAD_ROUNDS_MAX),
	RUN("tls", config.url.tls, 1),
	ASKED(arrivals, SZ_ARRIVALS_STREAMS),
	ASKED(clients, (uint64_t)SZ_LOAD_CLIENTS_MAX *SZ_SHARDS_MAX),
	ASKED(users, SZ_LOAD_CLIENTS_MAX),
	ASKED(calls, SZ_REQUESTS_MAX),
	ASKED(http, SZ_HTTP_1_0),
	ASKED(streams, SZ_LOAD_CLIENTS_MAX),
	ASKED(connect, SZ_CONNECT_BURST),
	ASKED(late, SZ_LATE_DROP),
	ASKED(pause_ns, SZ_SHARD_COUNT_MAX),
	ASKED(every_ns, SZ_SHARD_COUNT_MAX),
	ASKED(reconnect_every, SZ_SHARD_COUNT_MAX),
	ASKED(timeout_ns, SZ_SHARD_COUNT_MAX),
	ASKED(warmup_ns, SZ_SHARD_COUNT_MAX),
	ASKED(seed, SZ_SHARD_COUNT_MAX),
	RUN("poisson", config.rate.poisson, 1),
};

static const struct sz_members asked_members = {asked, SZ_ARRAY_LEN(asked)};

static const struct sz_member own[] = {
	RUN("shard", shard.number, SZ_SHARDS_MAX),
	RUN("began_unix_ns", began_ns, INT64_MAX),
};

static const struct sz_members own_members = {own, SZ_ARRAY_LEN(own)};

static const struct text_member {
	const char *name;
	size_t offset;
} texts[] = {
	{"version", offsetof(struct sz_shard_run, version)},
	{"host", offsetof(struct sz_shard_run, host)},
	{"boot", offsetof(struct sz_shard_run, boot)},
	{"url", offsetof(struct sz_shard_run, url)},
};

/* Describing */

static char *text_at(struct sz_shard_run *run, const struct text_member *text)
{
	return (char *)run + text->offset;
}

static bool is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

/* What is shown to people from somebody else's file is plain ASCII. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

/* FNV-1a, 64 bits: it notices a difference, and hides nothing. */
static void digest(uint64_t *hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < len; i++)
		*hash = (*hash ^ at[i]) * UINT64_C(0x100000001b3);
}

static void digest_text(uint64_t *hash, const char *text)
{
	digest(hash, text, strlen(text) + 1);
}

static void digest_request(uint64_t *hash, const struct sz_request *request)
{
	digest_text(hash, request->method);
	digest_text(hash, request->target);
	digest_text(hash, request->host);
	for (size_t i = 0; i < request->header_count; i++) {
		const struct sz_header *header = &request->headers[i];
		digest_text(hash, header->name);
		digest_text(hash, header->is_secret ? "" : header->value);
	}
	digest(hash, request->body, request->body_bytes);
	digest(hash, &request->weight, sizeof(request->weight));
	digest(hash, request->expected, sizeof(*request->expected));
}

static uint64_t digest_of(const struct sz_load_config *config)
{
	const struct sz_requests *requests = config->requests;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	digest(&hash, config->expected.text, config->expected.len);
	for (size_t i = 0; requests && i < requests->count; i++)
		digest_request(&hash, &requests->items[i]);
	if (config->setup)
		digest_text(&hash, config->setup->items[0].label);
	return hash % SZ_SHARD_COUNT_MAX;
}

/* Of a container it is that of the machine below. */
static void read_boot(char boot[SZ_SHARD_TEXT])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(boot, SZ_SHARD_TEXT, file))
		boot[0] = '\0';
	if (file)
		fclose(file);
	boot[strcspn(boot, "\n")] = '\0';
}

void sz_shard_run_describe(struct sz_shard_run *run)
{
	snprintf(run->version, sizeof(run->version), "%s", SIZEUP_VERSION);
	if (gethostname(run->host, sizeof(run->host) - 1) < 0)
		snprintf(run->host, sizeof(run->host), "unknown");
	read_boot(run->boot);
	make_printable(run->host);
	run->requests = digest_of(&run->config);
}

/* Writing */

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
	json_object_set_new(document, "schema", json_string(SCHEMA));
	json_object_set_new(document, "histogram_layout", json_integer(SZ_HIST_LAYOUT_ID));
	for (size_t i = 0; i < SZ_ARRAY_LEN(texts); i++)
		json_object_set_new(document, texts[i].name,
				    json_string((const char *)run + texts[i].offset));
	json_object_update_new(document, put_members(&own_members, run));
	json_object_set_new(document, "clock_error_ns",
			    run->clock_error_ns < 0 ? json_null()
						    : json_integer(run->clock_error_ns));
	json_object_set_new(document, "asked", put_members(&asked_members, run));
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

/* 0 or an errno. */
static int write_all(int fd, const struct sz_buf *document)
{
	for (size_t done = 0; done < document->len;) {
		ssize_t n = write(fd, document->data + done, document->len - done);
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	/* A name is not to stand for a file that a crash has left empty. */
	return fsync(fd) < 0 ? errno : 0;
}

static int write_new(char *path, const struct sz_buf *document)
{
	sz_autoclose int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return errno;
	int errnum = write_all(fd, document);
	if (errnum)
		unlink(path);
	return errnum;
}

int sz_shard_run_save(const struct sz_shard_run *run, const char *path, struct sz_err *err)
{
	sz_autobuf struct sz_buf document = {0}, fresh = {0};
	sz_shard_run_write(run, &document);
	sz_buf_printf(&fresh, "%s.XXXXXX", path);
	if (document.failed || fresh.failed)
		return sz_err_nomem(err);
	int errnum = write_new(fresh.data, &document);
	if (errnum == 0 && rename(fresh.data, path) < 0) {
		errnum = errno;
		unlink(fresh.data);
	}
	if (errnum == 0)
		return 0;
	sz_err_set(err, SZ_MACHINE, errnum, "cannot write %.200s", path);
	return sz_err_hint(err, "give --out a path in a directory that you may write to");
}

/* Reading. What is wrong is told once, where it is seen. */

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
	for (size_t i = 0; i < SZ_ARRAY_LEN(texts); i++) {
		const char *text = json_string_value(json_object_get(document, texts[i].name));
		if (!text || strlen(text) >= SZ_SHARD_TEXT || !is_printable(text))
			return refuse(source, "is missing or no plain text", texts[i].name);
		snprintf(text_at(run, &texts[i]), SZ_SHARD_TEXT, "%s", text);
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
		    !scan_at(error, 1, INT32_MAX, &errnum) || !strerrorname_np((int)errnum) ||
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
	    take_members(source, document, &own_members, run) < 0 ||
	    take_members(source, json_object_get(document, "asked"), &asked_members, run) < 0 ||
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
	if (!schema || strncmp(schema, SCHEMA_FAMILY, strlen(SCHEMA_FAMILY)) != 0)
		return refuse(source, "not the result of a shard", "");
	if (strcmp(schema, SCHEMA) != 0)
		sz_err_set(source->err, SZ_USAGE, 0, "%.200s is of version %s, not " SCHEMA,
			   source->name, sz_input_quote(schema, strlen(schema), quote));
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

/* Comparing */

static bool same_rate(const struct sz_rate *a, const struct sz_rate *b)
{
	return a->count == b->count && memcmp(a->leg, b->leg, a->count * sizeof(a->leg[0])) == 0;
}

static bool same_parts(const struct sz_load_result *a, const struct sz_load_result *b)
{
	if (a->part_count != b->part_count)
		return false;
	for (size_t i = 0; i < a->part_count; i++) {
		const char *ours = a->parts[i].label, *theirs = b->parts[i].label;
		if ((ours == NULL) != (theirs == NULL) || (ours && strcmp(ours, theirs) != 0))
			return false;
	}
	return true;
}

bool sz_shard_run_asks_same(const struct sz_shard_run *a, const struct sz_shard_run *b,
			    char difference[SZ_SHARD_TEXT])
{
	for (size_t i = 0; i < asked_members.count; i++) {
		const struct sz_member *member = &asked_members.item[i];
		uint64_t ours = sz_member_get(member, a), theirs = sz_member_get(member, b);
		if (ours == theirs)
			continue;
		snprintf(difference, SZ_SHARD_TEXT, "%s is %llu and %llu", member->name,
			 (unsigned long long)ours, (unsigned long long)theirs);
		return false;
	}
	difference[0] = '\0';
	if (strcmp(a->url, b->url) != 0)
		snprintf(difference, SZ_SHARD_TEXT, "the URLs are %.200s and %.200s", a->url,
			 b->url);
	else if (!same_rate(&a->config.rate, &b->config.rate))
		snprintf(difference, SZ_SHARD_TEXT, "the rates differ");
	else if (!same_parts(&a->result, &b->result))
		snprintf(difference, SZ_SHARD_TEXT, "the requests differ");
	return difference[0] == '\0';
}
