/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup demo`: the main job on the reference server, where the right answer
 * is known, so that a newcomer can compare.
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "cli/cli.h"
#include "net/listener.h"
#include "report/report.h"

enum { CLIENTS = 50 };

struct scene {
	const char *title, *path;
	/* Write the known truth and return the count it says is right. */
	unsigned (*truth)(const struct sz_sweep *sweep, struct sz_buf *out);
};

static unsigned cpu_truth(const struct sz_sweep *sweep, struct sz_buf *out)
{
	double cores = sweep->machine.cores_allowed;
	sz_buf_printf(out,
		      "every request burns exactly 2 ms of CPU, so one core ends at 500 req/s and "
		      "%.4g cores at %.0f; more workers than cores cannot help.",
		      cores, cores * 500);
	/* The smallest tested count that can use every core. */
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (sweep->setting[i].workers >= cores)
			return sweep->setting[i].workers;
	}
	return sweep->setting[sweep->setting_count - 1].workers;
}

static unsigned io_truth(const struct sz_sweep *sweep, struct sz_buf *out)
{
	(void)sweep;
	sz_buf_printf(out,
		      "every request only waits for 20 ms, so %d clients get %d / 20 ms = %d req/s "
		      "from any number of workers; one is enough.",
		      CLIENTS, CLIENTS, CLIENTS * 50);
	return 1;
}

static const struct scene scenes[] = {
	{"A handler that computes: /cpu?ms=2", "/cpu?ms=2", cpu_truth},
	{"A handler that waits: /io?ms=20", "/io?ms=20", io_truth},
};

/* The running binary itself. */
static char *const server_argv[] = {(char[]){"/proc/self/exe"},
				    (char[]){"serve"},
				    (char[]){"--workers"},
				    (char[]){"{workers}"},
				    (char[]){"--port"},
				    (char[]){"{port}"},
				    NULL};

static int fill_config(const struct scene *scene, struct sz_sweep_config *config,
		       struct sz_err *err)
{
	*config = (struct sz_sweep_config){
		.argv = server_argv,
		.workers = {.value = {1, 2, 4}, .count = 3},
		.load = {.clients = CLIENTS,
			 .timeout_ns = 10 * SZ_NS_PER_S,
			 .warmup_ns = 500 * SZ_NS_PER_MS},
		.ready_timeout_ns = 10 * SZ_NS_PER_S,
		.stop_timeout_ns = 2 * SZ_NS_PER_S,
		.window_ns = 2 * SZ_NS_PER_S,
		.ascent_only = true, /* the first minute decides */
	};
	struct sz_url *url = &config->load.url;
	if (sz_os_init(&config->os, NULL, err) < 0 || sz_url_parse(scene->path, url, err) < 0)
		return -1;
	snprintf(url->host, sizeof(url->host), "127.0.0.1");
	url->port = sz_free_port(err);
	if (!url->port || sz_url_resolve(url, &config->load.addr, err) < 0)
		return -1;
	config->ready_url = *url;
	return 0;
}

static void add_truth(const struct scene *scene, const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_advice *advice = &sweep->advice;
	sz_autobuf struct sz_buf truth = {0};
	if (advice->status == SZ_STATUS_INTERRUPTED)
		return;
	unsigned right = scene->truth(sweep, &truth);
	sz_buf_printf(&truth, " Right answer: %u.", right);
	if (advice->recommended)
		sz_buf_printf(&truth, " sizeup says: %u.", sweep->setting[advice->setting].workers);
	sz_buf_puts(out, "Known truth   ");
	sz_buf_wrap(out, sz_buf_text(&truth), 14, 88);
	sz_buf_puts(out, "\n\n");
}

static int play(const struct scene *scene, struct sz_sweep *sweep, struct sz_err *err)
{
	struct sz_sweep_config config;
	sz_autobuf struct sz_buf view = {0};
	if (fill_config(scene, &config, err) < 0)
		return -1;
	fprintf(stderr, "%s\n", scene->title);
	if (sz_sweep_describe(&config, sweep, err) < 0 || sz_cli_sweep(&config, sweep, err) < 0)
		return -1;
	snprintf(sweep->command, sizeof(sweep->command),
		 "sizeup serve --workers {workers} --port {port}");
	sz_buf_printf(&view, "\n%s\n\n", scene->title);
	sz_report_sweep_text(sweep, &view);
	add_truth(scene, sweep, &view);
	return sz_cli_print(&view, err) < 0 ? -1 : sz_cli_sweep_exit(sweep);
}

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	sz_autoparsed struct sz_parsed parsed = {0};
	char none;
	int help = sz_cli_parse(spec, argv, &none, &parsed, err);
	if (help)
		return help < 0 ? -1 : 0;
	if (sz_stop_init(err) < 0)
		return -1;
	int worst = 0;
	for (size_t i = 0; i < SZ_ARRAY_LEN(scenes); i++) {
		struct sz_sweep sweep;
		sz_sweep_init(&sweep);
		int status = play(&scenes[i], &sweep, err);
		sz_sweep_fini(&sweep);
		if (status < 0 || status == SZ_INTERRUPTED)
			return status;
		worst = status > worst ? status : worst;
	}
	fputs("Now your own service: sizeup sweep --help\n", stderr);
	return worst;
}

static const char *const demo_examples[] = {"sizeup demo", NULL};

const struct sz_cli_command sz_cmd_demo = {
	.spec = {.name = "demo",
		 .summary = "the whole product in a minute, on the built-in server",
		 .about = "Sweeps two handlers of the reference server at 1, 2 and 4 workers and "
			  "prints "
			  "the known truth beside the answer. Takes less than a minute; loads only "
			  "this machine's loopback.",
		 .examples = demo_examples},
	.run = run,
};
