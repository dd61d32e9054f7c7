/* SPDX-License-Identifier: Apache-2.0
 *
 * Critical values: one-sided Dunnett, which is also Hsu's for comparisons
 * with the best, and Student t, which is Dunnett's with one comparison.
 *
 * Pure and thread-safe. Arguments outside the stated ranges are programming
 * errors (asserted); within them every result is finite.
 */
#ifndef SZ_STAT_DUNNETT_H
#define SZ_STAT_DUNNETT_H

/* The d with P(max of `comparisons` T's <= d) = confidence. T_i = Z_i / S: the
 * Z_i are standard normal and correlated by 1/2 with each other (means of
 * equally many values, all compared with one more), and S^2 is an independent
 * chi-squared over its df.
 *
 * 1 <= comparisons <= 1000; df >= 1, INFINITY when the variance is known;
 * 0.5 <= confidence <= 0.9999. Relative error below 1e-7. Under 5 ms, and
 * under 1 ms from 10 df.
 *
 * Source: C. W. Dunnett, J. Amer. Statist. Assoc. 50 (1955) 1096; J. C. Hsu,
 * Ann. Statist. 9 (1981) 1026. */
double sz_dunnett_d(unsigned comparisons, double df, double confidence);

/* The t with P(T <= t) = p. df as above; 0.5 <= p <= 1 - 1e-7. Relative error
 * below 1e-8 up to p = 0.9999, below 1e-5 beyond. */
double sz_t_quantile(double df, double p);

#endif
