/* SPDX-License-Identifier: Apache-2.0
 *
 * The load generator: clients over HTTP/1.1 keep-alive or HTTP/2, in a closed
 * loop, in an open one or in bursts; over TCP or a unix socket, with TLS or
 * without.
 *
 * Each client has at most one request in flight, on a connection of its own or,
 * in HTTP/2, on one that `streams` clients share. Closed: it sends, waits for
 * the whole response, sends again. Level-triggered epoll; in the common case one
 * read and one write per response; no batching, no added delay. Bursts: see
 * below.
 *
 * HTTP/2. Over TLS the service must agree to it (ALPN); else it is spoken at
 * once, with prior knowledge (RFC 9113, 3.3). A stream that the service refuses,
 * or that a GOAWAY leaves out, is stale; another that it resets is a protocol
 * error, and so is one whose connection breaks the rules. A connection that is
 * lost takes all its requests with it, and one that cannot be opened fails all
 * that wait for it, each counted by itself. A time-out resets its stream and
 * leaves the connection open. After a GOAWAY, or with reconnect_every, a
 * connection takes no more requests; who has one waits until those in flight
 * have ended, then a new connection opens. A service that takes fewer streams at
 * once than clients share a connection is refused: it would be loaded with less
 * than was asked for. When it comes to that within a window, the window goes on,
 * and the result says so. Answers that come in one read are followed by the next
 * requests in one write.
 *
 * What it is not: it knows nothing of the service's processes (os/) and does
 * not judge what it saw (advise/).
 *
 * A load is used in this order, by one thread:
 *
 *	sz_load_new -> sz_load_open -> sz_load_window (any number) -> sz_load_free
 *
 * open    connects the clients. Paced: the next connection opens after the
 *         previous one's first response (at most 250 ms later), so nobody
 *         starves in the backlog. Burst: all at once, when the window begins.
 *         With a log-in each client's first request is that instead, paced or all
 *         at once, within open, which ends when every one of them was answered with
 *         an expected status; one that is not is an error. Cookies that are set are
 *         sent with all later requests of the client, whatever its connection.
 * window  counts the attempts *sent* in [t0, t1). The clients keep looping
 *         after t1, uncounted, until every counted attempt is settled, at the
 *         latest by its time-out: stopping the load at t1 would flatter the
 *         latency of what is still queued. Only an interruption leaves
 *         attempts `unfinished`, with their age as a lower bound.
 *         A lead-in comes first: all clients loop, uncounted, for warmup_ns
 *         and until each was answered, for timeout_ns at most; then t0 is now.
 *         Between windows, and in sz_load_free, nothing is in flight: the
 *         clients drain, connections stay open.
 *
 * Conservation, checked at run time (sz_load_counts_ok):
 *	attempts = connect_failed + sent
 *	sent = ok + http_error + protocol_error + socket_error + timeout
 *	       + unfinished + stale + truncated + not_http + not_retried + open
 * and of an open loop
 *	scheduled = sent - stale + connect_failed + dropped + unsent
 * A retry is a new attempt. `stale`: a kept-alive connection was closed by
 * the server before any byte of the response, and so soon that the close may have
 * crossed the request (SZ_LOAD_CROSSING_NS); or the server said that it did not
 * process the request; retried once at once, and the latency of the retry counts from
 * when the first was asked. Where the request may have been
 * processed and its method is not idempotent (RFC 9110, 9.2.2: POST, PATCH), it is
 * `not_retried` instead, and an error. Bytes that waited on a connection before the
 * request could be sent answer nothing: that is stale, too, and the second time, or
 * where they greet in another protocol, an error.
 *
 * A window that tells nothing any more is aborted (enum sz_abort): its end is
 * then, and what was counted by then stands.
 *
 * Bursts are rounds: at a scheduled instant every user fires its calls, and the
 * round is over when the last of them is settled. A user has clients / users
 * connections (of HTTP/2: streams); what has none yet waits for one, in order,
 * as in a browser. A user whose page fires k calls at once is k clients, u users are
 * k * u: their rounds are simultaneous, which is the worst case. Calls go through
 * the set of requests in order, from its first in every round. Every latency counts
 * from the scheduled instant, so what the round had to wait for is in it: sending to
 * the clients ahead, a new connection in place of one that was closed since (all of
 * them with reconnect_every 1), a stale request and its retry. Nothing else is retried
 * within a round. open warms up with whole rounds, at least one; a window has
 * neither lead-in nor tail and consists of whole rounds unless interrupted.
 *
 * Streams: every client opens one response, as of server-sent events, within the
 * window and keeps it, without a time-out once its head has come. One that the
 * server ends, or that failed, is not replaced; what lasts until the end of the
 * window is `open`. There is no lead-in: the window begins with the first
 * connection, paced or all at once. When none is left nobody waits for its end, and
 * it counts as if they had: as long as was asked for.
 *
 * A client of a closed loop may think between an answer and its next request.
 *
 * In other loops each request is drawn from the set by weight, seeded.
 *
 * In an open loop calls come when they are due (schedule.h), and clients are the
 * most that can be in flight: a call goes to the one that was free longest; if
 * none is, it waits or is dropped. It counts when it was *due* in [t0, t1), and
 * every latency counts from that instant: what a service that stands still does
 * to those who come meanwhile is in it. Samples are never made up.
 *
 * In a closed or open loop, a client that cannot connect, or whose request ends in a
 * socket or protocol error, waits before it tries again: 10 ms, doubled up to
 * 1 s, until it is answered. Only a lost request that was stale, or a time-out,
 * is followed by a new connection at once.
 *
 * Several addresses are used in turn, a connection each; TLS names the host to all
 * of them. One that takes no connection before the window is left out while there
 * are others, as any client would (RFC 8305), and the result says so. Once
 * something counts a connect that fails counts, too, and the next goes elsewhere.
 */
