/* SPDX-License-Identifier: Apache-2.0
 *
 * Process trees: captured ones, and a live one that burns a known CPU time.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/proc.h"

#define MIB (1 << 20)

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

static void uvicorn_tree(void **state)
{
	(void)state;
	struct sz_os os = capture("uvicorn");
	struct sz_tree tree = {0};
	assert_false(sz_os_is_live(&os));
	assert_int_equal(sz_tree_read(&os, 16543, &tree), 0);
	assert_int_equal(tree.count, 4); /* init stays out */
	for (size_t i = 0; i < tree.count; i++) {
		assert_int_equal(tree.procs[i].pid, 16543 + (pid_t)i);
		assert_int_equal(tree.procs[i].ppid, i ? 16543 : 16542);
		assert_string_equal(tree.procs[i].comm, "python3");
		assert_int_equal(tree.procs[i].role, SZ_ROLE_HELPER);
		assert_int_equal(tree.procs[i].rss_bytes, -1);
	}
	assert_int_equal(tree.procs[0].cpu_ns, 90 * SZ_NS_PER_MS);
	assert_int_equal(tree.procs[2].cpu_ns, 170 * SZ_NS_PER_MS);
	assert_int_equal(tree.procs[2].start_ticks, 103657);
	assert_int_equal(sz_tree_cpu_ns(&tree), 430 * SZ_NS_PER_MS);

	sz_tree_read_memory(&os, &tree);
	assert_int_equal(tree.procs[0].rss_bytes, 25336 * 1024);
	assert_int_equal(tree.procs[0].pss_bytes, 17710 * 1024);

	/* The same memory serves again, for a smaller tree. */
	struct sz_proc *procs = tree.procs;
	assert_int_equal(sz_tree_read(&os, 16545, &tree), 0);
	assert_int_equal(tree.count, 1);
	assert_ptr_equal(tree.procs, procs);
	assert_int_equal(sz_tree_read(&os, 4711, &tree), -ESRCH);
	assert_int_equal(tree.count, 0);
	sz_tree_fini(&tree);
	assert_null(tree.procs);
}

static void nginx_tree(void **state)
{
	(void)state;
	struct sz_os os = capture("nginx");
	struct sz_tree tree = {0};
	assert_int_equal(sz_tree_read(&os, 16548, &tree), 0);
	assert_int_equal(tree.count, 6);
	assert_string_equal(tree.procs[5].comm, "a) R 16548 ( ");
	assert_int_equal(tree.procs[5].threads, 2);
	assert_int_equal(tree.procs[1].state, 'T');
	sz_tree_read_memory(&os, &tree);
	/* No smaps_rollup: RSS from statm. Neither: unknown. */
	assert_int_equal(tree.procs[4].rss_bytes, 966 * 4096);
	assert_int_equal(tree.procs[4].pss_bytes, -1);
	assert_int_equal(tree.procs[5].rss_bytes, -1);
	sz_tree_fini(&tree);
}

static void circle_of_parents(void **state)
{
	(void)state;
	struct sz_os os = capture("circle");
	struct sz_tree tree = {0};
	assert_int_equal(sz_tree_read(&os, 5, &tree), 0);
	assert_int_equal(tree.count, 2);
	assert_int_equal(sz_tree_read(&os, 7, &tree), 0);
	assert_int_equal(tree.count, 1);
	sz_tree_fini(&tree);
}

static void role_names(void **state)
{
	(void)state;
	assert_string_equal(sz_role_name(SZ_ROLE_HELPER), "helper");
	assert_string_equal(sz_role_name(SZ_ROLE_WORKER), "worker");
	assert_string_equal(sz_role_name(SZ_ROLE_SUPERVISOR), "supervisor");
}

/* ---- a live tree: parent and child, each taking one-letter orders ---- */

#define BURN_NS (150 * SZ_NS_PER_MS)
#define TOUCH_BYTES ((size_t)32 * MIB)

struct actor {
	pid_t pid;
	int orders;  /* we write */
	int answers; /* we read */
};

static void burn(void)
{
	uint64_t end_ns = sz_process_cpu_ns() + BURN_NS;
	while (sz_process_cpu_ns() < end_ns)
		;
}

static void touch(void)
{
	char *memory =
		mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, TOUCH_BYTES);
}

/* 'b' burn, 't' touch memory, 'q' quit, 'w' wait for the child. Every order
 * but 'q' is answered when done; the end of orders ends the actor as well. */
static void act(int orders, int answers)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (char order; read(orders, &order, 1) == 1 && order != 'q';) {
		if (order == 'b')
			burn();
		else if (order == 't')
			touch();
		else if (order == 'w')
			wait(NULL);
		if (write(answers, &order, 1) != 1)
			break;
	}
	_exit(0);
}

static void order(const struct actor *actor, char letter)
{
	char answer = 0;
	assert_int_equal(write(actor->orders, &letter, 1), 1);
	if (letter == 'q')
		return;
	assert_int_equal(read(actor->answers, &answer, 1), 1);
	assert_int_equal(answer, letter);
}

