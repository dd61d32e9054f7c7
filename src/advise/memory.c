/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory a count of workers takes: a line through the settings, and what
 * a soak made of it.
 */
#include "advise/inside.h"

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

void sz_budget_memory(struct sz_sweep *sweep)
{
	struct sz_memory_budget *memory = &sweep->advice.memory;
	fit_settings(sweep, memory);
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