#ifndef SZ_LOAD_LOAD_H
#define SZ_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/match.h"
#include "load/requests.h"
#include "load/schedule.h"
#include "net/tls.h"
#include "net/url.h"
#include "stat/hist.h"

#define SZ_LOAD_CLIENTS_MAX 50000
#define SZ_LOAD_ROUNDS_MAX 10000 /* per window */
#define SZ_LOAD_PAUSE_NS UINT64_C(200000000)

enum sz_http { SZ_HTTP_1, SZ_HTTP_2, SZ_HTTP_1_0 };

const char *sz_http_version(enum sz_http http); /* "1.1", "2", "1.0" */

enum sz_connect_mode { SZ_CONNECT_PACED, SZ_CONNECT_BURST };

enum sz_arrivals {
	SZ_ARRIVALS_CLOSED,
	SZ_ARRIVALS_BURST,
	SZ_ARRIVALS_OPEN,
	SZ_ARRIVALS_STREAMS,
};

/* What becomes of a call of an open loop for which no client is free. */
enum sz_late {
	SZ_LATE_SEND, /* it waits, and leaves at no more than twice the rate */
	SZ_LATE_DROP,
};

#define SZ_LOAD_QUEUE_MAX 1000000 /* calls that wait; more are dropped */

struct sz_load_config {
	struct sz_url url; /* the service, and what is asked of it unless there are requests */
	struct sz_addr addr;
	const struct sz_addrs *addrs; /* borrowed; all of the service, of which addr is the first.
				       * NULL: addr alone */
	unsigned sources;             /* loopback addresses to connect from in turn; 0: the kernel's
				       * choice. addrs are then of 127.0.0.0/8 */
	unsigned turn;                /* with which of them the first connection begins */
	struct sz_tls *tls;           /* borrowed; for https */
	const struct sz_requests *requests; /* borrowed, all to the origin of url; NULL: GET url */
	const struct sz_requests *setup;    /* borrowed, likewise; one: the log-in. NULL: none */
	uint64_t seed;                      /* of their order */
	unsigned clients;                   /* 1 .. SZ_LOAD_CLIENTS_MAX */
	enum sz_http http;            /* 2: over TLS as agreed on (tls must offer it alone), else
				       * unasked */
	unsigned streams;             /* of HTTP/2: clients that share a connection; 0: one */
	unsigned users;               /* of bursts: a divisor of clients; 0: one */
	unsigned calls;               /* of bursts: each user's in a round; 0: one per client */
	enum sz_connect_mode connect; /* of open(); later connections open when they are needed */
	enum sz_arrivals arrivals;
	uint64_t pause_ns;   /* bursts: from the end of a round to the next, as SZ_LOAD_PAUSE_NS */
	uint64_t every_ns;   /* bursts, unless 0: rounds start at multiples of it instead; those
			      * that come while a round lasts are left out */
	struct sz_rate rate; /* of an open loop */
	enum sz_late late;   /* likewise */
	/* Of an open loop, unless 0: the requests in their order, each when its at_ns
	 * says, so many times as fast; `rate` is then their mean. None comes after the
	 * last. */
	double replay_speed;
	uint64_t think_ns;        /* closed loop: from an answer to the client's next request */
	bool parses_all;          /* heads of answers that are known, too */
	bool think_random;        /* that is the mean of an exponential time */
	uint64_t reconnect_every; /* responses per connection; 0: as long as the server lets us */
	uint64_t timeout_ns;      /* per request, and per connect */
	uint64_t warmup_ns;       /* least time under full load before t0 */
	bool wants_seconds;       /* fill the result's seconds */
	/* What the body of a good answer holds, encoded as it is sent (no encoding is
	 * asked for); all zero: anything. */
	struct sz_match expected;
};

