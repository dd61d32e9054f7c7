/* SPDX-License-Identifier: Apache-2.0
 *
 * The service under test at one setting, of one of two kinds: started by us
 * and never left behind (sz_target_start), or somebody else's, changed by a
 * command of the user's and never touched otherwise (sz_target_apply). From
 * there on both are used alike: wait until ready, measure, stop.
 *
 * A *guard* process, forked from sizeup, is parent and subreaper of a service
 * of ours in a session of its own, and holds one end of a socket pair. When
 * that closes, however sizeup ended, the guard kills everything below it
 * and exits. It also drains the service's output, so that a chatty service
 * never blocks, and keeps the last few KiB for the error message.
 *
 * A service that is not ours is never signalled, traced or written to; it is
 * only looked at. The commands that change it run below guards of their own.
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
#include "net/tls.h"
#include "net/url.h"
#include "os/proc.h"

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
	struct sz_tls *tls; /* borrowed; when ready_url is https */
	uint64_t ready_timeout_ns;
	uint64_t stop_timeout_ns; /* from SIGTERM to SIGKILL */
	const char *reset;        /* shell command with templates, run before the start; may be
				   * NULL; borrowed */
	uint64_t hook_timeout_ns; /* for reset */
};

struct sz_target;

/* Run reset, then start the command: stdin is /dev/null, signals and mask are the defaults, no
 * other descriptor is inherited, and it leads a process group of its own.
 * Fails with SZ_USAGE when it cannot be executed (the message says which file
 * and why), SZ_MACHINE when the port is busy (names the owner when it can be
 * seen), or as reset does. *target is the caller's. */
int sz_target_start(const struct sz_os *os, const struct sz_target_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err);

/* A service that is not our child, and how to find it after each change: by
 * pid_file when given, else by cgroup when given, else by the port of
 * ready_url.
 *
 * port: the processes that hold a listening socket of it in our own network
 * namespace. pid_file: the process it names, read anew each time. cgroup: all
 * processes in it and below it; the path as below /sys/fs/cgroup, of version
 * 1 or 2, with or without that prefix and the hierarchy's name.
 *
 * The roots of the service are those among them that are below no other (and
 * for the port the processes they were forked from without exec: a supervisor
 * need not hold the sockets of its workers). There may be several: processes
 * that share a port by SO_REUSEPORT, a cgroup with more than one parent. */
struct sz_attached_config {
	const char *apply; /* shell command with templates; borrowed, like undo */
	const char *undo;  /* may be NULL */
	uint64_t hook_timeout_ns;
	const char *pid_file; /* borrowed until the target is stopped, like cgroup */
	const char *cgroup;
	struct sz_url ready_url; /* polled until it answers 2xx or 3xx */
	struct sz_addr addr;
	struct sz_tls *tls;        /* borrowed; when ready_url is https */
	uint64_t ready_timeout_ns; /* from the end of the apply command */
};

/* Change the service to a setting: /bin/sh -c apply, to its end. It fails
 * with its status and last output when it does not end with 0 in time. All
 * that it started is then killed; what a command leaves behind that succeeded
 * stays (it may have started the service), but must not hold its output,
 * which ends with sizeup. *target is the caller's. */
int sz_target_apply(const struct sz_os *os, const struct sz_attached_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err);

/* Run undo, if there is one: once, after the last target was stopped, even
 * when a stop was requested or a measurement failed. */
int sz_target_undo(const struct sz_os *os, const struct sz_attached_config *config,
		   const struct sz_binding *bindings, size_t binding_count, struct sz_err *err);

struct sz_ready {
	uint64_t ready_ns;     /* from start to the first good answer */
	uint64_t settled_ns;   /* from start until the tree used < 5 % of a core for 200 ms */
	bool settled;          /* false: still burning CPU when we stopped waiting (10 s), or its
				* processes did not stay the same */
	uint64_t start_cpu_ns; /* CPU the whole tree had used by then; of a service whose root
				* stayed, since the change */
	/* Of a service that is not ours, by its port; 0 for our own. */
	unsigned workers;     /* 0: the port does not tell */
	unsigned old_workers; /* still there from before though the count is not as asked:
			       * say so */
};

/* Poll the ready URL until it answers, then until start-up work is over. A
 * service that exits (status and last output in the message), that answers
 * an error status, or never answers is an error: SZ_MACHINE, or SZ_USAGE for
 * a 4xx (the URL is wrong), or SZ_INTERRUPTED.
 *
 * A service that is not ours must besides be the new one: it has as many
 * workers as {workers} asked for; or none of the old ones is left and the new
 * ones have been the same for a while. A service that stops its workers
 * gracefully may keep old ones until the ready timeout, and is then taken as
 * it is; one in which nothing changed is an error. */
int sz_target_wait_ready(struct sz_target *target, struct sz_ready *ready, struct sz_err *err);

/* All processes of the service, for CPU and memory: of ours, everything below
 * the guard, which is the root (procs[0]) so that CPU misses nobody; else the
 * trees of its roots, one after the other, each with parents before children.
 * sz_tree_cpu_ns(), sz_tree_classify() and sz_tree_read_memory() take both.
 * Reuses tree's memory. 0; -ESRCH when nothing is left (tree->count is then
 * 0); or another -errno. Only reads the target: several threads may call it at
 * once, as long as none waits for ready or stops it. */
int sz_target_tree(const struct sz_target *target, struct sz_tree *tree);

/* The guard, which is no part of the service; 0 when the service is not ours. */
pid_t sz_target_guard_pid(const struct sz_target *target);

/* The command itself, or what it left when it went into the background, or the
 * first root that serves: for limits. */
pid_t sz_target_pid(const struct sz_target *target);

/* Of ours: true while the command runs, and when it ended with status 0 but
 * left something running: a service that went into the background. A command
 * that failed is dead whatever it left. Then its status and last output go
 * into err (if given) as "the service exited with status 3 after 0.2 s; its
 * last output: …".
 *
 * Else: true while the roots that serve live, as they were when it was last
 * found; an end that nobody has seen is none. */
bool sz_target_alive(struct sz_target *target, struct sz_err *err);

struct sz_stopped {
	uint64_t exit_ns; /* from SIGTERM until nothing of the tree was left */
	bool killed;      /* the budget was used up and SIGKILL ended it */
	int wait_status;  /* of the command, as waitpid(2) gives it */
};

/* Of ours: SIGTERM to the command, whose business its workers are; once it has
 * ended, SIGTERM to all that outlived it; when the budget is over, SIGKILL to
 * all that is left. Nothing is left then but what the kernel does not let us
 * kill: processes that run as another user. Else: leave it as it is; *stopped
 * is zero. stopped may be NULL. Frees target. NULL is fine. */
void sz_target_stop(struct sz_target *target, struct sz_stopped *stopped);

#endif
