/* SPDX-License-Identifier: Apache-2.0
 *
 * The promise of the guard: nothing of a service is left, however it behaves
 * and however sizeup ends.
 *
 * The test is a subreaper. Whatever a guard lost would become a child of the
 * test, so "nothing is left" is "waitpid() says ECHILD".
 */
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Generous, for slow machines: a lost process would live for ever. */
#define PATIENCE_MS 10000

static void expect_nothing_left(void)
{
	for (unsigned waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		sleep_ms(5);
	}
	fail_msg("processes of the service are left");
}

/* Wait until the tree below the guard has `count` processes, or more. */
static void await_processes(const struct service *service, size_t count)
{
	struct sz_tree tree = {0};
	for (unsigned waited_ms = 0; tree.count < 1 + count; waited_ms += 5) {
		assert_true(waited_ms < PATIENCE_MS);
		sleep_ms(5);
		sz_tree_read(&service->os, sz_target_guard_pid(service->target), &tree);
	}
	sz_tree_fini(&tree);
}

static void sigterm_is_ignored(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	struct sz_stopped stopped;
	service_init(&service, PYTHON(PYTHON_SERVER(IGNORE_SIGTERM, "", "b'200'")));
	service.config.stop_timeout_ns = 100 * MS;
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	sz_target_stop(service.target, &stopped);
	assert_true(stopped.killed);
	assert_true(stopped.exit_ns >= 100 * MS);
	assert_int_equal(WTERMSIG(stopped.wait_status), SIGKILL);
	expect_nothing_left();
	assert_true(port_is_free(service.port));
}

static void supervisor_stops_its_worker(void **state)
{
	(void)state;
	struct service service;
	struct sz_stopped stopped;
	/* The worker would die of SIGTERM; only the supervisor may get it. */
	service_init(&service, SH("trap 'kill -USR1 $!; wait $!; exit $?' TERM;"
				  "sh -c 'trap \"exit 44\" TERM; trap \"exit 7\" USR1;"
				  "       while :; do sleep 0.02; done' & wait"));
	service_start_ok(&service);
	await_processes(&service, 3);
	sleep_ms(50); /* the traps */
	sz_target_stop(service.target, &stopped);
	assert_false(stopped.killed);
	assert_true(WIFEXITED(stopped.wait_status));
	assert_int_equal(WEXITSTATUS(stopped.wait_status), 7);
	expect_nothing_left();
}

/* The command dies of SIGTERM and leaves two generations behind. */
static void orphans_are_told_too(void **state)
{
	(void)state;
	struct service service;
	struct sz_stopped stopped;
	service_init(&service, SH("(sleep 60 & sleep 60; :) & wait"));
	service_start_ok(&service);
	await_processes(&service, 4);
	sz_target_stop(service.target, &stopped);
	assert_false(stopped.killed);
	assert_int_equal(WTERMSIG(stopped.wait_status), SIGTERM);
	expect_nothing_left();
}

static void daemon_is_alive_and_stopped(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	struct sz_stopped stopped;
	service_init(&service, PYTHON(PYTHON_SERVER(DAEMONISE, "", "b'200'")));
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	/* The command itself is gone; the daemon it left stands in for it. */
	assert_int_equal(kill(sz_target_pid(service.target), 0), 0);
	assert_int_not_equal(sz_target_pid(service.target), sz_target_guard_pid(service.target));
	assert_true(sz_target_alive(service.target, NULL));
	sz_target_stop(service.target, &stopped);
	assert_false(stopped.killed);
	assert_int_equal(stopped.wait_status, 0);
	expect_nothing_left();
	assert_true(port_is_free(service.port));
}

static void failed_command_is_dead_whatever_it_left(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("sleep 60 & exit 4"));
	service_start_ok(&service);
	while (sz_target_alive(service.target, &err))
		sleep_ms(5);
	assert_contains(err.message, "exited with status 4");
	sz_target_stop(service.target, NULL);
	expect_nothing_left();
}

/* Each process lives only as long as it takes to fork the next one. */
static void chain_of_forks(void **state)
{
	(void)state;
	struct service service;
	service_init(&service, PYTHON((IGNORE_SIGTERM "import os\n"
						      "while True:\n"
						      "    if os.fork(): os._exit(0)\n")));
	service.config.stop_timeout_ns = 50 * MS;
	service_start_ok(&service);
	sleep_ms(100);
	assert_true(sz_target_alive(service.target, NULL));
	sz_target_stop(service.target, NULL);
	expect_nothing_left();
}

