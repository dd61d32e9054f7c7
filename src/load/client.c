/* SPDX-License-Identifier: Apache-2.0
 *
 * One client: at most one request in flight, on its connection.
 *
 *	IDLE -> WAITING -> BUSY -> IDLE -> BUSY …
 *
 * It is WAITING while it wants to send and the connection takes nothing: it is
 * not open yet, or takes no more requests and ends with the last in flight. In
 * the common case BUSY -> IDLE -> BUSY happens within one callback.
 */
#include "load/inside.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "stat/shuffle.h"

#define BACKOFF_FIRST_NS (10 * SZ_NS_PER_MS)
#define BACKOFF_MOST_NS SZ_NS_PER_S
#define BACKOFF_DOUBLINGS 7 /* enough to get from first to most */

static void go(struct sz_client *client, uint64_t now_ns);

static void wait_to_send(struct sz_client *client, uint64_t until_ns)
{
	struct sz_load *load = client->load;
	if (sz_timer_set(load->loop, &client->retry, until_ns, &load->failure) < 0)
		sz_load_fail(load);
}

static void back_off(struct sz_client *client, uint64_t now_ns)
{
	uint64_t wait_ns = BACKOFF_FIRST_NS << client->failures;
	if (wait_ns > BACKOFF_MOST_NS)
		wait_ns = BACKOFF_MOST_NS;
	if (client->failures < BACKOFF_DOUBLINGS)
		client->failures++;
	wait_to_send(client, now_ns + wait_ns);
}

static void on_retry(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	sz_client_go(sz_container_of(timer, struct sz_client, retry));
}

/* Only where all loop: neither who is primed nor who drains has a next request. */
static bool thinks(const struct sz_load *load)
{
	return load->config.think_ns && load->config.arrivals == SZ_ARRIVALS_CLOSED &&
	       load->stage != SZ_STAGE_PRIMING && load->stage != SZ_STAGE_SETUP &&
	       load->stage != SZ_STAGE_DRAINING;
}

/* As people who are at it for long: each somewhere between two clicks. Where all are
 * to connect at once they do. */
void sz_client_join(struct sz_client *client, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	if (!thinks(load) || load->config.connect == SZ_CONNECT_BURST) {
		sz_client_go(client);
		return;
	}
	double share = (double)(sz_random_next(&load->random) >> 11) * 0x1p-53;
	wait_to_send(client, now_ns + (uint64_t)(share * (double)load->config.think_ns));
}

static uint64_t think_time_ns(struct sz_load *load)
{
	double uniform = ((double)(sz_random_next(&load->random) >> 11) + 0.5) * 0x1p-53;
	double share = load->config.think_random ? -log(uniform) : 1;
	return (uint64_t)(share * (double)load->config.think_ns);
}

/* The end of a request */

static void settle(struct sz_client *client, enum sz_outcome outcome, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	if (client->counted) {
		sz_tally_outcome(&load->result, client, outcome, now_ns);
		sz_seconds_settled(load, outcome, now_ns);
		/* A call of an open loop goes on until its retry is over. */
		if (!sz_load_is_open(load) || outcome != SZ_OUTCOME_STALE)
			load->counted_in_flight--;
	}
	if (load->stage == SZ_STAGE_ROUND && outcome != SZ_OUTCOME_STALE)
		sz_load_note_call(load, client, outcome == SZ_OUTCOME_OK, now_ns);
	if (load->stage == SZ_STAGE_STREAMS && outcome != SZ_OUTCOME_STALE)
		load->unsettled--;
	client->state = SZ_CLIENT_IDLE;
	client->conn->in_flight--;
	if (!client->is_stream)
		sz_load_pull_wait(load, &client->wait);
	else if (client->counted && outcome != SZ_OUTCOME_OPEN)
		load->result.streams_ended++;
	client->is_stream = false;
	sz_load_check_stage(load, now_ns);
	sz_conn_release(client->conn);
}

bool sz_client_was_crossed(const struct sz_client *client, uint64_t now_ns)
{
	const struct sz_hist *connect = &client->load->connect;
	double round_trip_ns = connect->count ? sz_hist_quantile_ns(connect, 0.5) : 0;
	return (double)(now_ns - client->wait.started_ns) <= round_trip_ns + SZ_LOAD_CROSSING_NS;
}

/* A stale request is nobody's error: it goes out again at once. */
void sz_client_lose_stale(struct sz_client *client, uint64_t now_ns)
{
	settle(client, SZ_OUTCOME_STALE, now_ns);
	client->is_due = true;
	client->again = true;
	sz_client_go(client);
}

void sz_client_lose(struct sz_client *client, const struct sz_loss *loss, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	if (client->counted)
		sz_tally_error(&load->result, loss->phase, loss->errnum);
	if (client->counted && loss->outcome == SZ_OUTCOME_NOT_HTTP && !*load->result.not_http)
		sz_load_quote_received(load, load->result.not_http);
	sz_load_note_lost(load, client, loss);
	settle(client, loss->outcome, now_ns);
	if (loss->outcome == SZ_OUTCOME_TIMEOUT)
		sz_client_go(client);
	else
		back_off(client, now_ns);
}

