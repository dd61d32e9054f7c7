/* SPDX-License-Identifier: Apache-2.0
 *
 * One worker: a loop, a listener, and the decision who accepts.
 *
 * Sharing a listener: every worker wakes for a new connection, and whoever
 * has more connections than the lightest one stands back for YIELD_NS. Then
 * it accepts one all the same, so a worker that hangs while it is lightest
 * delays a connection but loses none.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "rt/inside.h"

#define YIELD_NS (2 * SZ_NS_PER_MS)
#define EXHAUSTED_NS (100 * SZ_NS_PER_MS)
#define ACCEPTS_PER_TURN 16

static bool may_accept(const struct sz_rt_worker *worker)
{
	unsigned most = worker->config->connections_max;
	return !worker->stopping && (!most || worker->connections < most);
}

/* Say how loaded we are, and watch the listener only while we may accept. */
static void update_accepting(struct sz_rt_worker *worker)
{
	atomic_store_explicit(&worker->shared->connections[worker->index],
			      may_accept(worker) ? worker->connections : SZ_RT_NOT_ACCEPTING,
			      memory_order_relaxed);
	if (may_accept(worker) && !sz_timer_armed(&worker->accept_timer))
		sz_watch_set(worker->loop, &worker->listener_watch, worker->listener, EPOLLIN,
			     NULL);
	else
		sz_watch_clear(worker->loop, &worker->listener_watch);
}

void sz_rt_worker_count(struct sz_rt_worker *worker, int change)
{
	worker->connections += (unsigned)change;
	update_accepting(worker);
	if (worker->stopping && worker->connections == 0)
		sz_loop_stop(worker->loop);
}

static bool is_lightest(const struct sz_rt_worker *worker)
{
	if (worker->config->reuseport)
		return true;
	for (unsigned i = 0; i < worker->config->workers; i++) {
		if (atomic_load_explicit(&worker->shared->connections[i], memory_order_relaxed) <
		    worker->connections)
			return false;
	}
	return true;
}

static void pause_accepting(struct sz_rt_worker *worker, uint64_t pause_ns)
{
	sz_timer_set(worker->loop, &worker->accept_timer, sz_now_ns() + pause_ns, NULL);
	update_accepting(worker);
}

/* True when there may be more to accept. */
static bool accept_one(struct sz_rt_worker *worker)
{
	int on = 1;
	int fd = accept4(worker->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		/* Out of descriptors or memory: the connection stays in the
		 * queue, and the listener would report it without end. */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			pause_accepting(worker, EXHAUSTED_NS);
		return false;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (sz_rt_conn_open(worker, fd) < 0) {
		pause_accepting(worker, EXHAUSTED_NS);
		return false;
	}
	return true;
}

static void on_listener(struct sz_watch *watch, uint32_t events)
{
	struct sz_rt_worker *worker = sz_container_of(watch, struct sz_rt_worker, listener_watch);
	(void)events;
	if (!is_lightest(worker)) {
		pause_accepting(worker, YIELD_NS);
		return;
	}
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		if (!may_accept(worker) || !is_lightest(worker) || !accept_one(worker))
			break;
	}
}

static void on_accept_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_rt_worker *worker = sz_container_of(timer, struct sz_rt_worker, accept_timer);
	(void)now_ns;
	if (may_accept(worker))
		accept_one(worker);
	update_accepting(worker);
}

static void begin_stop(struct sz_rt_worker *worker)
{
	/* Closing the listener resets what waits in its queue: take that first. */
	for (int i = 0; i < worker->config->backlog && may_accept(worker); i++) {
		if (!accept_one(worker))
			break;
	}
	worker->stopping = true;
	sz_timer_clear(worker->loop, &worker->accept_timer);
	update_accepting(worker);
	close(worker->listener);
	worker->listener = -1;
	struct sz_rt_conn *next;
	for (struct sz_rt_conn *conn = worker->conns; conn; conn = next) {
		next = conn->next;
		sz_rt_conn_stop(conn);
	}
	if (worker->connections == 0)
		sz_loop_stop(worker->loop);
}

static void on_signal(struct sz_watch *watch, uint32_t events)
{
	struct sz_rt_worker *worker = sz_container_of(watch, struct sz_rt_worker, signal_watch);
	struct signalfd_siginfo info;
	(void)events;
	/* Ctrl-C reaches the worker twice: from the terminal, and through the
	 * supervisor. Only the latter decides that patience is over. */
	if (read(worker->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) &&
	    !worker->stopping)
		begin_stop(worker);
}

static int serve(struct sz_rt_worker *worker)
{
	sigset_t signals;
	sz_rt_stop_signals(&signals);
	worker->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	worker->listener_watch.fn = on_listener;
	worker->signal_watch.fn = on_signal;
	worker->accept_timer.fn = on_accept_timer;
	if (worker->signal_fd < 0 ||
	    sz_watch_set(worker->loop, &worker->signal_watch, worker->signal_fd, EPOLLIN, NULL) < 0)
		return -1;
	update_accepting(worker);
	return sz_loop_run(worker->loop, NULL);
}

int sz_rt_worker_run(struct sz_rt_worker *worker)
{
	worker->loop = sz_loop_new(NULL);
	if (!worker->loop)
		return SZ_MACHINE;
	/* Strictly in turn: ten clients of a 2 ms handler were served 41 to 81
	 * times each with large batches, 73 or 74 times with this; it costs an
	 * empty handler 8 % of its rate. */
	sz_loop_set_batch(worker->loop, 1);
	return serve(worker) == 0 ? SZ_OK : SZ_MACHINE;
}
