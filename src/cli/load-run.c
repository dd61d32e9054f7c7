/* SPDX-License-Identifier: Apache-2.0
 *
 * A load from its plan to its result: which part of it is this machine's, when, by how
 * many threads; shown, or kept for sizeup merge.
 */
#include "cli/load-options.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/replace.h"
#include "load/shard.h"
#include "load/threads.h"
#include "target/target.h"

/* The line of a terminal while a window goes on; written at every poll. */
struct live {
	uint64_t start_ns, duration_ns; /* 0: nobody knows how long it takes */
	const char *counted;
};

static void tell_live(void *arg, uint64_t count)
{
	const struct live *live = arg;
	double now_s = sz_ns_to_s(sz_now_ns() - live->start_ns);
	fprintf(stderr, "\r\033[K  %.0f ", now_s);
	if (live->duration_ns)
		fprintf(stderr, "of %.0f ", sz_ns_to_s(live->duration_ns));
	fprintf(stderr, "s, %llu %s, %.0f/s", (unsigned long long)count, live->counted,
		(double)count / now_s);
}

static void start_live(void *arg, enum sz_edge edge)
{
	struct live *live = arg;
	if (edge == SZ_EDGE_START)
		live->start_ns = sz_now_ns();
	else
		fputs("\r\033[K", stderr);
	/* Behind an overload that takes as long as a time-out. */
	if (edge == SZ_EDGE_END)
		fputs("  waiting for the last answers", stderr);
}

static void light_up(const struct sz_load_options *options, const struct sz_load_config *config,
		     struct live *live, struct sz_load_span *span)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (config->arrivals != SZ_ARRIVALS_BURST)
		live->duration_ns = sz_cli_load_duration_ns(options, config);
	live->counted = config->arrivals == SZ_ARRIVALS_STREAMS ? "events" : "good answers";
	span->at_poll = tell_live;
	span->at_edge = start_live;
	span->arg = live;
}

/* That the window ended for another reason than was asked for. */
static void tell_short(const struct sz_load_span *span, const struct sz_load_result *result)
{
	uint64_t ok = result->outcomes[SZ_OUTCOME_OK];
	if (result->interrupted || result->aborted)
		return;
	if (ok < span->requests)
		fprintf(stderr,
			"sizeup: %llu of %llu requests were answered well; a longer --duration "
			"takes more\n",
			(unsigned long long)ok, (unsigned long long)span->requests);
	if (span->error_ratio > 0 && !(result->error_ratio <= span->error_ratio))
		fprintf(stderr,
			"sizeup: the goodput is not known to %.3g %%; a longer --duration tells "
			"it better\n",
			100 * span->error_ratio);
}

/* The load is the caller's to free: parts of the result may be its own. */
static int measure(const struct sz_load_options *options, const struct sz_load_config *config,
		   const struct sz_load_span *span, struct sz_load **load, struct sz_shard_run *run,
		   struct sz_err *err)
{
	if (options->threads > 1)
		return sz_load_by_threads(config, (unsigned)options->threads, span, run, err);
	if (sz_load_new(config, load, err) < 0 || sz_load_open(*load, err) < 0)
		return -1;
	return sz_load_window(*load, span, &run->result, err);
}

static void name_target(const struct sz_load_config *config, char url[SZ_SHARD_TEXT])
{
	const struct sz_requests *requests = config->requests;
	char host[272];
	int len = snprintf(url, SZ_SHARD_TEXT, "%s://%s%.200s", config->url.tls ? "https" : "http",
			   sz_url_host_header(&config->url, host),
			   requests->count == 1 ? requests->items[0].target : "");
	if (requests->count > 1)
		snprintf(url + len, SZ_SHARD_TEXT - (size_t)len, " (%zu requests)",
			 requests->count);
}

/* What is asked of all shards together, and which of them this is. */
static int fill_run(const struct sz_load_options *options, const struct sz_load_config *config,
		    struct sz_shard_run *run, struct sz_err *err)
{
	bool bursts = config->arrivals == SZ_ARRIVALS_BURST;
	run->shard = SZ_SHARD_WHOLE;
	run->config = *config;
	run->duration_ns = bursts ? 0 : options->duration_ns;
	run->rounds = bursts ? options->rounds : 0;
	name_target(config, run->url);
	sz_shard_run_describe(run);
	if (options->shard && sz_shard_parse(options->shard, getenv, &run->shard, err) < 0)
		return -1;
	return options->start_at ? sz_start_parse(options->start_at, &run->start_at_ns, err) : 0;
}

/* A path that can be written once the load is over: that would be late to find out. */
static int check_csv(const char *path, struct sz_err *err)
{
	if (strcmp(path, "-") == 0) {
		sz_err_set(err, SZ_USAGE, 0, "--csv: standard output is the result's");
		return sz_err_hint(err, "--csv /dev/stderr, or --csv ./- for a file of that name");
	}
	sz_autofree char *copy = strdup(path);
	if (!copy)
		return sz_err_nomem(err);
	const char *directory = dirname(copy);
	if (access(directory, W_OK | X_OK) == 0)
		return 0;
	sz_err_set(err, SZ_USAGE, errno, "--csv: cannot write to %.200s", directory);
	return sz_err_hint(err, "mkdir -p it, or give another path");
}

