/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes: one pass over all of /proc, the tree below a root, memory.
 */
#include "os/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/scan.h"
#include "os/walk.h"

/* Children that are waited for while the tree is being read make another pass
 * necessary; a service that never stops reaping gets its last one. */
#define PASSES_MAX 3

const char *sz_role_name(enum sz_role role)
{
	static const char *const name[] = {
		[SZ_ROLE_HELPER] = "helper",
		[SZ_ROLE_WORKER] = "worker",
		[SZ_ROLE_SUPERVISOR] = "supervisor",
	};
	return name[role];
}

void sz_tree_fini(struct sz_tree *tree)
{
	free(tree->procs);
	*tree = (struct sz_tree){0};
}

static int read_stat(const struct sz_os *os, pid_t pid, struct sz_proc *proc)
{
	char text[2048];
	ssize_t len = sz_os_read(os, text, sizeof(text), "proc/%d/stat", pid);
	if (len == -ENOENT)
		return -ESRCH;
	if (len < 0)
		return (int)len;
	struct sz_proc read = {.pid = pid, .rss_bytes = -1, .pss_bytes = -1};
	if (!sz_scan_stat(text, os->ticks_per_s, &read))
		return -EBADMSG;
	*proc = read;
	return 0;
}

static int read_clock(pid_t pid, uint64_t *cpu_ns)
{
	clockid_t clock;
	struct timespec ts;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts) < 0)
		return -ESRCH;
	*cpu_ns = sz_timespec_ns(&ts);
	return 0;
}

/* The clock counts nanoseconds, zombies included, where stat has ticks. It
 * must agree with them to a tick, else it belongs to another process: the pid
 * was reused, or /proc shows another pid namespace. */
static void refine_cpu(struct sz_proc *proc, uint64_t tick_ns)
{
	uint64_t cpu_ns;
	if (read_clock(proc->pid, &cpu_ns) == 0 && cpu_ns + tick_ns >= proc->cpu_ns)
		proc->cpu_ns = cpu_ns;
}

int sz_proc_read(const struct sz_os *os, pid_t pid, struct sz_proc *proc)
{
	int rc = read_stat(os, pid, proc);
	if (!rc && sz_os_is_live(os))
		refine_cpu(proc, SZ_NS_PER_S / (uint64_t)os->ticks_per_s);
	return rc;
}

int sz_proc_threads(const struct sz_os *os, const struct sz_proc *proc, pid_t **tids, size_t *count)
{
	if (proc->threads != 1)
		return sz_os_tids(os, proc->pid, tids, count);
	pid_t *only = malloc(sizeof(*only));
	if (!only)
		return -ENOMEM;
	*only = proc->pid;
	*tids = only;
	*count = 1;
	return 0;
}

