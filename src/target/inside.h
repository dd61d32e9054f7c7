/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to this room: the expanded command, the guard and what sizeup and
 * it say to each other, the user's hooks, and the two kinds of target.
 */
#ifndef SZ_TARGET_INSIDE_H
#define SZ_TARGET_INSIDE_H

#include "base/buf.h"
#include "os/proc.h"
#include "target/target.h"

/* --- the command --- */

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

/* --- its output --- */

/* The last bytes that a command wrote. */
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

/* --- the guard --- */

/* The conversation over a SOCK_SEQPACKET pair. The guard says `started` once;
 * then each `ask` is answered by one `report`; the report that answers a stop
 * or a release is the last. A closed pair means: kill everything. */
struct sz_guard_started {
	pid_t command_pid;
	int errnum; /* why there is no command; then the guard has ended */
};

enum sz_guard_verb {
	SZ_GUARD_REPORT,
	SZ_GUARD_STOP,
	SZ_GUARD_RELEASE, /* end, and let go of what is left */
};

struct sz_guard_ask {
	enum sz_guard_verb verb;
	uint64_t budget_ns; /* of a stop: from SIGTERM to SIGKILL */
};

struct sz_guard_report {
	bool command_runs;
	bool empty;        /* nothing is left below the guard */
	int wait_status;   /* of the command once it ended */
	uint64_t ended_ns; /* when the command ended, on our one clock */
	bool killed;       /* of a stop: the budget was not enough */
	uint64_t exit_ns;  /* of a stop: how long it took */
	bool output_held;  /* somebody may still write to it */
	size_t output_len;
	char output[SZ_OUTPUT_KEPT];
};

/* Be the guard: in a fresh fork of sizeup, with the guard's end of the pair
 * and a pidfd of sizeup. Never returns. */
_Noreturn void sz_guard_run(const struct sz_os *os, int pair_fd, int sizeup_pidfd,
			    const struct sz_command *command);

/* A command below a guard, as sizeup sees it. */
struct sz_guarded {
	int pair_fd;
	pid_t guard_pid;
	pid_t command_pid;
	uint64_t start_ns;
};

/* The command is borrowed for the call. */
int sz_guarded_start(const struct sz_os *os, const struct sz_command *command,
		     struct sz_guarded *guarded, struct sz_err *err);

/* 0, or -1 when the guard is gone. */
int sz_guarded_report(const struct sz_guarded *guarded, struct sz_guard_report *report);

/* A stop or a release, and the end of the guard. */
void sz_guarded_end(struct sz_guarded *guarded, const struct sz_guard_ask *ask,
		    struct sz_guard_report *report);

/* "exited with status 3 after 0.2 s; its last output: …" */
void sz_guarded_describe_end(const struct sz_guarded *guarded, const struct sz_guard_report *report,
			     struct sz_buf *text);

/* --- hooks --- */

/* A shell command of the user's that is run once. */
struct sz_hook {
	const char *option; /* that gave it, for messages: "--apply" */
	const char *text;   /* with templates */
	uint64_t timeout_ns;
	bool despite_stop; /* run it even though a stop was requested */
};

/* Run it to its end; 0 when it ended with status 0. While it runs, all that
 * it started is ours: it goes with the command when that fails, takes too
 * long or is interrupted, and when sizeup ends. What a command leaves that
 * succeeded is the user's, a service for instance, and stays. Its last output
 * goes into *excerpt, which may be NULL. */
int sz_hook_run(const struct sz_os *os, const struct sz_hook *hook,
		const struct sz_binding *bindings, size_t binding_count, struct sz_buf *excerpt,
		struct sz_err *err);

/* --- services that are not ours --- */

/* The top processes of the service, as the configuration says to find them:
 * none is below another. *roots is the caller's. SZ_USAGE is final; any other
 * failure may pass while the service restarts. */
int sz_find_roots(const struct sz_os *os, const struct sz_attached_config *config,
		  struct sz_tree *roots, struct sz_err *err);

/* All that is at or below the roots. 0, or -ESRCH when none of them lives, or
 * another -errno. */
int sz_read_roots(const struct sz_os *os, const struct sz_tree *roots, struct sz_tree *tree);

/* The processes of the service at one time, classified by its port. */
struct sz_crew {
	struct sz_tree roots; /* with their roles */
	struct sz_tree tree;
	unsigned workers; /* 0: the port does not tell */
};

/* --- the two kinds of target --- */

struct sz_target_kind {
	/* One look at the processes while waiting; answered: the ready URL just
	 * did. 1 when they are those of the setting, 0 not yet, -1 never. */
	int (*look)(struct sz_target *target, bool answered, struct sz_err *err);
	/* It answered until the ready timeout, but look() never said 1. NULL when
	 * look() never says 0. */
	void (*explain_wait)(const struct sz_target *target, struct sz_err *err);
	/* What look() saw; NULL when it sees nothing. */
	void (*fill_ready)(const struct sz_target *target, struct sz_ready *ready);
	/* What it last printed, for a service that never answered. */
	void (*last_output)(const struct sz_target *target, struct sz_buf *excerpt);
	const char *refused_hint; /* nobody listens */
	bool (*alive)(struct sz_target *target, struct sz_err *err);
	int (*tree)(const struct sz_target *target, struct sz_tree *tree);
	void (*end)(struct sz_target *target, struct sz_stopped *stopped);
};

struct sz_target {
	const struct sz_target_kind *kind;
	struct sz_os os;
	struct sz_url ready_url;
	struct sz_addr addr;
	struct sz_tls *tls;
	uint64_t ready_timeout_ns;
	uint64_t start_ns; /* of the command, or of the change */
	uint64_t ready_deadline_ns;
	pid_t pid;              /* the command, or the first root that serves */
	uint64_t base_cpu_ns;   /* what the tree had used before, of a service that stays */
	uint64_t same_since_ns; /* when its processes were last seen to change */
	/* Our own service: */
	struct sz_command command;
	struct sz_guarded guarded;
	uint64_t stop_timeout_ns;
	/* A service that is not our child: */
	struct sz_attached_config config;
	struct sz_buf apply_output;
	unsigned asked_workers; /* 0: the command does not set them */
	struct sz_crew before, now;
	struct sz_err why_unseen; /* why the last look found nothing */
};

#endif
