/* SPDX-License-Identifier: Apache-2.0
 *
 * Open loops at a running service: the rate up to which a goal of latency is
 * met. A closed loop only brackets it.
 */
#ifndef SZ_STUDY_GOAL_H
#define SZ_STUDY_GOAL_H

#include "measure/measure.h"

/* "p99<250ms"; p50, p90, p95 or p99. Anything else is SZ_USAGE. */
int sz_goal_parse(const char *text, struct sz_goal *goal, struct sz_err *err);

/* Make `measure` an open loop of Poisson arrivals at a rate, for a window in
 * which so high a quantile may be quoted. */
void sz_open_at(struct sz_measure_config *measure, double rate_rps, double ratio);

/* The latency within which the window met the goal: all but the few that the
 * ratio leaves out were answered well in time. Pure. */
bool sz_goal_is_met(const struct sz_goal *goal, const struct sz_window *window);

/* Below this share of the most nobody looks: there the goal is not met at all. */
#define SZ_GOAL_LEAST_RATIO 0.02

/* Between the highest rate that met the goal and the lowest that did not there
 * is at most this, as a ratio. */
#define SZ_GOAL_PRECISION 1.05

/* Where to look next: bounds so far, 0 when unknown, and the most that makes
 * sense. 0: done, `met_rps` is the answer. Pure. */
double sz_goal_next_rps(double met_rps, double missed_rps, double most_rps);

/* *goal_rps is the highest rate that met the goal, at most `most_rps`, or 0.
 * *disturbed are bits of enum sz_disturbance of windows that count though
 * something external spoilt them. `measure` is as for a closed loop. */
int sz_measure_goal(const struct sz_measure_config *measure, const struct sz_goal *goal,
		    double most_rps, double *goal_rps, uint32_t *disturbed, struct sz_err *err);

#endif
