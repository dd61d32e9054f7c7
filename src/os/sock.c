/* SPDX-License-Identifier: Apache-2.0
 *
 * Who serves a port, within a tree and on the machine.
 */
#include "os/sock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "os/diag.h"
#include "os/port.h"

/* ---- the tree on a port ---- */

/* Note what one process holds. Parents come first in the tree, and the last
 * holder of a socket owns it: the deepest. False when it hides that. */
static bool note_descriptors(const struct sz_os *os, struct sz_tree *tree, size_t index,
			     struct sz_port_sockets *found)
{
	struct sz_proc *proc = &tree->procs[index];
	if (proc->state == 'Z')
		return true;
	DIR *dir = sz_descriptors_open(os, proc->pid);
	if (!dir)
		return errno == ENOENT || errno == ESRCH;
	int rc;
	for (uint64_t inode; (rc = sz_descriptors_next_socket(dir, &inode)) > 0;) {
		struct sz_port_socket *socket = sz_port_find_socket(found, inode);
		if (!socket)
			continue;
		socket->owner = index;
		proc->holds_listener |= socket->listener;
	}
	closedir(dir);
	return rc == 0;
}

static unsigned count_connections(struct sz_tree *tree, const struct sz_port_sockets *found)
{
	unsigned established = 0;
	for (size_t i = 0; i < found->count; i++) {
		const struct sz_port_socket *socket = &found->sockets[i];
		if (socket->listener || socket->owner == SZ_NOBODY)
			continue;
		tree->procs[socket->owner].connections++;
		established++;
	}
	return established;
}

/* What classify() works out about each process of the tree. */
struct place {
	size_t parent;     /* index, or SZ_NOBODY */
	bool serves_below; /* a process below it holds a socket of the port */
	uint64_t command;  /* command_id() */
};

/* In a tree, parents stand in the order of their children. */
static void find_parents(const struct sz_tree *tree, struct place *places)
{
	size_t parent = 0;
	for (size_t i = 0; i < tree->count; i++) {
		places[i].parent = SZ_NOBODY;
		while (parent < i && tree->procs[parent].pid != tree->procs[i].ppid)
			parent++;
		if (parent < i)
			places[i].parent = parent;
	}
}

/* From the leaves up: who holds a connection of the port is a worker, and so is
 * who holds its listener, unless a process below serves. */
static void assign_roles(struct sz_tree *tree, struct place *places)
{
	for (size_t i = tree->count; i-- > 0;) {
		struct sz_proc *proc = &tree->procs[i];
		if (proc->connections || (proc->holds_listener && !places[i].serves_below))
			proc->role = SZ_ROLE_WORKER;
		else if (places[i].serves_below)
			proc->role = SZ_ROLE_SUPERVISOR;
		else
			continue;
		if (places[i].parent != SZ_NOBODY)
			places[places[i].parent].serves_below = true;
	}
}

static uint64_t fnv1a(uint64_t hash, const char *bytes, size_t len)
{
	bool in_number = false;
	for (size_t i = 0; i < len; i++) {
		bool digit = bytes[i] >= '0' && bytes[i] <= '9';
		if (digit && in_number)
			continue;
		in_number = digit;
		hash = (hash ^ (unsigned char)(digit ? '#' : bytes[i])) * UINT64_C(0x100000001b3);
	}
	return hash;
}

/* A hash of name and command line in which all numbers look the same, since
 * workers differ in descriptors and counters on theirs. 0 when unknown. */
static uint64_t command_id(const struct sz_os *os, const struct sz_proc *proc)
{
	sz_autofree char *line = NULL;
	ssize_t len = sz_os_read_all(os, &line, "proc/%d/cmdline", proc->pid);
	if (len <= 0)
		return 0;
	uint64_t hash = fnv1a(UINT64_C(0xcbf29ce484222325), proc->comm, strlen(proc->comm) + 1);
	return fnv1a(hash, line, (size_t)len);
}

static bool has_serving_sibling(const struct sz_tree *tree, const struct place *places,
				size_t index)
{
	for (size_t i = 0; i < tree->count; i++)
		if (places[i].parent == places[index].parent && places[i].command &&
		    places[i].command == places[index].command &&
		    tree->procs[i].role == SZ_ROLE_WORKER)
			return true;
	return false;
}

