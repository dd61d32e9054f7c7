/* SPDX-License-Identifier: Apache-2.0
 *
 * The guard: parent and subreaper of the service.
 *
 * Everything the service starts stays below the guard: a process whose
 * parents ended becomes the guard's child. So "nothing is left" is exactly
 * "waitpid() says ECHILD".
 *
 * Killing goes from the top down, to the guard's own children: until the guard
 * waits for them their pids cannot be taken by somebody else, and what they
 * forked meanwhile becomes the guard's child and is next. Only where the
 * kernel does not list children, and for the SIGTERM that orphans get, all
 * descendants are signalled by pid.
 */
#include "target/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "os/proc.h"

/* Only what the kernel itself holds (a dead disk or network file system), or
 * what runs as another user, outlives SIGKILL for longer. */
#define KILL_PATIENCE_NS (5 * SZ_NS_PER_S)
#define KILL_ROUND_NS (10 * SZ_NS_PER_MS)

/* Output is taken in batches: waking up for every write of a request log costs
 * CPU time that looks like the service's own (10,000 lines a second: 1.0 % of
 * a core, in batches 0.4 %). The pipe is made large enough that no service
 * blocks meanwhile. */
#define OUTPUT_PAUSE_NS (10 * SZ_NS_PER_MS)
#define PIPE_BYTES (1 << 20) /* what /proc/sys/fs/pipe-max-size allows everybody */
#define READ_BYTES (1 << 16)

enum phase {
	GUARDING,
	STOPPING, /* SIGTERM was sent, the budget runs */
	KILLING,
	RELEASED, /* what is left goes on without us */
};

struct guard {
	const struct sz_os *os;
	int pair_fd;      /* to sizeup; -1 once sizeup is gone */
	int sizeup_pidfd; /* readable when sizeup ended, whoever else holds the pair */
	int signal_fd;    /* SIGCHLD and SIGTERM */
	int output_fd;    /* -1 once every writer closed it */
	pid_t command_pid;
	enum phase phase;
	uint64_t phase_end_ns;
	uint64_t stop_began_ns;
	uint64_t next_output_ns; /* not to be looked for before */
	bool orphans_told;
	struct sz_guard_report report;
	struct sz_output output;
};

/* --- becoming the guard --- */

/* Close what was inherited: another target's pair above all, which would
 * never be seen closing. A range that is empty is EINVAL and does nothing. */
static void keep_descriptors(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b);
	unsigned high = (unsigned)(a < b ? b : a);
	close_range(STDERR_FILENO + 1, low - 1, 0);
	close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

static int detach_from_sizeup(struct guard *g)
{
	keep_descriptors(g->pair_fd, g->sizeup_pidfd);
	/* sizeup may itself have been started without standard descriptors. */
	g->pair_fd = fcntl(g->pair_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	g->sizeup_pidfd = fcntl(g->sizeup_pidfd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (g->pair_fd < 0 || g->sizeup_pidfd < 0 || null_fd < 0)
		return errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null_fd, fd);
	if (null_fd > STDERR_FILENO)
		close(null_fd);
	return 0;
}

static int take_signals(struct guard *g)
{
	sigset_t heard;
	sigemptyset(&heard);
	sigaddset(&heard, SIGCHLD);
	sigaddset(&heard, SIGTERM);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &heard, NULL);
	g->signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return g->signal_fd < 0 ? errno : 0;
}

static int become_guard(struct guard *g)
{
	sz_stop_fini();
	int errnum = detach_from_sizeup(g);
	if (errnum)
		return errnum;
	setsid();
	prctl(PR_SET_NAME, "sizeup-guard");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return errno;
	return take_signals(g);
}

/* --- starting the command --- */

static void default_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. Its own process group, because a supervisor's kill(0, …) must
 * not reach the guard. Returns errno. */
static int exec_command(const struct sz_command *command, pid_t guard_pid, int output_fd)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard_pid)
		return ESRCH; /* the guard died before PDEATHSIG was set */
	default_signals();
	dup2(output_fd, STDOUT_FILENO);
	dup2(output_fd, STDERR_FILENO);
	for (size_t i = 0; command->env[i]; i++)
		putenv(command->env[i]);
	execvp(command->argv[0], command->argv);
	return errno;
}

