/* SPDX-License-Identifier: Apache-2.0 */
#include "base/match.h"

#include <string.h>

/* How much of the text is matched once `byte` follows `matched` bytes of it. */
static size_t advance(const struct sz_match *match, size_t matched, char byte)
{
	while (matched && match->text[matched] != byte)
		matched = match->border[matched - 1];
	return matched + (match->text[matched] == byte);
}

int sz_match_init(struct sz_match *match, const char *text, struct sz_err *err)
{
	size_t len = strlen(text);
	if (len == 0 || len > SZ_MATCH_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "a text of %zu bytes cannot be looked for", len);
		return sz_err_hint(err, "give 1 to %d bytes", SZ_MATCH_MAX);
	}
	struct sz_match made = {.len = len};
	memcpy(made.text, text, len);
	for (size_t i = 1; i < len; i++)
		made.border[i] = (uint8_t)advance(&made, made.border[i - 1], text[i]);
	*match = made;
	return 0;
}

size_t sz_match_feed(const struct sz_match *match, size_t matched, const char *bytes, size_t len)
{
	const char *end = bytes + len;
	while (bytes < end && matched < match->len) {
		if (matched == 0) {
			bytes = memchr(bytes, match->text[0], (size_t)(end - bytes));
			if (!bytes)
				return 0;
		}
		matched = advance(match, matched, *bytes++);
	}
	return matched;
}
