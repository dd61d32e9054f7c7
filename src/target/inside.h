/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to this room: the expanded command, the service's output, and what
 * sizeup and the guard say to each other.
 */
#ifndef SZ_TARGET_INSIDE_H
#define SZ_TARGET_INSIDE_H

#include "base/buf.h"
#include "target/target.h"

/* The command and its environment with every template replaced. */
struct sz_command {
	char **argv; /* NULL-terminated, like env */
	char **env;
};

int sz_command_expand(const struct sz_target_config *config, const struct sz_binding *bindings,
		      size_t binding_count, struct sz_command *command, struct sz_err *err);
void sz_command_fini(struct sz_command *command);

/* As one would type it, for remedies. */
void sz_command_text(const struct sz_command *command, struct sz_buf *text);

/* The last bytes that a service wrote. */
#define SZ_OUTPUT_KEPT 8192

struct sz_output {
	char ring[SZ_OUTPUT_KEPT];
	uint64_t written; /* ever; the next byte goes to written % SZ_OUTPUT_KEPT */
};

void sz_output_append(struct sz_output *output, const char *bytes, size_t len);

/* Copy what is kept, oldest byte first; its length. */
size_t sz_output_copy(const struct sz_output *output, char bytes[SZ_OUTPUT_KEPT]);

/* Append the last few lines to a message, each on a line of its own and
 * indented, printable ASCII only; at most SZ_EXCERPT_BYTES. Nothing when
 * there is no printable line. An error message has room for that much. */
#define SZ_EXCERPT_BYTES 360
void sz_output_excerpt(const char *bytes, size_t len, struct sz_buf *excerpt);

/* The conversation over a SOCK_SEQPACKET pair. The guard says `started` once;
 * then each `ask` is answered by one `report`; the report that answers a stop
 * is the last. A closed pair means: kill everything. */
struct sz_guard_started {
	pid_t command_pid;
	int errnum; /* why there is no command; then the guard has ended */
};

struct sz_guard_ask {
	bool stop;
	uint64_t budget_ns; /* of a stop: from SIGTERM to SIGKILL */
};

struct sz_guard_report {
	bool command_runs;
	bool empty;        /* nothing is left below the guard */
	int wait_status;   /* of the command once it ended */
	uint64_t ended_ns; /* when the command ended, on our one clock */
	bool killed;       /* of a stop: the budget was not enough */
	uint64_t exit_ns;  /* of a stop: how long it took */
	size_t output_len;
	char output[SZ_OUTPUT_KEPT];
};

/* Be the guard: in a fresh fork of sizeup, with the guard's end of the pair
 * and a pidfd of sizeup. Never returns. */
_Noreturn void sz_guard_run(const struct sz_os *os, int pair_fd, int sizeup_pidfd,
			    const struct sz_command *command);

struct sz_target {
	struct sz_os os;
	struct sz_url ready_url;
	struct sz_addr addr;
	uint64_t ready_timeout_ns;
	uint64_t stop_timeout_ns;
	struct sz_command command;
	int pair_fd;
	pid_t guard_pid;
	pid_t command_pid;
	uint64_t start_ns;
};

/* Ask the guard. 0, or -1 when the guard is gone. */
int sz_target_ask(const struct sz_target *target, const struct sz_guard_ask *ask,
		  struct sz_guard_report *report);

#endif
