/* SPDX-License-Identifier: Apache-2.0
 *
 * One client: a connection, at most one request in flight.
 *
 *	DOWN -> CONNECTING -> SECURING -> IDLE -> BUSY -> IDLE -> BUSY …
 *
 * and from everywhere back to DOWN; without TLS nothing is SECURING. In the
 * common case BUSY -> IDLE -> BUSY is one read and one write in one callback,
 * and epoll is told nothing.
 */
#include "load/inside.h"

#include <errno.h>

#include "base/clock.h"

#define BACKOFF_FIRST_NS (10 * SZ_NS_PER_MS)
#define BACKOFF_MOST_NS SZ_NS_PER_S
#define BACKOFF_DOUBLINGS 7 /* enough to get from first to most */

/* EPOLLRDHUP comes with the last bytes when the server closed right behind
 * them: then no request is thrown at a closed connection. */
static void watch(struct sz_client *client, uint32_t more_events)
{
	struct sz_load *load = client->load;
	if (sz_watch_set(load->loop, &client->watch, client->stream.fd,
			 EPOLLIN | EPOLLRDHUP | more_events, &load->failure) < 0)
		sz_load_fail(load);
}

static bool is_open(const struct sz_client *client)
{
	return client->state == SZ_CLIENT_IDLE || client->state == SZ_CLIENT_BUSY;
}

static void hang_up(struct sz_client *client)
{
	sz_watch_clear(client->load->loop, &client->watch);
	sz_stream_close(&client->stream);
	if (is_open(client))
		client->load->open_now--;
	client->state = SZ_CLIENT_DOWN;
}

static void back_off(struct sz_client *client, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	uint64_t wait_ns = BACKOFF_FIRST_NS << client->failures;
	if (wait_ns > BACKOFF_MOST_NS)
		wait_ns = BACKOFF_MOST_NS;
	if (client->failures < BACKOFF_DOUBLINGS)
		client->failures++;
	if (sz_timer_set(load->loop, &client->retry, now_ns + wait_ns, &load->failure) < 0)
		sz_load_fail(load);
}

static void on_retry(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	sz_client_go(sz_container_of(timer, struct sz_client, retry));
}

/* Requests */

static void settle(struct sz_client *client, enum sz_outcome outcome, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	if (client->counted) {
		sz_tally_outcome(&load->result, client, outcome, now_ns);
		/* A call of an open loop goes on until its retry is over. */
		if (!sz_load_is_open(load) || outcome != SZ_OUTCOME_STALE)
			load->counted_in_flight--;
	}
	if (load->stage == SZ_STAGE_ROUND && outcome != SZ_OUTCOME_STALE)
		sz_load_note_call(load, client, outcome == SZ_OUTCOME_OK, now_ns);
	client->state = SZ_CLIENT_IDLE;
	sz_load_pull_pending(load, client);
	sz_load_check_stage(load, now_ns);
}

static bool is_sent(const struct sz_client *client)
{
	const struct sz_request *request = client->request;
	return client->sent_bytes == request->head_bytes + request->body_bytes;
}

static enum sz_phase phase_of(const struct sz_client *client)
{
	if (client->response.head_complete)
		return SZ_PHASE_BODY;
	return is_sent(client) ? SZ_PHASE_WAIT : SZ_PHASE_SEND;
}

/* A stale request is nobody's error: it goes out again at once, and because
 * the new connection has answered nothing yet, its loss would be an error. */
static void lose_stale(struct sz_client *client, uint64_t now_ns)
{
	settle(client, SZ_OUTCOME_STALE, now_ns);
	hang_up(client);
	client->is_due = true;
	client->again = true;
	sz_client_go(client);
}

static void lose(struct sz_client *client, enum sz_outcome outcome, int errnum, const char *why,
		 uint64_t now_ns)
{
	struct sz_load *load = client->load;
	enum sz_phase phase = phase_of(client);
	if (client->counted)
		sz_tally_error(&load->result, phase, errnum);
	sz_load_note_lost(load, client, phase, errnum, why);
	settle(client, outcome, now_ns);
	hang_up(client);
	if (outcome == SZ_OUTCOME_TIMEOUT)
		sz_client_go(client);
	else
		back_off(client, now_ns);
}

