/* SPDX-License-Identifier: Apache-2.0
 *
 * Scanners on hostile text: every truncation of every captured file, in a
 * block of exactly its length so that a sanitizer sees one byte too far.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>

#include <cmocka.h>

#include "base/mem.h"
#include "os/cgroup.h"
#include "os/cpu.h"
#include "os/pressure.h"
#include "os/scan.h"

/* Any scanner on any text: a kernel file may hold what we do not expect. */
static void scan(const char *text)
{
	static const char mounts[] = "31 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
				     "32 30 0:27 /a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
	struct sz_proc proc = {0};
	struct sz_tcp_row row;
	struct sz_cpu_times times;
	struct sz_pressure pressure;
	uint64_t wait_ns, runs;
	struct sz_cgroup cgroup;
	int64_t bytes;
	uint64_t cpus[SZ_CPU_WORDS];
	char why[256];
	memset(cpus, 0xff, sizeof(cpus));

	sz_scan_stat(text, 100, &proc);
	sz_scan_kib(text, "Pss:", &bytes);
	sz_scan_schedstat(text, &wait_ns, &runs);
	sz_pressure_scan(text, &pressure);
	sz_cpu_scan(text, 100, cpus, &times);
	sz_cpu_list_parse(text, cpus);
	for (const char *line = text; line; line = sz_scan_next_line(line))
		sz_scan_tcp_row(line, &row);
	if (sz_cgroup_find(text, mounts, "cpu", &cgroup, why) == 0)
		while (sz_cgroup_up(&cgroup))
			;
	if (sz_cgroup_find("3:cpu:/docker/4f2a/x\n0::/two\n", text, "cpu", &cgroup, why) == 0)
		while (sz_cgroup_up(&cgroup))
			;
}

/* Long files differ from short ones in repetition only. */
#define FILE_MAX 1500
static unsigned files_seen;

static int scan_truncations(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type != FTW_F)
		return 0;
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	char text[FILE_MAX];
	size_t len = fread(text, 1, sizeof(text), file);
	fclose(file);
	for (size_t cut = 0; cut <= len; cut++) {
		char *exact = malloc(cut + 1);
		assert_non_null(exact);
		memcpy(exact, text, cut);
		exact[cut] = '\0';
		scan(exact);
		free(exact);
	}
	files_seen++;
	return 0;
}

static void truncated_files(void **state)
{
	(void)state;
	char root[256];
	snprintf(root, sizeof(root), "%s/os", getenv("SIZEUP_TEST_DATA"));
	assert_int_equal(nftw(root, scan_truncations, 16, FTW_PHYS), 0);
	assert_true(files_seen > 100);
}

static void damaged_bytes(void **state)
{
	(void)state;
	static const char *const good[] = {
		"7 (a b) c) S 1 7 7 0 -1 4194560 1 2 3 4 500 600 7 8 20 0 3 0 900 1 1\n",
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:0 0 0 0 22948 4\n",
		"4:memory:/a/b\n0::/\n",
		"31 23 0:26 /a /sys/fs\\040x rw shared:1 - cgroup cgroup rw,cpu\n",
		"cpu0 1 2 3 4 5 6 7 8 9 10\n",
		"Pss:   12 kB\n0-3,8\n",
		"some avg10=1.23 avg60=0.00 avg300=0.00 total=9\nfull avg10=1.23 avg60=0.00\n",
	};
	static const char bytes[] = "\\:/ -(),\n9f\x80\xff";
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++)
		for (size_t at = 0; good[i][at]; at++)
			for (size_t k = 0; bytes[k]; k++) {
				char *text = strdup(good[i]);
				assert_non_null(text);
				text[at] = bytes[k];
				scan(text);
				free(text);
			}
}

