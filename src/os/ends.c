/* SPDX-License-Identifier: Apache-2.0
 *
 * Both ends of connections.
 */
#include "os/ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/diag.h"
#include "os/port.h"

struct search {
	uint64_t *inodes; /* sockets of the tree, sorted */
	size_t inode_count, inode_cap;
	struct sz_tcp_row *tcp; /* established, sorted by ends */
	size_t tcp_count, tcp_cap;
	struct sz_unix_row *local; /* sorted by inode */
	size_t local_count, local_cap;
	uint64_t listening[(UINT16_MAX + 1) / 64]; /* bit i: port i */
};

static void search_fini(struct search *search)
{
	free(search->inodes);
	free(search->tcp);
	free(search->local);
}

static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count)
		qsort(items, count, size, compare);
}

/* Every item here begins with its inode. */
static int by_inode(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void *find_inode(uint64_t inode, void *items, size_t count, size_t size)
{
	return count ? bsearch(&inode, items, count, size, by_inode) : NULL;
}

static bool in_tree(const struct search *search, uint64_t inode)
{
	return find_inode(inode, search->inodes, search->inode_count, sizeof(inode)) != NULL;
}

/* ---- the tree's sockets ---- */

/* -EACCES when the process hides its descriptors. */
static int add_inodes(const struct sz_os *os, pid_t pid, struct search *search)
{
	DIR *dir = sz_descriptors_open(os, pid);
	if (!dir)
		return errno == EACCES ? -EACCES : 0; /* ended meanwhile */
	int rc;
	for (uint64_t inode; (rc = sz_descriptors_next_socket(dir, &inode)) > 0;) {
		rc = sz_grow(&search->inodes, &search->inode_cap, search->inode_count + 1,
			     sizeof(inode));
		if (rc < 0) {
			rc = -ENOMEM;
			break;
		}
		search->inodes[search->inode_count++] = inode;
	}
	closedir(dir);
	return rc;
}

static int collect_inodes(const struct sz_os *os, const struct sz_tree *tree, struct search *search,
			  pid_t *hides)
{
	for (size_t i = 0; i < tree->count; i++) {
		int rc = add_inodes(os, tree->procs[i].pid, search);
		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			*hides = tree->procs[i].pid;
	}
	sort(search->inodes, search->inode_count, sizeof(*search->inodes), by_inode);
	return 0;
}

/* ---- TCP ---- */

static int take_tcp(const struct sz_tcp_row *row, void *arg)
{
	struct search *search = arg;
	if (row->state == SZ_TCP_LISTEN)
		search->listening[row->local.port / 64] |= UINT64_C(1) << row->local.port % 64;
	if (row->state != SZ_TCP_ESTABLISHED || !row->inode)
		return 0;
	if (sz_grow(&search->tcp, &search->tcp_cap, search->tcp_count + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	search->tcp[search->tcp_count++] = *row;
	return 0;
}

static int by_ends(const void *a, const void *b)
{
	const struct sz_tcp_row *x = a, *y = b;
	int order = memcmp(&x->local, &y->local, sizeof(x->local));
	return order ? order : memcmp(&x->remote, &y->remote, sizeof(x->remote));
}

static int collect_tcp(const struct sz_os *os, pid_t pid, struct search *search)
{
	char dir[64];
	int rc = sz_diag_reaches(os, pid) ? sz_diag_tcp(take_tcp, search) : -ENOENT;
	if (rc < 0) {
		search->tcp_count = 0;
		snprintf(dir, sizeof(dir), "proc/%d/net", pid);
		rc = sz_tcp_walk(os, dir, take_tcp, search);
	}
	sort(search->tcp, search->tcp_count, sizeof(*search->tcp), by_ends);
	return rc;
}

static int add_end(struct sz_far_ends *found, const struct sz_far_end *end)
{
	if (sz_grow(&found->ends, &found->cap, found->count + 1, sizeof(*end)) < 0)
		return -ENOMEM;
	found->ends[found->count++] = *end;
	return 0;
}

/* A connection from a port that somebody listens on was accepted there; the
 * kernel gives no such port to one that goes out. */
static bool is_accepted(const struct search *search, uint16_t port)
{
	return search->listening[port / 64] >> port % 64 & 1;
}

static int match_tcp(const struct search *search, struct sz_far_ends *found)
{
	int rc = 0;
	for (size_t i = 0; i < search->tcp_count && !rc; i++) {
		const struct sz_tcp_row *near = &search->tcp[i];
		if (!in_tree(search, near->inode) || is_accepted(search, near->local.port))
			continue;
		const struct sz_tcp_row opposite = {.local = near->remote, .remote = near->local};
		const struct sz_tcp_row *far = bsearch(&opposite, search->tcp, search->tcp_count,
						       sizeof(opposite), by_ends);
		if (far && !in_tree(search, far->inode))
			rc = add_end(found, &(struct sz_far_end){.inode = far->inode,
								 .uid = far->uid,
								 .port = far->local.port});
	}
	return rc;
}

/* ---- unix ---- */

static int take_unix(const struct sz_unix_row *row, void *arg)
{
	struct search *search = arg;
	if (sz_grow(&search->local, &search->local_cap, search->local_count + 1, sizeof(*row)) < 0)
		return -ENOMEM;
	search->local[search->local_count++] = *row;
	return 0;
}

static int collect_unix(const struct sz_os *os, pid_t pid, struct search *search)
{
	int rc = sz_diag_reaches(os, pid) ? sz_diag_unix(take_unix, search) : -ENOENT;
	if (rc < 0)
		search->local_count = 0;
	sort(search->local, search->local_count, sizeof(*search->local), by_inode);
	return rc;
}

/* An accepted socket has its listener's name, one that connected has none. The
 * far end may lie in another network namespace: then its row is missing here. */
static int match_unix(const struct search *search, struct sz_far_ends *found)
{
	int rc = 0;
	for (size_t i = 0; i < search->local_count && !rc; i++) {
		const struct sz_unix_row *near = &search->local[i];
		if (near->named || !near->peer || !in_tree(search, near->inode) ||
		    in_tree(search, near->peer))
			continue;
		const struct sz_unix_row *far =
			find_inode(near->peer, search->local, search->local_count, sizeof(*far));
		rc = add_end(found, &(struct sz_far_end){.inode = near->peer,
							 .uid = far ? far->uid : (uid_t)-1});
	}
	return rc;
}

/* ---- all of them ---- */

static int read_ends(const struct sz_os *os, const struct sz_tree *tree, struct search *search,
		     struct sz_far_ends *found)
{
	pid_t pid = tree->procs[0].pid;
	int rc = collect_inodes(os, tree, search, &found->hides);
	if (!rc)
		rc = collect_tcp(os, pid, search);
	if (!rc)
		rc = match_tcp(search, found);
	if (rc)
		return rc;
	rc = collect_unix(os, pid, search);
	if (rc == -ENOMEM)
		return rc;
	found->unix_unseen = rc < 0;
	return match_unix(search, found);
}

int sz_far_ends_read(const struct sz_os *os, const struct sz_tree *tree, uint16_t service_port,
		     struct sz_far_ends *found)
{
	if (!tree->count)
		return -ESRCH;
	struct search *search = calloc(1, sizeof(*search));
	if (!search)
		return -ENOMEM;
	search->listening[service_port / 64] = UINT64_C(1) << service_port % 64;
	int rc = read_ends(os, tree, search, found);
	sort(found->ends, found->count, sizeof(*found->ends), by_inode);
	search_fini(search);
	free(search);
	return rc;
}

struct sz_far_end *sz_far_ends_find(const struct sz_far_ends *found, uint64_t inode)
{
	return find_inode(inode, found->ends, found->count, sizeof(*found->ends));
}
