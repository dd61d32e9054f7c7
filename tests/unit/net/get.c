/* SPDX-License-Identifier: Apache-2.0
 *
 * Listeners and the blocking GET, against a child that answers one connection
 * with fixed bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "net/get.h"
#include "net/listener.h"

static void url_of_port(uint16_t port, struct sz_url *url, struct sz_addr *addr)
{
	*url = (struct sz_url){.host = "127.0.0.1", .port = port, .target = "/x"};
	assert_int_equal(sz_url_resolve(url, addr, NULL), 0);
}

/* Accept once, read the head, answer, close. Never returns. */
static _Noreturn void answer_once(int listener, const char *answer)
{
	struct pollfd wait = {.fd = listener, .events = POLLIN};
	poll(&wait, 1, 5000);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char request[4096];
	ssize_t len = recv(fd, request, sizeof(request) - 1, 0);
	request[len > 0 ? len : 0] = '\0';
	if (strncmp(request, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:", 33) != 0)
		_exit(1);
	_exit(send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0);
}

/* sz_get() from a server that gives this answer. */
static int get_answer(const char *answer, int *status, struct sz_err *err)
{
	sz_autoclose int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	assert_true(listener >= 0);
	pid_t child = fork();
	if (child == 0)
		answer_once(listener, answer);
	struct sz_url url;
	struct sz_addr addr;
	int child_status;
	url_of_port(sz_socket_port(listener), &url, &addr);
	int result = sz_get(&url, &addr, NULL, sz_now_ns() + 5 * SZ_NS_PER_S, status, err);
	assert_int_equal(waitpid(child, &child_status, 0), child);
	assert_int_equal(child_status, 0);
	return result;
}

static void answers(void **state)
{
	(void)state;
	static const struct {
		const char *answer;
		int status;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 503},
		{"HTTP/1.0 404 No\r\n\r\nuntil close", 404},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		int status = 0;
		struct sz_err err = {0};
		if (get_answer(cases[i].answer, &status, &err) < 0)
			fail_msg("%s: %s", cases[i].answer, err.message);
		assert_int_equal(status, cases[i].status);
	}
}

static void no_answers(void **state)
{
	(void)state;
	static const char *const cases[] = {
		"",
		"SSH-2.0-x\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		int status = 42;
		struct sz_err err = {0};
		assert_int_equal(get_answer(cases[i], &status, &err), -1);
		assert_int_equal(status, 42);
		assert_int_equal(err.errnum, EPROTO);
		assert_int_equal(err.code, SZ_MACHINE);
	}
}

static void refused_port(void **state)
{
	(void)state;
	struct sz_url url;
	struct sz_addr addr;
	struct sz_err err = {0};
	int status;
	uint16_t port = sz_free_port(NULL);
	assert_true(port > 0);
	url_of_port(port, &url, &addr);
	assert_int_equal(sz_get(&url, &addr, NULL, sz_now_ns() + 5 * SZ_NS_PER_S, &status, &err),
			 -1);
	assert_int_equal(err.errnum, ECONNREFUSED);
}

/* Nobody accepts, so the kernel does, and no answer ever comes. */
static void silent_server(void **state)
{
	(void)state;
	sz_autoclose int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	struct sz_url url;
	struct sz_addr addr;
	struct sz_err err = {0};
	int status;
	url_of_port(sz_socket_port(listener), &url, &addr);
	assert_int_equal(sz_get(&url, &addr, NULL, sz_now_ns() + 20 * SZ_NS_PER_MS, &status, &err),
			 -1);
	assert_int_equal(err.errnum, ETIMEDOUT);

	assert_int_equal(sz_stop_init(NULL), 0);
	pid_t self = getpid();
	pid_t child = fork();
	if (child == 0) {
		usleep(20000);
		_exit(kill(self, SIGTERM));
	}
	int result = sz_get(&url, &addr, NULL, sz_now_ns() + 10 * SZ_NS_PER_S, &status, &err);
	waitpid(child, NULL, 0);
	sz_stop_fini();
	assert_int_equal(result, -1);
	assert_int_equal(err.errnum, ECANCELED);
	assert_int_equal(err.code, SZ_INTERRUPTED);
}

static void listeners(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_listen_options options = {.backlog = 8};
	sz_autoclose int first = sz_listen(&options, &err);
	assert_true(first >= 0);
	options.port = sz_socket_port(first);
	assert_true(options.port > 0);

	assert_int_equal(sz_listen(&options, &err), -1);
	assert_int_equal(err.errnum, EADDRINUSE);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_non_null(strstr(err.hint, "--port"));

	options = (struct sz_listen_options){.host = "localhost"};
	assert_int_equal(sz_listen(&options, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);

	options = (struct sz_listen_options){.backlog = 8, .reuseport = true};
	sz_autoclose int second = sz_listen(&options, &err);
	options.port = sz_socket_port(second);
	sz_autoclose int third = sz_listen(&options, &err);
	assert_true(second >= 0 && third >= 0);
	assert_int_equal(sz_socket_port(third), options.port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),      cmocka_unit_test(no_answers),
		cmocka_unit_test(refused_port), cmocka_unit_test(silent_server),
		cmocka_unit_test(listeners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