/* The status is good, and so is the body. */
static bool is_as_expected(struct sz_client *client, const struct sz_answer *answer)
{
	struct sz_load_result *result = &client->load->result;
	bool good = sz_statuses_has(client->request->expected, answer->status);
	bool other_body = good && answer->lacks_text;
	if (client->counted && (!good || other_body)) {
		result->error_status = answer->status;
		result->unexpected += other_body;
		if (!good)
			sz_tally_error(result, SZ_PHASE_STATUS, answer->status);
	}
	return good && !other_body;
}

void sz_client_complete(struct sz_client *client, const struct sz_answer *answer, uint64_t now_ns)
{
	bool ok = client->load->stage == SZ_STAGE_SETUP ? sz_session_take(client, answer->status)
							: is_as_expected(client, answer);
	client->conn->answers++;
	client->failures = 0;
	client->body_bytes = answer->body_bytes;
	sz_load_note_answer(client->load, client, ok, now_ns);
	settle(client, ok ? SZ_OUTCOME_OK : SZ_OUTCOME_HTTP_ERROR, now_ns);
	if (thinks(client->load))
		wait_to_send(client, now_ns + think_time_ns(client->load));
	else
		go(client, now_ns);
}

void sz_client_unconnected(struct sz_client *client, enum sz_phase phase, int errnum,
			   const struct sz_err *why, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	bool counted = load->open.is_running ? client->is_due && client->counted : load->counting;
	client->state = SZ_CLIENT_IDLE;
	if (counted) {
		load->result.attempts++;
		load->result.connect_failed++;
		sz_seconds_unconnected(load, now_ns);
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
	} else if (load->stage == SZ_STAGE_STREAMS) {
		client->is_due = false;
		load->unsettled--;
	}
}

static void on_time_out(struct sz_wait *wait, uint64_t now_ns)
{
	struct sz_client *client = sz_container_of(wait, struct sz_client, wait);
	const struct sz_protocol *protocol = client->load->protocol;
	const struct sz_loss loss = {.outcome = SZ_OUTCOME_TIMEOUT,
				     .phase = protocol->phase_of(client),
				     .errnum = ETIMEDOUT};
	protocol->give_up(client);
	sz_client_lose(client, &loss, now_ns);
}

/* Its beginning */

/* Outside an open loop, in which a call was asked when it was due. */
static void ask(struct sz_client *client)
{
	struct sz_load *load = client->load;
	client->counted = load->counting;
	load->counted_in_flight += client->counted;
	if (load->stage == SZ_STAGE_ROUND)
		client->asked_ns = load->round_start_ns;
	else if (!client->is_retry) /* which is what was asked before */
		client->asked_ns = client->wait.started_ns;
}

static void send_request(struct sz_client *client, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	struct sz_conn *conn = client->conn;
	if (load->stage == SZ_STAGE_SETUP && !sz_session_ask(client))
		return;
	client->state = SZ_CLIENT_BUSY;
	client->is_due = false;
	client->is_retry = client->again;
	client->request = sz_load_next_request(client);
	client->first_byte_ns = 0;
	if (sz_load_is_streams(load))
		memset(&client->stream, 0, sizeof(client->stream));
	sz_load_push_wait(load, &client->wait, now_ns);
	if (!load->open.is_running)
		ask(client);
	load->result.went += load->counting;
	if (client->counted) {
		load->result.attempts++;
		load->result.sent++;
		sz_seconds_sent(load, client->wait.started_ns);
	} else {
		load->uncounted++;
	}
	conn->in_flight++;
	if (++conn->asked == load->config.reconnect_every)
		conn->is_ending = true;
	load->protocol->send(client);
}

static bool may_send(const struct sz_client *client)
{
	enum sz_load_stage stage = client->load->stage;
	if (stage == SZ_STAGE_PRIMING || stage == SZ_STAGE_SETUP)
		return !client->answered;
	if (stage == SZ_STAGE_ROUND || stage == SZ_STAGE_STREAMS || client->load->open.is_running)
		return client->is_due;
	return stage != SZ_STAGE_DRAINING;
}

static void go(struct sz_client *client, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	struct sz_conn *conn = client->conn;
	if (sz_timer_armed(&client->retry))
		return;
	if (!client->is_due && client->state == SZ_CLIENT_IDLE)
		sz_open_offer(client);
	bool early = load->open.is_running && load->stage == SZ_STAGE_LEAD_IN &&
		     conn->state == SZ_CONN_DOWN; /* so that the window has all connections */
	if (client->state != SZ_CLIENT_IDLE || (!may_send(client) && !early))
		return;
	if (conn->state == SZ_CONN_OPEN && !conn->is_ending) {
		send_request(client, now_ns);
		return;
	}
	client->state = SZ_CLIENT_WAITING;
	if (conn->state == SZ_CONN_DOWN)
		sz_conn_open(conn);
}

void sz_client_go(struct sz_client *client)
{
	go(client, sz_now_ns());
}

void sz_client_abandon(struct sz_client *client, uint64_t now_ns)
{
	if (client->state == SZ_CLIENT_BUSY)
		settle(client, client->is_stream ? SZ_OUTCOME_OPEN : SZ_OUTCOME_UNFINISHED, now_ns);
	client->state = SZ_CLIENT_IDLE;
}

void sz_client_init(struct sz_client *client, struct sz_conn *conn)
{
	*client = (struct sz_client){
		.wait.time_out = on_time_out,
		.retry.fn = on_retry,
		.load = conn->load,
		.conn = conn,
	};
}