/* The status is good, and so is the body. */
static bool is_as_expected(struct sz_client *client)
{
	const struct sz_http1_response *response = &client->response;
	struct sz_load_result *result = &client->load->result;
	bool good = sz_statuses_has(client->request->expected, response->status);
	bool other_body = good && response->sought && response->matched < response->sought->len;
	if (client->counted && (!good || other_body)) {
		result->error_status = response->status;
		result->unexpected += other_body;
	}
	return good && !other_body;
}

static void complete(struct sz_client *client, uint64_t now_ns)
{
	const struct sz_http1_response *response = &client->response;
	struct sz_load *load = client->load;
	bool ok = is_as_expected(client);
	bool early = !is_sent(client);
	client->answers++;
	client->failures = 0;
	if (!response->keep_alive)
		client->peer_closed = true;
	sz_load_note_answer(load, client, ok, now_ns);
	settle(client, ok ? SZ_OUTCOME_OK : SZ_OUTCOME_HTTP_ERROR, now_ns);
	if (client->peer_closed || client->answers == load->config.reconnect_every || early)
		hang_up(client);
	sz_client_go(client);
}

/* The connection broke with errnum, or ended in an orderly way (0). With TLS
 * ECONNABORTED is an end, too, but not one that can end a response. */
static void on_lost(struct sz_client *client, int errnum, uint64_t now_ns)
{
	struct sz_http1_response *response = &client->response;
	bool ended = errnum == 0 || errnum == ECONNABORTED;
	client->peer_closed = true;
	if (client->first_byte_ns && ended) {
		bool whole = sz_http1_response_eof(response) == SZ_HTTP1_COMPLETE;
		if (whole && errnum == 0)
			complete(client, now_ns);
		else
			lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO,
			     whole ? "truncated: TLS did not say that it ends" : response->why,
			     now_ns);
		return;
	}
	bool closed = ended || errnum == ECONNRESET || errnum == EPIPE;
	if (closed && !client->first_byte_ns && client->answers > 0)
		lose_stale(client, now_ns);
	else if (errnum == EPROTO)
		lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO, client->stream.why, now_ns);
	else
		lose(client, SZ_OUTCOME_SOCKET_ERROR, errnum ? errnum : ECONNRESET, NULL, now_ns);
}

static ssize_t send_piece(struct sz_client *client)
{
	const struct sz_request *request = client->request;
	size_t sent = client->sent_bytes;
	bool joined = sent < request->joined_bytes;
	ssize_t n = sz_stream_write(&client->stream,
				    joined ? request->head + sent
					   : request->body + (sent - request->head_bytes),
				    (joined ? request->joined_bytes
					    : request->head_bytes + request->body_bytes) -
					    sent);
	if (n > 0)
		client->sent_bytes += (size_t)n;
	return n;
}

/* A long body follows its head at once, and goes on when there is room. */
static void send_rest(struct sz_client *client)
{
	ssize_t n = send_piece(client);
	if (n > 0 && client->sent_bytes == client->request->joined_bytes && !is_sent(client))
		n = send_piece(client);
	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		on_lost(client, (int)-n, sz_now_ns());
		return;
	}
	watch(client, is_sent(client) ? 0 : EPOLLOUT);
}

/* Outside an open loop, in which a call was asked when it was due. */
static void ask(struct sz_client *client)
{
	struct sz_load *load = client->load;
	client->counted = load->counting;
	load->counted_in_flight += client->counted;
	client->asked_ns =
		load->stage == SZ_STAGE_ROUND ? load->round_start_ns : client->started_ns;
}

static void send_request(struct sz_client *client)
{
	struct sz_load *load = client->load;
	client->state = SZ_CLIENT_BUSY;
	client->is_due = false;
	client->request = sz_load_next_request(client);
	client->sent_bytes = 0;
	client->first_byte_ns = 0;
	sz_http1_response_init(&client->response, client->request->is_head);
	if (load->config.expected.len)
		client->response.sought = &load->config.expected;
	client->started_ns = sz_now_ns();
	if (!load->open.is_running)
		ask(client);
	if (client->counted) {
		load->result.attempts++;
		load->result.sent++;
	} else {
		load->uncounted++;
	}
	sz_load_push_pending(load, client);
	send_rest(client);
}

