/* SPDX-License-Identifier: Apache-2.0
 *
 * The event loop: level-triggered epoll and a heap of timers that wake with
 * sub-millisecond precision (epoll_pwait2; Linux 5.11). How late they are is
 * the thread's timer slack, 50 us unless prctl(PR_SET_TIMERSLACK) changed it.
 *
 * What it is not: a task system (rt/) or a protocol (http1.h).
 *
 * Ownership: one thread owns a loop and everything registered with it.
 * Watches and timers are embedded in the caller's objects and stay the
 * caller's memory; the loop keeps pointers until they are removed. A callback
 * may remove or free any watch or timer, its own included: events already
 * fetched for a removed watch are not delivered.
 */
#ifndef SZ_NET_LOOP_H
#define SZ_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sz_loop;
struct sz_watch;
struct sz_timer;

typedef void sz_watch_fn(struct sz_watch *watch, uint32_t events);
typedef void sz_timer_fn(struct sz_timer *timer, uint64_t now_ns);

/* One descriptor of interest. Zero-initialise; set fn; recover the outer
 * object with sz_container_of(). */
struct sz_watch {
	sz_watch_fn *fn;
	int fd;
	uint32_t events; /* EPOLLIN | EPOLLOUT now asked for; 0 when not registered */
	int32_t slot;    /* loop's own: position + 1 among the fetched events, else 0 */
};

/* One deadline. Zero-initialise; set fn. */
struct sz_timer {
	sz_timer_fn *fn;
	uint64_t due_ns;
	size_t heap_slot; /* loop's own: position + 1 in the heap, 0 when not armed */
};

#define sz_container_of(pointer, type, member)                                                     \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct sz_loop *sz_loop_new(struct sz_err *err);
void sz_loop_free(struct sz_loop *loop); /* NULL is fine; closes only its own epoll fd */

/* Ask for events (EPOLLIN, EPOLLOUT; not 0) on fd; asking again changes them;
 * the same events again costs no system call. EPOLLERR and EPOLLHUP come
 * unasked, and come again until the watch is cleared. 0, or -1 with err. */
int sz_watch_set(struct sz_loop *loop, struct sz_watch *watch, int fd, uint32_t events,
		 struct sz_err *err);
void sz_watch_clear(struct sz_loop *loop, struct sz_watch *watch); /* before close(fd) */

/* Arm (or move) a timer. Never fails once the loop holds as many armed timers
 * as before; may allocate when the heap grows. */
int sz_timer_set(struct sz_loop *loop, struct sz_timer *timer, uint64_t due_ns, struct sz_err *err);
void sz_timer_clear(struct sz_loop *loop, struct sz_timer *timer);
static inline bool sz_timer_armed(const struct sz_timer *timer)
{
	return timer->heap_slot != 0;
}

/* Run callbacks until sz_loop_stop() is called from one. EINTR is not an
 * error. */
int sz_loop_run(struct sz_loop *loop, struct sz_err *err);
void sz_loop_stop(struct sz_loop *loop);

/* How often epoll was waited on since the loop was made (for cost figures). */
uint64_t sz_loop_waits(const struct sz_loop *loop);

#endif
