/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows on servers that behave: what is counted, when, and how long it took.
 */
#include "script.h"

#include "base/stop.h"

static struct sz_load_config config;
static struct sz_load_result result;

static void play_hello(int fd)
{
	while (script_read(fd))
		script_answer(fd, HELLO);
}

static void counts_what_the_server_saw(void **state)
{
	(void)state;
	script_start(play_hello, &config, 3);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = 20 * SZ_NS_PER_MS,
					  .max_ns = 5 * SZ_NS_PER_S,
					  .requests = 100};
	uint64_t sent = 0;
	for (int i = 0; i < 2; i++) {
		script_window(load, &span, &result);
		assert_true(result.outcomes[SZ_OUTCOME_OK] >= 100);
		assert_int_equal(result.sent, result.outcomes[SZ_OUTCOME_OK]);
		assert_int_equal(result.attempts, result.sent);
		assert_int_equal(result.body_bytes, 5 * result.sent);
		assert_int_equal(result.latency[SZ_OUTCOME_OK].count, result.sent);
		assert_int_equal(result.ttfb.count, result.sent);
		assert_int_equal(result.error_count, 0);
		assert_int_equal(result.clients_answered, 3);
		assert_int_equal(result.connections_open_at_end, 3);
		assert_true(result.uncounted >= 3);
		assert_true(result.duration_ns >= 20 * SZ_NS_PER_MS);
		assert_true(result.client_cpu_ns > 0);
		assert_true(result.epoll_waits > 0);
		assert_true(result.longest_gap_ns > 0);
		assert_false(result.interrupted);
		sent += result.sent + result.uncounted;
		/* Nothing is in flight now, so the server has seen them all. */
		assert_int_equal(atomic_load(&script_seen->requests), sent);
	}
	assert_int_equal(result.connections_opened, 3);
	assert_int_equal(result.connect.count, 3);
	assert_int_equal(result.reconnects, 0);
	assert_int_equal(atomic_load(&script_seen->connections), 3);
	sz_load_free(load);
}

static char edges[8];

static void note_edge(void *arg, enum sz_edge edge)
{
	assert_ptr_equal(arg, &config);
	static const char *const letters[] = {"s", "e", "d"};
	strncat(edges, letters[edge], sizeof(edges) - strlen(edges) - 1);
}

static void edges_come_in_order(void **state)
{
	(void)state;
	script_start(play_hello, &config, 2);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.max_ns = 10 * SZ_NS_PER_MS,
					  .requests = 1,
					  .at_edge = note_edge,
					  .arg = &config};
	script_window(load, &span, &result);
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_string_equal(edges, "sedsed");
}

static void ends_at_the_latest_time(void **state)
{
	(void)state;
	script_start(play_hello, &config, 1);
	script_load(&config, UINT64_MAX, 30, &result);
	assert_true(result.duration_ns >= 30 * SZ_NS_PER_MS);
	assert_true(result.outcomes[SZ_OUTCOME_OK] > 0);
}

static void warm_up_lasts(void **state)
{
	(void)state;
	script_start(play_hello, &config, 1);
	config.warmup_ns = 40 * SZ_NS_PER_MS;
	uint64_t start_ns = sz_now_ns();
	script_load(&config, 0, 10, &result);
	assert_true(sz_now_ns() - start_ns >= config.warmup_ns);
}

/* The answered counter runs ahead of the accepted one by one client only when
 * each waits for the one ahead. */
static void paced_clients_come_one_by_one(void **state)
{
	(void)state;
	script_start(play_hello, &config, 20);
	script_load(&config, 1, 1000, &result);
	assert_int_equal(result.clients_answered, 20);
	assert_int_equal(atomic_load(&script_seen->connections), 20);
	assert_int_equal(atomic_load(&script_seen->hurried), 0);
}

static void play_slowly(int fd)
{
	while (script_read(fd)) {
		script_sleep_ms(20);
		script_answer(fd, HELLO);
	}
}

