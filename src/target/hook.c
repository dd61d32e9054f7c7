/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell commands of the user's around a service: --apply, --undo, --reset.
 */
#include "target/inside.h"

#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"

#define PAUSE_MIN_NS (2 * SZ_NS_PER_MS)
#define PAUSE_MAX_NS (50 * SZ_NS_PER_MS)
#define STOP_BUDGET_NS SZ_NS_PER_S

/* Background work of a command that has ended may still be closing up. */
#define HOLD_PATIENCE_NS SZ_NS_PER_S

/* The shell's own status for a command that it cannot find or execute. */
static bool is_misspelt(int wait_status)
{
	return WIFEXITED(wait_status) &&
	       (WEXITSTATUS(wait_status) == 127 || WEXITSTATUS(wait_status) == 126);
}

static int hook_failed(const struct sz_hook *hook, const struct sz_guarded *guarded,
		       const struct sz_guard_report *report, const char *command,
		       struct sz_err *err)
{
	sz_autobuf struct sz_buf end = {0};
	sz_guarded_describe_end(guarded, report, &end);
	sz_err_set(err, is_misspelt(report->wait_status) ? SZ_USAGE : SZ_MACHINE, 0,
		   "the %s command %s", hook->option, sz_buf_text(&end));
	return sz_err_hint(err, "run it alone to see why: %s", command);
}

static int hook_too_long(const struct sz_hook *hook, const struct sz_guard_report *report,
			 struct sz_err *err)
{
	sz_autobuf struct sz_buf excerpt = {0};
	sz_output_excerpt(report->output, report->output_len, &excerpt);
	sz_err_set(err, SZ_MACHINE, 0, "the %s command still ran after %.1f s and was ended%s%s",
		   hook->option, sz_ns_to_s(hook->timeout_ns),
		   excerpt.len ? "; its last output:" : "; it printed nothing",
		   sz_buf_text(&excerpt));
	return sz_err_hint(err, "it must end by itself once its work is done; --hook-timeout waits "
				"longer");
}

static int hook_holds_output(const struct sz_hook *hook, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0,
		   "what the %s command left running still has its output open, which ends with "
		   "sizeup",
		   hook->option);
	return sz_err_hint(err, "send the output of what it starts somewhere else: … >FILE 2>&1 &");
}

static int hook_guard_lost(const struct sz_hook *hook, struct sz_err *err)
{
	return sz_err_set(err, SZ_MACHINE, 0,
			  "the guard of the %s command was killed from outside, and the command "
			  "with it",
			  hook->option);
}

static int hook_interrupted(const struct sz_hook *hook, struct sz_err *err)
{
	return sz_err_set(err, SZ_INTERRUPTED, 0, "stopped before the %s command ended",
			  hook->option);
}

/* True when the hook must not go on. */
static bool pause_or_stop(const struct sz_hook *hook, uint64_t *pause_ns)
{
	struct timespec wait = sz_ns_timespec(*pause_ns);
	*pause_ns = *pause_ns * 2 < PAUSE_MAX_NS ? *pause_ns * 2 : PAUSE_MAX_NS;
	if (!hook->despite_stop)
		return sz_stop_sleep(sz_timespec_ns(&wait));
	nanosleep(&wait, NULL);
	return false;
}

/* Until the command ended, in success with nobody at its output. */
static int await_end(const struct sz_hook *hook, const struct sz_guarded *guarded,
		     const char *command, struct sz_guard_report *report, struct sz_err *err)
{
	uint64_t deadline = guarded->start_ns + hook->timeout_ns;
	for (uint64_t pause_ns = PAUSE_MIN_NS;;) {
		uint64_t now = sz_now_ns();
		if (sz_guarded_report(guarded, report) < 0)
			return hook_guard_lost(hook, err);
		if (!report->command_runs && report->wait_status != 0)
			return hook_failed(hook, guarded, report, command, err);
		if (!report->command_runs && !report->output_held)
			return 0;
		if (!report->command_runs && now >= report->ended_ns + HOLD_PATIENCE_NS)
			return hook_holds_output(hook, err);
		if (report->command_runs && now >= deadline)
			return hook_too_long(hook, report, err);
		if (pause_or_stop(hook, &pause_ns))
			return hook_interrupted(hook, err);
	}
}

static int run_shell(const struct sz_os *os, const struct sz_hook *hook, char *text,
		     struct sz_guard_report *report, struct sz_err *err)
{
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, text, NULL};
	char *env[] = {NULL};
	const struct sz_command command = {.argv = argv, .env = env};
	struct sz_guarded guarded;
	struct sz_guard_report last;
	if (sz_guarded_start(os, &command, &guarded, err) < 0)
		return sz_err_wrap(err, "%s", hook->option);
	int status = await_end(hook, &guarded, text, report, err);
	const struct sz_guard_ask end = {
		.verb = status == 0 ? SZ_GUARD_RELEASE : SZ_GUARD_STOP,
		.budget_ns = STOP_BUDGET_NS,
	};
	sz_guarded_end(&guarded, &end, &last);
	return status;
}

int sz_hook_run(const struct sz_os *os, const struct sz_hook *hook,
		const struct sz_binding *bindings, size_t binding_count, struct sz_buf *excerpt,
		struct sz_err *err)
{
	sz_autofree char *text = NULL;
	struct sz_guard_report report;
	if (sz_template_expand(hook->text, bindings, binding_count, &text, err) < 0)
		return sz_err_wrap(err, "%s", hook->option);
	if (sz_stop_requested() && !hook->despite_stop)
		return hook_interrupted(hook, err);
	if (run_shell(os, hook, text, &report, err) < 0)
		return -1;
	if (excerpt)
		sz_output_excerpt(report.output, report.output_len, excerpt);
	return 0;
}
