/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that really hold for a process.
 */
#include "os/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "os/cgroup.h"
#include "os/scan.h"

/* Without a MemTotal to compare with, v1's "unlimited" is told by its size:
 * the largest page-aligned 63-bit number. */
#define MEMORY_UNLIMITED_BYTES (UINT64_C(1) << 62)

struct reader {
	const struct sz_os *os;
	struct sz_limits limits;
	uint64_t cpuset[SZ_CPU_WORDS];   /* of all cgroups; starts full */
	char cpuset_from[SZ_LIMIT_FROM]; /* the file that bounds it */
};

/* ---- notes for people, cut short where they do not fit ---- */

__attribute__((format(printf, 3, 4))) static void note(char *text, size_t size, const char *fmt,
						       ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, size, fmt, args);
	va_end(args);
}

/* Add what could not be read, once. */
static void note_unseen(struct sz_limits *limits, const char *what)
{
	if (!*what || strstr(limits->unseen, what))
		return;
	size_t len = strlen(limits->unseen);
	note(limits->unseen + len, sizeof(limits->unseen) - len, "%s%s", len ? "; " : "", what);
}

/* ---- files of one cgroup ---- */

/* The text of a file; false when the cgroup has none, as roots have not. */
static bool read_text(struct reader *reader, const struct sz_cgroup *at, const char *name,
		      char **text)
{
	ssize_t len = sz_os_read_all(reader->os, text, "%s/%s", at->dir + 1, name);
	if (len >= 0)
		return true;
	if (len != -ENOENT && len != -ENODEV) {
		char what[128];
		note(what, sizeof(what), "%s: %s", name, strerrordesc_np((int)-len));
		note_unseen(&reader->limits, what);
	}
	return false;
}

/* A number of a file. False when it has none: "max", "-1", no such file. */
static bool read_number(struct reader *reader, const struct sz_cgroup *at, const char *name,
			uint64_t *value)
{
	sz_autofree char *text = NULL;
	if (!read_text(reader, at, name, &text))
		return false;
	const char *digits = text;
	return sz_scan_number(&digits, 10, value);
}

/* ---- what one cgroup says; true to go on to its parent ---- */

static void use_quota(struct reader *reader, const struct sz_cgroup *at, const char *name,
		      uint64_t quota_us, uint64_t period_us)
{
	struct sz_limits *limits = &reader->limits;
	if (!quota_us || !period_us)
		return;
	double cores = (double)quota_us / (double)period_us;
	if (limits->quota_cores > 0 && limits->quota_cores <= cores)
		return;
	limits->quota_cores = cores;
	note(limits->cores_from, sizeof(limits->cores_from), "%s/%s: %llu %llu", at->dir, name,
	     (unsigned long long)quota_us, (unsigned long long)period_us);
}

static bool read_cpu(struct reader *reader, const struct sz_cgroup *at)
{
	uint64_t quota_us = 0, period_us = 0;
	if (at->version == 1) {
		if (read_number(reader, at, "cpu.cfs_quota_us", &quota_us) &&
		    read_number(reader, at, "cpu.cfs_period_us", &period_us))
			use_quota(reader, at, "cpu.cfs_quota_us", quota_us, period_us);
		return true;
	}
	sz_autofree char *text = NULL;
	if (!read_text(reader, at, "cpu.max", &text))
		return true;
	const char *digits = text;
	if (sz_scan_number(&digits, 10, &quota_us) && sz_scan_number(&digits, 10, &period_us))
		use_quota(reader, at, "cpu.max", quota_us, period_us);
	return true;
}

/* Whether the file names any CPUs; reader->cpuset keeps those of them that it
 * had, and the file that took the last ones away. */
static bool use_cpuset(struct reader *reader, const struct sz_cgroup *at, const char *name)
{
	sz_autofree char *text = NULL;
	uint64_t cpus[SZ_CPU_WORDS];
	if (!read_text(reader, at, name, &text) || sz_cpu_list_parse(text, cpus) <= 0)
		return false;
	unsigned before = sz_cpu_set_count(reader->cpuset);
	if (sz_cpu_set_intersect(reader->cpuset, cpus) && sz_cpu_set_count(reader->cpuset) < before)
		note(reader->cpuset_from, sizeof(reader->cpuset_from), "%s/%s: %.*s", at->dir, name,
		     (int)strcspn(text, "\n"), text);
	return true;
}

/* The effective file of the nearest cgroup has all ancestors in it; theirs
 * may even lack CPUs that a partition below them took. What was only asked
 * for has to be intersected all the way up; an empty file inherits. */
