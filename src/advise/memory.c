/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory a count of workers takes: a line through the settings, and what
 * a soak made of it; and how many fit beside what other programs take.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdlib.h>

#include "stat/fit.h"

static void fit_settings(const struct sz_sweep *sweep, struct sz_memory_budget *memory)
{
	double workers[SZ_SETTINGS_MAX], bytes[SZ_SETTINGS_MAX];
	struct sz_fit fit;
	size_t count = 0;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!setting->measured || setting->window.pss_total_bytes < 0)
			continue;
		workers[count] = setting->workers;
		bytes[count++] = (double)setting->window.pss_total_bytes;
	}
	memory->known = sz_fit_line(workers, bytes, count, &fit);
	if (!memory->known)
		return;
	memory->fixed_bytes = fit.intercept;
	memory->worker_bytes = fit.slope;
	memory->r2 = fit.r2;
}

static void fill_soak(const struct sz_sweep *sweep, struct sz_memory_budget *memory)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose != SZ_FOR_SOAK)
			continue;
		memory->soak_s = visit->window.duration_s;
		memory->soak_workers = sweep->setting[visit->setting].workers;
		memory->soak_total_bytes = visit->window.pss_total_bytes;
		memory->soak_worker_bytes = visit->window.pss_worker_bytes;
	}
}

/* What the soak added to each worker; 0 when there was none. */
static double growth_bytes(const struct sz_sweep *sweep)
{
	const struct sz_memory_budget *memory = &sweep->advice.memory;
	if (!(memory->soak_s > 0) || memory->soak_total_bytes < 0)
		return 0;
	const struct sz_window *before =
		&sweep->setting[sz_setting_index(sweep, memory->soak_workers)].window;
	double added = (double)(memory->soak_total_bytes - before->pss_total_bytes);
	return before->pss_total_bytes < 0 ? 0 : fmax(0, added / memory->soak_workers);
}

/* --- what others take --- */

struct room {
	int64_t limit_bytes, others_bytes;
};

static int compare_rooms(const void *left, const void *right)
{
	const struct room *a = left, *b = right;
	int64_t a_bytes = a->limit_bytes - a->others_bytes;
	int64_t b_bytes = b->limit_bytes - b->others_bytes;
	return (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static void find_room(const struct sz_sweep *sweep, struct sz_memory_budget *memory)
{
	struct room rooms[SZ_SETTINGS_MAX];
	size_t count = 0;
	memory->limit_bytes = memory->others_bytes = -1;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_window *window = &sweep->setting[i].window;
		if (!sweep->setting[i].measured || window->memory_limit_bytes < 0 ||
		    window->memory_taken_bytes < 0 || window->pss_total_bytes < 0)
			continue;
		int64_t others_bytes = window->memory_taken_bytes - window->pss_total_bytes;
		/* PSS counts file pages too, of which what is taken leaves out some. */
		rooms[count++] = (struct room){window->memory_limit_bytes,
					       others_bytes > 0 ? others_bytes : 0};
	}
	if (count == 0)
		return;
	qsort(rooms, count, sizeof(rooms[0]), compare_rooms);
	memory->limit_bytes = rooms[(count - 1) / 2].limit_bytes;
	memory->others_bytes = rooms[(count - 1) / 2].others_bytes;
}

static void count_fitting(const struct sz_sweep *sweep, struct sz_memory_budget *memory)
{
	double each_bytes = memory->worker_bytes + growth_bytes(sweep);
	memory->fits_workers = -1;
	/* Less than a page each is noise, not a worker. */
	const double page_bytes = 4096;
	if (!memory->known || memory->limit_bytes < 0 || !(each_bytes >= page_bytes))
		return;
	double left_bytes =
		(double)(memory->limit_bytes - memory->others_bytes) - memory->fixed_bytes;
	memory->fits_workers = (int64_t)fmax(0, left_bytes / each_bytes);
}

double sz_memory_needed(const struct sz_sweep *sweep, const struct sz_setting *setting)
{
	int64_t bytes = setting->window.pss_total_bytes;
	return bytes < 0 ? SZ_NAN : (double)bytes + growth_bytes(sweep) * setting->workers;
}

bool sz_fits_memory(const struct sz_sweep *sweep, const struct sz_setting *setting)
{
	const struct sz_memory_budget *memory = &sweep->advice.memory;
	return memory->limit_bytes < 0 || !(sz_memory_needed(sweep, setting) >
					    (double)(memory->limit_bytes - memory->others_bytes));
}

void sz_budget_memory(struct sz_sweep *sweep)
{
	struct sz_memory_budget *memory = &sweep->advice.memory;
	fit_settings(sweep, memory);
	fill_soak(sweep, memory);
	find_room(sweep, memory);
	count_fitting(sweep, memory);
}
