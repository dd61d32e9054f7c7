/* SPDX-License-Identifier: Apache-2.0
 *
 * A load run as text.
 */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/merge.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"

enum { COLUMNS = 88, INDENT = 14, SHARDS_NAMED = 16 };

static bool in_bursts(const struct sz_load_report *report)
{
	return report->config->arrivals == SZ_ARRIVALS_BURST;
}

static bool are_streams(const struct sz_load_report *report)
{
	return report->config->arrivals == SZ_ARRIVALS_STREAMS;
}

static void put_label(struct sz_buf *out, const char *label)
{
	sz_buf_puts(out, label);
	size_t used = strlen(label);
	sz_buf_repeat(out, ' ', used < INDENT ? INDENT - used : 1);
}

static void put_latency(struct sz_buf *out, const char *label, const struct sz_hist *hist)
{
	static const struct {
		const char *name;
		double ratio;
	} shown[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};
	char text[SZ_UNIT_TEXT];
	put_label(out, label);
	if (hist->count == 0) {
		sz_buf_puts(out, "–\n");
		return;
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(shown); i++) {
		double ns = sz_hist_quantile_or_nan_ns(hist, shown[i].ratio);
		sz_buf_printf(out, "%s %s  ", shown[i].name,
			      isnan(ns) ? "–" : sz_format_duration(text, ns));
	}
	sz_buf_printf(out, "max %s\n", sz_format_duration(text, (double)hist->max_ns));
}

static void put_error(struct sz_buf *out, const struct sz_load_error *error)
{
	put_label(out, "");
	sz_buf_printf(out, "%llu x %s", (unsigned long long)error->count,
		      sz_phase_name(error->phase));
	if (error->phase == SZ_PHASE_STATUS)
		sz_buf_printf(out, " %d\n", error->errnum);
	else
		sz_buf_printf(out, ": %s\n",
			      error->errnum ? strerrordesc_np(error->errnum) : "closed");
}

static void put_counts(struct sz_buf *out, const struct sz_load_result *result)
{
	put_label(out, "Requests");
	sz_buf_printf(out, "%llu sent", (unsigned long long)result->sent);
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++) {
		if (result->outcomes[i] || i == SZ_OUTCOME_OK)
			sz_buf_printf(out, ", %llu %s", (unsigned long long)result->outcomes[i],
				      sz_outcome_name((enum sz_outcome)i));
	}
	if (result->connect_failed)
		sz_buf_printf(out, "; %llu connects failed",
			      (unsigned long long)result->connect_failed);
	sz_buf_puts(out, "\n");
	if (result->unexpected) {
		put_label(out, "");
		sz_buf_printf(out, "%llu x %s: a good status without the expected text\n",
			      (unsigned long long)result->unexpected, sz_phase_name(SZ_PHASE_BODY));
	}
	for (size_t i = 0; i < result->error_count; i++)
		put_error(out, &result->errors[i]);
	if (result->uncounted) {
		put_label(out, "");
		sz_buf_printf(out, "%llu more before and after the window, uncounted\n",
			      (unsigned long long)result->uncounted);
	}
}

static void put_not_http(struct sz_buf *out, const struct sz_load_result *result)
{
	if (!*result->not_http)
		return;
	put_label(out, "Not HTTP");
	sz_buf_printf(out, "\"%s\"\n", result->not_http);
}

static void put_spread(struct sz_buf *out, const char *label, const struct sz_load_spread *spread)
{
	char text[SZ_UNIT_TEXT];
	put_label(out, "Slowest");
	sz_buf_printf(out, "%s  p50 %s", label, sz_format_duration(text, (double)spread->p50_ns));
	sz_buf_printf(out, "  min %s", sz_format_duration(text, (double)spread->min_ns));
	sz_buf_printf(out, "  max %s\n", sz_format_duration(text, (double)spread->max_ns));
}

