/* SPDX-License-Identifier: Apache-2.0
 *
 * Whatever the pieces in which a stream comes, the text is found exactly when
 * memmem() finds it in the whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/match.h"
#include "base/mem.h"

/* A copy of its own, so that a read beyond it is seen by ASan. */
static size_t feed(const struct sz_match *match, size_t matched, const char *bytes, size_t len)
{
	sz_autofree char *copy = malloc(len + 1);
	assert_non_null(copy);
	char *tight = copy + 1;
	if (len)
		memcpy(tight, bytes, len);
	return sz_match_feed(match, matched, tight, len);
}

static void check(const char *text, const char *stream)
{
	struct sz_match match;
	size_t len = strlen(stream), one_by_one = 0;
	bool holds = strstr(stream, text) != NULL;
	assert_int_equal(sz_match_init(&match, text, NULL), 0);
	for (size_t cut = 0; cut <= len; cut++) {
		size_t matched = feed(&match, 0, stream, cut);
		matched = feed(&match, matched, stream + cut, len - cut);
		if ((matched == match.len) != holds)
			fail_msg("'%s' in '%s' cut at %zu", text, stream, cut);
	}
	for (size_t i = 0; i < len; i++)
		one_by_one = feed(&match, one_by_one, stream + i, 1);
	assert_int_equal(one_by_one == match.len, holds);
}

static void overlapping_prefixes(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"aab", "aaab"},
		{"aab", "aaaaaaab"},
		{"aab", "aabaab"},
		{"aab", "aacab"},
		{"abab", "abaabab"},
		{"abcabd", "abcabcabd"},
		{"abcabd", "abcabcabc"},
		{"aaaa", "aaabaaabaaa"},
		{"a", "a"},
		{"a", ""},
		{"ab", "ba"},
		{"needle", "needlneedle"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++)
		check(cases[i][0], cases[i][1]);
}

/* Every text of up to 4 letters in every stream of up to 8, of two letters. */
static void all_short_ones(void **state)
{
	(void)state;
	for (unsigned text_bits = 2; text_bits < 32; text_bits++) {
		for (unsigned stream_bits = 1; stream_bits < 512; stream_bits++) {
			char text[8] = "", stream[16] = "";
			for (unsigned b = text_bits, i = 0; b > 1; b >>= 1)
				text[i++] = b & 1 ? 'b' : 'a';
			for (unsigned b = stream_bits, i = 0; b > 1; b >>= 1)
				stream[i++] = b & 1 ? 'b' : 'a';
			check(text, stream);
		}
	}
}

static void found_for_ever(void **state)
{
	(void)state;
	struct sz_match match;
	assert_int_equal(sz_match_init(&match, "ok", NULL), 0);
	size_t matched = sz_match_feed(&match, 0, "ok", 2);
	assert_int_equal(sz_match_feed(&match, matched, "no", 2), match.len);
	assert_int_equal(sz_match_feed(&match, matched, "", 0), match.len);
}

static void length_is_bounded(void **state)
{
	(void)state;
	struct sz_match match;
	struct sz_err err = {0};
	char text[SZ_MATCH_MAX + 2];
	memset(text, 'a', sizeof(text));
	text[SZ_MATCH_MAX + 1] = '\0';
	assert_int_equal(sz_match_init(&match, text, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_true(err.hint[0] != '\0');
	assert_int_equal(sz_match_init(&match, "", &err), -1);
	/* The longest border that can be: the byte that breaks it comes last. */
	text[SZ_MATCH_MAX] = '\0';
	assert_int_equal(sz_match_init(&match, text, &err), 0);
	size_t matched = sz_match_feed(&match, 0, text, SZ_MATCH_MAX - 1);
	matched = sz_match_feed(&match, matched, "ba", 2);
	assert_int_equal(matched, 1);
	assert_int_equal(sz_match_feed(&match, matched, text, SZ_MATCH_MAX - 1), match.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_prefixes),
		cmocka_unit_test(all_short_ones),
		cmocka_unit_test(found_for_ever),
		cmocka_unit_test(length_is_bounded),
	};
	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
