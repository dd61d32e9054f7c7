/* SPDX-License-Identifier: Apache-2.0
 *
 * The far ends of a tree's connections on this machine, for this room only:
 * sockets, not yet the processes that hold them.
 */
#ifndef SZ_OS_ENDS_H
#define SZ_OS_ENDS_H

#include "os/proc.h"

struct sz_far_end {
	uint64_t inode;
	uid_t uid;     /* of the process that made it; -1 when not known */
	uint16_t port; /* of the far end; 0 for a unix socket */
	pid_t owner;   /* 0: for the caller to find */
};

struct sz_far_ends {
	struct sz_far_end *ends; /* sorted by inode */
	size_t count, cap;
	bool unix_unseen; /* unix sockets cannot be asked about here */
	pid_t hides;      /* a process of the tree that hides its descriptors, or 0 */
};

/* Far ends of all connections that processes of the tree have open, but for
 * those that they accepted and those among themselves. *found is zero; the
 * caller frees found->ends either way. 0 or -errno. */
int sz_far_ends_read(const struct sz_os *os, const struct sz_tree *tree, uint16_t service_port,
		     struct sz_far_ends *found);

struct sz_far_end *sz_far_ends_find(const struct sz_far_ends *found, uint64_t inode);

#endif
