/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets by sock_diag(7), for this room only. It filters by state in the
 * kernel: where clients left 20,000 connections in TIME_WAIT it names the
 * established ones in 2.5 ms where /proc/net/tcp takes 20. And a dump of
 * listeners does not end with a walk over the whole hash of connections,
 * 262,144 buckets on a machine of 24 GiB, even when it is empty.
 *
 * It needs no privilege, and speaks of our own network namespace only.
 */
#ifndef SZ_OS_DIAG_H
#define SZ_OS_DIAG_H

#include "os/os.h"
#include "os/port.h"

/* Whether pid is in our network namespace. This may be hidden from us; then
 * the answer is no. */
bool sz_diag_reaches(const struct sz_os *os, pid_t pid);

/* Connections waiting on all listeners of the port, IPv4 and IPv6; or -errno
 * (-ENOENT: a kernel without inet_diag). */
int sz_diag_listen_queue(uint16_t port);

/* Listeners and established connections, IPv4 and IPv6. 0 or -errno. */
int sz_diag_tcp(sz_tcp_row_fn *on_row, void *arg);

struct sz_unix_row {
	uint64_t inode;
	uint64_t peer; /* inode of the other end; 0: nobody accepted it yet */
	uid_t uid;     /* of the process that made it; -1 when not said */
	bool named;    /* bound, or accepted by a bound socket */
};

typedef int sz_unix_row_fn(const struct sz_unix_row *row, void *arg);

/* Connected unix stream sockets. 0 or -errno. */
int sz_diag_unix(sz_unix_row_fn *on_row, void *arg);

#endif
