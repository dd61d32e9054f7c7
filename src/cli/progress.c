/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"

struct progress {
	bool live;
	size_t told; /* visits told so far, here or by the run that is resumed */
};

static void clear_line(const struct progress *progress)
{
	if (progress->live)
		fputs("\r\033[K", stderr);
}

/* What the time after the first answer buys. */
static void plan_repeats(const struct sz_sweep_config *config, size_t windows, double least_s,
			 struct sz_buf *out)
{
	double budget_s = sz_ns_to_s(config->budget_ns);
	if (config->ascent_only)
		sz_buf_puts(out, ", which is weak: one window each");
	else if (config->budget_windows <= windows || budget_s <= least_s)
		sz_buf_puts(out, ", which stays weak: the budget is spent by then");
	else
		sz_buf_printf(out,
			      ", then repeats until it is decided, for %.0f s or %u windows at "
			      "most",
			      budget_s, config->budget_windows);
}

void sz_cli_plan(const struct sz_sweep_config *config, struct sz_buf *out)
{
	double least_s, most_s;
	size_t windows = sz_sweep_windows_most(config);
	sz_sweep_estimate_s(config, &least_s, &most_s);
	sz_buf_puts(out, "Plan: workers");
	for (size_t i = 0; i < config->workers.count; i++)
		sz_buf_printf(out, "%s%u", i ? ", " : " ", config->workers.value[i]);
	for (size_t i = 0; i < config->documented.count; i++)
		sz_buf_printf(out, ", %u (documented)", config->documented.value[i]);
	if (config->current)
		sz_buf_printf(out, ", %u (current)", config->current);
	if (config->least > 1)
		sz_buf_printf(out, ", %u (--min)", config->least);
	if (config->load.clients)
		sz_buf_printf(out, " under %u clients", config->load.clients);
	else
		sz_buf_puts(out, " under as many clients as the largest gains from");
	sz_buf_printf(out, "; a first answer after up to %zu window%s, about %.0f to %.0f s",
		      windows, windows == 1 ? "" : "s", least_s, most_s);
	plan_repeats(config, windows, least_s, out);
	if (config->soak_ns)
		sz_buf_printf(out, ", and %.0f s of soak", sz_ns_to_s(config->soak_ns));
	sz_buf_puts(out, "\n");
}

static void tell_plan(const struct sz_sweep_config *config)
{
	sz_autobuf struct sz_buf plan = {0};
	sz_cli_plan(config, &plan);
	fprintf(stderr, "%sCtrl-C keeps what is finished%s\n", sz_buf_text(&plan),
		config->enough ? "; Enter ends it with what is known" : "");
}

/* The first reason, which the enumeration puts outermost. */
static const char *disturbance_of(const struct sz_window *window)
{
	return window->disturbed
		       ? sz_disturbance_text((enum sz_disturbance)__builtin_ctz(window->disturbed))
		       : NULL;
}

static void tell_visits(struct progress *progress, const struct sz_sweep *sweep)
{
	for (; progress->told < sweep->visit_count; progress->told++) {
		const struct sz_visit *visit = &sweep->visits[progress->told];
		const struct sz_setting *setting = &sweep->setting[visit->setting];
		const char *disturbance = disturbance_of(&visit->window);
		char p50[SZ_UNIT_TEXT];
		if (!visit->done)
			return; /* still going on */
		clear_line(progress);
		fprintf(stderr, "  %u worker%s, %u clients: %.1f req/s, p50 %s%s%s\n",
			setting->workers, setting->workers == 1 ? "" : "s", visit->clients,
			visit->window.throughput_rps,
			isnan(visit->window.latency_p50_ms)
				? "–"
				: sz_format_duration(p50, visit->window.latency_p50_ms * 1e6),
			disturbance ? " - disturbed: " : "", disturbance ? disturbance : "");
	}
}

static void tell_first_answer(const struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	if (advice->recommended)
		fprintf(stderr, "First answer: %u (weak: one window each)\n",
			sweep->setting[advice->setting].workers);
	else
		fputs("First answer: none yet\n", stderr);
}

static void tell_unrecorded(const struct progress *progress, const struct sz_sweep *sweep)
{
	clear_line(progress);
	fprintf(stderr, "sizeup: warning: the record ends here: %s\n", sweep->unrecorded);
}

static void tell_step(void *arg, const struct sz_sweep *sweep, const struct sz_progress *now)
{
	static const char *const words[] = {
		[SZ_STEP_CALIBRATE] = "measuring the load generator itself",
		[SZ_STEP_START] = "starting the service",
		[SZ_STEP_ALONE] = "one client alone",
		[SZ_STEP_KNEE] = "more and more clients",
		[SZ_STEP_LOAD] = "under load",
		[SZ_STEP_AGAIN] = "under load again, the first window was disturbed",
		[SZ_STEP_GOAL] = "up to which rate the goal is met",
		[SZ_STEP_STOP] = "stopping the service",
	};
	struct progress *progress = arg;
	tell_visits(progress, sweep);
	if (now->step == SZ_STEP_FIRST_ANSWER)
		tell_first_answer(sweep);
	if (now->step == SZ_STEP_UNRECORDED)
		tell_unrecorded(progress, sweep);
	if (!progress->live || now->step >= SZ_STEP_FIRST_ANSWER)
		return;
	clear_line(progress);
	if (now->step == SZ_STEP_CALIBRATE)
		fprintf(stderr, "  %s …", words[now->step]);
	else
		fprintf(stderr, "  window %zu, %u worker%s: %s, about %.0f s …", sweep->visit_count,
			sweep->setting[now->setting].workers,
			sweep->setting[now->setting].workers == 1 ? "" : "s", words[now->step],
			now->expected_s < 1 ? 1.0 : now->expected_s);
	fflush(stderr);
}

/* A line typed on the terminal: the user has seen enough. */
static bool enough(void *arg)
{
	(void)arg;
	struct pollfd keyboard = {.fd = STDIN_FILENO, .events = POLLIN};
	char typed[64];
	return poll(&keyboard, 1, 0) > 0 && read(STDIN_FILENO, typed, sizeof(typed)) > 0;
}

int sz_cli_sweep(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	struct progress progress = {.live = isatty(STDERR_FILENO) == 1, .told = sweep->visit_count};
	struct sz_sweep_config told = *config;
	told.progress = tell_step;
	told.arg = &progress;
	if (progress.live && isatty(STDIN_FILENO) && !config->ascent_only)
		told.enough = enough;
	tell_plan(&told);
	int status = sz_sweep_run(&told, sweep, err);
	tell_visits(&progress, sweep);
	clear_line(&progress);
	return status;
}
