/* SPDX-License-Identifier: Apache-2.0
 *
 * The service under test: started at a setting, found ready, stopped, and
 * never left behind.
 *
 * A *guard* process, forked from sizeup, is parent and subreaper of the
 * service in a session of its own, and holds one end of a socket pair. When
 * that closes, however sizeup ended, the guard kills everything below it
 * and exits. It also drains the service's output, so that a chatty service
 * never blocks, and keeps the last few KiB for the error message.
 *
 * What it is not: it does not load, measure or choose.
 *
 * One thread at a time per target.
 */
#ifndef SZ_TARGET_TARGET_H
#define SZ_TARGET_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/url.h"
#include "os/os.h"

/* Named values that replace {name} in the command and the environment. */
struct sz_binding {
	const char *name;
	char value[32];
};

/* Replace the templates of one string. *out is malloc'ed, the caller's. An
 * unknown name is SZ_USAGE and lists the known ones. "{{name}}" stands for the
 * text "{name}". Everything else is left as it is: braces around anything but
 * [a-z_]+ (JSON, shell), the shell's "${name}", a "}}" on its own. */
int sz_template_expand(const char *text, const struct sz_binding *bindings, size_t binding_count,
		       char **out, struct sz_err *err);

/* True when text holds {name}. */
bool sz_template_uses(const char *text, const char *name);

struct sz_target_config {
	char *const *argv;       /* NULL-terminated command with templates; borrowed */
	char *const *env;        /* NULL-terminated NAME=VALUE with templates, set on top of
				  * our own environment; may be NULL; borrowed */
	struct sz_url ready_url; /* polled until it answers 2xx or 3xx */
	struct sz_addr addr;
	uint64_t ready_timeout_ns;
	uint64_t stop_timeout_ns; /* from SIGTERM to SIGKILL */
};

struct sz_target;

/* Start the command: stdin is /dev/null, signals and mask are the defaults, no
 * other descriptor is inherited, and it leads a process group of its own.
 * Fails with SZ_USAGE when it cannot be executed (the message says which file
 * and why), SZ_MACHINE when the port is busy (names the owner when it can be
 * seen). *target is the caller's. */
int sz_target_start(const struct sz_os *os, const struct sz_target_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err);

struct sz_ready {
	uint64_t ready_ns;     /* from start to the first good answer */
	uint64_t settled_ns;   /* from start until the tree used < 5 % of a core for 200 ms */
	bool settled;          /* false: still burning CPU when we stopped waiting (10 s) */
	uint64_t start_cpu_ns; /* CPU the whole tree had used by then */
};

/* Poll the ready URL until it answers, then until start-up work is over. A
 * service that exits (status and last output in the message), that answers
 * an error status, or never answers is an error: SZ_MACHINE, or SZ_USAGE for
 * a 4xx (the URL is wrong), or SZ_INTERRUPTED. */
int sz_target_wait_ready(struct sz_target *target, struct sz_ready *ready, struct sz_err *err);

pid_t sz_target_guard_pid(const struct sz_target *target); /* root for CPU: misses nobody */
pid_t sz_target_pid(const struct sz_target *target);       /* the command itself */

/* True while the command runs, and when it ended with status 0 but left
 * something running: a service that went into the background. A command that
 * failed is dead whatever it left. Then its status and last output go into
 * err (if given) as "the service exited with status 3 after 0.2 s; its last
 * output: …". */
bool sz_target_alive(struct sz_target *target, struct sz_err *err);

struct sz_stopped {
	uint64_t exit_ns; /* from SIGTERM until nothing of the tree was left */
	bool killed;      /* the budget was used up and SIGKILL ended it */
	int wait_status;  /* of the command, as waitpid(2) gives it */
};

/* SIGTERM to the command, whose business its workers are; once it has ended,
 * SIGTERM to all that outlived it; when the budget is over, SIGKILL to all
 * that is left. Nothing is left then but what the kernel does not let us
 * kill: processes that run as another user. stopped may be NULL. Frees
 * target. NULL is fine. */
void sz_target_stop(struct sz_target *target, struct sz_stopped *stopped);

#endif
