/* SPDX-License-Identifier: Apache-2.0
 *
 * Supervisor and workers: start, spread, restart, stop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "rt/server.h"

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void graceful_stop(void **state)
{
	(void)state;
	struct server server = server_start((struct server_options){.workers = 2});
	struct client busy[2] = {client_open(server.port), client_open(server.port)};
	struct client idle = client_open(server.port);
	pid_t workers[2];
	bool keep = true;
	for (int i = 0; i < 2; i++)
		workers[i] = client_worker(&busy[i]);
	assert_int_equal(client_get(&idle, "/", NULL), 200);
	assert_int_not_equal(workers[0], workers[1]);

	client_ask(&busy[0], "/io?ms=150");
	client_ask(&busy[1], "/io?ms=100");
	usleep(20000);
	uint64_t start_ns = sz_now_ns();
	kill(server.pid, SIGTERM);
	assert_true(client_at_end(&idle));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(client_read(&busy[i], false, &keep, NULL), 200);
		assert_false(keep);
	}
	assert_int_equal(server_wait(&server), 0);
	assert_true(sz_now_ns() - start_ns < 4 * SZ_NS_PER_S); /* not by the budget */
	assert_true(is_gone(workers[0]) && is_gone(workers[1]));
	assert_int_equal(client_open(server.port).fd, -1);
	client_close(&busy[0]);
	client_close(&busy[1]);
	client_close(&idle);
}

/* Requests that have arrived but were not read yet are in flight, too. */
static void stop_answers_what_has_arrived(void **state)
{
	(void)state;
	struct server server = server_start((struct server_options){0});
	struct client blocker = client_open(server.port);
	struct client waiting[5];
	client_ask(&blocker, "/block?ms=60");
	for (size_t i = 0; i < SZ_ARRAY_LEN(waiting); i++) {
		waiting[i] = client_open(server.port);
		client_ask(&waiting[i], "/");
	}
	usleep(20000);
	kill(server.pid, SIGTERM);
	assert_int_equal(client_read(&blocker, false, NULL, NULL), 200);
	for (size_t i = 0; i < SZ_ARRAY_LEN(waiting); i++) {
		assert_int_equal(client_read(&waiting[i], false, NULL, NULL), 200);
		client_close(&waiting[i]);
	}
	assert_int_equal(server_wait(&server), 0);
	client_close(&blocker);
}

/* Neither a blocked worker nor an endless request outlives the budget. */
static void stop_within_the_budget(void **state)
{
	(void)state;
	static const char *const targets[] = {"/block?ms=20000", "/io?ms=20000"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(targets); i++) {
		struct server server =
			server_start((struct server_options){.stop_budget_ns = 50 * SZ_NS_PER_MS});
		struct client client = client_open(server.port);
		pid_t worker = client_worker(&client);
		client_ask(&client, targets[i]);
		usleep(20000);
		server_stop(&server);
		assert_true(is_gone(worker));
		assert_int_equal(client_read(&client, false, NULL, NULL), 0);
		client_close(&client);
	}
}

static void second_signal_kills(void **state)
{
	(void)state;
	struct server server =
		server_start((struct server_options){.stop_budget_ns = 60 * SZ_NS_PER_S});
	struct client client = client_open(server.port);
	pid_t worker = client_worker(&client);
	client_ask(&client, "/io?ms=20000");
	usleep(10000);
	kill(server.pid, SIGTERM);
	usleep(10000);
	kill(server.pid, SIGINT);
	assert_int_equal(server_wait(&server), 0);
	assert_true(is_gone(worker));
	client_close(&client);
}

/* A worker that blocks ends with its supervisor as well. */
static void no_worker_outlives_the_supervisor(void **state)
{
	(void)state;
	struct server server = server_start((struct server_options){.workers = 2});
	struct client clients[2] = {client_open(server.port), client_open(server.port)};
	pid_t workers[2];
	for (int i = 0; i < 2; i++)
		workers[i] = client_worker(&clients[i]);
	client_ask(&clients[0], "/block?ms=20000");
	usleep(10000);
	kill(server.pid, SIGKILL);
	assert_int_equal(server_wait(&server), 128 + SIGKILL);
	for (int i = 0; i < 2; i++) {
		int status;
		assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		client_close(&clients[i]);
	}
}

static void killed_worker_is_restarted(void **state)
{
	(void)state;
	for (int reuseport = 0; reuseport < 2; reuseport++) {
		struct server server =
			server_start((struct server_options){.reuseport = reuseport});
		struct client first = client_open(server.port);
		pid_t worker = client_worker(&first);
		kill(worker, reuseport ? SIGTERM : SIGKILL);
		assert_int_equal(client_read(&first, false, NULL, NULL), 0);
		struct client second = client_open(server.port);
		assert_int_not_equal(client_worker(&second), worker);
		client_close(&first);
		client_close(&second);
		server_stop(&server);
		assert_int_equal(client_open(server.port).fd, -1);
	}
}