static void put_bursts(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	unsigned users = report->config->users, calls = sz_load_calls(report->config);
	put_label(out, "Bursts");
	sz_buf_printf(out, "%u user%s x %u requests on %s, ", users, users == 1 ? "" : "s", calls,
		      report->url);
	if (calls * users != report->config->clients)
		sz_buf_printf(out, "%u connections each, ",
			      sz_load_connections(report->config) / users);
	sz_buf_printf(out, "%zu rounds in %.1f s%s\n", result->round_count,
		      sz_ns_to_s(result->duration_ns), result->interrupted ? " (interrupted)" : "");
	if (result->round_count == 0)
		return;
	put_spread(out, "first byte", &result->slowest_ttfb);
	put_spread(out, "last byte ", &result->slowest);
}

static void put_loop(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	char text[SZ_UNIT_TEXT];
	double duration_s = sz_ns_to_s(result->duration_ns);
	put_label(out, "Load");
	sz_buf_printf(out, "%u clients on %s for %.1f s%s\n", report->config->clients, report->url,
		      duration_s, result->interrupted ? " (interrupted)" : "");
	if (report->config->think_ns) {
		put_label(out, "");
		sz_buf_printf(out, "each thinks %s%s between an answer and its next request\n",
			      report->config->think_random ? "about " : "",
			      sz_format_duration(text, (double)report->config->think_ns));
	}
	put_label(out, "Goodput");
	sz_buf_printf(out, "%.1f req/s", sz_load_goodput_rps(report->config, result));
	if (isfinite(result->error_ratio))
		sz_buf_printf(out, " ± %.1f %%", result->error_ratio * 100);
	sz_buf_puts(out, "\n");
}

static const char *rate_text(const struct sz_rate *rate, char text[80])
{
	const struct sz_rate_leg *first = &rate->leg[0], *last = &rate->leg[rate->count - 1];
	if (rate->count > 1)
		snprintf(text, 80, "%g to %g req/s in %zu steps", first->from_rps, last->to_rps,
			 rate->count);
	else if (first->from_rps != first->to_rps)
		snprintf(text, 80, "a ramp from %g to %g req/s", first->from_rps, first->to_rps);
	else
		snprintf(text, 80, "%g req/s", first->from_rps);
	return text;
}

static void put_open(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	double duration_s = sz_ns_to_s(result->duration_ns);
	char text[80];
	if (report->config->replay_speed > 0)
		snprintf(text, sizeof(text), "a replay at %g x the speed",
			 report->config->replay_speed);
	else
		rate_text(&report->config->rate, text);
	put_label(out, "Load");
	sz_buf_printf(out, "%s%s on %s for %.1f s, at most %u in flight%s\n", text,
		      report->config->rate.poisson ? " (Poisson)" : "", report->url, duration_s,
		      report->config->clients, result->interrupted ? " (interrupted)" : "");
	put_label(out, "Calls");
	sz_buf_printf(out, "%llu due, %llu dropped", (unsigned long long)result->scheduled,
		      (unsigned long long)result->dropped);
	if (result->unsent)
		sz_buf_printf(out, ", %llu unsent", (unsigned long long)result->unsent);
	sz_buf_puts(out, "\n");
	put_label(out, "Goodput");
	sz_buf_printf(out, "%.1f req/s\n", sz_load_goodput_rps(report->config, result));
}

static void put_streams(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	double duration_s = sz_ns_to_s(result->duration_ns);
	put_label(out, "Streams");
	sz_buf_printf(out, "%u clients on %s for %.1f s%s\n", report->config->clients, report->url,
		      duration_s, result->interrupted ? " (interrupted)" : "");
	put_label(out, "");
	sz_buf_printf(out, "%u asked, %llu opened, %llu open at the end, %llu ended early\n",
		      report->config->clients, (unsigned long long)result->streams_opened,
		      (unsigned long long)result->outcomes[SZ_OUTCOME_OPEN],
		      (unsigned long long)result->streams_ended);
	put_label(out, "Events");
	sz_buf_printf(out, "%.1f /s, %.1f kB/s\n", (double)result->events / duration_s,
		      (double)result->stream_bytes / duration_s / 1e3);
	put_latency(out, "First event", &result->first_event);
	put_latency(out, "Gaps", &result->gap);
	put_latency(out, "Silent at end", &result->silence);
}

