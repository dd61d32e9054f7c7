/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a record as columns: one table each for making the table,
 * writing a row and reading it.
 *
 * The file's version (store.c) changes with what stands here.
 */
#include "record/inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define COLUMN(name_, type_, of_, member_)                                                         \
	{                                                                                          \
		.name = #name_, .type = SZ_COLUMN_##type_, .offset = offsetof(of_, member_),       \
		.size = sizeof(((of_ *)NULL)->member_)                                             \
	}
#define SWEEP(name, type) COLUMN(name, type, struct sz_sweep, name)
#define MACHINE(name, type) COLUMN(name, type, struct sz_sweep, machine.name)
#define VISIT(name, type) COLUMN(name, type, struct sz_visit, name)
#define WINDOW(name, type) COLUMN(name, type, struct sz_visit, window.name)

static const struct sz_column run_columns[] = {
	SWEEP(clients, UNSIGNED),
	SWEEP(knee_workers, UNSIGNED),
	SWEEP(knee_gain_ratio, REAL),
	SWEEP(connect_burst, BOOL),
	SWEEP(burst, UNSIGNED),
	SWEEP(users, UNSIGNED),
	SWEEP(users_least, UNSIGNED),
	SWEEP(seed, COUNT),
	SWEEP(least, UNSIGNED),
	SWEEP(need_rps, COUNT),
	COLUMN(goal_ratio, REAL, struct sz_sweep, goal.ratio),
	COLUMN(goal_most_ms, REAL, struct sz_sweep, goal.most_ms),
	SWEEP(client_ceiling_rps, REAL),
	SWEEP(alone_latency_ms, REAL),
	SWEEP(alone_cpu_s_per_request, REAL),
	SWEEP(stopped_early, BOOL),
	MACHINE(cores_allowed, REAL),
	MACHINE(cpus_allowed, UNSIGNED),
	MACHINE(cpus_online, UNSIGNED),
	MACHINE(memory_limit_bytes, COUNT),
	MACHINE(memory_limited, BOOL),
	MACHINE(cores_from, TEXT),
	MACHINE(memory_from, TEXT),
	MACHINE(unseen, TEXT),
	MACHINE(kernel, TEXT),
};

static const struct sz_column visit_columns[] = {
	VISIT(block, UNSIGNED),
	VISIT(purpose, UNSIGNED),
	VISIT(clients, UNSIGNED),
	VISIT(rate_rps, REAL),
	VISIT(retries, UNSIGNED),
	VISIT(ready_s, REAL),
	VISIT(start_cpu_s, REAL),
	VISIT(settled, BOOL),
	VISIT(old_workers, UNSIGNED),
	VISIT(age_s, REAL),
	VISIT(fresh_score, REAL),
	VISIT(done, BOOL),
	VISIT(exit_s, REAL),
	VISIT(killed, BOOL),
	WINDOW(duration_s, REAL),
	WINDOW(sent, COUNT),
	WINDOW(ok, COUNT),
	WINDOW(errors, COUNT),
	WINDOW(unfinished, COUNT),
	WINDOW(stale, COUNT),
	WINDOW(due, COUNT),
	WINDOW(dropped, COUNT),
	WINDOW(error_status, UNSIGNED),
	WINDOW(throughput_rps, REAL),
	WINDOW(score, REAL),
	WINDOW(goal_rps, REAL),
	WINDOW(rounds, UNSIGNED),
	WINDOW(burst_ttfb_ms, REAL),
	WINDOW(latency_mean_ms, REAL),
	WINDOW(latency_p50_ms, REAL),
	WINDOW(latency_p90_ms, REAL),
	WINDOW(latency_p95_ms, REAL),
	WINDOW(latency_p99_ms, REAL),
	WINDOW(latency_max_ms, REAL),
	WINDOW(ttfb_p50_ms, REAL),
	WINDOW(ttfb_max_ms, REAL),
	WINDOW(longest_gap_ms, REAL),
	WINDOW(cpu_s_per_request, REAL),
	WINDOW(tree_cores, REAL),
	WINDOW(client_cores, REAL),
	WINDOW(foreign_cores, REAL),
	WINDOW(steal_ratio, REAL),
	WINDOW(runqueue_cores, REAL),
	WINDOW(downstream_cores, REAL),
	WINDOW(reference_ms, REAL),
	WINDOW(in_flight, REAL),
	WINDOW(little_ratio, REAL),
	WINDOW(pss_total_bytes, INTEGER),
	WINDOW(rss_total_bytes, INTEGER),
	WINDOW(pss_worker_bytes, INTEGER),
	WINDOW(rss_worker_bytes, INTEGER),
	WINDOW(pss_supervisor_bytes, INTEGER),
	WINDOW(samples, UNSIGNED),
	WINDOW(sampler_cores, REAL),
	WINDOW(client_peak_cores, REAL),
	WINDOW(rss_peak_bytes, INTEGER),
	WINDOW(processes_peak, UNSIGNED),
	WINDOW(threads_peak, UNSIGNED),
	WINDOW(memory_limit_bytes, INTEGER),
	WINDOW(memory_taken_bytes, INTEGER),
	WINDOW(cpu_some_ratio, REAL),
	WINDOW(memory_some_ratio, REAL),
	WINDOW(memory_full_ratio, REAL),
	WINDOW(workers_known, BOOL),
	/* `workers` is the setting. */
	COLUMN(workers_counted, UNSIGNED, struct sz_visit, window.workers),
	WINDOW(connections_known, BOOL),
	WINDOW(imbalance, REAL),
	WINDOW(listeners, INTEGER),
	WINDOW(listen_queue, INTEGER),
	WINDOW(reconnects, COUNT),
	WINDOW(server_closed, COUNT),
	WINDOW(disturbed, UNSIGNED),
};

