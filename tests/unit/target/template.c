/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "target/target.h"

static const struct sz_binding bindings[] = {{"workers", "4"},
					     {"port", "8123"},
					     {"pool_size", "16"}};

static void expands(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"{workers}", "4"},
		{"--port={port}", "--port=8123"},
		{"{workers}{workers}:{pool_size}", "44:16"},
		/* JSON */
		{"{\"a\":{\"workers\":1}}", "{\"a\":{\"workers\":1}}"},
		{"{\"a\":{\"workers\":{workers}}}", "{\"a\":{\"workers\":4}}"},
		{"[{}, {}]", "[{}, {}]"},
		/* shell, awk, Jinja */
		{"{ echo x; }", "{ echo x; }"},
		{"f{a,b}.c {1..4}", "f{a,b}.c {1..4}"},
		{"${workers} ${other} $port {port}", "${workers} ${other} $port 8123"},
		{"{{ workers }}", "{{ workers }}"},
		{"{WORKERS}", "{WORKERS}"},
		/* escapes, and what only looks like one */
		{"{{workers}}", "{workers}"},
		{"{{print}} {{x}}", "{print} {x}"},
		{"{{workers}", "{4"},
		{"{workers}}", "4}"},
		{"{{{workers}}}", "{{workers}}"},
		{"{{", "{{"},
		{"}}", "}}"},
		/* cut short */
		{"{", "{"},
		{"{workers", "{workers"},
		{"${", "${"},
		{"$", "$"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autofree char *out = NULL;
		assert_int_equal(sz_template_expand(cases[i].text, bindings, SZ_ARRAY_LEN(bindings),
						    &out, NULL),
				 0);
		assert_string_equal(out, cases[i].want);
	}
}

static void unknown_names_are_refused(void **state)
{
	(void)state;
	struct sz_err err = {0};
	char untouched;
	char *out = &untouched;
	assert_int_equal(sz_template_expand("awk {print}", bindings, 2, &out, &err), -1);
	assert_ptr_equal(out, &untouched);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "{print}"));
	assert_non_null(strstr(err.message, "{workers}, {port}"));
	assert_null(strstr(err.message, "pool_size"));
	assert_non_null(strstr(err.hint, "{{print}}"));

	assert_int_equal(sz_template_expand("{worker}", bindings, 2, &out, NULL), -1);
	assert_int_equal(sz_template_expand("{workerss}", bindings, 2, &out, NULL), -1);
	assert_int_equal(sz_template_expand("{x}", NULL, 0, &out, &err), -1);
	assert_non_null(strstr(err.message, "none"));
}

static void finds_uses(void **state)
{
	(void)state;
	assert_true(sz_template_uses("a {port} b", "port"));
	assert_true(sz_template_uses("{workers}:{port}", "port"));
	assert_false(sz_template_uses("{port", "port"));
	assert_false(sz_template_uses("{{port}}", "port"));
	assert_false(sz_template_uses("${port}", "port"));
	assert_false(sz_template_uses("{ports}", "port"));
	assert_false(sz_template_uses("port", "port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expands),
		cmocka_unit_test(unknown_names_are_refused),
		cmocka_unit_test(finds_uses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