static void on_bytes(struct sz_client *client, size_t len, uint64_t now_ns)
{
	struct sz_http1_response *response = &client->response;
	size_t used = 0;
	if (!client->first_byte_ns)
		client->first_byte_ns = now_ns;
	enum sz_http1_state state =
		sz_http1_response_feed(response, client->load->buffer, len, &used);
	if (state == SZ_HTTP1_MORE)
		return;
	if (state == SZ_HTTP1_COMPLETE && used == len)
		complete(client, now_ns);
	else
		lose(client, SZ_OUTCOME_PROTOCOL_ERROR, EPROTO,
		     response->why ? response->why : "bytes behind the end of the response",
		     now_ns);
}

static void read_once(struct sz_client *client)
{
	struct sz_load *load = client->load;
	ssize_t n = sz_stream_read(&client->stream, load->buffer, sizeof(load->buffer));
	uint64_t now_ns = sz_now_ns();
	if (n == -EAGAIN || n == -EINTR)
		return;
	load->received = n > 0 ? (size_t)n : 0;
	if (client->state == SZ_CLIENT_IDLE) {
		/* Closed, or bytes that nobody asked for: of no use either way. */
		client->peer_closed = n <= 0;
		hang_up(client);
	} else if (n > 0) {
		on_bytes(client, (size_t)n, now_ns);
	} else {
		on_lost(client, (int)-n, now_ns);
	}
}

/* TLS may hold more than was read. */
static void on_readable(struct sz_client *client)
{
	do
		read_once(client);
	while (is_open(client) && sz_stream_pending(&client->stream));
}

/* Connections */

/* why: the words for it, if there are better ones than those of errnum. */
static void connect_failed(struct sz_client *client, enum sz_phase phase, int errnum,
			   const struct sz_err *why, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	bool counted = load->open.is_running ? client->is_due && client->counted : load->counting;
	if (counted) {
		load->result.attempts++;
		load->result.connect_failed++;
		sz_tally_error(&load->result, phase, errnum);
	}
	if (load->open.is_running) {
		load->counted_in_flight -= counted;
		client->is_due = false;
	}
	sz_load_note_unconnected(load, client, phase, errnum, why);
	client->again = false;
	back_off(client, now_ns);
	if (load->stage == SZ_STAGE_ROUND) {
		client->is_due = false;
		sz_load_note_call(load, client, false, now_ns);
	}
	sz_load_check_stage(load, now_ns);
}

static void stop_connecting(struct sz_client *client, int errnum, const struct sz_err *why,
			    uint64_t now_ns)
{
	enum sz_phase phase = client->state == SZ_CLIENT_SECURING ? SZ_PHASE_TLS : SZ_PHASE_CONNECT;
	sz_load_pull_pending(client->load, client);
	hang_up(client);
	connect_failed(client, phase, errnum, why, now_ns);
}

static void count_connection(struct sz_client *client)
{
	struct sz_load *load = client->load;
	load->opened++;
	load->open_now++;
	if (client->was_open) {
		load->reconnects++;
		load->server_closed += client->peer_closed;
	}
	client->was_open = true;
	client->peer_closed = false;
	client->answers = 0;
}

static void on_open(struct sz_client *client, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	sz_load_pull_pending(load, client);
	client->state = SZ_CLIENT_IDLE;
	count_connection(client);
	watch(client, 0);
	sz_load_check_stage(load, now_ns);
	sz_client_go(client);
	if (is_open(client) && sz_stream_pending(&client->stream))
		on_readable(client);
}

