/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a sweep: a row for each setting; a column is a row of a table
 * here.
 */
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/table.h"
#include "base/units.h"

/* A number with the digits that its size deserves. */
void sz_cell_number(char cell[SZ_CELL], double value, const char *unit)
{
	double size = fabs(value);
	int decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
	if (isnan(value))
		snprintf(cell, SZ_CELL, SZ_DASH);
	else
		snprintf(cell, SZ_CELL, "%.*f%s", decimals, value, unit);
}

void sz_cell_ms(char cell[SZ_CELL], double ms)
{
	char text[SZ_UNIT_TEXT];
	snprintf(cell, SZ_CELL, "%s", isnan(ms) ? SZ_DASH : sz_format_duration(text, ms * 1e6));
}

static void put_bytes(char cell[SZ_CELL], int64_t bytes)
{
	char text[SZ_UNIT_TEXT];
	snprintf(cell, SZ_CELL, "%s", bytes < 0 ? SZ_DASH : sz_format_bytes(text, (double)bytes));
}

typedef void put_fn(const struct sz_setting *setting, char cell[SZ_CELL]);

static void put_workers(const struct sz_setting *s, char cell[SZ_CELL])
{
	snprintf(cell, SZ_CELL, "%u", s->workers);
}

static void put_throughput(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_number(cell, s->window.throughput_rps, "");
}

static void put_goal(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_number(cell, s->window.goal_rps, "");
}

/* Half of the 95 % interval, from repeats. */
static void put_interval(const struct sz_setting *s, char cell[SZ_CELL])
{
	double ratio =
		(s->throughput_high_rps - s->throughput_low_rps) / 2 / s->window.throughput_rps;
	if (isnan(ratio))
		snprintf(cell, SZ_CELL, SZ_DASH);
	else
		snprintf(cell, SZ_CELL, "%.1f %%", ratio * 100);
}

static void put_burst(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_ms(cell, s->window.burst_ttfb_ms);
}

static void put_windows(const struct sz_setting *s, char cell[SZ_CELL])
{
	if (s->disturbed)
		snprintf(cell, SZ_CELL, "%u of %u", s->windows - s->disturbed, s->windows);
	else
		snprintf(cell, SZ_CELL, "%u", s->windows);
}

static void put_speedup(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_number(cell, s->speedup, "");
}

static void put_efficiency(const struct sz_setting *s, char cell[SZ_CELL])
{
	if (isnan(s->efficiency))
		snprintf(cell, SZ_CELL, SZ_DASH);
	else
		snprintf(cell, SZ_CELL, "%.0f %%", s->efficiency * 100);
}

static void put_p50(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_ms(cell, s->window.latency_p50_ms);
}

static void put_p99(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_ms(cell, s->window.latency_p99_ms);
}

static void put_slowest(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_ms(cell, s->window.latency_max_ms);
}

static void put_errors(const struct sz_setting *s, char cell[SZ_CELL])
{
	uint64_t failed = s->window.errors + s->window.stale;
	snprintf(cell, SZ_CELL, "%" PRIu64, failed);
}

static void put_cpu(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_ms(cell, s->window.cpu_s_per_request * 1e3);
}

static void put_in_flight(const struct sz_setting *s, char cell[SZ_CELL])
{
	sz_cell_number(cell, s->window.workers ? s->window.in_flight / s->window.workers : SZ_NAN,
		       "");
}

static void put_pss(const struct sz_setting *s, char cell[SZ_CELL])
{
	put_bytes(cell, s->window.pss_total_bytes);
}

static void put_pss_each(const struct sz_setting *s, char cell[SZ_CELL])
{
	put_bytes(cell, s->window.pss_worker_bytes);
}

static void put_rss(const struct sz_setting *s, char cell[SZ_CELL])
{
	put_bytes(cell, s->window.rss_total_bytes);
}

