/* SPDX-License-Identifier: Apache-2.0
 *
 * The sockets of one TCP port.
 */
#include "os/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static int walk_table(const struct sz_os *os, const char *dir, const char *name,
		      sz_tcp_row_fn *on_row, void *arg)
{
	char path[SZ_OS_PATH_MAX];
	int rc = sz_os_path(os, path, "%s/%s", dir, name);
	if (rc < 0)
		return rc;
	FILE *file = fopen(path, "re");
	if (!file)
		return -errno;
	char line[512];
	struct sz_tcp_row row;
	while (!rc && fgets(line, sizeof(line), file))
		if (sz_scan_tcp_row(line, &row))
			rc = on_row(&row, arg);
	if (!rc && ferror(file))
		rc = errno ? -errno : -EIO;
	fclose(file);
	return rc < 0 ? rc : 0;
}

/* A kernel without IPv6 has no tcp6. */
int sz_tcp_walk(const struct sz_os *os, const char *dir, sz_tcp_row_fn *on_row, void *arg)
{
	int rc = walk_table(os, dir, "tcp", on_row, arg);
	if (rc < 0)
		return rc;
	rc = walk_table(os, dir, "tcp6", on_row, arg);
	return rc == -ENOENT ? 0 : rc;
}

static int collect_row(const struct sz_tcp_row *row, void *arg)
{
	struct sz_port_sockets *found = arg;
	bool listener = row->state == SZ_TCP_LISTEN;
	if (row->local.port != found->port || (!listener && row->state != SZ_TCP_ESTABLISHED))
		return 0;
	if (listener) {
		found->listeners++;
		found->listen_queue += row->rx_queue; /* connections, for a listener */
	}
	if (!row->inode)
		return 0;
	if (sz_grow(&found->sockets, &found->cap, found->count + 1, sizeof(*found->sockets)) < 0)
		return -ENOMEM;
	found->sockets[found->count++] = (struct sz_port_socket){
		.inode = row->inode,
		.owner = SZ_NOBODY,
		.listener = listener,
	};
	return 0;
}

/* The kernel lists all listeners before any other socket, and a table may
 * have many thousand rows. */
static int collect_listener(const struct sz_tcp_row *row, void *arg)
{
	return row->state == SZ_TCP_LISTEN ? collect_row(row, arg) : 1;
}

static int by_inode(const void *a, const void *b)
{
	uint64_t x = ((const struct sz_port_socket *)a)->inode;
	uint64_t y = ((const struct sz_port_socket *)b)->inode;
	return (x > y) - (x < y);
}

static int collect(const struct sz_os *os, const char *dir, sz_tcp_row_fn *on_row,
		   struct sz_port_sockets *found)
{
	int rc = sz_tcp_walk(os, dir, on_row, found);
	if (!rc && found->count)
		qsort(found->sockets, found->count, sizeof(*found->sockets), by_inode);
	return rc;
}

int sz_port_collect(const struct sz_os *os, const char *dir, struct sz_port_sockets *found)
{
	return collect(os, dir, collect_row, found);
}

int sz_port_collect_listeners(const struct sz_os *os, const char *dir,
			      struct sz_port_sockets *found)
{
	return collect(os, dir, collect_listener, found);
}

struct sz_port_socket *sz_port_find_socket(const struct sz_port_sockets *found, uint64_t inode)
{
	struct sz_port_socket key = {.inode = inode};
	if (!found->count)
		return NULL;
	return bsearch(&key, found->sockets, found->count, sizeof(key), by_inode);
}

DIR *sz_descriptors_open(const struct sz_os *os, pid_t pid)
{
	char path[SZ_OS_PATH_MAX];
	int rc = sz_os_path(os, path, "proc/%d/fd", pid);
	if (rc == 0)
		return opendir(path);
	errno = -rc;
	return NULL;
}

int sz_descriptors_next_socket(DIR *dir, uint64_t *inode)
{
	static const char prefix[] = "socket:[";
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		char target[64];
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (len < 0 && (errno == EACCES || errno == EPERM))
			return -errno;
		if (len < 0)
			continue;
		target[len] = '\0';
		const char *at = target + sizeof(prefix) - 1;
		if (!strncmp(target, prefix, sizeof(prefix) - 1) && sz_scan_number(&at, 10, inode))
			return 1;
	}
	return 0;
}
