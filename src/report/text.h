/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the sweep's text share.
 */
#ifndef SZ_REPORT_TEXT_H
#define SZ_REPORT_TEXT_H

#include "report/report.h"

enum { SZ_CELL = 64 };
#define SZ_DASH "–"

/* The text of a cell; what is not known is a dash. */
void sz_cell_number(char cell[SZ_CELL], double value, const char *unit);
void sz_cell_ms(char cell[SZ_CELL], double ms);

void sz_put_sweep_tables(const struct sz_sweep *sweep, struct sz_buf *out);

#endif
