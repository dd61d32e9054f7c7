/* SPDX-License-Identifier: Apache-2.0
 *
 * Warm-up. Sums of squares are taken around running means or relative to the
 * first value, never as a difference of two large sums, so that a constant
 * series has exactly none.
 */
#include "stat/warmup.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "stat/dunnett.h"

#define BATCH 5
#define SLOPE_CONFIDENCE 0.99

static double mean_of(const double *x, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += x[i] - x[0];
	return x[0] + sum / (double)count;
}

static double square_sum(const double *x, size_t count)
{
	double mean = mean_of(x, count), sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/* From the last batch to the first, so that one pass meets every tail. */
struct sz_mser sz_mser(const double *x, size_t count, size_t batch)
{
	assert(batch >= 1 && count >= batch);
	size_t n = count / batch;
	struct sz_mser best = {.batches = n, .statistic = HUGE_VAL};
	double mean = 0, squares = 0;
	for (size_t d = n; d-- > 0;) {
		double size = (double)(n - d), z = mean_of(x + d * batch, batch);
		double deviation = z - mean;
		mean += deviation / size;
		squares += deviation * (z - mean);
		double statistic = squares / (size * size);
		if (d > n / 2 || statistic > best.statistic)
			continue;
		best.statistic = statistic;
		best.cut = d * batch;
		best.mean_after = mean;
	}
	best.unreliable = best.cut == n / 2 * batch;
	return best;
}

/* The split with the largest sum of squares between its two sides. */
static size_t best_split(const double *x, size_t count, size_t least)
{
	double mean = mean_of(x, count), before = 0, largest = -1;
	size_t best = least;
	for (size_t i = 1; i <= count - least; i++) {
		before += x[i - 1] - mean;
		double between = before * before / ((double)i * (double)(count - i));
		if (i < least || between <= largest)
			continue;
		largest = between;
		best = i;
	}
	return best;
}

struct sz_changepoint sz_changepoint(const double *x, size_t count, size_t least)
{
	assert(least >= 1 && count >= 2 * least);
	size_t index = best_split(x, count, least);
	double n = (double)count;
	struct sz_changepoint split = {
		.index = index,
		.sse0 = square_sum(x, count),
		.sse1 = square_sum(x, index) + square_sum(x + index, count - index),
		.mean_before = mean_of(x, index),
		.mean_after = mean_of(x + index, count - index),
	};
	if (split.sse0 > 0)
		split.gain = n * log(split.sse0 / split.sse1);
	split.accepted = split.gain > 3 * log(n);
	return split;
}

struct sz_line sz_line(const double *x, size_t count)
{
	assert(count >= 3);
	double n = (double)count, middle = (n - 1) / 2, squares = n * (n * n - 1) / 12;
	struct sz_line line = {.mean = mean_of(x, count)};
	for (size_t i = 0; i < count; i++)
		line.slope += ((double)i - middle) * (x[i] - line.mean) / squares;
	double residuals = 0;
	for (size_t i = 0; i < count; i++) {
		double residual = x[i] - line.mean - line.slope * ((double)i - middle);
		residuals += residual * residual;
	}
	line.slope_error = sqrt(residuals / (n - 2) / squares);
	return line;
}

static bool all_finite(const double *x, size_t count)
{
	size_t i = 0;
	while (i < count && isfinite(x[i]))
		i++;
	return i == count;
}

static bool is_material(double difference, double mean)
{
	return fabs(difference) > SZ_STEADY_RATIO * fabs(mean);
}

static bool shifts(const double *x, size_t count, size_t *index)
{
	/* One stall in a long series is no shift, wherever it falls. */
	size_t least = count / 10 > BATCH ? count / 10 : BATCH;
	struct sz_changepoint split = sz_changepoint(x, count, least);
	*index = split.index;
	return split.accepted &&
	       is_material(split.mean_after - split.mean_before, split.mean_after);
}

static bool drifts(const double *x, size_t count)
{
	struct sz_line line = sz_line(x, count);
	double t = sz_t_quantile((double)count - 2, (1 + SLOPE_CONFIDENCE) / 2);
	return is_material(line.slope * (double)(count - 1), line.mean) &&
	       fabs(line.slope) > t * line.slope_error;
}

enum sz_steady sz_steady_from(const double *x, size_t count, size_t *from)
{
	if (count < SZ_STEADY_POINTS || !all_finite(x, count))
		return SZ_UNSTEADY_SHORT;
	struct sz_mser mser = sz_mser(x, count, BATCH);
	if (mser.unreliable && drifts(x, count))
		return SZ_UNSTEADY_DRIFTS;
	size_t cut = mser.cut, step;
	while (shifts(x + cut, count - cut, &step)) {
		cut += step;
		if (cut > count / 2)
			return SZ_UNSTEADY_SHIFTS;
	}
	if (drifts(x + cut, count - cut))
		return SZ_UNSTEADY_DRIFTS;
	*from = cut;
	return SZ_STEADY;
}
