/* SPDX-License-Identifier: Apache-2.0
 *
 * When the calls of an open loop are due: a rate that is constant, climbs in
 * steps or runs along a ramp, with even gaps or those of a Poisson process.
 *
 * With L(t) the number of calls expected up to t, the integral of the rate, call
 * k is due at L^-1(k): even gaps have k = 0, 1, 2 …, a Poisson process the sums
 * of exponential steps of mean 1 (time change; S. M. Ross, Introduction to
 * Probability Models, chapter 5).
 *
 * Pure: knows no clock. Times are ns from the start of the schedule. The same
 * seed gives the same schedule.
 */
#ifndef SZ_LOAD_SCHEDULE_H
#define SZ_LOAD_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SZ_RATE_MIN_RPS 0.001
#define SZ_RATE_MAX_RPS 10e6
#define SZ_RATE_LEGS_MAX 64

/* A stretch of time in which the rate runs straight from one value to another. */
struct sz_rate_leg {
	double from_rps, to_rps; /* SZ_RATE_MIN_RPS … SZ_RATE_MAX_RPS */
	uint64_t span_ns;        /* more than 0 */
};

/* Behind the last leg its last rate goes on for ever. */
struct sz_rate {
	struct sz_rate_leg leg[SZ_RATE_LEGS_MAX];
	size_t count; /* at least 1 */
	bool poisson;
	uint64_t seed;
	/* Every parts-th call of this schedule from call `part` on: so several have
	 * it among them, none of its calls twice. parts 0: all of them. */
	unsigned part, parts;
};

struct sz_schedule {
	const struct sz_rate *rate; /* borrowed */
	size_t leg;
	uint64_t leg_start_ns;
	double expected; /* L at leg_start_ns */
	double call;     /* L at the next call */
	uint64_t random;
};

/* "200", a rate; "100..1000", a ramp over span_ns; "100,200,400", steps of equal
 * length over span_ns. Numbers as "2.5", "5k". SZ_USAGE says what is wrong. */
int sz_rate_parse(const char *text, uint64_t span_ns, struct sz_rate *rate, struct sz_err *err);

/* All legs are within what stands at them. */
bool sz_rate_is_valid(const struct sz_rate *rate);

void sz_schedule_init(struct sz_schedule *schedule, const struct sz_rate *rate);

/* When the next call is due; the one after it the next time. Never before the
 * one before. */
uint64_t sz_schedule_next_ns(struct sz_schedule *schedule);

/* The leg at a time; behind the last, the last. */
size_t sz_rate_leg_at(const struct sz_rate *rate, uint64_t at_ns);

/* The rate at a time, in calls per second of this part. */
double sz_rate_at_rps(const struct sz_rate *rate, uint64_t at_ns);

#endif
