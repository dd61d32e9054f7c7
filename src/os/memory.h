/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a process can have, and how much of it is taken already, by
 * whomever.
 *
 *   machine    MemTotal; taken is what MemAvailable leaves of it
 *   cgroup v2  memory.max; memory.current less inactive_file of memory.stat
 *   cgroup v1  memory.limit_in_bytes; memory.usage_in_bytes less
 *              total_inactive_file of memory.stat (inactive_file of v1 leaves
 *              out the cgroups below)
 *
 * Inactive file pages are given up before an allocation fails, so they are not
 * taken; MemAvailable allows for them as well.
 */
#ifndef SZ_OS_MEMORY_H
#define SZ_OS_MEMORY_H

#include "os/os.h"

struct sz_memory_use {
	uint64_t limit_bytes;
	uint64_t taken_bytes; /* the process's own too; more than the limit is possible */
};

/* Of the machine and all cgroups above the process, what leaves it the least.
 * Cgroups that cannot be seen are those that os/limits.h names as unseen. 0, or
 * -errno when something that limits it does not say how much is taken. */
int sz_memory_use_read(const struct sz_os *os, pid_t pid, struct sz_memory_use *use);

#endif
