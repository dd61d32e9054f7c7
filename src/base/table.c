/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sz_table_init(struct sz_table *table, size_t columns)
{
	assert(columns >= 1 && columns <= SZ_TABLE_COLUMNS_MAX);
	*table = (struct sz_table){.columns = columns};
}

void sz_table_fini(struct sz_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct sz_table){0};
}

void sz_table_cell(struct sz_table *table, const char *text)
{
	char *copy = strdup(text);
	if (!copy ||
	    sz_grow(&table->cells, &table->cap, table->count + 1, sizeof(*table->cells)) < 0) {
		free(copy);
		table->failed = true;
		return;
	}
	size_t column = table->count % table->columns;
	size_t columns = sz_text_columns(text);
	if (columns > table->width[column])
		table->width[column] = columns;
	table->cells[table->count++] = copy;
}

void sz_table_render(const struct sz_table *table, size_t indent, struct sz_buf *out)
{
	out->failed |= table->failed;
	for (size_t i = 0; i < table->count; i++) {
		size_t column = i % table->columns;
		size_t padding = table->width[column] - sz_text_columns(table->cells[i]);
		sz_buf_repeat(out, ' ', (column ? 2 : indent) + padding);
		sz_buf_puts(out, table->cells[i]);
		if (column + 1 == table->columns)
			sz_buf_puts(out, "\n");
	}
}
