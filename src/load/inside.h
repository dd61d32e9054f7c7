/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the load generator; nobody else includes this.
 *
 *	load.c     a load from the outside, as a sequence of stages
 *	stage.c    one stage: what it waits for; time-outs
 *	burst.c    rounds of a burst and the pauses between
 *	streams.c  responses that are kept open
 *	open.c     calls that come when they are due, and who takes them
 *	mix.c      which request is next
 *	client.c   one client: when it sends, what becomes of it, when it tries again
 *	conn.c     one connection, of one client or several
 *	address.c  where it leads, when there are several addresses
 *	via-http1.c, via-http2.c  a request on a connection, and what comes back
 *	session.c  what a client has of its log-in
 *	refusal.c  why nobody serves there, for people
 *	tally.c    what happened to the attempts that count
 *	abort.c    when to go on makes no sense
 *	series.c   good answers over time, and how well they tell the throughput
 *	seconds.c  everything over time, where it is asked for
 *
 * A load goes through stages, each run by one sz_loop_run():
 *
 *	open    setup (a log-in per client, when there is one) or else priming (a request
 *	        per client, when paced)
 *	window  lead-in, counting, tail, draining
 *
 * Of streams the window alone has stages: opening (one per client, when paced),
 * which are its counting, and draining. In bursts rounds, with draining as the
 * pause between, are in place of the lead-in of open and of a window's counting;
 * a window has no lead-in then.
 *
 * A stage is over at earliest_ns if its goal is reached by then, when the goal
 * is reached later, and at latest_ns in any case.
 */
#ifndef SZ_LOAD_INSIDE_H
#define SZ_LOAD_INSIDE_H

#include <sys/resource.h>

#include "base/buf.h"
#include "load/load.h"
#include "net/events.h"
#include "net/http1.h"
#include "net/http2.h"
#include "net/loop.h"
#include "net/stream.h"

enum sz_load_stage {
	SZ_STAGE_PRIMING,  /* a client sends until it was answered once */
	SZ_STAGE_LEAD_IN,  /* all loop, uncounted */
	SZ_STAGE_COUNTING, /* all loop */
	SZ_STAGE_TAIL,     /* all loop, uncounted, until the counted attempts are settled */
	SZ_STAGE_ROUND,    /* a client sends once, and again only what was stale */
	SZ_STAGE_STREAMS,  /* likewise; until `primed` has its stream or has failed, or, when
			    * that is NULL, all have */
	SZ_STAGE_DRAINING, /* nobody sends */
	SZ_STAGE_SETUP,    /* a client logs in */
	SZ_STAGE_COUNT,
};

/* What may take no longer than the time-out: a connect, a request. */
struct sz_wait {
	struct sz_wait *older; /* neighbours in the load's list */
	struct sz_wait *newer;
	uint64_t started_ns;
	void (*time_out)(struct sz_wait *wait, uint64_t now_ns);
};

enum sz_client_state {
	SZ_CLIENT_IDLE,    /* nothing to do; `retry` may be armed */
	SZ_CLIENT_WAITING, /* wants to send as soon as the connection takes it */
	SZ_CLIENT_BUSY,    /* one request in flight */
};

/* Of a load with a log-in. */
struct sz_session {
	struct sz_reply *reply; /* to the log-in, while there is none yet; else NULL */
	char *cookies;          /* "a=1; b=2"; NULL: none */
	/* HTTP/1: the client's request as it is sent, and room for its head. */
	struct sz_request wire;
	char *head;
};

struct sz_client {
	struct sz_wait wait; /* of the request */
	struct sz_timer retry;
	struct sz_load *load;
	struct sz_conn *conn;
	struct sz_session *session; /* NULL: there is no log-in */
	enum sz_client_state state;
	bool answered; /* since the stage that reset it */
	bool is_due;   /* in a round or an open loop: has a request to send */
	bool is_free;  /* in an open loop: waits for a call, in a list by next_free */
	struct sz_client *next_free;
	size_t step;            /* of an open loop: at which the call was due */
	bool counted;           /* the request in flight is */
	unsigned failures;      /* in a row, without an answer between; sets the back-off */
	uint64_t asked_ns;      /* of the request: its latency counts from it; when the round
				 * started or the call was due, else when it was sent */
	uint64_t first_byte_ns; /* 0: none yet */
	uint64_t body_bytes;    /* of the whole response */
	const struct sz_request *request; /* in flight, or the last one */
	bool again;                       /* it was stale: it is also the next one */
	bool is_retry;                    /* the one in flight was stale before */
	bool is_stream; /* its response is kept open: it cannot time out any more */
	struct {
		struct sz_events events;
		uint64_t known_events, known_bytes; /* that are counted */
		uint64_t last_ns;                   /* when bytes came; 0: none yet */
	} stream;
	union {
		struct {
			size_t sent_bytes;
			struct sz_http1_response response;
		} http1;
		struct sz_http2_call http2;
	} via;
};

