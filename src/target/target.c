/* SPDX-License-Identifier: Apache-2.0
 *
 * sizeup's side of the target: start it through a guard, ask, stop.
 */
#include "target/inside.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/listener.h"
#include "os/sock.h"

/* --- starting --- */

static int port_busy(const struct sz_os *os, uint16_t port, struct sz_err *err)
{
	pid_t pid;
	char comm[32];
	if (sz_port_owner(os, port, &pid, comm) == 0)
		sz_err_set(err, SZ_MACHINE, 0, "port %u is busy: %s (pid %d) listens on it", port,
			   comm, (int)pid);
	else
		sz_err_set(err, SZ_MACHINE, 0, "port %u is busy", port);
	return sz_err_hint(err, "stop the program that has it, or choose another port with --port");
}

/* Any other failure to listen is the service's own to report, or none: the
 * address may belong to another network namespace. */
static int check_port_free(const struct sz_os *os, const struct sz_addr *addr, uint16_t port,
			   struct sz_err *err)
{
	char host[NI_MAXHOST];
	if (getnameinfo((const struct sockaddr *)&addr->storage, addr->len, host, sizeof(host),
			NULL, 0, NI_NUMERICHOST) != 0)
		return 0;
	struct sz_err why = {0};
	int fd = sz_listen(&(struct sz_listen_options){.host = host, .port = port, .backlog = 1},
			   &why);
	if (fd >= 0)
		close(fd);
	return fd < 0 && why.errnum == EADDRINUSE ? port_busy(os, port, err) : 0;
}

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

static void reap_guard(const struct sz_target *target)
{
	while (waitpid(target->guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int fork_guard(struct sz_target *target, struct sz_err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make a socket pair");
	target->pair_fd = pair[0];
	sz_autoclose int guard_fd = pair[1];
	sz_autoclose int own_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (own_pidfd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot open a pidfd");
	target->start_ns = sz_now_ns();
	target->guard_pid = fork();
	if (target->guard_pid < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot fork the guard of the service");
	if (target->guard_pid == 0)
		sz_guard_run(&target->os, guard_fd, own_pidfd, &target->command);
	return 0;
}

static int await_command(struct sz_target *target, struct sz_err *err)
{
	struct sz_guard_started started;
	ssize_t n = receive(target->pair_fd, &started, sizeof(started));
	if (n == (ssize_t)sizeof(started) && started.errnum == 0) {
		target->command_pid = started.command_pid;
		return 0;
	}
	reap_guard(target);
	if (n != (ssize_t)sizeof(started))
		return sz_err_set(err, SZ_MACHINE, 0, "the guard of the service was killed");
	return cannot_run(target->command.argv[0], started.errnum, err);
}

static void target_free(struct sz_target *target)
{
	if (!target)
		return;
	if (target->pair_fd >= 0)
		close(target->pair_fd);
	sz_command_fini(&target->command);
	free(target);
}

int sz_target_start(const struct sz_os *os, const struct sz_target_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err)
{
	struct sz_target *started = malloc(sizeof(*started));
	if (!started)
		return sz_err_nomem(err);
	*started = (struct sz_target){
		.os = *os,
		.ready_url = config->ready_url,
		.addr = config->addr,
		.ready_timeout_ns = config->ready_timeout_ns,
		.stop_timeout_ns = config->stop_timeout_ns,
		.pair_fd = -1,
	};
	if (sz_command_expand(config, bindings, binding_count, &started->command, err) < 0 ||
	    check_port_free(os, &config->addr, config->ready_url.port, err) < 0 ||
	    fork_guard(started, err) < 0 || await_command(started, err) < 0) {
		target_free(started);
		return -1;
	}
	*target = started;
	return 0;
}

/* --- while it runs --- */

pid_t sz_target_guard_pid(const struct sz_target *target)
{
	return target->guard_pid;
}

pid_t sz_target_pid(const struct sz_target *target)
{
	return target->command_pid;
}

int sz_target_ask(const struct sz_target *target, const struct sz_guard_ask *ask,
		  struct sz_guard_report *report)
{
	if (send(target->pair_fd, ask, sizeof(*ask), MSG_NOSIGNAL) < 0)
		return -1;
	ssize_t n = receive(target->pair_fd, report, sizeof(*report));
	return n == (ssize_t)sizeof(*report) ? 0 : -1;
}

static void guard_lost(const struct sz_target *target, struct sz_err *err)
{
	sz_err_set(err, SZ_MACHINE, 0,
		   "the guard of the service (pid %d) was killed from outside, "
		   "and the service with it",
		   (int)target->guard_pid);
	sz_err_hint(err, "start again; if the kernel was out of memory (see dmesg), ask for fewer "
			 "workers");
}

static void describe_how(int wait_status, struct sz_buf *text)
{
	if (WIFSIGNALED(wait_status))
		sz_buf_printf(text, "was killed by signal %d", WTERMSIG(wait_status));
	else
		sz_buf_printf(text, "exited with status %d", WEXITSTATUS(wait_status));
}

static void hint_end(const struct sz_target *target, int wait_status, struct sz_err *err)
{
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
		sz_err_hint(err,
			    "if nobody killed it, the kernel was out of memory: see dmesg, and ask "
			    "for fewer workers");
		return;
	}
	if (wait_status == 0) {
		sz_err_hint(err, "give the command that serves, not one that has it started "
				 "elsewhere");
		return;
	}
	sz_autobuf struct sz_buf command = {0};
	sz_command_text(&target->command, &command);
	sz_err_hint(err, "run it alone to see why: %s", sz_buf_text(&command));
}

static void describe_end(const struct sz_target *target, const struct sz_guard_report *report,
			 struct sz_err *err)
{
	sz_autobuf struct sz_buf how = {0};
	sz_autobuf struct sz_buf excerpt = {0};
	describe_how(report->wait_status, &how);
	sz_output_excerpt(report->output, report->output_len, &excerpt);
	sz_err_set(err, SZ_MACHINE, 0, "the service %s after %.1f s%s%s", sz_buf_text(&how),
		   sz_ns_to_s(report->ended_ns - target->start_ns),
		   excerpt.len ? "; its last output:" : "; it printed nothing",
		   sz_buf_text(&excerpt));
	hint_end(target, report->wait_status, err);
}

bool sz_target_alive(struct sz_target *target, struct sz_err *err)
{
	struct sz_guard_report report;
	if (sz_target_ask(target, &(struct sz_guard_ask){.stop = false}, &report) < 0) {
		guard_lost(target, err);
		return false;
	}
	bool in_background = report.wait_status == 0 && !report.empty;
	if (report.command_runs || in_background)
		return true;
	describe_end(target, &report, err);
	return false;
}

/* --- stopping --- */

void sz_target_stop(struct sz_target *target, struct sz_stopped *stopped)
{
	if (!target)
		return;
	struct sz_guard_ask ask = {.stop = true, .budget_ns = target->stop_timeout_ns};
	struct sz_guard_report report;
	/* Without a guard nobody knows more than that it was killed. */
	if (sz_target_ask(target, &ask, &report) < 0)
		report = (struct sz_guard_report){.killed = true, .wait_status = SIGKILL};
	reap_guard(target);
	if (stopped) {
		stopped->exit_ns = report.exit_ns;
		stopped->killed = report.killed;
		stopped->wait_status = report.wait_status;
	}
	target_free(target);
}
