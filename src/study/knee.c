/* SPDX-License-Identifier: Apache-2.0 */
#include "study/knee.h"

#include "base/clock.h"
#include "base/mem.h"
#include "stat/knee.h"
#include "study/visit.h"

/* Each tells its throughput to 3 %, a step to 4 %: so it takes two steps that
 * gain less than 3 %. Over after a second where requests are quick. */
#define WINDOW_LEAST_NS SZ_NS_PER_S
#define WINDOW_MOST_NS SZ_WINDOW_MAX_NS
#define WINDOW_REQUESTS 100

#define POINTS_MAX 11 /* 1, 2, 4 … 1024 */
_Static_assert(1 << (POINTS_MAX - 1) == SZ_KNEE_CLIENTS_MAX, "room for every point");
_Static_assert(SZ_KNEE_CLIENTS_MAX <= SZ_LOAD_CLIENTS_MAX, "more than a load can have");

struct climb {
	const struct sz_sweep_config *config;
	const struct sz_sweep *sweep;
	size_t setting;
	struct sz_knee_point points[POINTS_MAX];
	size_t count;
	enum sz_knee knee;
	size_t at; /* index of the knee */
};

static int disturbed_twice(const struct sz_window *window, unsigned clients, struct sz_err *err)
{
	/* The first: what comes from outside stands in front. */
	enum sz_disturbance why = (enum sz_disturbance)__builtin_ctz(window->disturbed);
	sz_err_set(err, SZ_UNTRUSTED, 0,
		   "both windows with %u client%s were disturbed: %s; so the knee cannot be found",
		   clients, clients == 1 ? "" : "s", sz_disturbance_text(why));
	return sz_err_hint(err, "give --clients N, or %s", sz_disturbance_remedy(why));
}

static int no_good_answer(const struct sz_window *window, unsigned clients, struct sz_err *err)
{
	const char *plural = clients == 1 ? "" : "s";
	int status = window->error_status;
	if (status)
		sz_err_set(err, SZ_MACHINE, 0, "the service answers %u client%s with %d%s", clients,
			   plural, status, status < 400 ? " without the expected text" : "");
	else
		sz_err_set(err, SZ_MACHINE, 0, "the service answers none of %u client%s", clients,
			   plural);
	return sz_err_hint(err, "look at the service's own log, or give --clients N");
}

static int measure_point(const struct climb *climb, const struct sz_measure_config *measure,
			 struct sz_window *window, struct sz_err *err)
{
	const double expected_s = sz_ns_to_s(measure->load.warmup_ns + WINDOW_LEAST_NS);
	static const enum sz_step tries[] = {SZ_STEP_KNEE, SZ_STEP_AGAIN};
	for (size_t i = 0; i < SZ_ARRAY_LEN(tries); i++) {
		sz_sweep_report(climb->config, climb->sweep, tries[i], climb->setting, expected_s);
		if (sz_measure_window(measure, window, err) < 0)
			return -1;
		if (window->ok == 0)
			return no_good_answer(window, measure->load.clients, err);
		if (!window->disturbed)
			return 0;
	}
	return disturbed_twice(window, measure->load.clients, err);
}

static void tell_point(const struct climb *climb)
{
	const struct sz_knee_point *point = &climb->points[climb->count - 1];
	const struct sz_progress progress = {.step = SZ_STEP_KNEE_POINT,
					     .setting = climb->setting,
					     .clients = point->clients,
					     .throughput_rps = point->throughput_rps};
	if (climb->config->progress)
		climb->config->progress(climb->config->arg, climb->sweep, &progress);
}

static int measure_points(void *arg, const struct sz_measure_config *usual, struct sz_err *err)
{
	struct climb *climb = arg;
	struct sz_measure_config measure = *usual;
	__attribute__((cleanup(sz_window_fini))) struct sz_window window;
	sz_window_init(&window);
	measure.window_min_ns = WINDOW_LEAST_NS;
	measure.window_max_ns = WINDOW_MOST_NS;
	measure.window_requests = WINDOW_REQUESTS;
	while (climb->count < POINTS_MAX && climb->knee == SZ_KNEE_BEYOND) {
		measure.load.clients = 1u << climb->count;
		if (measure_point(climb, &measure, &window, err) < 0)
			return -1;
		climb->points[climb->count++] = (struct sz_knee_point){
			measure.load.clients,
			window.throughput_rps,
		};
		tell_point(climb);
		climb->knee = sz_knee_find(climb->points, climb->count, &climb->at);
	}
	return 0;
}

int sz_find_knee(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	size_t largest = sweep->setting_count - 1;
	unsigned workers = sweep->setting[largest].workers;
	struct climb found = {.config = config, .sweep = sweep, .setting = largest};
	if (sz_visit_unrecorded(config, sweep, found.setting, measure_points, &found, err) < 0)
		return sz_err_wrap(err, "at %u worker%s", workers, workers == 1 ? "" : "s");
	/* At or below 1 client is at 1 client: there is no fewer. */
	const struct sz_knee_point *knee = &found.points[found.at];
	bool is_known = found.knee != SZ_KNEE_BEYOND;
	sweep->clients = is_known ? knee->clients : SZ_KNEE_CLIENTS_MAX;
	sweep->knee_gain_ratio = is_known ? sz_knee_gain_ratio(knee) : SZ_NAN;
	sweep->knee_workers = workers;
	return 0;
}

void sz_knee_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s)
{
	double warmup_s = sz_ns_to_s(config->load.warmup_ns);
	*least_s += (1 + SZ_KNEE_STEPS) * (warmup_s + sz_ns_to_s(WINDOW_LEAST_NS));
	*most_s += POINTS_MAX * (warmup_s + sz_ns_to_s(WINDOW_MOST_NS));
}
