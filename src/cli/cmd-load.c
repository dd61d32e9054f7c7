/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup load`: the load generator alone.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/load-options.h"
#include "load/threads.h"

#define URLS_MAX 64

static const char *const connect_choices[] = {"paced", "burst", NULL};
static const char *const arrival_choices[] = {"constant", "poisson", NULL};
static const char *const late_choices[] = {"send", "drop", NULL};

#define AT(member) SZ_OPT_AT(struct sz_load_options, member)

static const struct sz_opt load_options[] = {
	{"clients", SZ_OPT_COUNT, AT(clients), .arg = "N", .min = 1,
	 .max = (uint64_t)SZ_LOAD_CLIENTS_MAX * SZ_SHARDS_MAX, .fallback = "50",
	 .help = "clients, each with one request in flight"},
	{"threads", SZ_OPT_COUNT, AT(threads), .arg = "N", .min = 1, .max = SZ_LOAD_THREADS_MAX,
	 .fallback = "1",
	 .help = "threads that share the load, when one core is not enough for it"},
	{"duration", SZ_OPT_DURATION, AT(duration_ns), .arg = "TIME", .min = 10 * SZ_NS_PER_MS,
	 .max = 24 * 3600 * SZ_NS_PER_S, .fallback = "10s", .help = "length of the window"},
	{"requests", SZ_OPT_COUNT, AT(requests), .arg = "N", .min = 1, .max = UINT32_MAX,
	 .help = "end as soon as so many were answered well; --duration is then the longest. The "
		 "service gets more: those of connecting and warming up, and the last under way"},
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
	 .help = "calls of --rate or --log for which no client is free wait, as long as --timeout, "
		 "and leave at no more than twice the rate; or are dropped at once"},
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
		 "is events (a comment line that keeps the connection alive is one, too), gaps "
		 "and who ends early; none is replaced, --timeout is until the "
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
	 .help = "also write a line for each second of the window, and of what was settled after "
		 "it: what was sent, and what was settled by outcome"},
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

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	struct sz_load_options options = {0};
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
	if (sz_cli_load_config(&options, &parsed, &asked, &config, err) < 0 ||
	    sz_stop_init(err) < 0)
		return -1;
	return sz_cli_load(&options, &config, err);
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
