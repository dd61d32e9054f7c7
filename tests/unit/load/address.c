/* SPDX-License-Identifier: Apache-2.0
 *
 * Several addresses of one service: who gets which connection, and what becomes of
 * one where nobody listens.
 */
#include "script.h"

#include <errno.h>

static struct sz_load_config config;
static struct sz_load_result result;
static struct sz_addrs addrs;
static struct sz_err err;

static void play_hello(int fd)
{
	while (script_read(fd))
		script_answer(fd, HELLO);
}

/* 127.0.0.1, .2 …, with the port of the script. */
static void begin(const char *host, size_t count, unsigned clients)
{
	script_host = host;
	script_start(play_hello, &config, clients);
	const struct sockaddr_in *first = (const void *)&config.addr.storage;
	addrs = (struct sz_addrs){.count = count};
	for (size_t i = 0; i < count; i++) {
		addrs.list[i] = sz_addr_local((unsigned)i);
		((struct sockaddr_in *)(void *)&addrs.list[i].storage)->sin_port = first->sin_port;
	}
	config.addr = addrs.list[0];
	config.addrs = &addrs;
}

static int end(void **state)
{
	script_host = NULL;
	return script_stop(state);
}

static void connections_go_round(void **state)
{
	(void)state;
	static const unsigned turns[] = {0, 5};
	begin("0.0.0.0", 4, 10);
	for (size_t t = 0; t < SZ_ARRAY_LEN(turns); t++) {
		config.turn = turns[t];
		script_load(&config, 100, 5000, &result);
		assert_int_equal(result.address_count, 4);
		for (size_t i = 0; i < 4; i++) {
			size_t place = (i + 4 - turns[t] % 4) % 4;
			assert_memory_equal(&result.addresses[i].addr, &addrs.list[i],
					    sizeof(addrs.list[i]));
			assert_int_equal(result.addresses[i].opened, place < 2 ? 3 : 2);
			assert_int_equal(result.addresses[i].failed, 0);
			assert_int_equal(result.addresses[i].left_out, 0);
		}
		assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.attempts);
	}
}

static void one_address_is_not_told_of(void **state)
{
	(void)state;
	begin(NULL, 1, 2);
	script_load(&config, 10, 5000, &result);
	assert_int_equal(result.address_count, 0);
	config.addrs = NULL;
	script_load(&config, 10, 5000, &result);
	assert_int_equal(result.address_count, 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.attempts);
}

/* Wherever it comes in turn, and however connections are opened. */
static void where_nobody_listens_is_left_out(void **state)
{
	static const char *const listening[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};
	for (size_t at = 0; at < 2 * SZ_ARRAY_LEN(listening); at++) {
		begin(listening[at / 2], 3, 6);
		config.connect = at % 2 ? SZ_CONNECT_BURST : SZ_CONNECT_PACED;
		config.arrivals = at == 5 ? SZ_ARRIVALS_BURST : SZ_ARRIVALS_CLOSED;
		struct sz_load *load = script_open(&config);
		const struct sz_load_span span = {.requests = 30,
						  .max_ns = 5 * SZ_NS_PER_S,
						  .rounds = 5};
		script_window(load, &span, &result);
		sz_load_free(load);
		assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.attempts);
		for (size_t i = 0; i < 3; i++) {
			bool listens = i == at / 2;
			assert_int_equal(result.addresses[i].opened, listens ? 6 : 0);
			assert_int_equal(result.addresses[i].left_out, listens ? 0 : ECONNREFUSED);
			assert_int_equal(result.addresses[i].failed > 0, !listens);
		}
		end(state);
	}
}

static void nobody_listens_anywhere(void **state)
{
	struct sz_load *load = NULL;
	begin(NULL, 3, 2);
	script_stop(state);
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	assert_int_equal(sz_load_open(load, &err), -1);
	sz_load_free(load);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(err.errnum, ECONNREFUSED);
	assert_non_null(strstr(err.message, "none of the 3 addresses of 127.0.0.1"));
	assert_non_null(strstr(err.message, "127.0.0.3:"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(connections_go_round, end),
		cmocka_unit_test_teardown(one_address_is_not_told_of, end),
		cmocka_unit_test_teardown(where_nobody_listens_is_left_out, end),
		cmocka_unit_test_teardown(nobody_listens_anywhere, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
