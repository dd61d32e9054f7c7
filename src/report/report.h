/* SPDX-License-Identifier: Apache-2.0
 *
 * Views: from recorded structs to text and JSON. Nothing here measures,
 * decides or prints; a view is built in a buffer and the caller writes it.
 */
#ifndef SZ_REPORT_REPORT_H
#define SZ_REPORT_REPORT_H

#include "advise/load.h"
#include "base/buf.h"
#include "load/load.h"
#include "load/shard.h"
#include "record/record.h"

/* The table, the recommendation, the limit with its evidence, warnings. */
void sz_report_sweep_text(const struct sz_sweep *sweep, struct sz_buf *out);

/* One JSON document, schema/sweep-1.schema.json. */
void sz_report_sweep_json(const struct sz_sweep *sweep, struct sz_buf *out);

/* A finished load and what was asked of it. */
struct sz_load_report {
	const struct sz_load_config *config;
	const struct sz_load_result *result;
	char url[512];
	const struct sz_load_judgement *judgement;
	/* Of several machines: the one whose result it is, or all that were added. */
	struct sz_shard_run *const *runs;
	size_t run_count; /* 0: the load was not split */
	bool is_sum;      /* of several, whose longest gap is not that of all */
};

void sz_report_load_text(const struct sz_load_report *report, struct sz_buf *out);
void sz_report_load_json(const struct sz_load_report *report, struct sz_buf *out);

/* A title and a line per second; of a load whose config wants seconds. */
void sz_report_load_csv(const struct sz_load_report *report, struct sz_buf *out);

#endif