enum sz_conn_state {
	SZ_CONN_DOWN,
	SZ_CONN_CONNECTING,
	SZ_CONN_SECURING, /* the handshake of TLS */
	SZ_CONN_OPEN,
};

struct sz_conn {
	struct sz_watch watch;
	struct sz_wait wait; /* of the connect and the handshake */
	struct sz_load *load;
	struct sz_stream stream;
	struct sz_load_address *address;
	struct sz_client *clients; /* its own, side by side */
	unsigned client_count;
	unsigned first_to_wake;
	enum sz_conn_state state;
	bool was_open;      /* before: the next time is a reconnect */
	bool peer_closed;   /* the server closed it, or the last one when down */
	bool is_ending;     /* takes no more requests; closed when none is in flight */
	bool is_corked;     /* HTTP/2: what is sent goes out later, together */
	bool is_answering;  /* HTTP/1: its answer was read just now, and nothing behind it */
	unsigned in_flight; /* requests */
	uint64_t asked, answers;
	uint64_t connected_ns;
	/* HTTP/2, while open */
	struct sz_http2 *http2;
	struct sz_buf unsent; /* there was no room for it */
};

/* How requests go over a connection. */
struct sz_protocol {
	void (*open)(struct sz_conn *conn); /* just opened; has clients that wait */
	void (*on_readable)(struct sz_conn *conn);
	void (*on_writable)(struct sz_conn *conn);
	void (*close)(struct sz_conn *conn); /* about to be closed */
	void (*send)(struct sz_client *client);
	void (*give_up)(struct sz_client *client); /* the request in flight */
	enum sz_phase (*phase_of)(const struct sz_client *client);
};

extern const struct sz_protocol sz_via_http1, sz_via_http2;

/* Of an open loop. */
struct sz_call {
	uint64_t due_ns;
	bool counted;
	size_t number; /* of a replay: which request */
};

/* Of a rate that goes up in steps. */
struct sz_step {
	char label[32];
	size_t part;
};

struct sz_open {
	bool is_running;
	struct sz_schedule schedule;
	uint64_t origin_ns;         /* of the schedule */
	uint64_t due_ns;            /* the next call; UINT64_MAX: there is none */
	size_t replayed;            /* calls of a replay that have come, the next one too */
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
	const struct sz_protocol *protocol;
	struct sz_client *clients;
	struct sz_conn *conns;
	unsigned conn_count;
	const struct sz_requests *requests;
	struct sz_requests *own_requests; /* when the config brings none */
	struct sz_http2_head **heads;     /* of each request, for HTTP/2 */
	struct sz_http2_head *setup_head; /* likewise */
	struct sz_session *sessions;      /* of each client, when there is a log-in */
	size_t longest_joined_bytes;      /* of the requests, likewise */
	double *weights;                  /* cumulative, when there are several */
	uint64_t random;                  /* state of */
	size_t *part_of;                  /* of each request, when there are several */
	struct sz_step *steps;            /* of an open loop of one request, likewise */
	struct sz_load_part *parts;
	size_t part_count;
	struct sz_load_second *seconds; /* of the window */
	size_t second_count, second_cap;
	unsigned *next_call; /* of each user in the round */
	struct sz_tls_origin *tls;
	struct sz_route route; /* of the connection that was opened last, or failed */
	struct sz_load_address addresses[SZ_ADDRS_MAX];
	size_t address_count;
	size_t next_address;
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

	/* Connects and requests under way, in order of started_ns. All time-outs
	 * are equal, so the oldest is due first and one lazy timer serves all: it
	 * fires, and is armed again for whoever is the oldest then. */
	struct sz_wait *oldest;
	struct sz_wait *newest;
	struct sz_timer timeout_timer;

	struct sz_client *primed; /* whom pacing waits for */
	unsigned answered;        /* clients with ->answered */
	bool ever_answered;
	bool speaks_http2; /* the service; it has shown that */

