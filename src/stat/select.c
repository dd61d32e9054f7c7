/* SPDX-License-Identifier: Apache-2.0
 *
 * The two-way additive model, solved for the settings alone.
 *
 * With the blocks eliminated the normal matrix of the settings is the Laplacian
 * of the graph that joins settings sharing a block. It is singular by one
 * dimension (only differences are determined) when that graph is connected; with
 * the first setting held at 0 the rest is positive definite, and its inverse
 * times the residual variance is the covariance of the differences.
 */
#include "stat/select.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "stat/dunnett.h"

#define NOT_KNOWN __builtin_nan("")
/* A mean that is this much of delta below the best's is as good, for want of
 * anything better. */
#define WEAK_SHARE 0.4
#define STILL_RISING 1.05
#define PEAK_FALLS 0.99

_Static_assert(SZ_SETTINGS_MAX <= 32, "sets of settings are bits of a uint32_t");

struct row {
	unsigned block;
	unsigned setting;
	size_t index; /* of the setting among the candidates */
	double log_value;
};

struct model {
	struct row *rows; /* by block, setting, value */
	size_t count;
	size_t blocks;
	size_t settings;
	double mean[SZ_SETTINGS_MAX];                        /* of ln X, less that of setting 0 */
	double covariance[SZ_SETTINGS_MAX][SZ_SETTINGS_MAX]; /* over the variance */
};

static int check_rule(const struct sz_select_rule *rule, struct sz_err *err)
{
	if (!(rule->delta > 0 && rule->delta < 1)) {
		sz_err_set(err, SZ_USAGE, 0, "a tolerated loss of %g is out of range", rule->delta);
		return sz_err_hint(err, "give a ratio between 0 and 1, like 0.05");
	}
	if (!(rule->confidence >= 0.5 && rule->confidence <= 0.9999)) {
		sz_err_set(err, SZ_USAGE, 0, "a confidence of %g is out of range",
			   rule->confidence);
		return sz_err_hint(err, "give a ratio of 0.5 to 0.9999, like 0.95");
	}
	return 0;
}

/* By all members, so that sums do not depend on the order of observations. */
static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->setting != b->setting)
		return a->setting < b->setting ? -1 : 1;
	return (a->log_value > b->log_value) - (a->log_value < b->log_value);
}

static int read_rows(const struct sz_observation *observations, struct model *model,
		     struct sz_err *err)
{
	for (size_t i = 0; i < model->count; i++) {
		const struct sz_observation *from = &observations[i];
		if (!(from->value > 0 && isfinite(from->value))) {
			sz_err_set(err, SZ_UNTRUSTED, 0,
				   "a window at setting %u gave %g, which cannot be compared",
				   from->setting, from->value);
			return sz_err_hint(err, "leave that setting out");
		}
		model->rows[i] = (struct row){
			.block = from->block,
			.setting = from->setting,
			.log_value = log(from->value),
		};
	}
	qsort(model->rows, model->count, sizeof(*model->rows), compare_rows);
	return 0;
}

/* Keeps the candidates ascending. False when there is no room. */
static bool add_candidate(struct sz_selection *selection, unsigned setting)
{
	size_t at = selection->count;
	for (size_t i = 0; i < selection->count; i++) {
		if (selection->candidate[i].setting == setting)
			return true;
	}
	if (at == SZ_SETTINGS_MAX)
		return false;
	for (; at > 0 && selection->candidate[at - 1].setting > setting; at--)
		selection->candidate[at] = selection->candidate[at - 1];
	selection->candidate[at] = (struct sz_candidate){
		.setting = setting,
		.ratio_low = NOT_KNOWN,
		.ratio_high = NOT_KNOWN,
	};
	selection->count++;
	return true;
}

static size_t candidate_index(const struct sz_selection *selection, unsigned setting)
{
	size_t i = 0;
	while (selection->candidate[i].setting != setting)
		i++;
	return i;
}

