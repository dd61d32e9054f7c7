/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection: reads requests, and plays what is written for each.
 *
 * It reads on while it plays, to learn of the client's end. Functions that may
 * have freed the connection return false then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/inside.h"

struct sz_fault_conn {
	struct sz_fault_server *server;
	struct sz_fault_conn *prev, *next;
	struct sz_watch watch;
	struct sz_timer timer; /* of a step */
	int fd;
	bool never_reads;
	bool answered_in_advance; /* the next request has its answer already */
	bool is_playing;
	bool is_fault;   /* what is played */
	bool is_idling;  /* in a step that a request ends */
	bool is_blocked; /* the socket takes no more for now */
	uint64_t requests;
	uint64_t repeated; /* rounds of a repeat step */
	size_t cursor;     /* the next step of the play */
	size_t said;       /* bytes of a say step */
	struct sz_play play;
	struct sz_http1_request parser;
};

void sz_fault_conn_free(struct sz_fault_conn *conn)
{
	struct sz_fault_server *server = conn->server;
	sz_watch_clear(server->loop, &conn->watch);
	sz_timer_clear(server->loop, &conn->timer);
	close(conn->fd);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		server->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	sz_play_fini(&conn->play);
	free(conn);
}

/* Always false: the connection is gone. */
static bool lost_by(struct sz_fault_conn *conn, uint64_t *counter)
{
	++*counter;
	sz_fault_conn_free(conn);
	return false;
}

static bool lost_to_client(struct sz_fault_conn *conn)
{
	return lost_by(conn, &conn->server->counts.closed_by_client);
}

static bool hang_up(struct sz_fault_conn *conn)
{
	return lost_by(conn, &conn->server->counts.closed_by_server);
}

static bool watch(struct sz_fault_conn *conn)
{
	uint32_t input = conn->never_reads ? EPOLLRDHUP : EPOLLIN;
	uint32_t output = conn->is_blocked ? EPOLLOUT : 0;
	if (sz_watch_set(conn->server->loop, &conn->watch, conn->fd, input | output, NULL) < 0)
		return hang_up(conn);
	return true;
}

/* Steps */

enum progress {
	STEP_DONE,
	STEP_WAITS, /* the socket or the timer goes on */
	STEP_GONE,  /* and the connection with it */
};

typedef enum progress step_fn(struct sz_fault_conn *conn, const struct sz_step *step);

static enum progress wait_for(struct sz_fault_conn *conn, uint64_t ns)
{
	if (sz_timer_set(conn->server->loop, &conn->timer, sz_now_ns() + ns, NULL) == 0)
		return STEP_WAITS;
	hang_up(conn);
	return STEP_GONE;
}

static enum progress step_say(struct sz_fault_conn *conn, const struct sz_step *step)
{
	const char *bytes = sz_buf_text(&conn->play.bytes) + step->from;
	while (conn->said < step->value) {
		ssize_t n =
			send(conn->fd, bytes + conn->said, step->value - conn->said, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			conn->is_blocked = true;
			conn->cursor--;
			return STEP_WAITS;
		}
		if (n < 0 && errno != EINTR) {
			lost_to_client(conn);
			return STEP_GONE;
		}
		if (n > 0) {
			conn->said += (size_t)n;
			conn->server->counts.bytes_sent += (uint64_t)n;
		}
	}
	conn->said = 0;
	return STEP_DONE;
}

static enum progress step_wait(struct sz_fault_conn *conn, const struct sz_step *step)
{
	return wait_for(conn, step->value);
}

static enum progress step_idle(struct sz_fault_conn *conn, const struct sz_step *step)
{
	conn->is_idling = true;
	return wait_for(conn, step->value);
}

/* One round per turn of the loop: others want theirs. */
static enum progress step_repeat(struct sz_fault_conn *conn, const struct sz_step *step)
{
	if (step->value != SZ_FOREVER && conn->repeated == step->value)
		return STEP_DONE;
	conn->repeated++;
	conn->cursor = step->from;
	return wait_for(conn, 0);
}

