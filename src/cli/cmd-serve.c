/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup serve`: the reference server.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "os/limits.h"
#include "rt/rt.h"
#include "serve/fault.h"
#include "serve/serve.h"

struct serve_options {
	const char *host, *fault, *fault_log;
	uint64_t port, workers, backlog, connections_max, stop_budget_ns, fault_every;
	bool reuseport;
};

#define AT(member) SZ_OPT_AT(struct serve_options, member)

static const struct sz_opt serve_options[] = {
	{"host", SZ_OPT_TEXT, AT(host), .arg = "ADDRESS", .fallback = "127.0.0.1",
	 .help = "numeric address to listen on"},
	{"port", SZ_OPT_COUNT, AT(port), .arg = "N", .max = 65535, .fallback = "8000",
	 .help = "port to listen on; 0 picks a free one and prints it"},
	{"workers", SZ_OPT_COUNT, AT(workers), .arg = "N", .min = 1, .max = 1024, .fallback = "1",
	 .help = "worker processes"},
	{"backlog", SZ_OPT_COUNT, AT(backlog), .arg = "N", .min = 1, .max = 1000000,
	 .fallback = "4096", .help = "connections that may wait to be accepted"},
	{"connections-max", SZ_OPT_COUNT, AT(connections_max), .arg = "N", .min = 1, .max = 1000000,
	 .fallback = "10k", .help = "connections a worker holds at most"},
	{"reuseport", SZ_OPT_FLAG, AT(reuseport),
	 .help = "a listening socket per worker; the kernel spreads connections by hash"},
	{"stop-budget", SZ_OPT_DURATION, AT(stop_budget_ns), .arg = "TIME",
	 .max = 3600 * SZ_NS_PER_S, .fallback = "10s",
	 .help = "how long a stop may wait for requests in flight"},
	{"fault", SZ_OPT_TEXT, AT(fault), .arg = "NAME[=ARG]",
	 .help = "misbehave in this way; `list` prints all of them. One process that answers "
		 "every path at once; of the options above it uses host, port and backlog"},
	{"fault-every", SZ_OPT_COUNT, AT(fault_every), .arg = "N", .min = 1, .max = 1000000000,
	 .fallback = "1",
	 .help = "misbehave on every Nth request (or connection), and answer the others well"},
	{"fault-log", SZ_OPT_TEXT, AT(fault_log), .arg = "FILE",
	 .help = "write counts of what the server did, as JSON: at the start, on SIGUSR1, and at "
		 "the end"},
};

static const char *const serve_examples[] = {
	"sizeup serve --workers 2 --port 8000",
	"sizeup serve --workers 4 --reuseport --port 0",
	"sizeup serve --fault list",
	"sizeup serve --fault truncate=100 --fault-every 3 --fault-log /tmp/faults.json",
	NULL,
};

static void tell_port(uint16_t port, void *app)
{
	const struct serve_options *options = app;
	fprintf(stderr, "serving on %s port %u with %u worker%s; SIGTERM or Ctrl-C stops\n",
		options->host, port, (unsigned)options->workers, options->workers == 1 ? "" : "s");
}

static int list_faults(struct sz_err *err)
{
	sz_autobuf struct sz_buf list = {0};
	sz_fault_list(&list);
	return sz_cli_print(&list, err);
}

static int run_fault(struct serve_options *options, struct sz_err *err)
{
	struct sz_fault_config config = {
		.every = options->fault_every,
		.host = options->host,
		.port = (uint16_t)options->port,
		.backlog = (int)options->backlog,
		.log_path = options->fault_log,
		.on_listening = tell_port,
		.app = options,
	};
	if (strcmp(options->fault, "list") == 0)
		return list_faults(err);
	if (sz_fault_parse(options->fault, &config.choice, err) < 0)
		return -1;
	if (options->workers > 1 || options->reuseport) {
		sz_err_set(err, SZ_USAGE, 0, "a server that misbehaves is one process");
		return sz_err_hint(err, "leave out --workers and --reuseport");
	}
	sz_raise_descriptor_limit();
	if (sz_stop_init(err) < 0)
		return -1;
	return sz_fault_run(&config, err);
}

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	struct serve_options options = {0};
	sz_autoparsed struct sz_parsed parsed = {0};
	int help = sz_cli_parse(spec, argv, &options, &parsed, err);
	if (help)
		return help < 0 ? -1 : 0;
	if (options.fault)
		return run_fault(&options, err);
	if (options.fault_log || options.fault_every != 1) {
		sz_err_set(err, SZ_USAGE, 0, "there is no --fault to log or to repeat");
		return sz_err_hint(err, "choose one: sizeup serve --fault list");
	}
	const struct sz_rt_config config = {
		.host = options.host,
		.port = (uint16_t)options.port,
		.workers = (unsigned)options.workers,
		.backlog = (int)options.backlog,
		.reuseport = options.reuseport,
		.stop_budget_ns = options.stop_budget_ns,
		.connections_max = (unsigned)options.connections_max,
		.handle = sz_serve_handle,
		.on_listening = tell_port,
		.app = &options,
	};
	sz_raise_descriptor_limit(); /* a connection costs one */
	return sz_rt_run(&config, err);
}

const struct sz_cli_command sz_cmd_serve = {
	.spec = {.name = "serve",
		 .summary = "the reference server, whose costs are known exactly",
		 .about =
			 "An HTTP/1.1 server with prefork workers and handlers of known cost: / "
			 "does "
			 "nothing, /io?ms=T answers after T ms without work, /cpu?ms=T burns T ms "
			 "of "
			 "CPU, /block?ms=T sleeps on the event loop so that every other request of "
			 "that worker waits. With --fault it is a server that misbehaves in a "
			 "known way and counts what it did, to test load generators against.",
		 .options = serve_options,
		 .option_count = SZ_ARRAY_LEN(serve_options),
		 .examples = serve_examples},
	.run = run,
};
