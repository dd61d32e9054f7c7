/* SPDX-License-Identifier: Apache-2.0
 *
 * One load by several threads.
 */
#include "script.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "load/threads.h"

static struct sz_load_config config;
static struct sz_shard_run *run;

static int stop(void **state)
{
	sz_shard_run_free(run);
	run = NULL;
	return script_stop(state);
}

static int load(unsigned threads, const struct sz_load_span *span, struct sz_err *err)
{
	run = calloc(1, sizeof(*run));
	assert_non_null(run);
	return sz_load_by_threads(&config, threads, span, run, err);
}

static void play_hello(int fd)
{
	while (script_read(fd)) {
		script_sleep_ms(1);
		script_answer(fd, HELLO);
	}
}

static void what_all_saw_is_added(void **state)
{
	(void)state;
	const struct sz_load_span span = {.min_ns = 300 * SZ_NS_PER_MS,
					  .max_ns = 300 * SZ_NS_PER_MS};
	struct sz_err err = {0};
	script_start(play_hello, &config, 10);
	if (load(4, &span, &err) < 0)
		fail_msg("%s", err.message);
	const struct sz_load_result *result = &run->result;
	assert_true(sz_load_counts_ok(result));
	assert_int_equal(result->clients_answered, 10);
	assert_int_equal(result->connections_opened, 10);
	assert_true(result->outcomes[SZ_OUTCOME_OK] >= 10);
	assert_int_equal(result->sent, result->outcomes[SZ_OUTCOME_OK]);
	assert_int_equal(atomic_load(&script_seen->requests), result->sent + result->uncounted);
	assert_int_equal(atomic_load(&script_seen->connections), 10);
	assert_true(result->busiest_cpu_ns <= result->client_cpu_ns);
}

static void the_schedule_is_shared_out(void **state)
{
	(void)state;
	const struct sz_load_span span = {.min_ns = 500 * SZ_NS_PER_MS,
					  .max_ns = 500 * SZ_NS_PER_MS};
	struct sz_err err = {0};
	script_start(play_hello, &config, 9);
	config.arrivals = SZ_ARRIVALS_OPEN;
	assert_int_equal(sz_rate_parse("100", span.min_ns, &config.rate, &err), 0);
	if (load(3, &span, &err) < 0)
		fail_msg("%s", err.message);
	/* A hundred a second, whenever the window ends. */
	double due = 100 * sz_ns_to_s(run->result.duration_ns);
	assert_true(fabs((double)run->result.scheduled - due) <= 3);
	assert_true(sz_load_counts_ok(&run->result));
}

static void one_that_fails_ends_all(void **state)
{
	(void)state;
	const struct sz_load_span span = {.min_ns = SZ_NS_PER_S, .max_ns = SZ_NS_PER_S};
	struct sz_err err = {0};
	script_config(&config, sz_free_port(&err), 4);
	assert_int_equal(load(4, &span, &err), -1);
	assert_int_equal(err.errnum, ECONNREFUSED);
}

static void there_must_be_something_for_everybody(void **state)
{
	(void)state;
	const struct sz_load_span span = {.min_ns = SZ_NS_PER_S, .max_ns = SZ_NS_PER_S};
	struct sz_err err = {0};
	script_config(&config, 9, 3);
	assert_int_equal(load(4, &span, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_all_saw_is_added, stop),
		cmocka_unit_test_teardown(the_schedule_is_shared_out, stop),
		cmocka_unit_test_teardown(one_that_fails_ends_all, stop),
		cmocka_unit_test_teardown(there_must_be_something_for_everybody, stop),
	};
	return cmocka_run_group_tests_name("load/threads", tests, NULL, NULL);
}
