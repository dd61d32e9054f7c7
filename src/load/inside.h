/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the load generator; nobody else includes this.
 *
 *	load.c     a load from the outside, as a sequence of stages
 *	stage.c    one stage: what it waits for; time-outs
 *	burst.c    rounds of a burst and the pauses between
 *	open.c     calls that come when they are due, and who takes them
 *	mix.c      which request is next
 *	client.c   one client: connect, send, receive, lose, try again
 *	refusal.c  why nobody serves there, for people
 *	tally.c    what happened to the attempts that count
 *	abort.c    when to go on makes no sense
 *	series.c   good answers over time, and how well they tell the throughput
 *
 * A load goes through stages, each run by one sz_loop_run():
 *
 *	open    priming (one per client, when paced), lead-in, draining
 *	window  lead-in, counting, tail, draining
 *
 * In bursts rounds, with draining as the pause between, are in place of the
 * lead-in of open and of a window's counting; a window has no lead-in then.
 *
 * A stage is over at earliest_ns if its goal is reached by then, when the goal
 * is reached later, and at latest_ns in any case.
 */
#ifndef SZ_LOAD_INSIDE_H
#define SZ_LOAD_INSIDE_H

#include <sys/resource.h>

#include "load/load.h"
#include "net/http1.h"
#include "net/loop.h"
#include "net/stream.h"

enum sz_load_stage {
	SZ_STAGE_PRIMING,  /* a client sends until it was answered once */
	SZ_STAGE_LEAD_IN,  /* all loop, uncounted */
	SZ_STAGE_COUNTING, /* all loop */
	SZ_STAGE_TAIL,     /* all loop, uncounted, until the counted attempts are settled */
	SZ_STAGE_ROUND,    /* a client sends once, and again only what was stale */
	SZ_STAGE_DRAINING, /* nobody sends */
	SZ_STAGE_COUNT,
};

enum sz_client_state {
	SZ_CLIENT_DOWN, /* no connection; `retry` may be armed */
	SZ_CLIENT_CONNECTING,
	SZ_CLIENT_SECURING, /* the handshake of TLS */
	SZ_CLIENT_IDLE,     /* connected, nothing in flight */
	SZ_CLIENT_BUSY,     /* one request in flight */
};

struct sz_client {
	struct sz_watch watch;
	struct sz_timer retry;
	struct sz_load *load;
	struct sz_client *older; /* neighbours in the list of pending clients */
	struct sz_client *newer;
	struct sz_stream stream;
	enum sz_client_state state;
	bool answered; /* since the stage that reset it */
	bool is_due;   /* in a round or an open loop: has a request to send */
	bool is_free;  /* in an open loop: waits for a call, in a list by next_free */
	struct sz_client *next_free;
	bool counted;        /* the request in flight is */
	bool was_open;       /* had a connection before: the next one is a reconnect */
	bool peer_closed;    /* the server closed this connection, or the last one when down */
	unsigned failures;   /* in a row, without an answer between; sets the back-off */
	uint64_t answers;    /* on this connection */
	uint64_t started_ns; /* of the connect or of the request: the time-out runs from it */
	uint64_t connected_ns;
	uint64_t asked_ns;      /* of the request: its latency counts from it; when the round
				 * started or the call was due, else started_ns */
	uint64_t first_byte_ns; /* 0: none yet */
	const struct sz_request *request; /* in flight, or the last one */
	bool again;                       /* it was stale: it is also the next one */
	size_t sent_bytes;
	struct sz_http1_response response;
};

/* Of an open loop. */
struct sz_call {
	uint64_t due_ns;
	bool counted;
};

struct sz_open {
	bool is_running;
	struct sz_schedule schedule;
	uint64_t origin_ns;         /* of the schedule */
	uint64_t due_ns;            /* the next call */
	uint64_t from_ns, until_ns; /* calls due then count */
	struct sz_timer arrival;
	struct sz_call *queue; /* a ring of cap, a power of two or 0 */
	size_t head, count, cap;
	uint64_t not_before_ns; /* the next call that had to wait */
	struct sz_timer queue_timer;
	struct sz_client *first_free, *last_free;
	unsigned long slack_ns; /* of the thread's timers, as it was */
};

