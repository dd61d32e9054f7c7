/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <string.h>

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
		{"https://a/", "TLS is not supported", "plain HTTP"},
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
		{"http://a/x y", "space", ""},
		{"http://a/\n", "control", ""},
		{"http://a/\xc3\xa4", "percent", ""},
		{"http://a b/", "space", ""},
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

static void addresses(void **state)
{
	(void)state;
	static const struct {
		const char *url, *text;
		bool loopback;
	} cases[] = {
		{"http://127.0.0.1:81/", "127.0.0.1:81", true},
		{"http://127.255.0.9/", "127.255.0.9:80", true},
		{"http://128.0.0.1/", "128.0.0.1:80", false},
		{"http://[::1]:1/", "[::1]:1", true},
		{"http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]:80", true},
		{"http://[::ffff:10.0.0.1]/", "[::ffff:10.0.0.1]:80", false},
		{"http://[2001:db8::127]/", "[2001:db8::127]:80", false},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_url url;
		struct sz_addr addr;
		char text[64];
		assert_int_equal(sz_url_parse(cases[i].url, &url, NULL), 0);
		assert_int_equal(sz_url_resolve(&url, &addr, NULL), 0);
		assert_string_equal(sz_addr_text(&addr, text), cases[i].text);
		assert_int_equal(sz_addr_is_loopback(&addr), cases[i].loopback);
	}
	struct sz_url local;
	struct sz_addr addr;
	assert_int_equal(sz_url_parse("http://localhost/", &local, NULL), 0);
	assert_int_equal(sz_url_resolve(&local, &addr, NULL), 0);
	assert_int_equal(addr.storage.ss_family, AF_INET);
	assert_true(sz_addr_is_loopback(&addr));
}

static void unresolvable(void **state)
{
	(void)state;
	struct sz_url url = {.host = "300.1.1.1.1", .port = 80};
	struct sz_addr addr = {.len = 42};
	struct sz_err err = {0};
	assert_int_equal(sz_url_resolve(&url, &addr, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_int_equal(addr.len, 42);
	assert_non_null(strstr(err.message, "300.1.1.1.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usable),          cmocka_unit_test(refused),
		cmocka_unit_test(over_long_parts), cmocka_unit_test(addresses),
		cmocka_unit_test(unresolvable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
