/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"

static void durations(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10000000000}, {"10s", 10000000000},  {"250ms", 250000000},
		{"1.5ms", 1500000},  {"2m", 120000000000},  {"0", 0},
		{"7ns", 7},          {"0.268s", 268000000}, {"0.003ms", 3000},
		{"0.25us", 250},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		uint64_t ns = 1;
		assert_int_equal(sz_parse_duration_ns(good[i].text, &ns, NULL), 0);
		assert_int_equal(ns, good[i].ns);
	}
	static const char *const bad[] = {"",   "s",   "-1s", "1e3",  "1 s",   "0x10",     "1.s",
					  ".5", "inf", "nan", "1sec", "1.5ns", "99999999h"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_err err = {0};
		uint64_t ns = 42;
		assert_int_equal(sz_parse_duration_ns(bad[i], &ns, &err), -1);
		assert_int_equal(ns, 42);
		assert_int_equal(err.code, SZ_USAGE);
		assert_non_null(strstr(err.message, bad[i]));
	}
}

static void settings(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t count;
		unsigned value[8];
	} good[] = {
		{"1", 1, {1}},
		{"4,1,2", 3, {1, 2, 4}},
		{"2,2", 1, {2}},
		{"1..16", 5, {1, 2, 4, 8, 16}},
		{"1..6", 4, {1, 2, 4, 6}},
		{"3..3", 1, {3}},
		{"1..4,33", 4, {1, 2, 4, 33}},
		{"1..4096", 13, {1, 2, 4, 8, 16, 32, 64, 128}},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		struct sz_settings settings = {0};
		assert_int_equal(sz_parse_settings(good[i].text, &settings, NULL), 0);
		assert_int_equal(settings.count, good[i].count);
		for (size_t k = 0; k < settings.count && k < 8; k++)
			assert_int_equal(settings.value[k], good[i].value[k]);
	}
	static const char *const bad[] = {"",     "0",     "-1",  "abc", "5..1", ",",   "1,",
					  "1,,2", "1...4", "..4", "1..", "5000", "1.5", "1..0"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_err err = {0};
		struct sz_settings settings = {.count = 7};
		assert_int_equal(sz_parse_settings(bad[i], &settings, &err), -1);
		assert_int_equal(settings.count, 7);
		assert_int_equal(err.code, SZ_USAGE);
		assert_true(err.hint[0] != '\0');
	}
}

static void formats(void **state)
{
	(void)state;
	char text[SZ_UNIT_TEXT];
	assert_string_equal(sz_format_duration(text, 999), "999 ns");
	assert_string_equal(sz_format_duration(text, 999.7), "1.00 us");
	assert_string_equal(sz_format_duration(text, 20.25e6), "20.2 ms");
	assert_string_equal(sz_format_duration(text, 1.0e9), "1.00 s");
	assert_string_equal(sz_format_duration(text, 120e9), "120 s");
	assert_string_equal(sz_format_bytes(text, 34.5 * 1048576), "34.5 MiB");
	assert_string_equal(sz_format_bytes(text, 512), "512 B");
}

static void wrapping(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf buf = {0};
	sz_buf_puts(&buf, "ab  ");
	sz_buf_wrap(&buf, "one two  three four", 4, 12);
	assert_string_equal(sz_buf_text(&buf), "ab  one two\n    three\n    four");
	assert_int_equal(sz_text_columns("a–b×"), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(settings),
		cmocka_unit_test(formats),
		cmocka_unit_test(wrapping),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
