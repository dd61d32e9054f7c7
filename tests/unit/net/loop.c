/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/loop.h"

static struct sz_loop *loop;

static int setup(void **state)
{
	(void)state;
	loop = sz_loop_new(NULL);
	return loop ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	sz_loop_free(loop);
	return 0;
}

#define TIMERS 500

static size_t fired;
static uint64_t last_due_ns;

static void note_order(struct sz_timer *timer, uint64_t now_ns)
{
	assert_false(sz_timer_armed(timer));
	assert_true(timer->due_ns <= now_ns);
	assert_true(timer->due_ns >= last_due_ns);
	last_due_ns = timer->due_ns;
	fired++;
}

static void stop_loop(struct sz_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	sz_loop_stop(loop);
}

/* Armed, moved and cleared in a scattered order; those left fire by deadline. */
static void timers_fire_in_order(void **state)
{
	(void)state;
	static struct sz_timer timers[TIMERS];
	struct sz_timer end = {.fn = stop_loop};
	uint64_t now_ns = sz_now_ns();
	uint32_t scatter = 1;
	size_t cleared = 0;
	for (size_t i = 0; i < 2 * TIMERS; i++) {
		scatter = scatter * 1664525 + 1013904223;
		timers[i % TIMERS].fn = note_order;
		assert_int_equal(sz_timer_set(loop, &timers[i % TIMERS],
					      now_ns + scatter % 20000000, NULL),
				 0);
	}
	for (size_t i = 0; i < TIMERS; i += 3, cleared++) {
		sz_timer_clear(loop, &timers[i]);
		sz_timer_clear(loop, &timers[i]);
		assert_false(sz_timer_armed(&timers[i]));
	}
	assert_int_equal(sz_timer_set(loop, &end, now_ns + 21 * SZ_NS_PER_MS, NULL), 0);
	fired = 0;
	last_due_ns = 0;
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(fired, TIMERS - cleared);
}

/* A timer that is always due must not keep descriptors from their turn. */
static void arm_again(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	fired++;
	assert_int_equal(sz_timer_set(loop, timer, 0, NULL), 0);
}

static void stop_on_event(struct sz_watch *watch, uint32_t events)
{
	(void)watch;
	assert_true(events & EPOLLIN);
	sz_loop_stop(loop);
}

static void due_timers_do_not_starve_events(void **state)
{
	(void)state;
	sz_autoclose int fd = eventfd(1, EFD_CLOEXEC);
	struct sz_watch watch = {.fn = stop_on_event};
	struct sz_timer timer = {.fn = arm_again};
	fired = 0;
	assert_int_equal(sz_watch_set(loop, &watch, fd, EPOLLIN, NULL), 0);
	assert_int_equal(sz_timer_set(loop, &timer, 0, NULL), 0);
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(fired, 1);
	sz_timer_clear(loop, &timer);
	sz_watch_clear(loop, &watch);
}

/* Ready descriptors of one batch: the first callback removes and frees all
 * others, whose events are already fetched. */
#define PEERS 8

struct peer {
	struct sz_watch watch;
	int fd;
};

static struct peer *peers[PEERS];
static size_t delivered;

static void free_peer(size_t i)
{
	sz_watch_clear(loop, &peers[i]->watch);
	close(peers[i]->fd);
	free(peers[i]);
	peers[i] = NULL;
}

static void remove_all(struct sz_watch *watch, uint32_t events)
{
	(void)watch;
	(void)events;
	delivered++;
	for (size_t i = 0; i < PEERS; i++)
		free_peer(i);
}

static void removed_watches_are_silent(void **state)
{
	(void)state;
	struct sz_timer end = {.fn = stop_loop};
	for (size_t i = 0; i < PEERS; i++) {
		peers[i] = calloc(1, sizeof(*peers[i]));
		assert_non_null(peers[i]);
		peers[i]->fd = eventfd(1, EFD_CLOEXEC);
		peers[i]->watch.fn = remove_all;
		assert_int_equal(sz_watch_set(loop, &peers[i]->watch, peers[i]->fd, EPOLLIN, NULL),
				 0);
	}
	delivered = 0;
	assert_int_equal(sz_timer_set(loop, &end, sz_now_ns() + 2 * SZ_NS_PER_MS, NULL), 0);
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(delivered, 1);
	assert_null(peers[0]);
}

static void remove_other_timer(struct sz_timer *timer, uint64_t now_ns)
{
	(void)now_ns;
	struct sz_timer *pair = timer->due_ns == 1 ? timer + 1 : timer - 1;
	sz_timer_clear(loop, pair);
	fired++;
	sz_loop_stop(loop);
}

static void removed_timers_are_silent(void **state)
{
	(void)state;
	struct sz_timer pair[2] = {{.fn = remove_other_timer}, {.fn = remove_other_timer}};
	fired = 0;
	assert_int_equal(sz_timer_set(loop, &pair[0], 1, NULL), 0);
	assert_int_equal(sz_timer_set(loop, &pair[1], 2, NULL), 0);
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(fired, 1);
	assert_false(sz_timer_armed(&pair[0]) || sz_timer_armed(&pair[1]));
}

/* Stopped in the middle of a batch: the rest comes with the next run. */
static void note_and_stop(struct sz_watch *watch, uint32_t events)
{
	(void)events;
	delivered++;
	sz_watch_clear(loop, watch);
	sz_loop_stop(loop);
}

static void stop_inside_a_batch(void **state)
{
	(void)state;
	sz_autoclose int first = eventfd(1, EFD_CLOEXEC);
	sz_autoclose int second = eventfd(1, EFD_CLOEXEC);
	struct sz_watch watches[2] = {{.fn = note_and_stop}, {.fn = note_and_stop}};
	delivered = 0;
	assert_int_equal(sz_watch_set(loop, &watches[0], first, EPOLLIN, NULL), 0);
	assert_int_equal(sz_watch_set(loop, &watches[1], second, EPOLLIN, NULL), 0);
	uint64_t waits = sz_loop_waits(loop);
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(delivered, 1);
	assert_int_equal(watches[0].slot | watches[1].slot, 0);
	assert_int_equal(sz_loop_run(loop, NULL), 0);
	assert_int_equal(delivered, 2);
	assert_int_equal(sz_loop_waits(loop) - waits, 2);
}

static void bad_descriptor(void **state)
{
	(void)state;
	struct sz_watch watch = {.fn = stop_on_event};
	struct sz_err err = {0};
	assert_int_equal(sz_watch_set(loop, &watch, -1, EPOLLIN, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(watch.events, 0);
	sz_watch_clear(loop, &watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order),
		cmocka_unit_test(due_timers_do_not_starve_events),
		cmocka_unit_test(removed_watches_are_silent),
		cmocka_unit_test(removed_timers_are_silent),
		cmocka_unit_test(stop_inside_a_batch),
		cmocka_unit_test(bad_descriptor),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
