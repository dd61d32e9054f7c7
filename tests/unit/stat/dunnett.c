/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data.h"
#include "stat/dunnett.h"

static void dunnett_vectors(void **state)
{
	(void)state;
	FILE *file = data_open("dunnett_one_sided.csv");
	char line[200], *field[4];
	size_t rows = 0;
	assert_true(data_row(file, line, field, 4));
	for (; data_row(file, line, field, 4); rows++) {
		unsigned comparisons = (unsigned)strtoul(field[0], NULL, 10);
		double d =
			sz_dunnett_d(comparisons, strtod(field[1], NULL), strtod(field[2], NULL));
		/* They are printed with five decimals. */
		assert_near(d, strtod(field[3], NULL), 6e-6);
	}
	fclose(file);
	assert_int_equal(rows, 80);
}

static void t_vectors(void **state)
{
	(void)state;
	FILE *file = data_open("t_quantiles.csv");
	char line[200], *field[3];
	size_t rows = 0;
	assert_true(data_row(file, line, field, 3));
	for (; data_row(file, line, field, 3); rows++) {
		double df = strtod(field[0], NULL), p = strtod(field[1], NULL);
		double t = strtod(field[2], NULL);
		assert_near(sz_t_quantile(df, p), t, 1e-8 * t);
		assert_near(sz_dunnett_d(1, df, p), t, 1e-8 * t);
	}
	fclose(file);
	assert_int_equal(rows, 80);
}

/* t with 1 df is Cauchy's. */
static void closed_forms(void **state)
{
	(void)state;
	for (int percent = 55; percent < 100; percent += 5) {
		double p = percent / 100.0;
		double t = 1 / tan(M_PI * (1 - p));
		assert_near(sz_t_quantile(1, p), t, 1e-8 * t);
	}
	assert_true(sz_t_quantile(5, 0.5) == 0);
	assert_near(sz_dunnett_d(1, 7, 0.5), 0, 1e-12);
	/* Both of two correlated by 1/2 are below 0 with probability 1/3, so the
	 * median of the larger is above it. */
	assert_true(sz_dunnett_d(2, INFINITY, 0.5) > 0);
}

static void grows(void **state)
{
	(void)state;
	static const double dfs[] = {1, 2, 3, 7.5, 40, 1e4, 1e9, INFINITY};
	static const unsigned comparisons[] = {1, 2, 3, 8, 31, 200, 1000};
	static const double confidences[] = {0.5, 0.9, 0.95, 0.99, 0.9999};
	for (size_t c = 0; c < 5; c++) {
		for (size_t m = 1; m < 7; m++) {
			double before = HUGE_VAL;
			for (size_t i = 0; i < 8; i++) {
				double d = sz_dunnett_d(comparisons[m], dfs[i], confidences[c]);
				assert_true(isfinite(d));
				assert_true(d > sz_dunnett_d(comparisons[m - 1], dfs[i],
							     confidences[c]));
				/* More df, less doubt; 1e9 df are infinitely many. */
				assert_true(d < before || fabs(d / before - 1) < 1e-7);
				before = d;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dunnett_vectors),
		cmocka_unit_test(t_vectors),
		cmocka_unit_test(closed_forms),
		cmocka_unit_test(grows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
