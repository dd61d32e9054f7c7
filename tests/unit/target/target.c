/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a target: start, alive, stop, and what it inherits.
 */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static void expect_not_started(struct service *service, enum sz_code code, struct sz_err *err)
{
	assert_int_equal(service_start(service, err), -1);
	assert_null(service->target);
	assert_int_equal(err->code, code);
	/* Not even a guard was left behind. */
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static void misspelt_command(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, (const char *const[]){"uvcorn", "app:app", NULL});
	expect_not_started(&service, SZ_USAGE, &err);
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.message, "cannot run 'uvcorn': No such file or directory");
	assert_contains(err.hint, "spelling");
}

static void command_that_is_no_program(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, (const char *const[]){"/etc/passwd", NULL});
	expect_not_started(&service, SZ_USAGE, &err);
	assert_int_equal(err.errnum, EACCES);
	assert_contains(err.hint, "chmod +x");
}

static void wrong_configurations(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, (const char *const[]){NULL});
	expect_not_started(&service, SZ_USAGE, &err);

	service_init(&service, SH("exit {code}"));
	expect_not_started(&service, SZ_USAGE, &err);
	assert_contains(err.message, "{code}");

	service_init(&service, SH("exit 0"));
	service_set_env(&service, (const char *const[]){"=x", NULL});
	expect_not_started(&service, SZ_USAGE, &err);
	service_set_env(&service, (const char *const[]){"PORT", NULL});
	expect_not_started(&service, SZ_USAGE, &err);
	assert_contains(err.message, "'PORT'");
}

static void busy_port_names_its_owner(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("exit 0"));
	sz_autoclose int fd =
		sz_listen(&(struct sz_listen_options){.port = service.port, .backlog = 1}, NULL);
	assert_true(fd >= 0);
	expect_not_started(&service, SZ_MACHINE, &err);
	char owner[64];
	snprintf(owner, sizeof(owner), "port %u is busy: test-target", service.port);
	assert_contains(err.message, owner);
	snprintf(owner, sizeof(owner), "(pid %d)", (int)getpid());
	assert_contains(err.message, owner);
}

static void start_and_stop(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	struct sz_stopped stopped;
	service_init(&service, PYTHON(PYTHON_SERVER("", "", "b'200'")));
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	pid_t guard = sz_target_guard_pid(service.target);
	pid_t command = sz_target_pid(service.target);
	assert_true(ready.settled);
	assert_true(ready.ready_ns > 0);
	assert_true(ready.settled_ns >= ready.ready_ns + 200 * MS);
	assert_true(ready.start_cpu_ns > 0);
	assert_true(sz_target_alive(service.target, NULL));
	assert_int_equal(getpgid(command), command);
	assert_int_equal(getsid(command), guard);
	assert_false(port_is_free(service.port));

	sz_target_stop(service.target, &stopped);
	assert_true(WIFSIGNALED(stopped.wait_status));
	assert_int_equal(WTERMSIG(stopped.wait_status), SIGTERM);
	assert_false(stopped.killed);
	assert_true(stopped.exit_ns > 0);
	assert_int_equal(kill(command, 0), -1);
	assert_int_equal(kill(guard, 0), -1);
	assert_true(port_is_free(service.port));
}

static void environment(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("echo \"$BIND and $HOME\"; exit 1"));
	service_set_env(&service, (const char *const[]){"BIND=*:{port}", "HOME=/nowhere", NULL});
	expect_not_ready(&service, &err);
	char want[64];
	snprintf(want, sizeof(want), "\n  *:%u and /nowhere", service.port);
	assert_contains(err.message, want);
	assert_null(getenv("BIND"));
}

static void no_descriptor_is_inherited(void **state)
{
	(void)state;
	int fds[300];
	for (size_t i = 0; i < SZ_ARRAY_LEN(fds); i++)
		fds[i] = open("/dev/null", O_RDONLY); /* not close-on-exec */
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("ls -m /proc/self/fd; readlink /proc/self/fd/0; exit 1"));
	expect_not_ready(&service, &err);
	for (size_t i = 0; i < SZ_ARRAY_LEN(fds); i++)
		close(fds[i]);
	/* The fourth is the directory that ls reads. */
	assert_contains(err.message, ":\n  0, 1, 2, 3\n  /dev/null");
}

