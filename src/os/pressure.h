/* SPDX-License-Identifier: Apache-2.0
 *
 * Pressure stall information of the machine: the share of time in which some,
 * or all, runnable tasks waited for a resource. Documentation/accounting/psi.rst
 *
 * It counts everybody on the machine, sizeup and its clients too. Many kernels
 * keep none (CONFIG_PSI_DEFAULT_DISABLED until booted with psi=1): a normal
 * result.
 */
#ifndef SZ_OS_PRESSURE_H
#define SZ_OS_PRESSURE_H

#include "os/os.h"

enum sz_resource { SZ_RESOURCE_CPU, SZ_RESOURCE_MEMORY, SZ_RESOURCE_IO };

struct sz_stall {
	double avg10_ratio, avg60_ratio, avg300_ratio; /* of the last so many seconds, 0..1 */
	uint64_t total_ns;                             /* since boot: windows use its difference */
};

struct sz_pressure {
	struct sz_stall some; /* at least one task waited */
	struct sz_stall full; /* all did: nothing got on. Always 0 for the CPU of a whole machine,
			       * and before Linux 5.13 not even said */
};

/* 0; -ENODATA when the kernel keeps no pressure; or another -errno. */
int sz_pressure_read(const struct sz_os *os, enum sz_resource resource,
		     struct sz_pressure *pressure);

/* The same from the text of such a file, a cgroup's too ("cpu.pressure"). */
int sz_pressure_scan(const char *text, struct sz_pressure *pressure);

/* Time since boot in which tasks stood still: of two readings the difference. */
struct sz_stalls {
	uint64_t cpu_some_ns, memory_some_ns, memory_full_ns;
};

/* 0 or -errno as above, when any of them is not kept. */
int sz_stalls_read(const struct sz_os *os, struct sz_stalls *stalls);

#endif
