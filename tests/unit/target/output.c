/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "target/inside.h"

static void ring_keeps_the_last_bytes(void **state)
{
	(void)state;
	static const size_t steps[] = {1,
				       7,
				       1000,
				       SZ_OUTPUT_KEPT - 1,
				       SZ_OUTPUT_KEPT,
				       SZ_OUTPUT_KEPT + 1,
				       3 * SZ_OUTPUT_KEPT};
	static char source[5 * SZ_OUTPUT_KEPT];
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (char)(i * 31 % 251);
	for (size_t i = 0; i < SZ_ARRAY_LEN(steps); i++) {
		struct sz_output output = {0};
		size_t given = 0;
		for (; given + steps[i] <= sizeof(source); given += steps[i])
			sz_output_append(&output, source + given, steps[i]);
		char kept[SZ_OUTPUT_KEPT];
		assert_int_equal(sz_output_copy(&output, kept), SZ_OUTPUT_KEPT);
		assert_memory_equal(kept, source + given - SZ_OUTPUT_KEPT, SZ_OUTPUT_KEPT);
	}
}

static void ring_that_is_not_full(void **state)
{
	(void)state;
	struct sz_output output = {0};
	char kept[SZ_OUTPUT_KEPT];
	assert_int_equal(sz_output_copy(&output, kept), 0);
	sz_output_append(&output, "abc", 3);
	sz_output_append(&output, "de", 2);
	assert_int_equal(sz_output_copy(&output, kept), 5);
	assert_memory_equal(kept, "abcde", 5);
}

static void excerpts(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		const char *want;
	} cases[] = {
		{"", ""},
		{"\n \n\r\n", ""},
		{"one", "\n  one"},
		{"one\n", "\n  one"},
		{"one\n\n  two  \n", "\n  one\n    two"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n", "\n  3\n  4\n  5\n  6\n  7\n  8"},
		{"10 %\r50 %\r99 %", "\n  10 %\n  50 %\n  99 %"},
		{"\033[31mERROR\033[0m:\tno\a", "\n  ERROR: no"},
		{"caf\xC3\xA9 \xE2\x82\xAC \x80\xBF"
		 "end",
		 "\n  caf? ? end"},
		{"cut \033[", "\n  cut"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf excerpt = {0};
		sz_output_excerpt(cases[i].bytes, strlen(cases[i].bytes), &excerpt);
		assert_string_equal(sz_buf_text(&excerpt), cases[i].want);
	}
}

static void excerpt_is_bounded_and_keeps_the_end(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf long_lines = {0};
	for (int i = 0; i < 5; i++) {
		sz_buf_printf(&long_lines, "line %d ", i);
		sz_buf_repeat(&long_lines, 'x', 500);
		sz_buf_puts(&long_lines, "\n");
	}
	sz_autobuf struct sz_buf excerpt = {0};
	sz_output_excerpt(long_lines.data, long_lines.len, &excerpt);
	assert_true(excerpt.len <= SZ_EXCERPT_BYTES);
	assert_non_null(strstr(excerpt.data, "line 4 x"));
	assert_non_null(strstr(excerpt.data, "line 3 x"));
	assert_null(strstr(excerpt.data, "line 2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_keeps_the_last_bytes),
		cmocka_unit_test(ring_that_is_not_full),
		cmocka_unit_test(excerpts),
		cmocka_unit_test(excerpt_is_bounded_and_keeps_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
