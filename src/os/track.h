/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that are looked at many times a second: one descriptor of
 * /proc/PID/stat each is kept and read again, which costs two or three
 * microseconds where opening it costs ten. A kept descriptor also names its
 * process for good: when the pid is reused it reads nothing.
 *
 * Memory here is RSS, of which shared pages are counted once per process: good
 * for a peak and for growth, not for a budget (sz_tree_read_memory()).
 */
#ifndef SZ_OS_TRACK_H
#define SZ_OS_TRACK_H

#include "os/proc.h"

/* Beyond so many, descriptors are not kept: the limit of a process is for its
 * clients. */
#define SZ_TRACK_KEPT_MAX 32

struct sz_tracked {
	pid_t pid;
	uint64_t start_ticks;
	int fd; /* -1: opened for each look instead */
};

struct sz_track {
	struct sz_tracked *procs; /* ascending pids; owned */
	size_t count, cap;
};

/* The processes of one look, added up. */
struct sz_tracked_sum {
	unsigned processes, threads;
	int64_t rss_bytes;
	bool whole; /* nobody is missing but who has ended */
};

/* Follow the processes of this tree from now on, but for `except` (0: all):
 * descriptors of those that stay are kept. 0 or -ENOMEM. */
int sz_track_follow(struct sz_track *track, const struct sz_os *os, const struct sz_tree *tree,
		    pid_t except);

void sz_track_read(const struct sz_track *track, const struct sz_os *os,
		   struct sz_tracked_sum *sum);

void sz_track_fini(struct sz_track *track);

#endif
