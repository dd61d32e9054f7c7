/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests over HTTP/2: each client of a connection is a stream of it.
 *
 * After every turn, whatever it was (bytes came, a client sends, there is room),
 * the calls to which something happened are handed to their clients, and then
 * what is to be sent goes out. Within a turn the connection is corked: clients
 * that are answered ask again at once, and their requests leave in one write.
 */
#include "load/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define OUT_BYTES (16 * 1024)

/* Heads */

static struct sz_http2_head *make_head(const struct sz_request *request, const char *scheme)
{
	struct sz_http2_head *head = NULL;
	struct sz_http2_field *fields = calloc(request->header_count + 1, sizeof(*fields));
	for (size_t i = 0; fields && i < request->header_count; i++)
		fields[i] = (struct sz_http2_field){request->headers[i].name,
						    request->headers[i].value};
	const struct sz_http2_request parts = {.method = request->method,
					       .scheme = scheme,
					       .authority = request->host,
					       .path = request->target,
					       .fields = fields,
					       .field_count = request->header_count};
	if (fields)
		head = sz_http2_head_new(&parts);
	free(fields);
	return head;
}

int sz_load_init_heads(struct sz_load *load, struct sz_err *err)
{
	const struct sz_requests *requests = load->requests;
	const struct sz_requests *setup = load->config.setup;
	const char *scheme = load->config.url.tls ? "https" : "http";
	if (load->config.http != SZ_HTTP_2)
		return 0;
	if (setup && !(load->setup_head = make_head(setup->items, scheme)))
		return sz_err_nomem(err);
	load->heads = calloc(requests->count, sizeof(struct sz_http2_head *));
	if (!load->heads)
		return sz_err_nomem(err);
	for (size_t i = 0; i < requests->count; i++) {
		load->heads[i] = make_head(&requests->items[i], scheme);
		if (!load->heads[i])
			return sz_err_nomem(err);
	}
	return 0;
}

void sz_load_free_heads(struct sz_load *load)
{
	for (size_t i = 0; load->heads && i < load->requests->count; i++)
		sz_http2_head_free(load->heads[i]);
	free(load->heads);
	sz_http2_head_free(load->setup_head);
}

/* The end of a call */

static enum sz_phase phase_of(const struct sz_client *client)
{
	const struct sz_http2_call *call = &client->via.http2;
	if (call->head_complete)
		return SZ_PHASE_BODY;
	return call->begun || call->sent_bytes == client->request->body_bytes ? SZ_PHASE_WAIT
									      : SZ_PHASE_SEND;
}

static void lose(struct sz_client *client, enum sz_outcome outcome, int errnum, const char *why,
		 uint64_t now_ns)
{
	const struct sz_loss loss = {.outcome = outcome,
				     .phase = phase_of(client),
				     .errnum = errnum,
				     .why = why};
	sz_client_lose(client, &loss, now_ns);
}

static void complete(struct sz_client *client, uint64_t now_ns)
{
	const struct sz_http2_call *call = &client->via.http2;
	const struct sz_answer answer = {
		.status = call->status,
		.body_bytes = call->body_bytes,
		.lacks_text = call->sought && call->matched < call->sought->len,
	};
	sz_client_complete(client, &answer, now_ns);
}

static void on_call(struct sz_client *client, uint64_t now_ns)
{
	const struct sz_http2_call *call = &client->via.http2;
	if (call->begun && !client->first_byte_ns)
		client->first_byte_ns = now_ns;
	if (call->events && call->head_complete)
		sz_streams_note(client, call->status, call->body_bytes, now_ns);
	switch (call->end) {
	case SZ_HTTP2_UNDER_WAY:
		break;
	case SZ_HTTP2_WHOLE:
		complete(client, now_ns);
		break;
	case SZ_HTTP2_REFUSED:
		if (client->is_retry)
			lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO,
			     "a request was refused twice: REFUSED_STREAM or GOAWAY", now_ns);
		else
			sz_client_lose_stale(client, now_ns);
		break;
	case SZ_HTTP2_RESET:
		lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO, call->why, now_ns);
		break;
	}
}

/* Whether there was any. The connection may be gone after each. */
static bool settle_calls(struct sz_conn *conn)
{
	struct sz_http2_call *call;
	uint64_t now_ns = sz_now_ns();
	bool any = false;
	while (conn->http2 && (call = sz_http2_next(conn->http2))) {
		on_call(sz_container_of(call, struct sz_client, via.http2), now_ns);
		any = true;
	}
	return any;
}

/* The end of a connection */

