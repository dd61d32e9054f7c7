/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the runtime share: rt.c is the supervisor, worker.c one
 * worker's loop and who accepts, conn.c one connection, request.c what the
 * application sees of a request.
 *
 * Ownership: the worker owns its connections; a connection embeds the one
 * request it may have in progress. A connection whose client vanished stays
 * until the application has answered, so a request never dangles.
 */
#ifndef SZ_RT_INSIDE_H
#define SZ_RT_INSIDE_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"
#include "net/http1.h"
#include "net/loop.h"
#include "rt/rt.h"

#define SZ_RT_WORKERS_MAX 1024
#define SZ_RT_READ_BYTES (16 * 1024)

/* One page or two that all workers see: how many connections each has. A
 * worker that does not accept (dead, stopping, full) says SZ_RT_NOT_ACCEPTING
 * so that nobody waits for it. */
#define SZ_RT_NOT_ACCEPTING UINT32_MAX
struct sz_rt_shared {
	_Atomic uint32_t connections[SZ_RT_WORKERS_MAX];
};

/* The signals that ask for a stop, as base/stop.h has them. */
void sz_rt_stop_signals(sigset_t *signals);

struct sz_rt_request {
	const char *query; /* after the '?', or "" */
	sz_rt_later_fn *later;
	void *later_arg;
};

struct sz_rt_worker {
	const struct sz_rt_config *config;
	struct sz_rt_shared *shared;
	unsigned index;
	int listener; /* owned; -1 once stopping */
	int signal_fd;
	struct sz_loop *loop;
	struct sz_watch listener_watch;
	struct sz_watch signal_watch;
	struct sz_timer accept_timer; /* armed: not accepting before it fires */
	struct sz_rt_conn *conns;
	unsigned connections;
	bool stopping;
	time_t date_s; /* the second that `date` shows */
	char date[64];
	char input[SZ_RT_READ_BYTES]; /* of the read in progress */
};

/* Serve until stopped. Takes over the listener. The worker's exit status. */
int sz_rt_worker_run(struct sz_rt_worker *worker);

/* The number of connections changed by one. */
void sz_rt_worker_count(struct sz_rt_worker *worker, int change);

struct sz_rt_conn {
	struct sz_rt_worker *worker;
	struct sz_rt_conn *prev, *next;
	struct sz_watch watch;
	struct sz_timer timer; /* busy: the later call; lingering: the end of patience;
				* else: the next pipelined request's turn */
	int fd;
	bool started;   /* part of a request has arrived */
	bool busy;      /* the application has a request and has not answered */
	bool closing;   /* close once the output is out */
	bool refused;   /* the input made no sense: its rest is thrown away */
	bool lingering; /* our side is shut; waiting for the client's end */
	struct sz_http1_request parser;
	struct sz_rt_request request;
	struct sz_buf pending; /* input after the request in progress; one read at most */
	struct sz_buf out;
	size_t out_sent;
};

/* Take over an accepted socket. 0 or -1; the socket is closed on failure. */
int sz_rt_conn_open(struct sz_rt_worker *worker, int fd);

/* The worker is stopping: close when idle, else after the answer. */
void sz_rt_conn_stop(struct sz_rt_conn *conn);

#endif
