/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/hist.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A value's bucket: the value shifted right until it fits into SUB_BITS + 1
 * bits. Its leading bit is then set, except for values below 512, which are
 * not shifted: so every shift has 256 buckets of its own and the first has 512. */
static size_t bucket_of(uint64_t value_ns)
{
	int bits = 64 - __builtin_clzll(value_ns | 1);
	int shift = bits > SZ_HIST_SUB_BITS + 1 ? bits - (SZ_HIST_SUB_BITS + 1) : 0;
	return ((size_t)shift << SZ_HIST_SUB_BITS) + (size_t)(value_ns >> shift);
}

/* Middle of the whole numbers that share the bucket. */
static double bucket_middle_ns(size_t bucket)
{
	size_t octave = bucket >> SZ_HIST_SUB_BITS;
	size_t shift = octave > 1 ? octave - 1 : 0;
	uint64_t lowest = (uint64_t)(bucket - (shift << SZ_HIST_SUB_BITS)) << shift;
	uint64_t width = UINT64_C(1) << shift;
	return (double)lowest + (double)(width - 1) / 2;
}

void sz_hist_reset(struct sz_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

void sz_hist_add(struct sz_hist *hist, uint64_t value_ns)
{
	if (hist->count == 0 || value_ns < hist->min_ns)
		hist->min_ns = value_ns;
	if (value_ns > hist->max_ns)
		hist->max_ns = value_ns;
	hist->count++;
	hist->sum_ns += (double)value_ns;
	if (value_ns > SZ_HIST_MAX_NS)
		hist->overflow++;
	else
		hist->buckets[bucket_of(value_ns)]++;
}

void sz_hist_merge(struct sz_hist *into, const struct sz_hist *from)
{
	if (from->count == 0)
		return;
	if (into->count == 0 || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->count += from->count;
	into->overflow += from->overflow;
	into->sum_ns += from->sum_ns;
	for (size_t i = 0; i < SZ_HIST_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

/* ceil(ratio * count) as if ratio were the decimal it was written as: 0.07 is
 * stored a little high, and 0.07 * 100 must be rank 7, not 8. */
static uint64_t rank_of(double ratio, uint64_t count)
{
	double rank = ceil(ratio * (double)count * (1 - 4 * DBL_EPSILON));
	if (rank < 1)
		return 1;
	return rank < (double)count ? (uint64_t)rank : count;
}

double sz_hist_quantile_ns(const struct sz_hist *hist, double ratio)
{
	if (hist->count == 0)
		return NAN;
	uint64_t rank = rank_of(ratio, hist->count);
	uint64_t seen = 0;
	for (size_t i = 0; i < SZ_HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen >= rank)
			return fmin(fmax(bucket_middle_ns(i), (double)hist->min_ns),
				    (double)hist->max_ns);
	}
	return (double)hist->max_ns;
}

double sz_hist_mean_ns(const struct sz_hist *hist)
{
	if (hist->count == 0)
		return NAN;
	return hist->sum_ns / (double)hist->count;
}

uint64_t sz_quantile_least_count(double ratio)
{
	if (ratio >= 1)
		return UINT64_MAX;
	double least = ceil(log(0.05) / log(ratio));
	return least > 1 ? (uint64_t)least : 1;
}

double sz_hist_quantile_or_nan_ns(const struct sz_hist *hist, double ratio)
{
	if (hist->count < sz_quantile_least_count(ratio))
		return NAN;
	return sz_hist_quantile_ns(hist, ratio);
}
