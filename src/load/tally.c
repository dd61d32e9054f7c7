/* SPDX-License-Identifier: Apache-2.0 */
#include "load/inside.h"

#include <math.h>

#include "base/clock.h"

const char *sz_outcome_name(enum sz_outcome outcome)
{
	static const char *const names[SZ_OUTCOME_COUNT] = {
		[SZ_OUTCOME_OK] = "ok",
		[SZ_OUTCOME_HTTP_ERROR] = "http_error",
		[SZ_OUTCOME_PROTOCOL_ERROR] = "protocol_error",
		[SZ_OUTCOME_SOCKET_ERROR] = "socket_error",
		[SZ_OUTCOME_TIMEOUT] = "timeout",
		[SZ_OUTCOME_UNFINISHED] = "unfinished",
		[SZ_OUTCOME_STALE] = "stale",
		[SZ_OUTCOME_TRUNCATED] = "truncated",
		[SZ_OUTCOME_NOT_HTTP] = "not_http",
		[SZ_OUTCOME_NOT_RETRIED] = "not_retried",
		[SZ_OUTCOME_OPEN] = "open",
	};
	return names[outcome];
}

bool sz_outcome_is_failure(enum sz_outcome outcome)
{
	static const bool failures[SZ_OUTCOME_COUNT] = {
		[SZ_OUTCOME_HTTP_ERROR] = true,   [SZ_OUTCOME_PROTOCOL_ERROR] = true,
		[SZ_OUTCOME_SOCKET_ERROR] = true, [SZ_OUTCOME_TIMEOUT] = true,
		[SZ_OUTCOME_TRUNCATED] = true,    [SZ_OUTCOME_NOT_HTTP] = true,
		[SZ_OUTCOME_NOT_RETRIED] = true,
	};
	return failures[outcome];
}

const char *sz_http_version(enum sz_http http)
{
	static const char *const versions[] =
		{[SZ_HTTP_1] = "1.1", [SZ_HTTP_2] = "2", [SZ_HTTP_1_0] = "1.0"};
	return versions[http];
}

const char *sz_phase_name(enum sz_phase phase)
{
	static const char *const names[SZ_PHASE_COUNT] = {
		[SZ_PHASE_CONNECT] = "connect", [SZ_PHASE_TLS] = "tls",
		[SZ_PHASE_SEND] = "send",       [SZ_PHASE_WAIT] = "wait",
		[SZ_PHASE_BODY] = "body",       [SZ_PHASE_STATUS] = "status",
	};
	return names[phase];
}

/* The parts of a latency that counts from when the call was due. */
static void tally_parts(struct sz_load_result *result, const struct sz_client *client,
			uint64_t now_ns)
{
	sz_hist_add(&result->queue, client->wait.started_ns - client->asked_ns);
	sz_hist_add(&result->service, client->first_byte_ns - client->wait.started_ns);
	sz_hist_add(&result->transfer, now_ns - client->first_byte_ns);
}

static void tally_silence(struct sz_load_result *result, const struct sz_client *client,
			  uint64_t now_ns)
{
	uint64_t since_ns = client->stream.last_ns ? client->stream.last_ns : client->asked_ns;
	sz_hist_add(&result->silence, now_ns - since_ns);
}

static void tally_part(const struct sz_client *client, enum sz_outcome outcome, uint64_t now_ns)
{
	const struct sz_load *load = client->load;
	if (!load->parts)
		return;
	struct sz_load_part *part = &load->parts[sz_load_part_index(load, client)];
	part->outcomes[outcome]++;
	if (outcome != SZ_OUTCOME_OK && outcome != SZ_OUTCOME_OPEN)
		return;
	sz_hist_add(&part->ttfb, client->first_byte_ns - client->asked_ns);
	if (outcome == SZ_OUTCOME_OK)
		sz_hist_add(&part->latency, now_ns - client->asked_ns);
}

