/* SPDX-License-Identifier: Apache-2.0
 *
 * What memory buys: the settings that no other beats in both memory and speed,
 * and the neighbours of the recommended one.
 */
#include "advise/inside.h"

static bool has_both(const struct sz_setting *setting)
{
	return sz_setting_decides(setting) && setting->window.pss_total_bytes >= 0;
}

static bool is_beaten(const struct sz_sweep *sweep, const struct sz_window *window)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_window *other = &sweep->setting[i].window;
		if (has_both(&sweep->setting[i]) &&
		    other->pss_total_bytes < window->pss_total_bytes &&
		    other->score > window->score)
			return true;
	}
	return false;
}

static size_t next_deciding(const struct sz_sweep *sweep, size_t from, bool upwards)
{
	for (size_t i = upwards ? from + 1 : from - 1; i < sweep->setting_count;
	     i += upwards ? 1 : SIZE_MAX) {
		if (sz_setting_decides(&sweep->setting[i]))
			return i;
	}
	return SZ_SETTINGS_MAX;
}

void sz_weigh_memory(struct sz_sweep *sweep)
{
	struct sz_advice *advice = &sweep->advice;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (!has_both(setting))
			continue;
		if (is_beaten(sweep, &setting->window))
			advice->beaten_count++;
		else
			advice->frontier[advice->frontier_count++] = i;
	}
	advice->larger = advice->smaller = SZ_SETTINGS_MAX;
	if (!advice->recommended)
		return;
	advice->larger = next_deciding(sweep, advice->setting, true);
	advice->smaller = next_deciding(sweep, advice->setting, false);
}