/* A parent and, below it, a child. */
static void start_family(struct actor *parent, struct actor *child)
{
	int pipes[4][2], born[2];
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
	assert_int_equal(pipe2(born, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		pid_t below = fork();
		if (!below)
			act(pipes[2][0], pipes[3][1]);
		if (write(born[1], &below, sizeof(below)) != sizeof(below))
			_exit(1);
		act(pipes[0][0], pipes[1][1]);
	}
	*parent = (struct actor){pid, pipes[0][1], pipes[1][0]};
	*child = (struct actor){0, pipes[2][1], pipes[3][0]};
	assert_int_equal(read(born[0], &child->pid, sizeof(child->pid)), sizeof(child->pid));
	close(pipes[0][0]), close(pipes[1][1]), close(pipes[2][0]), close(pipes[3][1]);
	close(born[0]), close(born[1]);
}

static void await_zombie(const struct sz_os *os, pid_t pid)
{
	struct sz_proc proc = {0};
	for (int i = 0; i < 1000 && proc.state != 'Z'; i++) {
		assert_int_equal(sz_proc_read(os, pid, &proc), 0);
		usleep(1000);
	}
	assert_int_equal(proc.state, 'Z');
}

static void live_cpu_time(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_tree tree = {0};
	struct actor parent, child;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	uint64_t tick_ns = SZ_NS_PER_S / (uint64_t)os.ticks_per_s;
	start_family(&parent, &child);

	assert_int_equal(sz_tree_read(&os, parent.pid, &tree), 0);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.procs[0].ppid, getpid());
	assert_int_equal(tree.procs[1].pid, child.pid);
	uint64_t before_ns = sz_tree_cpu_ns(&tree), child_ns = tree.procs[1].cpu_ns;

	order(&child, 'b');
	assert_int_equal(sz_tree_read(&os, parent.pid, &tree), 0);
	uint64_t burnt_ns = sz_tree_cpu_ns(&tree) - before_ns;
	assert_in_range(burnt_ns, BURN_NS, BURN_NS * 11 / 10);
	assert_in_range(tree.procs[1].cpu_ns - child_ns, BURN_NS, BURN_NS * 11 / 10);

	/* Ended, not waited for: still there, nothing lost, no memory. */
	uint64_t alive_ns = sz_tree_cpu_ns(&tree);
	order(&child, 'q');
	await_zombie(&os, child.pid);
	assert_int_equal(sz_tree_read(&os, parent.pid, &tree), 0);
	assert_int_equal(tree.count, 2);
	assert_true(sz_tree_cpu_ns(&tree) >= alive_ns);
	sz_tree_read_memory(&os, &tree);
	assert_int_equal(tree.procs[1].rss_bytes, 0);
	assert_int_equal(tree.procs[1].pss_bytes, 0);

	/* Waited for: its time has moved to the parent, up to two ticks. */
	uint64_t ended_ns = sz_tree_cpu_ns(&tree);
	order(&parent, 'w');
	assert_int_equal(sz_tree_read(&os, parent.pid, &tree), 0);
	assert_int_equal(tree.count, 1);
	assert_true(tree.procs[0].reaped_cpu_ns + 2 * tick_ns > BURN_NS);
	assert_true(sz_tree_cpu_ns(&tree) + 2 * tick_ns > ended_ns);

	order(&parent, 'q');
	waitpid(parent.pid, NULL, 0);
	assert_int_equal(sz_tree_read(&os, parent.pid, &tree), -ESRCH);
	sz_tree_fini(&tree);
}

static void live_memory(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_tree tree = {0};
	struct actor parent, child;
	assert_int_equal(sz_os_init(&os, "", NULL), 0);
	start_family(&parent, &child);

	assert_int_equal(sz_tree_read(&os, child.pid, &tree), 0);
	sz_tree_read_memory(&os, &tree);
	struct sz_proc before = tree.procs[0];
	assert_in_range(before.pss_bytes, 1, before.rss_bytes);
	order(&child, 't');
	sz_tree_read_memory(&os, &tree);
	assert_in_range(tree.procs[0].rss_bytes - before.rss_bytes, TOUCH_BYTES,
			TOUCH_BYTES * 11 / 10);
	assert_in_range(tree.procs[0].pss_bytes - before.pss_bytes, TOUCH_BYTES,
			TOUCH_BYTES * 11 / 10);

	order(&child, 'q');
	order(&parent, 'q');
	waitpid(parent.pid, NULL, 0);
	sz_tree_fini(&tree);
}

static void live_pids(void **state)
{
	(void)state;
	struct sz_os os;
	sz_autofree pid_t *pids = NULL;
	size_t count = 0, found = 0;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	assert_int_equal(sz_os_pids(&os, &pids, &count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(!i || pids[i] > pids[i - 1]);
		found += pids[i] == getpid();
	}
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uvicorn_tree),      cmocka_unit_test(nginx_tree),
		cmocka_unit_test(circle_of_parents), cmocka_unit_test(role_names),
		cmocka_unit_test(live_cpu_time),     cmocka_unit_test(live_memory),
		cmocka_unit_test(live_pids),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