struct sz_load {
	struct sz_load_config config;
	struct sz_loop *loop;
	struct sz_client *clients;
	const struct sz_requests *requests;
	struct sz_requests *own_requests; /* when the config brings none */
	double *weights;                  /* cumulative, when there are several */
	uint64_t random;                  /* state of */
	size_t *part_of;                  /* of each request, when there are several */
	struct sz_load_part *parts;
	size_t part_count;
	unsigned *next_call; /* of each user in the round */
	struct sz_tls_origin *tls;
	struct sz_route route;
	enum sz_phase last_phase; /* of the last failure */
	int last_errnum;
	struct rlimit descriptor_limit; /* as it was before the load raised it */

	enum sz_load_stage stage;
	uint64_t earliest_ns;
	uint64_t latest_ns;
	struct sz_timer stage_timer;
	bool finished; /* the stage is over, at finished_ns */
	uint64_t finished_ns;
	bool interrupted;
	bool failed; /* failure says why; nothing can go on */
	struct sz_err failure;
	struct sz_watch stop_watch;

	/* Clients that wait for a connection or a response, in order of
	 * started_ns. All time-outs are equal, so the oldest is due first and
	 * one lazy timer serves all: it fires, and is armed again for whoever
	 * is the oldest then. */
	struct sz_client *oldest;
	struct sz_client *newest;
	struct sz_timer timeout_timer;

	struct sz_client *primed; /* whom the priming stage waits for */
	unsigned answered;        /* clients with ->answered */
	bool ever_answered;

	bool counting; /* requests sent now are counted */
	uint64_t counted_in_flight;
	const struct sz_load_span *span; /* of the window */
	struct sz_timer poll_timer;
	uint64_t began_ns; /* the window */
	uint64_t alive_ns; /* when it began or the last good answer of a poll came */
	uint64_t alive_ok; /* good answers then, and what was lost */
	uint64_t alive_lost;
	bool precise;               /* it was reached, at the last poll */
	uint64_t completed_ns;      /* last completion of the window */
	uint64_t interval_start_ns; /* of the series' last, incomplete interval */
	struct sz_load_result result;

	struct sz_open open;

	struct sz_load_round round;
	uint64_t round_start_ns; /* scheduled */
	unsigned round_calls;    /* each user's */
	unsigned unsettled;      /* calls of the round */
	uint64_t sorted_ns[SZ_LOAD_ROUNDS_MAX];

	/* Since sz_load_new, but for uncounted. */
	uint64_t uncounted; /* since the last window's end */
	uint64_t opened;
	uint64_t open_now;
	uint64_t reconnects;
	uint64_t server_closed;
	uint64_t resumed;
	struct sz_hist connect;
	struct sz_hist handshake;

	size_t received; /* bytes that were read last, for whichever client */
	char buffer[64 * 1024];
};

/* client.c */

void sz_client_init(struct sz_client *client, struct sz_load *load);

/* Let the client do what the stage wants of it, if it is not at it already. */
void sz_client_go(struct sz_client *client);

/* The time-out of a connect or a request. */
void sz_client_time_out(struct sz_client *client, uint64_t now_ns);

/* Close at once; a counted request in flight is unfinished. */
void sz_client_abandon(struct sz_client *client, uint64_t now_ns);

/* stage.c */

/* Make the loop; a requested stop ends every stage. */
int sz_load_init_stages(struct sz_load *load, struct sz_err *err);

/* latest_ns UINT64_MAX: never without the goal. */
void sz_load_begin_stage(struct sz_load *load, enum sz_load_stage stage, uint64_t earliest_ns,
			 uint64_t latest_ns);

/* Run until the stage is over or a stop is requested. */
int sz_load_run_stage(struct sz_load *load, struct sz_err *err);

/* Something moved: end the stage when it is over. */
void sz_load_check_stage(struct sz_load *load, uint64_t now_ns);

/* load->failure is filled: end the stage with it. */
void sz_load_fail(struct sz_load *load);

void sz_load_push_pending(struct sz_load *load, struct sz_client *client);
void sz_load_pull_pending(struct sz_load *load, struct sz_client *client);

/* A whole response came. Before its request is settled. */
void sz_load_note_answer(struct sz_load *load, struct sz_client *client, bool ok, uint64_t now_ns);

/* Of the window: a completion, or its end. */
void sz_load_note_gap(struct sz_load *load, uint64_t now_ns);

