/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/redact.h"

static void words(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"DB_PASSWORD=a b&c", "DB_PASSWORD=***"},
		{"aws_secret_access_key=x", "aws_secret_access_key=***"},
		{"--api-token=x", "--api-token=***"},
		{"CREDENTIALS=", "CREDENTIALS="},
		{"PATH=/usr/bin", "PATH=/usr/bin"},
		{"exec env A=1 PASS=x serve", "exec env A=1 PASS=*** serve"},
		{"exec env PASS='a b'\"c d\"e serve", "exec env PASS=*** serve"},
		{"exec env PASS=a\\ b serve", "exec env PASS=*** serve"},
		{"exec env PASS='never closed", "exec env PASS=***"},
		{"exec env PASS=x;serve", "exec env PASS=***;serve"},
		{"/a?token=x&ms=5", "/a?token=***&ms=5"},
		{"postgres://me:pw@db:5432/a", "postgres://***@db:5432/a"},
		{"DB=postgres://me:p@w@db/a", "DB=postgres://***@db/a"},
		{"redis://:pw@db", "redis://***@db"},
		{"http://host/path@2", "http://host/path@2"},
		{"KEY", "KEY"},
		{"=", "="},
		{"", ""},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf out = {0};
		sz_redact(cases[i][0], &out);
		assert_string_equal(sz_buf_text(&out), cases[i][1]);
	}
}

static void structures(void **state)
{
	(void)state;
	json_t *given =
		json_pack("{s:[s,s,s,s],s:[s],s:i,s:n}", "command", "serve", "--db-password",
			  "hunter2", "--verbose", "env", "TOKEN=x", "clients", 50, "ready");
	json_t *wanted =
		json_pack("{s:[s,s,s,s],s:[s],s:i,s:n}", "command", "serve", "--db-password", "***",
			  "--verbose", "env", "TOKEN=***", "clients", 50, "ready");
	json_t *redacted = sz_redact_json(given);
	assert_true(json_equal(redacted, wanted));
	json_decref(given);
	json_decref(wanted);
	json_decref(redacted);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(structures),
	};
	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