static int by_parent(const void *a, const void *b)
{
	const struct sz_proc *x = a, *y = b;
	if (x->ppid != y->ppid)
		return x->ppid < y->ppid ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* All processes of the machine, sorted by parent. */
static int read_all(const struct sz_os *os, struct sz_proc **procs, size_t *count)
{
	sz_autofree pid_t *pids = NULL;
	size_t pid_count = 0, len = 0;
	int rc = sz_os_pids(os, &pids, &pid_count);
	if (rc < 0)
		return rc;
	struct sz_proc *all = calloc(pid_count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < pid_count; i++)
		len += read_stat(os, pids[i], &all[len]) == 0;
	qsort(all, len, sizeof(*all), by_parent);
	*procs = all;
	*count = len;
	return 0;
}

/* Index of the first process whose parent is ppid or above. */
static size_t first_child(const struct sz_proc *all, size_t count, pid_t ppid)
{
	size_t low = 0;
	while (low < count) {
		size_t middle = low + (count - low) / 2;
		if (all[middle].ppid < ppid)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Move a process into the tree. What was moved has pid 0 afterwards, so that
 * a capture whose parents form a circle ends. */
static int take(struct sz_tree *tree, struct sz_proc *proc)
{
	if (!proc->pid)
		return 0;
	if (sz_grow(&tree->procs, &tree->cap, tree->count + 1, sizeof(*proc)) < 0)
		return -ENOMEM;
	tree->procs[tree->count++] = *proc;
	proc->pid = 0;
	return 0;
}

static int build(struct sz_tree *tree, struct sz_proc *all, size_t count, pid_t root_pid)
{
	int rc = -ESRCH;
	for (size_t i = 0; i < count; i++)
		if (all[i].pid == root_pid) {
			rc = take(tree, &all[i]);
			break;
		}
	for (size_t i = 0; i < tree->count && !rc; i++) {
		pid_t parent = tree->procs[i].pid;
		size_t child = first_child(all, count, parent);
		for (; child < count && all[child].ppid == parent && !rc; child++)
			rc = take(tree, &all[child]);
	}
	return rc;
}

static int scan_tree_once(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree)
{
	tree->count = 0;
	sz_autofree struct sz_proc *all = NULL;
	size_t count = 0;
	int rc = read_all(os, &all, &count);
	if (!rc)
		rc = build(tree, all, count, root_pid);
	if (rc < 0) {
		tree->count = 0;
		return rc;
	}
	if (sz_os_is_live(os))
		for (size_t i = 0; i < tree->count; i++)
			refine_cpu(&tree->procs[i], SZ_NS_PER_S / (uint64_t)os->ticks_per_s);
	return 0;
}

/* A child waited for during the pass is in it twice, itself and in its
 * parent's reaped time, or not at all. Either way the latter has grown. */
static bool reaped_meanwhile(const struct sz_os *os, const struct sz_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct sz_proc now;
		const struct sz_proc *then = &tree->procs[i];
		if (read_stat(os, then->pid, &now) == 0 && now.reaped_cpu_ns != then->reaped_cpu_ns)
			return true;
	}
	return false;
}

static int scan_tree(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree)
{
	int rc, passes = 0;
	do {
		rc = scan_tree_once(os, root_pid, tree);
	} while (!rc && ++passes < PASSES_MAX && reaped_meanwhile(os, tree));
	return rc;
}

int sz_tree_read(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree)
{
	int rc = sz_tree_walk(os, root_pid, tree);
	return rc == -EAGAIN ? scan_tree(os, root_pid, tree) : rc;
}

uint64_t sz_tree_cpu_ns(const struct sz_tree *tree)
{
	uint64_t sum_ns = 0;
	for (size_t i = 0; i < tree->count; i++)
		sum_ns += tree->procs[i].cpu_ns + tree->procs[i].reaped_cpu_ns;
	return sum_ns;
}

int sz_tree_cpu_now_ns(const struct sz_tree *tree, uint64_t *cpu_ns)
{
	uint64_t sum_ns = 0, one_ns;
	for (size_t i = 0; i < tree->count; i++) {
		if (read_clock(tree->procs[i].pid, &one_ns) < 0)
			return -ESRCH;
		sum_ns += one_ns;
	}
	*cpu_ns = sum_ns;
	return 0;
}

static bool read_rollup(const struct sz_os *os, struct sz_proc *proc)
{
	char text[4096];
	int64_t rss_bytes, pss_bytes;
	if (sz_os_read(os, text, sizeof(text), "proc/%d/smaps_rollup", proc->pid) < 0 ||
	    !sz_scan_kib(text, "Rss:", &rss_bytes) || !sz_scan_kib(text, "Pss:", &pss_bytes))
		return false;
	proc->rss_bytes = rss_bytes;
	proc->pss_bytes = pss_bytes;
	return true;
}

/* The second number of statm is RSS in pages. A process without any, a
 * zombie, shares none either. */
static void read_statm(const struct sz_os *os, struct sz_proc *proc)
{
	char text[256];
	const char *at = text;
	uint64_t size_pages, rss_pages;
	int64_t page_bytes = sz_os_is_live(os) ? sysconf(_SC_PAGESIZE) : 4096;
	if (sz_os_read(os, text, sizeof(text), "proc/%d/statm", proc->pid) < 0 ||
	    !sz_scan_number(&at, 10, &size_pages) || !sz_scan_number(&at, 10, &rss_pages) ||
	    rss_pages > (uint64_t)(INT64_MAX / page_bytes))
		return;
	proc->rss_bytes = (int64_t)rss_pages * page_bytes;
	proc->pss_bytes = rss_pages ? -1 : 0;
}

void sz_tree_read_memory(const struct sz_os *os, struct sz_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct sz_proc *proc = &tree->procs[i];
		proc->rss_bytes = proc->pss_bytes = -1;
		if (!read_rollup(os, proc))
			read_statm(os, proc);
	}
}
