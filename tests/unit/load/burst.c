/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts: what each round counts, and what it waits for.
 */
#include "script.h"

#include <errno.h>
#include <poll.h>

#include "base/stop.h"

static struct sz_load_config config;
static struct sz_load_result result;

static void start(script_play *play, unsigned clients)
{
	script_start(play, &config, clients);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.pause_ns = 2 * SZ_NS_PER_MS;
}

/* Open, one window of `rounds`, free. */
static void run_rounds(size_t rounds)
{
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = rounds, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_int_equal(result.round_count, rounds);
}

static void check_all_ok(uint64_t rounds)
{
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], rounds * config.clients);
	assert_int_equal(result.rounds_failed, 0);
	assert_int_equal(result.error_count, 0);
}

static void play_hello(int fd)
{
	while (script_read(fd))
		script_answer(fd, HELLO);
}

static void counts_are_exact(void **state)
{
	(void)state;
	start(play_hello, 5);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 4, .max_ns = 60 * SZ_NS_PER_S};
	/* Five when priming, five in one round of warm-up. */
	for (int i = 0; i < 2; i++) {
		script_window(load, &span, &result);
		check_all_ok(4);
		assert_int_equal(result.round_count, 4);
		assert_int_equal(result.sent, 20);
		assert_int_equal(result.uncounted, i == 0 ? 10 : 0);
		assert_int_equal(result.clients_answered, 5);
		assert_int_equal(result.connections_opened, 5);
		assert_true(result.duration_ns >= 3 * config.pause_ns);
		assert_false(result.interrupted);
	}
	assert_int_equal(atomic_load(&script_seen->requests), 10 + 2 * 20);
	sz_load_free(load);
}

/* Answers nobody before a whole round of four has come. */
static void play_four_at_once(int fd)
{
	while (script_read(fd)) {
		uint64_t wanted = (atomic_load(&script_seen->requests) + 3) / 4 * 4;
		while (atomic_load(&script_seen->requests) < wanted)
			script_sleep_ms(1);
		script_answer(fd, HELLO);
	}
}

static void all_call_at_once(void **state)
{
	(void)state;
	start(play_four_at_once, 4);
	config.connect = SZ_CONNECT_BURST;
	config.timeout_ns = SZ_NS_PER_S;
	run_rounds(5);
	check_all_ok(5);
	assert_int_equal(result.uncounted, 4);
}

/* The first connection takes 30 ms to the first byte and 30 ms more. */
static void play_straggler(int fd)
{
	bool slow = atomic_load(&script_seen->connections) == 1;
	while (script_read(fd)) {
		if (slow)
			script_sleep_ms(30);
		script_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
		if (slow)
			script_sleep_ms(30);
		script_answer(fd, "lo");
	}
}

static void the_slowest_makes_the_round(void **state)
{
	(void)state;
	start(play_straggler, 6);
	run_rounds(3);
	check_all_ok(3);
	for (size_t i = 0; i < 3; i++) {
		const struct sz_load_round *round = &result.rounds[i];
		assert_true(round->slowest_ttfb_ns >= 30 * SZ_NS_PER_MS);
		assert_true(round->slowest_ns >= round->slowest_ttfb_ns + 25 * SZ_NS_PER_MS);
		assert_true(round->slowest_ns <= result.latency[SZ_OUTCOME_OK].max_ns);
	}
	assert_true(result.ttfb.min_ns < 30 * SZ_NS_PER_MS);
	assert_int_equal(result.ttfb.max_ns, result.slowest_ttfb.max_ns);
	assert_int_equal(result.latency[SZ_OUTCOME_OK].max_ns, result.slowest.max_ns);
}

/* Rounds that differ. */
static void play_uneven(int fd)
{
	static const unsigned wait_ms[] = {10, 50, 30, 20};
	while (script_read(fd)) {
		script_sleep_ms(wait_ms[atomic_load(&script_seen->requests) % 4]);
		script_answer(fd, HELLO);
	}
}

static size_t rounds_below(uint64_t ttfb_ns)
{
	size_t count = 0;
	for (size_t i = 0; i < result.round_count; i++)
		count += result.rounds[i].slowest_ttfb_ns < ttfb_ns;
	return count;
}

