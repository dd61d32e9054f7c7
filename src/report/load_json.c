/* SPDX-License-Identifier: Apache-2.0
 *
 * A load run as JSON, "sizeup/load/1".
 */
#include "report/report.h"

#include <string.h>

#include "advise/merge.h"
#include "base/clock.h"
#include "base/mem.h"
#include "report/json.h"

static const char *status(const struct sz_load_report *report)
{
	if (report->result->interrupted)
		return "interrupted";
	if (sz_load_has_failed(report->result))
		return "failed";
	return report->judgement->count ? "untrustworthy" : "answered";
}

static json_t *counts(const struct sz_load_result *result)
{
	json_t *object = json_object();
	json_object_set_new(object, "attempts", sz_json_count(result->attempts));
	json_object_set_new(object, "connect_failed", sz_json_count(result->connect_failed));
	json_object_set_new(object, "sent", sz_json_count(result->sent));
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		json_object_set_new(object, sz_outcome_name((enum sz_outcome)i),
				    sz_json_count(result->outcomes[i]));
	json_object_set_new(object, "unexpected", sz_json_count(result->unexpected));
	json_object_set_new(object, "uncounted", sz_json_count(result->uncounted));
	return object;
}

static json_t *errors(const struct sz_load_result *result)
{
	json_t *array = json_array();
	for (size_t i = 0; i < result->error_count; i++) {
		const struct sz_load_error *error = &result->errors[i];
		if (error->phase == SZ_PHASE_STATUS)
			continue;
		const char *name = error->errnum ? strerrorname_np(error->errnum) : NULL;
		json_array_append_new(array, json_pack("{s:s, s:s?, s:o}", "phase",
						       sz_phase_name(error->phase), "errno", name,
						       "count", sz_json_count(error->count)));
	}
	return array;
}

static json_t *statuses(const struct sz_load_result *result)
{
	json_t *array = json_array();
	for (size_t i = 0; i < result->error_count; i++) {
		const struct sz_load_error *error = &result->errors[i];
		if (error->phase == SZ_PHASE_STATUS)
			json_array_append_new(array,
					      json_pack("{s:i, s:o}", "status", error->errnum,
							"count", sz_json_count(error->count)));
	}
	return array;
}

static json_t *distribution(const struct sz_hist *hist)
{
	const struct sz_json_field fields[] = {
		{"p50", sz_hist_quantile_or_nan_ns(hist, 0.5) / 1e6},
		{"p90", sz_hist_quantile_or_nan_ns(hist, 0.9) / 1e6},
		{"p95", sz_hist_quantile_or_nan_ns(hist, 0.95) / 1e6},
		{"p99", sz_hist_quantile_or_nan_ns(hist, 0.99) / 1e6},
		{"p99_9", sz_hist_quantile_or_nan_ns(hist, 0.999) / 1e6},
		{"max", hist->count ? (double)hist->max_ns / 1e6 : SZ_NAN},
		{"mean", sz_hist_mean_ns(hist) / 1e6},
	};
	return sz_json_numbers(fields, SZ_ARRAY_LEN(fields));
}

static json_t *connections(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	int streams = report->config->streams ? (int)report->config->streams : 1;
	return json_pack("{s:i, s:i, s:i, s:o, s:o, s:o}", "asked",
			 (int)sz_load_connections(report->config), "streams", streams,
			 "streams_taken", streams - (int)result->streams_lacking, "opened",
			 sz_json_count(result->connections_opened), "open_at_end",
			 sz_json_count(result->connections_open_at_end), "reconnects",
			 sz_json_count(result->reconnects));
}

/* Why an address was left out, or null. */
static json_t *why_left_out(const struct sz_load_address *address)
{
	return address->left_out ? json_string(strerrorname_np(address->left_out)) : json_null();
}

