/* SPDX-License-Identifier: Apache-2.0
 *
 * From far ends to the services that hold them.
 */
#include "os/downstream.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/ends.h"
#include "os/port.h"

/* Ends a climb through a capture whose parents form a circle. */
#define LEVELS_MAX 64

/* A process whose descriptors are not ours to read. */
struct hidden {
	pid_t pid;
	uid_t uid;
};

struct search {
	const struct sz_os *os;
	pid_t *own; /* the tree, sizeup, and all above them */
	size_t own_count, own_cap;
	struct hidden *hidden;
	size_t hidden_count, hidden_cap;
	struct sz_far_ends far;
	struct sz_downstreams result;
};

static void search_fini(struct search *search)
{
	free(search->own);
	free(search->hidden);
	free(search->far.ends);
}

__attribute__((format(printf, 2, 3))) static void note_unseen(struct search *search,
							      const char *fmt, ...)
{
	char *unseen = search->result.unseen;
	size_t len = strlen(unseen), room = sizeof(search->result.unseen) - len;
	va_list args;
	va_start(args, fmt);
	if (len && room > 2) {
		memcpy(unseen + len, "; ", 3);
		len += 2;
		room -= 2;
	}
	vsnprintf(unseen + len, room, fmt, args);
	va_end(args);
}

/* ---- who is out of the question ---- */

static bool is_own(const struct search *search, pid_t pid)
{
	for (size_t i = 0; i < search->own_count; i++)
		if (search->own[i] == pid)
			return true;
	return pid <= 1;
}

static int add_own(struct search *search, pid_t pid)
{
	if (sz_grow(&search->own, &search->own_cap, search->own_count + 1, sizeof(pid)) < 0)
		return -ENOMEM;
	search->own[search->own_count++] = pid;
	return 0;
}

static int add_own_upwards(struct search *search, pid_t pid)
{
	struct sz_proc proc;
	int rc = 0;
	while (!rc && !is_own(search, pid)) {
		rc = add_own(search, pid);
		pid = sz_proc_read(search->os, pid, &proc) == 0 ? proc.ppid : 0;
	}
	return rc;
}

static int collect_own(struct search *search, const struct sz_tree *tree)
{
	int rc = add_own_upwards(search, tree->procs[0].pid);
	for (size_t i = 1; i < tree->count && !rc; i++)
		rc = add_own(search, tree->procs[i].pid);
	if (!rc && sz_os_is_live(search->os))
		rc = add_own_upwards(search, getpid());
	return rc;
}

/* ---- who holds the far ends ---- */

static int add_hidden(struct search *search, pid_t pid)
{
	char path[SZ_OS_PATH_MAX];
	struct stat st;
	if (sz_os_path(search->os, path, "proc/%d", pid) < 0 || stat(path, &st) < 0)
		return 0;
	if (sz_grow(&search->hidden, &search->hidden_cap, search->hidden_count + 1,
		    sizeof(*search->hidden)) < 0)
		return -ENOMEM;
	search->hidden[search->hidden_count++] = (struct hidden){pid, st.st_uid};
	return 0;
}

/* Adds to *owned the ends that this process is the first to hold. */
static int look_into(struct search *search, pid_t pid, size_t *owned)
{
	DIR *dir = sz_descriptors_open(search->os, pid);
	if (!dir)
		return errno == EACCES ? add_hidden(search, pid) : 0;
	for (uint64_t inode; sz_descriptors_next_socket(dir, &inode) > 0;) {
		struct sz_far_end *end = sz_far_ends_find(&search->far, inode);
		if (!end || end->owner)
			continue;
		end->owner = pid;
		++*owned;
	}
	closedir(dir);
	return 0;
}

static int find_owners(struct search *search)
{
	sz_autofree pid_t *pids = NULL;
	size_t count = 0, owned = 0;
	int rc = sz_os_pids(search->os, &pids, &count);
	for (size_t i = 0; i < count && owned < search->far.count && !rc; i++)
		rc = look_into(search, pids[i], &owned);
	return rc;
}

/* ---- from a process to its service ---- */

static ssize_t read_exe(const struct sz_os *os, pid_t pid, char exe[SZ_OS_PATH_MAX])
{
	char path[SZ_OS_PATH_MAX];
	int rc = sz_os_path(os, path, "proc/%d/exe", pid);
	return rc < 0 ? rc : readlink(path, exe, SZ_OS_PATH_MAX);
}

static bool same_exe(const struct sz_os *os, pid_t a, pid_t b)
{
	char x[SZ_OS_PATH_MAX], y[SZ_OS_PATH_MAX];
	ssize_t len = read_exe(os, a, x);
	return len > 0 && read_exe(os, b, y) == len && !memcmp(x, y, (size_t)len);
}

/* Interpreters make the executable alone say little: a supervisor written in
 * Python is no part of the Python services that it starts, each in a process
 * group of its own. */
static bool same_service(const struct sz_os *os, const struct sz_proc *proc,
			 const struct sz_proc *parent)
{
	return !strcmp(proc->comm, parent->comm) ||
	       (proc->pgid == parent->pgid && same_exe(os, proc->pid, parent->pid));
}

/* The top process of the service of pid; false when pid has ended. */
static bool climb(const struct search *search, pid_t pid, struct sz_proc *top)
{
	struct sz_proc parent;
	if (sz_proc_read(search->os, pid, top) < 0 || top->state == 'Z')
		return false;
	for (int level = 0; level < LEVELS_MAX && !is_own(search, top->ppid); level++) {
		if (sz_proc_read(search->os, top->ppid, &parent) < 0 ||
		    !same_service(search->os, top, &parent))
			break;
		*top = parent;
	}
	return true;
}

