/* SPDX-License-Identifier: Apache-2.0 */
#include "study/goal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/load.h"
#include "base/mem.h"
#include "base/units.h"
#include "stat/hist.h"

/* A window is this much longer than the quantile needs, and never longer than
 * that: a rate at which it does not suffice is too low to be told. */
#define ROOM 1.5
#define WINDOW_MOST_S 30.0
#define FIRST_RATIO 0.75 /* of the most */

/* What a service does to an open loop, as opposed to what disturbs it. */
#define OWN_DISTURBANCES                                                                           \
	(1u << SZ_DISTURBED_UNSTEADY | 1u << SZ_DISTURBED_QUEUE | 1u << SZ_DISTURBED_UNANSWERED)

int sz_goal_parse(const char *text, struct sz_goal *goal, struct sz_err *err)
{
	unsigned percent;
	int used = 0;
	uint64_t most_ns;
	/* A number alone would be seconds, which nobody means here. */
	bool has_unit = *text && isalpha((unsigned char)text[strlen(text) - 1]);
	if (has_unit && sscanf(text, "p%2u<%n", &percent, &used) == 1 && used > 0 &&
	    sz_parse_duration_ns(text + used, &most_ns, NULL) == 0 && most_ns > 0) {
		for (size_t i = 0; i < SZ_GOAL_RATIOS; i++) {
			if (lround(sz_goal_ratios[i] * 100) != percent)
				continue;
			*goal = (struct sz_goal){sz_goal_ratios[i], sz_ns_to_ms(most_ns)};
			return 0;
		}
	}
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not a goal of latency", text);
	return sz_err_hint(err, "write it like p99<250ms, with p50, p90, p95 or p99 (in quotes: < "
				"means something to the shell)");
}

void sz_open_at(struct sz_measure_config *measure, double rate_rps, double ratio)
{
	double needed_s = ROOM * (double)sz_quantile_least_count(ratio) / rate_rps;
	uint64_t needed_ns = (uint64_t)(fmin(needed_s, WINDOW_MOST_S) * 1e9);
	struct sz_load_config *load = &measure->load;
	load->arrivals = SZ_ARRIVALS_OPEN;
	load->late = SZ_LATE_SEND;
	load->rate = (struct sz_rate){.leg = {{.from_rps = rate_rps, .to_rps = rate_rps}},
				      .count = 1,
				      .poisson = true,
				      .seed = load->seed};
	/* In a closed loop they are the most that the service has at a time. */
	load->clients = load->clients > SZ_LOAD_CLIENTS_MAX / 2 ? load->clients : 2 * load->clients;
	if (measure->window_min_ns < needed_ns)
		measure->window_min_ns = needed_ns;
	measure->window_max_ns = measure->window_min_ns;
	load->rate.leg[0].span_ns = measure->window_min_ns;
}

bool sz_goal_is_met(const struct sz_goal *goal, const struct sz_window *window)
{
	/* Those without a good answer are as late as can be. */
	double bad = (double)(window->errors + window->dropped + window->unfinished);
	double due = (double)window->due, may_miss = (1 - goal->ratio) * due;
	double came = window->throughput_rps * window->duration_s + bad;
	/* In a short window a queue may grow and the goal be met all the same. */
	if (sz_load_is_behind(due, came, due / window->duration_s * window->latency_mean_ms / 1e3))
		return false;
	/* Ranks move by as many as are missing: with a tenth of them it is nothing. */
	return sz_window_latency_ms(window, goal->ratio) <= goal->most_ms && bad <= may_miss / 10;
}

double sz_goal_next_rps(double met_rps, double missed_rps, double most_rps)
{
	if (met_rps == 0 && missed_rps == 0)
		return FIRST_RATIO * most_rps;
	if (met_rps == 0)
		return missed_rps / 2 < SZ_GOAL_LEAST_RATIO * most_rps ? 0 : missed_rps / 2;
	double above_rps = missed_rps > 0 ? missed_rps : most_rps;
	if (above_rps <= SZ_GOAL_PRECISION * met_rps)
		return 0;
	return sqrt(met_rps * above_rps);
}

/* One window at a rate, once more when something external disturbed it. */
static int measure_at(const struct sz_measure_config *closed, const struct sz_goal *goal,
		      double rate_rps, struct sz_window *window, struct sz_err *err)
{
	struct sz_measure_config measure = *closed;
	sz_open_at(&measure, rate_rps, goal->ratio);
	for (unsigned try = 0; try < 2; try++) {
		if (sz_measure_window(&measure, window, err) < 0)
			return -1;
		window->disturbed &= ~OWN_DISTURBANCES;
		if (!window->disturbed)
			break;
	}
	return 0;
}

int sz_measure_goal(const struct sz_measure_config *measure, const struct sz_goal *goal,
		    double most_rps, double *goal_rps, uint32_t *disturbed, struct sz_err *err)
{
	__attribute__((cleanup(sz_window_fini))) struct sz_window window;
	double met_rps = 0, missed_rps = 0, rate_rps;
	sz_window_init(&window);
	*disturbed = 0;
	while ((rate_rps = sz_goal_next_rps(met_rps, missed_rps, most_rps)) > 0) {
		if (measure_at(measure, goal, rate_rps, &window, err) < 0)
			return -1;
		*disturbed |= window.disturbed;
		if (sz_goal_is_met(goal, &window))
			met_rps = rate_rps;
		else
			missed_rps = rate_rps;
	}
	*goal_rps = met_rps;
	return 0;
}