/* Of each user in a round of a burst. */
static inline unsigned sz_load_calls(const struct sz_load_config *config)
{
	return config->calls ? config->calls
			     : config->clients / (config->users ? config->users : 1);
}

/* Of all users. */
static inline unsigned sz_load_connections(const struct sz_load_config *config)
{
	unsigned users = config->users ? config->users : 1;
	unsigned streams = config->streams ? config->streams : 1;
	return (config->clients / users + streams - 1) / streams * users;
}

enum sz_outcome {
	SZ_OUTCOME_OK,             /* 2xx or 3xx and the whole body, which is as expected */
	SZ_OUTCOME_HTTP_ERROR,     /* any other final status, or another body */
	SZ_OUTCOME_PROTOCOL_ERROR, /* broken framing */
	SZ_OUTCOME_SOCKET_ERROR,   /* errno while sending or receiving */
	SZ_OUTCOME_TIMEOUT,
	SZ_OUTCOME_UNFINISHED,
	SZ_OUTCOME_STALE,
	SZ_OUTCOME_TRUNCATED,   /* the connection closed before the end that was announced */
	SZ_OUTCOME_NOT_HTTP,    /* bytes of another protocol */
	SZ_OUTCOME_NOT_RETRIED, /* would be stale, but must not be sent twice */
	SZ_OUTCOME_OPEN,        /* a stream that lasted until the end of the window */
	SZ_OUTCOME_COUNT,
};

const char *sz_outcome_name(enum sz_outcome outcome); /* "ok", "http_error", … */
bool sz_outcome_is_failure(enum sz_outcome outcome);

enum sz_phase {
	SZ_PHASE_CONNECT,
	SZ_PHASE_TLS,
	SZ_PHASE_SEND,
	SZ_PHASE_WAIT, /* until the head of the response is whole */
	SZ_PHASE_BODY,
	SZ_PHASE_STATUS, /* all came, but the status is not one of those expected */
	SZ_PHASE_COUNT,
};

const char *sz_phase_name(enum sz_phase phase);

/* Errors by phase and errno; protocol errors have errno EPROTO, and those of
 * SZ_PHASE_STATUS the status of HTTP in its place. */
#define SZ_LOAD_ERRORS_MAX 32
struct sz_load_error {
	enum sz_phase phase;
	int errnum;
	uint64_t count;
};

/* Good answers that came in [t0, t1), whenever their requests were sent, or of
 * streams their events, per interval of interval_ns. It starts at 100 ms; when there is no room for
 * one more interval, neighbours are added and intervals are twice as long from then on. What came
 * in the last, incomplete one is left out.
 *
 * Counts, as the functions of stat/ want them. */
#define SZ_LOAD_SERIES_MAX 1024
struct sz_load_series {
	uint64_t interval_ns;
	size_t count;
	double ok[SZ_LOAD_SERIES_MAX];
};

