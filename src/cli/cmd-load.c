/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup load`: the load generator alone.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "load/threads.h"
#include "load/load.h"
#include "load/shard.h"
#include "target/target.h"

#define URLS_MAX 64
#define SPEED_LEAST 0.001
#define SPEED_MOST 1000.0
#define PRECISION_LEAST 0.1 /* percent */
#define PRECISION_MOST 50.0
#define PRECISE_AFTER_NS SZ_NS_PER_S
#define ROUNDS_MOST_NS (24 * 3600 * SZ_NS_PER_S) /* their number ends them */

struct load_options {
	struct sz_cli_request request; /* first: its rows are shared */
	uint64_t clients, reconnect_every, duration_ns, timeout_ns, warmup_ns;
	uint64_t burst, rounds, users, every_ns, seed, think_ns, threads, requests;
	const char *rate, *speed, *precision, *expect_body, *shard, *start_at, *out, *csv;
	int connect, arrivals, late;
	bool hold, json;
};
_Static_assert(offsetof(struct load_options, request) == 0, "its rows are shared");

static const char *const connect_choices[] = {"paced", "burst", NULL};
static const char *const arrival_choices[] = {"constant", "poisson", NULL};
static const char *const late_choices[] = {"send", "drop", NULL};

#define AT(member) SZ_OPT_AT(struct load_options, member)

static const struct sz_opt load_options[] = {
	{"clients", SZ_OPT_COUNT, AT(clients), .arg = "N", .min = 1,
	 .max = (uint64_t)SZ_LOAD_CLIENTS_MAX * SZ_SHARDS_MAX, .fallback = "50",
	 .help = "clients, each with one request in flight"},
	{"threads", SZ_OPT_COUNT, AT(threads), .arg = "N", .min = 1, .max = SZ_LOAD_THREADS_MAX,
	 .fallback = "1",
	 .help = "threads that share the load, when one core is not enough for it"},
	{"duration", SZ_OPT_DURATION, AT(duration_ns), .arg = "TIME", .min = 10 * SZ_NS_PER_MS,
	 .max = 24 * 3600 * SZ_NS_PER_S, .fallback = "10s", .help = "length of the window"},
	{"requests", SZ_OPT_COUNT, AT(requests), .arg = "N", .max = UINT32_MAX,
	 .help = "end as soon as so many were answered well; --duration is then the longest"},
	{"precision", SZ_OPT_TEXT, AT(precision), .arg = "P",
	 .help = "end as soon as the goodput is known to so many percent (as 3%), after 1 s at "
		 "the earliest; --duration is then the longest"},
	{"warmup", SZ_OPT_DURATION, AT(warmup_ns), .arg = "TIME", .max = 600 * SZ_NS_PER_S,
	 .fallback = "500ms", .help = "least time under load before the window opens"},
	{"timeout", SZ_OPT_DURATION, AT(timeout_ns), .arg = "TIME", .min = SZ_NS_PER_MS,
	 .max = 3600 * SZ_NS_PER_S, .fallback = "30s",
	 .help = "a request that takes longer has failed"},
	{"connect", SZ_OPT_CHOICE, AT(connect), .choices = connect_choices, .fallback = "paced",
	 .help = "open connections one after the other's first answer, or all at once"},
	{"reconnect-every", SZ_OPT_COUNT, AT(reconnect_every), .arg = "N", .max = 1000000000,
	 .fallback = "0", .help = "responses of a connection before a new one is opened; 0: never"},
	{"expect-body", SZ_OPT_TEXT, AT(expect_body), .arg = "TEXT",
	 .help = "what a good answer holds: one without it, such as an error page with status 200, "
		 "has failed"},
	{"rate", SZ_OPT_TEXT, AT(rate), .arg = "RATE",
	 .help = "instead of the closed loop, calls that come when they are due: 200 per second, "
		 "100..1000 along a ramp, or 100,200,400 in steps over the duration; --clients is "
		 "the most in flight, and latency counts from when a call was due"},
	{"log", SZ_OPT_TEXT, AT(request.log), .arg = "PATH",
	 .help = "instead of the closed loop, the calls of an access log (as nginx and Apache "
		 "write "
		 "it) when they came, at most the first --duration of them; URL is the service"},
	{"speed", SZ_OPT_TEXT, AT(speed), .arg = "X", .fallback = "1",
	 .help = "of --log: 10 is ten times as fast"},
	{"think", SZ_OPT_DURATION, AT(think_ns), .arg = "TIME", .max = 3600 * SZ_NS_PER_S,
	 .help = "time of a client of the closed loop between an answer and its next request"},
	{"arrivals", SZ_OPT_CHOICE, AT(arrivals), .choices = arrival_choices,
	 .fallback = "constant",
	 .help = "gaps between the calls of --rate, or times of --think: even, or random"},
	{"late", SZ_OPT_CHOICE, AT(late), .choices = late_choices, .fallback = "send",
	 .help = "calls of --rate or --log for which no client is free wait, and leave at no more "
		 "than "
		 "twice the rate; or are dropped"},
	{"seed", SZ_OPT_COUNT, AT(seed), .arg = "N", .max = UINT32_MAX, .fallback = "1",
	 .help = "of random gaps, and of the order of several URLs"},
	{"burst", SZ_OPT_COUNT, AT(burst), .arg = "K", .max = SZ_LOAD_CLIENTS_MAX,
	 .help = "instead of the closed loop, rounds in which every user sends K requests at "
		 "once, each by a client of its own; --clients and --duration are not used"},
	{"rounds", SZ_OPT_COUNT, AT(rounds), .arg = "N", .min = 1, .max = SZ_LOAD_ROUNDS_MAX,
	 .fallback = "20", .help = "rounds of a burst"},
	{"users", SZ_OPT_COUNT, AT(users), .arg = "U", .min = 1, .max = SZ_LOAD_CLIENTS_MAX,
	 .fallback = "1", .help = "users whose bursts come at the same instant"},
	{"every", SZ_OPT_DURATION, AT(every_ns), .arg = "TIME", .min = SZ_NS_PER_MS,
	 .max = 3600 * SZ_NS_PER_S,
	 .help = "from the start of a round to that of the next; without it the next starts "
		 "200 ms after the slowest answer"},
	{"hold", SZ_OPT_FLAG, AT(hold),
	 .help = "instead of the closed loop, streams that stay open, as of server-sent events: "
		 "each client asks once and keeps its response for --duration; what counts then "
		 "is events, gaps and who ends early; none is replaced, --timeout is until the "
		 "response begins, and there is no --warmup"},
	{"shard", SZ_OPT_TEXT, AT(shard), .arg = "I/N",
	 .help = "do one part of N of this load, from 1/N to N/N; env: the one that Open MPI, "
		 "PMI, Slurm or a Kubernetes Indexed Job (with SIZEUP_SHARDS=N) says"},
	{"start-at", SZ_OPT_TEXT, AT(start_at), .arg = "TIME",
	 .help = "open the window then: 2026-07-01T12:00:00Z, or seconds since 1970; clients "
		 "connect and warm up before"},
	{"out", SZ_OPT_TEXT, AT(out), .arg = "FILE",
	 .help = "instead of showing the result keep all of it for sizeup merge; {shard} stands "
		 "for the shard's number"},
	{"csv", SZ_OPT_TEXT, AT(csv), .arg = "PATH",
	 .help = "also write a line for each second of the window: what was sent, and what was "
		 "settled by outcome"},
	{"file", SZ_OPT_FILE, .arg = "PATH",
	 .help = "a YAML file of options by their names without dashes (clients: 200), and URL as "
		 "url: http://127.0.0.1:8000/; the command line wins over it; paths in it are "
		 "relative to the current directory"},
	{"json", SZ_OPT_FLAG, AT(json), .help = "print one JSON document instead of text"},
};

static const char *const load_examples[] = {
	"sizeup serve --port 8000 & sleep 1; sizeup load --duration 3s http://127.0.0.1:8000/; "
	"kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --clients 200 --duration 3s --connect "
	"burst "
	"--json 'http://localhost:8000/io?ms=20'; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --burst 14 --rounds 10 "
	"'http://127.0.0.1:8000/cpu?ms=20'; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --file examples/native/load.yaml; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --rate 200 --arrivals poisson --duration "
	"3s 'http://127.0.0.1:8000/io?ms=20'; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --duration 3s 'http://127.0.0.1:8000/ "
	"weight=9' 'http://127.0.0.1:8000/io?ms=20'; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --har examples/native/page.har --rounds "
	"10 "
	"http://127.0.0.1:8000; kill $!",
	"sizeup serve --fault events=100ms --port 8000 & sleep 1; sizeup load --hold --clients 100 "
	"--duration 3s http://127.0.0.1:8000/; kill $!",
	"sizeup serve --port 8000 & sleep 1; sizeup load --duration 3s --csv "
	"/tmp/load.csv http://127.0.0.1:8000/; kill $!; head -3 /tmp/load.csv",
	"sizeup serve --port 8000 & server=$!; sleep 1; start=$(($(date +%s) + 2)); for i in 1 2; "
	"do sizeup load --shard $i/2 --start-at $start --duration 3s --out /tmp/shard-$i.json "
	"http://127.0.0.1:8000/ & shards=\"$shards $!\"; done; wait $shards; sizeup merge "
	"/tmp/shard-1.json /tmp/shard-2.json; kill $server",
	NULL,
};

static int fill_rate(const struct load_options *options, struct sz_load_config *config,
		     struct sz_err *err)
{
	if (!options->rate)
		return 0;
	if (options->burst) {
		sz_err_set(err, SZ_USAGE, 0, "--rate and --burst exclude each other");
		return sz_err_hint(err, "for bursts at a fixed pace use --burst K --every TIME");
	}
	config->arrivals = SZ_ARRIVALS_OPEN;
	config->late = (enum sz_late)options->late;
	config->rate.poisson = options->arrivals == 1;
	config->rate.seed = options->seed;
	if (sz_rate_parse(options->rate, options->duration_ns, &config->rate, err) < 0)
		return sz_err_wrap(err, "--rate");
	return 0;
}

/* Calls until the duration ends; their mean rate is the pace of catching up. */
static size_t count_until(const struct sz_requests *requests, double until_ns)
{
	size_t count = 0;
	while (count < requests->count && (double)requests->items[count].at_ns < until_ns)
		count++;
	return count;
}

static int fill_replay(const struct load_options *options, struct sz_load_config *config,
		       struct sz_err *err)
{
	char *end;
	if (!options->request.log)
		return 0;
	if (options->rate || options->burst || options->shard || options->out ||
	    options->threads > 1) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--log excludes --rate, --burst, --shard, --out and --threads");
		return sz_err_hint(err, "its calls come when they came");
	}
	double speed = strtod(options->speed, &end);
	if (*end || !(speed >= SPEED_LEAST && speed <= SPEED_MOST)) {
		sz_err_set(err, SZ_USAGE, 0, "--speed: '%.40s' is out of range", options->speed);
		return sz_err_hint(err, "give a number from %g to %g", SPEED_LEAST, SPEED_MOST);
	}
	double duration_s = sz_ns_to_s(options->duration_ns);
	size_t count = count_until(config->requests, duration_s * speed * 1e9);
	if (count < config->requests->count)
		fprintf(stderr,
			"sizeup: the first %zu of %zu calls come within %g s; a longer "
			"--duration takes more\n",
			count, config->requests->count, duration_s);
	double rate_rps = fmax((double)count / duration_s, SZ_RATE_MIN_RPS);
	config->arrivals = SZ_ARRIVALS_OPEN;
	config->late = (enum sz_late)options->late;
	config->replay_speed = speed;
	config->rate =
		(struct sz_rate){.leg = {{rate_rps, rate_rps, options->duration_ns}}, .count = 1};
	return 0;
}

/* What makes no sense with streams that stay open, by name. */
static int check_hold(const struct load_options *options, struct sz_err *err)
{
	const struct {
		const char *name;
		bool is_given;
	} others[] = {
		{"--rate", options->rate != NULL},
		{"--burst", options->burst > 0},
		{"--har", options->request.har != NULL},
		{"--log", options->request.log != NULL},
		{"--think", options->think_ns > 0},
		{"--reconnect-every", options->reconnect_every > 0},
		{"--expect-body", options->expect_body != NULL},
	};
	for (size_t i = 0; options->hold && i < SZ_ARRAY_LEN(others); i++) {
		if (!others[i].is_given)
			continue;
		sz_err_set(err, SZ_USAGE, 0, "--hold and %s exclude each other", others[i].name);
		return sz_err_hint(err, "with --hold each of --clients asks once and keeps its "
					"response");
	}
	return 0;
}

static int fill_csv(const struct load_options *options, struct sz_load_config *config,
		    struct sz_err *err)
{
	if (!options->csv)
		return 0;
	config->wants_seconds = true;
	if (!options->out && options->threads == 1)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "--csv excludes --out and --threads");
	return sz_err_hint(err, "leave one of them out: the seconds of several loads are not "
				"added");
}

static int fill_burst(const struct load_options *options, struct sz_load_config *config,
		      struct sz_err *err)
{
	unsigned connections = (unsigned)options->burst;
	if (config->arrivals == SZ_ARRIVALS_OPEN)
		return sz_cli_no_users(options->users, err);
	sz_cli_fill_page(&options->request, &connections, config);
	if (!connections)
		return sz_cli_no_users(options->users, err);
	config->arrivals = SZ_ARRIVALS_BURST;
	return sz_cli_fill_users(connections, options->users, config, err);
}

static int fill_config(const struct load_options *options, const struct sz_parsed *parsed,
		       struct sz_cli_asked *asked, struct sz_load_config *config,
		       struct sz_err *err)
{
	*config = (struct sz_load_config){
		.clients = (unsigned)options->clients,
		.seed = options->seed,
		.pause_ns = SZ_LOAD_PAUSE_NS,
		.every_ns = options->every_ns,
		.connect = (enum sz_connect_mode)options->connect,
		.reconnect_every = options->reconnect_every,
		.timeout_ns = options->timeout_ns,
		.warmup_ns = options->warmup_ns,
		.think_ns = options->think_ns,
		.think_random = options->arrivals == 1,
	};
	if (options->hold)
		config->arrivals = SZ_ARRIVALS_STREAMS;
	if (check_hold(options, err) < 0 || fill_rate(options, config, err) < 0 ||
	    sz_cli_fill_expected(options->expect_body, config, err) < 0 ||
	    sz_cli_ask(&options->request, parsed->operand, parsed->operand_count, asked, config,
		       err) < 0)
		return -1;
	if (fill_replay(options, config, err) < 0 || fill_csv(options, config, err) < 0)
		return -1;
	return fill_burst(options, config, err);
}

static bool is_loop(const struct sz_load_config *config)
{
	return config->arrivals == SZ_ARRIVALS_CLOSED || config->arrivals == SZ_ARRIVALS_OPEN;
}

/* The line of a terminal while a loop goes on; asked at every poll. */
struct live {
	uint64_t start_ns, duration_ns;
};

static bool tell_live(void *arg, uint64_t ok)
{
	const struct live *live = arg;
	double now_s = sz_ns_to_s(sz_now_ns() - live->start_ns);
	fprintf(stderr, "\r\033[K  %.0f of %.0f s, %llu good answers, %.0f req/s", now_s,
		sz_ns_to_s(live->duration_ns), (unsigned long long)ok, (double)ok / now_s);
	return true;
}

static void start_live(void *arg, enum sz_edge edge)
{
	struct live *live = arg;
	if (edge == SZ_EDGE_START)
		live->start_ns = sz_now_ns();
	else
		fputs("\r\033[K", stderr);
}

/* A replay is over when its last call has come. */
static uint64_t duration_of(const struct load_options *options, const struct sz_load_config *config)
{
	const struct sz_requests *requests = config->requests;
	if (config->replay_speed == 0)
		return options->duration_ns;
	double last_ns = (double)requests->items[requests->count - 1].at_ns / config->replay_speed;
	return (uint64_t)fmin((double)options->duration_ns, last_ns + SZ_NS_PER_MS);
}

static int parse_precision(const char *text, double *ratio, struct sz_err *err)
{
	char *end;
	double percent = strtod(text, &end);
	if ((*end == '\0' || strcmp(end, "%") == 0) && percent >= PRECISION_LEAST &&
	    percent <= PRECISION_MOST) {
		*ratio = percent / 100;
		return 0;
	}
	sz_err_set(err, SZ_USAGE, 0, "--precision: '%.40s' is not a precision", text);
	return sz_err_hint(err, "give a percentage from %g%% to %g%%, as 3%%", PRECISION_LEAST,
			   PRECISION_MOST);
}

/* A closed loop of one process may end before its time. */
static int fill_goal(const struct load_options *options, const struct sz_load_config *config,
		     struct sz_load_span *span, struct sz_err *err)
{
	if (!options->requests && !options->precision)
		return 0;
	if (config->arrivals != SZ_ARRIVALS_CLOSED || options->threads > 1 || options->shard) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--requests and --precision end a closed loop of one thread and one "
			   "machine");
		return sz_err_hint(err, "leave them out; --duration ends every load");
	}
	span->requests = options->requests;
	span->min_ns = options->precision ? PRECISE_AFTER_NS : 0;
	if (span->min_ns > span->max_ns)
		span->min_ns = span->max_ns;
	return options->precision ? parse_precision(options->precision, &span->error_ratio, err)
				  : 0;
}

static int fill_span(const struct load_options *options, const struct sz_load_config *config,
		     struct sz_load_span *span, struct sz_err *err)
{
	uint64_t duration_ns = duration_of(options, config);
	if (config->arrivals == SZ_ARRIVALS_BURST)
		*span = (struct sz_load_span){.rounds = options->rounds, .max_ns = ROUNDS_MOST_NS};
	else
		*span = (struct sz_load_span){.min_ns = duration_ns, .max_ns = duration_ns};
	return fill_goal(options, config, span, err);
}

/* That the window ended for another reason than was asked for. */
static void tell_short(const struct sz_load_span *span, const struct sz_load_result *result)
{
	uint64_t ok = result->outcomes[SZ_OUTCOME_OK];
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
static int measure(const struct load_options *options, const struct sz_load_config *config,
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
static int fill_run(const struct load_options *options, const struct sz_load_config *config,
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
static int check_directory(const char *option, const char *path, struct sz_err *err)
{
	sz_autofree char *copy = strdup(path);
	if (!copy)
		return sz_err_nomem(err);
	const char *directory = dirname(copy);
	if (access(directory, W_OK | X_OK) == 0)
		return 0;
	sz_err_set(err, SZ_USAGE, errno, "%s: cannot write to %.200s", option, directory);
	return sz_err_hint(err, "mkdir -p it, or give another path");
}

/* Shards that have one command line must not have one file. */
static int name_file(const struct load_options *options, const struct sz_shard *shard, char **path,
		     struct sz_err *err)
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
	return check_directory("--out", *path, err);
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

static int show(const struct load_options *options, const struct sz_load_config *config,
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
	if (options->csv && write_csv(&report, options->csv, err) < 0)
		return -1;
	if (options->json)
		sz_report_load_json(&report, &view);
	else
		sz_report_load_text(&report, &view);
	return sz_cli_print(&view, err) < 0 ? -1 : sz_cli_load_exit(&report);
}

/* Of a finished load; config is what this shard did. */
static int finish(const struct load_options *options, const struct sz_load_config *config,
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
static int plan(const struct load_options *options, const struct sz_load_config *whole,
		const struct sz_wall *wall, struct sz_shard_run *run, struct sz_load_config *part,
		struct sz_load_span *span, struct sz_err *err)
{
	if (fill_span(options, whole, span, err) < 0 || fill_run(options, whole, run, err) < 0 ||
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

static int load_and_show(const struct load_options *options, const struct sz_load_config *whole,
			 struct sz_err *err)
{
	struct sz_wall wall = sz_wall_read();
	struct live live = {.duration_ns = duration_of(options, whole)};
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
	if (options->csv && check_directory("--csv", options->csv, err) < 0)
		return -1;
	if (isatty(STDERR_FILENO) && is_loop(whole)) {
		span.precise_enough = tell_live;
		span.at_edge = start_live;
		span.arg = &live;
	}
	int status = measure(options, &part, &span, &load, run, err);
	if (status == 0) {
		tell_short(&span, &run->result);
		status = finish(options, &part, &wall, run, path, err);
	}
	sz_load_free(load);
	return status;
}

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	struct load_options options = {0};
	struct sz_load_config config;
	sz_autoasked struct sz_cli_asked asked = {0};
	sz_autoparsed struct sz_parsed parsed = {0};
	int help = sz_cli_parse(spec, argv, &options, &parsed, err);
	if (help)
		return help < 0 ? -1 : 0;
	if (parsed.operand_count == 0 && !options.request.har && !options.request.list &&
	    !options.request.log) {
		sz_err_set(err, SZ_USAGE, 0, "there is no URL to load");
		return sz_err_hint(err, "sizeup load http://127.0.0.1:8000/");
	}
	if (fill_config(&options, &parsed, &asked, &config, err) < 0 || sz_stop_init(err) < 0)
		return -1;
	return load_and_show(&options, &config, err);
}

const struct sz_cli_command sz_cmd_load = {
	.spec = {.name = "load",
		 .operands = "URL…",
		 .summary = "load a running service and say honestly what came of it",
		 .about =
			 "A closed loop of clients over HTTP/1.1 keep-alive: each sends a request, "
			 "waits for the whole response, and sends again. Or bursts, like a page "
			 "that fires many calls at once: what counts then is how long the slowest "
			 "of a round takes. Or an open loop (--rate): calls come when they are "
			 "due, whatever becomes of the others. Or streams that stay open (--hold). "
			 "Every request has exactly "
			 "one outcome; latency is of good responses only. A run is aborted when "
			 "most requests fail or the service is gone. Several machines can "
			 "each do a shard of one load; what is asked for is asked of all "
			 "together. Exit status: 0 answered, 2 "
			 "the command line is wrong, 3 no request succeeded or the service was "
			 "gone, 4 the numbers are not trustworthy (more than 1 % failed, for one), "
			 "130 interrupted; with --out 0 unless it failed: sizeup merge judges.",
		 .options = load_options,
		 .option_count = SZ_ARRAY_LEN(load_options),
		 .shared = sz_cli_request_options,
		 .shared_count = SZ_CLI_REQUEST_OPTIONS,
		 .examples = load_examples,
		 .operand_max = URLS_MAX,
		 .operand_name = "url"},
	.run = run,
};
