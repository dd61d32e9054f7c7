/* SPDX-License-Identifier: Apache-2.0
 *
 * The scanners of /proc text, each on every input: outputs untouched on
 * failure, nothing read behind the end.
 */
#include "os/cpu.h"
#include "os/cpuset.h"
#include "os/pressure.h"
#include "os/scan.h"
#include "fuzz.h"

static void scan_stat(const char *text)
{
	struct sz_proc proc = {.ppid = 4711, .threads = 4711, .comm = "untouched"};
	if (sz_scan_stat(text, 100, &proc))
		FUZZ_CHECK(memchr(proc.comm, '\0', sizeof(proc.comm)));
	else
		FUZZ_CHECK(proc.ppid == 4711 && proc.threads == 4711 &&
			   strcmp(proc.comm, "untouched") == 0);
}

static void scan_kib(const char *text)
{
	int64_t bytes = -1;
	if (sz_scan_kib(text, "Pss:", &bytes))
		FUZZ_CHECK(bytes >= 0 && bytes % 1024 == 0);
	else
		FUZZ_CHECK(bytes == -1);
}

static void scan_tcp_rows(const char *text)
{
	for (const char *line = text; line; line = sz_scan_next_line(line)) {
		struct sz_tcp_row row = {.state = 4711};
		if (!sz_scan_tcp_row(line, &row))
			FUZZ_CHECK(row.state == 4711);
	}
}

static void scan_schedstat(const char *text)
{
	uint64_t wait_ns = 4711, runs = 4711;
	if (!sz_scan_schedstat(text, &wait_ns, &runs))
		FUZZ_CHECK(wait_ns == 4711 && runs == 4711);
}

static void scan_pressure(const char *text)
{
	struct sz_pressure pressure = {.some.total_ns = 4711};
	if (sz_pressure_scan(text, &pressure) < 0)
		FUZZ_CHECK(pressure.some.total_ns == 4711);
	else
		FUZZ_CHECK(pressure.some.avg10_ratio >= 0);
}

static void parse_cpu_list(const char *text)
{
	uint64_t set[SZ_CPU_WORDS] = {1};
	int count = sz_cpu_list_parse(text, set);
	unsigned expected = count < 0 ? 1 : (unsigned)count;
	FUZZ_CHECK(sz_cpu_set_count(set) == expected);
}

static void scan_cpu_times(const char *text)
{
	uint64_t all[SZ_CPU_WORDS];
	memset(all, 0xff, sizeof(all));
	struct sz_cpu_times times;
	sz_cpu_scan(text, 100, all, &times);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	scan_stat(text);
	scan_kib(text);
	scan_tcp_rows(text);
	scan_schedstat(text);
	scan_pressure(text);
	parse_cpu_list(text);
	scan_cpu_times(text);
	free(text);
	return 0;
}