/* The median of four is the second, at rank ceil(4 / 2). */
static void spread_over_the_rounds(void **state)
{
	(void)state;
	const struct sz_load_spread *spread = &result.slowest_ttfb;
	start(play_uneven, 1);
	run_rounds(4);
	assert_int_equal(rounds_below(spread->min_ns), 0);
	assert_int_equal(rounds_below(spread->min_ns + 1), 1);
	assert_int_equal(rounds_below(spread->p50_ns), 1);
	assert_int_equal(rounds_below(spread->p50_ns + 1), 2);
	assert_int_equal(rounds_below(spread->max_ns), 3);
	assert_int_equal(rounds_below(spread->max_ns + 1), 4);
	assert_true(spread->max_ns >= 50 * SZ_NS_PER_MS);
	assert_true(result.slowest.min_ns >= spread->min_ns);
}

/* Connections that end */

static void play_impatient(int fd)
{
	struct pollfd next = {.fd = fd, .events = POLLIN};
	while (poll(&next, 1, 20) > 0 && script_read(fd))
		script_answer(fd, HELLO);
}

static void closed_between_rounds(void **state)
{
	(void)state;
	start(play_impatient, 3);
	config.pause_ns = 300 * SZ_NS_PER_MS;
	run_rounds(2);
	check_all_ok(2);
	assert_int_equal(result.server_closed, result.reconnects);
	/* At the latest in the pause behind the warm-up and in those of the window. */
	assert_true(result.reconnects >= 3 * 2);
}

static void fresh_connections(void **state)
{
	(void)state;
	start(play_hello, 3);
	config.reconnect_every = 1;
	run_rounds(4);
	check_all_ok(4);
	assert_int_equal(result.connections_opened, 3 * (1 + 1 + 4));
	assert_int_equal(atomic_load(&script_seen->connections), result.connections_opened);
	assert_int_equal(result.reconnects, 3 * (1 + 4));
	assert_int_equal(result.server_closed, 0);
	assert_int_equal(result.connections_open_at_end, 0);
}

/* Two good answers; the third request meets a reset, 30 ms later. */
static void play_stale(int fd)
{
	for (int i = 0; i < 2 && script_read(fd); i++)
		script_answer(fd, HELLO);
	struct pollfd third = {.fd = fd, .events = POLLIN};
	poll(&third, 1, -1);
	script_sleep_ms(30);
}

static void stale_is_retried_within_the_round(void **state)
{
	(void)state;
	/* Priming and warm-up use the first connection up. */
	start(play_stale, 1);
	run_rounds(4);
	check_all_ok(4);
	assert_int_equal(result.outcomes[SZ_OUTCOME_STALE], 2);
	assert_int_equal(result.sent, 6);
	assert_int_equal(result.reconnects, 2);
	/* The retry's latency holds what was lost before it. */
	assert_true(result.rounds[0].slowest_ttfb_ns >= 30 * SZ_NS_PER_MS);
	assert_true(result.rounds[2].slowest_ttfb_ns >= 30 * SZ_NS_PER_MS);
	assert_true(result.ttfb.max_ns >= 30 * SZ_NS_PER_MS);
}

/* Calls that fail */

static void play_stuck(int fd)
{
	for (int i = 0; i < 2 && script_read(fd); i++)
		script_answer(fd, HELLO);
	if (script_read(fd))
		script_hang();
}

static void time_out_in_a_round(void **state)
{
	(void)state;
	start(play_stuck, 3);
	config.timeout_ns = 120 * SZ_NS_PER_MS;
	run_rounds(4);
	assert_int_equal(result.outcomes[SZ_OUTCOME_TIMEOUT], 6);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 6);
	assert_int_equal(result.sent, 12);
	assert_int_equal(result.rounds_failed, 2);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(result.rounds[i].failed, i % 3 == 0 ? 3 : 0);
	assert_true(result.rounds[0].slowest_ttfb_ns >= config.timeout_ns);
	assert_true(result.latency[SZ_OUTCOME_TIMEOUT].min_ns >= config.timeout_ns);
}

static void play_one_500(int fd)
{
	while (script_read(fd))
		script_answer(fd, atomic_load(&script_seen->requests) == 3
					  ? "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
					  : HELLO);
}

static void http_error_in_a_round(void **state)
{
	(void)state;
	start(play_one_500, 1);
	run_rounds(2);
	assert_int_equal(result.outcomes[SZ_OUTCOME_HTTP_ERROR], 1);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 1);
	assert_int_equal(result.rounds_failed, 1);
	assert_int_equal(result.rounds[0].failed, 1);
}

