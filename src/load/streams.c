/* SPDX-License-Identifier: Apache-2.0
 *
 * Responses that are kept open: each client asks once, within the window.
 */
#include "load/inside.h"

#include "base/clock.h"

#define PACE_MOST_NS (250 * SZ_NS_PER_MS)

static void ask(struct sz_client *client)
{
	client->is_due = true;
	client->load->answered -= client->answered;
	client->answered = false;
	sz_client_go(client);
}

/* primed: whom the stage waits for; NULL: all. */
static void begin_stage(struct sz_load *load, struct sz_client *primed, uint64_t latest_ns)
{
	load->primed = primed;
	sz_load_begin_stage(load, SZ_STAGE_STREAMS, 0, latest_ns);
	load->counting = true;
}

static int open_paced(struct sz_load *load, uint64_t end_ns, struct sz_err *err)
{
	uint64_t now_ns = sz_now_ns();
	for (unsigned i = 0; i < load->config.clients && now_ns < end_ns; i++) {
		uint64_t pace_ns = now_ns + PACE_MOST_NS;
		begin_stage(load, &load->clients[i], pace_ns < end_ns ? pace_ns : end_ns);
		ask(&load->clients[i]);
		if (sz_load_run_stage(load, err) < 0)
			return -1;
		if (load->interrupted)
			return 0;
		now_ns = sz_now_ns();
	}
	return 0;
}

static void open_all(struct sz_load *load)
{
	for (unsigned i = 0; i < load->config.clients; i++)
		ask(&load->clients[i]);
}

int sz_streams_count(struct sz_load *load, struct sz_err *err)
{
	uint64_t end_ns = load->result.began_ns + load->span->max_ns;
	load->unsettled = load->config.clients;
	if (load->config.connect == SZ_CONNECT_PACED && open_paced(load, end_ns, err) < 0)
		return -1;
	if (load->interrupted)
		return 0;
	begin_stage(load, NULL, end_ns);
	if (load->config.connect == SZ_CONNECT_BURST)
		open_all(load);
	if (sz_load_run_stage(load, err) < 0)
		return -1;
	/* Nothing comes any more, so the rest is not waited for; it is of the window. */
	if (load->unsettled == 0 && !load->interrupted && load->finished_ns < end_ns)
		load->finished_ns = end_ns;
	return 0;
}

static void begin(struct sz_client *client)
{
	struct sz_load *load = client->load;
	sz_load_pull_wait(load, &client->wait);
	client->is_stream = true;
	client->answered = true;
	load->ever_answered = true;
	load->answered++;
	load->result.streams_opened += client->counted;
}

static void count(struct sz_client *client, uint64_t bytes, uint64_t events, uint64_t now_ns)
{
	struct sz_load *load = client->load;
	struct sz_load_result *result = &load->result;
	result->stream_bytes += bytes;
	result->events += events;
	sz_seconds_events(load, events, now_ns);
	if (client->stream.last_ns)
		sz_hist_add(&result->gap, now_ns - client->stream.last_ns);
	if (events && client->stream.known_events == 0)
		sz_hist_add(&result->first_event, now_ns - client->asked_ns);
	sz_load_note_gap(load, now_ns);
	sz_series_advance(&result->series, &load->interval_start_ns, now_ns);
	result->series.ok[result->series.count] += (double)events;
}

void sz_streams_note(struct sz_client *client, int status, uint64_t body_bytes, uint64_t now_ns)
{
	uint64_t bytes = body_bytes - client->stream.known_bytes;
	uint64_t events = client->stream.events.count - client->stream.known_events;
	if (!client->is_stream && sz_statuses_has(client->request->expected, status))
		begin(client);
	if (!client->is_stream)
		return;
	if (bytes && client->counted && client->load->counting)
		count(client, bytes, events, now_ns);
	if (bytes)
		client->stream.last_ns = now_ns;
	client->stream.known_bytes = body_bytes;
	client->stream.known_events += events;
	/* Only now: a stage that is over does not count. */
	sz_load_check_stage(client->load, now_ns);
}
