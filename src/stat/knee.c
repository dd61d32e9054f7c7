/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/knee.h"

double sz_knee_gain_ratio(const struct sz_knee_point *from)
{
	return from[1].throughput_rps / from[0].throughput_rps - 1.0;
}

enum sz_knee sz_knee_find(const struct sz_knee_point *points, size_t count, size_t *at)
{
	size_t gainless = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		gainless = sz_knee_gain_ratio(&points[i]) < SZ_KNEE_GAIN ? gainless + 1 : 0;
		if (gainless < SZ_KNEE_STEPS)
			continue;
		*at = i + 1 - SZ_KNEE_STEPS;
		return *at == 0 ? SZ_KNEE_BELOW : SZ_KNEE_FOUND;
	}
	return SZ_KNEE_BEYOND;
}
