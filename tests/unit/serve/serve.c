/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference server costs what it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>

#include <cmocka.h>

#include "rt/server.h"

static struct server server;

static int setup(void **state)
{
	(void)state;
	server = server_start((struct server_options){0});
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

static void statuses(void **state)
{
	(void)state;
	static const struct {
		const char *target;
		int status;
	} cases[] = {
		{"/", 200},           {"/?x=1", 200},       {"/io", 200},
		{"/io?ms=0", 200},    {"/io?ms=0.5", 200},  {"/cpu?ms=0.5", 200},
		{"/block?ms=1", 200}, {"/cpu", 200},        {"/io?ms=60001", 400},
		{"/cpu?ms=-1", 400},  {"/block?ms=x", 400}, {"/io?ms=", 400},
		{"/nothing", 404},    {"/io/", 404},        {"/nothing?ms=x", 404},
	};
	struct client client = client_open(server.port);
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		char body[256];
		int status = client_get(&client, cases[i].target, body);
		if (status != cases[i].status)
			fail_msg("%s: %d", cases[i].target, status);
		assert_ptr_equal(strchr(body, '\n'), body + strlen(body) - 1);
	}
	client_close(&client);
}

#define CLIENTS 50

/* All ask at once; the time until the last answer. */
static uint64_t ask_together(const char *target, size_t count)
{
	struct client clients[CLIENTS];
	for (size_t i = 0; i < count; i++) {
		clients[i] = client_open(server.port);
		assert_int_equal(client_get(&clients[i], "/", NULL), 200);
	}
	uint64_t start_ns = sz_now_ns();
	for (size_t i = 0; i < count; i++)
		client_ask(&clients[i], target);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(client_read(&clients[i], false, NULL, NULL), 200);
		client_close(&clients[i]);
	}
	return sz_now_ns() - start_ns;
}

static void io_overlaps(void **state)
{
	(void)state;
	uint64_t alone_ns = ask_together("/io?ms=50", 1);
	uint64_t together_ns = ask_together("/io?ms=50", CLIENTS);
	assert_true(alone_ns >= 50 * SZ_NS_PER_MS);
	assert_true(together_ns >= 50 * SZ_NS_PER_MS);
	assert_true(together_ns < alone_ns * CLIENTS / 4);
}

static void block_serialises(void **state)
{
	(void)state;
	assert_true(ask_together("/block?ms=10", 10) >= 100 * SZ_NS_PER_MS);
}

static void cpu_burns_what_it_says(void **state)
{
	(void)state;
	clockid_t clock;
	struct client client = client_open(server.port);
	assert_int_equal(clock_getcpuclockid(client_worker(&client), &clock), 0);
	uint64_t before_ns = sz_clock_ns(clock);
	for (int i = 0; i < 20; i++)
		assert_int_equal(client_get(&client, "/cpu?ms=10", NULL), 200);
	double burnt_ms = sz_ns_to_ms(sz_clock_ns(clock) - before_ns);
	client_close(&client);
	if (burnt_ms < 200 || burnt_ms > 220)
		fail_msg("200 ms asked, %.1f ms burnt", burnt_ms);
}

#define RIVALS 40

/* All connect at once and ask again after each answer, until `total` answers
 * have come; how many each got. */
static void ask_in_turn(uint16_t port, const char *target, unsigned total, unsigned answers[RIVALS])
{
	struct client clients[RIVALS];
	struct pollfd waits[RIVALS];
	memset(answers, 0, RIVALS * sizeof(answers[0]));
	for (int i = 0; i < RIVALS; i++) {
		clients[i] = client_open(port);
		waits[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
		client_ask(&clients[i], target);
	}
	for (unsigned answered = 0; answered < total;) {
		assert_true(poll(waits, RIVALS, 5000) > 0);
		for (int i = 0; i < RIVALS; i++) {
			if (!waits[i].revents)
				continue;
			assert_int_equal(client_read(&clients[i], false, NULL, NULL), 200);
			client_ask(&clients[i], target);
			answers[i]++;
			answered++;
		}
	}
	for (int i = 0; i < RIVALS; i++)
		client_close(&clients[i]);
}

/* A busy worker serves in turn: nobody gets a second answer long before the
 * others have had theirs. A client that the scheduler keeps from asking misses
 * its turn, so the bound leaves room for that; without turns it is 0 to 20. */
static void busy_worker_is_fair(void **state)
{
	(void)state;
	unsigned answers[RIVALS];
	ask_in_turn(server.port, "/block?ms=1", 5 * RIVALS, answers);
	for (int i = 0; i < RIVALS; i++)
		assert_in_range(answers[i], 3, 8);
}

/* Busy workers go on accepting, however many connections keep them busy: nobody
 * is left without an answer. Each worker gives half of the 160: more than 16 for
 * one client would mean that fewer than 5 of the 40 share its worker. */
static void busy_workers_accept(void **state)
{
	(void)state;
	unsigned answers[RIVALS];
	struct server pair = server_start((struct server_options){.workers = 2});
	ask_in_turn(pair.port, "/block?ms=3", 4 * RIVALS, answers);
	for (int i = 0; i < RIVALS; i++)
		assert_in_range(answers[i], 1, 16);
	server_stop(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
		cmocka_unit_test(io_overlaps),
		cmocka_unit_test(block_serialises),
		cmocka_unit_test(cpu_burns_what_it_says),
		cmocka_unit_test(busy_worker_is_fair),
		cmocka_unit_test(busy_workers_accept),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
