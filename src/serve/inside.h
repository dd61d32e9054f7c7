/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the misbehaving server; nobody else includes this.
 *
 *	fault.c         faults by name, and their arguments
 *	fault_table.c   the faults: each writes a play
 *	fault_play.c    plays
 *	fault_conn.c    one connection, which plays what is written for it
 *	fault_server.c  accepting, signals, the log
 *
 * A play is what the server does from a request on: steps, in order. Whoever
 * writes one knows no socket, so plays can be looked at without any.
 */
#ifndef SZ_SERVE_INSIDE_H
#define SZ_SERVE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "net/http1.h"
#include "net/loop.h"
#include "serve/fault.h"

/* Plays */

enum sz_step_kind {
	SZ_STEP_SAY,        /* send bytes [from, from + value) of the play */
	SZ_STEP_WAIT,       /* value ns */
	SZ_STEP_IDLE,       /* value ns, unless a request comes: then the play is over */
	SZ_STEP_REPEAT,     /* go back to step `from`, value times or SZ_FOREVER */
	SZ_STEP_CLOSE,      /* both ways, in an orderly manner if all input was read */
	SZ_STEP_RESET,      /* with RST */
	SZ_STEP_HALF_CLOSE, /* our side */
	SZ_STEP_HANG,       /* do nothing any more */
	SZ_STEP_DIE,        /* the whole server */
	SZ_STEP_KINDS,
};

#define SZ_FOREVER UINT64_MAX

struct sz_step {
	enum sz_step_kind kind;
	uint64_t value;
	size_t from;
};

/* Zero-initialise. A failed allocation is remembered; whoever plays looks. */
struct sz_play {
	struct sz_step *steps;
	size_t count;
	size_t cap;
	size_t mark; /* the step that a repetition begins with */
	struct sz_buf bytes;
	bool failed;
};

void sz_play_fini(struct sz_play *play);
bool sz_play_failed(const struct sz_play *play);
void sz_play_step(struct sz_play *play, enum sz_step_kind kind, uint64_t value);

/* What is said in a row goes out in one piece. */
void sz_play_say(struct sz_play *play, const char *bytes, size_t len);
void sz_play_text(struct sz_play *play, const char *text);

/* Everything that follows the mark, `times` times more. One per play. */
void sz_play_mark(struct sz_play *play);
void sz_play_repeat(struct sz_play *play, uint64_t times);

/* Faults */

/* What a fault is told of whom it strikes. */
struct sz_fault_ask {
	const uint64_t *arg;
	bool is_head;
	uint64_t number;     /* of the request, from 1 on, among all of the server */
	uint64_t elapsed_ns; /* since the first connection */
};

enum sz_fault_strikes {
	SZ_STRIKES_REQUESTS,      /* each so-manieth of the server */
	SZ_STRIKES_CONNECTIONS,   /* each so-manieth, when it is accepted */
	SZ_STRIKES_NTH_REQUEST,   /* of each connection; the argument says which */
	SZ_STRIKES_SERVER_ONCE,   /* at the request of the server that the argument says */
	SZ_STRIKES_SERVER_ALWAYS, /* by the server's hooks */
};

enum sz_fault_arg {
	SZ_FAULT_NONE,
	SZ_FAULT_COUNT,
	SZ_FAULT_BYTES,
	SZ_FAULT_TIME,
	SZ_FAULT_TIMES, /* TIME/EVERY */
	SZ_FAULT_ARGS,
};

struct sz_fault_server;

struct sz_fault {
	const char *name;
	enum sz_fault_arg arg;
	const char *fallback; /* as one would type it */
	uint64_t min, max;    /* of counts and bytes, inclusive */
	enum sz_fault_strikes strikes;
	const char *seen; /* the outcome in load/ of a GET that was struck, on a
			   * connection that had been answered before (but for the
			   * first request of one that was struck itself) */
	const char *help;

	/* A play that is always the same, or who writes one. */
	const char *bytes;
	size_t len;
	enum sz_step_kind then; /* after the bytes; SZ_STEP_SAY: nothing */
	void (*play)(struct sz_play *play, const struct sz_fault_ask *ask);
	/* For those that were not struck; NULL: sz_fault_play_good(). */
	void (*otherwise)(struct sz_play *play, const struct sz_fault_ask *ask);

	void (*accepted)(struct sz_fault_server *server); /* after each accept */
	bool never_accepts;
	bool never_reads;        /* on a connection that was struck */
	bool answers_in_advance; /* the first request on one that was struck has its answer */
};

/* Ends with one that has no name. */
extern const struct sz_fault sz_faults[];

void sz_fault_play_good(struct sz_play *play, const struct sz_fault_ask *ask);

/* What the chosen fault does to whom it strikes. */
void sz_fault_play(const struct sz_fault *fault, struct sz_play *play,
		   const struct sz_fault_ask *ask);

/* The server */

struct sz_fault_counts {
	uint64_t connections;      /* accepted */
	uint64_t closed_by_client; /* or broken by it */
	uint64_t closed_by_server;
	uint64_t requests;        /* received as a whole */
	uint64_t ignored;         /* of those: came where no answer was due */
	uint64_t bad_requests;    /* were no HTTP; the connection was closed */
	uint64_t responses;       /* good ones, written as a whole */
	uint64_t faults;          /* times it struck */
	uint64_t faults_finished; /* of those: its play came to an end */
	uint64_t bytes_received;
	uint64_t bytes_sent;
};

struct sz_fault_server {
	const struct sz_fault_config *config;
	struct sz_loop *loop;
	int listener; /* -1: closed */
	int signal_fd;
	uint16_t port;
	struct sz_watch listener_watch;
	struct sz_watch signal_watch;
	struct sz_watch stop_watch;
	struct sz_timer accept_timer; /* armed: not accepting before it fires */
	struct sz_timer freeze_timer;
	struct sz_fault_conn *conns;
	uint64_t first_ns; /* when the first connection was accepted */
	bool died;
	struct sz_fault_counts counts;
	char input[16 * 1024]; /* of the read in progress */
};

/* Hooks of faults: `accepted`. */
void sz_fault_pause_accepting(struct sz_fault_server *server);
void sz_fault_stop_accepting(struct sz_fault_server *server);
void sz_fault_begin_freezing(struct sz_fault_server *server);

/* Take over an accepted socket. 0, or -1 with the socket closed. */
int sz_fault_conn_open(struct sz_fault_server *server, int fd);
void sz_fault_conn_free(struct sz_fault_conn *conn);

#endif
