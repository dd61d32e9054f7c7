/* SPDX-License-Identifier: Apache-2.0
 *
 * Kept descriptors of /proc/PID/stat.
 */
#include "os/track.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/scan.h"

static int by_pid(const void *a, const void *b)
{
	const struct sz_tracked *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int open_stat(const struct sz_os *os, pid_t pid)
{
	char path[SZ_OS_PATH_MAX];
	if (sz_os_path(os, path, "proc/%d/stat", pid) < 0)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Take the descriptor over from who was followed before, or open one. */
static void enter(struct sz_track *before, const struct sz_os *os, size_t index,
		  struct sz_tracked *proc)
{
	struct sz_tracked *kept =
		before->count ? bsearch(proc, before->procs, before->count, sizeof(*proc), by_pid)
			      : NULL;
	if (kept && kept->start_ticks == proc->start_ticks && kept->fd >= 0) {
		proc->fd = kept->fd;
		kept->fd = -1;
	} else if (index < SZ_TRACK_KEPT_MAX) {
		proc->fd = open_stat(os, proc->pid);
	}
}

int sz_track_follow(struct sz_track *track, const struct sz_os *os, const struct sz_tree *tree,
		    pid_t except)
{
	struct sz_track next = {0};
	if (sz_grow(&next.procs, &next.cap, tree->count, sizeof(*next.procs)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		const struct sz_proc *proc = &tree->procs[i];
		if (proc->pid == except || proc->state == 'Z')
			continue;
		next.procs[next.count] = (struct sz_tracked){proc->pid, proc->start_ticks, -1};
		enter(track, os, next.count, &next.procs[next.count]);
		next.count++;
	}
	if (next.count)
		qsort(next.procs, next.count, sizeof(*next.procs), by_pid);
	sz_track_fini(track);
	*track = next;
	return 0;
}

static ssize_t read_stat(const struct sz_tracked *tracked, const struct sz_os *os, char *text,
			 size_t size)
{
	if (tracked->fd < 0)
		return sz_os_read(os, text, size, "proc/%d/stat", tracked->pid);
	ssize_t len = pread(tracked->fd, text, size - 1, 0);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	return len;
}

static void add(const struct sz_tracked *tracked, const struct sz_os *os,
		struct sz_tracked_sum *sum)
{
	char text[1024];
	struct sz_proc proc = {0};
	int64_t page_bytes = sz_os_is_live(os) ? sysconf(_SC_PAGESIZE) : 4096;
	ssize_t len = read_stat(tracked, os, text, sizeof(text));
	if (len == -ESRCH || len == -ENOENT)
		return;
	if (len < 0 || !sz_scan_stat(text, os->ticks_per_s, &proc)) {
		sum->whole = false;
		return;
	}
	if (proc.start_ticks != tracked->start_ticks)
		return;
	sum->processes++;
	sum->threads += proc.threads;
	sum->rss_bytes += (int64_t)proc.rss_pages * page_bytes;
}

void sz_track_read(const struct sz_track *track, const struct sz_os *os, struct sz_tracked_sum *sum)
{
	*sum = (struct sz_tracked_sum){.whole = true};
	for (size_t i = 0; i < track->count; i++)
		add(&track->procs[i], os, sum);
}

void sz_track_fini(struct sz_track *track)
{
	for (size_t i = 0; i < track->count; i++) {
		if (track->procs[i].fd >= 0)
			close(track->procs[i].fd);
	}
	free(track->procs);
	*track = (struct sz_track){0};
}