static void promote_idle_workers(const struct sz_os *os, struct sz_tree *tree, struct place *places)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->procs[i].role != SZ_ROLE_SUPERVISOR)
			places[i].command = command_id(os, &tree->procs[i]);
	for (size_t i = 1; i < tree->count; i++)
		if (tree->procs[i].role == SZ_ROLE_HELPER && places[i].parent != SZ_NOBODY &&
		    has_serving_sibling(tree, places, i))
			tree->procs[i].role = SZ_ROLE_WORKER;
}

static int classify(const struct sz_os *os, struct sz_tree *tree, struct sz_port_sockets *found,
		    struct sz_port_view *view)
{
	sz_autofree struct place *places = calloc(tree->count, sizeof(*places));
	if (!places)
		return -ENOMEM;
	bool readable = true;
	for (size_t i = 0; i < tree->count; i++) {
		tree->procs[i].role = SZ_ROLE_HELPER;
		tree->procs[i].connections = 0;
		tree->procs[i].holds_listener = false;
		readable &= note_descriptors(os, tree, i, found);
	}
	*view = (struct sz_port_view){
		.listeners = found->listeners,
		.listen_queue = (unsigned)found->listen_queue,
		.established = count_connections(tree, found),
		.fds_readable = readable,
	};
	find_parents(tree, places);
	assign_roles(tree, places);
	promote_idle_workers(os, tree, places);
	return 0;
}

int sz_tree_classify(const struct sz_os *os, struct sz_tree *tree, uint16_t port,
		     struct sz_port_view *view)
{
	if (!tree->count)
		return -ESRCH;
	char dir[64];
	snprintf(dir, sizeof(dir), "proc/%d/net", tree->procs[0].pid);
	struct sz_port_sockets found = {.port = port};
	int rc = sz_port_collect(os, dir, &found);
	if (!rc)
		rc = classify(os, tree, &found, view);
	free(found.sockets);
	return rc;
}

int sz_listen_queue(const struct sz_os *os, pid_t pid, uint16_t port)
{
	if (sz_diag_reaches(os, pid)) {
		int queue = sz_diag_listen_queue(port);
		if (queue >= 0)
			return queue;
	}
	char dir[64];
	snprintf(dir, sizeof(dir), "proc/%d/net", pid);
	struct sz_port_sockets found = {.port = port};
	int rc = sz_port_collect_listeners(os, dir, &found);
	free(found.sockets);
	if (rc < 0)
		return rc;
	return found.listen_queue < INT_MAX ? (int)found.listen_queue : INT_MAX;
}

/* ---- who has a port ---- */

static bool holds_any(const struct sz_os *os, pid_t pid, const struct sz_port_sockets *found)
{
	DIR *dir = sz_descriptors_open(os, pid);
	if (!dir)
		return false;
	bool holds = false;
	for (uint64_t inode; !holds && sz_descriptors_next_socket(dir, &inode) > 0;)
		holds = sz_port_find_socket(found, inode) != NULL;
	closedir(dir);
	return holds;
}

/* The lowest pid that holds one of the sockets: a supervisor rather than one
 * of its workers. */
static int find_holder(const struct sz_os *os, const struct sz_port_sockets *found,
		       struct sz_proc *holder)
{
	sz_autofree pid_t *pids = NULL;
	size_t count = 0;
	int rc = sz_os_pids(os, &pids, &count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		if (holds_any(os, pids[i], found) && sz_proc_read(os, pids[i], holder) == 0)
			return 0;
	return -ESRCH;
}

int sz_port_owner(const struct sz_os *os, uint16_t port, pid_t *pid, char comm[32])
{
	struct sz_port_sockets found = {.port = port};
	struct sz_proc holder = {0};
	int rc = sz_port_collect_listeners(os, "proc/net", &found);
	if (!rc)
		rc = found.count ? find_holder(os, &found, &holder) : -ESRCH;
	free(found.sockets);
	if (rc < 0)
		return rc;
	*pid = holder.pid;
	memcpy(comm, holder.comm, sizeof(holder.comm));
	return 0;
}
