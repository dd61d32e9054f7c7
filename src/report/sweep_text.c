/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep as text: what stands above and below its tables.
 */
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "base/units.h"

enum { COLUMNS = 88, INDENT = 14 };

/* "Label   text", wrapped and hanging. */
static void put_line(struct sz_buf *out, const char *label, const char *text)
{
	size_t used = sz_text_columns(label);
	sz_buf_puts(out, label);
	sz_buf_repeat(out, ' ', used < INDENT ? INDENT - used : 1);
	sz_buf_wrap(out, text, INDENT, COLUMNS);
	sz_buf_puts(out, "\n");
}

static void put_clients(const struct sz_sweep *sweep, struct sz_buf *out)
{
	unsigned workers = sweep->knee_workers;
	const char *plural = workers == 1 ? "" : "s";
	sz_buf_printf(out, "%u client%s", sweep->clients, sweep->clients == 1 ? "" : "s");
	if (workers && isnan(sweep->knee_gain_ratio))
		sz_buf_printf(out, " (the most tried: no knee of %u worker%s up to there)", workers,
			      plural);
	else if (workers)
		sz_buf_printf(out, " (the knee of %u worker%s: %u gained %.1f %%)", workers, plural,
			      sweep->clients * 2, sweep->knee_gain_ratio * 100);
	sz_buf_printf(out, ", each with one request in flight, on %s", sweep->url);
}

static void put_demand(const struct sz_sweep *sweep, struct sz_buf *out)
{
	sz_autobuf struct sz_buf text = {0};
	char most[SZ_UNIT_TEXT];
	if (sweep->need_rps) {
		sz_buf_printf(&text, "%" PRIu64 " req/s: the smallest count that carries them",
			      sweep->need_rps);
		put_line(out, "Need", sz_buf_text(&text));
		return;
	}
	if (sweep->goal.ratio == 0)
		return;
	sz_buf_printf(&text,
		      "p%.0f within %s of calls that come when they are due (Poisson): settings "
		      "are compared by the highest rate that meets it",
		      sweep->goal.ratio * 100, sz_format_duration(most, sweep->goal.most_ms * 1e6));
	put_line(out, "Goal", sz_buf_text(&text));
}

static void put_machine(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_machine *machine = &sweep->machine;
	char memory[SZ_UNIT_TEXT], wait[SZ_UNIT_TEXT];
	sz_autobuf struct sz_buf text = {0};
	sz_buf_printf(&text, "%.4g cores (%s), %s of memory (%s)", machine->cores_allowed,
		      machine->cores_from,
		      machine->memory_limit_bytes
			      ? sz_format_bytes(memory, (double)machine->memory_limit_bytes)
			      : "an unknown amount",
		      machine->memory_from);
	put_line(out, "Service", sweep->command);
	put_line(out, "May use", sz_buf_text(&text));
	text.len = 0;
	if (sweep->burst)
		sz_buf_printf(&text, "%u user%s with %u requests at once each, on %s", sweep->users,
			      sweep->users == 1 ? "" : "s", sweep->burst, sweep->url);
	else
		put_clients(sweep, &text);
	if (!isnan(sweep->alone_latency_ms))
		sz_buf_printf(&text, "; one client alone waits %s",
			      sz_format_duration(wait, sweep->alone_latency_ms * 1e6));
	put_line(out, "Load", sz_buf_text(&text));
	put_demand(sweep, out);
}

/* What a grade means, in plain words. */
static const char *const grade_words[] = {
	[SZ_GRADE_WEAK] = "weak: too few windows to exclude the neighbours; repeats make it surer",
	[SZ_GRADE_NOT_WORSE_SHOWN] =
		"good enough; smaller not ruled out: a larger --budget may do so",
	[SZ_GRADE_DECIDED] = "decided: every smaller setting tested is measurably worse",
};

static const char *const no_answer_words[] = {
	[SZ_STATUS_ANSWERED] = "none: no setting stands out",
	[SZ_STATUS_NO] = "none: see the warnings",
	[SZ_STATUS_UNTRUSTWORTHY] = "none: this measurement is not trustworthy, see the warnings",
	[SZ_STATUS_INTERRUPTED] = "none: interrupted before the table was complete",
	[SZ_STATUS_FAILED] = "none: nothing could be measured",
};

