/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of a response: told whole and byte by byte, by both codecs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/http1.h"
#include "net/reply.h"

static struct sz_reply reply;

static void tell(const char *name, const char *value, size_t piece)
{
	for (size_t at = 0, len = strlen(name); at < len; at += piece)
		sz_reply_name(&reply, name + at, len - at < piece ? len - at : piece);
	for (size_t at = 0, len = strlen(value); at < len; at += piece)
		sz_reply_value(&reply, value + at, len - at < piece ? len - at : piece);
	sz_reply_end_field(&reply);
}

struct cookie_case {
	const char *values[4];
	const char *cookies;
	unsigned count;
};

static const struct cookie_case cases[] = {
	{{"a=1"}, "a=1", 1},
	{{"a=1; Path=/; HttpOnly", "b=2;Secure"}, "a=1; b=2", 2},
	{{" a \t=\t 1 2 ; x"}, "a=1 2", 1},
	{{"a=\"q=1\""}, "a=\"q=1\"", 1},
	{{"a="}, "a=", 1},
	/* past its time, which is an attribute like others */
	{{"a=gone; Max-Age=0"}, "a=gone", 1},
	/* no cookies */
	{{"", ";", "=1", "  =1"}, "", 0},
	{{"a", "a; b=1", "\t"}, "", 0},
	{{"a=\x01", "\x7f=1", "a=1\x1f"}, "", 0},
	{{"a=1\r\nX: y"}, "", 0},
	/* a later one of the same name */
	{{"a=1", "a=2"}, "a=2", 1},
	{{"a=1", "b=2", "a=3"}, "b=2; a=3", 2},
	{{"a=1", "b=2", "b=3"}, "a=1; b=3", 2},
	{{"a=1", "b=2", "c=3", "b=4"}, "a=1; c=3; b=4", 3},
	/* names are told from each other whole, and by case */
	{{"ab=1", "a=2", "A=3", "abc=4"}, "ab=1; a=2; A=3; abc=4", 4},
	{{"b=a=1", "a=2"}, "b=a=1; a=2", 2},
};

static void cookies(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * SZ_ARRAY_LEN(cases); i++) {
		const struct cookie_case *wanted = &cases[i / 2];
		reply = (struct sz_reply){0};
		for (size_t k = 0; k < SZ_ARRAY_LEN(wanted->values) && wanted->values[k]; k++)
			tell(k % 2 ? "SET-COOKIE" : "Set-Cookie", wanted->values[k],
			     i % 2 ? 1 : SIZE_MAX);
		assert_string_equal(reply.cookies, wanted->cookies);
		assert_int_equal(reply.cookies_bytes, strlen(wanted->cookies));
		assert_int_equal(reply.cookie_count, wanted->count);
		assert_null(reply.why);
	}
}

static void other_fields(void **state)
{
	(void)state;
	static const char *const names[] = {"", "Set-Cookie2", "Set-Cooki", "Cookie",
					    "XSet-Cookie"};
	reply = (struct sz_reply){0};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++)
		tell(names[i], "a=1", 1);
	assert_int_equal(reply.cookie_count, 0);
	tell("set-cookie", "b=2", SIZE_MAX);
	assert_string_equal(reply.cookies, "b=2");
}

static void sixteen_and_not_one_more(void **state)
{
	(void)state;
	char value[16];
	reply = (struct sz_reply){0};
	for (unsigned i = 0; i < SZ_REPLY_COOKIES_MAX; i++) {
		snprintf(value, sizeof(value), "c%u=%u", i, i);
		tell("Set-Cookie", value, SIZE_MAX);
	}
	tell("Set-Cookie", "c7=again", SIZE_MAX);
	assert_int_equal(reply.cookie_count, 16);
	assert_null(reply.why);
	tell("Set-Cookie", "c16=16", SIZE_MAX);
	assert_int_equal(reply.cookie_count, 16);
	assert_string_equal(reply.why, "more than 16 cookies");
}

