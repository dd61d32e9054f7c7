/* SPDX-License-Identifier: Apache-2.0
 *
 * Good answers over time, and how well they tell the throughput.
 */
#include "load/inside.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "stat/dunnett.h"

#define INTERVAL_NS (100 * SZ_NS_PER_MS)
#define BATCHES 10

void sz_series_begin(struct sz_load_series *series, uint64_t *start_ns, uint64_t now_ns)
{
	memset(series, 0, sizeof(*series));
	series->interval_ns = INTERVAL_NS;
	*start_ns = now_ns;
}

static void add_neighbours(struct sz_load_series *series)
{
	series->count /= 2;
	series->interval_ns *= 2;
	for (size_t i = 0; i < series->count; i++)
		series->ok[i] = series->ok[2 * i] + series->ok[2 * i + 1];
	memset(&series->ok[series->count], 0, series->count * sizeof(series->ok[0]));
}

void sz_series_advance(struct sz_load_series *series, uint64_t *start_ns, uint64_t now_ns)
{
	while (now_ns - *start_ns >= series->interval_ns) {
		*start_ns += series->interval_ns;
		if (++series->count == SZ_LOAD_SERIES_MAX)
			add_neighbours(series);
	}
}

void sz_series_add(struct sz_load_series *into, const struct sz_load_series *from)
{
	struct sz_load_series added = *from;
	while (into->interval_ns < added.interval_ns)
		add_neighbours(into);
	while (added.interval_ns < into->interval_ns)
		add_neighbours(&added);
	if (added.count < into->count)
		into->count = added.count;
	for (size_t i = 0; i < into->count; i++)
		into->ok[i] += added.ok[i];
	memset(&into->ok[into->count], 0, (SZ_LOAD_SERIES_MAX - into->count) * sizeof(into->ok[0]));
}

bool sz_series_is_sound(const struct sz_load_series *series)
{
	uint64_t times = series->interval_ns / INTERVAL_NS;
	return series->interval_ns % INTERVAL_NS == 0 && times > 0 && (times & (times - 1)) == 0 &&
	       series->count < SZ_LOAD_SERIES_MAX;
}

uint64_t sz_series_sum(const struct sz_load_series *series)
{
	double sum = 0;
	for (size_t i = 0; i <= series->count; i++)
		sum += series->ok[i];
	return (uint64_t)sum;
}

/* Intervals are correlated: the requests of a closed loop wait in one queue.
 * Means of batches are less so the longer the batches are, thus there are ever
 * BATCHES of them (the oldest intervals are left out when the rest does not
 * divide). Their lag-1 correlation r, from which its bias of about -1/n is taken
 * back, widens the interval as in a first-order autoregression, by the root of
 * (1 + r) / (1 - r); negative r does not narrow it. (Batch means: A. M. Law,
 * Simulation Modeling and Analysis, chapter 9.) Counts are whole, so one answer
 * more or less is always possible.
 *
 * Looking again and again costs coverage. Simulated with looks every 200 ms in
 * windows of 2 to 10 s that may end at 3 %: where intervals of 100 ms vary
 * independently by 2, 5 and 10 %, the truth was inside for 100, 99.6 and 95 %
 * of the windows that ended early; where 5 % are correlated by 0.5 and by 0.8
 * from one to the next, for 94 and 78 %. What varies more slowly than a window
 * is long cannot be seen in one window at all. */
double sz_series_error_ratio(const struct sz_load_series *series)
{
	size_t per_batch = series->count / BATCHES;
	const double *ok = series->ok + series->count - per_batch * BATCHES;
	double deviation[BATCHES] = {0}, mean = 0, squares = 0, products = 0;
	for (size_t i = 0; i < per_batch * BATCHES; i++) {
		deviation[i / per_batch] += ok[i];
		mean += ok[i] / BATCHES;
	}
	if (mean == 0)
		return INFINITY;
	for (size_t i = 0; i < BATCHES; i++) {
		deviation[i] -= mean;
		squares += deviation[i] * deviation[i];
		if (i > 0)
			products += deviation[i] * deviation[i - 1];
	}
	double r = squares > 0 ? products / squares + 1.0 / BATCHES : 0;
	double widening = r > 0 ? (1 + r) / (1 - fmin(r, 0.95)) : 1;
	double half = sz_t_quantile(BATCHES - 1, 0.975) *
		      sqrt(squares / (BATCHES - 1) / BATCHES * widening);
	return fmax(half / mean, 1 / (mean * BATCHES));
}
