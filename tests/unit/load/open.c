/* SPDX-License-Identifier: Apache-2.0
 *
 * The open loop: calls that come when they are due.
 */
#include <math.h>

#include "script.h"

#include "base/stop.h"

static struct sz_load_config config;
static struct sz_load_result result;

static void play_hello(int fd)
{
	while (script_read(fd))
		script_answer(fd, HELLO);
}

static void play_slow(int fd)
{
	while (script_read(fd)) {
		script_sleep_ms(50);
		script_answer(fd, HELLO);
	}
}

/* A server that stands still once, for 400 ms, whoever asks. */
static void play_frozen(int fd)
{
	static _Atomic uint64_t since_ns;
	while (script_read(fd)) {
		uint64_t begun_ns = 0, now_ns = sz_now_ns();
		if (atomic_compare_exchange_strong(&since_ns, &begun_ns, now_ns))
			begun_ns = now_ns;
		/* From 300 to 700 ms after the first request. */
		uint64_t age_ms = (now_ns - begun_ns) / SZ_NS_PER_MS;
		if (age_ms >= 300 && age_ms < 700)
			script_sleep_ms((unsigned)(700 - age_ms));
		script_answer(fd, HELLO);
	}
}

static void play_one_then_close(int fd)
{
	if (script_read(fd))
		script_answer(fd, HELLO);
}

static void start(script_play *play, unsigned clients, double rate_rps)
{
	script_start(play, &config, clients);
	config.arrivals = SZ_ARRIVALS_OPEN;
	config.rate = (struct sz_rate){.leg = {{rate_rps, rate_rps, SZ_NS_PER_S}}, .count = 1};
}

static void run_ms(unsigned ms)
{
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = ms * SZ_NS_PER_MS, .max_ns = ms * SZ_NS_PER_MS};
	script_window(load, &span, &result);
	sz_load_free(load);
}

/* What was due in a window; its ends decide on one call, and it may end late. */
static void assert_scheduled(double rate_rps)
{
	double due = rate_rps * sz_ns_to_s(result.duration_ns);
	assert_true(fabs((double)result.scheduled - due) <= 2);
}

static void the_rate_is_kept(void **state)
{
	(void)state;
	start(play_hello, 4, 500);
	run_ms(400);
	assert_scheduled(500);
	assert_true(result.scheduled >= 199);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled);
	assert_int_equal(result.dropped + result.unsent, 0);
	assert_int_equal(result.lateness.count, result.scheduled);
	assert_int_equal(result.queue.count, result.scheduled);
	assert_int_equal(result.transfer.count, result.scheduled);
}

/* 10 calls per second for 2 clients: nobody waits, nothing times out. */
static void idle_clients_are_no_errors(void **state)
{
	(void)state;
	start(play_hello, 20, 10);
	config.timeout_ns = 200 * SZ_NS_PER_MS;
	run_ms(1000);
	assert_scheduled(10);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled);
	assert_int_equal(result.error_count, 0);
}

/* 2 clients of 50 ms serve 40 per second of the 100 that are asked: the queue
 * grows, and latency with it, by 15 ms a call or so. */
static void what_waits_is_in_the_latency(void **state)
{
	(void)state;
	start(play_slow, 2, 100);
	run_ms(500);
	assert_scheduled(100);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled);
	double service_ms = sz_hist_mean_ns(&result.service) / 1e6;
	double queue_ms = sz_hist_mean_ns(&result.queue) / 1e6;
	double transfer_ms = sz_hist_mean_ns(&result.transfer) / 1e6;
	double latency_ms = sz_hist_mean_ns(&result.latency[SZ_OUTCOME_OK]) / 1e6;
	assert_true(service_ms >= 49);
	assert_true(queue_ms >= 150);
	assert_true(fabs(queue_ms + service_ms + transfer_ms - latency_ms) < 0.01 * latency_ms);
	assert_true(result.latency[SZ_OUTCOME_OK].max_ns >= 500 * SZ_NS_PER_MS);
}