static bool read_cpuset(struct reader *reader, const struct sz_cgroup *at)
{
	if (use_cpuset(reader, at,
		       at->version == 2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus"))
		return false;
	use_cpuset(reader, at, "cpuset.cpus");
	return true;
}

static bool read_memory(struct reader *reader, const struct sz_cgroup *at)
{
	struct sz_limits *limits = &reader->limits;
	const char *name = at->version == 2 ? "memory.max" : "memory.limit_in_bytes";
	uint64_t bytes;
	if (!read_number(reader, at, name, &bytes) || bytes >= limits->memory_bytes)
		return true;
	limits->memory_bytes = bytes;
	limits->memory_limited = true;
	note(limits->memory_from, sizeof(limits->memory_from), "%s/%s: %llu", at->dir, name,
	     (unsigned long long)bytes);
	return true;
}

static bool read_pids(struct reader *reader, const struct sz_cgroup *at)
{
	uint64_t *pids_max = &reader->limits.pids_max;
	uint64_t value;
	if (read_number(reader, at, "pids.max", &value) && (!*pids_max || value < *pids_max))
		*pids_max = value;
	return true;
}

static const struct {
	const char *name;
	bool (*read)(struct reader *reader, const struct sz_cgroup *at);
} controllers[] = {
	{"cpu", read_cpu},
	{"cpuset", read_cpuset},
	{"memory", read_memory},
	{"pids", read_pids},
};

static void read_cgroups(struct reader *reader, pid_t pid)
{
	sz_autofree char *cgroups = NULL, *mounts = NULL;
	if (sz_os_read_all(reader->os, &cgroups, "proc/%d/cgroup", pid) < 0 ||
	    sz_os_read_all(reader->os, &mounts, "proc/self/mountinfo") < 0) {
		note_unseen(&reader->limits, "the cgroup of the process");
		return;
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(controllers); i++) {
		struct sz_cgroup at;
		char why[256];
		if (sz_cgroup_find(cgroups, mounts, controllers[i].name, &at, why) < 0) {
			note_unseen(&reader->limits, why);
			continue;
		}
		if (!strcmp(controllers[i].name, "cpu"))
			reader->limits.cgroup_version = at.version;
		while (controllers[i].read(reader, &at) && sz_cgroup_up(&at))
			;
	}
}

/* ---- the machine and the process ---- */

static void read_memory_total(struct reader *reader)
{
	struct sz_limits *limits = &reader->limits;
	sz_autofree char *text = NULL;
	int64_t bytes = 0;
	if (sz_os_read_all(reader->os, &text, "proc/meminfo") >= 0 &&
	    sz_scan_kib(text, "MemTotal:", &bytes))
		limits->memory_total_bytes = (uint64_t)bytes;
	limits->memory_bytes = bytes ? (uint64_t)bytes : MEMORY_UNLIMITED_BYTES;
	note(limits->memory_from, sizeof(limits->memory_from), "memory of the machine");
	if (!bytes)
		note_unseen(limits, "the memory of the machine");
}

static bool read_online(const struct sz_os *os, uint64_t cpus[SZ_CPU_WORDS])
{
	sz_autofree char *text = NULL;
	return sz_os_read_all(os, &text, "sys/devices/system/cpu/online") >= 0 &&
	       sz_cpu_list_parse(text, cpus) > 0;
}

/* CPUs of the affinity that are online: the kernel keeps in it those that may
 * yet be plugged in. */
static int read_affinity(struct reader *reader, pid_t pid, struct sz_err *err)
{
	struct sz_limits *limits = &reader->limits;
	sz_autofree char *status = NULL;
	ssize_t len = sz_os_read_all(reader->os, &status, "proc/%d/status", pid);
	const char *list = len < 0 ? NULL : sz_scan_key(status, "Cpus_allowed_list:");
	if (!list || sz_cpu_list_parse(list, limits->cpu_set) <= 0) {
		sz_err_set(err, SZ_MACHINE, len < 0 ? (int)-len : EBADMSG,
			   "cannot read the CPUs of process %d from /proc/%d/status", pid, pid);
		return sz_err_hint(err, "check that it is still running");
	}
	uint64_t online[SZ_CPU_WORDS];
	if (!read_online(reader->os, online))
		memcpy(online, limits->cpu_set, sizeof(online));
	sz_cpu_set_intersect(limits->cpu_set, online);
	limits->cpus_online = sz_cpu_set_count(online);
	return 0;
}

/* Bring affinity, cpuset and quota together, and say which of them binds. */
static void settle_cores(struct reader *reader)
{
	struct sz_limits *limits = &reader->limits;
	sz_cpu_set_intersect(limits->cpu_set, reader->cpuset);
	limits->cpus = sz_cpu_set_count(limits->cpu_set);
	limits->cores = limits->cpus;
	if (limits->quota_cores > 0 && limits->quota_cores < limits->cores) {
		limits->cores = limits->quota_cores;
		return; /* cores_from names the quota already */
	}
	const char *from = "affinity of the process";
	if (limits->cpus >= limits->cpus_online)
		from = "CPUs of the machine";
	else if (limits->cpus == sz_cpu_set_count(reader->cpuset))
		from = reader->cpuset_from;
	note(limits->cores_from, sizeof(limits->cores_from), "%s", from);
}

int sz_limits_read(const struct sz_os *os, pid_t pid, struct sz_limits *limits, struct sz_err *err)
{
	struct reader reader = {.os = os};
	memset(reader.cpuset, 0xff, sizeof(reader.cpuset));
	if (read_affinity(&reader, pid, err) < 0)
		return -1;
	read_memory_total(&reader);
	read_cgroups(&reader, pid);
	settle_cores(&reader);
	if (!reader.limits.memory_limited)
		reader.limits.memory_bytes = reader.limits.memory_total_bytes;
	*limits = reader.limits;
	return 0;
}

uint64_t sz_raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	struct rlimit raised = {limit.rlim_max, limit.rlim_max};
	return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}
