/* SPDX-License-Identifier: Apache-2.0
 *
 * The open loop: calls come when they are due, whether or not a client is free.
 *
 * A call goes to the client that has been free longest. When none is, it waits
 * in the queue, in order; what waited leaves at no more than twice the rate, so
 * that a service that comes back is not run over; what waited longer than a
 * request may take is dropped. Everything counts from the instant a call was
 * due.
 */
#include "load/inside.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/mem.h"

#define CATCH_UP 2.0 /* times the rate */
/* Turns that a late timer may make up for: else one turn of the loop would send
 * one call however many were due. */
#define CATCH_UP_SLACK_NS SZ_NS_PER_MS

/* Free clients, first in, first out: all of them are used in turn. */

static void push_free(struct sz_open *open, struct sz_client *client)
{
	client->is_free = true;
	client->next_free = NULL;
	if (open->last_free)
		open->last_free->next_free = client;
	else
		open->first_free = client;
	open->last_free = client;
}

static struct sz_client *pop_free(struct sz_open *open)
{
	struct sz_client *client = open->first_free;
	if (client) {
		open->first_free = client->next_free;
		client->is_free = false;
	}
	if (!open->first_free)
		open->last_free = NULL;
	return client;
}

/* The queue, a ring */

static struct sz_call *oldest_call(struct sz_open *open)
{
	return &open->queue[open->head];
}

static void pop_call(struct sz_open *open)
{
	open->head = (open->head + 1) % open->cap;
	open->count--;
}

static bool grow_queue(struct sz_open *open)
{
	size_t cap = open->cap ? 2 * open->cap : 64;
	struct sz_call *queue =
		open->count < SZ_LOAD_QUEUE_MAX ? calloc(cap, sizeof(*queue)) : NULL;
	if (!queue)
		return false;
	for (size_t i = 0; i < open->count; i++)
		queue[i] = open->queue[(open->head + i) % open->cap];
	free(open->queue);
	open->queue = queue;
	open->head = 0;
	open->cap = cap;
	return true;
}

static bool push_call(struct sz_open *open, const struct sz_call *call)
{
	if (open->count == open->cap && !grow_queue(open))
		return false;
	open->queue[(open->head + open->count++) % open->cap] = *call;
	return true;
}

/* Calls */

static void give(struct sz_client *client, const struct sz_call *call)
{
	/* Who backs off from a failure need not: the call is another one's. */
	sz_timer_clear(client->load->loop, &client->retry);
	client->is_due = true;
	if (client->load->config.replay_speed > 0)
		client->request = sz_load_request(client->load, call->number);
	client->step = sz_rate_leg_at(&client->load->config.rate,
				      call->due_ns - client->load->open.origin_ns);
	client->asked_ns = call->due_ns;
	client->counted = call->counted;
	sz_client_go(client);
}

static void drop(struct sz_load *load, const struct sz_call *call)
{
	if (!call->counted)
		return;
	load->result.dropped++;
	load->counted_in_flight--;
}

static void drop_expired(struct sz_load *load, uint64_t now_ns)
{
	struct sz_open *open = &load->open;
	while (open->count && oldest_call(open)->due_ns + load->config.timeout_ns <= now_ns) {
		drop(load, oldest_call(open));
		pop_call(open);
	}
}

static void arm(struct sz_load *load, struct sz_timer *timer, uint64_t due_ns)
{
	if (sz_timer_set(load->loop, timer, due_ns, &load->failure) < 0)
		sz_load_fail(load);
}

static uint64_t catch_up_gap_ns(const struct sz_load *load, uint64_t now_ns)
{
	double rate_rps = sz_rate_at_rps(&load->config.rate, now_ns - load->open.origin_ns);
	return (uint64_t)(1e9 / (CATCH_UP * rate_rps));
}

static uint64_t later_ns(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* What waits goes to who is free, as far as the pace allows. */
static void work_off(struct sz_load *load, uint64_t now_ns)
{
	struct sz_open *open = &load->open;
	drop_expired(load, now_ns);
	while (open->count && open->not_before_ns <= now_ns) {
		const struct sz_call call = *oldest_call(open);
		struct sz_client *client = pop_free(open);
		if (!client)
			break;
		pop_call(open);
		open->not_before_ns = later_ns(open->not_before_ns, now_ns - CATCH_UP_SLACK_NS) +
				      catch_up_gap_ns(load, now_ns);
		give(client, &call);
	}
	if (open->count == 0)
		sz_timer_clear(load->loop, &open->queue_timer);
	else if (open->first_free)
		arm(load, &open->queue_timer, open->not_before_ns);
	else
		arm(load, &open->queue_timer, oldest_call(open)->due_ns + load->config.timeout_ns);
}

static void on_queue_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_load *load = sz_container_of(timer, struct sz_load, open.queue_timer);
	work_off(load, now_ns);
	sz_load_check_stage(load, now_ns);
}