static void secure(struct sz_client *client)
{
	struct sz_load *load = client->load;
	struct sz_err why;
	int status = sz_stream_handshake(&client->stream, &why);
	uint64_t now_ns = sz_now_ns();
	if (status == -EAGAIN) {
		watch(client, client->stream.wants & EPOLLOUT);
	} else if (status < 0) {
		stop_connecting(client, -status, &why, now_ns);
	} else {
		sz_hist_add(&load->handshake, now_ns - client->connected_ns);
		load->resumed += sz_stream_is_resumed(&client->stream);
		on_open(client, now_ns);
	}
}

static void on_connected(struct sz_client *client)
{
	struct sz_load *load = client->load;
	int status = sz_stream_connected(&client->stream);
	uint64_t now_ns = sz_now_ns();
	if (status < 0) {
		stop_connecting(client, -status, NULL, now_ns);
		return;
	}
	sz_hist_add(&load->connect, now_ns - client->started_ns);
	client->connected_ns = now_ns;
	if (load->route.tls) {
		client->state = SZ_CLIENT_SECURING;
		secure(client);
	} else {
		on_open(client, now_ns);
	}
}

static void start_connecting(struct sz_client *client)
{
	struct sz_load *load = client->load;
	uint64_t now_ns = sz_now_ns();
	int status = sz_stream_open(&client->stream, &load->route);
	if (status < 0) {
		connect_failed(client, SZ_PHASE_CONNECT, -status, NULL, now_ns);
		return;
	}
	client->state = SZ_CLIENT_CONNECTING;
	client->started_ns = now_ns;
	sz_load_push_pending(load, client);
	watch(client, EPOLLOUT);
}

static void on_event(struct sz_watch *event, uint32_t events)
{
	struct sz_client *client = sz_container_of(event, struct sz_client, watch);
	if (client->state == SZ_CLIENT_CONNECTING) {
		on_connected(client);
		return;
	}
	if (client->state == SZ_CLIENT_SECURING) {
		secure(client);
		return;
	}
	if (events & EPOLLRDHUP)
		client->peer_closed = true;
	if (events == EPOLLOUT)
		send_rest(client);
	else
		on_readable(client);
}

/* What load.c asks of a client */

void sz_client_init(struct sz_client *client, struct sz_load *load)
{
	*client = (struct sz_client){
		.watch.fn = on_event,
		.retry.fn = on_retry,
		.load = load,
		.stream.fd = -1,
	};
}

/* Waits for a connection or for an answer. */
static bool is_pending(const struct sz_client *client)
{
	return client->state != SZ_CLIENT_DOWN && client->state != SZ_CLIENT_IDLE;
}

static bool may_send(const struct sz_client *client)
{
	enum sz_load_stage stage = client->load->stage;
	if (stage == SZ_STAGE_PRIMING)
		return !client->answered;
	if (stage == SZ_STAGE_ROUND || client->load->open.is_running)
		return client->is_due;
	return stage != SZ_STAGE_DRAINING;
}

void sz_client_go(struct sz_client *client)
{
	if (sz_timer_armed(&client->retry))
		return;
	if (!client->is_due && !is_pending(client))
		sz_open_offer(client);
	bool early = client->load->open.is_running && client->load->stage == SZ_STAGE_LEAD_IN &&
		     client->state == SZ_CLIENT_DOWN; /* so that the window has all connections */
	if (!may_send(client) && !early)
		return;
	if (client->state == SZ_CLIENT_IDLE)
		send_request(client);
	else if (client->state == SZ_CLIENT_DOWN)
		start_connecting(client);
}

void sz_client_time_out(struct sz_client *client, uint64_t now_ns)
{
	if (client->state == SZ_CLIENT_BUSY)
		lose(client, SZ_OUTCOME_TIMEOUT, ETIMEDOUT, NULL, now_ns);
	else
		stop_connecting(client, ETIMEDOUT, NULL, now_ns);
}

void sz_client_abandon(struct sz_client *client, uint64_t now_ns)
{
	if (client->state == SZ_CLIENT_BUSY)
		settle(client, SZ_OUTCOME_UNFINISHED, now_ns);
	else if (is_pending(client))
		sz_load_pull_pending(client->load, client);
	if (client->state != SZ_CLIENT_DOWN)
		hang_up(client);
}