/* One second of a window: attempts that began in it, and those that were settled in
 * it. Events are of streams. */
struct sz_load_second {
	uint64_t sent, connect_failed;
	uint64_t outcomes[SZ_OUTCOME_COUNT];
	uint64_t events;
};

/* One round of a burst, from its scheduled instant. A call that failed counts
 * with the time until it did (its first byte, if one came): a lower bound of
 * what a good answer would have taken. */
struct sz_load_round {
	uint64_t slowest_ttfb_ns;
	uint64_t slowest_ns; /* last byte; the round's length */
	unsigned failed;     /* calls that got no good answer */
	size_t slowest_part; /* of whose the slowest first byte was; see sz_load_part */
};

/* Whether the rate goes up in steps, each level by itself. */
static inline bool sz_load_has_steps(const struct sz_load_config *config)
{
	return config->arrivals == SZ_ARRIVALS_OPEN && config->rate.count > 1 &&
	       config->replay_speed == 0;
}

/* What became of one request of a set of several, or of all that are called the
 * same; of an open loop of one request, of what was due at one step of its rate; beyond
 * SZ_LOAD_PARTS_MAX - 1 the last part is all others. */
#define SZ_LOAD_PARTS_MAX 64
struct sz_load_part {
	const char *label; /* the requests' own; NULL: all others */
	uint64_t outcomes[SZ_OUTCOME_COUNT];
	struct sz_hist ttfb; /* of ok */
	struct sz_hist latency;
	size_t slowest_rounds; /* of bursts: in which the slowest first byte was one of these */
};

/* Over the rounds; all 0 when there was none. */
struct sz_load_spread {
	uint64_t min_ns;
	uint64_t p50_ns; /* at rank ceil(n / 2) */
	uint64_t max_ns;
};

/* Why a window ended before its time. */
enum sz_abort {
	SZ_ABORT_NONE,
	SZ_ABORT_ERRORS,   /* after SZ_ABORT_LEAST_NS and _LEAST_COUNT, most attempts had failed */
	SZ_ABORT_DEAD,     /* for SZ_ABORT_DEAD_NS there were but failures to connect and broken
			    * connections, SZ_ABORT_DEAD_COUNT at least. Time-outs are none: a
			    * service that stands still may go on */
	SZ_ABORT_NOT_HTTP, /* likewise for SZ_ABORT_NOT_HTTP_NS but bytes that are no HTTP */
	SZ_ABORT_GONE,     /* it lasted its time, but at its end there was no connection, and
			    * the last that was tried was refused */
};
#define SZ_ABORT_ERROR_RATIO 0.5
#define SZ_ABORT_LEAST_NS UINT64_C(1000000000)
#define SZ_ABORT_LEAST_COUNT 100
#define SZ_ABORT_DEAD_NS UINT64_C(3000000000)
#define SZ_ABORT_DEAD_COUNT 5
#define SZ_ABORT_NOT_HTTP_NS UINT64_C(1000000000)

/* A close that crosses a request comes within a round trip, of which connecting is
 * one; this much more for a machine that is busy. */
#define SZ_LOAD_CROSSING_NS UINT64_C(100000000)

/* The beginning of what came in place of HTTP, escaped, with its NUL. */
#define SZ_LOAD_SAMPLE_BYTES 64
#define SZ_LOAD_SAMPLE_TEXT (4 * SZ_LOAD_SAMPLE_BYTES + 1)

/* One of several addresses; all since sz_load_new. */
struct sz_load_address {
	struct sz_addr addr;
	uint64_t opened; /* connections */
	uint64_t failed; /* connects that did not come about */
	int left_out;    /* why, as errno; 0: it is not */
};