static json_t *addresses(const struct sz_load_result *result)
{
	json_t *array = json_array();
	for (size_t i = 0; i < result->address_count; i++) {
		const struct sz_load_address *address = &result->addresses[i];
		char text[64];
		json_array_append_new(array,
				      json_pack("{s:s, s:o, s:o, s:o}", "address",
						sz_addr_text(&address->addr, text), "connections",
						sz_json_count(address->opened), "failed",
						sz_json_count(address->failed), "left_out",
						why_left_out(address)));
	}
	return array;
}

static json_t *spread(const struct sz_load_spread *spread, size_t rounds)
{
	const struct sz_json_field fields[] = {
		{"p50", rounds ? sz_ns_to_ms(spread->p50_ns) : SZ_NAN},
		{"min", rounds ? sz_ns_to_ms(spread->min_ns) : SZ_NAN},
		{"max", rounds ? sz_ns_to_ms(spread->max_ns) : SZ_NAN},
	};
	return sz_json_numbers(fields, SZ_ARRAY_LEN(fields));
}

static json_t *each_round(const struct sz_load_result *result)
{
	json_t *array = json_array();
	for (size_t i = 0; i < result->round_count; i++) {
		const struct sz_load_round *round = &result->rounds[i];
		const char *label =
			result->part_count ? result->parts[round->slowest_part].label : NULL;
		json_array_append_new(array,
				      json_pack("{s:f, s:f, s:i, s:s?}", "slowest_ttfb_ms",
						sz_ns_to_ms(round->slowest_ttfb_ns), "slowest_ms",
						sz_ns_to_ms(round->slowest_ns), "failed",
						(int)round->failed, "slowest_request", label));
	}
	return array;
}

static json_t *burst(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	size_t rounds = result->round_count;
	if (report->config->arrivals != SZ_ARRIVALS_BURST)
		return json_null();
	uint64_t every_ns = report->config->every_ns;
	return json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "every_asked_ms",
			 sz_json_number(every_ns ? sz_ns_to_ms(every_ns) : SZ_NAN), "every_ms",
			 sz_json_number(sz_load_round_pace_ns(result) / 1e6), "size",
			 (int)sz_load_calls(report->config), "users", (int)report->config->users,
			 "rounds", sz_json_count(rounds), "rounds_failed",
			 sz_json_count(result->rounds_failed), "slowest_ttfb_ms",
			 spread(&result->slowest_ttfb, rounds), "slowest_ms",
			 spread(&result->slowest, rounds), "each", each_round(result));
}

static json_t *outcomes(const uint64_t outcomes[SZ_OUTCOME_COUNT])
{
	json_t *object = json_object();
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		json_object_set_new(object, sz_outcome_name((enum sz_outcome)i),
				    sz_json_count(outcomes[i]));
	return object;
}

static json_t *requests(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	json_t *array = json_array();
	for (size_t i = 0; i < result->part_count; i++) {
		const struct sz_load_part *part = &result->parts[i];
		json_array_append_new(array, json_pack("{s:s?, s:o, s:o, s:o, s:o}", "request",
						       part->label, "outcomes",
						       outcomes(part->outcomes), "latency_ms",
						       distribution(&part->latency), "ttfb_ms",
						       distribution(&part->ttfb), "slowest_rounds",
						       sz_json_count(part->slowest_rounds)));
	}
	return array;
}

static json_t *tls(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	if (!report->config->url.tls)
		return json_null();
	return json_pack("{s:o, s:o}", "handshake_ms", distribution(&result->handshake), "resumed",
			 sz_json_count(result->resumed));
}

static json_t *client(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	double cpu_s = sz_ns_to_s(result->client_cpu_ns);
	double sent = (double)result->sent;
	return json_pack("{s:o, s:o, s:b, s:o}", "cpu_s", sz_json_number(cpu_s),
			 "cpu_us_per_request",
			 sz_json_number(result->sent ? cpu_s * 1e6 / sent : SZ_NAN), "saturated",
			 (int)(sz_load_client_cores(report->config, report->result) >=
			       SZ_LOAD_CLIENT_CORES_MOST),
			 "epoll_waits_per_request",
			 sz_json_number(result->sent ? (double)result->epoll_waits / sent
						     : SZ_NAN));
}

