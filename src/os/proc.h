/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes: the tree below one process, each with its role, CPU and memory.
 */
#ifndef SZ_OS_PROC_H
#define SZ_OS_PROC_H

#include "os/os.h"

enum sz_role {
	SZ_ROLE_HELPER,     /* neither accepts connections nor starts a worker */
	SZ_ROLE_WORKER,     /* holds the listening socket or connections of the port, and no
			     * process below it does */
	SZ_ROLE_SUPERVISOR, /* an ancestor of a worker, inside the tree */
};

const char *sz_role_name(enum sz_role role); /* "helper", "worker", "supervisor" */

struct sz_proc {
	pid_t pid;
	pid_t ppid;
	pid_t pgid;           /* process group */
	uint64_t start_ticks; /* since boot: with pid it names a process for good */
	char state;           /* R S D Z T … */
	char comm[32];
	enum sz_role role;
	/* User and system time of the process with all its threads, dead ones
	 * too: precise on the live machine, zombies included; in whole ticks in
	 * a capture. */
	uint64_t cpu_ns;
	/* The same of its children that ended and were waited for, in ticks. */
	uint64_t reaped_cpu_ns;
	unsigned threads;
	uint64_t rss_pages; /* as /proc/PID/stat has it: cheap; kernels up to 6.1 count some
			     * pages of many threads late */
	/* Filled by sz_tree_classify(). */
	unsigned connections; /* established connections accepted on the port */
	bool holds_listener;
	/* Filled by sz_tree_read_memory(); -1 when unreadable. */
	int64_t rss_bytes;
	int64_t pss_bytes;
};

struct sz_tree {
	struct sz_proc *procs; /* parents before children; procs[0] is the root */
	size_t count;
	size_t cap;
};

void sz_tree_fini(struct sz_tree *tree);

/* One process. 0, or -ESRCH when it is gone, or another -errno. */
int sz_proc_read(const struct sz_os *os, pid_t pid, struct sz_proc *proc);

/* Its threads, in ascending order: *tids is malloc'ed and the caller's. 0 or
 * -errno. A process known to have one thread costs no look into a directory. */
int sz_proc_threads(const struct sz_os *os, const struct sz_proc *proc, pid_t **tids,
		    size_t *count);

/* Everything at or below root_pid, zombies included. Reuses tree's memory;
 * roles are all helper until classified. It may be called with clients
 * waiting: a small tree is walked from parents to children, else all of /proc
 * is read. 0; -ESRCH when root_pid is gone
 * (tree->count is then 0); or another -errno. */
int sz_tree_read(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree);

/* Sum over the tree of own and reaped CPU time. Monotone over the life of the
 * tree as long as its root lives and every process is waited for by a parent
 * inside it: a child's time moves to its parent when it is waited for, and
 * loses less than two ticks on the way (user and system time are each kept in
 * whole ticks there). A parent that ignores SIGCHLD drops it altogether. */
uint64_t sz_tree_cpu_ns(const struct sz_tree *tree);

/* What the processes of a tree that was read before have used by now, without
 * reaped children: a microsecond each, nothing of /proc is opened. Live
 * machines only. 0, or -ESRCH when one of them is gone. */
int sz_tree_cpu_now_ns(const struct sz_tree *tree, uint64_t *cpu_ns);

/* Fill RSS and PSS from smaps_rollup; both are 0 for a zombie. It holds the target's mmap_lock for
 * about 10 us per MiB: for the ends of a window, never inside one. When
 * smaps_rollup is unreadable RSS comes from statm and PSS stays -1. */
void sz_tree_read_memory(const struct sz_os *os, struct sz_tree *tree);

#endif
