/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time of the machine.
 */
#include "os/cpu.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/scan.h"

/* Columns of a "cpuN" line; proc_stat(5). */
enum { CPU_IDLE = 3, CPU_IOWAIT = 4, CPU_STEAL = 7, CPU_COLUMNS };

static bool scan_cpu_line(const char *line, uint64_t *cpu, uint64_t column[CPU_COLUMNS])
{
	if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9')
		return false;
	line += 3;
	if (!sz_scan_number(&line, 10, cpu))
		return false;
	for (int i = 0; i < CPU_COLUMNS; i++)
		if (!sz_scan_number(&line, 10, &column[i]))
			return false;
	return true;
}

int sz_cpu_scan(const char *text, long ticks_per_s, const uint64_t cpu_set[SZ_CPU_WORDS],
		struct sz_cpu_times *times)
{
	struct sz_cpu_times sum = {0};
	uint64_t tick_ns = SZ_NS_PER_S / (uint64_t)ticks_per_s;
	for (; text; text = sz_scan_next_line(text)) {
		uint64_t cpu, column[CPU_COLUMNS];
		if (!scan_cpu_line(text, &cpu, column) || !sz_cpu_set_has(cpu_set, cpu))
			continue;
		sum.idle_ns += (column[CPU_IDLE] + column[CPU_IOWAIT]) * tick_ns;
		sum.steal_ns += column[CPU_STEAL] * tick_ns;
		sum.cpus++;
	}
	if (!sum.cpus)
		return -ENODATA;
	*times = sum;
	return 0;
}

int sz_cpu_read(const struct sz_os *os, const uint64_t cpu_set[SZ_CPU_WORDS],
		struct sz_cpu_times *times)
{
	sz_autofree char *text = NULL;
	ssize_t len = sz_os_read_all(os, &text, "proc/stat");
	if (len < 0)
		return (int)len;
	return sz_cpu_scan(text, os->ticks_per_s, cpu_set, times);
}