static int list_candidates(struct model *model, struct sz_selection *selection, struct sz_err *err)
{
	for (size_t i = 0; i < model->count; i++) {
		if (add_candidate(selection, model->rows[i].setting))
			continue;
		sz_err_set(err, SZ_USAGE, 0, "more than %d settings", SZ_SETTINGS_MAX);
		return sz_err_hint(err, "compare fewer settings at a time");
	}
	for (size_t i = 0; i < model->count; i++)
		model->rows[i].index = candidate_index(selection, model->rows[i].setting);
	model->settings = selection->count;
	return 0;
}

/* The end of the block that begins at row `first`. */
static size_t block_end(const struct model *model, size_t first)
{
	size_t end = first;
	while (end < model->count && model->rows[end].block == model->rows[first].block)
		end++;
	return end;
}

/* The settings that blocks connect with the first one, directly or not. */
static uint32_t connected_settings(const struct model *model)
{
	uint32_t reached = 1, before;
	do {
		before = reached;
		for (size_t first = 0, end; first < model->count; first = end) {
			uint32_t block = 0;
			end = block_end(model, first);
			for (size_t i = first; i < end; i++)
				block |= UINT32_C(1) << model->rows[i].index;
			if (block & reached)
				reached |= block;
		}
	} while (reached != before);
	return reached;
}

static int check_connected(const struct model *model, const struct sz_selection *selection,
			   struct sz_err *err)
{
	uint32_t reached = connected_settings(model);
	for (size_t i = 0; i < selection->count; i++) {
		if (reached >> i & 1)
			continue;
		sz_err_set(err, SZ_UNTRUSTED, 0,
			   "settings %u and %u cannot be compared: they share no block of windows, "
			   "not even by way of other settings",
			   selection->candidate[0].setting, selection->candidate[i].setting);
		return sz_err_hint(err, "measure both once more in the same block");
	}
	return 0;
}

/* Add what one block knows: deviations from its own mean. */
static void add_block(struct model *model, size_t first, size_t end, double *right_side)
{
	double size = (double)(end - first), mean = 0, times[SZ_SETTINGS_MAX] = {0};
	for (size_t i = first; i < end; i++) {
		mean += model->rows[i].log_value / size;
		times[model->rows[i].index]++;
	}
	for (size_t i = first; i < end; i++)
		right_side[model->rows[i].index] += model->rows[i].log_value - mean;
	for (size_t i = 0; i < model->settings; i++) {
		model->covariance[i][i] += times[i];
		for (size_t k = 0; k < model->settings; k++)
			model->covariance[i][k] -= times[i] * times[k] / size;
	}
	model->blocks++;
}

/* Invert the matrix without its first row and column, which become 0. Gauss and
 * Jordan in place; a positive definite matrix needs no pivoting. */
static void invert(struct model *model)
{
	double(*a)[SZ_SETTINGS_MAX] = model->covariance;
	for (size_t p = 1; p < model->settings; p++) {
		double pivot = a[p][p];
		a[p][p] = 1;
		for (size_t k = 1; k < model->settings; k++)
			a[p][k] /= pivot;
		for (size_t i = 1; i < model->settings; i++) {
			double factor = a[i][p];
			if (i == p)
				continue;
			a[i][p] = 0;
			for (size_t k = 1; k < model->settings; k++)
				a[i][k] -= factor * a[p][k];
		}
	}
	for (size_t i = 0; i < model->settings; i++)
		a[0][i] = a[i][0] = 0;
}

static void solve(struct model *model)
{
	double right_side[SZ_SETTINGS_MAX] = {0};
	for (size_t first = 0, end; first < model->count; first = end) {
		end = block_end(model, first);
		add_block(model, first, end, right_side);
	}
	invert(model);
	for (size_t i = 1; i < model->settings; i++) {
		for (size_t k = 1; k < model->settings; k++)
			model->mean[i] += model->covariance[i][k] * right_side[k];
	}
}

static double residual_square_sum(const struct model *model)
{
	double sum = 0;
	for (size_t first = 0, end; first < model->count; first = end) {
		double block = 0;
		end = block_end(model, first);
		for (size_t i = first; i < end; i++)
			block += model->rows[i].log_value - model->mean[model->rows[i].index];
		block /= (double)(end - first);
		for (size_t i = first; i < end; i++) {
			const struct row *row = &model->rows[i];
			double residual = row->log_value - model->mean[row->index] - block;
			sum += residual * residual;
		}
	}
	return sum;
}

