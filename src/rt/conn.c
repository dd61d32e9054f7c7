/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection: read, parse, hand over, answer.
 *
 * Every entry (socket event, timer, stop) handles at most one request and
 * ends in settle(), the only place that decides what the connection waits for
 * next and the only one, beside a failed read, that frees it. The application
 * runs inside such an entry; answering only fills the output.
 *
 * Fairness: one request per turn, also when more have arrived already: they
 * are `pending`, and their turn is a timer that is due at once.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rt/inside.h"

#define LINGER_NS (1 * SZ_NS_PER_S)
#define OUT_KEEP_BYTES ((size_t)64 * 1024)

static void conn_close(struct sz_rt_conn *conn)
{
	struct sz_rt_worker *worker = conn->worker;
	sz_watch_clear(worker->loop, &conn->watch);
	sz_timer_clear(worker->loop, &conn->timer);
	close(conn->fd);
	if (conn->prev)
		conn->prev->next = conn->next;
	else
		worker->conns = conn->next;
	if (conn->next)
		conn->next->prev = conn->prev;
	sz_buf_fini(&conn->pending);
	sz_buf_fini(&conn->out);
	free(conn);
	sz_rt_worker_count(worker, -1);
}

/* Send what there is. False when the connection is broken. */
static bool flush(struct sz_rt_conn *conn)
{
	while (conn->out_sent < conn->out.len) {
		ssize_t sent = send(conn->fd, conn->out.data + conn->out_sent,
				    conn->out.len - conn->out_sent, MSG_NOSIGNAL);
		if (sent >= 0)
			conn->out_sent += (size_t)sent;
		else if (errno == EAGAIN)
			return true;
		else if (errno != EINTR)
			return false;
	}
	conn->out.len = 0;
	conn->out_sent = 0;
	if (conn->out.cap > OUT_KEEP_BYTES)
		sz_buf_fini(&conn->out);
	return true;
}

/* Closing a socket with unread input makes the kernel send a reset, which may
 * overtake the answer. So shut our side, and read on for a while. */
static bool start_lingering(struct sz_rt_conn *conn)
{
	struct sz_loop *loop = conn->worker->loop;
	conn->lingering = true;
	shutdown(conn->fd, SHUT_WR);
	return sz_timer_set(loop, &conn->timer, sz_now_ns() + LINGER_NS, NULL) == 0 &&
	       sz_watch_set(loop, &conn->watch, conn->fd, EPOLLIN, NULL) == 0;
}

/* Arrange for whatever comes next; false when nothing does. */
static bool wait_for_next(struct sz_rt_conn *conn)
{
	struct sz_rt_worker *worker = conn->worker;
	if (!flush(conn) || conn->out.failed || conn->pending.failed)
		return false;
	if (conn->out.len)
		return sz_watch_set(worker->loop, &conn->watch, conn->fd, EPOLLOUT, NULL) == 0;
	if (conn->closing && conn->refused)
		return start_lingering(conn);
	if (conn->closing || (worker->stopping && !conn->started && !conn->pending.len))
		return false;
	if (conn->pending.len)
		return sz_timer_set(worker->loop, &conn->timer, 0, NULL) == 0;
	return sz_watch_set(worker->loop, &conn->watch, conn->fd, EPOLLIN, NULL) == 0;
}

static void settle(struct sz_rt_conn *conn)
{
	if (!conn->busy && !wait_for_next(conn))
		conn_close(conn);
}