static json_t *texts(const char (*list)[240], size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(list[i]));
	return array;
}

/* Every interval, those without an answer too. */
static json_t *series(const struct sz_load_series *series, const char *what)
{
	json_t *ok = json_array();
	for (size_t i = 0; i < series->count; i++)
		json_array_append_new(ok, json_integer((json_int_t)series->ok[i]));
	return json_pack("{s:f, s:o}", "interval_s", sz_ns_to_s(series->interval_ns), what, ok);
}

static json_t *open_loop(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	if (report->config->arrivals != SZ_ARRIVALS_OPEN)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "arrivals",
			 report->config->replay_speed > 0 ? "replay"
			 : report->config->rate.poisson   ? "poisson"
							  : "constant",
			 "late", report->config->late == SZ_LATE_DROP ? "drop" : "send", "seed",
			 sz_json_count(report->config->rate.seed), "scheduled",
			 sz_json_count(result->scheduled), "dropped",
			 sz_json_count(result->dropped), "unsent", sz_json_count(result->unsent),
			 "lateness_ms", distribution(&result->lateness), "queue_ms",
			 distribution(&result->queue), "service_ms", distribution(&result->service),
			 "transfer_ms", distribution(&result->transfer));
}

static bool are_streams(const struct sz_load_report *report)
{
	return report->config->arrivals == SZ_ARRIVALS_STREAMS;
}

static json_t *streams(const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	double duration_s = sz_ns_to_s(result->duration_ns);
	if (!are_streams(report))
		return json_null();
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "asked",
			 (int)report->config->clients, "opened",
			 sz_json_count(result->streams_opened), "open_at_end",
			 sz_json_count(result->outcomes[SZ_OUTCOME_OPEN]), "ended_early",
			 sz_json_count(result->streams_ended), "events",
			 sz_json_count(result->events), "events_per_s",
			 sz_json_number((double)result->events / duration_s), "bytes",
			 sz_json_count(result->stream_bytes), "bytes_per_s",
			 sz_json_number((double)result->stream_bytes / duration_s),
			 "first_event_ms", distribution(&result->first_event), "gap_ms",
			 distribution(&result->gap), "silence_ms", distribution(&result->silence));
}

static void put_rates(json_t *document, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	const struct sz_load_config *config = report->config;
	double duration_s = sz_ns_to_s(result->duration_ns);
	/* Neither a closed loop nor bursts ask for a rate. */
	bool is_open = config->arrivals == SZ_ARRIVALS_OPEN;
	/* Streams are not meant to be completed. */
	bool streams = are_streams(report);
	json_object_set_new(document, "asked_rps",
			    sz_json_number(is_open ? (double)result->scheduled / duration_s
						   : SZ_NAN));
	json_object_set_new(document, "offered_rps",
			    sz_json_number(sz_load_offered_rps(config, result)));
	json_object_set_new(document, "completed_rps",
			    sz_json_number(streams ? SZ_NAN
						   : sz_load_completed_rps(config, result)));
	json_object_set_new(document, "goodput_rps",
			    sz_json_number(streams ? SZ_NAN : sz_load_goodput_rps(config, result)));
	json_object_set_new(document, "goodput_error_ratio", sz_json_number(result->error_ratio));
	json_object_set_new(document, "duration_s", sz_json_number(duration_s));
}

