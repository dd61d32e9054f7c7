/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits from captured cgroup trees, and of this machine.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/cpu.h"
#include "os/limits.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static struct sz_os capture(const char *name)
{
	char root[200];
	struct sz_os os;
	snprintf(root, sizeof(root), "%s/os/%s", getenv("SIZEUP_TEST_DATA"), name);
	assert_int_equal(sz_os_init(&os, root, NULL), 0);
	return os;
}

static const struct expected {
	const char *capture;
	pid_t pid;
	double cores;
	unsigned cpus;
	int version;
	uint64_t memory_bytes;
	uint64_t pids_max;
	const char *cores_from;
	const char *memory_from;
	const char *unseen; /* a part of it, or NULL when all must be seen */
} cases[] = {
	{"cgroup-v2", 10, 2.0, 4, 2, 512 * MIB, 4915, "/sys/fs/cgroup/two/cpu.max: 200000 100000",
	 "/sys/fs/cgroup/two/memory.max: 536870912", NULL},
	{"cgroup-v2", 11, 0.5, 4, 2, 8 * GIB, 0, "/sys/fs/cgroup/half/cpu.max: 50000 100000",
	 "memory of the machine", NULL},
	/* Affinity with CPUs that are not plugged in. */
	{"cgroup-v2", 12, 4.0, 4, 2, 8 * GIB, 0, "CPUs of the machine", "memory of the machine",
	 NULL},
	{"cgroup-v2", 13, 1.5, 4, 2, 256 * MIB, 100, "/sys/fs/cgroup/outer/cpu.max: 150000 100000",
	 "/sys/fs/cgroup/outer/memory.max: 268435456", NULL},
	{"cgroup-v2", 14, 4.0, 4, 0, 8 * GIB, 0, "CPUs of the machine", "memory of the machine",
	 "cgroup /../x lies outside"},
	{"cgroup-v2", 15, 2.0, 2, 2, 8 * GIB, 0, "/sys/fs/cgroup/pinned/cpuset.cpus.effective: 1-2",
	 "memory of the machine", NULL},
	{"cgroup-v2", 16, 3.0, 3, 2, 8 * GIB, 0, "affinity of the process", "memory of the machine",
	 NULL},
	{"cgroup-v2", 17, 4.0, 4, 2, 8 * GIB, 0, "CPUs of the machine", "memory of the machine",
	 NULL},
	{"cgroup-v1", 10, 2.0, 4, 1, 512 * MIB, 4915,
	 "/sys/fs/cgroup/cpu,cpuacct/two/cpu.cfs_quota_us: 200000 100000",
	 "/sys/fs/cgroup/memory/two/memory.limit_in_bytes: 536870912", NULL},
	{"cgroup-v1", 11, 0.5, 4, 1, 8 * GIB, 0,
	 "/sys/fs/cgroup/cpu,cpuacct/half/cpu.cfs_quota_us: 50000 100000", "memory of the machine",
	 NULL},
	{"cgroup-v1", 12, 4.0, 4, 1, 8 * GIB, 0, "CPUs of the machine", "memory of the machine",
	 NULL},
	{"cgroup-v1", 13, 1.5, 4, 1, 8 * GIB, 0,
	 "/sys/fs/cgroup/cpu,cpuacct/outer/cpu.cfs_quota_us: 150000 100000",
	 "memory of the machine", NULL},
	{"cgroup-v1", 14, 4.0, 4, 0, 8 * GIB, 0, "CPUs of the machine", "memory of the machine",
	 "cgroup /../x lies outside"},
	{"cgroup-v1", 15, 2.0, 2, 1, 8 * GIB, 0, "/sys/fs/cgroup/cpuset/pinned/cpuset.cpus: 1-2",
	 "memory of the machine", NULL},
	{"hybrid", 10, 2.5, 4, 1, 1 * GIB, 0,
	 "/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us: 250000 100000",
	 "/sys/fs/cgroup/memory/app/memory.limit_in_bytes: 1073741824",
	 "cgroups of controller pids are not mounted here"},
	{"container-v2", 1, 2.0, 4, 2, 256 * MIB, 512, "/sys/fs/cgroup/cpu.max: 200000 100000",
	 "/sys/fs/cgroup/memory.max: 268435456", NULL},
	/* The second mount of memory shows a parent with a smaller limit. */
	{"container-v1", 1, 0.5, 2, 1, 256 * MIB, 0,
	 "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us: 50000 100000",
	 "/mnt/memory/memory.limit_in_bytes: 268435456",
	 "cgroups of controller pids are not mounted here"},
	/* A neighbour whose name merely starts like the mounted cgroup's. */
	{"container-v1", 2, 4.0, 4, 0, 256 * MIB, 0, "CPUs of the machine",
	 "/mnt/memory/memory.limit_in_bytes: 268435456",
	 "cgroup /docker/4f2ab lies outside this cgroup namespace"},
};

