/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection, shared by as many clients as it carries requests at once.
 *
 *	DOWN -> CONNECTING -> SECURING -> OPEN
 *
 * and from everywhere back to DOWN; without TLS nothing is SECURING. It is
 * opened by a client that wants to send; all that want to meanwhile wait.
 */
#include "load/inside.h"

#include <errno.h>

#include "base/clock.h"

/* EPOLLRDHUP comes with the last bytes when the server closed right behind
 * them: then no request is thrown at a closed connection. */
void sz_conn_watch(struct sz_conn *conn, uint32_t more_events)
{
	struct sz_load *load = conn->load;
	if (sz_watch_set(load->loop, &conn->watch, conn->stream.fd,
			 EPOLLIN | EPOLLRDHUP | more_events, &load->failure) < 0)
		sz_load_fail(load);
}

void sz_conn_hang_up(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	if (conn->state == SZ_CONN_OPEN)
		load->open_now--;
	else
		sz_load_pull_wait(load, &conn->wait);
	sz_watch_clear(load->loop, &conn->watch);
	load->protocol->close(conn);
	sz_stream_close(&conn->stream);
	conn->state = SZ_CONN_DOWN;
}

/* Whoever waits: the connection is open, or must be opened anew. What they send
 * goes out together. A connection may take fewer requests than clients wait: the
 * first that it left out is the first next time. */
void sz_conn_wake(struct sz_conn *conn)
{
	bool was_corked = conn->is_corked;
	unsigned first = conn->first_to_wake;
	bool is_full = false;
	conn->is_corked = true;
	for (unsigned i = 0; i < conn->client_count; i++) {
		unsigned number = (first + i) % conn->client_count;
		struct sz_client *client = &conn->clients[number];
		if (client->state != SZ_CLIENT_WAITING)
			continue;
		client->state = SZ_CLIENT_IDLE;
		sz_client_go(client);
		if (client->state == SZ_CLIENT_WAITING && !is_full) {
			conn->first_to_wake = number;
			is_full = true;
		}
	}
	conn->is_corked = was_corked;
}

void sz_conn_release(struct sz_conn *conn)
{
	if (conn->state != SZ_CONN_OPEN || !conn->is_ending || conn->in_flight > 0)
		return;
	sz_conn_hang_up(conn);
	sz_conn_wake(conn);
}

/* Opening */

/* why: the words for it, if there are better ones than those of errnum. */
static void fail(struct sz_conn *conn, int errnum, const struct sz_err *why, uint64_t now_ns)
{
	struct sz_load *load = conn->load;
	enum sz_phase phase = conn->state == SZ_CONN_SECURING ? SZ_PHASE_TLS : SZ_PHASE_CONNECT;
	if (conn->state != SZ_CONN_DOWN)
		sz_conn_hang_up(conn);
	if (phase == SZ_PHASE_CONNECT && sz_address_leave_out(conn, errnum)) {
		sz_conn_open(conn);
		return;
	}
	load->route.addr = conn->address->addr;
	for (unsigned i = 0; i < conn->client_count; i++) {
		if (conn->clients[i].state == SZ_CLIENT_WAITING)
			sz_client_unconnected(&conn->clients[i], phase, errnum, why, now_ns);
	}
	sz_load_check_stage(load, now_ns);
}

static void count(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	load->opened++;
	load->open_now++;
	conn->address->opened++;
	if (conn->was_open) {
		load->reconnects++;
		load->server_closed += conn->peer_closed;
	}
	conn->was_open = true;
	conn->peer_closed = conn->is_ending = false;
	conn->asked = conn->answers = 0;
}

static void on_open(struct sz_conn *conn, uint64_t now_ns)
{
	struct sz_load *load = conn->load;
	sz_load_pull_wait(load, &conn->wait);
	conn->state = SZ_CONN_OPEN;
	count(conn);
	sz_conn_watch(conn, 0);
	sz_load_check_stage(load, now_ns);
	load->protocol->open(conn);
	if (conn->state == SZ_CONN_OPEN && sz_stream_pending(&conn->stream))
		load->protocol->on_readable(conn);
}

static int check_protocol(const struct sz_conn *conn, struct sz_err *why)
{
	if (conn->load->config.http != SZ_HTTP_2 || sz_stream_alpn(&conn->stream) == SZ_ALPN_H2)
		return 0;
	sz_err_set(why, SZ_MACHINE, 0, "the service did not agree to HTTP/2 over TLS (ALPN)");
	return sz_err_hint(why, "leave --http 2 out, or switch HTTP/2 on in the service");
}

static void secure(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	struct sz_err why;
	int status = sz_stream_handshake(&conn->stream, &why);
	uint64_t now_ns = sz_now_ns();
	if (status == 0 && check_protocol(conn, &why) < 0)
		status = -EPROTONOSUPPORT;
	if (status == -EAGAIN) {
		sz_conn_watch(conn, conn->stream.wants & EPOLLOUT);
	} else if (status < 0) {
		fail(conn, -status, &why, now_ns);
	} else {
		sz_hist_add(&load->handshake, now_ns - conn->connected_ns);
		load->resumed += sz_stream_is_resumed(&conn->stream);
		on_open(conn, now_ns);
	}
}

static void on_connected(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	int status = sz_stream_connected(&conn->stream);
	uint64_t now_ns = sz_now_ns();
	if (status < 0) {
		fail(conn, -status, NULL, now_ns);
		return;
	}
	sz_hist_add(&load->connect, now_ns - conn->wait.started_ns);
	conn->connected_ns = now_ns;
	if (load->route.tls) {
		conn->state = SZ_CONN_SECURING;
		secure(conn);
	} else {
		on_open(conn, now_ns);
	}
}

void sz_conn_open(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	uint64_t now_ns = sz_now_ns();
	sz_address_choose(conn);
	int status = sz_stream_open(&conn->stream, &load->route);
	if (status < 0) {
		fail(conn, -status, NULL, now_ns);
		return;
	}
	conn->state = SZ_CONN_CONNECTING;
	sz_load_push_wait(load, &conn->wait, now_ns);
	sz_conn_watch(conn, EPOLLOUT);
}

static void on_time_out(struct sz_wait *wait, uint64_t now_ns)
{
	fail(sz_container_of(wait, struct sz_conn, wait), ETIMEDOUT, NULL, now_ns);
}

static void on_event(struct sz_watch *event, uint32_t events)
{
	struct sz_conn *conn = sz_container_of(event, struct sz_conn, watch);
	const struct sz_protocol *protocol = conn->load->protocol;
	if (conn->state == SZ_CONN_CONNECTING) {
		on_connected(conn);
		return;
	}
	if (conn->state == SZ_CONN_SECURING) {
		secure(conn);
		return;
	}
	if (events & EPOLLRDHUP)
		conn->peer_closed = conn->is_ending = true;
	if (events == EPOLLOUT)
		protocol->on_writable(conn);
	else
		protocol->on_readable(conn);
}

void sz_conn_init(struct sz_conn *conn, struct sz_load *load, struct sz_client *clients,
		  unsigned count)
{
	*conn = (struct sz_conn){
		.watch.fn = on_event,
		.wait.time_out = on_time_out,
		.load = load,
		.stream.fd = -1,
		.clients = clients,
		.client_count = count,
	};
	for (unsigned i = 0; i < count; i++)
		sz_client_init(&clients[i], conn);
}