static void four_kib_and_not_one_byte_more(void **state)
{
	(void)state;
	static char value[SZ_REPLY_COOKIES_BYTES + 2];
	for (size_t more = 0; more < 2; more++) {
		reply = (struct sz_reply){0};
		memset(value, 'x', sizeof(value));
		memcpy(value, "a=", 2);
		value[SZ_REPLY_COOKIES_BYTES + more] = '\0';
		tell("Set-Cookie", value, 100);
		assert_int_equal(reply.cookies_bytes, more ? 0 : SZ_REPLY_COOKIES_BYTES);
		assert_int_equal(reply.why != NULL, more);
	}
	assert_string_equal(reply.why, "more than 4 KiB of cookies");
	reply = (struct sz_reply){0};
	value[SZ_REPLY_COOKIES_BYTES - 5] = '\0';
	tell("Set-Cookie", value, SIZE_MAX);
	tell("Set-Cookie", "b=1", SIZE_MAX);
	assert_int_equal(reply.cookies_bytes, SZ_REPLY_COOKIES_BYTES);
	assert_null(reply.why);
	tell("Set-Cookie", "c=1", SIZE_MAX);
	assert_non_null(reply.why);
	assert_int_equal(reply.cookies_bytes, SZ_REPLY_COOKIES_BYTES);
	/* Attributes are not kept, and may be longer. */
	reply = (struct sz_reply){0};
	memcpy(value, "a=1;", 4);
	sz_reply_name(&reply, "Set-Cookie", 10);
	for (unsigned i = 0; i < 3; i++)
		sz_reply_value(&reply, value, strlen(value));
	sz_reply_end_field(&reply);
	assert_string_equal(reply.cookies, "a=1");
	assert_null(reply.why);
}

static void begin_of_the_body(void **state)
{
	(void)state;
	char body[200];
	memset(body, 'y', sizeof(body));
	reply = (struct sz_reply){0};
	sz_reply_body(&reply, "abc", 3);
	for (size_t i = 0; i < 100; i++)
		sz_reply_body(&reply, body, sizeof(body));
	assert_int_equal(reply.body_bytes, SZ_REPLY_BODY_BYTES);
	assert_memory_equal(reply.body, "abcyyy", 6);
}

#define TEXT                                                                                       \
	"HTTP/1.1 103 Early Hints\r\nSet-Cookie: early=1\r\n\r\n"                                  \
	"HTTP/1.1 401 Unauthorized\r\nX-Empty:\r\nSet-Cookie: a=1; Path=/\r\nX:\r\n"               \
	"set-cookie:b=2\r\nSet-Cookie:\r\nTransfer-Encoding: chunked\r\n\r\n"                      \
	"3\r\nyou\r\n6\r\nr name\r\n0\r\nSet-Cookie: late=1\r\n\r\n"

/* Whatever the pieces; without keep() nothing is kept. */
static void of_http1(void **state)
{
	(void)state;
	static const char text[] = TEXT;
	const size_t len = sizeof(text) - 1;
	for (size_t piece = 1; piece <= len; piece++) {
		struct sz_http1_response response;
		enum sz_http1_state fed = SZ_HTTP1_MORE;
		memset(&reply, 0x55, sizeof(reply));
		sz_http1_response_init(&response, false);
		sz_http1_response_keep(&response, &reply);
		for (size_t at = 0, used; at < len; at += used)
			fed = sz_http1_response_feed(&response, text + at,
						     len - at < piece ? len - at : piece, &used);
		assert_int_equal(fed, SZ_HTTP1_COMPLETE);
		assert_int_equal(response.status, 401);
		assert_string_equal(reply.cookies, "a=1; b=2");
		assert_int_equal(reply.body_bytes, 9);
		assert_memory_equal(reply.body, "your name", 9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cookies),
		cmocka_unit_test(other_fields),
		cmocka_unit_test(sixteen_and_not_one_more),
		cmocka_unit_test(four_kib_and_not_one_byte_more),
		cmocka_unit_test(begin_of_the_body),
		cmocka_unit_test(of_http1),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
