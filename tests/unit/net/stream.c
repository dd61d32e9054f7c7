/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams without TLS: both kinds of sockets, where they come from, and what
 * is said when there is nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/listener.h"
#include "net/stream.h"

static char directory[] = "/tmp/sizeup-stream-XXXXXX";

static struct sz_route unix_route(const char *name)
{
	struct sz_route route = {0};
	char path[64];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(sz_addr_unix(path, &route.addr, NULL), 0);
	return route;
}

static struct sz_route tcp_route(int listener)
{
	struct sz_addrs found;
	assert_int_equal(sz_resolve("127.0.0.1", sz_socket_port(listener), &found, NULL), 0);
	return (struct sz_route){.addr = found.list[0]};
}

static int listen_unix(const struct sz_route *route, int backlog)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&route->addr.storage, route->addr.len),
			 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void wait_for(int fd, short events)
{
	struct pollfd wait = {.fd = fd, .events = events};
	assert_int_equal(poll(&wait, 1, 10000), 1);
}

/* Bytes there and back, the end of each direction, and what is asked for in
 * between; `peer` is the other side of the connection. */
static void check_conversation(struct sz_stream *stream, int peer)
{
	char bytes[8];
	wait_for(stream->fd, POLLOUT);
	assert_int_equal(sz_stream_connected(stream), 0);
	assert_int_equal(sz_stream_handshake(stream, NULL), 0);
	assert_int_equal(sz_stream_alpn(stream), SZ_ALPN_NONE);
	assert_false(sz_stream_is_resumed(stream));

	assert_int_equal(sz_stream_read(stream, bytes, sizeof(bytes)), -EAGAIN);
	assert_int_equal(stream->wants, EPOLLIN);
	assert_int_equal(sz_stream_write(stream, "ask", 3), 3);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 3);
	assert_int_equal(send(peer, "answered", 8, 0), 8);
	wait_for(stream->fd, POLLIN);
	assert_int_equal(sz_stream_read(stream, bytes, 5), 5);
	assert_false(sz_stream_pending(stream));
	assert_int_equal(sz_stream_read(stream, bytes, 5), 3);
	assert_memory_equal(bytes, "red", 3);

	assert_int_equal(sz_stream_shutdown(stream), 0);
	assert_int_equal(recv(peer, bytes, sizeof(bytes), 0), 0);
	assert_int_equal(close(peer), 0);
	wait_for(stream->fd, POLLIN);
	assert_int_equal(sz_stream_read(stream, bytes, sizeof(bytes)), 0);
	assert_int_equal(sz_stream_write(stream, "x", 1), -EPIPE);
	sz_stream_close(stream);
	assert_int_equal(stream->fd, -1);
}

static void over_tcp(void **state)
{
	(void)state;
	struct sz_stream stream;
	sz_autoclose int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	struct sz_route route = tcp_route(listener);
	assert_int_equal(sz_stream_open(&stream, &route), 0);
	wait_for(listener, POLLIN);
	check_conversation(&stream, accept(listener, NULL, NULL));
}

static void over_a_unix_socket(void **state)
{
	(void)state;
	struct sz_stream stream;
	struct sz_route route = unix_route("conversation");
	sz_autoclose int listener = listen_unix(&route, 8);
	assert_int_equal(sz_stream_open(&stream, &route), 0);
	check_conversation(&stream, accept(listener, NULL, NULL));
}

static void a_peer_that_does_not_read(void **state)
{
	(void)state;
	static char bytes[65536];
	struct sz_stream stream;
	struct sz_route route = unix_route("full");
	sz_autoclose int listener = listen_unix(&route, 8);
	assert_true(listener >= 0);
	assert_int_equal(sz_stream_open(&stream, &route), 0);
	ssize_t sent;
	do
		sent = sz_stream_write(&stream, bytes, sizeof(bytes));
	while (sent > 0);
	assert_int_equal(sent, -EAGAIN);
	assert_int_equal(stream.wants, EPOLLOUT);
	sz_stream_close(&stream);
}

static void check_words(const struct sz_route *route, int errnum, const char *hint)
{
	struct sz_err err = {0};
	char text[64];
	assert_int_equal(sz_stream_explain(route, errnum, &err), -1);
	assert_int_equal(err.errnum, errnum);
	assert_non_null(strstr(err.message, sz_addr_text(&route->addr, text)));
	if (!strstr(err.hint, hint))
		fail_msg("%s (%s)", err.message, err.hint);
}