static void play_last_words(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) > 6)
			_exit(0);
		script_answer(fd, HELLO);
	}
}

/* Priming, warm-up and one round; then the server is gone, and every further
 * round tries anew. */
static void server_dies(void **state)
{
	(void)state;
	start(play_last_words, 2);
	run_rounds(4);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 2);
	assert_int_equal(result.rounds_failed, 3);
	assert_int_equal(result.rounds[0].failed, 0);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(result.rounds[i].failed, 2);
	assert_int_equal(result.connect_failed + result.outcomes[SZ_OUTCOME_SOCKET_ERROR], 6);
	assert_true(script_errors(&result, SZ_PHASE_CONNECT, ECONNREFUSED) >= 4);
}

/* When rounds begin and windows end */

static void play_20ms(int fd)
{
	while (script_read(fd)) {
		script_sleep_ms(20);
		script_answer(fd, HELLO);
	}
}

/* Rounds take 20 ms: of a period of 15 ms every other instant is left out. */
static void fixed_period(void **state)
{
	(void)state;
	start(play_20ms, 2);
	config.every_ns = 15 * SZ_NS_PER_MS;
	run_rounds(3);
	check_all_ok(3);
	assert_true(result.duration_ns >= (2 * 30 + 20) * SZ_NS_PER_MS);
}

static void ends_at_the_latest_time(void **state)
{
	(void)state;
	start(play_20ms, 2);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span one = {.max_ns = 0}, some = {.max_ns = 50 * SZ_NS_PER_MS};
	script_window(load, &one, &result);
	assert_int_equal(result.round_count, 1);
	check_all_ok(1);
	script_window(load, &some, &result);
	/* They begin at least 22 ms apart. */
	assert_in_range(result.round_count, 1, 3);
	check_all_ok(result.round_count);
	sz_load_free(load);
}

/* Slow to begin with: the two requests of priming. */
static void play_slow_start(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) <= 2)
			script_sleep_ms(300);
		script_answer(fd, HELLO);
	}
}

/* Priming does not wait that long: its answers are not the warm-up's. */
static void slow_priming(void **state)
{
	(void)state;
	start(play_slow_start, 2);
	run_rounds(1);
	check_all_ok(1);
	assert_int_equal(result.uncounted, 4);
	assert_int_equal(result.sent, 2);
}

static void nobody_listens(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	script_config(&config, sz_free_port(NULL), 5);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.connect = SZ_CONNECT_BURST;
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	assert_int_equal(sz_load_open(load, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(err.errnum, ECONNREFUSED);
	sz_load_free(load);
}

/* Interruption: the script sends SIGINT while it holds a request. */

static void play_interrupt(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) == 5) {
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

static void interrupted_round(void **state)
{
	(void)state;
	start(play_interrupt, 1);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 100, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	assert_true(result.interrupted);
	assert_int_equal(result.round_count, 2);
	assert_int_equal(result.rounds_failed, 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 2);
	assert_int_equal(result.outcomes[SZ_OUTCOME_UNFINISHED], 1);

	/* The request stands: a further window ends before it begins. */
	script_window(load, &span, &result);
	assert_true(result.interrupted);
	assert_int_equal(result.duration_ns, 0);
	assert_int_equal(result.attempts, 0);
	sz_load_free(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(counts_are_exact, script_stop),
		cmocka_unit_test_teardown(all_call_at_once, script_stop),
		cmocka_unit_test_teardown(the_slowest_makes_the_round, script_stop),
		cmocka_unit_test_teardown(spread_over_the_rounds, script_stop),
		cmocka_unit_test_teardown(closed_between_rounds, script_stop),
		cmocka_unit_test_teardown(fresh_connections, script_stop),
		cmocka_unit_test_teardown(stale_is_retried_within_the_round, script_stop),
		cmocka_unit_test_teardown(time_out_in_a_round, script_stop),
		cmocka_unit_test_teardown(http_error_in_a_round, script_stop),
		cmocka_unit_test_teardown(server_dies, script_stop),
		cmocka_unit_test_teardown(fixed_period, script_stop),
		cmocka_unit_test_teardown(ends_at_the_latest_time, script_stop),
		cmocka_unit_test_teardown(slow_priming, script_stop),
		cmocka_unit_test_teardown(nobody_listens, script_stop),
		cmocka_unit_test_setup_teardown(interrupted_round, stop_init, stop_fini),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