void sz_tally_outcome(struct sz_load_result *result, const struct sz_client *client,
		      enum sz_outcome outcome, uint64_t now_ns)
{
	tally_part(client, outcome, now_ns);
	result->outcomes[outcome]++;
	sz_hist_add(&result->latency[outcome], now_ns - client->asked_ns);
	if (outcome == SZ_OUTCOME_OK || outcome == SZ_OUTCOME_OPEN)
		sz_hist_add(&result->ttfb, client->first_byte_ns - client->asked_ns);
	if (outcome == SZ_OUTCOME_OPEN)
		tally_silence(result, client, now_ns);
	if (outcome != SZ_OUTCOME_OK)
		return;
	result->body_bytes += client->body_bytes;
	if (sz_load_is_open(client->load))
		tally_parts(result, client, now_ns);
}

void sz_tally_error(struct sz_load_result *result, enum sz_phase phase, int errnum)
{
	for (size_t i = 0; i < result->error_count; i++) {
		struct sz_load_error *error = &result->errors[i];
		if (error->phase == phase && error->errnum == errnum) {
			error->count++;
			return;
		}
	}
	if (result->error_count == SZ_LOAD_ERRORS_MAX)
		result->errors_other++;
	else
		result->errors[result->error_count++] =
			(struct sz_load_error){.phase = phase, .errnum = errnum, .count = 1};
}

bool sz_load_was_late(const struct sz_load_result *result)
{
	double gap_ns = (double)result->duration_ns / (double)result->scheduled;
	return result->scheduled &&
	       sz_hist_quantile_ns(&result->lateness, 0.99) > fmax(SZ_LOAD_LATE_NS, 0.1 * gap_ns);
}

uint64_t sz_outcomes_failed(const uint64_t outcomes[SZ_OUTCOME_COUNT])
{
	uint64_t failed = 0;
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++) {
		if (sz_outcome_is_failure((enum sz_outcome)i))
			failed += outcomes[i];
	}
	return failed;
}

uint64_t sz_load_failed(const struct sz_load_result *result)
{
	return result->connect_failed + sz_outcomes_failed(result->outcomes);
}

uint64_t sz_load_settled(const struct sz_load_result *result)
{
	return sz_load_failed(result) + result->outcomes[SZ_OUTCOME_OK] +
	       result->outcomes[SZ_OUTCOME_OPEN];
}

static double per_s(uint64_t count, const struct sz_load_result *result)
{
	return (double)count / sz_ns_to_s(result->duration_ns);
}

double sz_load_offered_rps(const struct sz_load_config *config, const struct sz_load_result *result)
{
	return per_s(config->arrivals == SZ_ARRIVALS_OPEN ? result->went : result->sent, result);
}

double sz_load_completed_rps(const struct sz_load_config *config,
			     const struct sz_load_result *result)
{
	const uint64_t *outcomes = result->outcomes;
	return per_s(config->arrivals == SZ_ARRIVALS_OPEN
			     ? result->came
			     : outcomes[SZ_OUTCOME_OK] + outcomes[SZ_OUTCOME_HTTP_ERROR],
		     result);
}

double sz_load_goodput_rps(const struct sz_load_config *config, const struct sz_load_result *result)
{
	return per_s(config->arrivals == SZ_ARRIVALS_OPEN ? result->came_ok
							  : result->outcomes[SZ_OUTCOME_OK],
		     result);
}

bool sz_load_counts_ok(const struct sz_load_result *result)
{
	uint64_t settled = 0;
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++) {
		if (result->latency[i].count != result->outcomes[i])
			return false;
		settled += result->outcomes[i];
	}
	uint64_t calls = result->sent - result->outcomes[SZ_OUTCOME_STALE] +
			 result->connect_failed + result->dropped + result->unsent;
	return result->attempts == result->connect_failed + result->sent &&
	       result->sent == settled && (result->scheduled == 0 || result->scheduled == calls);
}
