/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time of the machine from /proc/stat, for the CPUs of a set.
 *
 * busy = elapsed x CPUs - idle - iowait - steal: idle time is kept precisely
 * by tickless kernels while user and system are sampled at the tick.
 */
#ifndef SZ_OS_CPU_H
#define SZ_OS_CPU_H

#include "os/limits.h"

struct sz_cpu_times {
	uint64_t idle_ns;  /* idle + iowait */
	uint64_t steal_ns; /* taken by the hypervisor */
	unsigned cpus;     /* CPUs counted */
};

/* Sum over the CPUs of the set. 0; -ENODATA when none of them is online; or
 * another -errno. */
int sz_cpu_read(const struct sz_os *os, const uint64_t cpu_set[SZ_CPU_WORDS],
		struct sz_cpu_times *times);

/* The same from the text of /proc/stat. */
int sz_cpu_scan(const char *text, long ticks_per_s, const uint64_t cpu_set[SZ_CPU_WORDS],
		struct sz_cpu_times *times);

#endif
