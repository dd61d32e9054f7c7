/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of a process tree: who accepts on a port, how many connections each
 * worker has, how many wait in the listen queue.
 *
 * Source: /proc/PID/net/tcp and tcp6 of the tree's root (its network
 * namespace, which need not be ours) and the socket links of /proc/PID/fd.
 */
#ifndef SZ_OS_SOCK_H
#define SZ_OS_SOCK_H

#include "os/proc.h"

struct sz_port_view {
	unsigned listeners;    /* listening sockets on the port; several with SO_REUSEPORT */
	unsigned listen_queue; /* connections the kernel accepted and no process did yet */
	unsigned established;  /* connections of the port with an owner in the tree */
	bool fds_readable;     /* false: some process hid its descriptors, so counts are low */
};

/* Find who listens on and who holds connections of local TCP port `port`,
 * fill each process's connections, holds_listener and role, and *view.
 *
 * Roles: a process that holds a listening socket or an accepted connection of
 * the port is a worker unless a process below it in the tree does too; every
 * ancestor of a worker is a supervisor. Several direct children of one
 * supervisor that run the same command as one of its workers are workers too
 * (they may simply hold no connection yet). The rest are helpers.
 * 0 or -errno when the socket tables cannot be read. */
int sz_tree_classify(const struct sz_os *os, struct sz_tree *tree, uint16_t port,
		     struct sz_port_view *view);

/* Connections waiting in the listen queue of the port, or -errno: the cheap
 * part of the above. pid chooses the network namespace. */
int sz_listen_queue(const struct sz_os *os, pid_t pid, uint16_t port);

/* Who listens on the port on this machine: pid and command name, for "port
 * busy" messages. 0, or -ESRCH when nobody visible does. */
int sz_port_owner(const struct sz_os *os, uint16_t port, pid_t *pid, char comm[32]);

#endif
