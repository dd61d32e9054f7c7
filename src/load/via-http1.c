/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests over HTTP/1.1: a connection is one client's. In the common case a
 * request and its answer are one write and one read in one callback, and epoll
 * is told nothing.
 */
#include "load/inside.h"

#include <errno.h>

#include "base/clock.h"

/* The request as it is sent. */
static const struct sz_request *wire_of(const struct sz_client *client)
{
	return client->session ? &client->session->wire : client->request;
}

static bool is_sent(const struct sz_client *client)
{
	const struct sz_request *request = wire_of(client);
	return client->via.http1.sent_bytes == request->head_bytes + request->body_bytes;
}

static enum sz_phase phase_of(const struct sz_client *client)
{
	if (client->via.http1.response.head_complete)
		return SZ_PHASE_BODY;
	return is_sent(client) ? SZ_PHASE_WAIT : SZ_PHASE_SEND;
}

static void lose(struct sz_client *client, enum sz_outcome outcome, int errnum, const char *why,
		 uint64_t now_ns)
{
	const struct sz_loss loss = {.outcome = outcome,
				     .phase = phase_of(client),
				     .errnum = errnum,
				     .why = why};
	sz_conn_hang_up(client->conn);
	sz_client_lose(client, &loss, now_ns);
}

/* A kept-alive connection is of no use any more. */
static void lose_stale(struct sz_client *client, int errnum, uint64_t now_ns)
{
	if (client->request->is_idempotent || client->via.http1.sent_bytes == 0) {
		sz_conn_hang_up(client->conn);
		sz_client_lose_stale(client, now_ns);
	} else {
		lose(client, SZ_OUTCOME_NOT_RETRIED, errnum, NULL, now_ns);
	}
}

static void complete(struct sz_client *client, uint64_t now_ns)
{
	const struct sz_http1_response *response = &client->via.http1.response;
	struct sz_conn *conn = client->conn;
	const struct sz_answer answer = {
		.status = response->status,
		.body_bytes = response->body_bytes,
		.lacks_text = response->sought && response->matched < response->sought->len,
	};
	if (!response->keep_alive)
		conn->peer_closed = true;
	if (conn->peer_closed || !is_sent(client))
		conn->is_ending = true;
	conn->is_answering = true;
	sz_client_complete(client, &answer, now_ns);
	conn->is_answering = false;
}

/* The connection broke with errnum, or ended in an orderly way (0). With TLS
 * ECONNABORTED is an end, too, but not one that can end a response. */
static void on_lost(struct sz_client *client, int errnum, uint64_t now_ns)
{
	struct sz_http1_response *response = &client->via.http1.response;
	struct sz_conn *conn = client->conn;
	bool ended = errnum == 0 || errnum == ECONNABORTED;
	conn->peer_closed = true;
	if (client->first_byte_ns && ended) {
		bool whole = sz_http1_response_eof(response) == SZ_HTTP1_COMPLETE;
		if (whole && errnum == 0)
			complete(client, now_ns);
		else
			lose(client, SZ_OUTCOME_TRUNCATED, EPROTO,
			     whole ? "truncated: TLS did not say that it ends" : response->why,
			     now_ns);
		return;
	}
	/* Because a new connection has answered nothing yet, the loss of a stale
	 * request's retry is an error. */
	bool closed = ended || errnum == ECONNRESET || errnum == EPIPE;
	if (closed && !client->first_byte_ns && conn->answers > 0 &&
	    sz_client_was_crossed(client, now_ns)) {
		lose_stale(client, errnum ? errnum : ECONNRESET, now_ns);
	} else if (errnum == EPROTO) {
		lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO, conn->stream.why, now_ns);
	} else {
		lose(client, SZ_OUTCOME_SOCKET_ERROR, errnum ? errnum : ECONNRESET, NULL, now_ns);
	}
}

/* Bytes came before the request was sent: those of another protocol, whose server
 * speaks first, or an answer to nothing. */
static void on_early(struct sz_client *client, size_t len, uint64_t now_ns)
{
	struct sz_http1_response *response = &client->via.http1.response;
	size_t used;
	enum sz_http1_state state =
		sz_http1_response_feed(response, client->load->buffer, len, &used);
	bool is_other = state == SZ_HTTP1_BAD && !response->is_http;
	bool is_greeting = is_other && client->conn->answers == 0;
	if (is_greeting || client->is_retry) {
		lose(client, is_other ? SZ_OUTCOME_NOT_HTTP : SZ_OUTCOME_PROTOCOL_ERROR, EPROTO,
		     "bytes came before the request was sent", now_ns);
	} else {
		sz_conn_hang_up(client->conn);
		sz_client_lose_stale(client, now_ns);
	}
}

/* Sending */