	bool counting; /* requests sent now are counted */
	uint64_t counted_in_flight;
	const struct sz_load_span *span; /* of the window */
	struct sz_timer poll_timer;
	uint64_t began_ns;      /* the window */
	uint64_t alive_ns;      /* when it began, or the last poll that saw another answer */
	uint64_t alive_answers; /* good or not; and what was lost, settled, no HTTP then */
	uint64_t alive_lost;
	uint64_t alive_settled;
	uint64_t alive_not_http;
	bool precise;               /* it was reached, at the last poll */
	bool looked_again;          /* at what has come, before time-outs that came late */
	uint64_t completed_ns;      /* last completion of the window */
	uint64_t interval_start_ns; /* of the series' last, incomplete interval */
	struct sz_load_result result;

	struct sz_open open;

	struct sz_load_round round;
	uint64_t round_start_ns; /* scheduled */
	unsigned round_calls;    /* each user's */
	unsigned unsettled;      /* calls of the round, or streams */
	uint64_t sorted_ns[SZ_LOAD_ROUNDS_MAX];

	/* Since sz_load_new, but for uncounted. */
	uint64_t uncounted; /* since the last window's end */
	uint64_t cookies;
	uint64_t opened;
	uint64_t open_now;
	uint64_t reconnects;
	uint64_t server_closed;
	uint64_t resumed;
	struct sz_hist connect;
	struct sz_hist handshake;

	struct sz_http1_memo memo;
	size_t received; /* bytes that were read last, on whichever connection; 0: not for people */
	char buffer[64 * 1024];
};

/* conn.c */

/* With the next `count` clients as its own. */
void sz_conn_init(struct sz_conn *conn, struct sz_load *load, struct sz_client *clients,
		  unsigned count);

void sz_conn_open(struct sz_conn *conn);

/* Close what is not down. What is in flight is the caller's to settle. */
void sz_conn_hang_up(struct sz_conn *conn);

/* Close it if it is ending and nothing is in flight. */
void sz_conn_release(struct sz_conn *conn);

/* Those that wait may go. */
void sz_conn_wake(struct sz_conn *conn);

/* Wait for bytes, and for more_events. */
void sz_conn_watch(struct sz_conn *conn, uint32_t more_events);

/* address.c */

void sz_addresses_init(struct sz_load *load);

/* The connection is about to be opened: where to? The route leads there then. */
void sz_address_choose(struct sz_conn *conn);

/* No connection came about. True: its address is left out, and another may be tried. */
bool sz_address_leave_out(struct sz_conn *conn, int errnum);

/* Whether there is no other than the last one left. */
bool sz_address_is_last(const struct sz_load *load);

/* load.c */

/* Make room for so many. The soft limit goes up only while the load lives: what is
 * started afterwards inherits the limit that the user set, *before. */
int sz_load_raise_limit(unsigned connections, struct rlimit *before, struct sz_err *err);

/* client.c */

void sz_client_init(struct sz_client *client, struct sz_conn *conn);

/* Let the client do what the stage wants of it, if it is not at it already. */
void sz_client_go(struct sz_client *client);

/* The loop begins. */
void sz_client_join(struct sz_client *client, uint64_t now_ns);

/* A counted request in flight is unfinished, a stream open. */
void sz_client_abandon(struct sz_client *client, uint64_t now_ns);

/* It waited for a connection, and none came about; why: as it was put into words,
 * or NULL. */
void sz_client_unconnected(struct sz_client *client, enum sz_phase phase, int errnum,
			   const struct sz_err *why, uint64_t now_ns);

/* The three ends of a request in flight. A connection that ended with it is
 * closed before. */

struct sz_answer {
	int status;
	uint64_t body_bytes;
	bool lacks_text; /* that config.expected asks for */
};

void sz_client_complete(struct sz_client *client, const struct sz_answer *answer, uint64_t now_ns);

struct sz_loss {
	enum sz_outcome outcome;
	enum sz_phase phase;
	int errnum;
	const char *why; /* what is wrong with what came; NULL when nothing came */
};

void sz_client_lose(struct sz_client *client, const struct sz_loss *loss, uint64_t now_ns);

void sz_client_lose_stale(struct sz_client *client, uint64_t now_ns);

/* Its connection ends without an answer: was that so soon that the request may have
 * crossed the close? Else somebody has had it. */
bool sz_client_was_crossed(const struct sz_client *client, uint64_t now_ns);

/* via-http2.c */

int sz_load_init_heads(struct sz_load *load, struct sz_err *err);
void sz_load_free_heads(struct sz_load *load);

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

