/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a service: until it answers and is calm, or why it never does.
 */
#include "service.h"

static void exit_at_once(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("echo starting; echo 'no such app' >&2; exit 3"));
	expect_not_ready(&service, &err);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "the service exited with status 3 after ");
	assert_contains(err.message, "its last output:\n  starting\n  no such app");
	assert_contains(err.hint, "/bin/sh -c 'echo starting");
}

static void silent_exit(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("exit 0"));
	expect_not_ready(&service, &err);
	assert_contains(err.message, "exited with status 0");
	assert_contains(err.message, "it printed nothing");
	assert_contains(err.hint, "elsewhere");
}

static void killed_by_a_signal(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("kill -9 $$"));
	expect_not_ready(&service, &err);
	assert_contains(err.message, "was killed by signal 9");
	assert_contains(err.hint, "dmesg");
}

static void never_listens(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("echo listening on 9999; exec sleep 60"));
	service.config.ready_timeout_ns = 300 * MS;
	expect_not_ready(&service, &err);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "not ready after 0.3 s");
	assert_contains(err.message, "Connection refused");
	assert_contains(err.message, "listening on 9999");
	assert_contains(err.hint, "{port}");
	assert_contains(err.hint, "--ready-timeout");
}

/* A service that listens, but at the deadline still answers an error. */
static void expect_refusal(const char *const *argv, struct sz_err *err)
{
	struct service service;
	struct sz_ready ready;
	service_init(&service, argv);
	service.config.ready_timeout_ns = 1 * MS;
	service_start_ok(&service);
	service_await_answer(&service);
	assert_int_equal(sz_target_wait_ready(service.target, &ready, err), -1);
	sz_target_stop(service.target, NULL);
}

static void answers_404(void **state)
{
	(void)state;
	struct sz_err err = {0};
	expect_refusal(PYTHON(PYTHON_SERVER("", "", "b'404'")), &err);
	assert_int_equal(err.code, SZ_USAGE);
	assert_string_equal(err.message, "the service answers 404 for /up");
	assert_contains(err.hint, "--ready");
}

static void answers_503(void **state)
{
	(void)state;
	struct sz_err err = {0};
	expect_refusal(PYTHON(PYTHON_SERVER("", "", "b'503'")), &err);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "it answers 503 for /up");
}

static void errors_while_starting_are_forgiven(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	service_init(&service, PYTHON(PYTHON_SERVER("left = [b'200', b'404', b'503', b'404']", "",
						    "(left.pop() if len(left) > 1 else left[0])")));
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	sz_target_stop(service.target, NULL);
}

static void burning_start_up_is_waited_for(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	/* Answers from a thread while the main thread burns 400 ms of CPU. */
	service_init(&service, PYTHON("import threading, time\n"
				      "def serve():\n"
				      "    import socket\n"
				      "    s = socket.create_server(('127.0.0.1', {port}))\n"
				      "    while True:\n"
				      "        c, _ = s.accept()\n"
				      "        c.recv(4096)\n"
				      "        c.sendall(b'HTTP/1.1 200 X\\r\\nContent-Length: "
				      "0\\r\\n\\r\\n')\n"
				      "        c.close()\n"
				      "threading.Thread(target=serve).start()\n"
				      "while time.thread_time() < 0.4: pass\n"));
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	assert_true(ready.settled);
	assert_true(ready.start_cpu_ns >= 400 * MS);
	sz_target_stop(service.target, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_at_once),
		cmocka_unit_test(silent_exit),
		cmocka_unit_test(killed_by_a_signal),
		cmocka_unit_test(never_listens),
		cmocka_unit_test(answers_404),
		cmocka_unit_test(answers_503),
		cmocka_unit_test(errors_while_starting_are_forgiven),
		cmocka_unit_test(burning_start_up_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
