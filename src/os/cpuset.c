/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of CPUs.
 */
#include "os/cpuset.h"

#include <string.h>

#include "os/scan.h"

static bool is_line_end(const char *text)
{
	return *text == '\0' || *text == '\n';
}

static bool parse_range(const char **at, uint64_t *first, uint64_t *last)
{
	if (!sz_scan_number(at, 10, first))
		return false;
	*last = *first;
	if (**at != '-')
		return true;
	(*at)++;
	return sz_scan_number(at, 10, last) && *last >= *first;
}

int sz_cpu_list_parse(const char *text, uint64_t set[SZ_CPU_WORDS])
{
	uint64_t parsed[SZ_CPU_WORDS] = {0};
	text += strspn(text, " \t");
	while (!is_line_end(text)) {
		uint64_t first, last;
		if (!parse_range(&text, &first, &last))
			return -1;
		for (uint64_t cpu = first; cpu <= last && cpu < SZ_CPUS_MAX; cpu++)
			parsed[cpu / 64] |= UINT64_C(1) << cpu % 64;
		if (*text == ',')
			text++;
		else if (!is_line_end(text))
			return -1;
	}
	memcpy(set, parsed, sizeof(parsed));
	return (int)sz_cpu_set_count(set);
}

unsigned sz_cpu_set_count(const uint64_t set[SZ_CPU_WORDS])
{
	unsigned count = 0;
	for (size_t i = 0; i < SZ_CPU_WORDS; i++)
		count += (unsigned)__builtin_popcountll(set[i]);
	return count;
}

bool sz_cpu_set_has(const uint64_t set[SZ_CPU_WORDS], uint64_t cpu)
{
	return cpu < SZ_CPUS_MAX && set[cpu / 64] >> cpu % 64 & 1;
}

bool sz_cpu_set_intersect(uint64_t set[SZ_CPU_WORDS], const uint64_t other[SZ_CPU_WORDS])
{
	uint64_t both[SZ_CPU_WORDS];
	for (size_t i = 0; i < SZ_CPU_WORDS; i++)
		both[i] = set[i] & other[i];
	if (!sz_cpu_set_count(both))
		return false;
	memcpy(set, both, sizeof(both));
	return true;
}
