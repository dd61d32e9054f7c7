/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of a process tree: who accepts on a port, how many connections each
 * worker has, how many wait in the listen queue.
 *
 * Source: /proc/PID/net/tcp and tcp6 of the tree's root (its network
 * namespace, which need not be ours) and the socket links of /proc/PID/fd.
 *
 * What counts as a connection: a row in state ESTABLISHED whose local port is
 * the port (the client's end on the same machine is a row of its own) and
 * whose socket a process of the tree has open. Rows without an inode still
 * wait in the listen queue. CLOSE_WAIT does not count, even when held: its
 * client has hung up and sends no more requests. A socket that several
 * processes hold, inherited over fork(), counts once, for the deepest one.
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
 * part of the above, some 10 us by netlink where pid shares our network
 * namespace; else the socket tables are read, which costs milliseconds on
 * machines with much memory. pid chooses the network namespace. */
int sz_listen_queue(const struct sz_os *os, pid_t pid, uint16_t port);

/* Who listens on the port on this machine: pid and command name, for "port
 * busy" messages. 0, or -ESRCH when nobody visible does. */
int sz_port_owner(const struct sz_os *os, uint16_t port, pid_t *pid, char comm[32]);

#endif
