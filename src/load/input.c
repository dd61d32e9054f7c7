/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/units.h"

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : "a device or a socket";
}

/* O_NONBLOCK: to open a pipe that nobody writes to would wait for ever. */
static int open_regular(const char *path, mode_t *mode, struct sz_err *err)
{
	struct stat st;
	sz_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		sz_err_set(err, SZ_USAGE, errno, "cannot read %.200s", path);
		return sz_err_hint(err, "give the path of a file that you may read");
	}
	if (!S_ISREG(st.st_mode)) {
		sz_err_set(err, SZ_USAGE, 0, "%.200s is %s, not a regular file", path,
			   kind_of(st.st_mode));
		return sz_err_hint(err, "write what is to be read to a file and give that");
	}
	*mode = st.st_mode;
	return sz_steal_fd(&fd);
}

static int too_long(const char *path, size_t most_bytes, struct sz_err *err)
{
	char most[SZ_UNIT_TEXT];
	return sz_err_set(err, SZ_USAGE, 0, "%.200s holds more than the %s allowed here", path,
			  sz_format_bytes(most, (double)most_bytes));
}

int sz_input_read(const char *path, size_t most_bytes, struct sz_buf *out, mode_t *mode,
		  struct sz_err *err)
{
	char chunk[64 * 1024];
	size_t total = 0;
	mode_t found = 0;
	sz_autoclose int fd = open_regular(path, &found, err);
	if (fd < 0)
		return -1;
	for (ssize_t n; (n = read(fd, chunk, sizeof(chunk))) != 0;) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sz_err_set(err, SZ_USAGE, errno, "cannot read %.200s", path);
		total += (size_t)n;
		if (total > most_bytes)
			return too_long(path, most_bytes, err);
		sz_buf_append(out, chunk, (size_t)n);
	}
	if (out->failed)
		return sz_err_nomem(err);
	if (mode)
		*mode = found;
	return 0;
}

const char *sz_input_quote(const char *text, size_t len, char quote[SZ_INPUT_QUOTE])
{
	size_t used = 0;
	size_t i = 0;
	for (; i < len && used + sizeof("\\xff...") <= SZ_INPUT_QUOTE; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (byte >= ' ' && byte < 0x7f)
			quote[used++] = (char)byte;
		else
			used += (size_t)snprintf(quote + used, SZ_INPUT_QUOTE - used, "\\x%02x",
						 byte);
	}
	snprintf(quote + used, SZ_INPUT_QUOTE - used, "%s", i < len ? "..." : "");
	return quote;
}

size_t sz_input_mark(const char *text, size_t len)
{
	static const char mark[] = "\xef\xbb\xbf";
	return len >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

const char *sz_input_line(const char *text, size_t len, size_t *at, size_t *line_len)
{
	if (*at >= len)
		return NULL;
	const char *line = text + *at;
	const char *newline = memchr(line, '\n', len - *at);
	*line_len = newline ? (size_t)(newline - line) : len - *at;
	*at += *line_len + (newline != NULL);
	if (*line_len && line[*line_len - 1] == '\r')
		--*line_len;
	return line;
}
