/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/url.h"

static void usable(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host;
		uint16_t port;
		const char *target, *host_header;
	} good[] = {
		{"http://localhost:8000/x", "localhost", 8000, "/x", "localhost:8000"},
		{"http://a", "a", 80, "/", "a"},
		{"HTTP://A.b-c_d/", "A.b-c_d", 80, "/", "A.b-c_d"},
		{"http://a:80/", "a", 80, "/", "a"},
		{"http://a?q=1", "a", 80, "/?q=1", "a"},
		{"http://a/x?u=http://b/", "a", 80, "/x?u=http://b/", "a"},
		{"http://a/x?m=a@b", "a", 80, "/x?m=a@b", "a"},
		{"http://127.0.0.1:65535/", "127.0.0.1", 65535, "/", "127.0.0.1:65535"},
		{"http://[::1]:8000/a?b", "::1", 8000, "/a?b", "[::1]:8000"},
		{"http://[2001:db8::1]", "2001:db8::1", 80, "/", "[2001:db8::1]"},
		{"https://a", "a", 443, "/", "a"},
		{"HTTPS://a:443/x", "a", 443, "/x", "a"},
		{"https://a:80/", "a", 80, "/", "a:80"},
		{"http://a:443/", "a", 443, "/", "a:443"},
		{"https://[::1]", "::1", 443, "/", "[::1]"},
		{"/io?ms=20", "", 0, "/io?ms=20", NULL},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		struct sz_url url;
		struct sz_err err = {0};
		char text[272];
		if (sz_url_parse(good[i].text, &url, &err) < 0)
			fail_msg("%s: %s", good[i].text, err.message);
		assert_string_equal(url.host, good[i].host);
		assert_int_equal(url.port, good[i].port);
		assert_int_equal(url.tls, strncasecmp(good[i].text, "https", 5) == 0);
		assert_string_equal(url.target, good[i].target);
		if (good[i].host_header)
			assert_string_equal(sz_url_host_header(&url, text), good[i].host_header);
	}
}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message, *hint;
	} bad[] = {
		{"", "empty", "http://"},
		{"localhost:8000/x", "no http://", "http://localhost:8000/x "},
		{"8000", "no http://", "http://8000"},
		{"unix:/run/a.sock", "unix socket", "--unix-socket PATH"},
		{"unix:///run/a.sock", "unix socket", "--unix-socket PATH"},
		{"http+unix://%2Frun%2Fa.sock/x", "unix socket", "http://localhost/"},
		{"httpsx://a/", "only http://", ""},
		{"https:///x", "no host", ""},
		{"https:a", "no http://", "http://https:a"},
		{"ftp://a/", "only http://", ""},
		{"httpx://a/", "only http://", ""},
		{"http:///x", "no host", ""},
		{"http://:80/", "no host", ""},
		{"http://a:/", "port", ""},
		{"http://a:0/", "port", ""},
		{"http://a:65536/", "port", ""},
		{"http://a:+80/", "port", ""},
		{"http://a:80x/", "port", ""},
		{"http://u:p@a/", "password", ""},
		{"http://a/x#y", "fragment", ""},
		{"http://a/x y", "blank", ""},
		{"http://a/\n", "control", ""},
		{"http://a/\xc3\xa4", "percent", ""},
		{"http://a b/", "blank", ""},
		{"http://a%41/", "host name", ""},
		{"http://::1/", "brackets", ""},
		{"http://[::1/", "not closed", ""},
		{"http://[::1]x/", "only a port", ""},
		{"http://[1.2.3.4]/", "no IPv6", ""},
		{"http://[fe80::1%25eth0]/", "no IPv6", ""},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_url url = {.port = 42};
		struct sz_err err = {0};
		assert_int_equal(sz_url_parse(bad[i].text, &url, &err), -1);
		assert_int_equal(url.port, 42);
		assert_int_equal(err.code, SZ_USAGE);
		if (!strstr(err.message, bad[i].message) || !strstr(err.hint, bad[i].hint))
			fail_msg("%s: %s (%s)", bad[i].text, err.message, err.hint);
		assert_true(err.hint[0] != '\0');
	}
}

/* Whatever is wrong with them besides, and wherever the password could begin. */
static void no_password_is_shown(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"http://user:SECRET@a/",
		"https://SECRET@a",
		"user:SECRET@a/",
		"ftp://user:SECRET@a/",
		"h3://user:SECRET@a/",
		"http://user:SECRET@a:0/x",
		"http://user:SECRET@a/x y",
		"http://user:SECRET@a/#x",
		"http://user:SEC/SECRET@a/",
		"http://user:S?SECRET@a/x@y",
		"http://SECRET:@",
		"http://user:SECRET#@a/",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_url url;
		struct sz_err err = {0};
		assert_int_equal(sz_url_parse(bad[i], &url, &err), -1);
		if (strstr(err.message, "SECRET") || strstr(err.hint, "SECRET"))
			fail_msg("%s (%s)", err.message, err.hint);
	}
}

static void over_long_parts(void **state)
{
	(void)state;
	char text[4096] = "http://";
	struct sz_url url;
	memset(text + 7, 'a', 253);
	assert_int_equal(sz_url_parse(text, &url, NULL), 0);
	text[7 + 253] = 'a';
	assert_int_equal(sz_url_parse(text, &url, NULL), -1);

	memset(text, 'a', 3000);
	text[0] = '/';
	text[2047] = '\0';
	assert_int_equal(sz_url_parse(text, &url, NULL), 0);
	assert_int_equal(strlen(url.target), 2047);
	text[2047] = 'a';
	text[2048] = '\0';
	assert_int_equal(sz_url_parse(text, &url, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usable),
		cmocka_unit_test(refused),
		cmocka_unit_test(no_password_is_shown),
		cmocka_unit_test(over_long_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
