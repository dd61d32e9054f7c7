/* SPDX-License-Identifier: Apache-2.0
 *
 * Sweeps made of windows as somebody might tell them.
 */
#ifndef SZ_TESTS_UNIT_ADVISE_TOLD_H
#define SZ_TESTS_UNIT_ADVISE_TOLD_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "base/mem.h"

/* cmocka.h and what it wants come first. */

struct told {
	unsigned workers;
	double rps, mean_ms, p99_ms; /* 0: not told */
};

static inline double told_or_nan(double value)
{
	return value > 0 ? value : SZ_NAN;
}

static inline struct sz_window *tell(struct sz_sweep *sweep, unsigned block,
				     const struct told *told)
{
	size_t index = sz_sweep_add_setting(sweep, told->workers);
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	struct sz_window *window = &visit->window;
	assert_non_null(visit);
	visit->setting = index;
	visit->block = block;
	visit->purpose = block ? SZ_FOR_RACE : SZ_FOR_ASCENT;
	visit->clients = sweep->clients;
	visit->settled = true;
	window->duration_s = 4;
	window->ok = window->sent = (uint64_t)(told->rps * 4);
	window->throughput_rps = window->score = told->rps;
	window->latency_mean_ms = told_or_nan(told->mean_ms);
	window->latency_p99_ms = told_or_nan(told->p99_ms);
	window->workers = told->workers;
	window->workers_known = true;
	window->foreign_cores = 0;
	window->share = calloc(told->workers, sizeof(*window->share));
	assert_non_null(window->share);
	return window;
}

static inline void tell_all(struct sz_sweep *sweep, unsigned block, const struct told *told,
			    size_t count)
{
	for (size_t i = 0; i < count; i++)
		tell(sweep, block, &told[i]);
}
#define TELL(sweep, block, told) tell_all(sweep, block, told, SZ_ARRAY_LEN(told))

static inline void begin(struct sz_sweep *sweep, unsigned clients, double alone_ms)
{
	sz_sweep_init(sweep);
	sweep->machine.cores_allowed = 2;
	sweep->clients = clients;
	sweep->alone_latency_ms = told_or_nan(alone_ms);
}

/* The workers recommended; 0: none. */
static inline unsigned answer(struct sz_sweep *sweep)
{
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
	return sweep->advice.recommended ? sweep->setting[sweep->advice.setting].workers : 0;
}

/* The warning is there, and its text or remedy has these words. */
static inline bool warned(const struct sz_sweep *sweep, const char *code, const char *words)
{
	for (size_t i = 0; i < sweep->advice.warning_count; i++) {
		const struct sz_warning *warning = &sweep->advice.warnings[i];
		if (strcmp(warning->code, code) == 0)
			return strstr(warning->text, words) || strstr(warning->remedy, words);
	}
	return false;
}

#endif