static void late_calls_can_be_dropped(void **state)
{
	(void)state;
	start(play_slow, 2, 100);
	config.late = SZ_LATE_DROP;
	run_ms(500);
	assert_scheduled(100);
	assert_true(result.dropped >= 20);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + result.dropped, result.scheduled);
	/* Who is sent was never late. */
	assert_true(result.queue.max_ns < 40 * SZ_NS_PER_MS);
}

/* Those who wait longer than a request may take never become one. */
static void waiting_ends_with_the_time_out(void **state)
{
	(void)state;
	start(play_slow, 1, 100);
	config.timeout_ns = 150 * SZ_NS_PER_MS;
	run_ms(500);
	assert_true(result.dropped > 0);
	assert_true(result.queue.max_ns <= 160 * SZ_NS_PER_MS);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + result.dropped, result.scheduled);
}

/* The arithmetic of a freeze of 400 ms at an even rate: those due in it wait
 * for what is left of it, on average half, and after it as long as the queue is
 * worked off at twice the rate, half of which newcomers take. */
static void a_freeze_is_felt_by_all_who_come(void **state)
{
	(void)state;
	start(play_frozen, 50, 100);
	config.connect = SZ_CONNECT_BURST;
	run_ms(1500);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled);
	unsigned felt = 0;
	for (unsigned percent = 1; percent < 100; percent++)
		felt += sz_hist_quantile_ns(&result.latency[SZ_OUTCOME_OK], percent / 100.0) >
			100 * SZ_NS_PER_MS;
	/* 40 calls come in it, 30 of them with more than 100 ms of it ahead: of 150
	 * that is a fifth. */
	assert_in_range(felt, 12, 45);
	assert_true(result.latency[SZ_OUTCOME_OK].max_ns >= 350 * SZ_NS_PER_MS);
}

/* Every connection serves one request: the next call opens another. */
static void connections_are_replaced(void **state)
{
	(void)state;
	start(play_one_then_close, 3, 100);
	run_ms(300);
	uint64_t calls = result.sent - result.outcomes[SZ_OUTCOME_STALE];
	assert_int_equal(calls, result.scheduled);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled);
	assert_true(result.reconnects >= 20);
}

/* Nobody is there any more: every call has an outcome all the same. */
static void the_server_dies(void **state)
{
	(void)state;
	start(play_hello, 4, 100);
	config.timeout_ns = 300 * SZ_NS_PER_MS;
	struct sz_load *load = script_open(&config);
	kill(script_pid, SIGKILL);
	waitpid(script_pid, NULL, 0);
	script_pid = -1;
	struct sz_err err = {0};
	const struct sz_load_span span = {.min_ns = 300 * SZ_NS_PER_MS,
					  .max_ns = 300 * SZ_NS_PER_MS};
	/* Nobody was answered in the lead-in. */
	assert_int_equal(sz_load_window(load, &span, &result, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	sz_load_free(load);
}

static bool ask_to_stop(void *arg, uint64_t ok)
{
	(void)arg;
	(void)ok;
	raise(SIGINT);
	return true;
}

static void interrupted_calls_are_accounted_for(void **state)
{
	(void)state;
	start(play_slow, 1, 200);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = 5 * SZ_NS_PER_S,
					  .max_ns = 5 * SZ_NS_PER_S,
					  .precise_enough = ask_to_stop};
	script_window(load, &span, &result);
	assert_true(result.interrupted);
	assert_true(result.unsent > 0);
	sz_load_free(load);
}

static int stop_is_caught(void **state)
{
	(void)state;
	return sz_stop_init(NULL);
}

#define SCRIPT_TEST(test) cmocka_unit_test_teardown(test, script_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPT_TEST(the_rate_is_kept),
		SCRIPT_TEST(idle_clients_are_no_errors),
		SCRIPT_TEST(what_waits_is_in_the_latency),
		SCRIPT_TEST(late_calls_can_be_dropped),
		SCRIPT_TEST(waiting_ends_with_the_time_out),
		SCRIPT_TEST(a_freeze_is_felt_by_all_who_come),
		SCRIPT_TEST(connections_are_replaced),
		SCRIPT_TEST(the_server_dies),
		/* Last: a stop that was asked for stays. */
		SCRIPT_TEST(interrupted_calls_are_accounted_for),
	};
	return cmocka_run_group_tests_name("open", tests, stop_is_caught, NULL);
}