static void lose_kept_alive(struct sz_client *client, int errnum, uint64_t now_ns)
{
	if (client->request->is_idempotent)
		sz_client_lose_stale(client, now_ns);
	else
		lose(client, SZ_OUTCOME_NOT_RETRIED, errnum ? errnum : ECONNRESET, NULL, now_ns);
}

/* what: of the answers, when why says what is wrong with them. */
static void lose_one(struct sz_client *client, int errnum, enum sz_outcome what, const char *why,
		     uint64_t now_ns)
{
	bool begun = client->via.http2.begun;
	bool ended = errnum == 0 || errnum == ECONNABORTED;
	bool closed = ended || errnum == ECONNRESET || errnum == EPIPE;
	if (closed && !begun && client->conn->answers > 0 && !client->is_retry &&
	    sz_client_was_crossed(client, now_ns))
		lose_kept_alive(client, errnum, now_ns);
	else if (why || errnum == EPROTO)
		lose(client, what, EPROTO, why, now_ns);
	else if (ended && begun)
		lose(client, SZ_OUTCOME_TRUNCATED, EPROTO,
		     "truncated: the connection closed too early", now_ns);
	else
		lose(client, SZ_OUTCOME_SOCKET_ERROR, errnum ? errnum : ECONNRESET, NULL, now_ns);
}

/* As far as is known: HTTP/1 in place of HTTP/2 is HTTP. */
static bool speaks_http(const struct sz_conn *conn)
{
	const struct sz_load *load = conn->load;
	return sz_http2_is_settled(conn->http2) || load->received < 5 ||
	       memcmp(load->buffer, "HTTP/", 5) == 0;
}

/* The connection broke with errnum, or ended in an orderly way (0); why: what
 * there is to say of it, or NULL. Each request in flight is lost once: one that
 * is sent again meanwhile waits for the next connection. */
static void lose_all(struct sz_conn *conn, int errnum, const char *why)
{
	uint64_t now_ns = sz_now_ns();
	enum sz_outcome what = speaks_http(conn) ? SZ_OUTCOME_PROTOCOL_ERROR : SZ_OUTCOME_NOT_HTTP;
	char text[256];
	snprintf(text, sizeof(text), "%s", why ? why : "");
	conn->peer_closed = true;
	sz_conn_hang_up(conn);
	for (unsigned i = 0; i < conn->client_count; i++) {
		if (conn->clients[i].state == SZ_CLIENT_BUSY)
			lose_one(&conn->clients[i], errnum, what, why ? text : NULL, now_ns);
	}
	sz_conn_wake(conn);
}

static void on_lost(struct sz_conn *conn, int errnum)
{
	const char *why = sz_http2_why(conn->http2);
	lose_all(conn, errnum, why || errnum != EPROTO ? why : conn->stream.why);
}

/* Sending */

/* Whether it took everything; what is left waits for room. */
static bool put(struct sz_conn *conn, const char *bytes, size_t len)
{
	size_t sent = 0;
	while (sent < len) {
		ssize_t n = sz_stream_write(&conn->stream, bytes + sent, len - sent);
		if (n > 0) {
			sent += (size_t)n;
		} else if (n == -EAGAIN) {
			sz_buf_append(&conn->unsent, bytes + sent, len - sent);
			sz_conn_watch(conn, EPOLLOUT);
			if (conn->unsent.failed)
				on_lost(conn, ENOMEM);
			return false;
		} else if (n != -EINTR) {
			on_lost(conn, (int)-n);
			return false;
		}
	}
	return true;
}

static bool put_unsent(struct sz_conn *conn)
{
	struct sz_buf unsent = conn->unsent;
	conn->unsent = (struct sz_buf){0};
	bool is_done = put(conn, unsent.data, unsent.len);
	sz_buf_fini(&unsent);
	return is_done;
}

/* All that there is to send; what pulling it ends goes to its client first. */
static void send_all(struct sz_conn *conn)
{
	char out[OUT_BYTES];
	while (conn->http2) {
		ptrdiff_t len = sz_http2_pull(conn->http2, out, sizeof(out));
		if (len < 0) {
			on_lost(conn, EPROTO);
			return;
		}
		if (len > 0 && !put(conn, out, (size_t)len))
			return;
		if (!settle_calls(conn) && len == 0) {
			sz_conn_watch(conn, 0);
			return;
		}
	}
}

static void turn(struct sz_conn *conn)
{
	conn->is_corked = true;
	settle_calls(conn);
	if (conn->http2)
		sz_conn_release(conn);
	if (conn->http2 && (conn->unsent.len == 0 || put_unsent(conn)))
		send_all(conn);
	conn->is_corked = false;
}

