/* SPDX-License-Identifier: Apache-2.0
 *
 * Run-queue wait, thread by thread.
 */
#include "os/sched.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/scan.h"

void sz_sched_fini(struct sz_sched *sched)
{
	free(sched->threads);
	*sched = (struct sz_sched){0};
}

static int by_thread(const void *a, const void *b)
{
	const struct sz_sched_thread *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* A thread that ended meanwhile is none. */
static int add_thread(const struct sz_os *os, const struct sz_proc *proc, pid_t tid,
		      struct sz_sched *sched)
{
	char text[128];
	struct sz_sched_thread thread = {.pid = proc->pid,
					 .tid = tid,
					 .start_ticks = proc->start_ticks};
	if (sched->count == SZ_SCHED_THREADS_MAX) {
		sched->left_out++;
		return 0;
	}
	if (sz_os_read(os, text, sizeof(text), "proc/%d/task/%d/schedstat", proc->pid, tid) < 0 ||
	    !sz_scan_schedstat(text, &thread.wait_ns, &thread.runs))
		return 0;
	if (sz_grow(&sched->threads, &sched->cap, sched->count + 1, sizeof(thread)) < 0)
		return -ENOMEM;
	sched->threads[sched->count++] = thread;
	return 0;
}

static int add_process(const struct sz_os *os, const struct sz_proc *proc, struct sz_sched *sched)
{
	sz_autofree pid_t *tids = NULL;
	size_t count = 0;
	int rc = sz_proc_threads(os, proc, &tids, &count);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	for (size_t i = 0; i < count && !rc; i++)
		rc = add_thread(os, proc, tids[i], sched);
	return rc;
}

/* Whatever is in the tree has run, if only to start. */
static bool is_counted(const struct sz_sched *sched)
{
	for (size_t i = 0; i < sched->count; i++)
		if (sched->threads[i].runs)
			return true;
	return false;
}

int sz_sched_read(const struct sz_os *os, const struct sz_tree *tree, struct sz_sched *sched)
{
	int rc = 0;
	sched->count = sched->left_out = 0;
	for (size_t i = 0; i < tree->count && !rc; i++)
		rc = add_process(os, &tree->procs[i], sched);
	if (!rc && !is_counted(sched))
		rc = -ENODATA;
	if (rc < 0)
		sched->count = 0;
	else
		qsort(sched->threads, sched->count, sizeof(*sched->threads), by_thread);
	return rc;
}

/* Counts that went back are another thread's under the same number. */
static bool continues(const struct sz_sched_thread *then, const struct sz_sched_thread *now)
{
	return by_thread(then, now) == 0 && then->start_ticks == now->start_ticks &&
	       then->wait_ns <= now->wait_ns && then->runs <= now->runs;
}

struct sz_sched_use sz_sched_between(const struct sz_sched *before, const struct sz_sched *after)
{
	struct sz_sched_use use = {0};
	size_t then = 0;
	for (size_t i = 0; i < after->count; i++) {
		const struct sz_sched_thread *now = &after->threads[i];
		use.wait_ns += now->wait_ns;
		use.runs += now->runs;
		while (then < before->count && by_thread(&before->threads[then], now) < 0)
			then++;
		if (then == before->count || !continues(&before->threads[then], now))
			continue;
		use.wait_ns -= before->threads[then].wait_ns;
		use.runs -= before->threads[then].runs;
	}
	return use;
}
