/* SPDX-License-Identifier: Apache-2.0
 *
 * The knee of throughput over clients: where more of them gain nothing.
 *
 * By the gain of each step, not by the shape of the curve: what Kneedle and its
 * kin find moves with the range that was measured. Pure and thread-safe.
 */
#ifndef SZ_STAT_KNEE_H
#define SZ_STAT_KNEE_H

#include <stddef.h>

/* A step that gains less than this ratio gained nothing, … */
#define SZ_KNEE_GAIN 0.03
/* … and after so many of them in a row neither will the next. */
#define SZ_KNEE_STEPS 2

struct sz_knee_point {
	unsigned clients;
	double throughput_rps; /* > 0 */
};

enum sz_knee {
	SZ_KNEE_BEYOND, /* the last steps still gained: measure higher */
	SZ_KNEE_FOUND,
	SZ_KNEE_BELOW, /* not even the first step gained: at or below the first, measure lower */
};

/* Points in ascending order of clients, best doubled from one to the next. The
 * knee is the first point behind which SZ_KNEE_STEPS steps in a row gained
 * nothing; on SZ_KNEE_FOUND and SZ_KNEE_BELOW, *at is its index. */
enum sz_knee sz_knee_find(const struct sz_knee_point *points, size_t count, size_t *at);

/* What the step from a point to the next gained: 0.03 is 3 %. */
double sz_knee_gain_ratio(const struct sz_knee_point *from);

#endif
