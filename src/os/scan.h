/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of /proc to numbers, for this room only. Pure functions on
 * NUL-terminated text: no file, no clock, no allocation.
 *
 * Text may be truncated or hostile: a scanner then says false and leaves its
 * output alone; it never reads past the NUL.
 */
#ifndef SZ_OS_SCAN_H
#define SZ_OS_SCAN_H

#include "os/proc.h"

/* The number at *at after blanks (never across a line), without sign; *at
 * moves behind it. False when there is none or it exceeds 64 bits. */
bool sz_scan_number(const char **at, int base, uint64_t *value);

/* What follows `key` at the start of a line ("Rss:"), or NULL. */
const char *sz_scan_key(const char *text, const char *key);

/* The value of a "Key:   123 kB" line in bytes. */
bool sz_scan_kib(const char *text, const char *key, int64_t *bytes);

/* The next blank-separated word of the line at *at; *at moves behind it. NULL
 * at the end of the line. */
const char *sz_scan_word(const char **at, size_t *len);

/* Start of the line after text, or NULL. */
const char *sz_scan_next_line(const char *text);

/* /proc/PID/stat: everything but pid and what later calls fill. */
bool sz_scan_stat(const char *text, long ticks_per_s, struct sz_proc *proc);

/* /proc/PID/task/TID/schedstat: time on a CPU, time waiting for one, runs. */
bool sz_scan_schedstat(const char *text, uint64_t *wait_ns, uint64_t *runs);

enum sz_tcp_state { /* as numbered by the kernel */
		    SZ_TCP_ESTABLISHED = 0x01,
		    SZ_TCP_LISTEN = 0x0A,
};

/* Compared bytewise. IPv4 as ::ffff:a.b.c.d, the way IPv6 sockets see it. */
struct sz_tcp_end {
	uint8_t address[16]; /* in network order */
	uint16_t port;
};
_Static_assert(sizeof(struct sz_tcp_end) == 18, "no padding");

struct sz_tcp_row {
	uint64_t inode; /* 0: no process has it, or not any longer */
	unsigned state; /* enum sz_tcp_state, or another */
	uint32_t rx_queue;
	uid_t uid; /* of the process that made it */
	struct sz_tcp_end local, remote;
};

/* One line of /proc/PID/net/tcp or tcp6; false for its heading too. */
bool sz_scan_tcp_row(const char *line, struct sz_tcp_row *row);

#endif