/* A line per request; its label stands last, as it may be long. */
static void put_parts(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	bool bursts = in_bursts(report);
	if (result->part_count == 0)
		return;
	enum sz_outcome good =
		report->config->arrivals == SZ_ARRIVALS_STREAMS ? SZ_OUTCOME_OPEN : SZ_OUTCOME_OK;
	/* A request's label begins with its method; in a file the first may be "all others". */
	const char *first = result->parts[0].label;
	bool steps = first && strncmp(first, "at ", 3) == 0;
	sz_buf_printf(out, "\n%9s %8s %11s %11s %11s%s  %s\n", sz_outcome_name(good), "failed",
		      "first byte", "last byte", "max", bursts ? "  slowest" : "",
		      steps ? "due" : "request");
	for (size_t i = 0; i < result->part_count; i++) {
		const struct sz_load_part *part = &result->parts[i];
		char ttfb[SZ_UNIT_TEXT] = "-", latency[SZ_UNIT_TEXT] = "-",
		     most[SZ_UNIT_TEXT] = "-";
		if (part->ttfb.count)
			sz_format_duration(ttfb, sz_hist_quantile_ns(&part->ttfb, 0.5));
		if (part->latency.count) {
			sz_format_duration(latency, sz_hist_quantile_ns(&part->latency, 0.5));
			sz_format_duration(most, (double)part->latency.max_ns);
		}
		sz_buf_printf(out, "%9llu %8llu %11s %11s %11s",
			      (unsigned long long)part->outcomes[good],
			      (unsigned long long)sz_outcomes_failed(part->outcomes), ttfb, latency,
			      most);
		if (bursts)
			sz_buf_printf(out, " %8zu", part->slowest_rounds);
		sz_buf_printf(out, "  %.100s\n", part->label ? part->label : "(all others)");
	}
	sz_buf_printf(out, "first and last byte: the median of the good answers%s\n\n",
		      bursts ? "; slowest: rounds in which its first byte came last" : "");
}

static void put_addresses(struct sz_buf *out, const struct sz_load_result *result)
{
	for (size_t i = 0; i < result->address_count; i++) {
		const struct sz_load_address *address = &result->addresses[i];
		char text[64];
		put_label(out, "");
		sz_buf_printf(out, "%s: %llu opened", sz_addr_text(&address->addr, text),
			      (unsigned long long)address->opened);
		if (address->failed)
			sz_buf_printf(out, ", %llu failed", (unsigned long long)address->failed);
		if (address->left_out)
			sz_buf_printf(out, ", left out: %s", strerrordesc_np(address->left_out));
		sz_buf_puts(out, "\n");
	}
}

static void put_connections(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	const struct sz_load_config *config = report->config;
	put_label(out, "Connections");
	sz_buf_printf(out, "%u asked, %llu opened, %llu open at the end, %llu reconnects\n",
		      sz_load_connections(config), (unsigned long long)result->connections_opened,
		      (unsigned long long)result->connections_open_at_end,
		      (unsigned long long)result->reconnects);
	put_addresses(out, result);
	if (config->http == SZ_HTTP_2) {
		put_label(out, "");
		sz_buf_printf(out, "HTTP/2, %u stream%s at once on each\n", config->streams,
			      config->streams == 1 ? "" : "s");
	}
	if (config->url.tls) {
		put_label(out, "");
		sz_buf_printf(out, "%llu handshakes resumed an earlier session\n",
			      (unsigned long long)result->resumed);
	}
}

static void put_gap(struct sz_buf *out, const struct sz_load_report *report)
{
	char text[SZ_UNIT_TEXT];
	put_label(out, "Longest gap");
	sz_buf_printf(out, "%s%s without a %s\n", report->is_sum ? "at most " : "",
		      sz_format_duration(text, (double)report->result->longest_gap_ns),
		      are_streams(report) ? "byte of any" : "completion");
}

