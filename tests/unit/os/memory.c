/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is left, from captured cgroup trees and of this machine.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "os/memory.h"

#define MIB (UINT64_C(1) << 20)

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

static void captured_use(void **state)
{
	(void)state;
	static const struct {
		const char *capture;
		pid_t pid;
		uint64_t limit_bytes, taken_bytes;
	} cases[] = {
		{"cgroup-v2", 10, 512 * MIB, 300 * MIB},
		/* No limit but the machine's. */
		{"cgroup-v2", 11, 8192 * MIB, 3072 * MIB},
		{"cgroup-v2", 12, 8192 * MIB, 3072 * MIB},
		/* The parent's limit; its file cache is not taken. */
		{"cgroup-v2", 13, 256 * MIB, 50 * MIB},
		/* Outside the namespace. */
		{"cgroup-v2", 14, 8192 * MIB, 3072 * MIB},
		{"cgroup-v1", 10, 512 * MIB, 300 * MIB},
		{"cgroup-v1", 12, 8192 * MIB, 3072 * MIB},
		/* A limit of 1 GiB, on a machine that has only half of that left. */
		{"hybrid", 10, 8192 * MIB, 7680 * MIB},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_os os = capture(cases[i].capture);
		struct sz_memory_use use;
		print_message("%s/%d\n", cases[i].capture, cases[i].pid);
		assert_int_equal(sz_memory_use_read(&os, cases[i].pid, &use), 0);
		assert_int_equal(use.limit_bytes, cases[i].limit_bytes);
		assert_int_equal(use.taken_bytes, cases[i].taken_bytes);
	}
}

/* A limit whose use is unknown leaves an unknown amount, not all of it. */
static void unknown_use_is_an_error(void **state)
{
	(void)state;
	static const struct {
		const char *capture;
		pid_t pid;
		int status;
	} cases[] = {
		{"container-v2", 1, -ENOENT},
		{"container-v1", 1, -ENOENT},
		{"cgroup-v2", 99, -ENOENT}, /* no such process */
		{"threads", 1, -ENOENT},    /* no meminfo */
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_os os = capture(cases[i].capture);
		struct sz_memory_use use = {1, 2};
		assert_int_equal(sz_memory_use_read(&os, cases[i].pid, &use), cases[i].status);
		assert_int_equal(use.limit_bytes, 1);
		assert_int_equal(use.taken_bytes, 2);
	}
}

static void this_machine(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_memory_use use;
	assert_int_equal(sz_os_init(&os, NULL, NULL), 0);
	assert_int_equal(sz_memory_use_read(&os, getpid(), &use), 0);
	assert_in_range(use.taken_bytes, 1, use.limit_bytes);
	assert_true(use.limit_bytes <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)getpagesize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_use),
		cmocka_unit_test(unknown_use_is_an_error),
		cmocka_unit_test(this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
