/* SPDX-License-Identifier: Apache-2.0
 *
 * Several requests: pages whose calls outnumber their connections, mixes, what
 * is told of each; and windows that end before their time.
 */
#include "script.h"

#include <errno.h>
#include <stdlib.h>

#include "load/requests.h"

static struct sz_load_config config;
static struct sz_load_result result;
static struct sz_requests *requests;

static void ask(const char *const *lines)
{
	struct sz_err err = {0};
	char base[64];
	snprintf(base, sizeof(base), "http://127.0.0.1:%u", config.url.port);
	const struct sz_requests_config shared = {.base = base};
	assert_int_equal(sz_requests_new(&shared, &requests, &err), 0);
	for (; *lines; lines++) {
		if (sz_requests_add(requests, *lines, &err) < 0)
			fail_msg("%s", err.message);
	}
	config.requests = requests;
}

static int stop(void **state)
{
	sz_requests_free(requests);
	requests = NULL;
	return script_stop(state);
}

/* Which of its paths, as "/3", a request asked for. */
static int read_path(int fd)
{
	char text[4096];
	size_t len = 0;
	while (len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0) {
		ssize_t n = recv(fd, text + len, sizeof(text) - len, 0);
		if (n <= 0)
			return -1;
		len += (size_t)n;
	}
	atomic_fetch_add(&script_seen->requests, 1);
	const char *slash = memchr(text, '/', len);
	return slash[1] - '0';
}

/* Path N waits N x 10 ms. */
static void play_by_path(int fd)
{
	for (int path; (path = read_path(fd)) >= 0;) {
		script_sleep_ms((unsigned)path * 10);
		script_answer(fd, HELLO);
	}
}

static const struct sz_load_part *part_of(const char *label)
{
	size_t i = 0;
	while (i < result.part_count && strcmp(result.parts[i].label, label) != 0)
		i++;
	assert_true(i < result.part_count);
	return &result.parts[i];
}

static void a_page_over_two_connections(void **state)
{
	(void)state;
	static const char *const page[] = {"/1", "/2", "/3", "/1", "/2", NULL};
	script_start(play_by_path, &config, 4);
	ask(page);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.users = 2;
	config.calls = 5;
	config.pause_ns = SZ_NS_PER_MS;
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 3, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	assert_int_equal(result.sent, 2 * 5 * 3);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 2 * 5 * 3);
	assert_int_equal(result.connections_opened, 4);
	assert_int_equal(result.part_count, 3);
	assert_int_equal(part_of("GET /1")->outcomes[SZ_OUTCOME_OK], 2 * 2 * 3);
	assert_int_equal(part_of("GET /3")->outcomes[SZ_OUTCOME_OK], 2 * 3);
	/* 90 ms over two connections; /3 begins when /1 is over. */
	assert_true(result.slowest.min_ns >= 45 * SZ_NS_PER_MS);
	assert_true(part_of("GET /3")->ttfb.min_ns >= 40 * SZ_NS_PER_MS);
	size_t slowest = 0;
	for (size_t i = 0; i < result.part_count; i++)
		slowest += result.parts[i].slowest_rounds;
	assert_int_equal(slowest, 3);
	sz_load_free(load);
}

