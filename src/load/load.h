/* SPDX-License-Identifier: Apache-2.0
 *
 * The load generator: a closed loop of clients over HTTP/1.1 keep-alive.
 *
 * Each client has one connection and one request in flight: it sends, waits
 * for the whole response, sends again. Level-triggered epoll; in the common
 * case one read and one write per response; no batching, no added delay.
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
 *         starves in the backlog. Burst: all at once. Then all clients loop
 *         until each has had one response under the full load.
 * window  counts the attempts *sent* in [t0, t1). The clients keep looping
 *         after t1, uncounted, until every counted attempt is settled, at the
 *         latest by its time-out: stopping the load at t1 would flatter the
 *         latency of what is still queued. Only an interruption leaves
 *         attempts `unfinished`, with their age as a lower bound.
 *         A lead-in comes first: all clients loop, uncounted, until each was
 *         answered, for timeout_ns at most; then t0 is now.
 *         Between windows, and in sz_load_free, nothing is in flight: the
 *         clients drain, connections stay open.
 *
 * Conservation, checked at run time (sz_load_counts_ok):
 *	attempts = connect_failed + sent
 *	sent = ok + http_error + protocol_error + socket_error + timeout
 *	       + unfinished + stale
 * A retry is a new attempt. `stale`: a kept-alive connection was closed by
 * the server before any byte of the response; retried once at once.
 *
 * A client that cannot connect, or whose request ends in a socket or protocol
 * error, waits before it tries again: 10 ms, doubled up to 1 s, until it is
 * answered. Only a lost request that was stale, or a time-out, is followed by
 * a new connection at once.
 */
#ifndef SZ_LOAD_LOAD_H
#define SZ_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/url.h"
#include "stat/hist.h"

#define SZ_LOAD_CLIENTS_MAX 50000

enum sz_connect_mode { SZ_CONNECT_PACED, SZ_CONNECT_BURST };

struct sz_load_config {
	struct sz_url url;
	struct sz_addr addr;
	unsigned clients; /* 1 .. SZ_LOAD_CLIENTS_MAX */
	enum sz_connect_mode connect;
	uint64_t reconnect_every; /* responses per connection; 0: as long as the server lets us */
	uint64_t timeout_ns;      /* per request, and per connect */
	uint64_t warmup_ns;       /* least time under full load before open() returns */
};

enum sz_outcome {
	SZ_OUTCOME_OK,             /* 2xx or 3xx and the whole body */
	SZ_OUTCOME_HTTP_ERROR,     /* any other final status */
	SZ_OUTCOME_PROTOCOL_ERROR, /* not HTTP, truncated, broken framing */
	SZ_OUTCOME_SOCKET_ERROR,   /* errno while sending or receiving */
	SZ_OUTCOME_TIMEOUT,
	SZ_OUTCOME_UNFINISHED,
	SZ_OUTCOME_STALE,
	SZ_OUTCOME_COUNT,
};

const char *sz_outcome_name(enum sz_outcome outcome); /* "ok", "http_error", … */

enum sz_phase {
	SZ_PHASE_CONNECT,
	SZ_PHASE_SEND,
	SZ_PHASE_WAIT, /* until the head of the response is whole */
	SZ_PHASE_BODY,
	SZ_PHASE_COUNT,
};

const char *sz_phase_name(enum sz_phase phase);

/* Errors by phase and errno; protocol errors have errno EPROTO. */
#define SZ_LOAD_ERRORS_MAX 32
struct sz_load_error {
	enum sz_phase phase;
	int errnum;
	uint64_t count;
};

struct sz_load_result {
	uint64_t duration_ns; /* t1 - t0 */
	bool interrupted;     /* a stop was requested; t1 is when */
	uint64_t attempts;
	uint64_t connect_failed;
	uint64_t sent;
	uint64_t outcomes[SZ_OUTCOME_COUNT];
	uint64_t uncounted;  /* requests sent outside windows since the last window's end:
			      * priming, warm-up, lead-in, tail */
	uint64_t body_bytes; /* of ok responses */
	struct sz_load_error errors[SZ_LOAD_ERRORS_MAX];
	size_t error_count;
	uint64_t errors_other; /* errors beyond the table's room */

	struct sz_hist latency[SZ_OUTCOME_COUNT]; /* send to last byte; for timeout and
						   * unfinished the age: a lower bound */
	struct sz_hist ttfb;                      /* ok: send to first byte */
	struct sz_hist connect;                   /* of every connection opened since sz_load_new */

	unsigned clients_answered; /* clients that had a response under load before t0 */
	uint64_t connections_opened;
	uint64_t connections_open_at_end;
	uint64_t reconnects;    /* since sz_load_new; asked for or because the server closed */
	uint64_t server_closed; /* of those: the server closed */

	uint64_t client_cpu_ns;  /* this thread's CPU time in [t0, t1) */
	uint64_t epoll_waits;    /* in [t0, t1) */
	uint64_t longest_gap_ns; /* longest time in the window without a completion */
};

struct sz_load;

/* Copies config. Raises the soft limit of descriptors as far as the clients
 * need it; when the hard limit is too low that is SZ_MACHINE and the message
 * names the number needed. */
int sz_load_new(const struct sz_load_config *config, struct sz_load **load, struct sz_err *err);

/* Connect and warm up. 0 also when some clients never got an answer (the
 * window says how many did). -1 when none did, or as soon as the first client
 * fails before anybody was answered: SZ_MACHINE with the errno. SZ_INTERRUPTED
 * when a stop was requested. After -1 only sz_load_free() may follow. */
int sz_load_open(struct sz_load *load, struct sz_err *err);

/* When a window may end: after min_ns and once `requests` have completed ok,
 * at the latest after max_ns. */
struct sz_load_span {
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t requests;
	/* Called at t0 and at t1 with arg, on this thread; may be NULL. Must be
	 * quick: the clients wait meanwhile. */
	void (*at_edge)(void *arg, bool is_start);
	void *arg;
};

/* One counted window; see the top. 0 also when interrupted: before t0, then
 * duration and counts are 0 and at_edge was not called; or later, then t1 is
 * that moment at the latest and what was in flight is unfinished. */
int sz_load_window(struct sz_load *load, const struct sz_load_span *span,
		   struct sz_load_result *result, struct sz_err *err);

void sz_load_free(struct sz_load *load); /* NULL is fine */

bool sz_load_counts_ok(const struct sz_load_result *result);

#endif