static void stat_line(void **state)
{
	(void)state;
	struct sz_proc proc = {.pid = 9, .rss_bytes = 5};
	assert_true(sz_scan_stat("7 (a b) R 3) S 1 7 7 0 -1 4194560 1 2 3 4 500 600 7 -8 20 0 3 0 "
				 "900 1 1\n",
				 100, &proc));
	assert_int_equal(proc.pid, 9); /* not from the text */
	assert_int_equal(proc.rss_bytes, 5);
	assert_int_equal(proc.ppid, 1);
	assert_int_equal(proc.state, 'S');
	assert_string_equal(proc.comm, "a b) R 3");
	assert_int_equal(proc.cpu_ns, 11000000000);
	assert_int_equal(proc.reaped_cpu_ns, 70000000);
	assert_int_equal(proc.threads, 3);
	assert_int_equal(proc.start_ticks, 900);

	struct sz_proc untouched = proc;
	assert_false(sz_scan_stat("7 (a) S 1 7 7 0 -1 4194560 1 2 3 4 500 600 7 -8 20 0 3 0", 100,
				  &proc));
	assert_false(sz_scan_stat("7 )a( S 1", 100, &proc));
	assert_false(sz_scan_stat("", 100, &proc));
	assert_memory_equal(&proc, &untouched, sizeof(proc));
}

static void tcp_rows(void **state)
{
	(void)state;
	struct sz_tcp_row row = {.inode = 42};
	assert_false(sz_scan_tcp_row("  sl  local_address rem_address   st tx_queue rx_queue tr "
				     "tm->when retrnsmt   uid  timeout inode\n",
				     &row));
	assert_int_equal(row.inode, 42);
	assert_true(sz_scan_tcp_row("   0: 0100007F:1F90 00000000:0000 0A 00000000:000000FF "
				    "00:00000000 00000000     0        0 22948 4 0 100\n",
				    &row));
	assert_int_equal(row.inode, 22948);
	static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};
	assert_memory_equal(row.local.address, loopback, 16);
	assert_int_equal(row.local.port, 8080);
	assert_int_equal(row.remote.port, 0);
	assert_int_equal(row.uid, 0);
	assert_int_equal(row.state, SZ_TCP_LISTEN);
	assert_int_equal(row.rx_queue, 255);
	assert_true(sz_scan_tcp_row(
		"   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:A7BE "
		"01 00000000:00000000 00:00000000 00000000 65534        0 23565 2\n",
		&row));
	assert_int_equal(row.inode, 23565);
	assert_int_equal(row.state, SZ_TCP_ESTABLISHED);
	static const uint8_t loopback6[16] = {[15] = 1};
	assert_memory_equal(row.local.address, loopback6, 16);
	assert_memory_equal(row.remote.address, loopback6, 16);
	assert_int_equal(row.remote.port, 0xa7be);
	assert_int_equal(row.uid, 65534);
	static const char *const bad[] = {
		"0: 0100007F:10000 00000000:0000 0A 0:0 0:0 0 0 0 1\n",
		"0: 0100007:1000 00000000:0000 0A 0:0 0:0 0 0 0 1\n",
		"0: 010000 7:1000 00000000:0000 0A 0:0 0:0 0 0 0 1\n",
		"0: 0100007G:1000 00000000:0000 0A 0:0 0:0 0 0 0 1\n",
		"0: 0100007F:1000 000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1\n",
		"0: 0100007F:1000 00000000:0000 0A 0:0 0:0 0 4294967296 0 1\n",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++)
		assert_false(sz_scan_tcp_row(bad[i], &row));
	assert_true(sz_scan_tcp_row("0: 0100007F:1000 00000000:0000 0A 0:0 0:0 0 7 0 1\n", &row));
}

static void numbers(void **state)
{
	(void)state;
	const char *at = "18446744073709551615 18446744073709551616";
	uint64_t value = 0;
	assert_true(sz_scan_number(&at, 10, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(sz_scan_number(&at, 10, &value));
	at = "  \n7";
	assert_false(sz_scan_number(&at, 10, &value)); /* not across a line */
	at = "-1";
	assert_false(sz_scan_number(&at, 10, &value));
	assert_int_equal(value, UINT64_MAX);

	int64_t bytes = 0;
	assert_true(sz_scan_kib("Rss: 1 kB\nPss_Dirty: 3 kB\nPss:   2 kB\n", "Pss:", &bytes));
	assert_int_equal(bytes, 2048);
	assert_false(sz_scan_kib("Pss: 18446744073709551615 kB", "Pss:", &bytes));
	assert_int_equal(bytes, 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_files), cmocka_unit_test(damaged_bytes),
		cmocka_unit_test(stat_line),       cmocka_unit_test(tcp_rows),
		cmocka_unit_test(numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
