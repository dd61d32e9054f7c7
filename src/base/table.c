/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <assert.h>
#include <string.h>

void sz_table_init(struct sz_table *table, size_t columns)
{
	assert(columns >= 1 && columns <= SZ_TABLE_COLUMNS_MAX);
	*table = (struct sz_table){.columns = columns};
}

void sz_table_fini(struct sz_table *table)
{
	sz_buf_fini(&table->text);
	*table = (struct sz_table){0};
}

void sz_table_cell(struct sz_table *table, const char *text)
{
	size_t column = table->cells++ % table->columns;
	size_t columns = sz_text_columns(text);
	if (columns > table->width[column])
		table->width[column] = columns;
	sz_buf_append(&table->text, text, strlen(text) + 1);
}

void sz_table_render(const struct sz_table *table, size_t indent, struct sz_buf *out)
{
	out->failed |= table->text.failed;
	const char *cell = table->text.data;
	for (size_t i = 0; i < table->cells && !out->failed; i++) {
		size_t column = i % table->columns;
		size_t padding = table->width[column] - sz_text_columns(cell);
		sz_buf_repeat(out, ' ', (column ? 2 : indent) + padding);
		sz_buf_puts(out, cell);
		if (column + 1 == table->columns)
			sz_buf_puts(out, "\n");
		cell += strlen(cell) + 1;
	}
}