/* Shards that have one command line must not have one file. */
static int name_file(const struct sz_load_options *options, const struct sz_shard *shard,
		     char **path, struct sz_err *err)
{
	struct sz_binding binding = {.name = "shard"};
	bool is_said = options->shard && strcmp(options->shard, "env") == 0;
	if (options->json) {
		sz_err_set(err, SZ_USAGE, 0, "--out and --json exclude each other");
		return sz_err_hint(err, "sizeup merge --json FILE shows what --out kept");
	}
	if (is_said && !sz_template_uses(options->out, "shard")) {
		sz_err_set(err, SZ_USAGE, 0, "--out: all shards would write to %.200s",
			   options->out);
		return sz_err_hint(err, "put {shard} into the name: --out 'shard-{shard}.json'");
	}
	snprintf(binding.value, sizeof(binding.value), "%u", shard->number);
	if (sz_template_expand(options->out, &binding, 1, path, err) < 0)
		return sz_err_wrap(err, "--out");
	return sz_replace_check(*path, err) < 0 ? sz_err_wrap(err, "--out") : 0;
}

/* Who merges judges: a launcher that sees one shard end with another status would
 * end those that are still at it. */
static int keep(const struct sz_shard_run *run, const char *path, struct sz_err *err)
{
	const struct sz_load_result *result = &run->result;
	if (sz_shard_run_save(run, path, err) < 0)
		return -1;
	fprintf(stderr, "sizeup: shard %u of %u on %s: %llu requests sent, kept in %s\n",
		run->shard.number, run->shard.of, run->host, (unsigned long long)result->sent,
		path);
	if (result->interrupted)
		return SZ_INTERRUPTED;
	return sz_load_has_failed(result) ? SZ_MACHINE : SZ_OK;
}

static int write_csv(const struct sz_load_report *report, const char *path, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	sz_report_load_csv(report, &view);
	if (view.failed)
		return sz_err_nomem(err);
	FILE *file = fopen(path, "we");
	bool is_written = file && fwrite(view.data, 1, view.len, file) == view.len;
	if (file && fclose(file) == 0 && is_written)
		return 0;
	sz_err_set(err, SZ_MACHINE, errno, "cannot write %.200s", path);
	return sz_err_hint(err, "give --csv a path that you may write to");
}

static int show(const struct sz_load_options *options, const struct sz_load_config *config,
		struct sz_shard_run *run, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = config,
					.result = &run->result,
					.runs = &run,
					.run_count = options->shard ? 1 : 0,
					.is_sum = options->threads > 1};
	snprintf(report.url, sizeof(report.url), "%s", run->url);
	sz_load_judge(config, &run->result, &judgement);
	if (options->json)
		sz_report_load_json(&report, &view);
	else
		sz_report_load_text(&report, &view);
	if (sz_cli_print(&view, err) < 0 ||
	    (options->csv && write_csv(&report, options->csv, err) < 0))
		return -1;
	return sz_cli_load_exit(&report);
}

/* Of a finished load; config is what this shard did. */
static int finish(const struct sz_load_options *options, const struct sz_load_config *config,
		  struct sz_wall *wall, struct sz_shard_run *run, const char *path,
		  struct sz_err *err)
{
	const struct sz_wall now = sz_wall_read();
	if (run->result.duration_ns == 0)
		return sz_err_set(err, SZ_INTERRUPTED, 0, "interrupted before the window opened");
	sz_wall_look_again(wall, &now);
	run->began_ns = (int64_t)run->result.began_ns + wall->ahead_ns;
	run->clock_error_ns = wall->error_ns;
	return path ? keep(run, path, err) : show(options, config, run, err);
}

/* What is to be done, and when; *part is this shard's of it. */
static int plan(const struct sz_load_options *options, const struct sz_load_config *whole,
		const struct sz_wall *wall, struct sz_shard_run *run, struct sz_load_config *part,
		struct sz_load_span *span, struct sz_err *err)
{
	if (sz_cli_load_span(options, whole, span, err) < 0 ||
	    fill_run(options, whole, run, err) < 0 ||
	    sz_shard_config(&run->shard, whole, part, err) < 0)
		return -1;
	if (!options->start_at)
		return 0;
	return sz_start_on_clock(run->start_at_ns, wall, &span->start_ns, err);
}

static void free_run(struct sz_shard_run **run)
{
	sz_shard_run_free(*run);
}

int sz_cli_load(const struct sz_load_options *options, const struct sz_load_config *whole,
		struct sz_err *err)
{
	struct sz_wall wall = sz_wall_read();
	struct live live = {0};
	struct sz_load_config part;
	struct sz_load_span span;
	struct sz_load *load = NULL;
	__attribute__((cleanup(free_run))) struct sz_shard_run *run = calloc(1, sizeof(*run));
	if (!run)
		return sz_err_nomem(err);
	if (plan(options, whole, &wall, run, &part, &span, err) < 0)
		return -1;
	sz_autofree char *path = NULL;
	if (options->out && name_file(options, &run->shard, &path, err) < 0)
		return -1;
	if (options->csv && check_csv(options->csv, err) < 0)
		return -1;
	light_up(options, whole, &live, &span);
	int status = measure(options, &part, &span, &load, run, err);
	if (status == 0) {
		tell_short(&span, &run->result);
		status = finish(options, &part, &wall, run, path, err);
	}
	sz_load_free(load);
	return status;
}
