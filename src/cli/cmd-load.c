/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup load`: the load generator alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "load/load.h"
#include "report/report.h"

#define URLS_MAX 64
#define ROUNDS_MOST_NS (24 * 3600 * SZ_NS_PER_S) /* their number ends them */

struct load_options {
	uint64_t clients, reconnect_every, duration_ns, timeout_ns, warmup_ns;
	uint64_t burst, rounds, users, every_ns, seed, streams;
	const char *rate, *expect_body;
	int connect, arrivals, late;
	struct sz_cli_request request;
	bool json;
};

static const char *const connect_choices[] = {"paced", "burst", NULL};
static const char *const arrival_choices[] = {"constant", "poisson", NULL};
static const char *const late_choices[] = {"send", "drop", NULL};
static const char *const http_choices[] = {[SZ_HTTP_1] = "1", [SZ_HTTP_2] = "2", NULL};

#define AT(member) SZ_OPT_AT(struct load_options, member)

static const struct sz_opt load_options[] = {
	{"clients", SZ_OPT_COUNT, AT(clients), .arg = "N", .min = 1, .max = SZ_LOAD_CLIENTS_MAX,
	 .fallback = "50", .help = "clients, each with one request in flight"},
	{"http", SZ_OPT_CHOICE, AT(request.http), .choices = http_choices, .fallback = "1",
	 .help = "HTTP/1.1, a connection per client; or HTTP/2: as agreed on with https (ALPN), "
		 "unasked with http (prior knowledge)"},
	{"streams", SZ_OPT_COUNT, AT(streams), .arg = "N", .min = 1, .max = SZ_LOAD_CLIENTS_MAX,
	 .fallback = "1", .help = "clients that share a connection of --http 2"},
	{"duration", SZ_OPT_DURATION, AT(duration_ns), .arg = "TIME", .min = 10 * SZ_NS_PER_MS,
	 .max = 24 * 3600 * SZ_NS_PER_S, .fallback = "10s", .help = "length of the window"},
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
	{"arrivals", SZ_OPT_CHOICE, AT(arrivals), .choices = arrival_choices,
	 .fallback = "constant", .help = "gaps between the calls of --rate: even, or random"},
	{"late", SZ_OPT_CHOICE, AT(late), .choices = late_choices, .fallback = "send",
	 .help = "calls of --rate for which no client is free wait, and leave at no more than "
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
	{"file", SZ_OPT_FILE, .arg = "PATH",
	 .help = "a YAML file of options by their names without dashes (clients: 200), and URL as "
		 "url: http://127.0.0.1:8000/; the command line wins over it; paths in it are "
		 "relative to the current directory"},
	{"json", SZ_OPT_FLAG, AT(json), .help = "print one JSON document instead of text"},
	SZ_CLI_REQUEST_OPTIONS(struct load_options, request),
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

static int fill_burst(const struct load_options *options, struct sz_load_config *config,
		      struct sz_err *err)
{
	unsigned connections = (unsigned)options->burst;
	if (config->arrivals == SZ_ARRIVALS_OPEN)
		return 0;
	sz_cli_fill_page(&options->request, &connections, config);
	if (!connections)
		return 0;
	config->arrivals = SZ_ARRIVALS_BURST;
	return sz_cli_fill_users(connections, options->users, config, err);
}

static int fill_config(const struct load_options *options, const struct sz_parsed *parsed,
		       struct sz_cli_asked *asked, struct sz_load_config *config,
		       struct sz_err *err)
{
	*config = (struct sz_load_config){
		.clients = (unsigned)options->clients,
		.streams = (unsigned)options->streams,
		.seed = options->seed,
		.pause_ns = SZ_LOAD_PAUSE_NS,
		.every_ns = options->every_ns,
		.connect = (enum sz_connect_mode)options->connect,
		.reconnect_every = options->reconnect_every,
		.timeout_ns = options->timeout_ns,
		.warmup_ns = options->warmup_ns,
	};
	if (fill_rate(options, config, err) < 0 ||
	    sz_cli_fill_expected(options->expect_body, config, err) < 0 ||
	    sz_cli_ask(&options->request, parsed->operand, parsed->operand_count, asked, config,
		       err) < 0)
		return -1;
	return fill_burst(options, config, err);
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

static struct sz_load_span span_of(const struct load_options *options,
				   const struct sz_load_config *config)
{
	if (config->arrivals == SZ_ARRIVALS_BURST)
		return (struct sz_load_span){.rounds = options->rounds, .max_ns = ROUNDS_MOST_NS};
	return (struct sz_load_span){.min_ns = options->duration_ns,
				     .max_ns = options->duration_ns};
}

static int measure(struct sz_load *load, const struct sz_load_span *span,
		   struct sz_load_result *result, struct sz_err *err)
{
	if (sz_load_open(load, err) < 0)
		return -1;
	return sz_load_window(load, span, result, err);
}

static int exit_status(const struct sz_load_report *report)
{
	if (report->result->interrupted)
		return SZ_INTERRUPTED;
	if (sz_load_has_failed(report->result))
		return SZ_MACHINE;
	return report->judgement->count ? SZ_UNTRUSTED : SZ_OK;
}

static void name_target(const struct sz_load_config *config, struct sz_load_report *report)
{
	const struct sz_requests *requests = config->requests;
	char host[272];
	int len =
		snprintf(report->url, sizeof(report->url), "%s://%s%.200s",
			 config->url.tls ? "https" : "http", sz_url_host_header(&config->url, host),
			 requests->count == 1 ? requests->items[0].target : "");
	if (requests->count > 1)
		snprintf(report->url + len, sizeof(report->url) - (size_t)len, " (%zu requests)",
			 requests->count);
}

static int show(const struct load_options *options, const struct sz_load_config *config,
		const struct sz_load_result *result, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = config,
					.result = result};
	name_target(config, &report);
	if (result->duration_ns == 0)
		return sz_err_set(err, SZ_INTERRUPTED, 0, "interrupted before the window opened");
	sz_load_judge(config, result, &judgement);
	if (options->json)
		sz_report_load_json(&report, &view);
	else
		sz_report_load_text(&report, &view);
	return sz_cli_print(&view, err) < 0 ? -1 : exit_status(&report);
}

static int load_and_show(const struct load_options *options, const struct sz_load_config *config,
			 struct sz_err *err)
{
	struct sz_load_span span = span_of(options, config);
	struct live live = {.duration_ns = options->duration_ns};
	struct sz_load *load = NULL;
	if (isatty(STDERR_FILENO) && config->arrivals != SZ_ARRIVALS_BURST) {
		span.precise_enough = tell_live;
		span.at_edge = start_live;
		span.arg = &live;
	}
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	if (!result)
		return sz_err_nomem(err);
	int status = sz_load_new(config, &load, err);
	if (status == 0)
		status = measure(load, &span, result, err);
	if (status == 0)
		status = show(options, config, result, err);
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
	if (parsed.operand_count == 0 && !options.request.har && !options.request.list) {
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
			 "due, whatever becomes of the others. Every request has exactly "
			 "one outcome; latency is of good responses only. A run is aborted when "
			 "most requests fail or the service is gone. Exit status: 0 answered, 2 "
			 "the command line is wrong, 3 no request succeeded or the service was "
			 "gone, 4 the numbers are not trustworthy (more than 1 % failed, for one), "
			 "130 interrupted.",
		 .options = load_options,
		 .option_count = SZ_ARRAY_LEN(load_options),
		 .examples = load_examples,
		 .operand_max = URLS_MAX,
		 .operand_name = "url"},
	.run = run,
};
