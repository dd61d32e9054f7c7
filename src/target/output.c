/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of the service: a ring of the last bytes, and the excerpt of it
 * that goes into error messages. Pure functions.
 */
#include "target/inside.h"

#include <string.h>

#define EXCERPT_LINES 6
#define EXCERPT_LINE_BYTES 160

void sz_output_append(struct sz_output *output, const char *bytes, size_t len)
{
	if (len > SZ_OUTPUT_KEPT) {
		output->written += len - SZ_OUTPUT_KEPT;
		bytes += len - SZ_OUTPUT_KEPT;
		len = SZ_OUTPUT_KEPT;
	}
	size_t at = output->written % SZ_OUTPUT_KEPT;
	size_t to_end = SZ_OUTPUT_KEPT - at;
	size_t first = len < to_end ? len : to_end;
	memcpy(output->ring + at, bytes, first);
	memcpy(output->ring, bytes + first, len - first);
	output->written += len;
}

size_t sz_output_copy(const struct sz_output *output, char bytes[SZ_OUTPUT_KEPT])
{
	if (output->written <= SZ_OUTPUT_KEPT) {
		memcpy(bytes, output->ring, (size_t)output->written);
		return (size_t)output->written;
	}
	size_t oldest = output->written % SZ_OUTPUT_KEPT;
	memcpy(bytes, output->ring + oldest, SZ_OUTPUT_KEPT - oldest);
	memcpy(bytes + SZ_OUTPUT_KEPT - oldest, output->ring, oldest);
	return SZ_OUTPUT_KEPT;
}

/* Length of a terminal's colour or cursor sequence (ESC [ … letter), or 0. */
static size_t escape_len(const char *bytes, size_t len)
{
	if (len < 2 || bytes[0] != '\033' || bytes[1] != '[')
		return 0;
	size_t at = 2;
	while (at < len && bytes[at] >= 0x20 && bytes[at] < 0x40)
		at++;
	return at < len ? at + 1 : at;
}

/* What to show for a byte; '\0' for nothing. A code point beyond ASCII is one
 * '?': the ring may have cut it, and JSON takes no broken UTF-8. */
static char printable(unsigned char byte)
{
	if (byte >= 0xC0)
		return '?';
	if (byte == '\n' || byte == '\r')
		return '\n';
	if (byte == '\t')
		return ' ';
	return byte >= 0x20 && byte < 0x7F ? (char)byte : '\0';
}

static size_t clean(const char *bytes, size_t len, char text[SZ_OUTPUT_KEPT])
{
	size_t out = 0;
	for (size_t at = 0; at < len;) {
		size_t skip = escape_len(bytes + at, len - at);
		char show = skip ? '\0' : printable((unsigned char)bytes[at]);
		if (show)
			text[out++] = show;
		at += skip ? skip : 1;
	}
	return out;
}

struct line {
	const char *text;
	size_t len;
};

/* The last line before *end that is not blank; moves *end to its start. */
static struct line line_before(const char *text, size_t *end)
{
	while (*end > 0 && (text[*end - 1] == '\n' || text[*end - 1] == ' '))
		--*end;
	size_t start = *end;
	while (start > 0 && text[start - 1] != '\n')
		start--;
	struct line line = {text + start, *end - start};
	*end = start;
	return line;
}

void sz_output_excerpt(const char *bytes, size_t len, struct sz_buf *excerpt)
{
	char text[SZ_OUTPUT_KEPT];
	struct line lines[EXCERPT_LINES];
	size_t count = 0;
	size_t room = SZ_EXCERPT_BYTES;
	size_t end = clean(bytes, len, text);
	while (count < EXCERPT_LINES) {
		struct line line = line_before(text, &end);
		if (line.len > EXCERPT_LINE_BYTES)
			line.len = EXCERPT_LINE_BYTES;
		if (line.len == 0 || line.len + 3 > room)
			break;
		room -= line.len + 3;
		lines[count++] = line;
	}
	while (count > 0) {
		count--;
		sz_buf_puts(excerpt, "\n  ");
		sz_buf_append(excerpt, lines[count].text, lines[count].len);
	}
}