static void fill_means(const struct model *model, struct sz_selection *selection)
{
	for (size_t i = 1; i < selection->count; i++) {
		if (model->mean[i] > model->mean[selection->best])
			selection->best = i;
	}
	for (size_t i = 0; i < selection->count; i++) {
		struct sz_candidate *candidate = &selection->candidate[i];
		candidate->mean_log = model->mean[i] - model->mean[selection->best];
		candidate->ratio_to_best = exp(candidate->mean_log);
	}
}

static double half_width(const struct model *model, const struct sz_selection *selection, size_t i,
			 size_t k)
{
	double variance =
		model->covariance[i][i] + model->covariance[k][k] - 2 * model->covariance[i][k];
	return selection->dunnett_d * selection->residual_sd * sqrt(variance);
}

static void judge(const struct model *model, struct sz_selection *selection, size_t i,
		  double log_limit)
{
	struct sz_candidate *candidate = &selection->candidate[i];
	double low = HUGE_VAL, high = HUGE_VAL;
	for (size_t k = 0; k < selection->count; k++) {
		if (k == i)
			continue;
		double difference = model->mean[i] - model->mean[k];
		double half = half_width(model, selection, i, k);
		low = fmin(low, difference - half);
		high = fmin(high, difference + half);
	}
	candidate->ratio_low = exp(low);
	candidate->ratio_high = exp(high);
	if (low >= log_limit)
		candidate->verdict = SZ_ACCEPTED;
	else if (high < log_limit)
		candidate->verdict = SZ_INFERIOR;
}

static void judge_all(const struct model *model, const struct sz_select_rule *rule,
		      struct sz_selection *selection)
{
	/* Connected, so settings + blocks - 1 parameters are determined. */
	selection->df = model->count + 1 - model->settings - model->blocks;
	if (selection->df == 0)
		return;
	selection->residual_sd = sqrt(residual_square_sum(model) / (double)selection->df);
	if (selection->count == 1)
		return;
	selection->dunnett_d = sz_dunnett_d((unsigned)selection->count - 1, (double)selection->df,
					    rule->confidence);
	for (size_t i = 0; i < selection->count; i++)
		judge(model, selection, i, log1p(-rule->delta));
}

/* The smallest accepted; everything before it is inferior or not. */
static bool choose_accepted(struct sz_selection *selection)
{
	bool all_inferior = true;
	for (size_t i = 0; i < selection->count; i++) {
		enum sz_verdict verdict = selection->candidate[i].verdict;
		if (verdict == SZ_ACCEPTED) {
			selection->selected = i;
			selection->grade =
				all_inferior ? SZ_GRADE_DECIDED : SZ_GRADE_NOT_WORSE_SHOWN;
			return true;
		}
		all_inferior = all_inferior && verdict == SZ_INFERIOR;
	}
	return false;
}

static void choose_by_mean(const struct sz_select_rule *rule, struct sz_selection *selection)
{
	double enough = 1 - WEAK_SHARE * rule->delta;
	size_t i = 0;
	while (selection->candidate[i].ratio_to_best < enough)
		i++;
	selection->selected = i;
	selection->grade = SZ_GRADE_WEAK;
}

/* The last doubling begins at the largest setting of at most half the last, or
 * for want of one at the smallest tested. */
static bool still_rising(const struct sz_selection *selection)
{
	size_t last = selection->count - 1, before = 0;
	if (selection->selected != last || last == 0)
		return false;
	for (size_t i = 1; i < last; i++) {
		if (selection->candidate[i].setting <= selection->candidate[last].setting / 2)
			before = i;
	}
	return selection->candidate[last].mean_log - selection->candidate[before].mean_log >
	       log(STILL_RISING);
}