struct sz_load_result {
	uint64_t began_ns;    /* t0; in bursts when the first round was due */
	uint64_t duration_ns; /* t1 - t0 */
	bool interrupted;     /* a stop was requested; t1 is when */
	enum sz_abort aborted;
	/* Of an open loop: calls due in [t0, t1), and what never became a request:
	 * dropped (no client was free in time), unsent (interrupted). */
	uint64_t scheduled, dropped, unsent;
	/* In [t0, t1), whenever they were due: requests sent, answers, good ones. The
	 * rates of an open loop, whose backlog is worked off behind t1. */
	uint64_t went, came, came_ok;
	uint64_t attempts;
	uint64_t connect_failed;
	uint64_t sent;
	uint64_t outcomes[SZ_OUTCOME_COUNT];
	uint64_t uncounted;  /* requests sent outside windows since the last window's end:
			      * log-ins, priming, warm-up, lead-in, tail */
	uint64_t body_bytes; /* of ok responses */
	struct sz_load_error errors[SZ_LOAD_ERRORS_MAX];
	size_t error_count;
	int error_status;      /* of the last http_error; 0: none. 2xx or 3xx: another body */
	uint64_t unexpected;   /* of the http_errors, those with another body */
	uint64_t errors_other; /* errors beyond the table's room */
	char not_http[SZ_LOAD_SAMPLE_TEXT]; /* of the first such outcome; "": none */

	/* From sending, in bursts from the scheduled instant. */
	struct sz_hist latency[SZ_OUTCOME_COUNT]; /* to the last byte; for timeout and
						   * unfinished the age: a lower bound */
	struct sz_hist ttfb;                      /* ok and open: to the first byte */
	/* Of streams whose head was good: how many, those that ended before t1, and
	 * what came in [t0, t1): bytes of their bodies, and events as of net/events.h. */
	uint64_t streams_opened, streams_ended;
	uint64_t stream_bytes, events;
	/* From asking to the end of a stream's first event; between reads that had bytes
	 * of the same stream; at t1, of those that were open, since the last such read, or
	 * since asking when there was none: the gap that was not over yet. */
	struct sz_hist first_event, gap, silence;

	/* Of an open loop. lateness: how late this program itself was, of every call.
	 * The others make up the latency of ok: until a client was free (and
	 * connected), to the first byte, to the last. */
	struct sz_hist lateness, queue, service, transfer;
	uint64_t cookies;         /* that log-ins set, since sz_load_new; of threads those of the
				   * first */
	struct sz_hist connect;   /* of every connection opened since sz_load_new */
	struct sz_hist handshake; /* of TLS, likewise */
	uint64_t resumed;         /* of those, with the session of an earlier one */

	const struct sz_load_part *parts; /* the load's, until its next window; of a set of one
					   * request there are none */
	size_t part_count;

	/* The load's, until its next window: every second from t0 until t1 and until the
	 * last attempt was settled. */
	const struct sz_load_second *seconds;
	size_t second_count;

	struct sz_load_series series;
	double error_ratio; /* how well the series tells the throughput: half of its 95 %
			     * interval over it; INFINITY when it does not: less than ten
			     * intervals, no good answer, bursts */

	size_t round_count;   /* of bursts */
	size_t rounds_failed; /* those with a call that failed */
	struct sz_load_round rounds[SZ_LOAD_ROUNDS_MAX];
	struct sz_load_spread slowest_ttfb;
	struct sz_load_spread slowest;

	unsigned clients_answered; /* clients that had a response under load before t0 */
	uint64_t connections_opened;
	uint64_t connections_open_at_end;
	uint64_t reconnects;    /* since sz_load_new; asked for or because the server closed */
	uint64_t server_closed; /* of those: the server closed */
	/* HTTP/2: of config.streams how many the service did not take of a connection at
	 * some time of the window; the requests waited for each other then. */
	uint64_t streams_lacking;
	bool takes_no_streams; /* it was all of them */
	struct sz_load_address addresses[SZ_ADDRS_MAX];
	size_t address_count; /* 0 when there is but one */

	uint64_t client_cpu_ns;  /* this thread's CPU time in [t0, t1) */
	uint64_t busiest_cpu_ns; /* the same, but where several results were added: of the thread
				  * that used most */
	uint64_t epoll_waits;    /* in [t0, t1) */
	uint64_t longest_gap_ns; /* longest time in the window without a completion, of
				  * streams without a byte of any */
	uint64_t stall_ns;       /* longest time in it for which this thread stood still; 0:
				  * none of SZ_LOAD_STALL_NS or more */
};