static void put_client(struct sz_buf *out, const struct sz_load_report *report)
{
	const struct sz_load_result *result = report->result;
	put_label(out, "Client");
	sz_buf_printf(out,
		      "%.2f us of CPU per request, %s%.0f %% of a core, %.2f epoll waits per "
		      "request\n",
		      (double)result->client_cpu_ns / 1e3 /
			      (double)(result->sent ? result->sent : 1),
		      report->is_sum ? "each at most " : "",
		      sz_load_client_cores(report->config, report->result) * 100,
		      (double)result->epoll_waits / (double)(result->sent ? result->sent : 1));
}

static void put_wrapped(struct sz_buf *out, const char *label, const char *text)
{
	put_label(out, label);
	sz_buf_wrap(out, text, INDENT, COLUMNS);
	sz_buf_puts(out, "\n");
}

static size_t count_hosts(const struct sz_load_report *report)
{
	size_t hosts = 0;
	for (size_t i = 0; i < report->run_count; i++) {
		size_t earlier = 0;
		while (earlier < i &&
		       strcmp(report->runs[earlier]->host, report->runs[i]->host) != 0)
			earlier++;
		hosts += earlier == i;
	}
	return hosts;
}

static void put_shards(struct sz_buf *out, const struct sz_load_report *report)
{
	sz_autobuf struct sz_buf names = {0};
	size_t hosts = count_hosts(report), count = report->run_count;
	const struct sz_shard_run *first = count ? report->runs[0] : NULL;
	if (count == 0)
		return;
	if (count == 1) {
		put_label(out, "Shard");
		sz_buf_printf(out, "%u of %u, on %s\n", first->shard.number, first->shard.of,
			      first->host);
		return;
	}
	sz_buf_printf(&names, "%zu from %zu host%s, %.1f %% of the time together:", count, hosts,
		      hosts == 1 ? "" : "s", sz_merge_common_ratio(report->runs, count) * 100);
	for (size_t i = 0; i < count && i < SHARDS_NAMED; i++)
		sz_buf_printf(&names, " %u %s%s", report->runs[i]->shard.number,
			      report->runs[i]->host, i + 1 < count ? "," : "");
	if (count > SHARDS_NAMED)
		sz_buf_puts(&names, " …");
	put_wrapped(out, "Shards", sz_buf_text(&names));
}

void sz_report_load_text(const struct sz_load_report *report, struct sz_buf *out)
{
	const struct sz_load_result *result = report->result;
	static void (*const heads[])(struct sz_buf *, const struct sz_load_report *) = {
		[SZ_ARRIVALS_CLOSED] = put_loop,
		[SZ_ARRIVALS_BURST] = put_bursts,
		[SZ_ARRIVALS_OPEN] = put_open,
		[SZ_ARRIVALS_STREAMS] = put_streams,
	};
	heads[report->config->arrivals](out, report);
	put_shards(out, report);
	if (!are_streams(report))
		put_latency(out, "Latency", &result->latency[SZ_OUTCOME_OK]);
	if (report->config->arrivals == SZ_ARRIVALS_OPEN) {
		put_latency(out, "  in queue", &result->queue);
		put_latency(out, "  service", &result->service);
		put_latency(out, "  transfer", &result->transfer);
		put_latency(out, "Sent late by", &result->lateness);
	}
	put_latency(out, "First byte", &result->ttfb);
	put_latency(out, "Connect", &result->connect);
	if (report->config->url.tls)
		put_latency(out, "TLS", &result->handshake);
	put_counts(out, result);
	put_not_http(out, result);
	put_connections(out, report);
	if (!in_bursts(report))
		put_gap(out, report);
	put_client(out, report);
	put_parts(out, report);
	for (size_t i = 0; i < report->judgement->note_count; i++)
		put_wrapped(out, "Note", report->judgement->notes[i]);
	for (size_t i = 0; i < report->judgement->count; i++)
		put_wrapped(out, "Beware", report->judgement->reasons[i]);
}
