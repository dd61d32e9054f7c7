/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	(void)state;
	static const char *const cells[] = {"n", "req/s", "1", "–", "16", "1234567"};
	struct sz_table table;
	sz_autobuf struct sz_buf out = {0};
	sz_table_init(&table, 2);
	for (size_t i = 0; i < 6; i++)
		sz_table_cell(&table, cells[i]);
	sz_table_render(&table, 1, &out);
	assert_string_equal(sz_buf_text(&out), "  n    req/s\n"
					       "  1        –\n"
					       " 16  1234567\n");
	sz_table_fini(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
