/* SPDX-License-Identifier: Apache-2.0
 *
 * Run-queue wait: captured threads, made-up snapshots, and two threads that
 * share one CPU.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/sched.h"

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

static void captured(void **state)
{
	(void)state;
	struct sz_os os = capture("threads");
	struct sz_tree tree = {0};
	struct sz_sched sched = {0}, nothing = {0};
	assert_int_equal(sz_tree_read(&os, 30, &tree), 0);
	assert_int_equal(sz_sched_read(&os, &tree, &sched), 0);
	/* Thread 32 ended between the directory and its file. */
	static const pid_t tids[] = {30, 33, 34, 31, 35};
	assert_int_equal(sched.count, SZ_ARRAY_LEN(tids));
	assert_int_equal(sched.left_out, 0);
	for (size_t i = 0; i < sched.count; i++)
		assert_int_equal(sched.threads[i].tid, tids[i]);
	assert_int_equal(sched.threads[4].pid, 32);
	assert_int_equal(sched.threads[4].start_ticks, 5032);

	struct sz_sched_use use = sz_sched_between(&nothing, &sched);
	assert_int_equal(use.wait_ns, 31000);
	assert_int_equal(use.runs, 310);
	use = sz_sched_between(&sched, &sched);
	assert_int_equal(use.wait_ns, 0);
	assert_int_equal(use.runs, 0);
	sz_sched_fini(&sched);
	sz_tree_fini(&tree);
}

static void not_counted(void **state)
{
	(void)state;
	struct sz_os os = capture("uvicorn");
	struct sz_tree tree = {0};
	struct sz_sched sched = {.count = 1};
	assert_int_equal(sz_tree_read(&os, 16543, &tree), 0);
	assert_int_equal(sz_sched_read(&os, &tree, &sched), -ENODATA);
	assert_int_equal(sched.count, 0);
	sz_sched_fini(&sched);
	sz_tree_fini(&tree);
}

/* pid, tid, start, wait, runs */
static void differences(void **state)
{
	(void)state;
	struct sz_sched_thread then[] = {
		{10, 10, 500, 1000, 10}, /* goes on */
		{10, 11, 500, 9000, 90}, /* ends */
		{10, 12, 500, 7000, 70}, /* ends, its number used again */
		{20, 20, 600, 5000, 50}, /* ends, the process' number used again */
	};
	struct sz_sched_thread now[] = {
		{10, 10, 500, 1500, 13}, {10, 12, 500, 30, 3}, {10, 13, 500, 200, 2}, /* born */
		{20, 20, 900, 6000, 60}, {30, 30, 950, 4, 1}, /* born, last */
	};
	struct sz_sched before = {.threads = then, .count = SZ_ARRAY_LEN(then)};
	struct sz_sched after = {.threads = now, .count = SZ_ARRAY_LEN(now)};
	struct sz_sched_use use = sz_sched_between(&before, &after);
	assert_int_equal(use.wait_ns, 500 + 30 + 200 + 6000 + 4);
	assert_int_equal(use.runs, 3 + 3 + 2 + 60 + 1);

	struct sz_sched none = {0};
	use = sz_sched_between(&before, &none);
	assert_int_equal(use.wait_ns, 0);
	assert_int_equal(use.runs, 0);
}

/* ---- live ---- */

static void *burn(void *arg)
{
	for (volatile bool on = true; on;)
		;
	return arg;
}

/* Two threads on one CPU: at any time one of them waits. */
static pid_t start_rivals(void)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	pthread_t thread;
	if (sched_setaffinity(0, sizeof(one), &one) < 0 ||
	    pthread_create(&thread, NULL, burn, NULL) != 0)
		_exit(1);
	burn(NULL);
	_exit(0);
}

#define ENOUGH_NS (50 * SZ_NS_PER_MS)

static void live_rivals(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_tree tree = {0};
	struct sz_sched before = {0}, after = {0};
	struct sz_sched_use use = {0};
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	uint64_t born_ns = sz_now_ns();
	pid_t pid = start_rivals();
	assert_true(pid > 0);
	do {
		usleep(1000);
		assert_int_equal(sz_tree_read(&os, pid, &tree), 0);
	} while (tree.procs[0].threads != 2);

	/* Waits count when they end, which takes long on a busy machine. */
	int rc = sz_sched_read(&os, &tree, &before);
	for (int i = 0; i < 200 && !rc && use.wait_ns < ENOUGH_NS; i++) {
		usleep(20 * 1000);
		rc = sz_sched_read(&os, &tree, &after);
		use = sz_sched_between(&before, &after);
	}
	uint64_t lived_ns = sz_now_ns() - born_ns;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (rc == -ENODATA)
		skip();
	assert_int_equal(rc, 0);
	assert_int_equal(before.count, 2);
	assert_int_equal(after.count, 2);
	assert_in_range(use.wait_ns, ENOUGH_NS, 2 * lived_ns);
	assert_true(use.runs > 0);
	sz_sched_fini(&before);
	sz_sched_fini(&after);
	sz_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured),
		cmocka_unit_test(not_counted),
		cmocka_unit_test(differences),
		cmocka_unit_test(live_rivals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
