/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel says. Everything in this room is read below a root prefix:
 * "" is this machine, anything else a captured tree that replays in tests.
 *
 * What it is not: an opinion. Nothing here judges, caches or writes.
 *
 * A process that vanished, a file that is missing or may not be read are
 * normal results, said in the return value; a struct sz_err is filled only
 * when the caller asked for something that cannot be known at all.
 *
 * Thread-safe: no state but the caller's.
 */
#ifndef SZ_OS_OS_H
#define SZ_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct sz_os {
	char root[256];   /* "" or "/path/of/capture", no slash at the end */
	long ticks_per_s; /* of /proc/PID/stat; 100 on every Linux in use */
};

/* root may be NULL, "" or "/" for this machine; else it holds proc/ and sys/. */
int sz_os_init(struct sz_os *os, const char *root, struct sz_err *err);

/* True when this is the running machine and not a capture: then clocks and
 * system calls may add precision to what the files say. */
bool sz_os_is_live(const struct sz_os *os);

/* The path of a file below the root. 0 or -ENAMETOOLONG. */
#define SZ_OS_PATH_MAX 4096
int sz_os_path(const struct sz_os *os, char path[SZ_OS_PATH_MAX], const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Read a whole small file below the root into a NUL-terminated buffer of the
 * caller. Bytes read (a longer file is -EFBIG), or -errno. */
ssize_t sz_os_read(const struct sz_os *os, char *buffer, size_t size, const char *path_fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* As sz_os_read() for files of any length (up to 64 MiB): *text is malloc'ed
 * and the caller's. */
ssize_t sz_os_read_all(const struct sz_os *os, char **text, const char *path_fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* All processes there are, in ascending order: *pids is malloc'ed and the
 * caller's. 0 or -errno. */
int sz_os_pids(const struct sz_os *os, pid_t **pids, size_t *count);

/* The same of the threads of a process. */
int sz_os_tids(const struct sz_os *os, pid_t pid, pid_t **tids, size_t *count);

#endif
