/* SPDX-License-Identifier: Apache-2.0
 *
 * Pending events of a removed watch: while an event waits in the batch, its
 * watch's `slot` is the event's position + 1. Removing the watch clears that
 * entry, so the memory of the watch may be gone before its turn comes.
 */
#include "net/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define BATCH_EVENTS 256

struct sz_loop {
	int epoll_fd;
	bool stopping;
	uint64_t waits;
	struct sz_timer **heap; /* binary heap, earliest at 0 */
	size_t heap_count;
	size_t heap_cap;
	struct epoll_event batch[BATCH_EVENTS];
};

struct sz_loop *sz_loop_new(struct sz_err *err)
{
	struct sz_loop *loop = calloc(1, sizeof(*loop));
	if (!loop) {
		sz_err_nomem(err);
		return NULL;
	}
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		sz_err_set(err, SZ_MACHINE, errno, "cannot make an epoll descriptor");
		free(loop);
		return NULL;
	}
	return loop;
}

void sz_loop_free(struct sz_loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	free(loop->heap);
	free(loop);
}

int sz_watch_set(struct sz_loop *loop, struct sz_watch *watch, int fd, uint32_t events,
		 struct sz_err *err)
{
	if (watch->events == events && watch->fd == fd)
		return 0;
	int op = watch->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	struct epoll_event event = {.events = events, .data.ptr = watch};
	if (epoll_ctl(loop->epoll_fd, op, fd, &event) < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot watch a descriptor");
	watch->fd = fd;
	watch->events = events;
	return 0;
}

void sz_watch_clear(struct sz_loop *loop, struct sz_watch *watch)
{
	if (watch->slot)
		loop->batch[watch->slot - 1].data.ptr = NULL;
	watch->slot = 0;
	if (watch->events)
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->events = 0;
}

static void heap_put(struct sz_loop *loop, size_t at, struct sz_timer *timer)
{
	loop->heap[at] = timer;
	timer->heap_slot = at + 1;
}

static void sift_up(struct sz_loop *loop, size_t at, struct sz_timer *timer)
{
	while (at > 0 && loop->heap[(at - 1) / 2]->due_ns > timer->due_ns) {
		heap_put(loop, at, loop->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(loop, at, timer);
}

static void sift_down(struct sz_loop *loop, size_t at, struct sz_timer *timer)
{
	for (;;) {
		size_t child = 2 * at + 1;
		if (child + 1 < loop->heap_count &&
		    loop->heap[child + 1]->due_ns < loop->heap[child]->due_ns)
			child++;
		if (child >= loop->heap_count || loop->heap[child]->due_ns >= timer->due_ns)
			break;
		heap_put(loop, at, loop->heap[child]);
		at = child;
	}
	heap_put(loop, at, timer);
}

/* Put a timer whose key changed, or that fills the hole at `at`, in order. */
static void heap_settle(struct sz_loop *loop, size_t at, struct sz_timer *timer)
{
	sift_up(loop, at, timer);
	sift_down(loop, timer->heap_slot - 1, timer);
}

int sz_timer_set(struct sz_loop *loop, struct sz_timer *timer, uint64_t due_ns, struct sz_err *err)
{
	if (!sz_timer_armed(timer)) {
		if (sz_grow(&loop->heap, &loop->heap_cap, loop->heap_count + 1,
			    sizeof(loop->heap[0])) < 0)
			return sz_err_nomem(err);
		heap_put(loop, loop->heap_count++, timer);
	}
	timer->due_ns = due_ns;
	heap_settle(loop, timer->heap_slot - 1, timer);
	return 0;
}

void sz_timer_clear(struct sz_loop *loop, struct sz_timer *timer)
{
	if (!sz_timer_armed(timer))
		return;
	size_t hole = timer->heap_slot - 1;
	struct sz_timer *last = loop->heap[--loop->heap_count];
	timer->heap_slot = 0;
	if (last != timer)
		heap_settle(loop, hole, last);
}

/* Run what is due. A callback that arms timers in the past could go on for
 * ever: one pass runs no more timers than were armed at its start, so that
 * descriptors get their turn. */
static void run_timers(struct sz_loop *loop)
{
	size_t left = loop->heap_count;
	uint64_t now_ns = left ? sz_now_ns() : 0;
	while (left-- && loop->heap_count && !loop->stopping && loop->heap[0]->due_ns <= now_ns) {
		struct sz_timer *timer = loop->heap[0];
		sz_timer_clear(loop, timer);
		timer->fn(timer, now_ns);
	}
}

static int wait_events(struct sz_loop *loop)
{
	struct timespec left = {0};
	if (loop->heap_count) {
		uint64_t now_ns = sz_now_ns();
		uint64_t due_ns = loop->heap[0]->due_ns;
		left = sz_ns_timespec(due_ns > now_ns ? due_ns - now_ns : 0);
	}
	loop->waits++;
	int n = epoll_pwait2(loop->epoll_fd, loop->batch, BATCH_EVENTS,
			     loop->heap_count ? &left : NULL, NULL);
	return n < 0 && errno == EINTR ? 0 : n;
}

static void deliver(struct sz_loop *loop, struct epoll_event *event)
{
	struct sz_watch *watch = event->data.ptr;
	if (!watch)
		return;
	watch->slot = 0;
	/* The watch may have changed its mind since the event was fetched. */
	uint32_t events = event->events & (watch->events | EPOLLERR | EPOLLHUP);
	if (events && !loop->stopping)
		watch->fn(watch, events);
}

static void deliver_batch(struct sz_loop *loop, int count)
{
	for (int i = 0; i < count; i++) {
		struct sz_watch *watch = loop->batch[i].data.ptr;
		watch->slot = i + 1;
	}
	/* After a stop too: deliver() then only forgets the slots. */
	for (int i = 0; i < count; i++)
		deliver(loop, &loop->batch[i]);
}

int sz_loop_run(struct sz_loop *loop, struct sz_err *err)
{
	loop->stopping = false;
	while (!loop->stopping) {
		run_timers(loop);
		if (loop->stopping)
			break;
		int count = wait_events(loop);
		if (count < 0)
			return sz_err_set(err, SZ_MACHINE, errno, "cannot wait for events");
		deliver_batch(loop, count);
	}
	return 0;
}

void sz_loop_stop(struct sz_loop *loop)
{
	loop->stopping = true;
}

uint64_t sz_loop_waits(const struct sz_loop *loop)
{
	return loop->waits;
}
