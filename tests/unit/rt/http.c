/* SPDX-License-Identifier: Apache-2.0
 *
 * One worker's HTTP: order, framing, refusals, and clients that misbehave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#include <cmocka.h>

#include "rt/inside.h"
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

static void keep_alive(void **state)
{
	(void)state;
	struct client client = client_open(server.port);
	char body[256];
	bool keep = false;
	for (int i = 0; i < 3; i++) {
		client_ask(&client, "/");
		assert_int_equal(client_read(&client, false, &keep, body), 200);
		assert_string_equal(body, "ok\n");
		assert_true(keep);
	}
	client_send(&client, "HEAD / HTTP/1.1\r\n\r\n");
	assert_int_equal(client_read(&client, true, &keep, NULL), 200);
	assert_int_equal(client.len, 0);
	client_send(&client, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_int_equal(client_read(&client, false, &keep, NULL), 200);
	assert_true(keep);
	client_send(&client, "GET / HTTP/1.0\r\n\r\n");
	assert_int_equal(client_read(&client, false, &keep, NULL), 200);
	assert_false(keep);
	assert_true(client_at_end(&client));
	client_close(&client);
}

static void head_of_a_response(void **state)
{
	(void)state;
	struct client client = client_open(server.port);
	client_send(&client, "HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
	ssize_t len = recv(client.fd, client.bytes, sizeof(client.bytes) - 1, MSG_WAITALL);
	assert_true(len > 0);
	client.bytes[len] = '\0';
	assert_ptr_equal(strstr(client.bytes, "HTTP/1.1 200 OK\r\n"), client.bytes);
	assert_non_null(strstr(client.bytes, "\r\nDate: "));
	assert_non_null(strstr(client.bytes, " GMT\r\n"));
	assert_non_null(strstr(client.bytes, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(client.bytes, "\r\nContent-Length: 3\r\n"));
	assert_string_equal(client.bytes + len - 4, "\r\n\r\n");
	client_close(&client);
}

static void pipelined_in_order(void **state)
{
	(void)state;
	static const int statuses[] = {200, 404, 400, 200, 200, 404};
	struct client client = client_open(server.port);
	client_send(&client, "GET /io?ms=10 HTTP/1.1\r\n\r\n"
			     "GET /nothing HTTP/1.1\r\n\r\n"
			     "GET /io?ms=x HTTP/1.1\r\n\r\n"
			     "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
			     "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
			     "3\r\nabc\r\n0\r\nT: x\r\n\r\n"
			     "GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n"
			     "GET / HTTP/1.1\r\n\r\n");
	for (size_t i = 0; i < SZ_ARRAY_LEN(statuses); i++)
		assert_int_equal(client_read(&client, false, NULL, NULL), statuses[i]);
	assert_int_equal(client_read(&client, false, NULL, NULL), 0);
	client_close(&client);
}

/* More comes while the first is still being served. */
static void pipelined_one_by_one(void **state)
{
	(void)state;
	struct client client = client_open(server.port);
	client_ask(&client, "/io?ms=20");
	usleep(2000);
	client_ask(&client, "/nothing");
	usleep(2000);
	client_ask(&client, "/");
	assert_int_equal(client_read(&client, false, NULL, NULL), 200);
	assert_int_equal(client_read(&client, false, NULL, NULL), 404);
	assert_int_equal(client_read(&client, false, NULL, NULL), 200);
	client_close(&client);
}

static void byte_by_byte(void **state)
{
	(void)state;
	static const char text[] = "POST /cpu?ms=0.1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
	struct client client = client_open(server.port);
	for (size_t i = 0; text[i]; i++) {
		char byte[2] = {text[i]};
		client_send(&client, byte);
		usleep(100);
	}
	assert_int_equal(client_read(&client, false, NULL, NULL), 200);
	client_close(&client);
}

static void refusals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{"\x16\x03\x01 TLS?\r\n\r\n", 501},
		{"BREW / HTTP/1.1\r\n\r\n", 501},
		{"CONNECT a:1 HTTP/1.1\r\n\r\n", 501},
		{"GET / HTTP/2.0\r\n\r\n", 505},
		{"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
		{"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct client client = client_open(server.port);
		bool keep = true;
		client_send(&client, cases[i].text);
		assert_int_equal(client_read(&client, false, &keep, NULL), cases[i].status);
		assert_false(keep);
		assert_true(client_at_end(&client));
		client_close(&client);
	}
}

