/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reply.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static const char set_cookie[] = "set-cookie";
#define SET_COOKIE_LEN (sizeof(set_cookie) - 1)

static const char why_too_many[] = "more than 16 cookies";
static const char why_too_long[] = "more than 4 KiB of cookies";

void sz_reply_name(struct sz_reply *reply, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool fits = reply->name_matched < SET_COOKIE_LEN &&
			    tolower((unsigned char)bytes[i]) == set_cookie[reply->name_matched];
		reply->name_matched = fits ? reply->name_matched + 1 : SIZE_MAX;
	}
}

void sz_reply_value(struct sz_reply *reply, const char *bytes, size_t len)
{
	if (reply->name_matched != SET_COOKIE_LEN || reply->is_attribute || len == 0)
		return;
	const char *semicolon = memchr(bytes, ';', len);
	size_t taken = semicolon ? (size_t)(semicolon - bytes) : len;
	reply->is_attribute = semicolon != NULL;
	if (taken > sizeof(reply->pending) - reply->pending_bytes) {
		reply->why = why_too_long;
		reply->name_matched = SIZE_MAX; /* no half of it is kept */
		return;
	}
	memcpy(reply->pending + reply->pending_bytes, bytes, taken);
	reply->pending_bytes += taken;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Without the blanks around it. */
struct piece {
	const char *at;
	size_t len;
};

static struct piece trimmed(const char *at, size_t len)
{
	while (len && is_blank(*at)) {
		at++;
		len--;
	}
	while (len && is_blank(at[len - 1]))
		len--;
	return (struct piece){at, len};
}

static bool holds_control(struct piece text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.at[i];
		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return true;
	}
	return false;
}

/* The cookie of that name goes, if there is one. */
static void forget(struct sz_reply *reply, struct piece name)
{
	for (char *at = reply->cookies; *at;) {
		char *next = at + strcspn(at, ";");
		next += *next ? 2 : 0;
		if (strncmp(at, name.at, name.len) != 0 || at[name.len] != '=') {
			at = next;
			continue;
		}
		size_t rest = strlen(next);
		memmove(at, next, rest + 1);
		/* It was the last one: the separator before it goes, too. */
		if (rest == 0 && at != reply->cookies)
			at[-2] = '\0';
		reply->cookies_bytes = strlen(reply->cookies);
		reply->cookie_count--;
		return;
	}
}

static void append(struct sz_reply *reply, const char *bytes, size_t len)
{
	memcpy(reply->cookies + reply->cookies_bytes, bytes, len);
	reply->cookies_bytes += len;
	reply->cookies[reply->cookies_bytes] = '\0';
}

static void keep(struct sz_reply *reply, struct piece name, struct piece value)
{
	size_t gap = reply->cookies_bytes ? 2 : 0;
	size_t more = gap + name.len + 1 + value.len;
	if (reply->cookie_count == SZ_REPLY_COOKIES_MAX) {
		reply->why = why_too_many;
	} else if (more > SZ_REPLY_COOKIES_BYTES - reply->cookies_bytes) {
		reply->why = why_too_long;
	} else {
		append(reply, "; ", gap);
		append(reply, name.at, name.len);
		append(reply, "=", 1);
		append(reply, value.at, value.len);
		reply->cookie_count++;
	}
}

static void take(struct sz_reply *reply)
{
	const char *bytes = reply->pending;
	size_t len = reply->pending_bytes;
	const char *equals = memchr(bytes, '=', len);
	if (!equals)
		return;
	size_t before = (size_t)(equals - bytes);
	struct piece name = trimmed(bytes, before);
	struct piece value = trimmed(equals + 1, len - before - 1);
	if (name.len == 0 || holds_control(name) || holds_control(value))
		return;
	forget(reply, name);
	keep(reply, name, value);
}

void sz_reply_end_field(struct sz_reply *reply)
{
	if (reply->name_matched == SET_COOKIE_LEN)
		take(reply);
	reply->name_matched = 0;
	reply->is_attribute = false;
	reply->pending_bytes = 0;
}

void sz_reply_body(struct sz_reply *reply, const char *bytes, size_t len)
{
	size_t room = sizeof(reply->body) - reply->body_bytes;
	size_t taken = len < room ? len : room;
	memcpy(reply->body + reply->body_bytes, bytes, taken);
	reply->body_bytes += taken;
}
