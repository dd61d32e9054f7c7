/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure of captured files, and of a machine that keeps none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "os/pressure.h"

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

static void captured(void **state)
{
	(void)state;
	struct sz_os os = capture("threads");
	struct sz_pressure pressure;
	assert_int_equal(sz_pressure_read(&os, SZ_RESOURCE_MEMORY, &pressure), 0);
	assert_float_equal(pressure.some.avg10_ratio, 0.1234, 1e-12);
	assert_float_equal(pressure.some.avg60_ratio, 0.005, 1e-12);
	assert_float_equal(pressure.some.avg300_ratio, 1, 1e-12);
	assert_int_equal(pressure.some.total_ns, 123456000);
	assert_float_equal(pressure.full.avg10_ratio, 0, 0);
	assert_float_equal(pressure.full.avg300_ratio, 0.0007, 1e-12);
	assert_int_equal(pressure.full.total_ns, 78000);

	/* Linux 5.11 has no line "full" for the CPU. */
	assert_int_equal(sz_pressure_read(&os, SZ_RESOURCE_CPU, &pressure), 0);
	assert_int_equal(pressure.some.total_ns, UINT64_C(532243854000));
	assert_int_equal(pressure.full.total_ns, 0);

	struct sz_stalls stalls;
	assert_int_equal(sz_stalls_read(&os, &stalls), 0);
	assert_int_equal(stalls.cpu_some_ns, UINT64_C(532243854000));
	assert_int_equal(stalls.memory_some_ns, 123456000);
	assert_int_equal(stalls.memory_full_ns, 78000);
}

static void not_kept(void **state)
{
	(void)state;
	struct sz_os os = capture("uvicorn");
	struct sz_pressure pressure = {.some.total_ns = 42};
	assert_int_equal(sz_pressure_read(&os, SZ_RESOURCE_CPU, &pressure), -ENODATA);
	assert_int_equal(pressure.some.total_ns, 42);
	struct sz_stalls stalls = {.cpu_some_ns = 42};
	assert_int_equal(sz_stalls_read(&os, &stalls), -ENODATA);
	assert_int_equal(stalls.cpu_some_ns, 42);
}

static void damaged(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"some",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=",
		"some avg10=0.00 avg60=0.00 avg300=0.00",
		"some avg10=0 avg60=0.00 avg300=0.00 total=1",
		"some avg60=0.00 avg10=0.00 avg300=0.00 total=1",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615",
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=",
		"full avg10=0.00 avg60=0.00 avg300=0.00 total=1",
	};
	struct sz_pressure pressure = {.some.total_ns = 42};
	for (size_t i = 0; i < SZ_ARRAY_LEN(texts); i++) {
		assert_int_equal(sz_pressure_scan(texts[i], &pressure), -EBADMSG);
		assert_int_equal(pressure.some.total_ns, 42);
	}
}

static void this_machine(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_pressure before, after;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	int rc = sz_pressure_read(&os, SZ_RESOURCE_CPU, &before);
	if (rc == -ENODATA || rc == -EACCES)
		skip();
	assert_int_equal(rc, 0);
	assert_int_equal(sz_pressure_read(&os, SZ_RESOURCE_CPU, &after), 0);
	assert_true(after.some.total_ns >= before.some.total_ns);
	assert_in_range(before.some.avg10_ratio * 100, 0, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured),
		cmocka_unit_test(not_kept),
		cmocka_unit_test(damaged),
		cmocka_unit_test(this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