void sz_load_push_wait(struct sz_load *load, struct sz_wait *wait, uint64_t now_ns);
void sz_load_pull_wait(struct sz_load *load, struct sz_wait *wait);

/* A whole response came. Before its request is settled. */
void sz_load_note_answer(struct sz_load *load, struct sz_client *client, bool ok, uint64_t now_ns);

/* Of the window: a completion, or its end. */
void sz_load_note_gap(struct sz_load *load, uint64_t now_ns);

/* Begin to look, every SZ_LOAD_POLL_NS, at whether the window or its tail may end, by
 * the precision that load->span asks for or because it makes no sense, and at whether
 * this thread stood still. */
void sz_load_begin_polls(struct sz_load *load, uint64_t now_ns);
void sz_load_end_polls(struct sz_load *load);

/* abort.c */

/* A window begins. */
void sz_abort_begin(struct sz_load *load, uint64_t now_ns);

/* Should it end now? Then the result says why. To be asked again and again. */
bool sz_abort_check(struct sz_load *load, uint64_t now_ns);

/* Behind a window, while its last requests are waited for: the same, of a service that
 * is not there any more. */
bool sz_abort_check_tail(struct sz_load *load, uint64_t now_ns);

/* The window is over: is the service still there? */
void sz_abort_end(struct sz_load *load);

/* An idle machine may wake that late. */
#define SZ_LOAD_WAKE_NS UINT64_C(20000000)

/* session.c */

/* What is kept of the answer when the request in flight is a log-in; else NULL. */
static inline struct sz_reply *sz_session_reply(const struct sz_client *client)
{
	return client->session ? client->session->reply : NULL;
}

int sz_sessions_init(struct sz_load *load, struct sz_err *err);
void sz_sessions_free(struct sz_load *load);

/* The client is about to log in. False: it cannot, and the load has failed. */
bool sz_session_ask(struct sz_client *client);

/* Its log-in was answered. False: not well, and the load has failed. */
bool sz_session_take(struct sz_client *client, int status);

/* load->failure says why a log-in got no answer: the load has failed. */
void sz_session_fail(struct sz_load *load);

/* HTTP/1: the client's request is to be sent; fill its wire. */
void sz_session_write(struct sz_client *client);

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

/* streams.c */

/* A window: the streams open, and are counted until its end. */
int sz_streams_count(struct sz_load *load, struct sz_err *err);

/* A client's response has come so far. Its first good head makes it a stream. */
void sz_streams_note(struct sz_client *client, int status, uint64_t body_bytes, uint64_t now_ns);

static inline bool sz_load_is_streams(const struct sz_load *load)
{
	return load->config.arrivals == SZ_ARRIVALS_STREAMS;
}

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
 * serve there?" and ends sz_load_open(); so does any while clients log in. */

/* No connection came about; why: as it was put into words, or NULL. */
void sz_load_note_unconnected(struct sz_load *load, const struct sz_client *client,
			      enum sz_phase phase, int errnum, const struct sz_err *why);

/* The bytes that were read last, as far as they are shown, escaped. */
void sz_load_quote_received(const struct sz_load *load, char text[SZ_LOAD_SAMPLE_TEXT]);

/* A request was lost. */
void sz_load_note_lost(struct sz_load *load, const struct sz_client *client,
		       const struct sz_loss *loss);

int sz_load_no_answer_error(const struct sz_load *load, struct sz_err *err);

/* mix.c */

int sz_load_init_mix(struct sz_load *load, struct sz_err *err);

/* In order, from the first again behind the last. */
const struct sz_request *sz_load_request(const struct sz_load *load, size_t number);

/* What the client sends now. */
const struct sz_request *sz_load_next_request(struct sz_client *client);

/* Which of load->parts the client's request is; 0 when there are none. */
size_t sz_load_part_index(const struct sz_load *load, const struct sz_client *client);

/* seconds.c: do nothing unless the config wants seconds. */

void sz_seconds_sent(struct sz_load *load, uint64_t now_ns);
void sz_seconds_unconnected(struct sz_load *load, uint64_t now_ns);
void sz_seconds_settled(struct sz_load *load, enum sz_outcome outcome, uint64_t now_ns);
void sz_seconds_events(struct sz_load *load, uint64_t events, uint64_t now_ns);

/* The window was that long: those in which nothing happened are there, too. */
void sz_seconds_end(struct sz_load *load);

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
