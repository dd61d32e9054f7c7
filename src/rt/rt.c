/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor: binds, forks, restarts, stops. It has a loop of its own and
 * learns of a worker's end from its pidfd, so the caller's SIGCHLD and other
 * children are left alone.
 */
#include "rt/rt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "net/listener.h"
#include "rt/inside.h"

#define RESTART_FIRST_NS (100 * SZ_NS_PER_MS)
#define RESTART_MOST_NS (5 * SZ_NS_PER_S)
#define LIVED_NS (1 * SZ_NS_PER_S)

struct supervisor;

/* The place of one worker; its process may change. */
struct slot {
	struct supervisor *supervisor;
	unsigned index;
	int listener; /* its own with reuseport, else everybody's; -1 when closed */
	pid_t pid;    /* 0: not running */
	int pidfd;
	struct sz_watch exit_watch;
	struct sz_timer restart_timer;
	uint64_t started_ns;
	uint64_t restart_ns; /* the next back-off */
};

struct supervisor {
	const struct sz_rt_config *config;
	pid_t pid;
	struct sz_loop *loop;
	struct sz_rt_shared *shared;
	struct slot *slots;
	unsigned alive;
	bool stopping;
	int signal_fd;
	struct sz_watch signal_watch;
	struct sz_timer budget_timer;
};

void sz_rt_stop_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	/* A blocked signal reaches the signalfd though it is ignored (nohup). */
	struct sigaction hangup;
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(signals, SIGHUP);
}

static void close_listeners(struct supervisor *supervisor, int but)
{
	for (unsigned i = 0; i < supervisor->config->workers; i++) {
		struct slot *slot = &supervisor->slots[i];
		bool is_own = i == 0 || supervisor->config->reuseport;
		if (is_own && slot->listener >= 0 && slot->listener != but)
			close(slot->listener);
		slot->listener = -1;
	}
}

static int open_listeners(struct supervisor *supervisor, struct sz_err *err)
{
	const struct sz_rt_config *config = supervisor->config;
	struct slot *slots = supervisor->slots;
	struct sz_listen_options options = {
		.host = config->host,
		.port = config->port,
		.backlog = config->backlog,
		.reuseport = config->reuseport,
	};
	for (unsigned i = 0; i < config->workers; i++) {
		bool is_own = i == 0 || config->reuseport;
		slots[i].listener = is_own ? sz_listen(&options, err) : slots[0].listener;
		if (slots[i].listener < 0)
			return -1;
		options.port = sz_socket_port(slots[i].listener);
	}
	if (config->on_listening)
		config->on_listening(options.port, config->app);
	return 0;
}

/* In the child: drop what is the supervisor's, then serve. */
static _Noreturn void become_worker(struct slot *slot)
{
	struct supervisor *supervisor = slot->supervisor;
	/* Holds also while a handler blocks; the check closes the gap before it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != supervisor->pid)
		_exit(SZ_MACHINE);
	prctl(PR_SET_TIMERSLACK, 1L);
	sz_stop_fini();

	struct sz_rt_worker worker = {
		.config = supervisor->config,
		.shared = supervisor->shared,
		.index = slot->index,
		.listener = slot->listener,
	};
	close_listeners(supervisor, worker.listener);
	for (unsigned i = 0; i < supervisor->config->workers; i++) {
		if (supervisor->slots[i].pid)
			close(supervisor->slots[i].pidfd);
	}
	close(supervisor->signal_fd);
	sz_loop_free(supervisor->loop);
	_exit(sz_rt_worker_run(&worker));
}

static void set_load(struct slot *slot, uint32_t connections)
{
	atomic_store_explicit(&slot->supervisor->shared->connections[slot->index], connections,
			      memory_order_relaxed);
}

static int start_worker(struct slot *slot, struct sz_err *err)
{
	struct supervisor *supervisor = slot->supervisor;
	set_load(slot, 0);
	pid_t pid = fork();
	if (pid == 0)
		become_worker(slot);
	int pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 ||
	    sz_watch_set(supervisor->loop, &slot->exit_watch, pidfd, EPOLLIN, NULL) < 0) {
		int errnum = errno;
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		if (pidfd >= 0)
			close(pidfd);
		set_load(slot, SZ_RT_NOT_ACCEPTING);
		sz_err_set(err, SZ_MACHINE, errnum, "cannot start worker %u", slot->index + 1);
		return sz_err_hint(err, "ask for fewer workers, or raise the limits on processes "
					"and descriptors (ulimit -u, ulimit -n)");
	}
	slot->pid = pid;
	slot->pidfd = pidfd;
	slot->started_ns = sz_now_ns();
	supervisor->alive++;
	return 0;
}

/* Try again after the back-off, which doubles as long as workers die young. */
static void restart_later(struct slot *slot, bool died_young)
{
	if (!died_young || !slot->restart_ns)
		slot->restart_ns = RESTART_FIRST_NS;
	sz_timer_set(slot->supervisor->loop, &slot->restart_timer, sz_now_ns() + slot->restart_ns,
		     NULL);
	slot->restart_ns *= 2;
	if (slot->restart_ns > RESTART_MOST_NS)
		slot->restart_ns = RESTART_MOST_NS;
}

static void on_restart(struct sz_timer *timer, uint64_t now_ns)
{
	struct slot *slot = sz_container_of(timer, struct slot, restart_timer);
	(void)now_ns;
	if (start_worker(slot, NULL) < 0)
		restart_later(slot, true);
}

static void on_exit_of_worker(struct sz_watch *watch, uint32_t events)
{
	struct slot *slot = sz_container_of(watch, struct slot, exit_watch);
	struct supervisor *supervisor = slot->supervisor;
	(void)events;
	sz_watch_clear(supervisor->loop, watch);
	close(slot->pidfd);
	while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR)
		;
	slot->pid = 0;
	set_load(slot, SZ_RT_NOT_ACCEPTING);
	supervisor->alive--;
	if (!supervisor->stopping)
		restart_later(slot, sz_now_ns() - slot->started_ns < LIVED_NS);
	else if (supervisor->alive == 0)
		sz_loop_stop(supervisor->loop);
}