/* Without a shell, which has a mask of its own while it forks. */
static void signals_are_the_defaults(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	signal(SIGPIPE, SIG_IGN);
	service_init(&service, (const char *const[]){"grep", "-E", "Sig(Blk|Ign)",
						     "/proc/self/status", NULL});
	expect_not_ready(&service, &err);
	signal(SIGPIPE, SIG_DFL);
	assert_contains(err.message, "\n  SigBlk: 0000000000000000\n");
	assert_contains(err.message, "\n  SigIgn: 0000000000000000");
}

static int64_t rss_pages(pid_t pid)
{
	struct sz_os os;
	char text[128];
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	assert_true(sz_os_read(&os, text, sizeof(text), "/proc/%d/statm", (int)pid) > 0);
	return strtoll(strchr(text, ' '), NULL, 10);
}

static void chatty_service_neither_blocks_nor_grows(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("yes 'GET / 200' | head -c 50000000; echo half;"
				  "kill -STOP $$;"
				  "echo done >&2; exit 9"));
	service_start_ok(&service);
	int64_t before = rss_pages(sz_target_guard_pid(service.target));
	char status[1024] = "";
	struct sz_os os;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	/* Stopped: everything is written. */
	while (!strstr(status, ") T")) {
		assert_true(sz_os_read(&os, status, sizeof(status), "/proc/%d/stat",
				       (int)sz_target_pid(service.target)) > 0);
		sleep_ms(5);
	}
	assert_true(sz_target_alive(service.target, NULL));
	int64_t after = rss_pages(sz_target_guard_pid(service.target));
	assert_true((after - before) * sysconf(_SC_PAGESIZE) < 4 << 20);
	kill(sz_target_pid(service.target), SIGCONT);
	while (sz_target_alive(service.target, &err))
		sleep_ms(5);
	sz_target_stop(service.target, NULL);
	assert_contains(err.message, "exited with status 9");
	assert_contains(err.message, "  GET / 200\n  half\n  done");
}

static void two_at_once(void **state)
{
	(void)state;
	struct service first;
	struct service second;
	struct sz_ready ready;
	service_init(&first, PYTHON(PYTHON_SERVER("", "", "b'200'")));
	service_start_ok(&first);
	service_ready_ok(&first, &ready);
	service_init(&second, PYTHON(PYTHON_SERVER("", "", "b'302'")));
	service_start_ok(&second);
	service_ready_ok(&second, &ready);

	sz_target_stop(first.target, NULL);
	assert_true(port_is_free(first.port));
	assert_true(sz_target_alive(second.target, NULL));
	assert_false(port_is_free(second.port));
	sz_target_stop(second.target, NULL);
	assert_true(port_is_free(second.port));
}

/* Other children of the program are none of the target's business. */
static void other_children_are_left_alone(void **state)
{
	(void)state;
	pid_t other = fork();
	if (other == 0)
		_exit(5);
	struct service service;
	service_init(&service, SH("exec sleep 60"));
	service_start_ok(&service);
	sz_target_stop(service.target, NULL);
	int wait_status;
	assert_int_equal(waitpid(other, &wait_status, 0), other);
	assert_int_equal(WEXITSTATUS(wait_status), 5);
	sz_target_stop(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misspelt_command),
		cmocka_unit_test(command_that_is_no_program),
		cmocka_unit_test(wrong_configurations),
		cmocka_unit_test(busy_port_names_its_owner),
		cmocka_unit_test(start_and_stop),
		cmocka_unit_test(environment),
		cmocka_unit_test(no_descriptor_is_inherited),
		cmocka_unit_test(signals_are_the_defaults),
		cmocka_unit_test(chatty_service_neither_blocks_nor_grows),
		cmocka_unit_test(two_at_once),
		cmocka_unit_test(other_children_are_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
