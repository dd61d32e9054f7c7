/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a series becomes steady: three looks at it, and one verdict.
 *
 * Series are values at equal distances in time, such as requests per 100 ms;
 * all functions want finite values. Pure and thread-safe; time is linear in the
 * length, and nothing is allocated.
 */
#ifndef SZ_STAT_WARMUP_H
#define SZ_STAT_WARMUP_H

#include <stdbool.h>
#include <stddef.h>

/* MSER-m (K. P. White, M. J. Cobb, S. C. Spratt, Proc. Winter Simulation Conf.
 * 2000): cut off the d batches after which the mean is known best, that is
 * minimise sum((z_i - mean)^2) / (n - d)^2 over d <= n / 2. An incomplete last
 * batch is ignored. */
struct sz_mser {
	size_t batches;
	size_t cut; /* points, a multiple of the batch */
	double statistic;
	double mean_after;
	bool unreliable; /* the minimum lies at n / 2, so it may well lie beyond */
};

/* batch >= 1, count >= batch (asserted). */
struct sz_mser sz_mser(const double *x, size_t count, size_t batch);

/* The best split into two means. It counts as a shift when it pays for itself:
 * n ln(sse0 / sse1) > 3 ln n. */
struct sz_changepoint {
	size_t index;      /* first point after the split */
	double sse0, sse1; /* squared deviations from one mean, from two */
	double gain;       /* n ln(sse0 / sse1); INFINITY when sse1 is 0, 0 when sse0 is */
	bool accepted;
	double mean_before, mean_after;
};

/* Neither side shorter than `least`; least >= 1, count >= 2 least (asserted). */
struct sz_changepoint sz_changepoint(const double *x, size_t count, size_t least);

/* Least-squares line. */
struct sz_line {
	double mean;
	double slope;       /* per point */
	double slope_error; /* standard error, for independent residuals */
};

/* count >= 3 (asserted). */
struct sz_line sz_line(const double *x, size_t count);

/* Steady: from some point in the first half on, the mean neither jumps nor
 * creeps by more than 3 %. A difference counts when it is both material and
 * significant: with enough points the smallest one is significant, and in few
 * noisy points chance makes large ones.
 *
 * 1. MSER-5 cuts first. At its limit it is unreliable, though in short flat
 *    series it gets there by chance (of 20 points, in 40 %): so that alone is no
 *    verdict, but with a line through the whole series that fails rule 3 it is.
 * 2. While what is left holds a shift of more than 3 %, with at least 5 points
 *    and a tenth of them on either side, it begins after that shift; past the
 *    middle, the series is not steady.
 * 3. The least-squares line through what is left may not change by more than
 *    3 % of the mean from end to end, unless 0 is in the 99 % t interval of its
 *    slope.
 *
 * In simulation, flat series of independent noise failed in under 2 %; 5 % of
 * noise correlated by 1/2 from point to point failed in up to 20 %, so points
 * should be longer than what makes neighbours alike. */
#define SZ_STEADY_RATIO 0.03
#define SZ_STEADY_POINTS 20 /* the fewest that can be judged */

enum sz_steady {
	SZ_STEADY,
	SZ_UNSTEADY_SHORT,  /* fewer than SZ_STEADY_POINTS, or not all finite */
	SZ_UNSTEADY_SHIFTS, /* rule 2 */
	SZ_UNSTEADY_DRIFTS, /* rule 1 or 3 */
};

/* On SZ_STEADY, *from is the first steady point; otherwise it is untouched. */
enum sz_steady sz_steady_from(const double *x, size_t count, size_t *from);

#endif
