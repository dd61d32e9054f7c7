/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing text buffer. Every view is built in one and written out once.
 *
 * A failed allocation is remembered (`failed`) and later appends do nothing,
 * so a caller checks once, at the end.
 */
#ifndef SZ_BASE_BUF_H
#define SZ_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct sz_buf {
	char *data; /* always NUL-terminated once anything was appended; else NULL */
	size_t len; /* bytes, without the NUL */
	size_t cap;
	bool failed;
};

void sz_buf_fini(struct sz_buf *buf);

#define sz_autobuf __attribute__((cleanup(sz_buf_fini)))

void sz_buf_append(struct sz_buf *buf, const char *bytes, size_t len);
void sz_buf_puts(struct sz_buf *buf, const char *text);
void sz_buf_repeat(struct sz_buf *buf, char byte, size_t count);

__attribute__((format(printf, 2, 3))) void sz_buf_printf(struct sz_buf *buf, const char *fmt, ...);

/* The text, never NULL. */
const char *sz_buf_text(const struct sz_buf *buf);

/* Append text broken at spaces so that no line is longer than `columns`
 * (unless one word is); lines after the first start with `indent` spaces. */
void sz_buf_wrap(struct sz_buf *buf, const char *text, size_t indent, size_t columns);

/* Columns that UTF-8 text takes on a terminal, one per code point. */
size_t sz_text_columns(const char *text);

#endif