/* "25" when even, "0-50" when not. */
static void put_connections(const struct sz_setting *s, char cell[SZ_CELL])
{
	const struct sz_window *window = &s->window;
	if (!window->connections_known || window->workers == 0) {
		snprintf(cell, SZ_CELL, SZ_DASH);
		return;
	}
	unsigned least = window->share[0].connections, most = least;
	for (unsigned i = 1; i < window->workers; i++) {
		unsigned connections = window->share[i].connections;
		least = connections < least ? connections : least;
		most = connections > most ? connections : most;
	}
	if (least == most)
		snprintf(cell, SZ_CELL, "%u", most);
	else
		snprintf(cell, SZ_CELL, "%u-%u", least, most);
}

struct column {
	const char *title;
	put_fn *put;
};

/* Two tables, each narrower than most terminals. */
static const struct column speed_columns[] = {
	{"workers", put_workers}, {"windows", put_windows},  {"req/s", put_throughput},
	{"+-", put_interval},     {"speed-up", put_speedup}, {"efficiency", put_efficiency},
	{"p50", put_p50},         {"p99", put_p99},          {"slowest", put_slowest},
	{"errors", put_errors},
};

static const struct column goal_columns[] = {
	{"workers", put_workers},
	{"windows", put_windows},
	{"in goal/s", put_goal},
	{"+-", put_interval},
	{"speed-up", put_speedup},
	{"efficiency", put_efficiency},
	{"closed req/s", put_throughput},
	{"p50", put_p50},
	{"p99", put_p99},
	{"errors", put_errors},
};

static const struct column burst_columns[] = {
	{"workers", put_workers}, {"windows", put_windows},  {"slowest first byte", put_burst},
	{"+-", put_interval},     {"speed-up", put_speedup}, {"efficiency", put_efficiency},
	{"p50", put_p50},         {"slowest", put_slowest},  {"errors", put_errors},
};

static const struct column cost_columns[] = {
	{"workers", put_workers},
	{"CPU/request", put_cpu},
	{"in flight/worker", put_in_flight},
	{"PSS", put_pss},
	{"PSS/worker", put_pss_each},
	{"RSS", put_rss},
	{"conns/worker", put_connections},
};

/* The marks of the first column, as far as they were used. */
static void put_legend(const struct sz_sweep *sweep, struct sz_buf *out)
{
	bool disturbed = false;
	for (size_t i = 0; i < sweep->setting_count; i++)
		disturbed |= sweep->setting[i].measured && sweep->setting[i].window.disturbed;
	if (sweep->advice.recommended)
		sz_buf_puts(out, "> recommended\n");
	if (disturbed)
		sz_buf_puts(out, "! disturbed from outside: does not decide\n");
}

static void put_table(const struct sz_sweep *sweep, const struct column *columns, size_t count,
		      struct sz_buf *out)
{
	__attribute__((cleanup(sz_table_fini))) struct sz_table table;
	sz_table_init(&table, count + 1);
	/* A first column of one character marks the recommended row. */
	sz_table_cell(&table, " ");
	for (size_t c = 0; c < count; c++)
		sz_table_cell(&table, columns[c].title);
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		bool chosen = sweep->advice.recommended && sweep->advice.setting == i;
		char cell[SZ_CELL];
		if (!setting->measured)
			continue;
		sz_table_cell(&table, chosen ? ">" : setting->window.disturbed ? "!" : " ");
		for (size_t c = 0; c < count; c++) {
			columns[c].put(setting, cell);
			sz_table_cell(&table, cell);
		}
	}
	sz_table_render(&table, 0, out);
}

void sz_put_sweep_tables(const struct sz_sweep *sweep, struct sz_buf *out)
{
	if (sweep->burst)
		put_table(sweep, burst_columns, SZ_ARRAY_LEN(burst_columns), out);
	else if (sweep->goal.ratio > 0)
		put_table(sweep, goal_columns, SZ_ARRAY_LEN(goal_columns), out);
	else
		put_table(sweep, speed_columns, SZ_ARRAY_LEN(speed_columns), out);
	put_legend(sweep, out);
	sz_buf_puts(out, "\n");
	put_table(sweep, cost_columns, SZ_ARRAY_LEN(cost_columns), out);
	sz_buf_puts(out, "PSS counts shared memory once, RSS in every process that has it\n");
}