static void signal_workers(struct supervisor *supervisor, int signal_number)
{
	for (unsigned i = 0; i < supervisor->config->workers; i++) {
		if (supervisor->slots[i].pid)
			kill(supervisor->slots[i].pid, signal_number);
	}
}

static void on_budget_end(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	signal_workers(sz_container_of(timer, struct supervisor, budget_timer), SIGKILL);
}

static void begin_stop(struct supervisor *supervisor)
{
	supervisor->stopping = true;
	close_listeners(supervisor, -1);
	for (unsigned i = 0; i < supervisor->config->workers; i++)
		sz_timer_clear(supervisor->loop, &supervisor->slots[i].restart_timer);
	signal_workers(supervisor, SIGTERM);
	if (supervisor->alive == 0)
		sz_loop_stop(supervisor->loop);
	else if (sz_timer_set(supervisor->loop, &supervisor->budget_timer,
			      sz_now_ns() + supervisor->config->stop_budget_ns, NULL) < 0)
		signal_workers(supervisor, SIGKILL);
}

static void on_signal(struct sz_watch *watch, uint32_t events)
{
	struct supervisor *supervisor = sz_container_of(watch, struct supervisor, signal_watch);
	struct signalfd_siginfo info;
	(void)events;
	if (read(supervisor->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (supervisor->stopping)
		signal_workers(supervisor, SIGKILL);
	else
		begin_stop(supervisor);
}

/* All that needs the stop signals blocked. */
static int supervise(struct supervisor *supervisor, const sigset_t *signals, struct sz_err *err)
{
	supervisor->signal_fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (supervisor->signal_fd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make a signal descriptor");
	if (sz_watch_set(supervisor->loop, &supervisor->signal_watch, supervisor->signal_fd,
			 EPOLLIN, err) < 0 ||
	    open_listeners(supervisor, err) < 0)
		return -1;
	/* A stop that came before its signals were blocked. */
	if (sz_stop_requested())
		return 0;
	for (unsigned i = 0; i < supervisor->config->workers; i++) {
		if (start_worker(&supervisor->slots[i], err) < 0)
			return -1;
	}
	return sz_loop_run(supervisor->loop, err);
}

static int supervisor_init(struct supervisor *supervisor, struct sz_err *err)
{
	unsigned workers = supervisor->config->workers;
	supervisor->slots = calloc(workers, sizeof(supervisor->slots[0]));
	if (!supervisor->slots)
		return sz_err_nomem(err);
	for (unsigned i = 0; i < workers; i++) {
		supervisor->slots[i] = (struct slot){
			.supervisor = supervisor,
			.index = i,
			.listener = -1,
			.exit_watch.fn = on_exit_of_worker,
			.restart_timer.fn = on_restart,
		};
	}
	void *shared = mmap(NULL, sizeof(*supervisor->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return sz_err_nomem(err);
	supervisor->shared = shared;
	supervisor->loop = sz_loop_new(err);
	return supervisor->loop ? 0 : -1;
}

/* Leaves no process, also after a failure halfway. */
static void supervisor_fini(struct supervisor *supervisor)
{
	signal_workers(supervisor, SIGKILL);
	for (unsigned i = 0; supervisor->slots && i < supervisor->config->workers; i++) {
		struct slot *slot = &supervisor->slots[i];
		if (slot->pid) {
			waitpid(slot->pid, NULL, 0);
			close(slot->pidfd);
		}
	}
	if (supervisor->slots)
		close_listeners(supervisor, -1);
	if (supervisor->signal_fd >= 0)
		close(supervisor->signal_fd);
	if (supervisor->shared)
		munmap(supervisor->shared, sizeof(*supervisor->shared));
	sz_loop_free(supervisor->loop);
	free(supervisor->slots);
}

int sz_rt_run(const struct sz_rt_config *config, struct sz_err *err)
{
	if (config->workers < 1 || config->workers > SZ_RT_WORKERS_MAX)
		return sz_err_set(err, SZ_USAGE, 0, "%u workers asked for; 1 to %d are possible",
				  config->workers, SZ_RT_WORKERS_MAX);
	struct supervisor supervisor = {
		.config = config,
		.pid = getpid(),
		.signal_fd = -1,
		.signal_watch.fn = on_signal,
		.budget_timer.fn = on_budget_end,
	};
	sigset_t signals, before;
	sz_rt_stop_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &before);
	int result = supervisor_init(&supervisor, err);
	if (result == 0)
		result = supervise(&supervisor, &signals, err);
	supervisor_fini(&supervisor);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}
