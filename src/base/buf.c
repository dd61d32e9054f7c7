/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sz_buf_fini(struct sz_buf *buf)
{
	free(buf->data);
	*buf = (struct sz_buf){0};
}

static bool reserve(struct sz_buf *buf, size_t more)
{
	if (!buf->failed && sz_grow(&buf->data, &buf->cap, buf->len + more + 1, 1) < 0)
		buf->failed = true;
	return !buf->failed;
}

void sz_buf_append(struct sz_buf *buf, const char *bytes, size_t len)
{
	if (!reserve(buf, len))
		return;
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void sz_buf_puts(struct sz_buf *buf, const char *text)
{
	sz_buf_append(buf, text, strlen(text));
}

void sz_buf_repeat(struct sz_buf *buf, char byte, size_t count)
{
	if (!reserve(buf, count))
		return;
	memset(buf->data + buf->len, byte, count);
	buf->len += count;
	buf->data[buf->len] = '\0';
}

void sz_buf_printf(struct sz_buf *buf, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int need = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (need < 0) {
		buf->failed = true;
		return;
	}
	if (!reserve(buf, (size_t)need))
		return;
	va_start(args, fmt);
	vsnprintf(buf->data + buf->len, (size_t)need + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)need;
}

const char *sz_buf_text(const struct sz_buf *buf)
{
	return buf->data ? buf->data : "";
}

size_t sz_text_columns(const char *text)
{
	size_t columns = 0;
	for (; *text; text++)
		columns += ((unsigned char)*text & 0xC0) != 0x80; /* not a continuation byte */
	return columns;
}

/* Columns already used on the last line of buf. */
static size_t last_line_columns(const struct sz_buf *buf)
{
	const char *text = sz_buf_text(buf);
	const char *newline = strrchr(text, '\n');
	return sz_text_columns(newline ? newline + 1 : text);
}

void sz_buf_wrap(struct sz_buf *buf, const char *text, size_t indent, size_t columns)
{
	size_t used = last_line_columns(buf);
	bool line_has_word = false;
	while (*text) {
		size_t len = strcspn(text, " ");
		char word[256];
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		size_t width = sz_text_columns(word);
		if (line_has_word && used + 1 + width > columns) {
			sz_buf_puts(buf, "\n");
			sz_buf_repeat(buf, ' ', indent);
			used = indent;
		} else if (line_has_word) {
			sz_buf_puts(buf, " ");
			used++;
		}
		sz_buf_append(buf, text, len);
		used += width;
		line_has_word = true;
		text += len;
		text += strspn(text, " ");
	}
}