static void burst_clients_come_at_once(void **state)
{
	(void)state;
	script_start(play_slowly, &config, 100);
	config.connect = SZ_CONNECT_BURST;
	script_load(&config, 1, 1000, &result);
	assert_int_equal(result.clients_answered, 100);
	assert_int_equal(result.connections_opened, 100);
	assert_true(atomic_load(&script_seen->hurried) > 10);
}

static void known_delay(void **state)
{
	(void)state;
	script_start(play_slowly, &config, 4);
	script_load(&config, 24, 5000, &result);
	const struct sz_hist *latency = &result.latency[SZ_OUTCOME_OK];
	assert_true(latency->count >= 24);
	assert_true(latency->min_ns >= 20 * SZ_NS_PER_MS);
	double p50_ns = sz_hist_quantile_ns(latency, 0.5);
	if (!(p50_ns >= 20e6 && p50_ns < 60e6))
		fail_msg("p50 is %.3f ms where the server takes 20 ms", p50_ns / 1e6);
	assert_true(result.longest_gap_ns < result.duration_ns);
}

static void play_slow_body(int fd)
{
	while (script_read(fd)) {
		script_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
		script_sleep_ms(20);
		script_answer(fd, "lo");
	}
}

static void first_byte_is_not_the_last(void **state)
{
	(void)state;
	script_start(play_slow_body, &config, 1);
	script_load(&config, 5, 5000, &result);
	assert_true(result.latency[SZ_OUTCOME_OK].min_ns >= 20 * SZ_NS_PER_MS);
	assert_true(sz_hist_quantile_ns(&result.ttfb, 0.5) <
		    sz_hist_quantile_ns(&result.latency[SZ_OUTCOME_OK], 0.5) / 2);
}

static void play_very_slowly(int fd)
{
	while (script_read(fd)) {
		script_sleep_ms(60);
		script_answer(fd, HELLO);
	}
}

/* What the window's end cuts is waited for and keeps its whole latency. */
static void stall_across_the_end(void **state)
{
	(void)state;
	script_start(play_very_slowly, &config, 4);
	config.connect = SZ_CONNECT_BURST;
	script_load(&config, UINT64_MAX, 90, &result);
	assert_true(result.sent >= 4);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.outcomes[SZ_OUTCOME_UNFINISHED], 0);
	assert_true(result.latency[SZ_OUTCOME_OK].min_ns >= 60 * SZ_NS_PER_MS);
}

/* The first connection is slow, the others are fast. */
static void play_mixed(int fd)
{
	bool slow = atomic_load(&script_seen->answered) == 0;
	while (script_read(fd)) {
		if (slow)
			script_sleep_ms(40);
		script_answer(fd, HELLO);
	}
}

static uint64_t requests_at_end;

static void note_requests(void *arg, enum sz_edge edge)
{
	(void)arg;
	if (edge == SZ_EDGE_END)
		requests_at_end = atomic_load(&script_seen->requests);
}

/* The slow client's request is under way at t1; the fast one goes on. */
static void load_goes_on_in_the_tail(void **state)
{
	(void)state;
	script_start(play_mixed, &config, 2);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.max_ns = 60 * SZ_NS_PER_MS,
					  .requests = UINT64_MAX,
					  .at_edge = note_requests};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_true(result.latency[SZ_OUTCOME_OK].max_ns >= 40 * SZ_NS_PER_MS);
	assert_true(atomic_load(&script_seen->requests) >= requests_at_end + 10);
}

static pthread_mutex_t only_worker = PTHREAD_MUTEX_INITIALIZER;

static void play_one_at_a_time(int fd)
{
	pthread_mutex_lock(&only_worker);
	play_hello(fd);
	pthread_mutex_unlock(&only_worker);
}

/* A server whose one worker keeps to its first connection. */
static void starved_clients_are_told(void **state)
{
	(void)state;
	script_start(play_one_at_a_time, &config, 3);
	config.connect = SZ_CONNECT_BURST;
	config.timeout_ns = 50 * SZ_NS_PER_MS;
	script_load(&config, UINT64_MAX, 60, &result);
	assert_int_equal(result.clients_answered, 1);
	assert_true(result.outcomes[SZ_OUTCOME_OK] > 0);
	assert_true(result.outcomes[SZ_OUTCOME_TIMEOUT] >= 2);
	assert_true(result.latency[SZ_OUTCOME_TIMEOUT].min_ns >= 50 * SZ_NS_PER_MS);
}

