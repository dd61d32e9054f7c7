/* SPDX-License-Identifier: Apache-2.0
 *
 * From how many users on more workers pay: the smallest feasible setting
 * against the recommended one, under bursts of fewer users than the settings
 * were compared with.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static size_t smallest_feasible(const struct sz_sweep *sweep)
{
	size_t i = 0;
	while (!sweep->setting[i].measured || sweep->setting[i].verdict == SZ_INFEASIBLE)
		i++;
	return i;
}

/* NaN when it is not to be trusted. */
static double slowest_ms(const struct sz_window *window)
{
	double failed = (double)window->errors + (double)window->stale;
	bool fails = failed > SZ_ERROR_RATIO * (double)window->sent;
	return window->disturbed || fails ? SZ_NAN : window->burst_ttfb_ms;
}

/* The row of so many users, added in its place when it is new. */
static struct sz_users_row *row_of(struct sz_users_advice *advice, unsigned users)
{
	size_t at = 0;
	while (at < advice->count && advice->row[at].users < users)
		at++;
	struct sz_users_row *row = &advice->row[at];
	if (at < advice->count && row->users == users)
		return row;
	memmove(row + 1, row, (advice->count - at) * sizeof(*row));
	*row = (struct sz_users_row){users, SZ_NAN, SZ_NAN};
	advice->count++;
	return row;
}

static void fill_rows(const struct sz_sweep *sweep, size_t chosen, struct sz_users_advice *advice)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		bool is_smallest = visit->setting == advice->smallest;
		if (visit->purpose != SZ_FOR_USERS || (!is_smallest && visit->setting != chosen))
			continue;
		struct sz_users_row *row = row_of(advice, visit->clients / sweep->burst);
		*(is_smallest ? &row->smallest_ms : &row->recommended_ms) =
			slowest_ms(&visit->window);
	}
	struct sz_users_row *most = row_of(advice, sweep->users);
	most->smallest_ms = slowest_ms(&sweep->setting[advice->smallest].window);
	most->recommended_ms = slowest_ms(&sweep->setting[chosen].window);
}

static bool more_workers_pay(const struct sz_users_row *row)
{
	return row->recommended_ms < (1.0 - SZ_PAYS_DELTA) * row->smallest_ms;
}

/* The row from which on more workers pay at every one; NULL: not at the last. */
static const struct sz_users_row *first_that_pays(const struct sz_users_advice *advice)
{
	const struct sz_users_row *first = NULL;
	for (size_t i = advice->count; i-- > 0 && more_workers_pay(&advice->row[i]);)
		first = &advice->row[i];
	return first;
}

/* Why it may be fewer. */
static const char *what_is_open(const struct sz_sweep *sweep, const struct sz_users_row *first)
{
	if (first == sweep->advice.users.row)
		return first->users > sweep->users_least ? "; fewer were not tried" : "";
	bool known = !isnan(first[-1].smallest_ms) && !isnan(first[-1].recommended_ms);
	return known ? "" : "; fewer could not be compared";
}

static void describe(struct sz_sweep *sweep, const struct sz_users_row *first)
{
	struct sz_users_advice *advice = &sweep->advice.users;
	const struct sz_users_row *most = &advice->row[advice->count - 1];
	const struct sz_users_row *told = first ? first : most;
	unsigned few = sweep->setting[advice->smallest].workers;
	unsigned many = sweep->setting[sweep->advice.setting].workers;
	const char *plural = few == 1 ? "" : "s";
	char slow[SZ_UNIT_TEXT], fast[SZ_UNIT_TEXT];
	sz_format_duration(slow, told->smallest_ms * 1e6);
	sz_format_duration(fast, told->recommended_ms * 1e6);
	if (first)
		snprintf(advice->text, sizeof(advice->text),
			 "from %u user%s on %u workers pay: there the slowest first byte comes "
			 "after %s instead of %s with %u worker%s (one window each)%s",
			 first->users, first->users == 1 ? "" : "s", many, fast, slow, few, plural,
			 what_is_open(sweep, first));
	else
		snprintf(advice->text, sizeof(advice->text),
			 "%u workers do not pay at %u users, the most that were asked for: the "
			 "slowest first byte comes after %s instead of %s with %u worker%s",
			 many, most->users, fast, slow, few, plural);
}

void sz_judge_users(struct sz_sweep *sweep)
{
	struct sz_users_advice *advice = &sweep->advice.users;
	if (!sweep->advice.recommended || sweep->users_least == sweep->users)
		return;
	advice->smallest = smallest_feasible(sweep);
	if (advice->smallest == sweep->advice.setting) {
		snprintf(advice->text, sizeof(advice->text),
			 "more than %u do not pay at %u users, the most that were asked for; fewer "
			 "were not tried",
			 sweep->setting[advice->smallest].workers, sweep->users);
		return;
	}
	fill_rows(sweep, sweep->advice.setting, advice);
	const struct sz_users_row *first = first_that_pays(advice);
	advice->from = first ? first->users : 0;
	describe(sweep, first);
}
