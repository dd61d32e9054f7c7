/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup sweep`: start the service at several settings, measure, recommend.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "study/goal.h"
#include "os/limits.h"
#include "report/report.h"

struct sweep_options {
	struct sz_cli_request request; /* first: its rows are shared */
	struct sz_settings workers, documented, users;
	uint64_t current, least, need, budget_windows, budget_ns, soak_ns, seed;
	const char *url, *expect_body, *ready, *goal;
	uint64_t port, clients, burst, rounds, reconnect_every;
	int connect;
	uint64_t timeout_ns, warmup_ns, window_ns, ready_timeout_ns, stop_timeout_ns;
	struct sz_texts env;
	const char *apply, *undo, *pid_file, *cgroup, *reset;
	uint64_t hook_timeout_ns;
	struct sz_record_options record;
	bool latency_table, quick, dry_run, json;
};
_Static_assert(offsetof(struct sweep_options, request) == 0, "its rows are shared");

static const char *const connect_choices[] = {"paced", "burst", NULL};

#define AT(member) SZ_OPT_AT(struct sweep_options, member)

static const struct sz_opt sweep_options[] = {
	{"workers", SZ_OPT_SETTINGS, AT(workers), .arg = "LIST",
	 .help = "worker counts to try: 1,2,4 or 1..16 (a range is walked by doubling); up to "
		 "twice the cores unless given"},
	{"documented", SZ_OPT_SETTINGS, AT(documented), .arg = "LIST",
	 .help = "counts that the documentation recommends: tried and compared as well"},
	{"current", SZ_OPT_COUNT, AT(current), .arg = "N", .max = SZ_SETTING_VALUE_MAX,
	 .fallback = "0", .help = "the count in use now: tried and compared as well; 0: none"},
	{"url", SZ_OPT_TEXT, AT(url), .arg = "URL", .fallback = "/",
	 .help = "what to request: a path on the service, or a whole http:// URL"},
	{"port", SZ_OPT_COUNT, AT(port), .arg = "N", .max = 65535, .fallback = "0",
	 .help = "the service's port, put in place of {port}; 0 picks a free one"},
	{"env", SZ_OPT_TEXTS, AT(env), .arg = "NAME=VALUE",
	 .help = "set an environment variable of the service; {workers} and {port} work here too; "
		 "may be repeated"},
	{"clients", SZ_OPT_COUNT, AT(clients), .arg = "N|knee", .word = "knee", .min = 1,
	 .max = SZ_LOAD_CLIENTS_MAX, .fallback = "50",
	 .help = "clients, each with one request in flight; knee: as many as the largest count of "
		 "--workers gains from, found by doubling"},
	{"burst", SZ_OPT_COUNT, AT(burst), .arg = "K", .max = SZ_LOAD_CLIENTS_MAX, .fallback = "0",
	 .help = "instead of the closed loop, rounds in which every user sends K requests at once: "
		 "compares the slowest first byte; --clients is not used"},
	{"users", SZ_OPT_SETTINGS, AT(users), .arg = "LIST", .fallback = "1",
	 .help = "users whose bursts come at the same instant: settings are compared at the most, "
		 "and fewer (1..8 is walked by doubling) tell from how many on more workers pay"},
	{"rounds", SZ_OPT_COUNT, AT(rounds), .arg = "N", .min = 1, .max = SZ_LOAD_ROUNDS_MAX,
	 .fallback = "20", .help = "rounds in a window of bursts"},
	{"connect", SZ_OPT_CHOICE, AT(connect), .choices = connect_choices, .fallback = "paced",
	 .help = "open connections one after the other's first answer, or all at once"},
	{"reconnect-every", SZ_OPT_COUNT, AT(reconnect_every), .arg = "N", .max = 1000000000,
	 .fallback = "0", .help = "responses before a client opens a new connection; 0: never"},
	{"timeout", SZ_OPT_DURATION, AT(timeout_ns), .arg = "TIME", .min = SZ_NS_PER_MS,
	 .max = 3600 * SZ_NS_PER_S, .fallback = "30s",
	 .help = "a request that takes longer has failed"},
	{"expect-body", SZ_OPT_TEXT, AT(expect_body), .arg = "TEXT",
	 .help = "what a good answer holds: one without it, such as an error page with status 200, "
		 "has failed"},
	{"warmup", SZ_OPT_DURATION, AT(warmup_ns), .arg = "TIME", .max = 600 * SZ_NS_PER_S,
	 .fallback = "500ms", .help = "least time under load before a window opens"},
	{"window", SZ_OPT_DURATION, AT(window_ns), .arg = "TIME", .min = 100 * SZ_NS_PER_MS,
	 .max = 3600 * SZ_NS_PER_S, .fallback = "3s",
	 .help = "least length of a window; it goes on to 300 requests, or 10 s"},
	{"min", SZ_OPT_COUNT, AT(least), .arg = "N", .max = SZ_SETTING_VALUE_MAX, .fallback = "1",
	 .help = "recommend no fewer: 1 may carry the load, 2 survive the crash of one"},
	{"need", SZ_OPT_COUNT, AT(need), .arg = "RPS", .max = UINT32_MAX, .fallback = "0",
	 .help = "recommend the smallest count that carries so many requests per second, instead "
		 "of "
		 "the smallest that is as good as the best; 0: no need"},
	{"slo", SZ_OPT_TEXT, AT(goal), .arg = "GOAL",
	 .help = "like 'p99<250ms': compare counts by the highest rate of calls, coming when they "
		 "are due, that meets it"},
	{"latency-table", SZ_OPT_FLAG, AT(latency_table),
	 .help = "at the end, the latency of the recommended count at 50, 70 and 85 % of what it "
		 "can do"},
	{"reset", SZ_OPT_TEXT, AT(reset), .arg = "COMMAND",
	 .help = "shell command before each start, to empty a cache or a database"},
	{"apply", SZ_OPT_TEXT, AT(apply), .arg = "COMMAND",
	 .help = "for a service that already runs: shell command that sets it to {workers}; "
		 "instead "
		 "of CMD, with --port or a port in --url"},
	{"undo", SZ_OPT_TEXT, AT(undo), .arg = "COMMAND",
	 .help = "shell command that puts that service back, run once at the end"},
	{"pid-file", SZ_OPT_TEXT, AT(pid_file), .arg = "PATH",
	 .help = "find that service by this file instead of its port"},
	{"cgroup", SZ_OPT_TEXT, AT(cgroup), .arg = "PATH",
	 .help = "find that service by its cgroup instead of its port"},
	{"hook-timeout", SZ_OPT_DURATION, AT(hook_timeout_ns), .arg = "TIME",
	 .min = 100 * SZ_NS_PER_MS, .max = 3600 * SZ_NS_PER_S, .fallback = "60s",
	 .help = "how long --reset, --apply and --undo may take"},
	{"quick", SZ_OPT_FLAG, AT(quick),
	 .help = "one window per count: a first answer, without repeats to make it sure"},
	{"budget", SZ_OPT_DURATION, AT(budget_ns), .arg = "TIME", .max = 24 * 3600 * SZ_NS_PER_S,
	 .fallback = "5m", .help = "no further repeats begin after this time"},
	{"budget-windows", SZ_OPT_COUNT, AT(budget_windows), .arg = "N", .min = 1, .max = 10000,
	 .fallback = "48", .help = "no further repeats begin after so many windows"},
	{"soak", SZ_OPT_DURATION, AT(soak_ns), .arg = "TIME", .max = 24 * 3600 * SZ_NS_PER_S,
	 .fallback = "0",
	 .help = "load the recommended count for so long at the end: makes memory a "
		 "budget (3m or more)"},
	{"seed", SZ_OPT_COUNT, AT(seed), .arg = "N", .max = UINT32_MAX, .fallback = "1",
	 .help = "of the random order in which settings are repeated"},
	{"ready", SZ_OPT_TEXT, AT(ready), .arg = "URL",
	 .help = "what answers 2xx or 3xx once the service is ready; --url unless given"},
	{"ready-timeout", SZ_OPT_DURATION, AT(ready_timeout_ns), .arg = "TIME",
	 .min = 10 * SZ_NS_PER_MS, .max = 3600 * SZ_NS_PER_S, .fallback = "60s",
	 .help = "how long the service may take to become ready"},
	{"stop-timeout", SZ_OPT_DURATION, AT(stop_timeout_ns), .arg = "TIME",
	 .max = 600 * SZ_NS_PER_S, .fallback = "10s",
	 .help = "how long it may take to stop before it is killed"},
	{"file", SZ_OPT_FILE, .arg = "PATH",
	 .help = "a YAML file of options by their names without dashes (workers: 1,2,4 or "
		 "quick: true; env: [A=1, B=2]), and CMD as command: [server, \"{port}\"]; the "
		 "command line wins over it; paths in it are relative to the current directory"},
	{"db", SZ_OPT_TEXT, AT(record.db), .arg = "PATH",
	 .help = "the file of records; $XDG_STATE_HOME/sizeup/history.db unless given"},
	{"no-record", SZ_OPT_FLAG, AT(record.no_record), .help = "keep no record of this run"},
	{"resume", SZ_OPT_FLAG, AT(record.resume),
	 .help = "go on with the newest run that was killed or interrupted; the options must be "
		 "the same"},
	{"dry-run", SZ_OPT_FLAG, AT(dry_run), .help = "print the plan and start nothing"},
	{"json", SZ_OPT_FLAG, AT(json), .help = "print one JSON document instead of text"},
};

static const char *const sweep_examples[] = {
	"sizeup sweep --workers 1,2,4 --url '/cpu?ms=20' -- sizeup serve --workers {workers} "
	"--port {port}",
	"sizeup sweep --url '/cpu?ms=20' -- /usr/bin/python3 -m uvicorn --app-dir examples/uvicorn "
	"--workers {workers} --port {port} app:app",
	"sizeup sweep --env WORKERS={workers} --env PORT={port} --url '/io?ms=20' -- sh -c 'exec "
	"sizeup serve --workers $WORKERS --port $PORT'",
	"sizeup sweep --file examples/uvicorn/sizeup.yaml --workers 1,2",
	NULL,
};

/* 1, 2, 4 … twice the cores: where CPU-bound and waiting services part. */
static int default_settings(const struct sz_os *os, struct sz_settings *settings,
			    struct sz_err *err)
{
	struct sz_limits limits;
	char range[32];
	if (sz_limits_read(os, getpid(), &limits, err) < 0)
		return -1;
	double last = limits.cores * 2;
	snprintf(range, sizeof(range), "1..%.0f", last < 2 ? 2.0 : last > 4096 ? 4096.0 : last);
	return sz_parse_settings(range, settings, err);
}

static int check_load(const struct sweep_options *options, struct sz_err *err)
{
	const char *bursts = options->request.har ? "--har" : "--burst";
	if (options->goal && options->need) {
		sz_err_set(err, SZ_USAGE, 0, "--need and --slo exclude each other");
		return sz_err_hint(err, "with --slo the table tells what each count carries within "
					"the goal");
	}
	if (!options->request.har && !options->burst)
		return 0;
	if (options->goal || options->latency_table) {
		sz_err_set(err, SZ_USAGE, 0,
			   "%s excludes --slo and --latency-table: bursts have "
			   "no rate",
			   bursts);
		return sz_err_hint(err, "leave out one of them");
	}
	if (options->need) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--need and %s exclude each other: requests per second "
			   "are what a closed loop carries",
			   bursts);
		return sz_err_hint(err, "leave out one of them");
	}
	if (options->clients)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%s and --clients knee exclude each other", bursts);
	return sz_err_hint(err, "bursts have --users; leave out one of the two");
}

/* Clients are those of the most users. */
static int fill_burst(const struct sweep_options *options, struct sz_sweep_config *config,
		      struct sz_err *err)
{
	const struct sz_settings *users = &options->users;
	config->burst = (unsigned)options->burst;
	sz_cli_fill_page(&options->request, &config->burst, &config->load);
	if (!config->burst)
		return sz_cli_no_users(users->value[users->count - 1], err);
	config->rounds = options->rounds;
	config->load.arrivals = SZ_ARRIVALS_BURST;
	return sz_cli_fill_users(config->burst, users->value[users->count - 1], &config->load, err);
}

static int fill_config(const struct sweep_options *options, char *const *argv,
		       struct sz_cli_asked *asked, struct sz_sweep_config *config,
		       struct sz_err *err)
{
	*config = (struct sz_sweep_config){
		.argv = argv,
		.env = options->env.item,
		.workers = options->workers,
		.users = options->users,
		.load = {.clients = (unsigned)options->clients,
			 .seed = options->seed,
			 .pause_ns = SZ_LOAD_PAUSE_NS,
			 .connect = (enum sz_connect_mode)options->connect,
			 .reconnect_every = options->reconnect_every,
			 .timeout_ns = options->timeout_ns,
			 .warmup_ns = options->warmup_ns},
		.reset = options->reset,
		.attached = {options->apply, options->undo, options->pid_file, options->cgroup},
		.hook_timeout_ns = options->hook_timeout_ns,
		.ready_timeout_ns = options->ready_timeout_ns,
		.stop_timeout_ns = options->stop_timeout_ns,
		.window_ns = options->window_ns,
		.documented = options->documented,
		.current = (unsigned)options->current,
		.least = (unsigned)options->least,
		.need_rps = options->need,
		.latency_table = options->latency_table,
		.ascent_only = options->quick,
		.budget_windows = (unsigned)options->budget_windows,
		.budget_ns = options->budget_ns,
		.soak_ns = options->soak_ns,
		.seed = options->seed,
	};
	if (options->goal && sz_goal_parse(options->goal, &config->goal, err) < 0)
		return sz_err_wrap(err, "--slo");
	if (check_load(options, err) < 0 || sz_os_init(&config->os, NULL, err) < 0 ||
	    sz_cli_fill_expected(options->expect_body, &config->load, err) < 0)
		return -1;
	if (config->workers.count == 0 && default_settings(&config->os, &config->workers, err) < 0)
		return -1;
	const struct sz_cli_service service = {
		.url = options->url,
		.ready = options->ready,
		.port = (uint16_t)options->port,
		.request = &options->request,
		.asked = asked,
	};
	return sz_cli_fill_service(&service, config, err) < 0 ? -1
							      : fill_burst(options, config, err);
}

static int run_sweep(const struct sweep_options *options, struct sz_sweep_config *config,
		     struct sz_sweep *sweep, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	if (sz_sweep_describe(config, sweep, err) < 0 ||
	    sz_cli_record_begin(&options->record, &sz_cmd_sweep.spec, options, config, sweep, err) <
		    0)
		return -1;
	int status = sz_cli_sweep(config, sweep, err);
	sz_cli_record_end(config, sweep, status);
	if (status < 0 && !options->json)
		return -1;
	if (options->json)
		sz_report_sweep_json(sweep, &view);
	else
		sz_report_sweep_text(sweep, &view);
	if (sz_cli_print(&view, status < 0 ? NULL : err) < 0 || status < 0)
		return -1;
	return sz_cli_sweep_exit(sweep);
}

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	struct sweep_options options = {0};
	struct sz_sweep_config config;
	struct sz_sweep sweep;
	sz_autoasked struct sz_cli_asked asked = {0};
	sz_autoparsed struct sz_parsed parsed = {0};
	int help = sz_cli_parse(spec, argv, &options, &parsed, err);
	if (help)
		return help < 0 ? -1 : 0;
	if (fill_config(&options, parsed.command, &asked, &config, err) < 0)
		return -1;
	if (options.dry_run) {
		sz_autobuf struct sz_buf plan = {0};
		sz_cli_plan(&config, &plan);
		return sz_cli_print(&plan, err);
	}
	if (sz_stop_init(err) < 0)
		return -1;
	sz_sweep_init(&sweep);
	int status = run_sweep(&options, &config, &sweep, err);
	sz_sweep_fini(&sweep);
	return status;
}

const struct sz_cli_command sz_cmd_sweep = {
	.spec = {.name = "sweep",
		 .operands = "-- CMD …",
		 .summary = "start a service at several worker counts, measure, recommend",
		 .about = "Starts CMD once per worker count, with {workers} and {port} in its "
			  "arguments (or in --env) replaced, loads it, watches its processes, and "
			  "recommends the smallest count that is not measurably worse than the "
			  "best. "
			  "Exit status: 0 answered, 1 no count can be recommended, 2 the command "
			  "line "
			  "is wrong, 3 the service or the machine failed, 4 the measurement is not "
			  "trustworthy, 130 interrupted.",
		 .options = sweep_options,
		 .option_count = SZ_ARRAY_LEN(sweep_options),
		 .shared = sz_cli_request_options,
		 .shared_count = SZ_CLI_REQUEST_OPTIONS,
		 .examples = sweep_examples,
		 .takes_command = true,
		 .operand_name = "command"},
	.run = run,
};