static json_t *each_shard(const struct sz_shard_run *run)
{
	const struct sz_load_result *result = &run->result;
	int64_t late_ns = run->began_ns - run->start_at_ns;
	int64_t error_ns = run->clock_error_ns;
	const struct sz_json_field times[] = {
		{"duration_s", sz_ns_to_s(result->duration_ns)},
		{"late_ms", run->start_at_ns ? (double)late_ns / 1e6 : SZ_NAN},
		{"clock_error_ms", error_ns < 0 ? SZ_NAN : (double)error_ns / 1e6},
		{"cpu_s", sz_ns_to_s(result->client_cpu_ns)},
	};
	json_t *object = sz_json_numbers(times, SZ_ARRAY_LEN(times));
	json_object_set_new(object, "shard", json_integer(run->shard.number));
	json_object_set_new(object, "host", json_string(run->host));
	json_object_set_new(object, "began_unix_ns", json_integer(run->began_ns));
	json_object_set_new(object, "sent", sz_json_count(result->sent));
	json_object_set_new(object, "ok", sz_json_count(result->outcomes[SZ_OUTCOME_OK]));
	return object;
}

static json_t *shards(const struct sz_load_report *report)
{
	size_t count = report->run_count;
	if (count == 0)
		return json_null();
	json_t *each = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(each, each_shard(report->runs[i]));
	return json_pack("{s:i, s:o, s:o}", "of", (int)report->runs[0]->shard.of, "common_ratio",
			 sz_json_number(sz_merge_common_ratio(report->runs, count)), "each", each);
}

void sz_report_load_json(const struct sz_load_report *report, struct sz_buf *out)
{
	static const char *const aborted[] = {[SZ_ABORT_NONE] = NULL,
					      [SZ_ABORT_ERRORS] = "errors",
					      [SZ_ABORT_DEAD] = "dead",
					      [SZ_ABORT_NOT_HTTP] = "not_http",
					      [SZ_ABORT_GONE] = "gone"};
	const struct sz_load_result *result = report->result;
	json_t *document = json_object();
	json_object_set_new(document, "schema", json_string("sizeup/load/1"));
	json_object_set_new(document, "status", json_string(status(report)));
	json_object_set_new(document, "aborted",
			    aborted[report->result->aborted]
				    ? json_string(aborted[report->result->aborted])
				    : json_null());
	json_object_set_new(document, "url", json_string(report->url));
	json_object_set_new(document, "http", json_string(sz_http_version(report->config->http)));
	put_rates(document, report);
	json_object_set_new(document, "counts", counts(result));
	json_object_set_new(document, "errors", errors(result));
	json_object_set_new(document, "error_statuses", statuses(result));
	json_object_set_new(document, "errors_other", sz_json_count(result->errors_other));
	json_object_set_new(document, "not_http_sample",
			    *result->not_http ? json_string(result->not_http) : json_null());
	json_object_set_new(document, "burst", burst(report));
	json_object_set_new(document, "open", open_loop(report));
	json_object_set_new(document, "streams", streams(report));
	json_object_set_new(document, "latency_ms", distribution(&result->latency[SZ_OUTCOME_OK]));
	json_object_set_new(document, "ttfb_ms", distribution(&result->ttfb));
	json_object_set_new(document, "connect_ms", distribution(&result->connect));
	json_object_set_new(document, "tls", tls(report));
	json_object_set_new(document, "requests", requests(report));
	/* Of several it is only known what it cannot exceed. */
	json_object_set_new(document, "longest_gap_ms",
			    sz_json_number(report->is_sum ? SZ_NAN
							  : sz_ns_to_ms(result->longest_gap_ns)));
	json_object_set_new(document, "connections", connections(report));
	if (result->address_count)
		json_object_set_new(document, "addresses", addresses(result));
	json_object_set_new(document, "concurrency_ratio",
			    sz_json_number(sz_load_concurrency_ratio(report->config, result)));
	json_object_set_new(document, "client", client(report));
	json_object_set_new(document, "shards", shards(report));
	json_object_set_new(document, "trustworthy", json_boolean(report->judgement->count == 0));
	json_object_set_new(document, "reasons",
			    texts(report->judgement->reasons, report->judgement->count));
	json_object_set_new(document, "notes",
			    texts(report->judgement->notes, report->judgement->note_count));
	json_object_set_new(document, "series",
			    series(&result->series, are_streams(report) ? "events" : "ok"));
	sz_json_write(document, out);
}
