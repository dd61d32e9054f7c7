/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stat/fit.h"

static bool near(double value, double expected)
{
	return fabs(value - expected) <= 1e-9 * (1 + fabs(expected));
}

static void lines_with_known_answers(void **state)
{
	(void)state;
	struct sz_fit fit;
	assert_true(sz_fit_line((double[]){1, 2, 4, 8}, (double[]){5, 7, 11, 19}, 4, &fit));
	assert_true(near(fit.slope, 2) && near(fit.intercept, 3) && near(fit.r2, 1));
	assert_true(sz_fit_line((double[]){1, 2, 3}, (double[]){1, 2, 2}, 3, &fit));
	assert_true(near(fit.slope, 0.5) && near(fit.intercept, 2.0 / 3) && near(fit.r2, 0.75));
	assert_true(sz_fit_line((double[]){1, 2, 3}, (double[]){4, 4, 4}, 3, &fit));
	assert_true(near(fit.slope, 0) && near(fit.r2, 1));
}

static void too_little_is_no_fit(void **state)
{
	(void)state;
	struct sz_fit fit = {.slope = 42};
	assert_false(sz_fit_line((double[]){1, 2}, (double[]){1, 2}, 2, &fit));
	assert_false(sz_fit_line((double[]){2, 2, 2}, (double[]){1, 2, 3}, 3, &fit));
	assert_true(fit.slope == 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_with_known_answers),
		cmocka_unit_test(too_little_is_no_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