/* The service that all hidden processes of a user belong to, or 0. */
static pid_t only_service_of(const struct search *search, uid_t uid)
{
	pid_t only = 0;
	for (size_t i = 0; i < search->hidden_count; i++) {
		struct sz_proc top;
		const struct hidden *hidden = &search->hidden[i];
		if (hidden->uid != uid || is_own(search, hidden->pid) ||
		    !climb(search, hidden->pid, &top))
			continue;
		if (only && only != top.pid)
			return 0;
		only = top.pid;
	}
	return only;
}

/* Who holds an end that no readable process does. */
static void deduce_owners(struct search *search)
{
	uid_t uid = (uid_t)-1;
	pid_t only = 0;
	unsigned left = 0;
	for (size_t i = 0; i < search->far.count; i++) {
		struct sz_far_end *end = &search->far.ends[i];
		if (end->owner)
			continue;
		if (end->uid != uid) {
			uid = end->uid;
			only = only_service_of(search, uid);
		}
		end->owner = only;
		left += !only;
	}
	if (left)
		note_unseen(search, "who holds the other end of %u connection%s%s", left,
			    left == 1 ? "" : "s",
			    search->hidden_count ? ": other users' descriptors need root" : "");
}

/* ---- the list ---- */

static struct sz_downstream *find_listed(struct sz_downstreams *result, pid_t pid)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->list[i].pid == pid)
			return &result->list[i];
	return NULL;
}

/* False when the list is full. */
static bool list_service(struct sz_downstreams *result, const struct sz_proc *top, uint16_t port)
{
	struct sz_downstream *listed = find_listed(result, top->pid);
	if (!listed) {
		if (result->count == SZ_DOWNSTREAMS_MAX)
			return false;
		listed = &result->list[result->count++];
		*listed = (struct sz_downstream){.pid = top->pid, .start_ticks = top->start_ticks};
		memcpy(listed->comm, top->comm, sizeof(listed->comm));
	}
	listed->connections++;
	if (!listed->remote_port)
		listed->remote_port = port;
	return true;
}

static void list_services(struct search *search)
{
	unsigned left_out = 0;
	for (size_t i = 0; i < search->far.count; i++) {
		struct sz_proc top;
		const struct sz_far_end *end = &search->far.ends[i];
		if (!is_own(search, end->owner) && climb(search, end->owner, &top))
			left_out += !list_service(&search->result, &top, end->port);
	}
	if (left_out)
		note_unseen(search, "%u connections to more than %d services", left_out,
			    SZ_DOWNSTREAMS_MAX);
}

/* The nearest listed service above one, or NULL. */
static struct sz_downstream *find_above(struct search *search, pid_t pid)
{
	struct sz_proc proc;
	struct sz_downstream *above = NULL;
	for (int level = 0; !above && level < LEVELS_MAX; level++) {
		if (sz_proc_read(search->os, pid, &proc) < 0 || proc.ppid <= 1)
			break;
		pid = proc.ppid;
		above = find_listed(&search->result, pid);
	}
	return above;
}

/* A service below another one is in its tree already. */
static void fold_nested(struct search *search)
{
	struct sz_downstreams *result = &search->result;
	for (size_t i = 0; i < result->count;) {
		struct sz_downstream *nested = &result->list[i];
		struct sz_downstream *above = find_above(search, nested->pid);
		if (!above || above == nested) {
			i++;
			continue;
		}
		above->connections += nested->connections;
		if (!above->remote_port)
			above->remote_port = nested->remote_port;
		*nested = result->list[--result->count];
	}
}

static int by_connections(const void *a, const void *b)
{
	const struct sz_downstream *x = a, *y = b;
	if (x->connections != y->connections)
		return x->connections > y->connections ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int search_all(struct search *search, const struct sz_tree *tree, uint16_t service_port)
{
	int rc = sz_far_ends_read(search->os, tree, service_port, &search->far);
	if (!rc)
		rc = collect_own(search, tree);
	if (!rc)
		rc = find_owners(search);
	if (rc < 0)
		return rc;
	if (search->far.hides)
		note_unseen(search, "the descriptors of process %d", search->far.hides);
	if (search->far.unix_unseen)
		note_unseen(search, "unix sockets");
	deduce_owners(search);
	list_services(search);
	fold_nested(search);
	qsort(search->result.list, search->result.count, sizeof(*search->result.list),
	      by_connections);
	return 0;
}

int sz_downstreams_read(const struct sz_os *os, const struct sz_tree *tree, uint16_t service_port,
			struct sz_downstreams *downstreams)
{
	struct search search = {.os = os};
	int rc = search_all(&search, tree, service_port);
	if (!rc) {
		sz_downstreams_cpu_ns(os, &search.result);
		*downstreams = search.result;
	}
	search_fini(&search);
	return rc;
}

uint64_t sz_downstreams_cpu_ns(const struct sz_os *os, struct sz_downstreams *downstreams)
{
	uint64_t sum_ns = 0;
	struct sz_tree tree = {0};
	for (size_t i = 0; i < downstreams->count; i++) {
		struct sz_downstream *downstream = &downstreams->list[i];
		if (sz_tree_read(os, downstream->pid, &tree) == 0 &&
		    tree.procs[0].start_ticks == downstream->start_ticks &&
		    sz_tree_cpu_ns(&tree) > downstream->cpu_ns)
			downstream->cpu_ns = sz_tree_cpu_ns(&tree);
		sum_ns += downstream->cpu_ns;
	}
	sz_tree_fini(&tree);
	return sum_ns;
}
