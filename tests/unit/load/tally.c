/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting, without a network.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "load/inside.h"

static struct sz_load_result result;

static int reset(void **state)
{
	(void)state;
	memset(&result, 0, sizeof(result));
	return 0;
}

static struct sz_load closed; /* all zero: a closed loop */

static void errors_by_phase_and_errno(void **state)
{
	(void)state;
	sz_tally_error(&result, SZ_PHASE_WAIT, 104);
	sz_tally_error(&result, SZ_PHASE_BODY, 104);
	sz_tally_error(&result, SZ_PHASE_WAIT, 104);
	assert_int_equal(result.error_count, 2);
	assert_int_equal(result.errors[0].phase, SZ_PHASE_WAIT);
	assert_int_equal(result.errors[0].errnum, 104);
	assert_int_equal(result.errors[0].count, 2);
	assert_int_equal(result.errors[1].phase, SZ_PHASE_BODY);
	assert_int_equal(result.errors[1].count, 1);
}

static void full_error_table_still_counts(void **state)
{
	(void)state;
	for (int errnum = 1; errnum <= SZ_LOAD_ERRORS_MAX + 3; errnum++)
		sz_tally_error(&result, SZ_PHASE_SEND, errnum);
	sz_tally_error(&result, SZ_PHASE_SEND, 1);
	assert_int_equal(result.error_count, SZ_LOAD_ERRORS_MAX);
	assert_int_equal(result.errors_other, 3);
	assert_int_equal(result.errors[0].count, 2);
}

static void outcomes_have_their_own_histograms(void **state)
{
	(void)state;
	struct sz_client client = {.load = &closed, .asked_ns = 1000, .first_byte_ns = 1040};
	client.body_bytes = 7;
	sz_tally_outcome(&result, &client, SZ_OUTCOME_OK, 1100);
	sz_tally_outcome(&result, &client, SZ_OUTCOME_HTTP_ERROR, 1010);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 1);
	assert_int_equal(result.outcomes[SZ_OUTCOME_HTTP_ERROR], 1);
	assert_int_equal(result.latency[SZ_OUTCOME_OK].max_ns, 100);
	assert_int_equal(result.latency[SZ_OUTCOME_HTTP_ERROR].max_ns, 10);
	assert_int_equal(result.ttfb.count, 1);
	assert_int_equal(result.ttfb.max_ns, 40);
	assert_int_equal(result.body_bytes, 7);
}

static void conservation(void **state)
{
	(void)state;
	struct sz_client client = {.load = &closed, .asked_ns = 1, .first_byte_ns = 2};
	assert_true(sz_load_counts_ok(&result));
	result.attempts = 2 + SZ_OUTCOME_COUNT;
	result.connect_failed = 2;
	result.sent = SZ_OUTCOME_COUNT;
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++) {
		assert_false(sz_load_counts_ok(&result));
		sz_tally_outcome(&result, &client, (enum sz_outcome)i, 3);
	}
	assert_true(sz_load_counts_ok(&result));
	result.attempts++;
	assert_false(sz_load_counts_ok(&result));
}

/* Storage is of fixed size, and counts are exact, whatever comes. */
static void more_than_a_million(void **state)
{
	(void)state;
	enum { MANY = 1500000 };
	struct sz_client client = {.load = &closed, .asked_ns = 1, .first_byte_ns = 2};
	for (uint64_t i = 0; i < MANY; i++)
		sz_tally_outcome(&result, &client, SZ_OUTCOME_OK, 1001 + i % 1001);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], MANY);
	assert_int_equal(result.latency[SZ_OUTCOME_OK].count, MANY);
	assert_int_equal(result.ttfb.count, MANY);
	assert_true(fabs(sz_hist_mean_ns(&result.latency[SZ_OUTCOME_OK]) - 1500) < 1);
	assert_int_equal(result.latency[SZ_OUTCOME_OK].max_ns, 2000);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(sz_outcome_name(SZ_OUTCOME_OK), "ok");
	assert_string_equal(sz_outcome_name(SZ_OUTCOME_STALE), "stale");
	assert_string_equal(sz_phase_name(SZ_PHASE_CONNECT), "connect");
	for (int i = 0; i < SZ_OUTCOME_COUNT; i++)
		assert_non_null(sz_outcome_name((enum sz_outcome)i));
	for (int i = 0; i < SZ_PHASE_COUNT; i++)
		assert_non_null(sz_phase_name((enum sz_phase)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(errors_by_phase_and_errno, reset),
		cmocka_unit_test_setup(full_error_table_still_counts, reset),
		cmocka_unit_test_setup(outcomes_have_their_own_histograms, reset),
		cmocka_unit_test_setup(conservation, reset),
		cmocka_unit_test_setup(more_than_a_million, reset),
		cmocka_unit_test_setup(names, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
