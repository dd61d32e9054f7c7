/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts of one setting that differ: windows that form two groups, far apart for
 * how close each is. Means of such a mixture depend on which starts they happen
 * to hold, and intervals from its spread do not bound that.
 */
#include "advise/inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* More than what passes the gates of a window can take from it. */
#define GAP_LEAST 0.08
#define GAP_TO_GROUPS 3.0

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static bool counts(const struct sz_visit *visit)
{
	return sz_visit_compares(visit) && !visit->window.disturbed && visit->window.score > 0;
}

static double setting_mean(const struct sz_sweep *sweep, size_t setting)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting == setting && counts(visit)) {
			sum += log(visit->window.score);
			count++;
		}
	}
	return sum / (double)count;
}

/* What all settings of a block have in common is the machine's luck. Of one alone
 * it cannot be told from that of its start: 0. */
static double block_luck(const struct sz_sweep *sweep, unsigned block)
{
	double sum = 0;
	size_t count = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->block == block && counts(visit)) {
			sum += log(visit->window.score) - setting_mean(sweep, visit->setting);
			count++;
		}
	}
	return count > 1 ? sum / (double)count : 0;
}

/* ln X of a setting's windows, without the luck of their blocks. */
static size_t gather(const struct sz_sweep *sweep, size_t setting, double *scores)
{
	size_t count = 0;
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting == setting && counts(visit))
			scores[count++] =
				log(visit->window.score) - block_luck(sweep, visit->block);
	}
	return count;
}

/* Where the upper group begins; 0: there is but one group. */
static size_t split(const double *sorted, size_t count)
{
	size_t at = 0;
	double gap = 0;
	for (size_t i = 1; i < count; i++) {
		if (sorted[i] - sorted[i - 1] > gap) {
			gap = sorted[i] - sorted[i - 1];
			at = i;
		}
	}
	if (at == 0 || gap < GAP_LEAST)
		return 0;
	double groups = fmax(sorted[at - 1] - sorted[0], sorted[count - 1] - sorted[at]);
	return gap >= GAP_TO_GROUPS * groups ? at : 0;
}

bool sz_starts_differ(const struct sz_sweep *sweep, size_t setting, double *low, double *high)
{
	sz_autofree double *scores = calloc(sweep->visit_count + 1, sizeof(*scores));
	size_t count = scores ? gather(sweep, setting, scores) : 0;
	if (count < 2)
		return false;
	qsort(scores, count, sizeof(scores[0]), ascending);
	size_t at = split(scores, count);
	*low = exp(scores[0]);
	*high = exp(scores[count - 1]);
	return at > 0;
}

size_t sz_find_differing(const struct sz_sweep *sweep, double *low, double *high)
{
	const struct sz_setting *best = sz_best_setting(sweep);
	for (size_t i = 0; best && i < sweep->setting_count; i++) {
		/* One that is far behind at its best changes nothing. */
		if (sz_setting_decides(&sweep->setting[i]) &&
		    sz_starts_differ(sweep, i, low, high) &&
		    *high >= (1 - sz_delta(sweep)) * best->window.score)
			return i;
	}
	return sweep->setting_count;
}
