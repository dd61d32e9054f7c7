/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency histogram: log-linear, fixed size, mergeable.
 *
 * Values are nanoseconds, 0 … 2 h. Below 512 every value has its own bucket;
 * above, every octave is cut into 256 buckets, so a bucket's width is at most
 * 1/256 of its lower bound and its middle is at most 1/512 = 0.2 % away from
 * any value in it: that is the relative error of a percentile. Count, sum,
 * minimum and maximum are exact. Values above 2 h land in `overflow`: counted,
 * in sum and maximum, and ranked above every bucket.
 *
 * Memory: 9,124 counters of 8 bytes, 71 KiB, of which a load touches few. Merging adds arrays; all
 * histograms share one layout.
 *
 * Pure; one owner thread.
 */
#ifndef SZ_STAT_HIST_H
#define SZ_STAT_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SZ_HIST_SUB_BITS 8
#define SZ_HIST_MAX_NS UINT64_C(7200000000000)
#define SZ_HIST_BUCKETS 9124 /* one more than the index of SZ_HIST_MAX_NS; asserted in tests */
#define SZ_HIST_LAYOUT_ID 2

struct sz_hist {
	uint64_t count; /* overflow included */
	uint64_t overflow;
	uint64_t min_ns; /* meaningless while count is 0 */
	uint64_t max_ns;
	double sum_ns;
	uint64_t buckets[SZ_HIST_BUCKETS];
};

void sz_hist_reset(struct sz_hist *hist);
void sz_hist_add(struct sz_hist *hist, uint64_t value_ns);
void sz_hist_merge(struct sz_hist *into, const struct sz_hist *from);

/* Value at rank ceil(ratio * count), 0 < ratio <= 1, clamped to [min, max];
 * the maximum when that rank lies in the overflow; NaN when the histogram is
 * empty. */
double sz_hist_quantile_ns(const struct sz_hist *hist, double ratio);

double sz_hist_mean_ns(const struct sz_hist *hist); /* NaN when empty */

/* Fewest values from which a quantile may be quoted: the smallest n with
 * 1 - ratio^n >= 0.95, so that with 95 % probability at least one value lies
 * beyond it (59 for p95, 299 for p99, 2,995 for p99.9). */
uint64_t sz_quantile_least_count(double ratio);

/* As sz_hist_quantile_ns(), but NaN below sz_quantile_least_count(). */
double sz_hist_quantile_or_nan_ns(const struct sz_hist *hist, double ratio);

#endif
