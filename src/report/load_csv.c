/* SPDX-License-Identifier: Apache-2.0
 *
 * A load run over time: a line per second of the window, those in which nothing
 * happened too, and of what came after it.
 */
#include "report/report.h"

static void put_titles(struct sz_buf *out)
{
	sz_buf_puts(out, "time_s,sent,errors,connect_failed");
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		sz_buf_printf(out, ",%s", sz_outcome_name((enum sz_outcome)i));
	sz_buf_puts(out, ",events\n");
}

void sz_report_load_csv(const struct sz_load_report *report, struct sz_buf *out)
{
	const struct sz_load_result *result = report->result;
	put_titles(out);
	for (size_t i = 0; i < result->second_count; i++) {
		const struct sz_load_second *second = &result->seconds[i];
		sz_buf_printf(out, "%zu,%llu,%llu,%llu", i, (unsigned long long)second->sent,
			      (unsigned long long)second->connect_failed +
				      sz_outcomes_failed(second->outcomes),
			      (unsigned long long)second->connect_failed);
		for (int outcome = 0; outcome < SZ_OUTCOME_COUNT; outcome++)
			sz_buf_printf(out, ",%llu", (unsigned long long)second->outcomes[outcome]);
		sz_buf_printf(out, ",%llu\n", (unsigned long long)second->events);
	}
}