struct sz_load;

/* Copies config. Raises the soft limit of descriptors as far as the clients
 * need it; when the hard limit is too low that is SZ_MACHINE and the message
 * names the number needed. */
int sz_load_new(const struct sz_load_config *config, struct sz_load **load, struct sz_err *err);

/* Connect, as far as connections are paced. -1 as soon as the first client fails
 * before anybody was answered: SZ_MACHINE with the errno. SZ_INTERRUPTED when a
 * stop was requested. After -1 only sz_load_free() may follow. */
int sz_load_open(struct sz_load *load, struct sz_err *err);

enum sz_edge {
	SZ_EDGE_START,   /* t0 */
	SZ_EDGE_END,     /* t1 */
	SZ_EDGE_SETTLED, /* every counted request is settled, and the load still goes on:
			  * the time for what takes longer. In bursts it is over by then. */
};

/* When a window ends. Streams: after max_ns. Closed loop: after min_ns, once all of what is asked
 * for beside it is reached, at the latest after max_ns. Bursts: after so many rounds; max_ns is the
 * latest start of one (the first starts in any case). */
struct sz_load_span {
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t requests; /* that many have completed ok */
	size_t rounds;     /* bursts; 0: as many as max_ns and SZ_LOAD_ROUNDS_MAX allow */
	uint64_t start_ns; /* unless 0: not before it. The lead-in then is just before; when it
			    * takes longer the window begins late, as the result's began_ns tells */

	/* Closed loop, unless 0: error_ratio (see the result) is at most that, as
	 * 0.03. Looked at from t0 on, every SZ_LOAD_POLL_NS. */
	double error_ratio;
	/* Closed loop, may be NULL: a condition of the caller's, called as often
	 * with arg and the good answers since t0. As quick as at_edge. */
	bool (*precise_enough)(void *arg, uint64_t ok);

	/* Called as often with arg and the good answers since t0, or the events of
	 * streams; may be NULL. */
	void (*at_poll)(void *arg, uint64_t ok);

	/* Called at each edge with arg, on this thread; may be NULL. At t0 and t1 it
	 * must be quick: the clients wait meanwhile. */
	void (*at_edge)(void *arg, enum sz_edge edge);
	void *arg;
};

#define SZ_LOAD_POLL_NS UINT64_C(200000000)
#define SZ_LOAD_STALL_NS UINT64_C(100000000)

/* One counted window; see the top. -1 (SZ_MACHINE) when nobody was answered in
 * the lead-in; 0 also when some clients were not, which clients_answered tells.
 * After -1 only sz_load_free() may follow. 0 also when interrupted: before t0, then
 * duration and counts are 0 and at_edge was not called; or later, then t1 is
 * that moment at the latest and what was in flight is unfinished. */
int sz_load_window(struct sz_load *load, const struct sz_load_span *span,
		   struct sz_load_result *result, struct sz_err *err);

void sz_load_free(struct sz_load *load); /* NULL is fine */

bool sz_load_counts_ok(const struct sz_load_result *result);

/* An open loop asked for something else than it was told to: this program's own
 * p99 of lateness exceeds SZ_LOAD_LATE_NS, or a tenth of the mean gap when that
 * is more. Of few calls it is the latest: a gate must not be blind for a short
 * run. */
bool sz_load_was_late(const struct sz_load_result *result);
#define SZ_LOAD_LATE_NS 1e6

/* Attempts that have failed, and those of which it is known whether they have. */
uint64_t sz_load_failed(const struct sz_load_result *result);
uint64_t sz_outcomes_failed(const uint64_t outcomes[SZ_OUTCOME_COUNT]);
uint64_t sz_load_settled(const struct sz_load_result *result);

/* Per second of the window. Of an open loop what happened within it, else what became
 * of that which was sent within it. */
double sz_load_offered_rps(const struct sz_load_config *config,
			   const struct sz_load_result *result);
double sz_load_completed_rps(const struct sz_load_config *config,
			     const struct sz_load_result *result);
double sz_load_goodput_rps(const struct sz_load_config *config,
			   const struct sz_load_result *result);

#endif