static const char *const need_words[] = {
	[SZ_GRADE_WEAK] = "weak: the need lies within what repeats vary by, or there are none",
	[SZ_GRADE_NOT_WORSE_SHOWN] =
		"good enough; smaller not ruled out: a larger --budget may do so",
	[SZ_GRADE_DECIDED] = "decided: every smaller setting tested carries less than is needed",
};

static void put_recommendation(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_advice *advice = &sweep->advice;
	sz_autobuf struct sz_buf text = {0};
	if (!advice->recommended) {
		put_line(out, "Recommended", no_answer_words[advice->status]);
		return;
	}
	const struct sz_setting *setting = &sweep->setting[advice->setting];
	sz_buf_printf(&text, "%u worker%s: %s%s", setting->workers,
		      setting->workers == 1 ? "" : "s", advice->reason,
		      advice->range_limited ? "; still rising beyond it" : "");
	put_line(out, "Recommended", sz_buf_text(&text));
	if (advice->enough_workers)
		put_line(out, "Sure?",
			 "it is what was asked for; how sure the smaller one is, a "
			 "sweep without --min tells");
	else
		put_line(out, "Sure?", (sweep->need_rps ? need_words : grade_words)[advice->grade]);
	if (setting->workers == 1)
		put_line(out, "",
			 "1 carries the load; 2 survive the crash or restart of one (--min 2)");
	if (advice->reach[0])
		put_line(out, "Holds", advice->reach);
	if (advice->status == SZ_STATUS_INTERRUPTED)
		put_line(out, "", "interrupted: larger settings or repeats may be missing");
}

/* How sure the comparison with the current count is: pairs of fresh starts. */
static void put_pairs(const struct sz_confirmation *confirmation, struct sz_buf *text)
{
	if (confirmation->pairs > 1)
		sz_buf_printf(text, " (%.2f to %.2f, from %u pairs of fresh starts)",
			      1 / confirmation->high, 1 / confirmation->low, confirmation->pairs);
}

/* What a tested neighbour of the recommended setting would change. */
static void put_neighbour(const struct sz_sweep *sweep, size_t neighbour, const char *label,
			  struct sz_buf *out)
{
	if (neighbour == SZ_SETTINGS_MAX)
		return;
	const struct sz_setting *chosen = &sweep->setting[sweep->advice.setting];
	const struct sz_setting *other = &sweep->setting[neighbour];
	double gain = other->window.score / chosen->window.score - 1;
	int64_t more_bytes = other->window.pss_total_bytes - chosen->window.pss_total_bytes;
	char size[SZ_UNIT_TEXT];
	sz_autobuf struct sz_buf text = {0};
	sz_buf_printf(&text, "%u worker%s %.1f %% %s speed", other->workers,
		      other->workers == 1 ? " gives" : "s give", fabs(gain) * 100,
		      gain < 0 ? "less" : "more");
	if (other->window.pss_total_bytes >= 0 && chosen->window.pss_total_bytes >= 0)
		sz_buf_printf(&text, " for %s %s memory",
			      sz_format_bytes(size, fabs((double)more_bytes)),
			      more_bytes < 0 ? "less" : "more");
	put_line(out, label, sz_buf_text(&text));
}

/* Said only when it leaves settings out. */
static void put_frontier(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_advice *advice = &sweep->advice;
	sz_autobuf struct sz_buf text = {0};
	if (advice->beaten_count == 0)
		return;
	for (size_t i = 0; i < advice->frontier_count; i++)
		sz_buf_printf(&text, "%s%u", i ? ", " : "",
			      sweep->setting[advice->frontier[i]].workers);
	sz_buf_puts(&text, ": every other count tested gives less and takes more memory than one "
			   "of these");
	put_line(out, "Frontier", sz_buf_text(&text));
}

