/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a process can have.
 */
#include "os/memory.h"

#include <errno.h>

#include "base/mem.h"
#include "os/cgroup.h"
#include "os/scan.h"

static int64_t room_bytes(const struct sz_memory_use *use)
{
	return (int64_t)use->limit_bytes - (int64_t)use->taken_bytes;
}

static int read_machine(const struct sz_os *os, struct sz_memory_use *use)
{
	sz_autofree char *text = NULL;
	int64_t total_bytes, available_bytes;
	int status = (int)sz_os_read_all(os, &text, "proc/meminfo");
	if (status < 0)
		return status;
	if (!sz_scan_kib(text, "MemTotal:", &total_bytes) ||
	    !sz_scan_kib(text, "MemAvailable:", &available_bytes) || available_bytes > total_bytes)
		return -EBADMSG;
	*use = (struct sz_memory_use){(uint64_t)total_bytes,
				      (uint64_t)(total_bytes - available_bytes)};
	return 0;
}

/* What follows `key` in a file of the cgroup; -EBADMSG when that is no number. */
static int read_value(const struct sz_os *os, const struct sz_cgroup *at, const char *name,
		      const char *key, uint64_t *value)
{
	sz_autofree char *text = NULL;
	int status = (int)sz_os_read_all(os, &text, "%s/%s", at->dir + 1, name);
	if (status < 0)
		return status;
	const char *digits = sz_scan_key(text, key);
	return digits && sz_scan_number(&digits, 10, value) ? 0 : -EBADMSG;
}

/* Names of the files, by the version of the hierarchy. */
static const struct {
	const char *limit, *usage, *reclaimable;
} files[] = {
	[1] = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
	[2] = {"memory.max", "memory.current", "inactive_file "},
};

/* Take over what the cgroup says when it leaves less. */
static int use_cgroup(const struct sz_os *os, const struct sz_cgroup *at, uint64_t total_bytes,
		      struct sz_memory_use *use)
{
	struct sz_memory_use own;
	uint64_t reclaimable_bytes;
	int version = at->version;
	/* Roots have no such file, "max" is no number, and v1 says it with a large one. */
	int status = read_value(os, at, files[version].limit, "", &own.limit_bytes);
	if (status < 0 && status != -ENOENT && status != -EBADMSG)
		return status;
	if (status < 0 || own.limit_bytes >= total_bytes)
		return 0;
	status = read_value(os, at, files[version].usage, "", &own.taken_bytes);
	if (status == 0)
		status = read_value(os, at, "memory.stat", files[version].reclaimable,
				    &reclaimable_bytes);
	if (status < 0)
		return status;
	/* Counted apart and in batches, the two need not fit together. */
	own.taken_bytes -=
		reclaimable_bytes < own.taken_bytes ? reclaimable_bytes : own.taken_bytes;
	if (room_bytes(&own) < room_bytes(use))
		*use = own;
	return 0;
}

static int use_cgroups(const struct sz_os *os, pid_t pid, struct sz_memory_use *use)
{
	sz_autofree char *cgroups = NULL, *mounts = NULL;
	uint64_t total_bytes = use->limit_bytes;
	struct sz_cgroup at;
	char why[256];
	int status = (int)sz_os_read_all(os, &cgroups, "proc/%d/cgroup", pid);
	if (status >= 0)
		status = (int)sz_os_read_all(os, &mounts, "proc/self/mountinfo");
	if (status < 0)
		return status;
	if (sz_cgroup_find(cgroups, mounts, "memory", &at, why) < 0)
		return 0;
	do
		status = use_cgroup(os, &at, total_bytes, use);
	while (status == 0 && sz_cgroup_up(&at));
	return status;
}

int sz_memory_use_read(const struct sz_os *os, pid_t pid, struct sz_memory_use *use)
{
	struct sz_memory_use least;
	int status = read_machine(os, &least);
	if (status == 0)
		status = use_cgroups(os, pid, &least);
	if (status == 0)
		*use = least;
	return status;
}
