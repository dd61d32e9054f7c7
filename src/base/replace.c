/* SPDX-License-Identifier: Apache-2.0 */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int refuse(const char *path, int errnum, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, errnum, "cannot write to %.200s", path);
	return sz_err_hint(err, "name a file in a directory that exists and that you may write to");
}

static int refuse_kind(const char *path, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "%.200s is not a regular file, and would be replaced", path);
	return sz_err_hint(err, "name a new file, or one that may be replaced");
}

/* The file itself: path without links at its end, or path when nothing is there. */
static int find(const char *path, char **file, mode_t *mode, struct sz_err *err)
{
	struct stat status;
	*mode = S_IRUSR | S_IWUSR;
	if (stat(path, &status) == 0) {
		if (!S_ISREG(status.st_mode))
			return refuse_kind(path, err);
		*mode = status.st_mode & 07777;
		*file = realpath(path, NULL);
	} else if (errno != ENOENT) {
		return refuse(path, errno, err);
	} else if (lstat(path, &status) == 0) {
		sz_err_set(err, SZ_USAGE, 0, "%.200s is a link to a file that does not exist",
			   path);
		return sz_err_hint(err, "name that file itself");
	} else {
		*file = strdup(path);
	}
	return *file ? 0 : sz_err_nomem(err);
}

static int check_directory(const char *path, const char *file, struct sz_err *err)
{
	sz_autofree char *copy = strdup(file);
	if (!copy)
		return sz_err_nomem(err);
	return access(dirname(copy), W_OK | X_OK) == 0 ? 0 : refuse(path, errno, err);
}

int sz_replace_check(const char *path, struct sz_err *err)
{
	sz_autofree char *file = NULL;
	mode_t mode;
	return find(path, &file, &mode, err) < 0 ? -1 : check_directory(path, file, err);
}

/* 0 or an errno. */
static int write_all(int fd, const struct sz_buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t n = write(fd, text->data + done, text->len - done);
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	/* A name is not to stand for a file that a crash has left empty. */
	return fsync(fd) < 0 ? errno : 0;
}

static int write_new(char *path, mode_t mode, const struct sz_buf *text)
{
	sz_autoclose int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return errno;
	int errnum = fchmod(fd, mode) < 0 ? errno : write_all(fd, text);
	if (errnum)
		unlink(path);
	return errnum;
}

int sz_replace(const char *path, const struct sz_buf *text, struct sz_err *err)
{
	sz_autobuf struct sz_buf fresh = {0};
	sz_autofree char *file = NULL;
	mode_t mode;
	if (find(path, &file, &mode, err) < 0)
		return -1;
	sz_buf_printf(&fresh, "%s.XXXXXX", file);
	if (text->failed || fresh.failed)
		return sz_err_nomem(err);
	int errnum = write_new(fresh.data, mode, text);
	if (errnum == 0 && rename(fresh.data, file) < 0) {
		errnum = errno;
		unlink(fresh.data);
	}
	if (errnum == 0)
		return 0;
	sz_err_set(err, SZ_MACHINE, errnum, "cannot write %.200s", path);
	return sz_err_hint(err, "name a file in a directory that has room, and that you may write "
				"to");
}
