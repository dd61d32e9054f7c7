/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/measure.h"

static struct sz_window quiet(void)
{
	struct sz_window window;
	sz_window_init(&window);
	window.foreign_cores = 0.09;
	window.steal_ratio = 0.019;
	window.client_cores = 0.79;
	window.little_ratio = 1.04;
	window.sent = 1000;
	return window;
}

static void quiet_windows_pass(void **state)
{
	(void)state;
	struct sz_window window = quiet();
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 0);
}

static void each_gate_trips_alone(void **state)
{
	(void)state;
	struct sz_window window = quiet();
	window.foreign_cores = 0.11;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_FOREIGN_CPU);
	/* The same is nothing on 16 cores. */
	assert_int_equal(sz_window_gate(&window, 16.0, 50, 50), 0);

	window = quiet();
	window.steal_ratio = 0.021;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_STEAL);

	window = quiet();
	window.client_cores = 0.80;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_CLIENT);

	window = quiet();
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 49), 1u << SZ_DISTURBED_UNANSWERED);

	window = quiet();
	window.little_ratio = 0.94;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_LITTLE);

	/* Tasks that wait for a CPU are what a load makes. */
	window = quiet();
	window.cpu_some_ratio = window.memory_some_ratio = 0.99;
	window.memory_full_ratio = 0.009;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 0);
	window.memory_full_ratio = 0.011;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_MEMORY);

	window = quiet();
	window.listen_queue = 3;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 1u << SZ_DISTURBED_QUEUE);
	/* Where connections are reopened, the listen queue is the queue. */
	window.sent = 1000;
	window.reconnects = 10;
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 0);
}

static void unknown_disturbs_nothing(void **state)
{
	(void)state;
	struct sz_window window;
	sz_window_init(&window);
	assert_int_equal(sz_window_gate(&window, 2.0, 50, 50), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_windows_pass),
		cmocka_unit_test(each_gate_trips_alone),
		cmocka_unit_test(unknown_disturbs_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