static void put_alternatives(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended)
		return;
	put_neighbour(sweep, advice->larger, "One more", out);
	put_neighbour(sweep, advice->smaller, "One less", out);
	put_frontier(sweep, out);
}

/* What others recommend, or the user runs, beside what was found. */
static void put_compared(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended)
		return;
	const struct sz_setting *chosen = &sweep->setting[advice->setting];
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		sz_autobuf struct sz_buf text = {0};
		if (!setting->measured || setting == chosen ||
		    !(setting->documented || setting->current))
			continue;
		double ratio = setting->current && advice->confirmation.pairs
				       ? 1 / advice->confirmation.ratio
				       : setting->window.score / chosen->window.score;
		sz_buf_printf(&text, "%u gives %.2f x the speed of %u", setting->workers, ratio,
			      chosen->workers);
		if (setting->current)
			put_pairs(&advice->confirmation, &text);
		if (setting->window.pss_total_bytes > 0 && chosen->window.pss_total_bytes > 0)
			sz_buf_printf(&text, " for %.1f x its memory",
				      (double)setting->window.pss_total_bytes /
					      (double)chosen->window.pss_total_bytes);
		put_line(out, setting->current ? "Current" : "Documented", sz_buf_text(&text));
	}
}

/* A cell for the slowest first byte of a row at a setting. */
static void put_ms_cell(struct sz_table *table, double ms)
{
	char cell[SZ_CELL];
	sz_cell_ms(cell, ms);
	sz_table_cell(table, cell);
}

static void put_workers_title(struct sz_table *table, unsigned workers)
{
	char title[SZ_CELL];
	snprintf(title, sizeof(title), "%u worker%s", workers, workers == 1 ? "" : "s");
	sz_table_cell(table, title);
}

/* The slowest first byte by users, at the smallest setting and the recommended. */
static void put_users(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_users_advice *advice = &sweep->advice.users;
	__attribute__((cleanup(sz_table_fini))) struct sz_table table;
	sz_table_init(&table, 3);
	if (advice->text[0])
		put_line(out, "Users", advice->text);
	if (advice->count == 0)
		return;
	sz_table_cell(&table, "users");
	put_workers_title(&table, sweep->setting[advice->smallest].workers);
	put_workers_title(&table, sweep->setting[sweep->advice.setting].workers);
	for (size_t i = 0; i < advice->count; i++) {
		char users[SZ_CELL];
		snprintf(users, sizeof(users), "%u", advice->row[i].users);
		sz_table_cell(&table, users);
		put_ms_cell(&table, advice->row[i].smallest_ms);
		put_ms_cell(&table, advice->row[i].recommended_ms);
	}
	sz_table_render(&table, INDENT, out);
}

/* How the memory grows with the count: a floor until it was soaked. */
static void put_memory_budget(const struct sz_advice *advice, struct sz_buf *out)
{
	const struct sz_memory_budget *memory = &advice->memory;
	char fixed[SZ_UNIT_TEXT], each[SZ_UNIT_TEXT], limit[SZ_UNIT_TEXT];
	sz_autobuf struct sz_buf text = {0};
	if (memory->known)
		sz_buf_printf(&text, "%s + %s per worker (PSS, R2 %.3f)%s",
			      sz_format_bytes(fixed, memory->fixed_bytes),
			      sz_format_bytes(each, memory->worker_bytes), memory->r2,
			      memory->soak_s > 0 ? "" : "; a floor: --soak 3m makes it a budget");
	if (memory->soak_s > 0 && memory->soak_total_bytes >= 0)
		sz_buf_printf(&text, "%safter %.0f s of traffic %u workers take %s",
			      text.len ? "; " : "", memory->soak_s, memory->soak_workers,
			      sz_format_bytes(fixed, (double)memory->soak_total_bytes));
	if (memory->fits_workers > SZ_SETTING_VALUE_MAX)
		sz_buf_printf(&text, "; of %s others use %s: it sets no limit to the count",
			      sz_format_bytes(limit, (double)memory->limit_bytes),
			      sz_format_bytes(fixed, (double)memory->others_bytes));
	else if (memory->fits_workers >= 0)
		sz_buf_printf(&text, "; of %s others use %s: %" PRId64 " workers fit",
			      sz_format_bytes(limit, (double)memory->limit_bytes),
			      sz_format_bytes(fixed, (double)memory->others_bytes),
			      memory->fits_workers);
	if (text.len)
		put_line(out, "Memory", sz_buf_text(&text));
}

