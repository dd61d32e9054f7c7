/* SPDX-License-Identifier: Apache-2.0
 *
 * Who serves a port: captured trees, and a live one that accepts on order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "os/sock.h"

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

struct expected {
	enum sz_role role;
	unsigned connections;
	bool holds_listener;
};

static void check_tree(const char *name, pid_t root_pid, uint16_t port, const struct expected *want,
		       size_t count, struct sz_port_view *view)
{
	struct sz_os os = capture(name);
	struct sz_tree tree = {0};
	assert_int_equal(sz_tree_read(&os, root_pid, &tree), 0);
	assert_int_equal(tree.count, count);
	assert_int_equal(sz_tree_classify(&os, &tree, port, view), 0);
	for (size_t i = 0; i < count; i++) {
		print_message("%s/%d\n", name, tree.procs[i].pid);
		assert_int_equal(tree.procs[i].role, want[i].role);
		assert_int_equal(tree.procs[i].connections, want[i].connections);
		assert_int_equal(tree.procs[i].holds_listener, want[i].holds_listener);
	}
	sz_tree_fini(&tree);
}

static void uvicorn_roles(void **state)
{
	(void)state;
	static const struct expected want[] = {
		{SZ_ROLE_SUPERVISOR, 0, true},
		{SZ_ROLE_HELPER, 0, false}, /* resource tracker */
		{SZ_ROLE_WORKER, 1, true},
		{SZ_ROLE_WORKER, 6, true},
	};
	struct sz_port_view view;
	check_tree("uvicorn", 16543, 8000, want, SZ_ARRAY_LEN(want), &view);
	assert_int_equal(view.listeners, 1);
	assert_int_equal(view.listen_queue, 0);
	assert_int_equal(view.established, 7);
	assert_true(view.fds_readable);
}

static void nginx_roles(void **state)
{
	(void)state;
	static const struct expected want[] = {
		{SZ_ROLE_SUPERVISOR, 0, true}, {SZ_ROLE_WORKER, 2, true},
		{SZ_ROLE_WORKER, 5, true},     {SZ_ROLE_HELPER, 0, false}, /* cache manager */
		{SZ_ROLE_HELPER, 0, false},                                /* cache loader */
		{SZ_ROLE_HELPER, 0, false},
	};
	struct sz_port_view view;
	check_tree("nginx", 16548, 8080, want, SZ_ARRAY_LEN(want), &view);
	assert_int_equal(view.listeners, 2); /* IPv4 and IPv6 */
	assert_int_equal(view.listen_queue, 3);
	assert_int_equal(view.established, 7);

	struct sz_os os = capture("nginx");
	assert_int_equal(sz_listen_queue(&os, 16548, 8080), 3);
	assert_int_equal(sz_listen_queue(&os, 16548, 8081), 0);
	assert_int_equal(sz_listen_queue(&os, 4711, 8080), -ENOENT);
}

/* A supervisor that accepts and hands connections over. Not connections: a
 * client's end, one nobody accepted yet, CLOSE_WAIT, TIME_WAIT. Two
 * descriptors of two processes on one socket: once, for the child. */
static void cluster_roles(void **state)
{
	(void)state;
	static const struct expected want[] = {
		{SZ_ROLE_SUPERVISOR, 0, true},  {SZ_ROLE_WORKER, 1, false},
		{SZ_ROLE_WORKER, 0, false}, /* idle, runs what the first one runs */
		{SZ_ROLE_HELPER, 0, false}, /* runs something else */
		{SZ_ROLE_HELPER, 0, false}, /* ended */
		{SZ_ROLE_SUPERVISOR, 0, false}, {SZ_ROLE_WORKER, 1, false},
	};
	struct sz_port_view view;
	check_tree("cluster", 20, 3000, want, SZ_ARRAY_LEN(want), &view);
	assert_int_equal(view.listeners, 1);
	assert_int_equal(view.listen_queue, 1);
	assert_int_equal(view.established, 2);

	struct sz_os os = capture("cluster");
	pid_t pid = 0;
	char comm[32];
	assert_int_equal(sz_port_owner(&os, 3000, &pid, comm), 0);
	assert_int_equal(pid, 20);
	assert_string_equal(comm, "node");
	pid = 42;
	assert_int_equal(sz_port_owner(&os, 3001, &pid, comm), -ESRCH); /* holder not visible */
	assert_int_equal(sz_port_owner(&os, 3002, &pid, comm), -ESRCH);
	assert_int_equal(pid, 42);
}

static void no_tables(void **state)
{
	(void)state;
	struct sz_os os = capture("circle");
	struct sz_tree tree = {0};
	struct sz_port_view view = {.listeners = 42};
	assert_int_equal(sz_tree_classify(&os, &tree, 80, &view), -ESRCH);
	assert_int_equal(sz_tree_read(&os, 5, &tree), 0);
	tree.procs[0].role = SZ_ROLE_WORKER;
	assert_int_equal(sz_tree_classify(&os, &tree, 80, &view), -ENOENT);
	assert_int_equal(tree.procs[0].role, SZ_ROLE_WORKER);
	assert_int_equal(view.listeners, 42);
	sz_tree_fini(&tree);
}

/* ---- live ---- */

struct server {
	struct sz_os os;
	struct sz_tree tree;
	int listener;
	uint16_t port;
};