static void ask(struct sz_client *client)
{
	struct sz_load *load = client->load;
	struct sz_conn *conn = client->conn;
	const struct sz_request *request = client->request;
	struct sz_http2_call *call = &client->via.http2;
	struct sz_reply *reply = sz_session_reply(client);
	const struct sz_http2_head *head =
		reply ? load->setup_head : load->heads[request - load->requests->items];
	call->sought = load->config.expected.len ? &load->config.expected : NULL;
	call->events = sz_load_is_streams(load) && !reply ? &client->stream.events : NULL;
	call->cookies = client->session ? client->session->cookies : NULL;
	call->reply = reply;
	if (sz_http2_ask(conn->http2, head, request->body, request->body_bytes, call) < 0) {
		sz_err_nomem(&load->failure);
		sz_load_fail(load);
		return;
	}
	if (!sz_http2_may_ask(conn->http2))
		conn->is_ending = true;
	if (!conn->is_corked)
		turn(conn);
}

static void on_writable(struct sz_conn *conn)
{
	turn(conn);
}

/* The peer is told with what goes out next. */
static void give_up(struct sz_client *client)
{
	sz_http2_cancel(client->conn->http2, &client->via.http2);
	sz_conn_watch(client->conn, EPOLLOUT);
}

/* Receiving */

static int too_few_error(uint32_t streams, unsigned asked, struct sz_err *err)
{
	sz_err_set(err, streams ? SZ_USAGE : SZ_MACHINE, 0,
		   "the service takes %u stream%s of a connection at once, and %u %s asked for",
		   streams, streams == 1 ? "" : "s", asked, asked == 1 ? "is" : "are");
	if (streams == 0)
		return sz_err_hint(err, "let the service take some: its "
					"SETTINGS_MAX_CONCURRENT_STREAMS is 0");
	return sz_err_hint(err, "ask for --streams %u, or let the service take more", streams);
}

/* What a window has measured is not thrown away. */
static void check_streams(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	uint32_t streams = sz_http2_peer_streams(conn->http2);
	if (streams >= conn->client_count || load->failed)
		return;
	if (!load->ever_answered || load->result.sent == 0) {
		too_few_error(streams, conn->client_count, &load->failure);
		sz_load_fail(load);
		return;
	}
	uint64_t lacking = load->config.streams - streams;
	if (lacking > load->result.streams_lacking)
		load->result.streams_lacking = lacking;
	load->result.takes_no_streams |= streams == 0;
}

static void on_bytes(struct sz_conn *conn, size_t len)
{
	struct sz_load *load = conn->load;
	int status = sz_http2_feed(conn->http2, load->buffer, len);
	if (sz_http2_is_settled(conn->http2)) {
		load->speaks_http2 = true;
		load->received = 0;
	}
	if (!conn->is_ending && !sz_http2_may_ask(conn->http2))
		conn->peer_closed = conn->is_ending = true;
	check_streams(conn);
	settle_calls(conn);
	if (status < 0 && conn->http2)
		on_lost(conn, EPROTO);
}

static void read_once(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	ssize_t n = sz_stream_read(&conn->stream, load->buffer, sizeof(load->buffer));
	if (n == -EAGAIN || n == -EINTR)
		return;
	load->received = n > 0 ? (size_t)n : 0;
	if (n > 0)
		on_bytes(conn, (size_t)n);
	else
		on_lost(conn, (int)-n);
}

static void on_readable(struct sz_conn *conn)
{
	conn->is_corked = true;
	do
		read_once(conn);
	while (conn->http2 && sz_stream_pending(&conn->stream));
	conn->is_corked = false;
	if (conn->http2)
		turn(conn);
}

/* Its life */

static void open_session(struct sz_conn *conn)
{
	struct sz_load *load = conn->load;
	conn->http2 = sz_http2_new();
	if (!conn->http2) {
		sz_err_nomem(&load->failure);
		sz_load_fail(load);
		return;
	}
	sz_conn_wake(conn);
	if (conn->http2)
		turn(conn);
}

static void close_session(struct sz_conn *conn)
{
	sz_http2_free(conn->http2);
	conn->http2 = NULL;
	sz_buf_fini(&conn->unsent);
	conn->unsent = (struct sz_buf){0};
}

const struct sz_protocol sz_via_http2 = {
	.open = open_session,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.close = close_session,
	.send = ask,
	.give_up = give_up,
	.phase_of = phase_of,
};