/* Three processes that each start others as fast as they can. */
static void forking_while_killed(void **state)
{
	(void)state;
	struct service service;
	service_init(&service, PYTHON(IGNORE_SIGTERM "import os, time\n"
						     "os.fork() or os.fork()\n"
						     "for _ in range(300):\n"
						     "    if not os.fork():\n"
						     "        os.setsid(); time.sleep(60)\n"
						     "time.sleep(60)\n"));
	service.config.stop_timeout_ns = 0;
	service_start_ok(&service);
	await_processes(&service, 20);
	sz_target_stop(service.target, NULL);
	expect_nothing_left();
}

static void guard_killed_from_outside(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	struct sz_stopped stopped;
	service_init(&service, SH("exec sleep 60"));
	service_start_ok(&service);
	kill(sz_target_guard_pid(service.target), SIGKILL);
	while (sz_target_alive(service.target, &err))
		sleep_ms(5);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "guard");
	sz_target_stop(service.target, &stopped);
	assert_true(stopped.killed);
	expect_nothing_left(); /* the command died with its parent */
}

static void guard_told_to_end_takes_all_along(void **state)
{
	(void)state;
	struct service service;
	service_init(&service, PYTHON(PYTHON_SERVER(IGNORE_SIGTERM DAEMONISE, "", "b'200'")));
	struct sz_ready ready;
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	kill(sz_target_guard_pid(service.target), SIGTERM);
	while (sz_target_alive(service.target, NULL))
		sleep_ms(5);
	sz_target_stop(service.target, NULL);
	expect_nothing_left();
	assert_true(port_is_free(service.port));
}

/* --- sizeup is killed --- */

/* In a child that plays sizeup: start, wait until ready, say so, hang. */
static _Noreturn void play_sizeup(const char *const *argv, int say_fd, void (*also)(void))
{
	struct service service;
	struct sz_ready ready;
	service_init(&service, argv);
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	if (also)
		also();
	if (write(say_fd, &service.port, sizeof(service.port)) < 0)
		_exit(1);
	for (;;)
		pause();
}

static uint16_t start_and_kill_sizeup(const char *const *argv, void (*also)(void))
{
	int say[2];
	assert_int_equal(pipe(say), 0);
	pid_t sizeup = fork();
	if (sizeup == 0)
		play_sizeup(argv, say[1], also);
	close(say[1]);
	uint16_t port = 0;
	assert_int_equal(read(say[0], &port, sizeof(port)), sizeof(port));
	close(say[0]);
	assert_false(port_is_free(port));
	kill(sizeup, SIGKILL);
	return port;
}

static void killed_sizeup(void **state)
{
	(void)state;
	uint16_t port = start_and_kill_sizeup(PYTHON(PYTHON_SERVER("", "", "b'200'")), NULL);
	expect_nothing_left();
	assert_true(port_is_free(port));
}

static void killed_sizeup_and_stubborn_daemon(void **state)
{
	(void)state;
	uint16_t port =
		start_and_kill_sizeup(PYTHON(PYTHON_SERVER(IGNORE_SIGTERM DAEMONISE,
							   "os.fork(); os.fork()", "b'200'")),
				      NULL);
	expect_nothing_left();
	assert_true(port_is_free(port));
}

static void fork_bystander(void)
{
	if (fork() == 0) {
		for (;;)
			pause();
	}
}

/* A child of sizeup that outlives it holds the pair open. */
static void killed_sizeup_with_a_child_that_lives_on(void **state)
{
	(void)state;
	uint16_t port =
		start_and_kill_sizeup(PYTHON(PYTHON_SERVER("", "", "b'200'")), fork_bystander);
	unsigned waited_ms = 0;
	for (; waited_ms < PATIENCE_MS && !port_is_free(port); waited_ms += 5)
		sleep_ms(5);
	assert_true(port_is_free(port));
	struct sz_os os;
	struct sz_tree tree = {0};
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	assert_int_equal(sz_tree_read(&os, getpid(), &tree), 0);
	for (size_t i = 1; i < tree.count; i++)
		kill(tree.procs[i].pid, SIGKILL);
	sz_tree_fini(&tree);
	expect_nothing_left();
}

int main(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sigterm_is_ignored),
		cmocka_unit_test(supervisor_stops_its_worker),
		cmocka_unit_test(orphans_are_told_too),
		cmocka_unit_test(daemon_is_alive_and_stopped),
		cmocka_unit_test(failed_command_is_dead_whatever_it_left),
		cmocka_unit_test(chain_of_forks),
		cmocka_unit_test(forking_while_killed),
		cmocka_unit_test(guard_killed_from_outside),
		cmocka_unit_test(guard_told_to_end_takes_all_along),
		cmocka_unit_test(killed_sizeup),
		cmocka_unit_test(killed_sizeup_and_stubborn_daemon),
		cmocka_unit_test(killed_sizeup_with_a_child_that_lives_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
