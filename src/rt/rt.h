/* SPDX-License-Identifier: Apache-2.0
 *
 * The native runtime: a supervisor, N prefork workers, an event loop in each,
 * HTTP/1.1 keep-alive, handlers that may answer now or later, and a graceful
 * stop with a budget.
 *
 * What it is not: it knows no route and no cost; those are the application's
 * (serve/ is one).
 *
 * Processes: sz_rt_run() binds first, then forks; the caller's process is the
 * supervisor and never serves. A worker that dies is started again after a
 * back-off that doubles from 100 ms to 5 s while it dies within a second.
 * SIGTERM or SIGINT to the supervisor: stop accepting, answer what is in
 * flight with `Connection: close`, close idle connections, end within the
 * budget; a second signal, or the budget's end, kills. A worker whose
 * supervisor vanished ends by itself.
 *
 * Connections: with one shared listener a worker that holds more connections
 * than the lightest one waits 2 ms before it accepts, so that the lighter
 * ones come first; a wedged worker cannot hold the others up for longer.
 * With reuseport every worker has its own listener and the kernel spreads by
 * hash.
 *
 * Threads: each worker is one thread; everything below happens on it.
 */
#ifndef SZ_RT_RT_H
#define SZ_RT_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sz_rt_request; /* one request in progress; valid until answered */

/* What the application is told of a request. Borrowed; valid until answered. */
const char *sz_rt_method(const struct sz_rt_request *request);
const char *sz_rt_path(const struct sz_rt_request *request); /* without the query */

/* Decoded number of a query parameter, e.g. "ms" of /cpu?ms=2.5; fallback
 * when it is absent; NaN when it is there and no finite non-negative number. */
double sz_rt_query_number(const struct sz_rt_request *request, const char *name, double fallback);

/* Answer. body is copied; for HEAD it is only counted. The request is gone
 * afterwards. A client that vanished meanwhile makes no difference: what is
 * written for it is dropped. */
void sz_rt_respond(struct sz_rt_request *request, int status, const char *type, const void *body,
		   size_t len);

/* Call fn(request, arg) on this worker's loop after delay_ns. At most one at
 * a time per request. When memory is out fn is not called and the request is
 * answered with 503. */
typedef void sz_rt_later_fn(struct sz_rt_request *request, void *arg);
void sz_rt_later(struct sz_rt_request *request, uint64_t delay_ns, sz_rt_later_fn *fn, void *arg);

struct sz_rt_config {
	const char *host; /* numeric; NULL is 127.0.0.1 */
	uint16_t port;    /* 0: the kernel chooses */
	unsigned workers; /* 1 .. 1024 */
	int backlog;
	bool reuseport;
	uint64_t stop_budget_ns;
	unsigned connections_max; /* per worker: with so many it accepts no more; 0: no limit */
	/* Called for every request, once its body has arrived (and been thrown
	 * away); must call sz_rt_respond() or sz_rt_later(). */
	void (*handle)(struct sz_rt_request *request, void *app);
	/* Once in the supervisor, when the port is bound and before any fork;
	 * may be NULL. */
	void (*on_listening)(uint16_t port, void *app);
	void *app;
};

/* Serve until a signal ends it. 0 after a stop, graceful or not, with no
 * worker left; -1 with err when the port cannot be bound or a worker cannot
 * be forked at the start. The calling thread must be the one that lives
 * longest: its end is the workers' end. */
int sz_rt_run(const struct sz_rt_config *config, struct sz_err *err);

#endif