static void captured_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		const struct expected *want = &cases[i];
		struct sz_os os = capture(want->capture);
		struct sz_limits limits;
		print_message("%s/%d\n", want->capture, want->pid);
		assert_int_equal(sz_limits_read(&os, want->pid, &limits, NULL), 0);
		assert_float_equal(limits.cores, want->cores, 1e-12);
		assert_int_equal(limits.cpus, want->cpus);
		assert_int_equal(limits.cpus_online, 4);
		assert_int_equal(limits.cgroup_version, want->version);
		assert_int_equal(limits.memory_bytes, want->memory_bytes);
		assert_int_equal(limits.memory_total_bytes, 8 * GIB);
		assert_int_equal(limits.memory_limited, want->memory_bytes < 8 * GIB);
		assert_int_equal(limits.pids_max, want->pids_max);
		assert_string_equal(limits.cores_from, want->cores_from);
		assert_string_equal(limits.memory_from, want->memory_from);
		if (want->unseen)
			assert_non_null(strstr(limits.unseen, want->unseen));
		else
			assert_string_equal(limits.unseen, "");
	}
}

static void allowed_cpus(void **state)
{
	(void)state;
	struct sz_os os = capture("container-v1");
	struct sz_limits limits;
	assert_int_equal(sz_limits_read(&os, 1, &limits, NULL), 0);
	assert_int_equal(limits.cpu_set[0], 1 << 0 | 1 << 3);
	assert_false(sz_cpu_set_has(limits.cpu_set, 1));
	assert_false(sz_cpu_set_has(limits.cpu_set, SZ_CPUS_MAX));
}

static void vanished_process(void **state)
{
	(void)state;
	struct sz_os os = capture("cgroup-v2");
	struct sz_limits limits = {.cores = 42};
	struct sz_err err = {0};
	assert_int_equal(sz_limits_read(&os, 4711, &limits, &err), -1);
	assert_float_equal(limits.cores, 42, 0);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_non_null(strstr(err.message, "4711"));
	assert_true(err.hint[0] != '\0');
}

static void cpu_lists(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int count;
		uint64_t low;
	} lists[] = {
		{"0-3,8\n", 5, 0x10f},
		{"0", 1, 1},
		{"\t0-1\nMems: 7", 2, 3},
		{"", 0, 0},
		{"\n", 0, 0},
		{"3-1", -1, 99},
		{"a", -1, 99},
		{"1-", -1, 99},
		{"1;2", -1, 99},
		{"99999999999999999999", -1, 99},
		{"0,9000", 1, 1},
		{"0-18446744073709551615", 8192, UINT64_MAX},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(lists); i++) {
		uint64_t set[SZ_CPU_WORDS] = {99};
		assert_int_equal(sz_cpu_list_parse(lists[i].text, set), lists[i].count);
		assert_int_equal(set[0], lists[i].low);
	}
}