static int bind_loopback(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin_port);
}

static struct server start_server(void)
{
	struct server server = {0};
	assert_int_equal(sz_os_init(&server.os, NULL, NULL), 0);
	server.listener = bind_loopback(0);
	server.port = port_of(server.listener);
	assert_int_equal(listen(server.listener, 16), 0);
	return server;
}

static void stop_server(struct server *server)
{
	close(server->listener);
	sz_tree_fini(&server->tree);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static struct sz_port_view look(struct server *server)
{
	struct sz_port_view view = {0};
	assert_int_equal(sz_tree_read(&server->os, getpid(), &server->tree), 0);
	assert_int_equal(sz_tree_classify(&server->os, &server->tree, server->port, &view), 0);
	return view;
}

static struct sz_proc find(const struct server *server, pid_t pid)
{
	for (size_t i = 0; i < server->tree.count; i++)
		if (server->tree.procs[i].pid == pid)
			return server->tree.procs[i];
	fail_msg("process %d is not in the tree", pid);
	return (struct sz_proc){0};
}

/* A child that accepts so many connections, says so, and waits for its end. */
static pid_t start_worker(const struct server *server, unsigned accepts)
{
	int ready[2];
	char byte = 0;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < accepts; i++)
			if (accept(server->listener, NULL, NULL) < 0)
				_exit(1);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* A child with another name that keeps no socket. */
static pid_t start_helper(const struct server *server)
{
	int ready[2];
	char byte = 0;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "logger");
		close(server->listener);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void live_workers(void **state)
{
	(void)state;
	struct server server = start_server();
	int clients[6];
	for (size_t i = 0; i < SZ_ARRAY_LEN(clients); i++)
		clients[i] = connect_to(server.port);

	struct sz_port_view view = look(&server);
	assert_int_equal(sz_listen_queue(&server.os, getpid(), server.port), 6);
	assert_int_equal(view.listen_queue, 6);
	assert_int_equal(view.established, 0);
	assert_int_equal(find(&server, getpid()).role, SZ_ROLE_WORKER);

	pid_t three = start_worker(&server, 3), two = start_worker(&server, 2);
	pid_t helper = start_helper(&server);
	view = look(&server);
	assert_int_equal(view.listeners, 1);
	assert_int_equal(view.listen_queue, 1);
	assert_int_equal(view.established, 5);
	assert_true(view.fds_readable);
	assert_int_equal(find(&server, three).connections, 3);
	assert_int_equal(find(&server, two).connections, 2);
	assert_int_equal(find(&server, three).role, SZ_ROLE_WORKER);
	assert_int_equal(find(&server, two).role, SZ_ROLE_WORKER);
	assert_int_equal(find(&server, helper).role, SZ_ROLE_HELPER);
	assert_string_equal(find(&server, helper).comm, "logger");
	assert_int_equal(server.tree.procs[0].role, SZ_ROLE_SUPERVISOR);
	assert_int_equal(server.tree.procs[0].connections, 0);

	/* The client hangs up, for all processes that inherited its socket; the
	 * worker still holds the other end. */
	assert_int_equal(shutdown(clients[0], SHUT_WR), 0);
	for (int i = 0; i < 1000 && look(&server).established != 4; i++)
		usleep(1000);
	assert_int_equal(look(&server).established, 4);
	assert_int_equal(find(&server, three).connections, 2);

	for (size_t i = 1; i < SZ_ARRAY_LEN(clients); i++)
		close(clients[i]);
	stop_child(three);
	stop_child(two);
	stop_child(helper);
	stop_server(&server);
}

static void live_port_owner(void **state)
{
	(void)state;
	struct server server = start_server();
	pid_t pid = 0;
	char comm[32] = "", name[32] = "";
	assert_int_equal(prctl(PR_GET_NAME, name), 0);
	assert_int_equal(sz_port_owner(&server.os, server.port, &pid, comm), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(comm, name);

	/* A second socket on the port, as services with SO_REUSEPORT have. */
	sz_autoclose int second = bind_loopback(server.port);
	assert_int_equal(listen(second, 16), 0);
	assert_int_equal(look(&server).listeners, 2);

	sz_autoclose int bound = bind_loopback(0); /* ours, but nobody listens */
	assert_int_equal(sz_port_owner(&server.os, port_of(bound), &pid, comm), -ESRCH);
	assert_int_equal(sz_listen_queue(&server.os, getpid(), port_of(bound)), 0);
	stop_server(&server);
}

/* Seen by another user, the tree hides its descriptors. */
static void hidden_descriptors(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	struct server server = start_server();
	pid_t root = getpid(), pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct sz_port_view view = {.fds_readable = true};
		bool ok = setresuid(65534, 65534, 65534) == 0 &&
			  sz_tree_read(&server.os, root, &server.tree) == 0 &&
			  sz_tree_classify(&server.os, &server.tree, server.port, &view) == 0 &&
			  view.listeners == 1 && !view.fds_readable;
		_exit(ok ? 0 : 1);
	}
	int status = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	stop_server(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uvicorn_roles),      cmocka_unit_test(nginx_roles),
		cmocka_unit_test(cluster_roles),      cmocka_unit_test(no_tables),
		cmocka_unit_test(live_workers),       cmocka_unit_test(live_port_owner),
		cmocka_unit_test(hidden_descriptors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
