/* SPDX-License-Identifier: Apache-2.0
 *
 * Accepting, signals, the log.
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
#include "base/mem.h"
#include "base/replace.h"
#include "base/stop.h"
#include "net/listener.h"
#include "serve/inside.h"

#define EXHAUSTED_NS (100 * SZ_NS_PER_MS)

/* The log */

static void write_counts(const struct sz_fault_counts *counts, struct sz_buf *out)
{
#define COUNT(member)                                                                              \
	{                                                                                          \
#member, &counts->member                                                           \
	}
	const struct {
		const char *name;
		const uint64_t *value;
	} fields[] = {
		COUNT(connections),    COUNT(closed_by_client), COUNT(closed_by_server),
		COUNT(requests),       COUNT(ignored),          COUNT(bad_requests),
		COUNT(responses),      COUNT(faults),           COUNT(faults_finished),
		COUNT(bytes_received), COUNT(bytes_sent),
	};
#undef COUNT
	for (size_t i = 0; i < SZ_ARRAY_LEN(fields); i++)
		sz_buf_printf(out, ",\n  \"%s\": %llu", fields[i].name,
			      (unsigned long long)*fields[i].value);
}

static void write_document(const struct sz_fault_server *server, struct sz_buf *out)
{
	sz_buf_printf(out,
		      "{\n  \"schema\": \"sizeup/fault-log/1\",\n  \"fault\": \"%s\",\n"
		      "  \"every\": %llu,\n  \"port\": %u",
		      server->config->choice.fault->name, (unsigned long long)server->config->every,
		      server->port);
	write_counts(&server->counts, out);
	sz_buf_puts(out, "\n}\n");
}

static int write_log(const struct sz_fault_server *server, struct sz_err *err)
{
	sz_autobuf struct sz_buf document = {0};
	if (!server->config->log_path)
		return 0;
	write_document(server, &document);
	if (sz_replace(server->config->log_path, &document, err) < 0)
		return sz_err_wrap(err, "--fault-log");
	return 0;
}

static int check_log(const struct sz_fault_config *config, struct sz_err *err)
{
	if (config->log_path && sz_replace_check(config->log_path, err) < 0)
		return sz_err_wrap(err, "--fault-log");
	return 0;
}

/* Accepting */

static void update_accepting(struct sz_fault_server *server)
{
	if (server->listener >= 0 && !sz_timer_armed(&server->accept_timer))
		sz_watch_set(server->loop, &server->listener_watch, server->listener, EPOLLIN,
			     NULL);
	else
		sz_watch_clear(server->loop, &server->listener_watch);
}

static void pause_accepting(struct sz_fault_server *server, uint64_t pause_ns)
{
	sz_timer_set(server->loop, &server->accept_timer, sz_now_ns() + pause_ns, NULL);
	update_accepting(server);
}

static void on_accept_timer(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	update_accepting(sz_container_of(timer, struct sz_fault_server, accept_timer));
}

void sz_fault_pause_accepting(struct sz_fault_server *server)
{
	server->counts.faults++;
	server->counts.faults_finished++;
	pause_accepting(server, server->config->choice.arg[0]);
}

static void close_listener(struct sz_fault_server *server)
{
	sz_watch_clear(server->loop, &server->listener_watch);
	if (server->listener >= 0)
		close(server->listener);
	server->listener = -1;
}

void sz_fault_stop_accepting(struct sz_fault_server *server)
{
	if (server->counts.connections != server->config->choice.arg[0])
		return;
	server->counts.faults++;
	server->counts.faults_finished++;
	close_listener(server);
}

static void on_listener(struct sz_watch *watch, uint32_t events)
{
	struct sz_fault_server *server =
		sz_container_of(watch, struct sz_fault_server, listener_watch);
	const struct sz_fault *fault = server->config->choice.fault;
	int on = 1;
	(void)events;
	int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return;
	if (!server->first_ns)
		server->first_ns = sz_now_ns();
	/* So that what is sent in pieces arrives in pieces. */
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Out of descriptors or memory: the connection stays in the queue, and the
	 * listener would report it without end. */
	if (fd < 0 || sz_fault_conn_open(server, fd) < 0)
		pause_accepting(server, EXHAUSTED_NS);
	else if (fault->accepted)
		fault->accepted(server);
}

/* Freezing */

