/* SPDX-License-Identifier: Apache-2.0
 *
 * The downstreams of a service on this machine: the services at the far end of
 * the connections that its processes made, such as a local database. Their CPU
 * time belongs to the measurement, not to its noise.
 *
 * A connection counts when it is established, was not accepted by the tree (on
 * whatever port), and its other end is a socket of the same network namespace,
 * or a unix stream socket. Who holds that end is looked up, then one climbs
 * to the top of what is evidently the same service: a parent of the same
 * command name, or of the same executable in the same process group.
 * PostgreSQL's backends lead to its postmaster. Never pid 1, never a process
 * of the tree, of sizeup, or above either.
 *
 * What it cannot see: processes in another network namespace, as of a
 * container behind a published port; and without root the descriptors of other
 * users, except that a far end made by a user all of whose hidden processes
 * are one service must belong to that one.
 */
#ifndef SZ_OS_DOWNSTREAM_H
#define SZ_OS_DOWNSTREAM_H

#include "os/proc.h"

#define SZ_DOWNSTREAMS_MAX 32

struct sz_downstream {
	pid_t pid; /* the top process */
	uint64_t start_ticks;
	char comm[32];
	uint16_t remote_port; /* TCP port that the tree connects to, one of them; 0: unix only */
	unsigned connections; /* of the tree, by TCP and unix sockets */
	uint64_t cpu_ns;      /* of its tree when last read; see below */
};

struct sz_downstreams {
	struct sz_downstream list[SZ_DOWNSTREAMS_MAX]; /* most connections first */
	size_t count;
	char unseen[256]; /* what could not be found out, for people; "" when all was */
};

/* The downstreams of a tree as they stand, cpu_ns read. None of
 * them lies below another one. 0; -ESRCH for an empty tree; or another -errno, with
 * *downstreams untouched.
 *
 * It looks at every established connection and at the descriptors of every
 * process until all far ends are found: milliseconds, so never while clients
 * wait. */
int sz_downstreams_read(const struct sz_os *os, const struct sz_tree *tree, uint16_t service_port,
			struct sz_downstreams *downstreams);

/* CPU time of all listed trees. A list is monotone as sz_tree_cpu_ns() is, and
 * also when one of them ends: its cpu_ns stays what it was. Windows read one
 * list, taken before, at both edges. */
uint64_t sz_downstreams_cpu_ns(const struct sz_os *os, struct sz_downstreams *downstreams);

#endif
