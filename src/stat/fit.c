/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/fit.h"

static double mean(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

bool sz_fit_line(const double *x, const double *y, size_t count, struct sz_fit *fit)
{
	if (count < 3)
		return false;
	double mean_x = mean(x, count), mean_y = mean(y, count);
	double xx = 0, xy = 0, yy = 0;
	for (size_t i = 0; i < count; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;
		xx += dx * dx;
		xy += dx * dy;
		yy += dy * dy;
	}
	if (xx == 0)
		return false;
	double slope = xy / xx;
	*fit = (struct sz_fit){
		.intercept = mean_y - slope * mean_x,
		.slope = slope,
		.r2 = yy > 0 ? slope * xy / yy : 1,
	};
	return true;
}