/* The second call of a page is answered with an error, the others go on. */
static void play_second_fails(int fd)
{
	for (int path; (path = read_path(fd)) >= 0;) {
		if (path == 2)
			script_answer(fd, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
		else
			script_answer(fd, HELLO);
	}
}

static void a_failed_call_keeps_the_page_going(void **state)
{
	(void)state;
	static const char *const page[] = {"/1", "/2", "/3", NULL};
	script_start(play_second_fails, &config, 1);
	ask(page);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.calls = 3;
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 2, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	assert_int_equal(result.rounds_failed, 2);
	assert_int_equal(result.rounds[0].failed, 1);
	assert_int_equal(part_of("GET /2")->outcomes[SZ_OUTCOME_HTTP_ERROR], 2);
	assert_int_equal(part_of("GET /3")->outcomes[SZ_OUTCOME_OK], 2);
	sz_load_free(load);
}

static void users_share_the_clients(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_load *load;
	script_config(&config, 9, 5);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.users = 2;
	assert_int_equal(sz_load_new(&config, &load, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
}

static void a_mix_is_drawn_by_weight(void **state)
{
	(void)state;
	static const char *const mix[] = {"/0 weight=9", "/1 weight=1", NULL};
	script_start(play_by_path, &config, 2);
	ask(mix);
	config.seed = 3;
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.requests = 400, .max_ns = 30 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	double often = (double)part_of("GET /0")->outcomes[SZ_OUTCOME_OK];
	double rarely = (double)part_of("GET /1")->outcomes[SZ_OUTCOME_OK];
	assert_true(often + rarely == (double)result.outcomes[SZ_OUTCOME_OK]);
	/* Five standard deviations of a binomial share. */
	assert_true(rarely / (often + rarely) > 0.1 - 5 * 0.3 / 20);
	assert_true(rarely / (often + rarely) < 0.1 + 5 * 0.3 / 20);
	sz_load_free(load);
}

static void beyond_the_room_they_are_all_others(void **state)
{
	(void)state;
	char lines[SZ_LOAD_PARTS_MAX + 5][16];
	const char *page[SZ_LOAD_PARTS_MAX + 6] = {NULL};
	for (size_t i = 0; i < SZ_ARRAY_LEN(lines); i++) {
		snprintf(lines[i], sizeof(lines[i]), "/0?%zu", i);
		page[i] = lines[i];
	}
	script_start(play_by_path, &config, 1);
	ask(page);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.calls = SZ_ARRAY_LEN(lines);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 1, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	assert_int_equal(result.part_count, SZ_LOAD_PARTS_MAX);
	const struct sz_load_part *others = &result.parts[SZ_LOAD_PARTS_MAX - 1];
	assert_null(others->label);
	assert_int_equal(others->outcomes[SZ_OUTCOME_OK], 6);
	sz_load_free(load);
}

/* Of four answers three are errors. */
static void play_mostly_errors(int fd)
{
	for (unsigned count = 0; script_read(fd); count++) {
		script_sleep_ms(1);
		script_answer(fd,
			      count % 4 ? "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n" : HELLO);
	}
}

static void a_window_that_mostly_fails_is_aborted(void **state)
{
	(void)state;
	script_start(play_mostly_errors, &config, 2);
	script_load(&config, 1000000, 60000, &result);
	assert_int_equal(result.aborted, SZ_ABORT_ERRORS);
	assert_true(result.duration_ns >= SZ_ABORT_LEAST_NS);
	assert_true(result.duration_ns < 30 * SZ_NS_PER_S);
	assert_true(result.outcomes[SZ_OUTCOME_OK] > 0);
}

/* A hundred answers, then nothing but resets. */
static void play_dies(int fd)
{
	const struct linger reset = {.l_onoff = 1};
	while (atomic_load(&script_seen->answered) < 100 && script_read(fd))
		script_answer(fd, HELLO);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void a_window_whose_service_is_gone_is_aborted(void **state)
{
	(void)state;
	script_start(play_dies, &config, 4);
	script_load(&config, 1000000, 60000, &result);
	assert_int_equal(result.aborted, SZ_ABORT_DEAD);
	assert_true(result.duration_ns >= SZ_ABORT_DEAD_NS);
	assert_true(result.duration_ns < 30 * SZ_NS_PER_S);
	assert_true(result.connect_failed + result.outcomes[SZ_OUTCOME_SOCKET_ERROR] >=
		    SZ_ABORT_DEAD_COUNT);
}

/* A service that stands still may go on. */
static void play_stands_still(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->answered) >= 100)
			script_hang();
		script_answer(fd, HELLO);
	}
}

static void a_window_of_time_outs_is_not(void **state)
{
	(void)state;
	script_start(play_stands_still, &config, 2);
	config.timeout_ns = 500 * SZ_NS_PER_MS;
	script_load(&config, 1000000, 4000, &result);
	assert_int_equal(result.aborted, SZ_ABORT_NONE);
	assert_true(result.outcomes[SZ_OUTCOME_TIMEOUT] >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_page_over_two_connections, stop),
		cmocka_unit_test_teardown(a_failed_call_keeps_the_page_going, stop),
		cmocka_unit_test_teardown(users_share_the_clients, stop),
		cmocka_unit_test_teardown(a_mix_is_drawn_by_weight, stop),
		cmocka_unit_test_teardown(beyond_the_room_they_are_all_others, stop),
		cmocka_unit_test_teardown(a_window_that_mostly_fails_is_aborted, stop),
		cmocka_unit_test_teardown(a_window_whose_service_is_gone_is_aborted, stop),
		cmocka_unit_test_teardown(a_window_of_time_outs_is_not, stop),
	};
	return cmocka_run_group_tests_name("load/page", tests, NULL, NULL);
}