static int select_with(struct model *model, const struct sz_observation *observations,
		       const struct sz_select_rule *rule, struct sz_selection *selection,
		       struct sz_err *err)
{
	if (read_rows(observations, model, err) < 0 || list_candidates(model, selection, err) < 0 ||
	    check_connected(model, selection, err) < 0)
		return -1;
	solve(model);
	fill_means(model, selection);
	judge_all(model, rule, selection);
	if (!choose_accepted(selection))
		choose_by_mean(rule, selection);
	selection->range_limited = still_rising(selection);
	return 0;
}

int sz_select(const struct sz_observation *observations, size_t count,
	      const struct sz_select_rule *rule, struct sz_selection *selection, struct sz_err *err)
{
	if (check_rule(rule, err) < 0)
		return -1;
	if (count == 0) {
		sz_err_set(err, SZ_UNTRUSTED, 0, "no undisturbed window is left to compare");
		return sz_err_hint(err, "repeat the measurement while less else is running");
	}
	sz_autofree struct row *rows = calloc(count, sizeof(*rows));
	if (!rows)
		return sz_err_nomem(err);
	struct model model = {.rows = rows, .count = count};
	struct sz_selection made = {.residual_sd = NOT_KNOWN, .dunnett_d = NOT_KNOWN};
	if (select_with(&model, observations, rule, &made, err) < 0)
		return -1;
	*selection = made;
	return 0;
}

static size_t second_best(const struct sz_selection *selection)
{
	size_t second = selection->best == 0;
	for (size_t i = 0; i < selection->count; i++) {
		if (i != selection->best &&
		    selection->candidate[i].mean_log > selection->candidate[second].mean_log)
			second = i;
	}
	return second;
}

size_t sz_select_race(const struct sz_selection *selection, unsigned settings[SZ_SETTINGS_MAX])
{
	if (selection->grade == SZ_GRADE_DECIDED || selection->count < 2)
		return 0;
	size_t count = 0, second = second_best(selection);
	/* One larger than an accepted one cannot become the answer. */
	size_t open = selection->grade == SZ_GRADE_WEAK ? selection->count : selection->selected;
	for (size_t i = 0; i < selection->count; i++) {
		bool undecided = selection->candidate[i].verdict == SZ_UNDECIDED && i < open;
		if (undecided || i == selection->selected || i == selection->best || i == second)
			settings[count++] = selection->candidate[i].setting;
	}
	return count;
}

/* Keeps the list ascending and without doubles. */
static void insert(unsigned *list, size_t *count, unsigned value)
{
	size_t at = 0;
	while (at < *count && list[at] < value)
		at++;
	if (at < *count && list[at] == value)
		return;
	for (size_t i = *count; i > at; i--)
		list[i] = list[i - 1];
	list[at] = value;
	++*count;
}

/* The geometric mid-point of candidates i and i + 1, if there is a whole number
 * between them; rounded, it then equals neither. */
static void insert_between(const struct sz_selection *selection, size_t i, unsigned *list,
			   size_t *count)
{
	unsigned low = selection->candidate[i].setting, high = selection->candidate[i + 1].setting;
	if (high - low >= 2)
		insert(list, count, (unsigned)lround(sqrt((double)low * high)));
}

static bool is_peak(const struct sz_selection *selection, size_t i)
{
	return i > 0 && i + 1 < selection->count &&
	       selection->candidate[i + 1].mean_log - selection->candidate[i].mean_log <
		       log(PEAK_FALLS);
}

size_t sz_select_untested(const struct sz_selection *selection, unsigned untested[SZ_UNTESTED_MAX])
{
	const struct sz_candidate *candidate = selection->candidate;
	size_t count = 0, selected = selection->selected, best = selection->best;
	if (selected == 0 && candidate[0].setting > 1)
		insert(untested, &count, candidate[0].setting / 2);
	if (selected > 0 && candidate[selected - 1].verdict == SZ_INFERIOR)
		insert_between(selection, selected - 1, untested, &count);
	if (is_peak(selection, best)) {
		insert_between(selection, best - 1, untested, &count);
		insert_between(selection, best, untested, &count);
	}
	return count;
}
