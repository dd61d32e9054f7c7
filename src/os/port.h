/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of TCP sockets, the sockets of one port, and the descriptors of a
 * process, for this room only.
 */
#ifndef SZ_OS_PORT_H
#define SZ_OS_PORT_H

#include <dirent.h>

#include "os/os.h"
#include "os/scan.h"

#define SZ_NOBODY SIZE_MAX

struct sz_port_socket {
	uint64_t inode;
	size_t owner; /* index into the tree of the deepest holder, or SZ_NOBODY */
	bool listener;
};

/* The sockets of one port, sorted by inode. */
struct sz_port_sockets {
	struct sz_port_socket *sockets;
	size_t count;
	size_t cap;
	uint16_t port;
	unsigned listeners;
	uint64_t listen_queue;
};

/* 0 to go on, 1 to leave this table, or -errno. */
typedef int sz_tcp_row_fn(const struct sz_tcp_row *row, void *arg);

/* All rows of the tables of a directory, "proc/net". 0 or -errno. */
int sz_tcp_walk(const struct sz_os *os, const char *dir, sz_tcp_row_fn *on_row, void *arg);

/* Read the tables of a directory, "proc/net", into *found, whose port is set
 * and the rest zero. 0 or -errno; the caller frees found->sockets either way. */
int sz_port_collect(const struct sz_os *os, const char *dir, struct sz_port_sockets *found);

/* The same for listeners only, without reading a table to its end. */
int sz_port_collect_listeners(const struct sz_os *os, const char *dir,
			      struct sz_port_sockets *found);

struct sz_port_socket *sz_port_find_socket(const struct sz_port_sockets *found, uint64_t inode);

/* The descriptors of a process, the caller's to close; NULL with errno set. */
DIR *sz_descriptors_open(const struct sz_os *os, pid_t pid);

/* The next socket among them: 1 and its inode, 0 at the end, or -errno.
 * Descriptors that were closed meanwhile are passed over. */
int sz_descriptors_next_socket(DIR *dir, uint64_t *inode);

#endif