static void count_finished(struct sz_fault_conn *conn)
{
	struct sz_fault_counts *counts = &conn->server->counts;
	if (conn->is_fault)
		counts->faults_finished++;
	else
		counts->responses++;
}

static enum progress step_close(struct sz_fault_conn *conn, const struct sz_step *step)
{
	(void)step;
	count_finished(conn);
	hang_up(conn);
	return STEP_GONE;
}

static enum progress step_reset(struct sz_fault_conn *conn, const struct sz_step *step)
{
	/* To linger for no time at all makes close() send RST (socket(7)). */
	const struct linger linger = {.l_onoff = 1};
	setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return step_close(conn, step);
}

static enum progress step_half_close(struct sz_fault_conn *conn, const struct sz_step *step)
{
	(void)step;
	shutdown(conn->fd, SHUT_WR);
	return STEP_DONE;
}

static enum progress step_hang(struct sz_fault_conn *conn, const struct sz_step *step)
{
	(void)step;
	count_finished(conn);
	return STEP_WAITS;
}

static enum progress step_die(struct sz_fault_conn *conn, const struct sz_step *step)
{
	(void)step;
	count_finished(conn);
	conn->server->died = true;
	sz_loop_stop(conn->server->loop);
	return STEP_WAITS;
}

static step_fn *const step_fns[SZ_STEP_KINDS] = {
	[SZ_STEP_SAY] = step_say,     [SZ_STEP_WAIT] = step_wait,
	[SZ_STEP_IDLE] = step_idle,   [SZ_STEP_REPEAT] = step_repeat,
	[SZ_STEP_CLOSE] = step_close, [SZ_STEP_RESET] = step_reset,
	[SZ_STEP_HANG] = step_hang,   [SZ_STEP_HALF_CLOSE] = step_half_close,
	[SZ_STEP_DIE] = step_die,
};

static void end_play(struct sz_fault_conn *conn)
{
	count_finished(conn);
	sz_timer_clear(conn->server->loop, &conn->timer);
	sz_play_fini(&conn->play);
	conn->is_playing = false;
	conn->is_idling = false;
}

static bool play_on(struct sz_fault_conn *conn)
{
	while (conn->cursor < conn->play.count) {
		const struct sz_step *step = &conn->play.steps[conn->cursor++];
		enum progress progress = step_fns[step->kind](conn, step);
		if (progress == STEP_GONE)
			return false;
		if (progress == STEP_WAITS)
			return watch(conn);
	}
	end_play(conn);
	return watch(conn);
}

static bool begin_play(struct sz_fault_conn *conn)
{
	if (sz_play_failed(&conn->play))
		return hang_up(conn);
	conn->is_playing = true;
	conn->cursor = 0;
	conn->repeated = 0;
	return play_on(conn);
}

static void on_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_fault_conn *conn = sz_container_of(timer, struct sz_fault_conn, timer);
	(void)now_ns;
	conn->is_idling = false;
	play_on(conn);
}

/* Requests */

static struct sz_fault_ask ask_of(const struct sz_fault_conn *conn, bool is_head)
{
	const struct sz_fault_server *server = conn->server;
	return (struct sz_fault_ask){
		.arg = server->config->choice.arg,
		.is_head = is_head,
		.number = server->counts.requests,
		.elapsed_ns = sz_now_ns() - server->first_ns,
	};
}

static void write_fault(struct sz_fault_conn *conn, const struct sz_fault_ask *ask)
{
	conn->server->counts.faults++;
	conn->is_fault = true;
	sz_fault_play(conn->server->config->choice.fault, &conn->play, ask);
}

