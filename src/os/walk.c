/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree below a process by the lists of children.
 */
#include "os/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/scan.h"

struct pids {
	pid_t *pids;
	size_t count, cap;
};

/* A thread that ended has handed its children to another one. */
static int add_children(const struct sz_os *os, pid_t pid, pid_t tid, struct pids *children)
{
	sz_autofree char *text = NULL;
	ssize_t len = sz_os_read_all(os, &text, "proc/%d/task/%d/children", pid, tid);
	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : 0;
	uint64_t child;
	for (const char *at = text; sz_scan_number(&at, 10, &child);) {
		if (sz_grow(&children->pids, &children->cap, children->count + 1,
			    sizeof(*children->pids)) < 0)
			return -ENOMEM;
		children->pids[children->count++] = (pid_t)child;
	}
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* A child handed over between two threads may stand on the lists of both. */
static void sort_unique(struct pids *list)
{
	if (list->count)
		qsort(list->pids, list->count, sizeof(*list->pids), by_pid);
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++)
		if (!kept || list->pids[kept - 1] != list->pids[i])
			list->pids[kept++] = list->pids[i];
	list->count = kept;
}

/* The children of all threads, ascending; *threads_left is what may still be
 * looked at. */
static int read_children(const struct sz_os *os, const struct sz_proc *proc, size_t *threads_left,
			 struct pids *children)
{
	sz_autofree pid_t *tids = NULL;
	size_t count = 0;
	children->count = 0;
	if (proc->threads > *threads_left)
		return -EAGAIN;
	*threads_left -= proc->threads;
	int rc = sz_proc_threads(os, proc, &tids, &count);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0; /* ended: the second look tells */
	for (size_t i = 0; i < count && !rc; i++)
		rc = add_children(os, proc->pid, tids[i], children);
	sort_unique(children);
	return rc;
}

static int take(const struct sz_os *os, pid_t pid, struct sz_tree *tree)
{
	if (sz_grow(&tree->procs, &tree->cap, tree->count + 1, sizeof(*tree->procs)) < 0)
		return -ENOMEM;
	int rc = sz_proc_read(os, pid, &tree->procs[tree->count]);
	if (!rc)
		tree->count++;
	return rc;
}

static int descend(const struct sz_os *os, struct sz_tree *tree, struct pids *children,
		   size_t threads_left)
{
	int rc = 0;
	for (size_t i = 0; i < tree->count && !rc; i++) {
		const struct sz_proc parent = tree->procs[i];
		rc = read_children(os, &parent, &threads_left, children);
		for (size_t k = 0; k < children->count && !rc; k++)
			rc = take(os, children->pids[k], tree);
	}
	return rc == 0 || rc == -ENOMEM ? rc : -EAGAIN;
}

/* The second look. The children of each process stand together in the tree,
 * in the order of their parents. */
static int compare(const struct sz_os *os, const struct sz_tree *tree, struct pids *children)
{
	size_t next = 1, threads_left = SIZE_MAX;
	for (size_t i = 0; i < tree->count; i++) {
		int rc = read_children(os, &tree->procs[i], &threads_left, children);
		if (rc < 0)
			return rc;
		for (size_t k = 0; k < children->count; k++, next++)
			if (next >= tree->count || tree->procs[next].pid != children->pids[k])
				return -EAGAIN;
	}
	return next == tree->count ? 0 : -EAGAIN;
}

/* Two looks at a thread cost what one process costs a pass over /proc (4 us),
 * whose count of links counts the processes. */
static size_t threads_worth(void)
{
	struct stat st;
	return stat("/proc", &st) == 0 ? st.st_nlink : 0;
}

static bool has_lists(const struct sz_os *os, pid_t pid)
{
	char path[SZ_OS_PATH_MAX];
	return sz_os_is_live(os) &&
	       sz_os_path(os, path, "proc/%d/task/%d/children", pid, pid) == 0 &&
	       access(path, R_OK) == 0;
}

int sz_tree_walk(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree)
{
	tree->count = 0;
	if (!has_lists(os, root_pid))
		return -EAGAIN;
	struct pids children = {0};
	int rc = take(os, root_pid, tree);
	if (!rc)
		rc = descend(os, tree, &children, threads_worth());
	if (!rc)
		rc = compare(os, tree, &children);
	free(children.pids);
	if (rc < 0)
		tree->count = 0;
	return rc;
}
