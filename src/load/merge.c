/* SPDX-License-Identifier: Apache-2.0
 *
 * What several saw, as if one had seen it: addition, and never of percentiles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "load/inside.h"
#include "load/shard-inside.h"

#define COUNTER(name_, member_, most_, adding_)                                                    \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct sz_load_result, member_),               \
		.bytes = sizeof(((struct sz_load_result *)NULL)->member_), .most = (most_),        \
		.adding = (adding_)                                                                \
	}
#define SUM(member) COUNTER(#member, member, SZ_SHARD_COUNT_MAX, SZ_ADD_SUM)
#define OUTCOME(name, outcome)                                                                     \
	COUNTER(name, outcomes[SZ_OUTCOME_##outcome], SZ_SHARD_COUNT_MAX, SZ_ADD_SUM)

static const struct sz_member counters[] = {
	COUNTER("duration_ns", duration_ns, SZ_SHARD_COUNT_MAX, SZ_ADD_MOST),
	COUNTER("interrupted", interrupted, 1, SZ_ADD_MOST),
	COUNTER("aborted", aborted, SZ_ABORT_GONE, SZ_ADD_MOST),
	SUM(scheduled),
	SUM(dropped),
	SUM(unsent),
	SUM(went),
	SUM(came),
	SUM(came_ok),
	SUM(attempts),
	SUM(connect_failed),
	SUM(sent),
	OUTCOME("ok", OK),
	OUTCOME("http_error", HTTP_ERROR),
	OUTCOME("protocol_error", PROTOCOL_ERROR),
	OUTCOME("socket_error", SOCKET_ERROR),
	OUTCOME("timeout", TIMEOUT),
	OUTCOME("unfinished", UNFINISHED),
	OUTCOME("stale", STALE),
	OUTCOME("truncated", TRUNCATED),
	OUTCOME("not_http", NOT_HTTP),
	OUTCOME("not_retried", NOT_RETRIED),
	OUTCOME("open", OPEN),
	SUM(streams_opened),
	SUM(streams_ended),
	SUM(stream_bytes),
	SUM(events),
	SUM(uncounted),
	SUM(body_bytes),
	COUNTER("error_status", error_status, 599, SZ_ADD_MOST),
	SUM(unexpected),
	SUM(errors_other),
	SUM(resumed),
	COUNTER("clients_answered", clients_answered, (uint64_t)SZ_LOAD_CLIENTS_MAX *SZ_SHARDS_MAX,
		SZ_ADD_SUM),
	SUM(connections_opened),
	SUM(connections_open_at_end),
	SUM(reconnects),
	SUM(server_closed),
	COUNTER("streams_lacking", streams_lacking, SZ_LOAD_CLIENTS_MAX, SZ_ADD_MOST),
	COUNTER("takes_no_streams", takes_no_streams, 1, SZ_ADD_MOST),
	SUM(client_cpu_ns),
	COUNTER("busiest_cpu_ns", busiest_cpu_ns, SZ_SHARD_COUNT_MAX, SZ_ADD_MOST),
	SUM(epoll_waits),
	COUNTER("longest_gap_ns", longest_gap_ns, SZ_SHARD_COUNT_MAX, SZ_ADD_LEAST),
	COUNTER("stall_ns", stall_ns, SZ_SHARD_COUNT_MAX, SZ_ADD_MOST),
};

const struct sz_members sz_result_counters = {counters, SZ_ARRAY_LEN(counters)};

#define HIST(name_, member_)                                                                       \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct sz_load_result, member_)                \
	}

const struct sz_hist_member sz_result_hists[SZ_RESULT_HISTS] = {
	HIST("ok", latency[SZ_OUTCOME_OK]),
	HIST("http_error", latency[SZ_OUTCOME_HTTP_ERROR]),
	HIST("protocol_error", latency[SZ_OUTCOME_PROTOCOL_ERROR]),
	HIST("socket_error", latency[SZ_OUTCOME_SOCKET_ERROR]),
	HIST("timeout", latency[SZ_OUTCOME_TIMEOUT]),
	HIST("unfinished", latency[SZ_OUTCOME_UNFINISHED]),
	HIST("stale", latency[SZ_OUTCOME_STALE]),
	HIST("truncated", latency[SZ_OUTCOME_TRUNCATED]),
	HIST("not_http", latency[SZ_OUTCOME_NOT_HTTP]),
	HIST("not_retried", latency[SZ_OUTCOME_NOT_RETRIED]),
	HIST("open", latency[SZ_OUTCOME_OPEN]),
	HIST("first_event", first_event),
	HIST("gap", gap),
	HIST("silence", silence),
	HIST("ttfb", ttfb),
	HIST("lateness", lateness),
	HIST("queue", queue),
	HIST("service", service),
	HIST("transfer", transfer),
	HIST("connect", connect),
	HIST("handshake", handshake),
};

uint64_t sz_member_get(const struct sz_member *member, const void *object)
{
	const void *at = (const char *)object + member->offset;
	if (member->bytes == sizeof(bool))
		return *(const bool *)at;
	return member->bytes == sizeof(uint32_t) ? *(const uint32_t *)at : *(const uint64_t *)at;
}

void sz_member_set(const struct sz_member *member, void *object, uint64_t value)
{
	void *at = (char *)object + member->offset;
	if (member->bytes == sizeof(bool))
		*(bool *)at = value;
	else if (member->bytes == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint64_t *)at = value;
}

static uint64_t add(enum sz_adding adding, uint64_t a, uint64_t b)
{
	if (adding == SZ_ADD_SUM)
		return a + b;
	return (a > b) == (adding == SZ_ADD_MOST) ? a : b;
}

static void add_error(struct sz_load_result *into, const struct sz_load_error *error)
{
	size_t i = 0;
	while (i < into->error_count &&
	       (into->errors[i].phase != error->phase || into->errors[i].errnum != error->errnum))
		i++;
	if (i < into->error_count)
		into->errors[i].count += error->count;
	else if (i < SZ_LOAD_ERRORS_MAX)
		into->errors[into->error_count++] = *error;
	else
		into->errors_other += error->count;
}

/* A round of all is over when it is for the last of them. */
static void add_round(struct sz_load_round *into, const struct sz_load_round *from)
{
	if (from->slowest_ttfb_ns > into->slowest_ttfb_ns) {
		into->slowest_ttfb_ns = from->slowest_ttfb_ns;
		into->slowest_part = from->slowest_part;
	}
	if (from->slowest_ns > into->slowest_ns)
		into->slowest_ns = from->slowest_ns;
	into->failed += from->failed;
}

