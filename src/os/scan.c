/* SPDX-License-Identifier: Apache-2.0
 *
 * Scanners of /proc text.
 */
#include "os/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16; /* no digit in any base used here */
}

bool sz_scan_number(const char **at, int base, uint64_t *value)
{
	const char *text = skip_blanks(*at), *start = text;
	uint64_t sum = 0;
	for (int digit; (digit = digit_value(*text)) < base; text++) {
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit, &sum))
			return false;
	}
	if (text == start)
		return false;
	*value = sum;
	*at = text;
	return true;
}

const char *sz_scan_next_line(const char *text)
{
	const char *end = strchr(text, '\n');
	return end ? end + 1 : NULL;
}

const char *sz_scan_key(const char *text, const char *key)
{
	size_t len = strlen(key);
	for (; text; text = sz_scan_next_line(text))
		if (!strncmp(text, key, len))
			return text + len;
	return NULL;
}

bool sz_scan_kib(const char *text, const char *key, int64_t *bytes)
{
	uint64_t kib;
	const char *at = sz_scan_key(text, key);
	if (!at || !sz_scan_number(&at, 10, &kib) || kib > INT64_MAX / 1024)
		return false;
	*bytes = (int64_t)kib * 1024;
	return true;
}

const char *sz_scan_word(const char **at, size_t *len)
{
	const char *word = skip_blanks(*at);
	*len = strcspn(word, " \t\n");
	*at = word + *len;
	return *len ? word : NULL;
}

/* Numbers of /proc/PID/stat by their position in proc_pid_stat(5), from the
 * state (3) on. Some are signed; negative ones are of no use here and read 0. */
enum {
	STAT_PPID = 4,
	STAT_PGID = 5,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_CUTIME = 16,
	STAT_CSTIME = 17,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_RSS = 24,
	STAT_FIELDS
};

static bool scan_stat_fields(const char *at, char *state, uint64_t field[STAT_FIELDS])
{
	size_t len;
	const char *word = sz_scan_word(&at, &len);
	if (!word || len != 1)
		return false;
	*state = *word;
	for (int i = STAT_PPID; i < STAT_FIELDS; i++) {
		word = sz_scan_word(&at, &len);
		if (!word)
			return false;
		field[i] = 0;
		const char *digits = word;
		if (*word != '-' && !sz_scan_number(&digits, 10, &field[i]))
			return false;
	}
	return true;
}

bool sz_scan_stat(const char *text, long ticks_per_s, struct sz_proc *proc)
{
	/* The name may hold blanks and parentheses; nothing behind it does. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open)
		return false;
	char state;
	uint64_t field[STAT_FIELDS];
	if (!scan_stat_fields(close + 1, &state, field))
		return false;

	uint64_t tick_ns = SZ_NS_PER_S / (uint64_t)ticks_per_s;
	proc->ppid = (pid_t)field[STAT_PPID];
	proc->pgid = (pid_t)field[STAT_PGID];
	proc->state = state;
	proc->threads = (unsigned)field[STAT_THREADS];
	proc->start_ticks = field[STAT_START];
	proc->rss_pages = field[STAT_RSS];
	proc->cpu_ns = (field[STAT_UTIME] + field[STAT_STIME]) * tick_ns;
	proc->reaped_cpu_ns = (field[STAT_CUTIME] + field[STAT_CSTIME]) * tick_ns;
	snprintf(proc->comm, sizeof(proc->comm), "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

bool sz_scan_schedstat(const char *text, uint64_t *wait_ns, uint64_t *runs)
{
	uint64_t on_cpu_ns, waited_ns, count;
	if (!sz_scan_number(&text, 10, &on_cpu_ns) || !sz_scan_number(&text, 10, &waited_ns) ||
	    !sz_scan_number(&text, 10, &count))
		return false;
	*wait_ns = waited_ns;
	*runs = count;
	return true;
}

/* Words of a row: "sl local remote state tx:rx timer retries uid timeout inode". */
enum {
	TCP_LOCAL = 1,
	TCP_REMOTE = 2,
	TCP_STATE = 3,
	TCP_QUEUES = 4,
	TCP_UID = 7,
	TCP_INODE = 9,
	TCP_WORDS
};

/* The hexadecimal number behind the colon of a word. */
static bool scan_after_colon(const char *word, size_t len, uint64_t *value)
{
	const char *colon = memchr(word, ':', len);
	if (!colon)
		return false;
	colon++;
	return sz_scan_number(&colon, 16, value);
}

/* "0100007F:1F90", or four such groups of an IPv6 address: each is a word of
 * memory as the kernel's machine reads it. */
static bool scan_end(const char *word, size_t len, struct sz_tcp_end *end)
{
	enum { GROUP = 8 };
	struct sz_tcp_end scanned = {.address = {[10] = 0xff, [11] = 0xff}};
	const char *colon = memchr(word, ':', len);
	size_t digits = colon ? (size_t)(colon - word) : 0;
	if (digits != GROUP && digits != 4 * GROUP)
		return false;
	uint8_t *bytes = digits == GROUP ? scanned.address + 12 : scanned.address;
	for (; word < colon; word += GROUP, bytes += 4) {
		char group[GROUP + 1] = {0};
		const char *at = group;
		uint64_t value;
		memcpy(group, word, GROUP);
		if (!sz_scan_number(&at, 16, &value) || *at)
			return false;
		memcpy(bytes, &(uint32_t){(uint32_t)value}, 4);
	}
	uint64_t port;
	if (!scan_after_colon(word, len - digits, &port) || port > UINT16_MAX)
		return false;
	scanned.port = (uint16_t)port;
	*end = scanned;
	return true;
}

bool sz_scan_tcp_row(const char *line, struct sz_tcp_row *row)
{
	const char *word[TCP_WORDS];
	size_t len[TCP_WORDS];
	for (int i = 0; i < TCP_WORDS; i++) {
		word[i] = sz_scan_word(&line, &len[i]);
		if (!word[i])
			return false;
	}
	uint64_t state, rx_queue, uid, inode;
	struct sz_tcp_end local, remote;
	if (!scan_end(word[TCP_LOCAL], len[TCP_LOCAL], &local) ||
	    !scan_end(word[TCP_REMOTE], len[TCP_REMOTE], &remote) ||
	    !sz_scan_number(&word[TCP_STATE], 16, &state) || state > UINT8_MAX ||
	    !scan_after_colon(word[TCP_QUEUES], len[TCP_QUEUES], &rx_queue) ||
	    rx_queue > UINT32_MAX || !sz_scan_number(&word[TCP_UID], 10, &uid) ||
	    uid > UINT32_MAX || !sz_scan_number(&word[TCP_INODE], 10, &inode))
		return false;
	*row = (struct sz_tcp_row){
		.inode = inode,
		.state = (unsigned)state,
		.rx_queue = (uint32_t)rx_queue,
		.uid = (uid_t)uid,
		.local = local,
		.remote = remote,
	};
	return true;
}