static void arm_freeze_timer(struct sz_fault_server *server, uint64_t from_ns)
{
	sz_timer_set(server->loop, &server->freeze_timer, from_ns + server->config->choice.arg[1],
		     NULL);
}

/* As SIGSTOP: the kernel goes on accepting and acknowledging. */
static void on_freeze_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_fault_server *server =
		sz_container_of(timer, struct sz_fault_server, freeze_timer);
	server->counts.faults++;
	if (!sz_stop_sleep(server->config->choice.arg[0]))
		server->counts.faults_finished++;
	arm_freeze_timer(server, now_ns);
}

void sz_fault_begin_freezing(struct sz_fault_server *server)
{
	if (server->counts.connections == 1)
		arm_freeze_timer(server, server->first_ns);
}

/* Signals */

static void on_stop(struct sz_watch *watch, uint32_t events)
{
	(void)events;
	sz_loop_stop(sz_container_of(watch, struct sz_fault_server, stop_watch)->loop);
}

static void on_signal(struct sz_watch *watch, uint32_t events)
{
	struct sz_fault_server *server =
		sz_container_of(watch, struct sz_fault_server, signal_watch);
	struct signalfd_siginfo info;
	(void)events;
	/* One that cannot be written now may be so at the end, where it is told. */
	if (read(server->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		write_log(server, NULL);
}

/* A life */

static int listen_for(struct sz_fault_server *server, struct sz_err *err)
{
	const struct sz_fault_config *config = server->config;
	server->listener = sz_listen(&(struct sz_listen_options){.host = config->host,
								 .port = config->port,
								 .backlog = config->backlog},
				     err);
	if (server->listener < 0)
		return -1;
	server->port = sz_socket_port(server->listener);
	if (write_log(server, err) < 0)
		return -1;
	if (config->on_listening)
		config->on_listening(server->port, config->app);
	return 0;
}

static int watch_signals(struct sz_fault_server *server, const sigset_t *signals,
			 struct sz_err *err)
{
	server->signal_fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (server->signal_fd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make a signal descriptor");
	if (sz_watch_set(server->loop, &server->stop_watch, sz_stop_fd(), EPOLLIN, err) < 0)
		return -1;
	return sz_watch_set(server->loop, &server->signal_watch, server->signal_fd, EPOLLIN, err);
}

static int serve(struct sz_fault_server *server, const sigset_t *signals, struct sz_err *err)
{
	server->loop = sz_loop_new(err);
	if (!server->loop || watch_signals(server, signals, err) < 0 || listen_for(server, err) < 0)
		return -1;
	if (!server->config->choice.fault->never_accepts)
		update_accepting(server);
	if (sz_loop_run(server->loop, err) < 0 || write_log(server, err) < 0)
		return -1;
	if (server->died)
		return sz_err_set(err, SZ_MACHINE, 0, "died on request %llu, as --fault says",
				  (unsigned long long)server->counts.requests);
	return 0;
}

static void fini(struct sz_fault_server *server)
{
	/* First, so that nobody comes back to a server that is dead. */
	if (server->loop)
		close_listener(server);
	while (server->conns)
		sz_fault_conn_free(server->conns);
	if (server->signal_fd >= 0)
		close(server->signal_fd);
	sz_loop_free(server->loop);
}

static int check(const struct sz_fault_config *config, struct sz_err *err)
{
	const struct sz_fault *fault = config->choice.fault;
	if (config->every != 1 && fault->strikes != SZ_STRIKES_REQUESTS &&
	    fault->strikes != SZ_STRIKES_CONNECTIONS) {
		sz_err_set(err, SZ_USAGE, 0, "the fault %s says itself when it strikes",
			   fault->name);
		return sz_err_hint(err, "leave out --fault-every");
	}
	return check_log(config, err);
}

int sz_fault_run(const struct sz_fault_config *config, struct sz_err *err)
{
	if (check(config, err) < 0)
		return -1;
	sz_autofree struct sz_fault_server *server = calloc(1, sizeof(*server));
	if (!server)
		return sz_err_nomem(err);
	*server = (struct sz_fault_server){
		.config = config,
		.listener = -1,
		.signal_fd = -1,
		.listener_watch.fn = on_listener,
		.signal_watch.fn = on_signal,
		.stop_watch.fn = on_stop,
		.accept_timer.fn = on_accept_timer,
		.freeze_timer.fn = on_freeze_timer,
	};
	sigset_t signals, before;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, &before);
	int status = serve(server, &signals, err);
	fini(server);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}
