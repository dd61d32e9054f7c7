/* SPDX-License-Identifier: Apache-2.0 */
#include "advise/load.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

/* A first SYN that found the listen queue full is sent again after 1 s. */
#define SYN_RETRY_NS (SZ_NS_PER_S * 9 / 10)
/* Of the calls of an open loop, what may be missing. */
#define SHORTFALL 0.02
#define EDGE_CALLS 2
#define STALE_NOTED 0.01
/* A window must hold several times the latency, or its ends decide. */
#define WINDOW_LATENCIES 3

#define distrust sz_load_distrust /* said often here */

void sz_load_distrust(struct sz_load_judgement *judgement, const char *fmt, ...)
{
	if (judgement->count == SZ_LOAD_REASONS_MAX)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(judgement->reasons[judgement->count++], sizeof(judgement->reasons[0]), fmt, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void note(struct sz_load_judgement *judgement,
						       const char *fmt, ...)
{
	if (judgement->note_count == SZ_LOAD_REASONS_MAX)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(judgement->notes[judgement->note_count++], sizeof(judgement->notes[0]), fmt,
		  args);
	va_end(args);
}

double sz_load_concurrency_ratio(const struct sz_load_config *config,
				 const struct sz_load_result *result)
{
	double waited_ns = 0;
	for (unsigned i = 0; i < SZ_OUTCOME_COUNT; i++)
		waited_ns += result->latency[i].sum_ns;
	return waited_ns / (double)result->duration_ns / config->clients;
}

/* What was sent shortly before the end is waited for beyond it, and what came
 * before the start is not of the window: both ends blur by a latency. */
static void judge_concurrency(const struct sz_load_config *config,
			      const struct sz_load_result *result,
			      struct sz_load_judgement *judgement)
{
	static const char what[] = "on average %.1f of %u clients had a request in flight; the "
				   "others connected or waited after a failure";
	double ratio = sz_load_concurrency_ratio(config, result);
	if (config->arrivals != SZ_ARRIVALS_CLOSED || config->reconnect_every || config->think_ns ||
	    !result->sent)
		return;
	if (ratio < SZ_LOAD_CONCURRENCY_LEAST)
		distrust(judgement, what, ratio * config->clients, config->clients);
	else if (ratio < SZ_LOAD_CONCURRENCY_NOTED)
		note(judgement, what, ratio * config->clients, config->clients);
}

bool sz_load_has_failed(const struct sz_load_result *result)
{
	bool none = result->attempts && result->outcomes[SZ_OUTCOME_OK] == 0 &&
		    result->outcomes[SZ_OUTCOME_OPEN] == 0;
	return none || result->takes_no_streams || result->aborted == SZ_ABORT_DEAD ||
	       result->aborted == SZ_ABORT_NOT_HTTP || result->aborted == SZ_ABORT_GONE;
}

double sz_load_client_cores(const struct sz_load_config *config,
			    const struct sz_load_result *result)
{
	uint64_t busy_ns = 0;
	for (size_t i = 0; i < result->round_count; i++)
		busy_ns += result->rounds[i].slowest_ns;
	if (config->arrivals != SZ_ARRIVALS_BURST || busy_ns == 0)
		busy_ns = result->duration_ns;
	return (double)result->busiest_cpu_ns / (double)busy_ns;
}

static void judge_client(const struct sz_load_config *config, const struct sz_load_result *result,
			 struct sz_load_judgement *judgement)
{
	char stall[SZ_UNIT_TEXT];
	double cores = sz_load_client_cores(config, result);
	if (!sz_load_counts_ok(result))
		distrust(judgement, "the counts do not add up: this is a bug of sizeup");
	if (result->stall_ns)
		distrust(judgement,
			 "this program itself stood still for %s: it was stopped, or starved of "
			 "CPU, and its clients with it",
			 sz_format_duration(stall, (double)result->stall_ns));
	if (cores >= SZ_LOAD_CLIENT_CORES_MOST)
		distrust(judgement,
			 "the load generator used %.0f %% of a core: it may be the limit, not the "
			 "service",
			 cores * 100);
}

static void judge_connections(const struct sz_load_config *config,
			      const struct sz_load_result *result,
			      struct sz_load_judgement *judgement)
{
	char slowest[SZ_UNIT_TEXT];
	/* In an open loop few of them may be needed, and streams have no lead-in. */
	bool all_matter =
		config->arrivals != SZ_ARRIVALS_OPEN && config->arrivals != SZ_ARRIVALS_STREAMS;
	if (all_matter && result->clients_answered < config->clients)
		distrust(judgement, "only %u of %u clients had an answer before the window",
			 result->clients_answered, config->clients);
	if (result->connect.count && result->connect.max_ns >= SYN_RETRY_NS)
		distrust(judgement,
			 "connecting took up to %s: the service's listen queue was full (raise its "
			 "backlog, or use fewer clients)",
			 sz_format_duration(slowest, (double)result->connect.max_ns));
}

/* Calls due in the window that were not sent in it. At its ends a call or two may lie
 * on the other side. */
static double unoffered(const struct sz_load_result *result)
{
	double never = (double)result->dropped + (double)result->unsent;
	double behind = (double)result->scheduled - (double)result->went - EDGE_CALLS;
	return fmax(never, behind);
}

bool sz_load_is_behind(double due, double came, double in_flight)
{
	return due - came > fmax(SHORTFALL * due, 3 * sqrt(2 * in_flight) + EDGE_CALLS);
}

/* Of an open loop: was asked for what was meant to be asked for, in time, and did it
 * come back as fast? */
static void judge_rate(const struct sz_load_config *config, const struct sz_load_result *result,
		       struct sz_load_judgement *judgement)
{
	char late[SZ_UNIT_TEXT];
	if (config->arrivals != SZ_ARRIVALS_OPEN || result->scheduled == 0)
		return;
	double due = (double)result->scheduled, unsent = unoffered(result);
	double duration_s = sz_ns_to_s(result->duration_ns);
	const struct sz_hist *ok = &result->latency[SZ_OUTCOME_OK];
	double rate_rps = due / duration_s;
	/* The warm-up was too short for the first of them to come back. */
	double unready_s = fmax(0, sz_ns_to_s(ok->min_ns) - sz_ns_to_s(config->warmup_ns));
	double came = (double)(result->came + sz_load_failed(result)) -
		      (double)result->outcomes[SZ_OUTCOME_HTTP_ERROR];
	bool is_unsent = unsent > SHORTFALL * due;
	judgement->is_behind = is_unsent || sz_load_is_behind(due - rate_rps * unready_s, came,
							      rate_rps * sz_hist_mean_ns(ok) / 1e9);
	if (is_unsent)
		distrust(judgement,
			 "only %.1f %% of the calls that were due were sent in time: the rest "
			 "found "
			 "no client free (more --clients, or the service is beyond its capacity)",
			 (1 - unsent / due) * 100);
	else if (judgement->is_behind)
		distrust(judgement,
			 "%.1f req/s were due and %.1f came back: the service is beyond its "
			 "capacity, and latency grows for as long as the load lasts",
			 rate_rps, came / duration_s);
	if (sz_load_was_late(result))
		distrust(judgement,
			 "this program itself sent 1 %% of the calls more than %s late: it may be "
			 "the limit, not the service",
			 sz_format_duration(late, sz_hist_quantile_ns(&result->lateness, 0.99)));
}

static void judge_window(const struct sz_load_config *config, const struct sz_load_result *result,
			 struct sz_load_judgement *judgement)
{
	char latency[SZ_UNIT_TEXT];
	double mean_ns = sz_hist_mean_ns(&result->latency[SZ_OUTCOME_OK]);
	if (config->arrivals == SZ_ARRIVALS_BURST || config->arrivals == SZ_ARRIVALS_STREAMS)
		return;
	/* It would be no longer than its latency however long it were. */
	if (judgement->is_behind)
		return;
	if (result->sent == 0)
		distrust(judgement, "no request was sent within the window: all clients waited for "
				    "earlier ones (a longer --duration, or more --requests)");
	else if (mean_ns * WINDOW_LATENCIES > (double)result->duration_ns)
		distrust(judgement,
			 "the window is shorter than %d times the mean latency of %s (a longer "
			 "--duration, or more --requests)",
			 WINDOW_LATENCIES, sz_format_duration(latency, mean_ns));
}

static void judge_streams(const struct sz_load_config *config, const struct sz_load_result *result,
			  struct sz_load_judgement *judgement)
{
	if (config->arrivals != SZ_ARRIVALS_STREAMS)
		return;
	if (result->attempts < config->clients)
		distrust(judgement,
			 "only %llu of %u streams were asked for: the window was over before (a "
			 "longer --duration, or --connect burst)",
			 (unsigned long long)result->attempts, config->clients);
	if (result->streams_opened && result->streams_ended == result->streams_opened)
		distrust(judgement,
			 "no stream lasted: each of %llu ended before the window did, and none is "
			 "replaced (a page that ends is loaded without --hold)",
			 (unsigned long long)result->streams_ended);
	else if (result->streams_ended)
		note(judgement,
		     "%llu of %llu streams ended before the window did; they are not replaced",
		     (unsigned long long)result->streams_ended,
		     (unsigned long long)result->streams_opened);
}

static void judge_shared(const struct sz_load_config *config, const struct sz_load_result *result,
			 struct sz_load_judgement *judgement)
{
	unsigned least = config->streams - (unsigned)result->streams_lacking;
	if (result->streams_lacking)
		distrust(judgement,
			 "the service came to take %u stream%s of a connection at once, of the %u "
			 "that are asked for: requests waited for %s",
			 least, least == 1 ? "" : "s", config->streams,
			 least ? "each other" : "it to take any");
}

double sz_load_round_pace_ns(const struct sz_load_result *result)
{
	size_t count = result->round_count;
	if (count < 2 || result->interrupted)
		return NAN;
	/* The window ends with its last round. */
	double last_start_ns =
		(double)result->duration_ns - (double)result->rounds[count - 1].slowest_ns;
	return last_start_ns / (double)(count - 1);
}

static void judge_pace(const struct sz_load_config *config, const struct sz_load_result *result,
		       struct sz_load_judgement *judgement)
{
	char asked[SZ_UNIT_TEXT], held[SZ_UNIT_TEXT];
	double pace_ns = sz_load_round_pace_ns(result);
	if (config->every_ns && pace_ns > (double)config->every_ns * (1 + SZ_LOAD_PACE_NOTED))
		note(judgement,
		     "rounds began every %s on average, not every %s: those that came while an "
		     "earlier one lasted were left out",
		     sz_format_duration(held, pace_ns),
		     sz_format_duration(asked, (double)config->every_ns));
}

static void judge_failures(const struct sz_load_result *result, struct sz_load_judgement *judgement)
{
	char after[SZ_UNIT_TEXT];
	uint64_t failed = sz_load_failed(result), settled = sz_load_settled(result);
	if (result->aborted == SZ_ABORT_DEAD)
		distrust(judgement,
			 "aborted after %s: the service was gone, and every attempt to reach it "
			 "failed",
			 sz_format_duration(after, (double)result->duration_ns));
	else if (result->aborted == SZ_ABORT_NOT_HTTP)
		distrust(judgement, "aborted after %s: the service did not answer in HTTP any more",
			 sz_format_duration(after, (double)result->duration_ns));
	else if (result->aborted == SZ_ABORT_GONE)
		distrust(judgement, "the service was gone at the end of the window: no connection "
				    "was left, and none could be made");
	else if (result->aborted == SZ_ABORT_ERRORS)
		distrust(judgement, "aborted after %s: most requests failed",
			 sz_format_duration(after, (double)result->duration_ns));
	if (settled && (double)failed > SZ_LOAD_FAILED_MOST * (double)settled)
		distrust(judgement,
			 "%.1f %% of the requests failed: throughput and latency are only those of "
			 "the rest",
			 100 * (double)failed / (double)settled);
}

static void note_stale(const struct sz_load_result *result, struct sz_load_judgement *judgement)
{
	double share = (double)result->outcomes[SZ_OUTCOME_STALE] / (double)result->sent;
	if (share > STALE_NOTED)
		note(judgement,
		     "%.1f %% of the requests met a connection that the service closed without "
		     "saying so, and were sent again: its keep-alive ends early, or it drops "
		     "requests",
		     share * 100);
}

static void note_left_out(const struct sz_load_result *result, struct sz_load_judgement *judgement)
{
	char text[64];
	size_t count = 0;
	const struct sz_load_address *first = NULL;
	for (size_t i = 0; i < result->address_count; i++) {
		const struct sz_load_address *address = &result->addresses[i];
		count += address->left_out != 0;
		if (address->left_out && !first)
			first = address;
	}
	if (first)
		note(judgement,
		     "%zu of %zu addresses took no connection and were left out: %s (%s)%s", count,
		     result->address_count, sz_addr_text(&first->addr, text),
		     strerrordesc_np(first->left_out), count > 1 ? " and others" : "");
}

static void note_ports(const struct sz_load_result *result, struct sz_load_judgement *judgement)
{
	uint64_t count = 0;
	for (size_t i = 0; i < result->error_count; i++)
		count += result->errors[i].errnum == EADDRNOTAVAIL ? result->errors[i].count : 0;
	if (count)
		note(judgement,
		     "%llu times there was no free local port for a connection: those closed in "
		     "the "
		     "last minute count, too. Keep them open longer, or connect from several "
		     "addresses (--sources 16)",
		     (unsigned long long)count);
}

void sz_load_judge(const struct sz_load_config *config, const struct sz_load_result *result,
		   struct sz_load_judgement *judgement)
{
	judgement->count = judgement->note_count = 0;
	judgement->is_behind = false;
	judge_client(config, result, judgement);
	judge_connections(config, result, judgement);
	judge_rate(config, result, judgement);
	judge_window(config, result, judgement);
	judge_streams(config, result, judgement);
	judge_pace(config, result, judgement);
	judge_shared(config, result, judgement);
	judge_failures(result, judgement);
	judge_concurrency(config, result, judgement);
	note_stale(result, judgement);
	note_left_out(result, judgement);
	note_ports(result, judgement);
	if (config->setup && result->cookies == 0)
		note(judgement, "the answers to --setup set no cookie: the requests are as without "
				"it");
	if (result->rounds_failed)
		distrust(judgement,
			 "in %zu of %zu rounds a call failed: how long the slowest takes is only a "
			 "lower bound there",
			 result->rounds_failed, result->round_count);
}