static ssize_t send_piece(struct sz_client *client)
{
	const struct sz_request *request = wire_of(client);
	size_t sent = client->via.http1.sent_bytes;
	bool joined = sent < request->joined_bytes;
	ssize_t n = sz_stream_write(&client->conn->stream,
				    joined ? request->head + sent
					   : request->body + (sent - request->head_bytes),
				    (joined ? request->joined_bytes
					    : request->head_bytes + request->body_bytes) -
					    sent);
	if (n > 0)
		client->via.http1.sent_bytes += (size_t)n;
	return n;
}

/* A long body follows its head at once, and goes on when there is room. */
static void send_rest(struct sz_client *client)
{
	ssize_t n = send_piece(client);
	if (n > 0 && client->via.http1.sent_bytes == wire_of(client)->joined_bytes &&
	    !is_sent(client))
		n = send_piece(client);
	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		on_lost(client, (int)-n, sz_now_ns());
		return;
	}
	sz_conn_watch(client->conn, is_sent(client) ? 0 : EPOLLOUT);
}

/* Bytes that came before the request was sent are read, and answer nothing. Right
 * behind an answer there is no look: it would cost each request a system call. */
static bool is_spoken_to(struct sz_client *client)
{
	struct sz_load *load = client->load;
	struct sz_conn *conn = client->conn;
	if (conn->is_answering && !sz_stream_pending(&conn->stream))
		return false;
	ssize_t n = sz_stream_read(&conn->stream, load->buffer, sizeof(load->buffer));
	if (n == -EAGAIN || n == -EINTR)
		return false;
	load->received = n > 0 ? (size_t)n : 0;
	if (n <= 0)
		on_lost(client, (int)-n, sz_now_ns());
	else
		on_early(client, (size_t)n, sz_now_ns());
	return true;
}

static void begin(struct sz_client *client)
{
	struct sz_load *load = client->load;
	struct sz_http1_response *response = &client->via.http1.response;
	client->via.http1.sent_bytes = 0;
	sz_http1_response_init(response, client->request->is_head);
	response->asked_in_http10 = load->config.http == SZ_HTTP_1_0;
	if (client->session)
		sz_session_write(client);
	if (sz_session_reply(client)) {
		sz_http1_response_keep(response, sz_session_reply(client));
	} else {
		if (load->config.expected.len)
			response->sought = &load->config.expected;
		if (sz_load_is_streams(load))
			response->events = &client->stream.events;
		else if (!load->config.parses_all)
			response->memo = &load->memo;
	}
	if (!is_spoken_to(client))
		send_rest(client);
}

static void on_writable(struct sz_conn *conn)
{
	send_rest(conn->clients);
}

/* Receiving */

static void on_bytes(struct sz_client *client, size_t len, uint64_t now_ns)
{
	struct sz_http1_response *response = &client->via.http1.response;
	size_t used = 0;
	if (!client->first_byte_ns)
		client->first_byte_ns = now_ns;
	enum sz_http1_state state =
		sz_http1_response_feed(response, client->load->buffer, len, &used);
	if (response->events && response->head_complete)
		sz_streams_note(client, response->status, response->body_bytes, now_ns);
	if (state == SZ_HTTP1_MORE)
		return;
	if (state == SZ_HTTP1_COMPLETE && used == len)
		complete(client, now_ns);
	else
		lose(client, response->is_http ? SZ_OUTCOME_PROTOCOL_ERROR : SZ_OUTCOME_NOT_HTTP,
		     EPROTO, response->why ? response->why : "bytes behind the end of the response",
		     now_ns);
}

static void read_once(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	struct sz_client *client = conn->clients;
	ssize_t n = sz_stream_read(&conn->stream, load->buffer, sizeof(load->buffer));
	uint64_t now_ns = sz_now_ns();
	if (n == -EAGAIN || n == -EINTR)
		return;
	load->received = n > 0 ? (size_t)n : 0;
	if (client->state != SZ_CLIENT_BUSY) {
		/* Closed, or bytes that nobody asked for: of no use either way. */
		conn->peer_closed = n <= 0;
		sz_conn_hang_up(conn);
		sz_conn_wake(conn);
	} else if (n > 0) {
		on_bytes(client, (size_t)n, now_ns);
	} else {
		on_lost(client, (int)-n, now_ns);
	}
}

/* TLS may hold more than was read. */
static void on_readable(struct sz_conn *conn)
{
	do
		read_once(conn);
	while (conn->state == SZ_CONN_OPEN && sz_stream_pending(&conn->stream));
}

static void give_up(struct sz_client *client)
{
	sz_conn_hang_up(client->conn);
}

static void close_nothing(struct sz_conn *conn)
{
	(void)conn;
}

const struct sz_protocol sz_via_http1 = {
	.open = sz_conn_wake,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.close = close_nothing,
	.send = begin,
	.give_up = give_up,
	.phase_of = phase_of,
};
