/* SPDX-License-Identifier: Apache-2.0
 *
 * A command below a guard: start it, ask, end it.
 */
#include "target/inside.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"

static int cannot_run(const char *program, int errnum, struct sz_err *err)
{
	static const struct {
		int errnum;
		enum sz_code code;
		const char *hint;
	} remedies[] = {
		{ENOENT, SZ_USAGE,
		 "check the spelling, install it, or give its full path; a script also needs the "
		 "interpreter that its first line names"},
		{ENOTDIR, SZ_USAGE, "check the spelling of its path"},
		{EACCES, SZ_USAGE, "if it is a program, make it executable: chmod +x FILE"},
		{E2BIG, SZ_USAGE, "shorten the command or its environment"},
		{EAGAIN, SZ_MACHINE, "raise the limit of processes (ulimit -u, pids.max)"},
		{ENOMEM, SZ_MACHINE, "free some memory"},
	};
	enum sz_code code = SZ_MACHINE;
	const char *hint = "";
	for (size_t i = 0; i < SZ_ARRAY_LEN(remedies); i++) {
		if (remedies[i].errnum != errnum)
			continue;
		code = remedies[i].code;
		hint = remedies[i].hint;
	}
	sz_err_set(err, code, errnum, "cannot run '%.200s'", program);
	return sz_err_hint(err, "%s", hint);
}

static ssize_t receive(int fd, void *message, size_t size)
{
	ssize_t n;
	do
		n = recv(fd, message, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static void reap_guard(const struct sz_guarded *guarded)
{
	while (waitpid(guarded->guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int fork_guard(const struct sz_os *os, const struct sz_command *command,
		      struct sz_guarded *guarded, struct sz_err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make a socket pair");
	guarded->pair_fd = pair[0];
	sz_autoclose int guard_fd = pair[1];
	sz_autoclose int own_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (own_pidfd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot open a pidfd");
	guarded->start_ns = sz_now_ns();
	guarded->guard_pid = fork();
	if (guarded->guard_pid < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot fork a guard");
	if (guarded->guard_pid == 0)
		sz_guard_run(os, guard_fd, own_pidfd, command);
	return 0;
}

static int await_command(const struct sz_command *command, struct sz_guarded *guarded,
			 struct sz_err *err)
{
	struct sz_guard_started started;
	ssize_t n = receive(guarded->pair_fd, &started, sizeof(started));
	if (n == (ssize_t)sizeof(started) && started.errnum == 0) {
		guarded->command_pid = started.command_pid;
		return 0;
	}
	reap_guard(guarded);
	if (n != (ssize_t)sizeof(started))
		return sz_err_set(err, SZ_MACHINE, 0, "the guard was killed");
	return cannot_run(command->argv[0], started.errnum, err);
}

int sz_guarded_start(const struct sz_os *os, const struct sz_command *command,
		     struct sz_guarded *guarded, struct sz_err *err)
{
	struct sz_guarded started = {.pair_fd = -1};
	if (fork_guard(os, command, &started, err) < 0 ||
	    await_command(command, &started, err) < 0) {
		if (started.pair_fd >= 0)
			close(started.pair_fd);
		return -1;
	}
	*guarded = started;
	return 0;
}

/* After Ctrl-C a service gets no more than this to end by itself. */
#define INTERRUPTED_BUDGET_NS SZ_NS_PER_S

/* Wait for the guard's report; a stop that is requested meanwhile shortens the
 * patience with the service. */
static void await_end(const struct sz_guarded *guarded)
{
	const struct sz_guard_ask hurry = {.verb = SZ_GUARD_STOP,
					   .budget_ns = INTERRUPTED_BUDGET_NS};
	bool told = sz_stop_requested();
	struct pollfd fds[] = {{.fd = guarded->pair_fd, .events = POLLIN},
			       {.fd = told ? -1 : sz_stop_fd(), .events = POLLIN}};
	while (poll(fds, 2, -1) <= 0 || !fds[0].revents) {
		if (told || !sz_stop_requested())
			continue;
		told = true;
		fds[1].fd = -1;
		send(guarded->pair_fd, &hurry, sizeof(hurry), MSG_NOSIGNAL);
	}
}

static int ask_guard(const struct sz_guarded *guarded, const struct sz_guard_ask *ask,
		     struct sz_guard_report *report)
{
	kill(guarded->guard_pid, SIGCONT); /* stopped, it could not answer */
	if (send(guarded->pair_fd, ask, sizeof(*ask), MSG_NOSIGNAL) < 0)
		return -1;
	if (ask->verb == SZ_GUARD_STOP)
		await_end(guarded);
	ssize_t n = receive(guarded->pair_fd, report, sizeof(*report));
	return n == (ssize_t)sizeof(*report) ? 0 : -1;
}

int sz_guarded_report(const struct sz_guarded *guarded, struct sz_guard_report *report)
{
	return ask_guard(guarded, &(struct sz_guard_ask){.verb = SZ_GUARD_REPORT}, report);
}

void sz_guarded_end(struct sz_guarded *guarded, const struct sz_guard_ask *ask,
		    struct sz_guard_report *report)
{
	struct sz_guard_ask given = *ask;
	if (sz_stop_requested() && given.budget_ns > INTERRUPTED_BUDGET_NS)
		given.budget_ns = INTERRUPTED_BUDGET_NS;
	/* Without a guard nobody knows more than that it was killed. */
	if (ask_guard(guarded, &given, report) < 0)
		*report = (struct sz_guard_report){.killed = true, .wait_status = SIGKILL};
	reap_guard(guarded);
	close(guarded->pair_fd);
}

void sz_guarded_describe_end(const struct sz_guarded *guarded, const struct sz_guard_report *report,
			     struct sz_buf *text)
{
	int status = report->wait_status;
	sz_autobuf struct sz_buf excerpt = {0};
	sz_output_excerpt(report->output, report->output_len, &excerpt);
	if (WIFSIGNALED(status))
		sz_buf_printf(text, "was killed by signal %d", WTERMSIG(status));
	else
		sz_buf_printf(text, "exited with status %d", WEXITSTATUS(status));
	sz_buf_printf(text, " after %.1f s%s%s", sz_ns_to_s(report->ended_ns - guarded->start_ns),
		      excerpt.len ? "; its last output:" : "; it printed nothing",
		      sz_buf_text(&excerpt));
}
