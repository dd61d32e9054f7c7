/* SPDX-License-Identifier: Apache-2.0
 *
 * Cookies of whoever sets them: what is kept of them can be sent as one line of a
 * head, and means the same however the network cut it. The first byte of the
 * input chooses the size of the pieces; each line is a value of Set-Cookie.
 */
#include <stdbool.h>

#include "net/reply.h"
#include "fuzz.h"

static void tell(struct sz_reply *reply, const char *value, size_t len, size_t piece)
{
	sz_reply_name(reply, "Set-Cookie", strlen("Set-Cookie"));
	for (size_t at = 0; at < len; at += piece)
		sz_reply_value(reply, value + at, len - at < piece ? len - at : piece);
	sz_reply_end_field(reply);
}

static void tell_lines(struct sz_reply *reply, const char *text, size_t size, size_t piece)
{
	*reply = (struct sz_reply){0};
	while (size) {
		const char *newline = memchr(text, '\n', size);
		size_t len = newline ? (size_t)(newline - text) : size;
		tell(reply, text, len, piece);
		len += newline != NULL;
		text += len;
		size -= len;
	}
}

/* Each is a name, '=' and a value; no name comes twice. */
static void check_cookies(const char *cookies, unsigned count)
{
	unsigned seen = 0;
	for (const char *at = cookies; *at; seen++) {
		size_t len = strcspn(at, ";"), name_len = strcspn(at, "=");
		FUZZ_CHECK(name_len > 0 && name_len < len);
		for (size_t i = 0; i < len; i++)
			FUZZ_CHECK(((unsigned char)at[i] >= ' ' && at[i] != 0x7f) || at[i] == '\t');
		const char *next = at + len;
		if (*next) {
			FUZZ_CHECK(next[1] == ' ' && next[2]);
			next += 2;
		}
		for (const char *other = next; *other;) {
			FUZZ_CHECK(strncmp(other, at, name_len + 1) != 0);
			other += strcspn(other, ";");
			other += *other ? 2 : 0;
		}
		at = next;
	}
	FUZZ_CHECK(seen == count && count <= SZ_REPLY_COOKIES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sz_reply whole, cut;
	if (size == 0)
		return 0;
	char *text = fuzz_text(data + 1, size - 1);
	tell_lines(&whole, text, size - 1, SIZE_MAX);
	tell_lines(&cut, text, size - 1, 1 + data[0]);
	FUZZ_CHECK(strlen(whole.cookies) == whole.cookies_bytes);
	FUZZ_CHECK(whole.cookies_bytes <= SZ_REPLY_COOKIES_BYTES);
	check_cookies(whole.cookies, whole.cookie_count);
	FUZZ_CHECK(!whole.why == !cut.why && strcmp(whole.cookies, cut.cookies) == 0);
	free(text);
	return 0;
}
