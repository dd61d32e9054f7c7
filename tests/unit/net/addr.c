/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/url.h"

static void literals(void **state)
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
		{"https://[::1]/", "[::1]:443", true},
		{"http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]:80", true},
		{"http://[::ffff:10.0.0.1]/", "[::ffff:10.0.0.1]:80", false},
		{"http://[2001:db8::127]/", "[2001:db8::127]:80", false},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_url url;
		struct sz_addr addr;
		struct sz_addrs all;
		char text[64];
		assert_int_equal(sz_url_parse(cases[i].url, &url, NULL), 0);
		assert_int_equal(sz_url_resolve(&url, &addr, NULL), 0);
		assert_string_equal(sz_addr_text(&addr, text), cases[i].text);
		assert_int_equal(sz_addr_is_loopback(&addr), cases[i].loopback);
		assert_int_equal(sz_resolve(url.host, url.port, &all, NULL), 0);
		assert_int_equal(all.count, 1);
		assert_int_equal(all.left_out, 0);
		assert_string_equal(sz_addr_text(&all.list[0], text), cases[i].text);
	}
}

static void all_of_localhost(void **state)
{
	(void)state;
	struct sz_addrs all, ordered;
	struct sz_addr first;
	struct sz_url url = {.host = "localhost", .port = 80};
	assert_int_equal(sz_resolve("localhost", 80, &all, NULL), 0);
	assert_true(all.count >= 1);
	for (size_t i = 0; i < all.count; i++) {
		assert_true(sz_addr_is_loopback(&all.list[i]));
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&all.list[i], &all.list[k], sizeof(all.list[i]));
	}
	assert_int_equal(sz_url_resolve(&url, &first, NULL), 0);
	assert_int_equal(first.storage.ss_family, AF_INET);
	assert_int_equal(sz_url_resolve_all(&url, &ordered, NULL), 0);
	assert_int_equal(ordered.count, all.count);
	assert_memory_equal(&ordered.list[0], &first, sizeof(first));
	for (size_t i = 0; i < all.count; i++) {
		char text[64], other[64];
		size_t k = 0;
		sz_addr_text(&all.list[i], text);
		while (k < ordered.count &&
		       strcmp(sz_addr_text(&ordered.list[k], other), text) != 0)
			k++;
		assert_true(k < ordered.count);
	}
}

static void unresolvable(void **state)
{
	(void)state;
	struct sz_url url = {.host = "300.1.1.1.1", .port = 80};
	struct sz_addr addr = {.len = 42};
	struct sz_addrs all = {.count = 42};
	struct sz_err err = {0};
	assert_int_equal(sz_url_resolve(&url, &addr, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_int_equal(addr.len, 42);
	assert_non_null(strstr(err.message, "300.1.1.1.1"));
	assert_int_equal(sz_resolve(url.host, url.port, &all, &err), -1);
	assert_int_equal(all.count, 42);
	assert_non_null(strstr(err.hint, "address itself"));
}

static void unix_sockets(void **state)
{
	(void)state;
	struct sz_addr addr;
	struct sz_err err = {0};
	char path[109];
	char text[64];
	memset(path, 'a', sizeof(path));
	path[107] = '\0';
	assert_int_equal(sz_addr_unix(path, &addr, &err), 0);
	assert_string_equal(sz_addr_text(&addr, text), path);
	assert_true(sz_addr_is_loopback(&addr));

	addr.len = 42;
	path[107] = 'a';
	path[108] = '\0';
	assert_int_equal(sz_addr_unix(path, &addr, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "107"));
	assert_int_equal(sz_addr_unix("", &addr, &err), -1);
	assert_non_null(strstr(err.message, "empty"));
	assert_int_equal(addr.len, 42);
}

static void local_addresses(void **state)
{
	(void)state;
	static const struct {
		unsigned index;
		const char *text;
	} cases[] = {{0, "127.0.0.1:0"}, {253, "127.0.0.254:0"}, {255, "127.0.1.0:0"}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		char text[64];
		struct sz_addr addr = sz_addr_local(cases[i].index);
		assert_string_equal(sz_addr_text(&addr, text), cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals),        cmocka_unit_test(all_of_localhost),
		cmocka_unit_test(unresolvable),    cmocka_unit_test(unix_sockets),
		cmocka_unit_test(local_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