/* The exec closes the pipe without a word; a failure writes its errno first. */
static int exec_result(int pipe_fd)
{
	int errnum = 0;
	ssize_t n;
	do
		n = read(pipe_fd, &errnum, sizeof(errnum));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(errnum) ? errnum : 0;
}

static int start_command(struct guard *g, const struct sz_command *command)
{
	int output[2];
	int result[2];
	if (pipe2(output, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(result, O_CLOEXEC) < 0)
		return errno;
	/* O_NONBLOCK is for our end only: a service may not expect EAGAIN. */
	fcntl(output[1], F_SETFL, 0);
	fcntl(output[1], F_SETPIPE_SZ, PIPE_BYTES);
	pid_t guard_pid = getpid();
	g->command_pid = fork();
	if (g->command_pid < 0)
		return errno;
	if (g->command_pid == 0) {
		int errnum = exec_command(command, guard_pid, output[1]);
		ssize_t written = write(result[1], &errnum, sizeof(errnum));
		_exit(written < 0 ? 126 : 127);
	}
	close(output[1]);
	close(result[1]);
	g->output_fd = output[0];
	g->report.command_runs = true;
	int errnum = exec_result(result[0]);
	close(result[0]);
	return errnum;
}

/* --- the tree --- */

static void signal_all_below(const struct guard *g, int signal_number)
{
	struct sz_tree tree = {0};
	sz_tree_read(g->os, getpid(), &tree);
	for (size_t i = 1; i < tree.count; i++)
		kill(tree.procs[i].pid, signal_number);
	sz_tree_fini(&tree);
}

/* The kernel's own list is read in microseconds, fast enough to catch a chain
 * of processes that fork and exit. Some kernels lack it (CONFIG_PROC_CHILDREN). */
static void kill_children(const struct guard *g)
{
	FILE *children = fopen("/proc/thread-self/children", "re");
	if (!children) {
		signal_all_below(g, SIGKILL);
		return;
	}
	pid_t pid;
	while (fscanf(children, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	fclose(children);
}

static void reap(struct guard *g)
{
	pid_t pid;
	int wait_status;
	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		if (pid != g->command_pid)
			continue;
		g->report.command_runs = false;
		g->report.wait_status = wait_status;
		g->report.ended_ns = sz_now_ns();
	}
	g->report.empty = pid < 0 && errno == ECHILD;
}

/* --- the conversation --- */

static void send_report(struct guard *g)
{
	g->report.output_held = g->output_fd >= 0;
	g->report.output_len = sz_output_copy(&g->output, g->report.output);
	send(g->pair_fd, &g->report, sizeof(g->report), MSG_NOSIGNAL);
}

static void start_killing(struct guard *g)
{
	g->phase = KILLING;
	g->phase_end_ns = sz_now_ns() + KILL_PATIENCE_NS;
}

/* Whatever is left of the service has no reason to live any more. */
static void abandon(struct guard *g)
{
	close(g->pair_fd);
	close(g->sizeup_pidfd);
	g->pair_fd = -1;
	g->sizeup_pidfd = -1;
	start_killing(g);
}

static void begin_stop(struct guard *g, uint64_t budget_ns)
{
	uint64_t now = sz_now_ns();
	if (g->phase == GUARDING)
		g->stop_began_ns = now;
	/* Asked again it is in more of a hurry. */
	if (g->phase == GUARDING || now + budget_ns < g->phase_end_ns)
		g->phase_end_ns = now + budget_ns;
	g->phase = STOPPING;
	if (g->report.command_runs)
		kill(g->command_pid, SIGTERM);
}

static void hear(struct guard *g)
{
	struct sz_guard_ask ask;
	ssize_t n = recv(g->pair_fd, &ask, sizeof(ask), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(ask))
		abandon(g);
	else if (ask.verb == SZ_GUARD_STOP)
		begin_stop(g, ask.budget_ns);
	else if (ask.verb == SZ_GUARD_RELEASE)
		g->phase = RELEASED;
	else
		send_report(g);
}

/* --- the loop --- */

/* At most what the pipe holds, so that an endless writer cannot keep us. */
static void drain(struct guard *g)
{
	char bytes[READ_BYTES];
	for (size_t taken = 0; g->output_fd >= 0 && taken < PIPE_BYTES;) {
		ssize_t n = read(g->output_fd, bytes, sizeof(bytes));
		if (n < 0)
			return;
		if (n == 0) {
			close(g->output_fd);
			g->output_fd = -1;
		}
		sz_output_append(&g->output, bytes, (size_t)n);
		taken += (size_t)n;
		g->next_output_ns = sz_now_ns() + OUTPUT_PAUSE_NS;
	}
}

/* True when the guard itself was asked to end. */
static bool told_to_end(const struct guard *g)
{
	struct signalfd_siginfo info;
	bool told = false;
	while (read(g->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		told |= info.ssi_signo == SIGTERM;
	return told;
}

/* When to go on though nothing happened; UINT64_MAX: never. */
static uint64_t next_turn_ns(const struct guard *g, uint64_t now)
{
	uint64_t turn = g->phase == GUARDING ? UINT64_MAX : g->phase_end_ns;
	if (g->phase == KILLING && now + KILL_ROUND_NS < turn)
		turn = now + KILL_ROUND_NS;
	if (now < g->next_output_ns && g->next_output_ns < turn)
		turn = g->next_output_ns;
	return turn;
}

static void wait_for_event(const struct guard *g)
{
	uint64_t now = sz_now_ns();
	struct pollfd fds[] = {
		{.fd = g->pair_fd, .events = POLLIN},
		{.fd = g->sizeup_pidfd, .events = POLLIN},
		{.fd = g->signal_fd, .events = POLLIN},
		{.fd = now < g->next_output_ns ? -1 : g->output_fd, .events = POLLIN},
	};
	uint64_t turn = next_turn_ns(g, now);
	struct timespec wait = sz_ns_timespec(turn > now ? turn - now : 0);
	ppoll(fds, SZ_ARRAY_LEN(fds), turn == UINT64_MAX ? NULL : &wait, NULL);
}

static bool sizeup_ended(const struct guard *g)
{
	struct pollfd wait = {.fd = g->sizeup_pidfd, .events = POLLIN};
	return poll(&wait, 1, 0) > 0;
}

/* The command stops its own workers. What outlives it has nobody left to do
 * so, and is told itself. */
static void advance(struct guard *g)
{
	if (g->phase == STOPPING && !g->report.command_runs && !g->orphans_told) {
		signal_all_below(g, SIGTERM);
		g->orphans_told = true;
	}
	if (g->phase == STOPPING && sz_now_ns() >= g->phase_end_ns) {
		g->report.killed = true;
		start_killing(g);
	}
	if (g->phase == KILLING)
		kill_children(g);
}

static bool finished(const struct guard *g)
{
	if (g->phase == GUARDING)
		return false;
	if (g->phase == RELEASED)
		return true;
	return g->report.empty || (g->phase == KILLING && sz_now_ns() >= g->phase_end_ns);
}

static void guard_until_finished(struct guard *g)
{
	while (!finished(g)) {
		wait_for_event(g);
		bool told = told_to_end(g);
		reap(g);
		/* After reaping: what a dead command wrote is all in the pipe by now. */
		drain(g);
		if (g->pair_fd >= 0)
			hear(g);
		if (g->pair_fd >= 0 && (told || sizeup_ended(g)))
			abandon(g);
		advance(g);
	}
}

_Noreturn void sz_guard_run(const struct sz_os *os, int pair_fd, int sizeup_pidfd,
			    const struct sz_command *command)
{
	struct guard g = {
		.os = os,
		.pair_fd = pair_fd,
		.sizeup_pidfd = sizeup_pidfd,
		.signal_fd = -1,
		.output_fd = -1,
	};
	struct sz_guard_started started = {.errnum = become_guard(&g)};
	if (!started.errnum)
		started.errnum = start_command(&g, command);
	started.command_pid = g.command_pid;
	if (started.errnum && g.command_pid > 0)
		waitpid(g.command_pid, NULL, 0);
	send(g.pair_fd, &started, sizeof(started), MSG_NOSIGNAL);
	if (!started.errnum) {
		guard_until_finished(&g);
		g.report.exit_ns = sz_now_ns() - g.stop_began_ns;
		send_report(&g);
	}
	_exit(0);
}
