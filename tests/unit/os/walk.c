/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk from parents to children against the pass over all of /proc.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/walk.h"

static struct sz_os live(void)
{
	struct sz_os os;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	return os;
}

/* This machine under another name: all of /proc is read then. */
static struct sz_os as_capture(void)
{
	struct sz_os os;
	assert_int_equal(sz_os_init(&os, "/.", NULL), 0);
	assert_false(sz_os_is_live(&os));
	return os;
}

/* ---- families ---- */

/* A family lives until the test closes its end of a pipe, or dies. */
struct family {
	pid_t pid;
	int hold;
};

static struct {
	int hold, ready;
} inside; /* what the processes of a family share */

static void stay(void)
{
	char byte;
	_exit(read(inside.hold, &byte, 1) == 0 ? 0 : 1);
}

static void say_ready(void)
{
	if (write(inside.ready, "", 1) != 1)
		_exit(1);
}

/* Start a process that calls run(); it, or a child of it, says `words` times
 * that it is ready. */
static struct family start(void (*run)(void), int words)
{
	int hold[2], ready[2];
	char byte;
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pipe(ready), 0);
	inside.hold = hold[0];
	inside.ready = ready[1];
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(hold[1]);
		run();
		stay();
	}
	close(hold[0]);
	close(ready[1]);
	while (words--)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return (struct family){pid, hold[1]};
}

static void stop(const struct family *family)
{
	close(family->hold);
	assert_int_equal(waitpid(family->pid, NULL, 0), family->pid);
}

static void fork_one(void)
{
	if (!fork()) {
		prctl(PR_SET_NAME, "lives");
		say_ready();
		stay();
	}
}

static void *fork_in_thread(void *arg)
{
	bool *stays = arg;
	fork_one();
	while (*stays)
		pause();
	return NULL;
}

/* Children of the main thread, of a thread that lives and of one that ended;
 * one that ended itself, and one that has two children. */
static void mixed_family(void)
{
	static bool stays = true, ends;
	pthread_t thread;
	siginfo_t info;
	fork_one();
	pid_t ended = fork();
	if (!ended)
		_exit(0);
	waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT);
	pthread_create(&thread, NULL, fork_in_thread, &ends);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, fork_in_thread, &stays);
	if (!fork()) {
		fork_one();
		fork_one();
		stay();
	}
}

/* A child that lives beside many that end at once. */
static void churning_family(void)
{
	struct pollfd end = {.fd = inside.hold, .events = POLLIN};
	fork_one();
	while (poll(&end, 1, 1) == 0) {
		if (!fork())
			_exit(0);
		wait(NULL);
	}
}

/* ---- tests ---- */

static void same_tree(void **state)
{
	(void)state;
	struct sz_os os = live(), files = as_capture();
	struct sz_tree walked = {0}, scanned = {0};
	struct family family = start(mixed_family, 5);
	assert_int_equal(sz_tree_walk(&os, family.pid, &walked), 0);
	assert_int_equal(sz_tree_read(&files, family.pid, &scanned), 0);
	assert_int_equal(walked.count, 8);
	assert_int_equal(scanned.count, 8);
	unsigned zombies = 0;
	for (size_t i = 0; i < walked.count; i++) {
		assert_int_equal(walked.procs[i].pid, scanned.procs[i].pid);
		assert_int_equal(walked.procs[i].ppid, scanned.procs[i].ppid);
		assert_int_equal(walked.procs[i].start_ticks, scanned.procs[i].start_ticks);
		assert_string_equal(walked.procs[i].comm, scanned.procs[i].comm);
		zombies += walked.procs[i].state == 'Z';
	}
	assert_int_equal(zombies, 1);
	assert_int_equal(walked.procs[0].threads, 2);
	stop(&family);
	sz_tree_fini(&walked);
	sz_tree_fini(&scanned);
}

static unsigned count_named(const struct sz_tree *tree, const char *comm)
{
	unsigned count = 0;
	for (size_t i = 0; i < tree->count; i++)
		count += strcmp(tree->procs[i].comm, comm) == 0;
	return count;
}

/* Whoever lives through a reading is in it, and nobody twice. */
static void churn(void **state)
{
	(void)state;
	struct sz_os os = live();
	struct sz_tree tree = {0};
	struct family family = start(churning_family, 1);
	unsigned walks = 0;
	for (int i = 0; i < 1000; i++) {
		int rc = sz_tree_walk(&os, family.pid, &tree);
		assert_true(rc == 0 || rc == -EAGAIN);
		assert_true(rc == 0 || tree.count == 0);
		if (rc)
			continue;
		walks++;
		assert_in_range(tree.count, 2, 3);
		assert_int_equal(tree.procs[0].pid, family.pid);
		assert_int_equal(count_named(&tree, "lives"), 1);
	}
	assert_true(walks > 0);
	assert_int_equal(sz_tree_read(&os, family.pid, &tree), 0);
	assert_int_equal(count_named(&tree, "lives"), 1);
	stop(&family);
	sz_tree_fini(&tree);
}

static void *nothing(void *arg)
{
	(void)arg;
	stay();
	return NULL;
}

static void many_threads(void)
{
	pthread_t thread;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < 1500; i++)
		if (pthread_create(&thread, &small, nothing, NULL) != 0)
			_exit(1);
	say_ready();
}

/* More threads than the machine has processes: the pass over /proc is cheaper. */
static void not_worth_it(void **state)
{
	(void)state;
	struct sz_os os = live();
	struct sz_tree tree = {0};
	struct family family = start(many_threads, 1);
	assert_int_equal(sz_tree_walk(&os, family.pid, &tree), -EAGAIN);
	assert_int_equal(tree.count, 0);
	assert_int_equal(sz_tree_read(&os, family.pid, &tree), 0);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.procs[0].threads, 1501);
	stop(&family);
	sz_tree_fini(&tree);
}

static void gone(void **state)
{
	(void)state;
	struct sz_os os = live(), files = as_capture();
	struct sz_tree tree = {0};
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(sz_tree_read(&os, pid, &tree), -ESRCH);
	assert_int_equal(tree.count, 0);
	assert_int_equal(sz_tree_walk(&files, getpid(), &tree), -EAGAIN);
	sz_tree_fini(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_tree),
		cmocka_unit_test(churn),
		cmocka_unit_test(not_worth_it),
		cmocka_unit_test(gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
