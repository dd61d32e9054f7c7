/* SPDX-License-Identifier: Apache-2.0 */
#include "load/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stat/shuffle.h"

static int rate_error(const char *text, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not a rate", text);
	return sz_err_hint(err,
			   "write 200 (requests per second), 100..1000 (a ramp) or "
			   "100,200,400 (steps), each from %g to %.0fk",
			   SZ_RATE_MIN_RPS, SZ_RATE_MAX_RPS / 1000);
}

/* One number, optionally with k; *end is what follows. */
static bool scan_rate(const char *text, const char **end, double *rate_rps)
{
	char number[32], *after;
	size_t len = 0;
	/* The dots of a ramp are no decimal points. */
	while ((text[len] >= '0' && text[len] <= '9') || (text[len] == '.' && text[len + 1] != '.'))
		len++;
	if (len == 0 || len >= sizeof(number) || text[0] == '.')
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)len, text);
	*rate_rps = strtod(number, &after);
	if (*after)
		return false;
	*end = text + len;
	if (**end == 'k') {
		*rate_rps *= 1000;
		(*end)++;
	}
	return true;
}

static int parse_ramp(const char *text, uint64_t span_ns, struct sz_rate *rate, struct sz_err *err)
{
	struct sz_rate_leg *leg = &rate->leg[0];
	const char *at = text;
	leg->span_ns = span_ns;
	rate->count = 1;
	if (!scan_rate(at, &at, &leg->from_rps) || strncmp(at, "..", 2) != 0 ||
	    !scan_rate(at + 2, &at, &leg->to_rps) || *at || !sz_rate_is_valid(rate))
		return rate_error(text, err);
	return 0;
}

static int parse_steps(const char *text, uint64_t span_ns, struct sz_rate *rate, struct sz_err *err)
{
	const char *at = text;
	for (rate->count = 0; rate->count < SZ_RATE_LEGS_MAX;) {
		struct sz_rate_leg *leg = &rate->leg[rate->count++];
		if (!scan_rate(at, &at, &leg->from_rps) || (*at && *at != ','))
			return rate_error(text, err);
		leg->to_rps = leg->from_rps;
		if (*at++ == '\0')
			break;
	}
	if (at[-1] != '\0') {
		sz_err_set(err, SZ_USAGE, 0, "more than %d steps of a rate", SZ_RATE_LEGS_MAX);
		return sz_err_hint(err, "make the steps larger, or a ramp: 100..1000");
	}
	for (size_t i = 0; i < rate->count; i++)
		rate->leg[i].span_ns = span_ns / rate->count;
	return sz_rate_is_valid(rate) ? 0 : rate_error(text, err);
}

int sz_rate_parse(const char *text, uint64_t span_ns, struct sz_rate *rate, struct sz_err *err)
{
	struct sz_rate parsed = *rate;
	int status = strstr(text, "..") ? parse_ramp(text, span_ns, &parsed, err)
					: parse_steps(text, span_ns, &parsed, err);
	if (status == 0)
		*rate = parsed;
	return status;
}

static bool in_range(double rate_rps)
{
	return rate_rps >= SZ_RATE_MIN_RPS && rate_rps <= SZ_RATE_MAX_RPS;
}

bool sz_rate_is_valid(const struct sz_rate *rate)
{
	for (size_t i = 0; i < rate->count && i < SZ_RATE_LEGS_MAX; i++) {
		const struct sz_rate_leg *leg = &rate->leg[i];
		if (!in_range(leg->from_rps) || !in_range(leg->to_rps) || leg->span_ns == 0)
			return false;
	}
	return rate->count > 0 && rate->count <= SZ_RATE_LEGS_MAX;
}

static double leg_calls(const struct sz_rate_leg *leg)
{
	return (leg->from_rps + leg->to_rps) / 2 * sz_ns_to_s(leg->span_ns);
}

/* An exponential step of mean 1. The uniform number is never 0. */
static double next_step(struct sz_schedule *schedule)
{
	if (!schedule->rate->poisson)
		return 1;
	double uniform = ((double)(sz_random_next(&schedule->random) >> 11) + 0.5) * 0x1p-53;
	return -log(uniform);
}

static unsigned parts_of(const struct sz_rate *rate)
{
	return rate->parts ? rate->parts : 1;
}

/* One after the other even where one sum would do: so all parts round alike, and
 * what they have is one schedule to the last bit. */
static void step(struct sz_schedule *schedule, unsigned calls)
{
	for (; calls; calls--)
		schedule->call += next_step(schedule);
}

void sz_schedule_init(struct sz_schedule *schedule, const struct sz_rate *rate)
{
	*schedule = (struct sz_schedule){.rate = rate, .random = rate->seed};
	step(schedule, rate->part + (rate->poisson ? 1 : 0));
}

/* Time from the start of a leg until so many calls are expected in it: the
 * root of slope/2 t^2 + from t = calls, in the form that loses no digits when
 * the slope is small. */
static double leg_time_s(const struct sz_rate_leg *leg, double calls)
{
	double slope = (leg->to_rps - leg->from_rps) / sz_ns_to_s(leg->span_ns);
	double root = sqrt(fmax(0, leg->from_rps * leg->from_rps + 2 * slope * calls));
	return 2 * calls / (leg->from_rps + root);
}

/* Those that are over before the next call. */
static void skip_legs(struct sz_schedule *schedule)
{
	const struct sz_rate *rate = schedule->rate;
	while (schedule->leg < rate->count) {
		const struct sz_rate_leg *leg = &rate->leg[schedule->leg];
		if (schedule->call < schedule->expected + leg_calls(leg))
			return;
		schedule->expected += leg_calls(leg);
		schedule->leg_start_ns += leg->span_ns;
		schedule->leg++;
	}
}

uint64_t sz_schedule_next_ns(struct sz_schedule *schedule)
{
	const struct sz_rate *rate = schedule->rate;
	skip_legs(schedule);
	double calls = schedule->call - schedule->expected;
	double time_s = schedule->leg == rate->count ? calls / rate->leg[rate->count - 1].to_rps
						     : leg_time_s(&rate->leg[schedule->leg], calls);
	step(schedule, parts_of(rate));
	return schedule->leg_start_ns + (uint64_t)(time_s * 1e9);
}

size_t sz_rate_leg_at(const struct sz_rate *rate, uint64_t at_ns)
{
	size_t i = 0;
	while (i + 1 < rate->count && at_ns >= rate->leg[i].span_ns)
		at_ns -= rate->leg[i++].span_ns;
	return i;
}

double sz_rate_at_rps(const struct sz_rate *rate, uint64_t at_ns)
{
	for (size_t i = 0; i < rate->count; i++) {
		const struct sz_rate_leg *leg = &rate->leg[i];
		if (at_ns < leg->span_ns)
			return (leg->from_rps + (leg->to_rps - leg->from_rps) * (double)at_ns /
							(double)leg->span_ns) /
			       parts_of(rate);
		at_ns -= leg->span_ns;
	}
	return rate->leg[rate->count - 1].to_rps / parts_of(rate);
}