/* The refusal reaches a client that has sent far more than was read. */
static void refusal_of_a_flood(void **state)
{
	(void)state;
	static const struct {
		const char *start;
		int status;
	} cases[] = {{"GET / HTTP/1.1\r\nX: ", 431}, {"GET /", 414}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf text = {0};
		struct client client = client_open(server.port);
		sz_buf_puts(&text, cases[i].start);
		sz_buf_repeat(&text, 'x', 200000);
		client_send(&client, text.data);
		assert_int_equal(client_read(&client, false, NULL, NULL), cases[i].status);
		assert_true(client_at_end(&client));
		client_close(&client);
	}
}

static void half_closed_client(void **state)
{
	(void)state;
	struct client client = client_open(server.port);
	client_ask(&client, "/io?ms=10");
	shutdown(client.fd, SHUT_WR);
	assert_int_equal(client_read(&client, false, NULL, NULL), 200);
	assert_true(client_at_end(&client));
	client_close(&client);
}

/* Clients that end, or reset, while their answer is being made. */
static void vanished_clients(void **state)
{
	(void)state;
	const struct linger reset = {.l_onoff = 1};
	struct client witness = client_open(server.port);
	pid_t worker = client_worker(&witness);
	for (int i = 0; i < 10; i++) {
		struct client client = client_open(server.port);
		if (i % 2)
			setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		client_send(&client, "GET /io?ms=10 HTTP/1.1\r\n\r\nGET /io?ms=5 HTTP/1.1\r\n\r\n");
		usleep(1000);
		client_close(&client);
	}
	assert_int_equal(client_get(&witness, "/io?ms=40", NULL), 200);
	assert_int_equal(client_worker(&witness), worker);
	client_close(&witness);
}

/* A client that reads late holds up nobody, and gets every byte. */
static void slow_reader(void **state)
{
	(void)state;
	struct client slow = client_open(server.port);
	struct client other = client_open(server.port);
	struct sz_http1_response response;
	enum sz_http1_state result = SZ_HTTP1_MORE;
	client_ask(&slow, "/big");
	client_ask(&slow, "/");
	assert_int_equal(client_get(&other, "/", NULL), 200);
	assert_int_equal(client_get(&other, "/io?ms=5", NULL), 200);

	sz_http1_response_init(&response, false);
	while (result == SZ_HTTP1_MORE) {
		size_t used;
		ssize_t len = recv(slow.fd, slow.bytes, sizeof(slow.bytes), 0);
		assert_true(len > 0);
		result = sz_http1_response_feed(&response, slow.bytes, (size_t)len, &used);
		slow.len = (size_t)len - used;
		memmove(slow.bytes, slow.bytes + used, slow.len);
	}
	assert_int_equal(result, SZ_HTTP1_COMPLETE);
	assert_int_equal(response.body_bytes, BIG_BYTES);
	assert_int_equal(client_read(&slow, false, NULL, NULL), 200);
	client_close(&slow);
	client_close(&other);
}

static void query_numbers(void **state)
{
	(void)state;
	static const struct {
		const char *query;
		double number; /* -1: NaN */
	} cases[] = {
		{"", 7},        {"ms=2.5", 2.5},    {"x=1&ms=20", 20}, {"ms=1&ms=2", 1},
		{"msx=1", 7},   {"xms=1", 7},       {"ms=2%2E5", 2.5}, {"ms=0", 0},
		{"ms=", -1},    {"ms", -1},         {"ms=-1", -1},     {"ms=1e3", -1},
		{"ms=inf", -1}, {"ms=0x10", -1},    {"ms=1.2.3", -1},  {"ms=.", -1},
		{"ms=%2", -1},  {"ms=%zz", -1},     {"ms=1%002", -1},  {"&&ms=3", 3},
		{"ms=+1", -1},  {"a=ms=1&ms=4", 4},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_rt_request request = {.query = cases[i].query};
		double number = sz_rt_query_number(&request, "ms", 7);
		if (cases[i].number < 0 ? !isnan(number) : number != cases[i].number)
			fail_msg("%s: %g", cases[i].query, number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keep_alive),         cmocka_unit_test(head_of_a_response),
		cmocka_unit_test(pipelined_in_order), cmocka_unit_test(pipelined_one_by_one),
		cmocka_unit_test(byte_by_byte),       cmocka_unit_test(refusals),
		cmocka_unit_test(refusal_of_a_flood), cmocka_unit_test(half_closed_client),
		cmocka_unit_test(vanished_clients),   cmocka_unit_test(slow_reader),
		cmocka_unit_test(query_numbers),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
