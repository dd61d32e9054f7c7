/* SPDX-License-Identifier: Apache-2.0
 *
 * Straight lines through points. Pure and thread-safe.
 */
#ifndef SZ_STAT_FIT_H
#define SZ_STAT_FIT_H

#include <stdbool.h>
#include <stddef.h>

struct sz_fit {
	double intercept, slope;
	double r2; /* share of the variation of y that the line explains; 1 when y is constant */
};

/* Least squares of y = intercept + slope x. False, with *fit untouched, when
 * fewer than three points or all at one x: two points always fit. All values
 * finite. */
bool sz_fit_line(const double *x, const double *y, size_t count, struct sz_fit *fit);

#endif