static void play_one_stall(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) == 20)
			script_sleep_ms(100);
		script_answer(fd, HELLO);
	}
}

static void longest_gap(void **state)
{
	(void)state;
	script_start(play_one_stall, &config, 1);
	script_load(&config, 50, 5000, &result);
	assert_true(result.longest_gap_ns >= 100 * SZ_NS_PER_MS);
	assert_true(result.latency[SZ_OUTCOME_OK].max_ns >= 100 * SZ_NS_PER_MS);
	assert_true(sz_hist_quantile_ns(&result.latency[SZ_OUTCOME_OK], 0.5) < 50e6);
}

static void reconnects_when_asked(void **state)
{
	(void)state;
	script_start(play_hello, &config, 1);
	config.reconnect_every = 3;
	script_load(&config, 30, 5000, &result);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.connections_opened, 1 + result.reconnects);
	assert_int_equal(result.connect.count, result.connections_opened);
	assert_int_equal(result.server_closed, 0);
	/* The last connection may have been opened and not used. */
	uint64_t least = (result.sent + result.uncounted + 2) / 3;
	assert_in_range(result.connections_opened, least, least + 1);
}

/* Interruption: the script sends SIGINT while it holds a request. */

static void play_interrupt(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) == 20) {
			kill(getppid(), SIGINT);
			script_hang();
		}
		script_answer(fd, HELLO);
	}
}

static int stop_init(void **state)
{
	(void)state;
	return sz_stop_init(NULL);
}

static int stop_fini(void **state)
{
	sz_stop_fini();
	return script_stop(state);
}

static void interrupted_window(void **state)
{
	(void)state;
	script_start(play_interrupt, &config, 1);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = 60 * SZ_NS_PER_S, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	assert_true(result.interrupted);
	assert_true(result.duration_ns < 60 * SZ_NS_PER_S);
	assert_int_equal(result.outcomes[SZ_OUTCOME_UNFINISHED], 1);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent - 1);
	assert_int_equal(result.sent + result.uncounted, 20);
	assert_int_equal(result.latency[SZ_OUTCOME_UNFINISHED].count, 1);

	/* The request stands: a further window ends before it begins. */
	script_window(load, &span, &result);
	assert_true(result.interrupted);
	assert_int_equal(result.duration_ns, 0);
	assert_int_equal(result.attempts, 0);
	assert_int_equal(result.uncounted, 0);
	sz_load_free(load);
}

static void interrupted_open(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	script_start(play_interrupt, &config, 30);
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	assert_int_equal(sz_load_open(load, &err), -1);
	assert_int_equal(err.code, SZ_INTERRUPTED);
	sz_load_free(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(counts_what_the_server_saw, script_stop),
		cmocka_unit_test_teardown(edges_come_in_order, script_stop),
		cmocka_unit_test_teardown(ends_at_the_latest_time, script_stop),
		cmocka_unit_test_teardown(warm_up_lasts, script_stop),
		cmocka_unit_test_teardown(paced_clients_come_one_by_one, script_stop),
		cmocka_unit_test_teardown(burst_clients_come_at_once, script_stop),
		cmocka_unit_test_teardown(known_delay, script_stop),
		cmocka_unit_test_teardown(first_byte_is_not_the_last, script_stop),
		cmocka_unit_test_teardown(stall_across_the_end, script_stop),
		cmocka_unit_test_teardown(load_goes_on_in_the_tail, script_stop),
		cmocka_unit_test_teardown(starved_clients_are_told, script_stop),
		cmocka_unit_test_teardown(longest_gap, script_stop),
		cmocka_unit_test_teardown(reconnects_when_asked, script_stop),
		cmocka_unit_test_setup_teardown(interrupted_window, stop_init, stop_fini),
		cmocka_unit_test_setup_teardown(interrupted_open, stop_init, stop_fini),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
