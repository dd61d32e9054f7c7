/* SPDX-License-Identifier: Apache-2.0
 *
 * Files below the root prefix.
 */
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/scan.h"

/* Far above any file of /proc or /sys; keeps a wrong root from eating memory. */
#define LENGTH_MAX ((size_t)64 << 20)

int sz_os_init(struct sz_os *os, const char *root, struct sz_err *err)
{
	size_t len = root ? strlen(root) : 0;
	while (len && root[len - 1] == '/')
		len--;
	if (len >= sizeof(os->root)) {
		sz_err_set(err, SZ_USAGE, ENAMETOOLONG, "cannot read the captured tree %s", root);
		return sz_err_hint(err, "move it to a shorter path");
	}
	struct sz_os init = {.ticks_per_s = 100};
	if (len)
		memcpy(init.root, root, len);
	char path[sizeof(init.root) + sizeof("/proc")];
	snprintf(path, sizeof(path), "%s/proc", init.root);
	if (access(path, R_OK | X_OK) < 0) {
		sz_err_set(err, len ? SZ_USAGE : SZ_MACHINE, errno, "cannot read %s", path);
		return sz_err_hint(err, len ? "name the directory that holds proc/ and sys/"
					    : "mount proc at /proc");
	}
	if (!len)
		init.ticks_per_s = sysconf(_SC_CLK_TCK);
	*os = init;
	return 0;
}

bool sz_os_is_live(const struct sz_os *os)
{
	return os->root[0] == '\0';
}

__attribute__((format(printf, 3, 0))) static int path_below(const struct sz_os *os,
							    char path[SZ_OS_PATH_MAX],
							    const char *fmt, va_list args)
{
	int prefix = snprintf(path, SZ_OS_PATH_MAX, "%s/", os->root);
	size_t room = SZ_OS_PATH_MAX - (size_t)prefix;
	int n = vsnprintf(path + prefix, room, fmt, args);
	return n >= 0 && (size_t)n < room ? 0 : -ENAMETOOLONG;
}

int sz_os_path(const struct sz_os *os, char path[SZ_OS_PATH_MAX], const char *path_fmt, ...)
{
	va_list args;
	va_start(args, path_fmt);
	int rc = path_below(os, path, path_fmt, args);
	va_end(args);
	return rc;
}

__attribute__((format(printf, 2, 0))) static int open_below(const struct sz_os *os, const char *fmt,
							    va_list args)
{
	char path[SZ_OS_PATH_MAX];
	int rc = path_below(os, path, fmt, args);
	if (rc < 0)
		return rc;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Read until the end of the file or of the buffer. Bytes read, or -errno. */
static ssize_t fill(int fd, char *buffer, size_t size)
{
	size_t len = 0;
	while (len < size) {
		ssize_t n = read(fd, buffer + len, size - len);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
	return (ssize_t)len;
}

ssize_t sz_os_read(const struct sz_os *os, char *buffer, size_t size, const char *path_fmt, ...)
{
	va_list args;
	va_start(args, path_fmt);
	sz_autoclose int fd = open_below(os, path_fmt, args);
	va_end(args);
	if (fd < 0)
		return fd;
	ssize_t len = fill(fd, buffer, size);
	if (len < 0)
		return len;
	if ((size_t)len == size)
		return -EFBIG;
	buffer[len] = '\0';
	return len;
}

static ssize_t read_all(int fd, char **text)
{
	sz_autofree char *data = NULL;
	size_t cap = 0, len = 0;
	do {
		if (cap >= LENGTH_MAX)
			return -EFBIG;
		if (sz_grow(&data, &cap, cap ? cap + 1 : 4096, 1) < 0)
			return -ENOMEM;
		ssize_t n = fill(fd, data + len, cap - len);
		if (n < 0)
			return n;
		len += (size_t)n;
	} while (len == cap);
	data[len] = '\0';
	*text = sz_steal(data);
	return (ssize_t)len;
}

ssize_t sz_os_read_all(const struct sz_os *os, char **text, const char *path_fmt, ...)
{
	va_list args;
	va_start(args, path_fmt);
	sz_autoclose int fd = open_below(os, path_fmt, args);
	va_end(args);
	return fd < 0 ? fd : read_all(fd, text);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* A directory that is a process or a thread, as its number; else 0. */
static pid_t pid_of_name(const char *name)
{
	uint64_t pid;
	if (!sz_scan_number(&name, 10, &pid) || *name || pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

static int list_pids(const char *path, pid_t **pids, size_t *count)
{
	int rc = 0;
	DIR *dir = opendir(path);
	if (!dir)
		return -errno;
	sz_autofree pid_t *found = NULL;
	size_t len = 0, cap = 0;
	for (struct dirent *entry; !rc && (entry = readdir(dir));) {
		pid_t pid = pid_of_name(entry->d_name);
		if (pid && sz_grow(&found, &cap, len + 1, sizeof(*found)) < 0)
			rc = -ENOMEM;
		else if (pid)
			found[len++] = pid;
	}
	closedir(dir);
	if (rc < 0)
		return rc;
	if (len)
		qsort(found, len, sizeof(*found), by_pid);
	*pids = sz_steal(found);
	*count = len;
	return 0;
}

int sz_os_pids(const struct sz_os *os, pid_t **pids, size_t *count)
{
	char path[SZ_OS_PATH_MAX];
	int rc = sz_os_path(os, path, "proc");
	return rc < 0 ? rc : list_pids(path, pids, count);
}

int sz_os_tids(const struct sz_os *os, pid_t pid, pid_t **tids, size_t *count)
{
	char path[SZ_OS_PATH_MAX];
	int rc = sz_os_path(os, path, "proc/%d/task", pid);
	return rc < 0 ? rc : list_pids(path, tids, count);
}
