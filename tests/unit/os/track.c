/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes looked at by kept descriptors: captured ones and a live child.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/track.h"

#define MIB (1 << 20)

static void captured_tree(void **state)
{
	(void)state;
	char root[200];
	struct sz_os os;
	struct sz_tree tree = {0};
	struct sz_track track = {0};
	struct sz_tracked_sum sum;
	snprintf(root, sizeof(root), "%s/os/uvicorn", getenv("SIZEUP_TEST_DATA"));
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	assert_int_equal(sz_tree_read(&os, 16543, &tree), 0);
	int64_t pages = 0;
	for (size_t i = 0; i < tree.count; i++)
		pages += (int64_t)tree.procs[i].rss_pages;
	assert_true(pages > 0);
	assert_int_equal(sz_track_follow(&track, &os, &tree, 0), 0);
	sz_track_read(&track, &os, &sum);
	assert_int_equal(sum.processes, 4);
	assert_int_equal(sum.rss_bytes, pages * 4096);
	assert_true(sum.whole);
	/* The guard is no part of the service. */
	assert_int_equal(sz_track_follow(&track, &os, &tree, 16543), 0);
	sz_track_read(&track, &os, &sum);
	assert_int_equal(sum.processes, 3);
	sz_track_fini(&track);
	sz_tree_fini(&tree);
}

/* A child that touches memory each time it is told to. */
struct child {
	pid_t pid;
	int tell, told;
};

static void touch_for_ever(int told, int tell)
{
	char byte;
	while (read(told, &byte, 1) == 1) {
		char *memory = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(memory, 1, 8 * MIB);
		if (write(tell, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void child_start(struct child *child)
{
	int down[2], up[2];
	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(down[1]);
		touch_for_ever(down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	child->tell = down[1];
	child->told = up[0];
}

static void child_touch(const struct child *child)
{
	char byte = 0;
	assert_int_equal(write(child->tell, &byte, 1), 1);
	assert_int_equal(read(child->told, &byte, 1), 1);
}

static void child_end(const struct child *child)
{
	close(child->tell);
	close(child->told);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void growth_and_end_are_seen(void **state)
{
	(void)state;
	struct sz_os os;
	struct child child;
	struct sz_tree tree = {0};
	struct sz_track track = {0};
	struct sz_tracked_sum before, after;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	child_start(&child);
	child_touch(&child);
	assert_int_equal(sz_tree_read(&os, child.pid, &tree), 0);
	assert_int_equal(sz_track_follow(&track, &os, &tree, 0), 0);
	int kept = track.procs[0].fd;
	assert_true(kept >= 0);
	sz_track_read(&track, &os, &before);
	assert_int_equal(before.processes, 1);
	assert_int_equal(before.threads, 1);
	child_touch(&child);
	/* The same descriptor tells, and goes on to when it is followed again. */
	assert_int_equal(sz_track_follow(&track, &os, &tree, 0), 0);
	assert_int_equal(track.procs[0].fd, kept);
	sz_track_read(&track, &os, &after);
	assert_true(after.rss_bytes >= before.rss_bytes + 7 * MIB);
	child_end(&child);
	sz_track_read(&track, &os, &after);
	assert_int_equal(after.processes, 0);
	assert_true(after.whole);
	sz_track_fini(&track);
	sz_tree_fini(&tree);
}

static void clocks_of_a_tree(void **state)
{
	(void)state;
	struct sz_os os;
	struct child child;
	struct sz_tree tree = {0};
	uint64_t before_ns, after_ns;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	child_start(&child);
	assert_int_equal(sz_tree_read(&os, child.pid, &tree), 0);
	assert_int_equal(sz_tree_cpu_now_ns(&tree, &before_ns), 0);
	child_touch(&child);
	assert_int_equal(sz_tree_cpu_now_ns(&tree, &after_ns), 0);
	assert_true(after_ns > before_ns);
	child_end(&child);
	assert_int_equal(sz_tree_cpu_now_ns(&tree, &after_ns), -ESRCH);
	sz_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_tree),
		cmocka_unit_test(growth_and_end_are_seen),
		cmocka_unit_test(clocks_of_a_tree),
	};
	return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
