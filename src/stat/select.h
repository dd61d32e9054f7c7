/* SPDX-License-Identifier: Apache-2.0
 *
 * Which setting: from windows repeated in blocks to the smallest setting that
 * is shown not to be worse than the best by more than delta.
 *
 * Not the largest mean (on a plateau that picks at random, and too large), and
 * not the peak of a fitted curve (a quota is a kink): only settings that were
 * tested are compared. Whether a window may count is decided before, on
 * external evidence; an outlier is never dropped here.
 *
 * Pure and thread-safe; results do not depend on the order of observations.
 */
#ifndef SZ_STAT_SELECT_H
#define SZ_STAT_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/units.h"

enum sz_verdict {
	SZ_UNDECIDED,
	SZ_ACCEPTED,   /* at least 1 - delta of the best other, with confidence */
	SZ_INFERIOR,   /* below 1 - delta of the best, with confidence */
	SZ_INFEASIBLE, /* never from here: it could not be measured */
};

enum sz_grade {
	SZ_GRADE_WEAK,            /* nothing accepted; chosen on the mean alone */
	SZ_GRADE_NOT_WORSE_SHOWN, /* accepted, but a smaller one is not excluded */
	SZ_GRADE_DECIDED,         /* accepted, and every smaller tested one inferior */
};

/* One window. A block is a stretch of time whose windows share its luck; any
 * numbers do, and not every setting needs to be in every block. */
struct sz_observation {
	unsigned block;
	unsigned setting; /* N, 1 or more */
	double value;     /* X > 0, more is better: throughput, 1 / time, … */
};

struct sz_select_rule {
	double delta;      /* 0 < delta < 1: the loss that does not matter */
	double confidence; /* of all comparisons together; 0.5 … 0.9999 */
};

struct sz_candidate {
	unsigned setting;
	double mean_log;      /* adjusted for blocks; of the best: 0 */
	double ratio_to_best; /* exp(mean_log) */
	/* Simultaneous bounds of the ratio to the best *other* setting; NaN when
	 * df is 0 or there is no other. */
	double ratio_low, ratio_high;
	enum sz_verdict verdict;
};

struct sz_selection {
	struct sz_candidate candidate[SZ_SETTINGS_MAX]; /* ascending settings */
	size_t count;
	size_t df;          /* of the residuals; 0 without repeats */
	double residual_sd; /* of ln X; NaN when df is 0 */
	double dunnett_d;   /* NaN when df is 0 or count is 1 */
	size_t best;        /* index of the largest mean */
	size_t selected;    /* index */
	enum sz_grade grade;
	/* The selected is the largest tested one, and the last doubling still
	 * gained more than 5 %. */
	bool range_limited;
};

/* Least squares of ln X = mu_N + beta_block; verdicts by simultaneous
 * comparisons with the best, the constant of equal correlations also standing
 * in for incomplete blocks (J. C. Hsu, Multiple Comparisons, 1996, ch. 4); the
 * smallest accepted setting, or when none is, the smallest with a mean of at
 * least 1 - 0.4 delta of the best. Without repeats (df = 0) all are undecided.
 *
 * SZ_UNTRUSTED: no observation, a value that is not positive and finite, or
 * settings that no chain of shared blocks connects. SZ_USAGE: rule out of
 * range, more than SZ_SETTINGS_MAX settings. */
int sz_select(const struct sz_observation *observations, size_t count,
	      const struct sz_select_rule *rule, struct sz_selection *selection,
	      struct sz_err *err);

/* Settings, ascending, whose further windows (a block each time) bring the answer
 * nearer: those undecided that could still be the answer, the selected, and the
 * two best, with which all are compared. None when the grade is decided, or
 * there is nothing to compare. */
size_t sz_select_race(const struct sz_selection *selection, unsigned settings[SZ_SETTINGS_MAX]);

/* Untested settings that could change the answer, ascending, without doubles;
 * returns how many:
 * - the geometric mid-point between the selected and an inferior left
 *   neighbour;
 * - those on both sides of an inner best whose right neighbour is more than
 *   1 % lower, since a peak may lie beside it;
 * - half of the selected when nothing smaller was tested.
 * None between neighbours with no whole number between them. */
#define SZ_UNTESTED_MAX 3
size_t sz_select_untested(const struct sz_selection *selection, unsigned untested[SZ_UNTESTED_MAX]);

#endif