#define SPREAD_WORKERS 4
#define SPREAD_CLIENTS 40

/* Open connections one after the other; how many each worker got. */
static void spread(struct client *clients, uint16_t port, unsigned counts[SPREAD_WORKERS])
{
	pid_t workers[SPREAD_WORKERS] = {0};
	for (int i = 0; i < SPREAD_CLIENTS; i++) {
		clients[i] = client_open(port);
		pid_t worker = client_worker(&clients[i]);
		size_t at = 0;
		while (at < SPREAD_WORKERS && workers[at] && workers[at] != worker)
			at++;
		assert_true(at < SPREAD_WORKERS);
		workers[at] = worker;
		counts[at]++;
	}
}

static void connections_spread(void **state)
{
	(void)state;
	for (int reuseport = 0; reuseport < 2; reuseport++) {
		struct server server = server_start((struct server_options){
			.workers = SPREAD_WORKERS,
			.reuseport = reuseport,
		});
		struct client clients[SPREAD_CLIENTS];
		unsigned counts[SPREAD_WORKERS] = {0};
		usleep(20000); /* until all workers are there */
		spread(clients, server.port, counts);
		for (size_t i = 0; i < SPREAD_WORKERS && !reuseport; i++) {
			if (counts[i] < 5 || counts[i] > 15)
				fail_msg("%u %u %u %u", counts[0], counts[1], counts[2], counts[3]);
		}
		for (size_t i = 0; i < SPREAD_CLIENTS; i++)
			client_close(&clients[i]);
		server_stop(&server);
	}
}

/* A worker that hangs while it is lightest keeps nobody from being served. */
static void wedged_worker_holds_up_nobody(void **state)
{
	(void)state;
	struct server server = server_start((struct server_options){.workers = 2});
	struct client clients[8];
	struct client blocker = client_open(server.port);
	client_ask(&blocker, "/block?ms=20000");
	usleep(20000);
	for (size_t i = 0; i < SZ_ARRAY_LEN(clients); i++) {
		clients[i] = client_open(server.port);
		assert_int_equal(client_get(&clients[i], "/", NULL), 200);
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(clients); i++)
		client_close(&clients[i]);
	kill(server.pid, SIGTERM);
	kill(server.pid, SIGINT);
	assert_int_equal(server_wait(&server), 0);
	client_close(&blocker);
}

static uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;
	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return sz_clock_ns(clock);
}

#define FLOOD_CLIENTS 40

/* Out of descriptors: no spinning, and those in the queue get their turn. */
static void out_of_descriptors(void **state)
{
	(void)state;
	struct server server = server_start((struct server_options){.descriptors = 24});
	struct client clients[FLOOD_CLIENTS];
	for (int i = 0; i < FLOOD_CLIENTS; i++) {
		clients[i] = client_open(server.port);
		client_ask(&clients[i], "/pid");
	}
	char body[256];
	assert_int_equal(client_read(&clients[0], false, NULL, body), 200);
	pid_t worker = (pid_t)strtol(body, NULL, 10);
	usleep(20000);
	uint64_t before_ns = process_cpu_ns(worker);
	usleep(250000);
	assert_true(process_cpu_ns(worker) - before_ns < 50 * SZ_NS_PER_MS);
	for (int i = 1; i < FLOOD_CLIENTS; i++) {
		client_close(&clients[i - 1]);
		assert_int_equal(client_read(&clients[i], false, NULL, NULL), 200);
	}
	client_close(&clients[FLOOD_CLIENTS - 1]);
	server_stop(&server);
}

static void bad_configurations(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_rt_config config = {.workers = 0, .handle = sz_serve_handle};
	assert_int_equal(sz_rt_run(&config, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);

	sz_autoclose int taken = sz_listen(&(struct sz_listen_options){.backlog = 1}, NULL);
	config = (struct sz_rt_config){
		.workers = 1,
		.port = sz_socket_port(taken),
		.handle = sz_serve_handle,
	};
	assert_int_equal(sz_rt_run(&config, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(err.errnum, EADDRINUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graceful_stop),
		cmocka_unit_test(stop_answers_what_has_arrived),
		cmocka_unit_test(stop_within_the_budget),
		cmocka_unit_test(second_signal_kills),
		cmocka_unit_test(no_worker_outlives_the_supervisor),
		cmocka_unit_test(killed_worker_is_restarted),
		cmocka_unit_test(connections_spread),
		cmocka_unit_test(wedged_worker_holds_up_nobody),
		cmocka_unit_test(out_of_descriptors),
		cmocka_unit_test(bad_configurations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
