/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of CPUs, and the lists in which the kernel writes them: "0-3,8".
 * Pure functions.
 */
#ifndef SZ_OS_CPUSET_H
#define SZ_OS_CPUSET_H

#include <stdbool.h>
#include <stdint.h>

#define SZ_CPUS_MAX 8192 /* CONFIG_NR_CPUS of x86 and arm64 is never above */
#define SZ_CPU_WORDS (SZ_CPUS_MAX / 64)

/* The list at the start of text, up to the end of its line; CPUs beyond
 * SZ_CPUS_MAX are left out. The number of CPUs, or -1 with the set untouched
 * when it is not a list. */
int sz_cpu_list_parse(const char *text, uint64_t set[SZ_CPU_WORDS]);

unsigned sz_cpu_set_count(const uint64_t set[SZ_CPU_WORDS]);
bool sz_cpu_set_has(const uint64_t set[SZ_CPU_WORDS], uint64_t cpu);

/* set &= other, unless nothing would be left; then false and set untouched. */
bool sz_cpu_set_intersect(uint64_t set[SZ_CPU_WORDS], const uint64_t other[SZ_CPU_WORDS]);

#endif
