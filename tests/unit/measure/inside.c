/* SPDX-License-Identifier: Apache-2.0
 *
 * What a window is watched by: the sampler and the reference work.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/reference.h"
#include "measure/sampler.h"

/* A target that need not answer: it is only looked at. */
static struct sz_target *start(struct sz_os *os, char *script)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	char *argv[] = {shell, option, script, NULL};
	struct sz_target_config config = {.argv = argv,
					  .ready_timeout_ns = SZ_NS_PER_S,
					  .stop_timeout_ns = SZ_NS_PER_S};
	struct sz_target *target = NULL;
	struct sz_err err = {0};
	assert_int_equal(sz_os_init(os, NULL, NULL), 0);
	if (sz_target_start(os, &config, NULL, 0, &target, &err) < 0)
		fail_msg("%s", err.message);
	return target;
}

static void let_pass(uint64_t ns)
{
	const struct timespec span = sz_ns_timespec(ns);
	nanosleep(&span, NULL);
}

static void processes_and_memory_are_seen(void **state)
{
	(void)state;
	struct sz_os os;
	char script[] = "sleep 60 & sleep 60 & wait";
	struct sz_target *target = start(&os, script);
	struct sz_sampler *sampler = NULL;
	struct sz_samples samples;
	/* The shell has its children when it was given the time to. */
	let_pass(300 * SZ_NS_PER_MS);
	uint64_t from_ns = sz_now_ns();
	assert_int_equal(sz_sampler_start(&os, target, &sampler, NULL), 0);
	let_pass(450 * SZ_NS_PER_MS);
	sz_sampler_stop(sampler, from_ns, sz_now_ns(), &samples);
	assert_true(samples.looks >= 1);
	assert_int_equal(samples.processes_peak, 3);
	assert_int_equal(samples.threads_peak, 3);
	assert_true(samples.rss_peak_bytes > 3 * 100 * 1024);
	assert_true(samples.cost_cores > 0 && samples.cost_cores < 1);
	assert_true(isnan(samples.client_peak_cores)); /* there was no whole second */
	sz_target_stop(target, NULL);
}

static void what_is_outside_the_span_is_left_out(void **state)
{
	(void)state;
	struct sz_os os;
	char script[] = "exec sleep 60";
	struct sz_target *target = start(&os, script);
	struct sz_sampler *sampler = NULL;
	struct sz_samples samples;
	assert_int_equal(sz_sampler_start(&os, target, &sampler, NULL), 0);
	let_pass(150 * SZ_NS_PER_MS);
	uint64_t after_ns = sz_now_ns() + SZ_NS_PER_S;
	sz_sampler_stop(sampler, after_ns, after_ns + SZ_NS_PER_S, &samples);
	assert_int_equal(samples.looks, 0);
	assert_int_equal(samples.rss_peak_bytes, -1);
	assert_int_equal(samples.processes_peak, 0);
	sz_sampler_stop(NULL, 0, 0, NULL);
	sz_target_stop(target, NULL);
}

/* More than a second in which this process is always busy. */
static void a_busy_second_is_seen(void **state)
{
	(void)state;
	struct sz_os os;
	char script[] = "exec sleep 60";
	struct sz_target *target = start(&os, script);
	struct sz_sampler *sampler = NULL;
	struct sz_samples samples;
	uint64_t from_ns = sz_now_ns();
	assert_int_equal(sz_sampler_start(&os, target, &sampler, NULL), 0);
	uint64_t busy_ns = sz_thread_cpu_ns();
	while (sz_now_ns() - from_ns < 1500 * SZ_NS_PER_MS)
		;
	busy_ns = sz_thread_cpu_ns() - busy_ns;
	uint64_t to_ns = sz_now_ns();
	sz_sampler_stop(sampler, from_ns, to_ns, &samples);
	/* The busiest second is at least as busy as the whole. */
	double mean_cores = (double)busy_ns / (double)(to_ns - from_ns);
	assert_true(samples.client_peak_cores >= 0.8 * mean_cores);
	sz_target_stop(target, NULL);
}

static void reference_work_takes_time(void **state)
{
	(void)state;
	double one_ms = sz_reference_ms(), other_ms = sz_reference_ms();
	assert_true(one_ms > 0);
	assert_true(other_ms > one_ms / 10 && other_ms < one_ms * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_and_memory_are_seen),
		cmocka_unit_test(what_is_outside_the_span_is_left_out),
		cmocka_unit_test(a_busy_second_is_seen),
		cmocka_unit_test(reference_work_takes_time),
	};
	return cmocka_run_group_tests_name("inside", tests, NULL, NULL);
}