static bool is_struck(const struct sz_fault_conn *conn)
{
	const struct sz_fault_server *server = conn->server;
	const struct sz_fault_choice *choice = &server->config->choice;
	enum sz_fault_strikes strikes = choice->fault->strikes;
	if (strikes == SZ_STRIKES_REQUESTS)
		return server->counts.requests % server->config->every == 0;
	if (strikes == SZ_STRIKES_NTH_REQUEST)
		return conn->requests == choice->arg[0];
	return strikes == SZ_STRIKES_SERVER_ONCE && server->counts.requests == choice->arg[0];
}

static bool answer(struct sz_fault_conn *conn)
{
	const struct sz_fault *fault = conn->server->config->choice.fault;
	const struct sz_fault_ask ask = ask_of(conn, strcmp(conn->parser.method, "HEAD") == 0);
	if (is_struck(conn)) {
		write_fault(conn, &ask);
	} else {
		conn->is_fault = false;
		(fault->otherwise ? fault->otherwise : sz_fault_play_good)(&conn->play, &ask);
	}
	return begin_play(conn);
}

static bool on_request(struct sz_fault_conn *conn)
{
	conn->requests++;
	conn->server->counts.requests++;
	if (conn->answered_in_advance) {
		conn->answered_in_advance = false;
		return true;
	}
	if (conn->is_idling)
		end_play(conn);
	if (conn->is_playing) {
		conn->server->counts.ignored++;
		return true;
	}
	return answer(conn);
}

static bool take_input(struct sz_fault_conn *conn, const char *bytes, size_t len)
{
	while (len > 0) {
		size_t used = 0;
		enum sz_http1_state state = sz_http1_request_feed(&conn->parser, bytes, len, &used);
		if (state == SZ_HTTP1_BAD) {
			conn->server->counts.bad_requests++;
			return hang_up(conn);
		}
		if (state == SZ_HTTP1_COMPLETE) {
			if (!on_request(conn))
				return false;
			sz_http1_request_init(&conn->parser);
		}
		bytes += used;
		len -= used;
	}
	return true;
}

static bool read_input(struct sz_fault_conn *conn)
{
	struct sz_fault_server *server = conn->server;
	ssize_t n = recv(conn->fd, server->input, sizeof(server->input), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return lost_to_client(conn);
	server->counts.bytes_received += (uint64_t)n;
	return take_input(conn, server->input, (size_t)n);
}

static void on_event(struct sz_watch *event, uint32_t events)
{
	struct sz_fault_conn *conn = sz_container_of(event, struct sz_fault_conn, watch);
	if (conn->never_reads) {
		lost_to_client(conn); /* there is nothing else to be told */
		return;
	}
	if ((events & ~(uint32_t)EPOLLOUT) && !read_input(conn))
		return;
	if ((events & EPOLLOUT) && conn->is_blocked) {
		conn->is_blocked = false;
		play_on(conn);
	}
}

/* A fault that strikes connections does so before any request. */
static bool begin(struct sz_fault_conn *conn)
{
	const struct sz_fault_server *server = conn->server;
	const struct sz_fault *fault = server->config->choice.fault;
	if (fault->strikes != SZ_STRIKES_CONNECTIONS ||
	    server->counts.connections % server->config->every != 0)
		return watch(conn);
	const struct sz_fault_ask ask = ask_of(conn, false);
	conn->never_reads = fault->never_reads;
	conn->answered_in_advance = fault->answers_in_advance;
	write_fault(conn, &ask);
	return begin_play(conn);
}

int sz_fault_conn_open(struct sz_fault_server *server, int fd)
{
	struct sz_fault_conn *conn = malloc(sizeof(*conn));
	if (!conn) {
		close(fd);
		return -1;
	}
	*conn = (struct sz_fault_conn){
		.server = server,
		.next = server->conns,
		.watch.fn = on_event,
		.timer.fn = on_timer,
		.fd = fd,
	};
	if (conn->next)
		conn->next->prev = conn;
	server->conns = conn;
	server->counts.connections++;
	sz_http1_request_init(&conn->parser);
	begin(conn);
	return 0;
}