static uint64_t next_due_ns(struct sz_load *load)
{
	struct sz_open *open = &load->open;
	double speed = load->config.replay_speed;
	if (speed == 0)
		return open->origin_ns + sz_schedule_next_ns(&open->schedule);
	if (open->replayed == load->requests->count)
		return UINT64_MAX;
	return open->origin_ns +
	       (uint64_t)((double)load->requests->items[open->replayed++].at_ns / speed);
}

static void arm_arrival(struct sz_load *load)
{
	struct sz_open *open = &load->open;
	if (open->due_ns == UINT64_MAX)
		sz_timer_clear(load->loop, &open->arrival);
	else
		arm(load, &open->arrival, open->due_ns);
}

static void come(struct sz_load *load, uint64_t due_ns, uint64_t now_ns)
{
	struct sz_open *open = &load->open;
	const struct sz_call call = {.due_ns = due_ns,
				     .counted = due_ns >= open->from_ns && due_ns < open->until_ns,
				     .number = open->replayed - 1};
	if (call.counted) {
		load->result.scheduled++;
		load->counted_in_flight++;
		sz_hist_add(&load->result.lateness, now_ns - due_ns);
	}
	struct sz_client *client = open->count ? NULL : pop_free(open);
	if (client)
		give(client, &call);
	else if (load->config.late == SZ_LATE_DROP || !push_call(open, &call))
		drop(load, &call);
	else if (open->count == 1 || open->first_free)
		work_off(load, now_ns);
}

/* All that were due before this instant. */
static void all_come(struct sz_load *load, uint64_t before_ns)
{
	struct sz_open *open = &load->open;
	while (open->due_ns < before_ns) {
		/* Each has its own lateness: the first are sent meanwhile. */
		come(load, open->due_ns, sz_now_ns());
		open->due_ns = next_due_ns(load);
	}
	arm_arrival(load);
}

static void on_arrival(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_load *load = sz_container_of(timer, struct sz_load, open.arrival);
	/* A window that is over by now settles its end itself. */
	if (!load->finished)
		all_come(load, now_ns + 1);
	sz_load_check_stage(load, now_ns);
}

static void restart(struct sz_load *load, uint64_t now_ns)
{
	struct sz_open *open = &load->open;
	open->origin_ns = now_ns;
	sz_schedule_init(&open->schedule, &load->config.rate);
	open->replayed = 0;
	open->due_ns = next_due_ns(load);
	arm_arrival(load);
}

void sz_open_count(struct sz_load *load, uint64_t t0_ns)
{
	load->open.from_ns = t0_ns;
	load->open.until_ns = t0_ns + load->span->max_ns;
	restart(load, t0_ns);
}

/* Whoever was due before the end counts, even when this program was too late to
 * see it in time; who is due at the end does not, however late that is seen. */
void sz_open_stop_counting(struct sz_load *load, uint64_t t1_ns)
{
	if (load->open.until_ns > t1_ns)
		load->open.until_ns = t1_ns;
	all_come(load, load->open.until_ns);
}

void sz_open_begin(struct sz_load *load, uint64_t now_ns)
{
	struct sz_open *open = &load->open;
	open->arrival.fn = on_arrival;
	open->queue_timer.fn = on_queue_timer;
	open->not_before_ns = 0;
	open->from_ns = open->until_ns = 0;
	open->is_running = true;
	/* The kernel may wake a thread this much late, to wake others with it. */
	open->slack_ns = (unsigned long)prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1UL);
	restart(load, now_ns);
}

void sz_open_end(struct sz_load *load)
{
	struct sz_open *open = &load->open;
	if (!open->is_running)
		return;
	sz_timer_clear(load->loop, &open->arrival);
	sz_timer_clear(load->loop, &open->queue_timer);
	for (; open->count; pop_call(open))
		load->result.unsent += oldest_call(open)->counted;
	while (pop_free(open))
		;
	for (unsigned i = 0; i < load->config.clients; i++) {
		struct sz_client *client = &load->clients[i];
		load->result.unsent += client->is_due && client->counted;
		client->is_due = false;
	}
	prctl(PR_SET_TIMERSLACK, open->slack_ns);
	open->is_running = false;
}

void sz_open_offer(struct sz_client *client)
{
	struct sz_load *load = client->load;
	struct sz_open *open = &load->open;
	if (!open->is_running || client->is_free)
		return;
	push_free(open, client);
	if (open->count)
		work_off(load, sz_now_ns());
}
