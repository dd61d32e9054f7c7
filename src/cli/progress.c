/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"

struct progress {
	bool live;
	size_t reported; /* settings told so far */
};

static void clear_line(const struct progress *progress)
{
	if (progress->live)
		fputs("\r\033[K", stderr);
}

static void tell_plan(const struct sz_sweep_config *config)
{
	double least_s, most_s;
	sz_sweep_estimate_s(config, &least_s, &most_s);
	fputs("Plan: workers", stderr);
	for (size_t i = 0; i < config->workers.count; i++)
		fprintf(stderr, "%s%u", i ? ", " : " ", config->workers.value[i]);
	fprintf(stderr,
		", one window each under %u clients, %.0f to %.0f s in all; Ctrl-C keeps "
		"what is finished\n",
		config->load.clients, least_s, most_s);
}

static void tell_finished(struct progress *progress, const struct sz_sweep *sweep)
{
	for (; progress->reported < sweep->setting_count; progress->reported++) {
		const struct sz_setting *setting = &sweep->setting[progress->reported];
		char p50[SZ_UNIT_TEXT];
		if (!setting->measured)
			return;
		clear_line(progress);
		fprintf(stderr, "  %u worker%s: %.1f req/s, p50 %s%s\n", setting->workers,
			setting->workers == 1 ? "" : "s", setting->window.throughput_rps,
			sz_format_duration(p50, setting->window.latency_p50_ms * 1e6),
			setting->window.disturbed ? " (disturbed)" : "");
	}
}

static void tell_step(void *arg, const struct sz_sweep *sweep, const struct sz_progress *now)
{
	static const char *const words[] = {
		[SZ_STEP_CALIBRATE] = "measuring the load generator itself",
		[SZ_STEP_START] = "starting the service",
		[SZ_STEP_ALONE] = "one client alone",
		[SZ_STEP_LOAD] = "under load",
		[SZ_STEP_AGAIN] = "under load again, the first window was disturbed",
		[SZ_STEP_STOP] = "stopping the service",
	};
	struct progress *progress = arg;
	tell_finished(progress, sweep);
	if (!progress->live)
		return;
	clear_line(progress);
	if (now->step == SZ_STEP_CALIBRATE)
		fprintf(stderr, "  %s …", words[now->step]);
	else
		fprintf(stderr, "  %u of %zu, %u workers: %s, about %.0f s …",
			(unsigned)now->setting + 1, sweep->setting_count,
			sweep->setting[now->setting].workers, words[now->step],
			now->expected_s < 1 ? 1.0 : now->expected_s);
	fflush(stderr);
}

int sz_cli_sweep(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	struct progress progress = {.live = isatty(STDERR_FILENO) == 1};
	struct sz_sweep_config told = *config;
	told.progress = tell_step;
	told.progress_arg = &progress;
	tell_plan(config);
	int status = sz_sweep_run(&told, sweep, err);
	tell_finished(&progress, sweep);
	clear_line(&progress);
	return status;
}
