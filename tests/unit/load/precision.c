/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows that end as soon as enough is known.
 */
#include "script.h"

static struct sz_load_config config;
static struct sz_load_result result;

struct polls {
	unsigned wanted; /* enough is known from that poll on */
	unsigned count;
	uint64_t ok; /* at the last */
};

static bool count_poll(void *arg, uint64_t ok)
{
	struct polls *polls = arg;
	assert_true(ok >= polls->ok);
	polls->ok = ok;
	return ++polls->count >= polls->wanted;
}

static void play_hello(int fd)
{
	while (script_read(fd))
		script_answer(fd, HELLO);
}

static void run_window(const struct sz_load_span *span)
{
	script_start(play_hello, &config, 2);
	struct sz_load *load = script_open(&config);
	script_window(load, span, &result);
	sz_load_free(load);
}

static void at_the_latest_time(void **state)
{
	(void)state;
	run_window(&(struct sz_load_span){.max_ns = 210 * SZ_NS_PER_MS, .error_ratio = 1e-9});
	assert_true(result.duration_ns >= 210 * SZ_NS_PER_MS);
}

static void when_the_caller_knows_enough(void **state)
{
	(void)state;
	struct polls polls = {.wanted = 2};
	run_window(&(struct sz_load_span){.max_ns = 60 * SZ_NS_PER_S,
					  .precise_enough = count_poll,
					  .arg = &polls});
	assert_int_equal(polls.count, 2);
	assert_true(polls.ok > 0);
	assert_true(polls.ok <= result.outcomes[SZ_OUTCOME_OK] + 2);
	assert_true(result.duration_ns >= 2 * SZ_LOAD_POLL_NS);
	assert_true(result.duration_ns < 60 * SZ_NS_PER_S);
}

/* Within twenty times itself the throughput is known as soon as ten intervals
 * are there; the caller is asked all the while. */
static void when_the_throughput_is_known(void **state)
{
	(void)state;
	struct polls polls = {.wanted = 1};
	run_window(&(struct sz_load_span){.max_ns = 60 * SZ_NS_PER_S,
					  .error_ratio = 20,
					  .precise_enough = count_poll,
					  .arg = &polls});
	assert_true(result.duration_ns < 60 * SZ_NS_PER_S);
	assert_true(result.series.count >= 10);
	assert_true(result.error_ratio <= 20);
	assert_true(polls.count >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(at_the_latest_time, script_stop),
		cmocka_unit_test_teardown(when_the_caller_knows_enough, script_stop),
		cmocka_unit_test_teardown(when_the_throughput_is_known, script_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