static void machine_cpu_captured(void **state)
{
	(void)state;
	struct sz_os os = capture("cgroup-v2");
	struct sz_cpu_times times = {.cpus = 7};
	uint64_t cpus[SZ_CPU_WORDS] = {1 << 0 | 1 << 2 | 1 << 3};
	assert_int_equal(sz_cpu_read(&os, cpus, &times), 0);
	assert_int_equal(times.cpus, 2); /* CPU 3 is not in the file */
	assert_int_equal(times.idle_ns, (3000 + 10 + 5000 + 10) * 10 * SZ_NS_PER_MS);
	assert_int_equal(times.steal_ns, (5 + 9) * 10 * SZ_NS_PER_MS);

	uint64_t none[SZ_CPU_WORDS] = {1 << 3};
	assert_true(sz_cpu_read(&os, none, &times) < 0);
	assert_int_equal(times.cpus, 2);
}

static void this_machine(void **state)
{
	(void)state;
	struct sz_os os;
	struct sz_limits limits;
	struct sz_cpu_times before, after;
	cpu_set_t affinity;
	assert_int_equal(sz_os_init(&os, "/", NULL), 0);
	assert_true(sz_os_is_live(&os));
	assert_int_equal(sched_getaffinity(0, sizeof(affinity), &affinity), 0);
	assert_int_equal(sz_limits_read(&os, getpid(), &limits, NULL), 0);
	assert_int_equal(limits.cpus, CPU_COUNT(&affinity));
	assert_int_equal(limits.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(limits.cores > 0 && limits.cores <= limits.cpus);
	assert_true(limits.memory_bytes > 0 && limits.memory_bytes <= limits.memory_total_bytes);

	assert_int_equal(sz_cpu_read(&os, limits.cpu_set, &before), 0);
	assert_int_equal(before.cpus, limits.cpus);
	usleep(50 * 1000);
	assert_int_equal(sz_cpu_read(&os, limits.cpu_set, &after), 0);
	assert_true(after.steal_ns >= before.steal_ns);
}

static void descriptors(void **state)
{
	(void)state;
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max / 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(sz_raise_descriptor_limit(), limit.rlim_max);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, limit.rlim_max);
}

static void wrong_roots(void **state)
{
	(void)state;
	struct sz_os os = {.ticks_per_s = 42};
	struct sz_err err = {0};
	char path[400];
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(sz_os_init(&os, path, &err), -1);
	assert_int_equal(sz_os_init(&os, "/nonexistent", &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "/nonexistent/proc"));
	assert_int_equal(os.ticks_per_s, 42);
}

static void file_lengths(void **state)
{
	(void)state;
	struct sz_os os = capture("cgroup-v2");
	char small[26];
	sz_autofree char *text = NULL;
	assert_int_equal(sz_os_read(&os, small, 26, "sys/fs/cgroup/%s/cpu.max", "two"), 14);
	assert_string_equal(small, "200000 100000\n");
	assert_int_equal(sz_os_read(&os, small, 15, "sys/fs/cgroup/two/cpu.max"), 14);
	assert_int_equal(sz_os_read(&os, small, 14, "sys/fs/cgroup/two/cpu.max"), -EFBIG);
	assert_int_equal(sz_os_read(&os, small, 26, "none"), -ENOENT);
	assert_int_equal(sz_os_read_all(&os, &text, "none"), -ENOENT);
	assert_null(text);
	assert_int_equal(sz_os_read_all(&os, &text, "sys/fs/cgroup/two/cpu.max"), 14);
	assert_string_equal(text, "200000 100000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_limits),      cmocka_unit_test(allowed_cpus),
		cmocka_unit_test(vanished_process),     cmocka_unit_test(cpu_lists),
		cmocka_unit_test(machine_cpu_captured), cmocka_unit_test(this_machine),
		cmocka_unit_test(descriptors),          cmocka_unit_test(wrong_roots),
		cmocka_unit_test(file_lengths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
