/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the threads of a tree were runnable without a CPU, and how often
 * they got one: /proc/PID/task/TID/schedstat, fields 2 and 3.
 *
 * The kernel counts for each thread alone and forgets the count when the
 * thread ends; the file of a process speaks of its main thread only. So there
 * is no total to subtract: a snapshot holds every thread, and a difference
 * goes thread by thread. A thread born in between counts from its birth, one
 * that ended drops out with what it had waited since the first snapshot:
 * never negative, and low for services that start a thread per request.
 */
#ifndef SZ_OS_SCHED_H
#define SZ_OS_SCHED_H

#include "os/proc.h"

#define SZ_SCHED_THREADS_MAX 4096 /* 2 us each, with clients waiting */

/* What one thread has done since it began. A thread is named by its process,
 * pid and start, and its number in it. */
struct sz_sched_thread {
	pid_t pid, tid;
	uint64_t start_ticks; /* of the process */
	uint64_t wait_ns;     /* waits that have ended: runnable, on no CPU */
	uint64_t runs;        /* times it was given a CPU: its context switches */
};

struct sz_sched {
	struct sz_sched_thread *threads; /* in ascending order of pid and tid */
	size_t count, cap;
	size_t left_out; /* threads beyond SZ_SCHED_THREADS_MAX */
};

void sz_sched_fini(struct sz_sched *sched);

/* All threads of the tree as they stand. Reuses sched's memory. 0; -ENODATA
 * on a kernel that does not count (CONFIG_SCHED_INFO; then files are missing
 * or all zero); or another -errno. sched->count is 0 on failure. */
int sz_sched_read(const struct sz_os *os, const struct sz_tree *tree, struct sz_sched *sched);

struct sz_sched_use {
	uint64_t wait_ns;
	uint64_t runs;
};

/* What all threads did between two snapshots. Pure. */
struct sz_sched_use sz_sched_between(const struct sz_sched *before, const struct sz_sched *after);

#endif