/* What starting costs, at the smallest and the largest count. */
static void put_start(const struct sz_sweep *sweep, struct sz_buf *out)
{
	const struct sz_setting *ends[2] = {NULL, NULL};
	sz_autobuf struct sz_buf text = {0};
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (sweep->setting[i].measured)
			ends[ends[0] != NULL] = &sweep->setting[i];
	}
	for (size_t i = 0; i < 2 && ends[i]; i++)
		sz_buf_printf(&text, "%sready after %.2f s and %.2f s of CPU at %u", i ? ", " : "",
			      ends[i]->ready_s, ends[i]->start_cpu_s, ends[i]->workers);
	put_line(out, "Start", sz_buf_text(&text));
}

/* Of the recommended count, at shares of what it can do. */
static void put_latency(const struct sz_sweep *sweep, struct sz_buf *out)
{
	static const double ratios[] = {0.5, 0.9, 0.95, 0.99};
	__attribute__((cleanup(sz_table_fini))) struct sz_table table;
	char cell[SZ_CELL];
	bool any = false;
	sz_table_init(&table, SZ_ARRAY_LEN(ratios) + 2);
	sz_table_cell(&table, "asked/s");
	sz_table_cell(&table, "answered/s");
	for (size_t k = 0; k < SZ_ARRAY_LEN(ratios); k++) {
		snprintf(cell, sizeof(cell), "p%.0f", ratios[k] * 100);
		sz_table_cell(&table, cell);
	}
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (!sz_is_latency_row(sweep, visit))
			continue;
		any = true;
		sz_cell_number(cell, visit->rate_rps, visit->window.disturbed ? " !" : "");
		sz_table_cell(&table, cell);
		sz_cell_number(cell, visit->window.throughput_rps, "");
		sz_table_cell(&table, cell);
		for (size_t k = 0; k < SZ_ARRAY_LEN(ratios); k++)
			put_ms_cell(&table, sz_window_latency_ms(&visit->window, ratios[k]));
	}
	if (any)
		put_line(out, "Latency",
			 "at the recommended count, of calls that come when they "
			 "are due, from then");
	if (any)
		sz_table_render(&table, INDENT, out);
}

static void put_limit(const struct sz_advice *advice, struct sz_buf *out)
{
	put_line(out, "Limit", sz_class_name(advice->limit));
	for (size_t i = 0; i < advice->evidence_count; i++)
		put_line(out, i ? "" : "  because", advice->evidence[i]);
	if (advice->runner_up[0])
		put_line(out, "  and not", advice->runner_up);
}

static void put_warnings(const struct sz_advice *advice, struct sz_buf *out)
{
	for (size_t i = 0; i < advice->warning_count; i++) {
		put_line(out, "Warning", advice->warnings[i].text);
		put_line(out, "  remedy", advice->warnings[i].remedy);
	}
}

static bool anything_measured(const struct sz_sweep *sweep)
{
	return sweep->setting_count && sweep->setting[0].measured;
}

void sz_report_sweep_text(const struct sz_sweep *sweep, struct sz_buf *out)
{
	if (!anything_measured(sweep)) {
		sz_buf_puts(out, "Interrupted before any window was finished.\n");
		return;
	}
	put_machine(sweep, out);
	sz_buf_puts(out, "\n");
	sz_put_sweep_tables(sweep, out);
	sz_buf_puts(out, "\n");
	put_recommendation(sweep, out);
	put_alternatives(sweep, out);
	put_compared(sweep, out);
	put_users(sweep, out);
	put_latency(sweep, out);
	put_memory_budget(&sweep->advice, out);
	put_start(sweep, out);
	put_limit(&sweep->advice, out);
	put_warnings(&sweep->advice, out);
}