static void nobody_there(void **state)
{
	(void)state;
	struct sz_stream stream;
	struct sz_route route = unix_route("absent");
	assert_int_equal(sz_stream_open(&stream, &route), -ENOENT);
	assert_int_equal(stream.fd, -1);
	check_words(&route, ENOENT, "correct the path");

	int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	route = tcp_route(listener);
	close(listener);
	int status = sz_stream_open(&stream, &route);
	if (status == 0) {
		wait_for(stream.fd, POLLOUT);
		status = sz_stream_connected(&stream);
		sz_stream_close(&stream);
	}
	assert_int_equal(status, -ECONNREFUSED);
	check_words(&route, ECONNREFUSED, "start the service");
}

static void full_queue_of_a_unix_socket(void **state)
{
	(void)state;
	struct sz_stream first, second;
	struct sz_route route = unix_route("queue");
	sz_autoclose int listener = listen_unix(&route, 0);
	assert_int_equal(sz_stream_open(&first, &route), 0);
	assert_int_equal(sz_stream_open(&second, &route), -EAGAIN);
	check_words(&route, EAGAIN, "backlog");
	int accepted = accept(listener, NULL, NULL);
	assert_int_equal(sz_stream_open(&second, &route), 0);
	close(accepted);
	sz_stream_close(&first);
	sz_stream_close(&second);
}

static void sources_in_turn(void **state)
{
	(void)state;
	static const char *const texts[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.1"};
	sz_autoclose int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	struct sz_route route = tcp_route(listener);
	route.source_count = 3;
	for (size_t i = 0; i < SZ_ARRAY_LEN(texts); i++) {
		struct sz_stream stream;
		struct sz_addr peer = {.len = sizeof(peer.storage)};
		char text[64];
		assert_int_equal(sz_stream_open(&stream, &route), 0);
		wait_for(listener, POLLIN);
		int fd = accept(listener, (struct sockaddr *)&peer.storage, &peer.len);
		assert_true(fd >= 0);
		*strchr(sz_addr_text(&peer, text), ':') = '\0';
		assert_string_equal(text, texts[i]);
		close(fd);
		sz_stream_close(&stream);
	}
}

static int write_file(const char *path, const char *text)
{
	sz_autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* A network of our own with two local ports. */
static int enter_small_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -1;
	sz_autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return -1;
	return write_file("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001");
}

/* How many connections one address can have, with so many sources. Leaves all
 * open: they end with the process. */
static int count_connections(uint16_t port, unsigned sources, int *last)
{
	struct sz_addrs found;
	int count = 0;
	if (sz_resolve("127.0.0.1", port, &found, NULL) < 0)
		return -1;
	struct sz_route route = {.addr = found.list[0], .source_count = sources};
	for (;; count++) {
		struct sz_stream stream;
		*last = sz_stream_open(&stream, &route);
		if (*last < 0)
			return count;
	}
}

enum { SKIPPED = 77 };

static int exhaust_ports(unsigned sources)
{
	int last = 0;
	if (enter_small_network() < 0)
		return SKIPPED;
	int listener = sz_listen(&(struct sz_listen_options){.port = 8000, .backlog = 8}, NULL);
	if (listener < 0)
		return SKIPPED;
	int count = count_connections(8000, sources, &last);
	return last == -EADDRNOTAVAIL ? count : 99;
}

static void local_ports_run_out(void **state)
{
	(void)state;
	static const struct {
		unsigned sources;
		int connections;
	} cases[] = {{0, 2}, {1, 2}, {3, 6}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(exhaust_ports(cases[i].sources));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == SKIPPED)
			skip();
		assert_int_equal(WEXITSTATUS(status), cases[i].connections);
	}
	struct sz_route route = {.addr = sz_addr_local(0)};
	check_words(&route, EADDRNOTAVAIL, "TIME-WAIT");
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const names[] = {"conversation", "full", "queue"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++) {
		char path[64];
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_tcp),
		cmocka_unit_test(over_a_unix_socket),
		cmocka_unit_test(a_peer_that_does_not_read),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(full_queue_of_a_unix_socket),
		cmocka_unit_test(sources_in_turn),
		cmocka_unit_test(local_ports_run_out),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