const struct sz_columns sz_run_columns = {run_columns, SZ_ARRAY_LEN(run_columns)};
const struct sz_columns sz_visit_columns = {visit_columns, SZ_ARRAY_LEN(visit_columns)};

void sz_columns_define(const struct sz_columns *columns, struct sz_buf *sql)
{
	static const char *const types[] = {
		[SZ_COLUMN_REAL] = "REAL",
		[SZ_COLUMN_INTEGER] = "INTEGER",
		[SZ_COLUMN_COUNT] = "INTEGER NOT NULL",
		[SZ_COLUMN_UNSIGNED] = "INTEGER NOT NULL",
		[SZ_COLUMN_BOOL] = "INTEGER NOT NULL",
		[SZ_COLUMN_TEXT] = "TEXT NOT NULL",
	};
	for (size_t i = 0; i < columns->count; i++)
		sz_buf_printf(sql, ", %s %s", columns->column[i].name,
			      types[columns->column[i].type]);
}

void sz_columns_name(const struct sz_columns *columns, struct sz_buf *sql)
{
	for (size_t i = 0; i < columns->count; i++)
		sz_buf_printf(sql, ", %s", columns->column[i].name);
}

void sz_columns_mark(const struct sz_columns *columns, struct sz_buf *sql)
{
	for (size_t i = 0; i < columns->count; i++)
		sz_buf_puts(sql, ", ?");
}

void sz_columns_set(const struct sz_columns *columns, struct sz_buf *sql)
{
	for (size_t i = 0; i < columns->count; i++)
		sz_buf_printf(sql, ", %s = ?", columns->column[i].name);
}

/* SQLite's integers are signed: larger counts come back by the same cast. */
static void bind_column(const struct sz_column *column, const void *member, sqlite3_stmt *statement,
			int at)
{
	switch (column->type) {
	case SZ_COLUMN_REAL: /* NaN becomes NULL */
		sqlite3_bind_double(statement, at, *(const double *)member);
		break;
	case SZ_COLUMN_INTEGER:
		if (*(const int64_t *)member >= 0)
			sqlite3_bind_int64(statement, at, *(const int64_t *)member);
		else
			sqlite3_bind_null(statement, at);
		break;
	case SZ_COLUMN_COUNT:
		sqlite3_bind_int64(statement, at, (int64_t) * (const uint64_t *)member);
		break;
	case SZ_COLUMN_UNSIGNED:
		sqlite3_bind_int64(statement, at, *(const unsigned *)member);
		break;
	case SZ_COLUMN_BOOL:
		sqlite3_bind_int(statement, at, *(const bool *)member);
		break;
	case SZ_COLUMN_TEXT:
		sqlite3_bind_text(statement, at, member, -1, SQLITE_STATIC);
		break;
	}
}

static void read_text(sqlite3_stmt *statement, int at, char *text, size_t size)
{
	const unsigned char *stored = sqlite3_column_text(statement, at);
	snprintf(text, size, "%s", stored ? (const char *)stored : "");
}

static void read_column(const struct sz_column *column, sqlite3_stmt *statement, int at,
			void *member)
{
	bool known = sqlite3_column_type(statement, at) != SQLITE_NULL;
	int64_t integer = sqlite3_column_int64(statement, at);
	switch (column->type) {
	case SZ_COLUMN_REAL:
		*(double *)member = known ? sqlite3_column_double(statement, at) : SZ_NAN;
		break;
	case SZ_COLUMN_INTEGER:
		*(int64_t *)member = known ? integer : -1;
		break;
	case SZ_COLUMN_COUNT:
		*(uint64_t *)member = (uint64_t)integer;
		break;
	case SZ_COLUMN_UNSIGNED:
		*(unsigned *)member = (unsigned)integer;
		break;
	case SZ_COLUMN_BOOL:
		*(bool *)member = integer != 0;
		break;
	case SZ_COLUMN_TEXT:
		read_text(statement, at, member, column->size);
		break;
	}
}

void sz_columns_bind(const struct sz_columns *columns, const void *object, sqlite3_stmt *statement,
		     int first)
{
	for (size_t i = 0; i < columns->count; i++)
		bind_column(&columns->column[i], (const char *)object + columns->column[i].offset,
			    statement, first + (int)i);
}

void sz_columns_read(const struct sz_columns *columns, sqlite3_stmt *statement, int first,
		     void *object)
{
	for (size_t i = 0; i < columns->count; i++)
		read_column(&columns->column[i], statement, first + (int)i,
			    (char *)object + columns->column[i].offset);
}