static const char *reason_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = {
		{200, "OK"},
		{204, "No Content"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{414, "URI Too Long"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(phrases); i++) {
		if (phrases[i].status == status)
			return phrases[i].phrase;
	}
	return ""; /* RFC 9112, section 4: may be empty */
}

/* The Date header's value, made once a second; not by strftime(), which would
 * follow the locale. */
static const char *http_date(struct sz_rt_worker *worker)
{
	static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t now_s = time(NULL);
	struct tm utc;
	if (now_s != worker->date_s && gmtime_r(&now_s, &utc)) {
		snprintf(worker->date, sizeof(worker->date), "%s, %02d %s %d %02d:%02d:%02d GMT",
			 days[utc.tm_wday], utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900,
			 utc.tm_hour, utc.tm_min, utc.tm_sec);
		worker->date_s = now_s;
	}
	return worker->date;
}

static void write_response(struct sz_rt_conn *conn, int status, const char *type, const void *body,
			   size_t len)
{
	bool has_body = status != 204 && status != 304;
	/* Said in both cases: a client of HTTP/1.0 needs to be told. */
	sz_buf_printf(&conn->out, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: %s\r\n", status,
		      reason_phrase(status), http_date(conn->worker),
		      conn->closing ? "close" : "keep-alive");
	if (has_body)
		sz_buf_printf(&conn->out, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, len);
	sz_buf_puts(&conn->out, "\r\n");
	if (has_body && len && strcmp(conn->parser.method, "HEAD") != 0)
		sz_buf_append(&conn->out, body, len);
}

void sz_rt_respond(struct sz_rt_request *request, int status, const char *type, const void *body,
		   size_t len)
{
	struct sz_rt_conn *conn = sz_container_of(request, struct sz_rt_conn, request);
	assert(conn->busy);
	sz_timer_clear(conn->worker->loop, &conn->timer);
	conn->closing = !conn->parser.keep_alive || conn->worker->stopping;
	write_response(conn, status, type, body, len);
	conn->busy = false;
	sz_http1_request_init(&conn->parser);
}

void sz_rt_later(struct sz_rt_request *request, uint64_t delay_ns, sz_rt_later_fn *fn, void *arg)
{
	struct sz_rt_conn *conn = sz_container_of(request, struct sz_rt_conn, request);
	static const char no_memory[] = "no memory\n";
	assert(conn->busy && !sz_timer_armed(&conn->timer));
	request->later = fn;
	request->later_arg = arg;
	if (sz_timer_set(conn->worker->loop, &conn->timer, sz_now_ns() + delay_ns, NULL) < 0)
		sz_rt_respond(request, 503, "text/plain", no_memory, sizeof(no_memory) - 1);
}

static void hand_over(struct sz_rt_conn *conn)
{
	const struct sz_rt_config *config = conn->worker->config;
	char *query = strchr(conn->parser.target, '?');
	if (query)
		*query++ = '\0';
	conn->request = (struct sz_rt_request){.query = query ? query : ""};
	conn->busy = true;
	config->handle(&conn->request, config->app);
	assert(!conn->busy || sz_timer_armed(&conn->timer));
}

static void refuse(struct sz_rt_conn *conn)
{
	char text[256];
	int len = snprintf(text, sizeof(text), "%s\n", conn->parser.why);
	conn->closing = true;
	conn->refused = true;
	write_response(conn, conn->parser.refuse_status, "text/plain", text, (size_t)len);
}

/* Parse up to the end of one request and hand it over; keep what follows. */
static void take_input(struct sz_rt_conn *conn, const char *bytes, size_t len)
{
	size_t used;
	enum sz_http1_state state = sz_http1_request_feed(&conn->parser, bytes, len, &used);
	conn->started = state == SZ_HTTP1_MORE;
	if (state == SZ_HTTP1_BAD)
		refuse(conn);
	if (state != SZ_HTTP1_COMPLETE)
		return;
	if (used < len)
		sz_buf_append(&conn->pending, bytes + used, len - used);
	hand_over(conn);
}

static void read_input(struct sz_rt_conn *conn)
{
	char *input = conn->worker->input;
	ssize_t len = recv(conn->fd, input, SZ_RT_READ_BYTES, 0);
	bool is_broken = len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR);
	if (is_broken) {
		conn_close(conn);
		return;
	}
	if (len > 0 && !conn->lingering)
		take_input(conn, input, (size_t)len);
	if (!conn->lingering)
		settle(conn);
}

static void on_event(struct sz_watch *watch, uint32_t events)
{
	struct sz_rt_conn *conn = sz_container_of(watch, struct sz_rt_conn, watch);
	(void)events;
	/* More input, or the client's end, before its turn: the watch would
	 * report it again and again. settle() asks anew. */
	if (conn->busy || (conn->pending.len && !conn->out.len))
		sz_watch_clear(conn->worker->loop, watch);
	else if (conn->out.len)
		settle(conn);
	else
		read_input(conn);
}

static void take_pending(struct sz_rt_conn *conn)
{
	sz_autobuf struct sz_buf taken = conn->pending;
	conn->pending = (struct sz_buf){0};
	take_input(conn, taken.data, taken.len);
}

static void on_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_rt_conn *conn = sz_container_of(timer, struct sz_rt_conn, timer);
	(void)now_ns;
	if (conn->lingering) {
		conn_close(conn);
		return;
	}
	if (conn->busy)
		conn->request.later(&conn->request, conn->request.later_arg);
	else
		take_pending(conn);
	settle(conn);
}

int sz_rt_conn_open(struct sz_rt_worker *worker, int fd)
{
	struct sz_rt_conn *conn = malloc(sizeof(*conn));
	if (!conn) {
		close(fd);
		return -1;
	}
	*conn = (struct sz_rt_conn){
		.worker = worker,
		.next = worker->conns,
		.watch.fn = on_event,
		.timer.fn = on_timer,
		.fd = fd,
	};
	sz_http1_request_init(&conn->parser);
	if (sz_watch_set(worker->loop, &conn->watch, fd, EPOLLIN, NULL) < 0) {
		close(fd);
		free(conn);
		return -1;
	}
	if (conn->next)
		conn->next->prev = conn;
	worker->conns = conn;
	sz_rt_worker_count(worker, 1);
	return 0;
}

void sz_rt_conn_stop(struct sz_rt_conn *conn)
{
	/* A request may have arrived that nobody has read yet: it is in flight
	 * for its client, and is answered. */
	if (!conn->busy && !conn->pending.len && !conn->out.len && !conn->lingering)
		read_input(conn);
}
