/* SPDX-License-Identifier: Apache-2.0
 *
 * Responses that are kept open.
 */
#include "script.h"

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define EVENT "9\r\ndata: x\n\n\r\n"

static struct sz_load_config config;
static struct sz_load_result result;

static void start(script_play *play, unsigned clients)
{
	script_start(play, &config, clients);
	config.arrivals = SZ_ARRIVALS_STREAMS;
}

static void run_ms(unsigned ms)
{
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = ms * SZ_NS_PER_MS, .max_ns = ms * SZ_NS_PER_MS};
	script_window(load, &span, &result);
	sz_load_free(load);
}

/* Connections in the order in which they were accepted. */
static unsigned number_of_play(void)
{
	static _Atomic unsigned next;
	return atomic_fetch_add(&next, 1);
}

static void say_events(int fd, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		script_say(fd, EVENT);
		script_sleep_ms(20);
	}
}

/* Two last, one ends, one is cut short. */
static void play_four(int fd)
{
	unsigned number = number_of_play();
	if (!script_read(fd))
		return;
	script_answer(fd, CHUNKED);
	if (number < 2)
		say_events(fd, 10000);
	say_events(fd, 3);
	if (number == 2)
		script_say(fd, "0\r\n\r\n");
}

static void every_stream_has_its_outcome(void **state)
{
	(void)state;
	for (int connect = SZ_CONNECT_PACED; connect <= SZ_CONNECT_BURST; connect++) {
		start(play_four, 4);
		config.connect = (enum sz_connect_mode)connect;
		run_ms(400);
		assert_int_equal(result.attempts, 4);
		assert_int_equal(result.outcomes[SZ_OUTCOME_OPEN], 2);
		assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 1);
		assert_int_equal(result.outcomes[SZ_OUTCOME_TRUNCATED], 1);
		assert_int_equal(result.streams_opened, 4);
		assert_int_equal(result.streams_ended, 2);
		assert_true(result.events >= 6 + 2);
		assert_int_equal(result.stream_bytes, 9 * result.events);
		assert_int_equal(result.first_event.count, 4);
		assert_true(result.gap.count >= 4 && result.gap.count <= result.events - 4);
		assert_int_equal(result.silence.count, 2);
		assert_int_equal(result.ttfb.count, 3);
		assert_true(sz_load_settled(&result) == 4 && sz_load_failed(&result) == 1);
		assert_int_equal(result.connections_open_at_end, 2);
		assert_int_equal(atomic_load(&script_seen->requests), 4);
		script_stop(NULL);
	}
}

static void play_head_alone(int fd)
{
	if (script_read(fd))
		script_answer(fd, CHUNKED);
	script_hang();
}

/* Longer than a request may take. */
static void silence_is_no_time_out(void **state)
{
	(void)state;
	start(play_head_alone, 3);
	config.timeout_ns = 100 * SZ_NS_PER_MS;
	run_ms(400);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OPEN], 3);
	assert_int_equal(result.outcomes[SZ_OUTCOME_TIMEOUT], 0);
	assert_int_equal(result.stream_bytes + result.events + result.gap.count, 0);
	assert_true(result.silence.count == 3 && result.silence.min_ns >= 100 * SZ_NS_PER_MS);
	assert_true(result.longest_gap_ns >= 400 * SZ_NS_PER_MS);
}

static void play_every_second_begins(int fd)
{
	if (number_of_play() % 2 == 0)
		play_head_alone(fd);
	script_hang();
}

static void who_does_not_begin_times_out(void **state)
{
	(void)state;
	start(play_every_second_begins, 4);
	config.timeout_ns = 60 * SZ_NS_PER_MS;
	run_ms(1500);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OPEN], 2);
	assert_int_equal(result.outcomes[SZ_OUTCOME_TIMEOUT], 2);
	assert_int_equal(result.streams_opened, 2);
	assert_int_equal(result.attempts, 4);
}

static void play_ends(int fd)
{
	if (script_read(fd))
		script_answer(fd, "HTTP/1.0 200 OK\r\n\r\ndata: x\n\n");
}

static void a_window_without_streams_is_over(void **state)
{
	(void)state;
	start(play_ends, 3);
	run_ms(3600 * 1000);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 3);
	assert_int_equal(result.streams_ended, 3);
	assert_int_equal(result.events, 3);
	assert_int_equal(result.silence.count, 0);
	/* Not waited for, and of the window all the same. */
	assert_int_equal(result.duration_ns, 3600 * SZ_NS_PER_S);
	assert_true(result.longest_gap_ns > 1800 * SZ_NS_PER_S);
	assert_int_equal(atomic_load(&script_seen->connections), 3);
}

static void play_first_refuses(int fd)
{
	bool is_first = number_of_play() == 0;
	if (script_read(fd))
		script_answer(fd, is_first ? "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
					   : CHUNKED EVENT);
	script_hang();
}

static void an_error_is_no_stream(void **state)
{
	(void)state;
	start(play_first_refuses, 3);
	run_ms(300);
	assert_int_equal(result.outcomes[SZ_OUTCOME_HTTP_ERROR], 1);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OPEN], 2);
	assert_int_equal(result.streams_opened, 2);
	assert_int_equal(result.streams_ended, 0);
	assert_int_equal(result.stream_bytes, 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_stream_has_its_outcome, script_stop),
		cmocka_unit_test_teardown(silence_is_no_time_out, script_stop),
		cmocka_unit_test_teardown(who_does_not_begin_times_out, script_stop),
		cmocka_unit_test_teardown(a_window_without_streams_is_over, script_stop),
		cmocka_unit_test_teardown(an_error_is_no_stream, script_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
