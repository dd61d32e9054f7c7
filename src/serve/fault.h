/* SPDX-License-Identifier: Apache-2.0
 *
 * The misbehaving server: answers well, and every so often does one chosen
 * thing that breaks clients. For testing load generators against a truth: it
 * keeps count of what it did.
 *
 * What it is not: a service. One process and one thread; every path is served,
 * and whatever the method is, a request with a body included, the good answer
 * is 200 with "ok\n".
 *
 * A client may have one request at a time on a connection: one that comes while
 * an answer is under way, or where none is due any more, is counted as ignored
 * and not answered. A client that shuts its side down is taken to be gone.
 */
#ifndef SZ_SERVE_FAULT_H
#define SZ_SERVE_FAULT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct sz_fault; /* a row of the table of faults */

/* A fault with its argument. */
struct sz_fault_choice {
	const struct sz_fault *fault;
	uint64_t arg[2]; /* counts, bytes or nanoseconds; TIME/EVERY has both */
};

/* "NAME" or "NAME=ARG"; without ARG it is the fault's own default. */
int sz_fault_parse(const char *text, struct sz_fault_choice *choice, struct sz_err *err);

/* A line of titles and one per fault: how it is written, what a client should
 * make of a GET that it strikes, what the server does, [the default]. */
void sz_fault_list(struct sz_buf *out);

struct sz_fault_config {
	struct sz_fault_choice choice;
	uint64_t every;   /* strike each so-manieth request (or connection): 1 is all */
	const char *host; /* numeric; NULL is 127.0.0.1 */
	uint16_t port;    /* 0: the kernel chooses */
	int backlog;
	/* What was done, as one JSON object, replaced as a whole: when the port is
	 * bound, on SIGUSR1, and at the end. NULL: nowhere. */
	const char *log_path;
	void (*on_listening)(uint16_t port, void *app);
	void *app;
};

/* Serve until a stop is requested (base/stop.h), which closes everything at
 * once. 0 then. -1 with SZ_USAGE for a choice or a log that cannot be, and with
 * SZ_MACHINE when the port cannot be bound or the fault was to die. */
int sz_fault_run(const struct sz_fault_config *config, struct sz_err *err);

#endif
