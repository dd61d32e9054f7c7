/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits that really hold for a process: the minimum over all its ancestors
 * in every hierarchy, never the host's count.
 *
 *   cores   affinity of the process (Cpus_allowed_list of /proc/PID/status)
 *           intersected with cpuset of all ancestors, and the smallest
 *           quota/period of all ancestors: cpu.max (cgroup v2),
 *           cpu.cfs_quota_us / cpu.cfs_period_us (v1)
 *   memory  memory.max (v2), memory.limit_in_bytes (v1), MemTotal
 *   pids    pids.max of all ancestors, both versions
 *
 * Facts relied on: v1 says "unlimited" as 9223372036854771712 (or any value
 * above MemTotal); "0::/" is the root of a cgroup namespace; the path in
 * /proc/PID/cgroup is relative to the cgroup namespace, and a mount's own
 * root (field 4 of mountinfo) must be taken off it; "/.." at its start means
 * a cgroup outside the namespace, whose limits cannot be seen.
 */
#ifndef SZ_OS_LIMITS_H
#define SZ_OS_LIMITS_H

#include "os/cpuset.h"
#include "os/os.h"

#define SZ_LIMIT_FROM 384 /* a cgroup of a pod alone has 200 characters */

struct sz_limits {
	double cores;          /* min(cpus, quota): the raw fraction, never rounded */
	unsigned cpus;         /* CPUs the process may run on */
	unsigned cpus_online;  /* CPUs of the host */
	double quota_cores;    /* smallest quota/period; 0 when there is none */
	uint64_t memory_bytes; /* smallest limit, at most MemTotal; 0 when neither is known */
	uint64_t memory_total_bytes;
	bool memory_limited;            /* a cgroup sets it, not the machine's size */
	uint64_t pids_max;              /* 0 when there is none */
	int cgroup_version;             /* of the CPU controller: 1, 2, or 0 when none is visible */
	char cores_from[SZ_LIMIT_FROM]; /* where the binding CPU limit was found, for people */
	char memory_from[SZ_LIMIT_FROM];
	char unseen[256];               /* what could not be read, for people; "" when all was */
	uint64_t cpu_set[SZ_CPU_WORDS]; /* bit i: CPU i is allowed */
};

/* 0, or -1 with err when not even /proc/PID/status can be read. */
int sz_limits_read(const struct sz_os *os, pid_t pid, struct sz_limits *limits, struct sz_err *err);

/* Hard limit of open descriptors of this process, soft limit raised to it. */
uint64_t sz_raise_descriptor_limit(void);

#endif