static void add_part(struct sz_load_part *into, const struct sz_load_part *from)
{
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		into->outcomes[i] += from->outcomes[i];
	sz_hist_merge(&into->ttfb, &from->ttfb);
	sz_hist_merge(&into->latency, &from->latency);
}

/* Of threads, which have the same addresses; no file tells of them. */
static void add_address(struct sz_load_address *into, const struct sz_load_address *from)
{
	into->opened += from->opened;
	into->failed += from->failed;
	if (!into->left_out)
		into->left_out = from->left_out;
}

static void add_result(struct sz_load_result *into, struct sz_load_result *from)
{
	for (size_t i = 0; i < sz_result_counters.count; i++) {
		const struct sz_member *counter = &sz_result_counters.item[i];
		sz_member_set(counter, into,
			      add(counter->adding, sz_member_get(counter, into),
				  sz_member_get(counter, from)));
	}
	for (size_t i = 0; i < SZ_RESULT_HISTS; i++)
		sz_hist_merge(sz_result_hist(into, i), sz_result_hist(from, i));
	for (size_t i = 0; i < from->error_count; i++)
		add_error(into, &from->errors[i]);
	if (!*into->not_http)
		memcpy(into->not_http, from->not_http, sizeof(into->not_http));
	if (from->round_count < into->round_count)
		into->round_count = from->round_count;
	for (size_t i = 0; i < into->round_count; i++)
		add_round(&into->rounds[i], &from->rounds[i]);
	sz_series_add(&into->series, &from->series);
	for (size_t i = 0; i < into->address_count; i++)
		add_address(&into->addresses[i], &from->addresses[i]);
}

static void add_run(struct sz_shard_run *into, struct sz_shard_run *from)
{
	if (from->began_ns < into->began_ns)
		into->began_ns = from->began_ns;
	add_result(&into->result, &from->result);
	for (size_t i = 0; i < into->result.part_count; i++)
		add_part(&into->parts[i], &from->result.parts[i]);
}

int sz_shard_run_derive(struct sz_shard_run *run, struct sz_err *err)
{
	struct sz_load_result *result = &run->result;
	sz_autofree uint64_t *sorted_ns = calloc(SZ_LOAD_ROUNDS_MAX, sizeof(*sorted_ns));
	if (!sorted_ns)
		return sz_err_nomem(err);
	result->error_ratio = INFINITY;
	if (run->config.arrivals == SZ_ARRIVALS_CLOSED)
		result->error_ratio = sz_series_error_ratio(&result->series);
	sz_burst_spreads(result, sorted_ns);
	result->rounds_failed = 0;
	for (size_t i = 0; i < result->part_count; i++)
		run->parts[i].slowest_rounds = 0;
	for (size_t i = 0; i < result->round_count; i++) {
		result->rounds_failed += result->rounds[i].failed > 0;
		if (result->part_count)
			run->parts[result->rounds[i].slowest_part].slowest_rounds++;
	}
	return 0;
}

static bool copy_parts(struct sz_shard_run *run, const struct sz_load_part *parts, size_t count)
{
	run->parts = calloc(count ? count : 1, sizeof(run->parts[0]));
	if (!run->parts)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *label = parts[i].label;
		run->parts[i] = parts[i];
		if (label &&
		    !(run->parts[i].label = sz_arena_copy(&run->arena, label, strlen(label))))
			return false;
	}
	run->result.parts = run->parts;
	return true;
}

/* With parts and labels of its own. */
static struct sz_shard_run *copy(const struct sz_shard_run *run)
{
	struct sz_shard_run *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = *run;
	made->path = NULL;
	made->arena = (struct sz_arena){0};
	if (copy_parts(made, run->result.parts, run->result.part_count))
		return made;
	sz_shard_run_free(made);
	return NULL;
}

struct sz_shard_run *sz_shard_runs_add(struct sz_shard_run *const *runs, size_t count,
				       struct sz_err *err)
{
	struct sz_shard_run *sum = copy(runs[0]);
	if (!sum) {
		sz_err_fill_nomem(err);
		return NULL;
	}
	sum->shard = SZ_SHARD_WHOLE;
	for (size_t i = 1; i < count; i++)
		add_run(sum, runs[i]);
	if (sz_shard_run_derive(sum, err) == 0)
		return sum;
	sz_shard_run_free(sum);
	return NULL;
}
