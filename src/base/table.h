/* SPDX-License-Identifier: Apache-2.0
 *
 * Text tables: right-aligned columns as wide as their widest cell, two spaces
 * between, one line of titles. Cells may hold UTF-8.
 */
#ifndef SZ_BASE_TABLE_H
#define SZ_BASE_TABLE_H

#include "base/buf.h"

#define SZ_TABLE_COLUMNS_MAX 24

struct sz_table {
	size_t columns;
	size_t width[SZ_TABLE_COLUMNS_MAX];
	struct sz_buf text; /* the cells, row by row, each with its NUL */
	size_t cells;
};

/* columns must be 1 .. SZ_TABLE_COLUMNS_MAX. */
void sz_table_init(struct sz_table *table, size_t columns);
void sz_table_fini(struct sz_table *table);

/* The next cell, left to right, top to bottom. */
void sz_table_cell(struct sz_table *table, const char *text);

/* Append the table to out, every line after `indent` spaces. */
void sz_table_render(const struct sz_table *table, size_t indent, struct sz_buf *out);

#endif