/* Begin to look, every SZ_LOAD_POLL_NS, at whether the window may end: by the
 * precision that load->span asks for, or because it makes no sense. */
void sz_load_begin_polls(struct sz_load *load, uint64_t now_ns);

/* abort.c */

/* A window begins. */
void sz_abort_begin(struct sz_load *load, uint64_t now_ns);

/* Should it end now? Then the result says why. To be asked again and again. */
bool sz_abort_check(struct sz_load *load, uint64_t now_ns);

/* An idle machine may wake that late. */
#define SZ_LOAD_WAKE_NS UINT64_C(20000000)

/* burst.c */

/* Whole rounds, uncounted, until least_ns have passed. */
int sz_burst_warm_up(struct sz_load *load, uint64_t least_ns, struct sz_err *err);

/* The rounds of a window, as load->span asks for them. */
int sz_burst_count(struct sz_load *load, struct sz_err *err);

int sz_burst_init(struct sz_load *load, struct sz_err *err);

/* The client's call of this round is over, well or not: it has the user's next
 * one, if any is left. */
void sz_load_note_call(struct sz_load *load, struct sz_client *client, bool ok, uint64_t now_ns);

/* Fill the result's spreads from its rounds; sorted_ns is scratch. */
void sz_burst_spreads(struct sz_load_result *result, uint64_t sorted_ns[SZ_LOAD_ROUNDS_MAX]);

/* open.c */

/* Calls come from now on, uncounted … */
void sz_open_begin(struct sz_load *load, uint64_t now_ns);

/* The window: the schedule begins anew, and its calls count … */
void sz_open_count(struct sz_load *load, uint64_t t0_ns);

/* … as far as they are due before its end. */
void sz_open_stop_counting(struct sz_load *load, uint64_t t1_ns);

/* … until now; those that wait are unsent. Nothing happens when none came. */
void sz_open_end(struct sz_load *load);

/* The client has nothing to do. */
void sz_open_offer(struct sz_client *client);

static inline bool sz_load_is_open(const struct sz_load *load)
{
	return load->config.arrivals == SZ_ARRIVALS_OPEN;
}

/* refusal.c */

/* A client got nowhere. The very first failure is the answer to "does anyone
 * serve there?" and ends sz_load_open(). */

/* No connection came about; why: as it was put into words, or NULL. */
void sz_load_note_unconnected(struct sz_load *load, const struct sz_client *client,
			      enum sz_phase phase, int errnum, const struct sz_err *why);

/* A request was lost; why: what is wrong with what came, NULL when nothing came. */
void sz_load_note_lost(struct sz_load *load, const struct sz_client *client, enum sz_phase phase,
		       int errnum, const char *why);

int sz_load_no_answer_error(const struct sz_load *load, struct sz_err *err);

/* mix.c */

int sz_load_init_mix(struct sz_load *load, struct sz_err *err);

/* In order, from the first again behind the last. */
const struct sz_request *sz_load_request(const struct sz_load *load, size_t number);

/* What the client sends now. */
const struct sz_request *sz_load_next_request(struct sz_client *client);

/* Which of load->parts the client's request is; 0 when there are none. */
size_t sz_load_part_index(const struct sz_load *load, const struct sz_client *client);

/* tally.c */

void sz_tally_outcome(struct sz_load_result *result, const struct sz_client *client,
		      enum sz_outcome outcome, uint64_t now_ns);
void sz_tally_error(struct sz_load_result *result, enum sz_phase phase, int errnum);

/* series.c: *start_ns is when the incomplete interval, ok[count], began. */

void sz_series_begin(struct sz_load_series *series, uint64_t *start_ns, uint64_t now_ns);

/* Complete the intervals that have passed. */
void sz_series_advance(struct sz_load_series *series, uint64_t *start_ns, uint64_t now_ns);

/* Add the complete intervals that both have. */
void sz_series_add(struct sz_load_series *into, const struct sz_load_series *from);

/* Could the functions above have made it? */
bool sz_series_is_sound(const struct sz_load_series *series);

/* With what is in the incomplete interval. */
uint64_t sz_series_sum(const struct sz_load_series *series);

/* Half of the 95 % interval of the mean, over the mean; INFINITY when that is
 * unknown: fewer than ten intervals, or no answer. */
double sz_series_error_ratio(const struct sz_load_series *series);

#endif
