/* SPDX-License-Identifier: Apache-2.0
 *
 * Intervals. The binomial law is summed relative to its largest term, so that
 * neither factorials nor powers of a count of millions appear, and only over the
 * terms that matter: some 20 standard deviations.
 */
#include "stat/interval.h"

#include <assert.h>
#include <math.h>

#include "stat/dunnett.h"

/* The share of the largest term below which a tail is cut off: what is lost is
 * far below any probability asked for. */
#define NEGLIGIBLE 1e-25

struct binomial {
	double n, p;
	double first, last;                  /* the terms that matter */
	double first_term, last_term, total; /* over the largest term */
};

/* P(k) / P(k - 1). */
static double growth(const struct binomial *law, double k)
{
	return (law->n - k + 1) / k * law->p / (1 - law->p);
}

static void sum_terms(struct binomial *law)
{
	law->first = law->last = floor((law->n + 1) * law->p);
	law->first_term = law->last_term = law->total = 1;
	while (law->first > 0 && law->first_term > NEGLIGIBLE) {
		law->first_term /= growth(law, law->first);
		law->first--;
		law->total += law->first_term;
	}
	while (law->last < law->n && law->last_term > NEGLIGIBLE) {
		law->last++;
		law->last_term *= growth(law, law->last);
		law->total += law->last_term;
	}
}

/* The largest r with P(B < r) <= miss. */
static double lower_rank(const struct binomial *law, double miss)
{
	double k = law->first, term = law->first_term, sum = term;
	while (sum <= miss * law->total) {
		k++;
		term *= growth(law, k);
		sum += term;
	}
	return k;
}

/* The smallest r with P(B >= r) <= miss; n + 1 when there is none. */
static double upper_rank(const struct binomial *law, double miss)
{
	double k = law->last, term = law->last_term, sum = term;
	while (sum <= miss * law->total) {
		term /= growth(law, k);
		k--;
		sum += term;
	}
	return k + 1;
}

struct sz_rank_interval sz_quantile_ranks(uint64_t count, double quantile, double confidence)
{
	assert(quantile > 0 && quantile < 1 && confidence > 0 && confidence < 1);
	struct binomial law = {.n = (double)count, .p = quantile};
	double miss = (1 - confidence) / 2;
	if (count == 0)
		return (struct sz_rank_interval){0};
	sum_terms(&law);
	double high = upper_rank(&law, miss);
	return (struct sz_rank_interval){
		.low = (uint64_t)lower_rank(&law, miss),
		.high = high > law.n ? 0 : (uint64_t)high,
	};
}

static int check_pairs(const double *before, const double *after, size_t pairs, struct sz_err *err)
{
	if (pairs < 2) {
		sz_err_set(err, SZ_UNTRUSTED, 0, "one pair of windows shows no spread");
		return sz_err_hint(err, "measure at least two pairs");
	}
	for (size_t i = 0; i < pairs; i++) {
		if (before[i] > 0 && after[i] > 0 && isfinite(before[i]) && isfinite(after[i]))
			continue;
		sz_err_set(err, SZ_UNTRUSTED, 0,
			   "windows that gave %g before and %g after cannot be compared", before[i],
			   after[i]);
		return sz_err_hint(err, "leave that pair out, or measure it again");
	}
	return 0;
}

int sz_paired_ratio(const double *before, const double *after, size_t pairs, double confidence,
		    struct sz_ratio_interval *interval, struct sz_err *err)
{
	if (!(confidence >= 0.01 && confidence <= 0.999)) {
		sz_err_set(err, SZ_USAGE, 0, "a confidence of %g is out of range", confidence);
		return sz_err_hint(err, "give a ratio of 0.01 to 0.999, like 0.95");
	}
	if (check_pairs(before, after, pairs, err) < 0)
		return -1;
	double n = (double)pairs, mean = 0, squares = 0;
	for (size_t i = 0; i < pairs; i++)
		mean += log(after[i] / before[i]) / n;
	for (size_t i = 0; i < pairs; i++) {
		double deviation = log(after[i] / before[i]) - mean;
		squares += deviation * deviation;
	}
	double half = sz_t_quantile(n - 1, (1 + confidence) / 2) * sqrt(squares / (n - 1) / n);
	*interval = (struct sz_ratio_interval){
		.ratio = exp(mean),
		.low = exp(mean - half),
		.high = exp(mean + half),
	};
	return 0;
}

#define BATCHES 10

/* Neighbours added up to BATCHES numbers; the oldest that do not divide are
 * left out. The sum of all, or NaN. */
static double add_batches(const double *series, size_t count, double batch[BATCHES])
{
	size_t per_batch = count / BATCHES;
	double sum = 0;
	series += count - per_batch * BATCHES;
	for (size_t i = 0; i < BATCHES; i++)
		batch[i] = 0;
	for (size_t i = 0; i < per_batch * BATCHES; i++) {
		batch[i / per_batch] += series[i] >= 0 ? series[i] : (double)NAN;
		sum += series[i];
	}
	return sum;
}

/* What correlation does to the variance of a sum; see the header. The estimate
 * of r is biased by about -1/n. */
static double correlation_factor(double squares, double products)
{
	double r = squares > 0 ? products / squares + 1.0 / BATCHES : 0;
	return r < 0 ? fmax(1 + 2 * r, 1.0 / BATCHES) : (1 + r) / (1 - fmin(r, 0.95));
}

double sz_cost_error_ratio(const double *cost, const double *units, size_t count)
{
	double costs[BATCHES], counts[BATCHES], residual[BATCHES], squares = 0, products = 0;
	double cost_sum = add_batches(cost, count, costs);
	double unit_sum = add_batches(units, count, counts);
	if (!(cost_sum > 0 && unit_sum > 0))
		return INFINITY;
	for (size_t i = 0; i < BATCHES; i++) {
		residual[i] = costs[i] - counts[i] * cost_sum / unit_sum;
		squares += residual[i] * residual[i];
		if (i > 0)
			products += residual[i] * residual[i - 1];
	}
	double sd = sqrt(squares / (BATCHES - 1) * BATCHES * correlation_factor(squares, products));
	double error = sz_t_quantile(BATCHES - 1, 0.975) * sd / cost_sum;
	/* Units are whole: one more or less is always possible. */
	return isnan(error) ? (double)INFINITY : fmax(error, 1 / unit_sum);
}
