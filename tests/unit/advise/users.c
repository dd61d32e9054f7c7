/* SPDX-License-Identifier: Apache-2.0
 *
 * From how many users on more workers pay.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "advise/advise.h"
#include "base/mem.h"

enum { CALLS = 14, MOST = 8 };

static void add(struct sz_sweep *sweep, unsigned workers, enum sz_purpose purpose, unsigned block,
		unsigned users, double slowest_ms)
{
	size_t setting = sz_sweep_add_setting(sweep, workers);
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	assert_non_null(visit);
	struct sz_window *window = &visit->window;
	visit->setting = setting;
	visit->purpose = purpose;
	visit->block = block;
	visit->clients = users * CALLS;
	window->rounds = 20;
	window->sent = window->ok = 20 * CALLS * users;
	window->burst_ttfb_ms = slowest_ms;
	window->score = 1e3 / slowest_ms;
	window->throughput_rps = 100;
	window->workers = workers;
	window->workers_known = true;
	window->share = calloc(workers, sizeof(*window->share));
}

/* 1, 2 and 4 workers with the most users, three times each; 4 are the answer. */
static void start(struct sz_sweep *sweep)
{
	sz_sweep_init(sweep);
	sweep->machine.cores_allowed = 4;
	sweep->burst = CALLS;
	sweep->users = MOST;
	sweep->users_least = 1;
	sweep->clients = CALLS * MOST;
	sweep->alone_latency_ms = 20;
	for (unsigned block = 0; block < 3; block++) {
		double noise = 1 + 0.01 * block;
		enum sz_purpose purpose = block ? SZ_FOR_RACE : SZ_FOR_ASCENT;
		add(sweep, 1, purpose, block, MOST, 1600 * noise);
		add(sweep, 2, purpose, block, MOST, 800 * noise);
		add(sweep, 4, purpose, block, MOST, 400 * noise);
	}
}

static void fewer(struct sz_sweep *sweep, unsigned users, double one_ms, double four_ms)
{
	add(sweep, 1, SZ_FOR_USERS, 3, users, one_ms);
	add(sweep, 4, SZ_FOR_USERS, 3, users, four_ms);
}

static const struct sz_users_advice *advise(struct sz_sweep *sweep, unsigned wanted)
{
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
	assert_true(sweep->advice.recommended);
	assert_int_equal(sweep->setting[sweep->advice.setting].workers, wanted);
	return &sweep->advice.users;
}

static void they_pay_from_there_on(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	start(&sweep);
	fewer(&sweep, 4, 800, 210);
	fewer(&sweep, 2, 400, 339); /* 15.25 % sooner */
	fewer(&sweep, 1, 200, 171); /* 14.5 % */
	const struct sz_users_advice *users = advise(&sweep, 4);
	assert_int_equal(users->from, 2);
	assert_int_equal(sweep.setting[users->smallest].workers, 1);
	assert_non_null(strstr(users->text, "from 2 users on 4 workers pay"));
	assert_null(strstr(users->text, "fewer"));
	assert_int_equal(users->count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(users->row[i].users, 1u << i);
	assert_true(users->row[1].smallest_ms == 400 && users->row[1].recommended_ms == 339);
	/* The most users are those of the comparison itself: medians of three. */
	assert_true(fabs(users->row[3].smallest_ms - 1616) < 1e-6);
	assert_true(fabs(users->row[3].recommended_ms - 404) < 1e-6);
	/* They are no part of the comparison. */
	assert_int_equal(sweep.setting[0].windows, 3);
	sz_sweep_fini(&sweep);
}

/* Faster for one user, not for two: that is luck, or something else. */
static void it_must_stay_so(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	start(&sweep);
	fewer(&sweep, 4, 800, 210);
	fewer(&sweep, 2, 400, 390);
	fewer(&sweep, 1, 200, 100);
	assert_int_equal(advise(&sweep, 4)->from, 4);
	sz_sweep_fini(&sweep);
}

static void disturbed_is_not_known(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	start(&sweep);
	fewer(&sweep, 4, 800, 210);
	fewer(&sweep, 2, 400, 100);
	fewer(&sweep, 1, 200, 50);
	sweep.visits[sweep.visit_count - 3].window.disturbed = 1u << SZ_DISTURBED_FOREIGN_CPU;
	const struct sz_users_advice *users = advise(&sweep, 4);
	assert_int_equal(users->from, 4);
	assert_true(isnan(users->row[1].recommended_ms) && users->row[1].smallest_ms == 400);
	assert_non_null(strstr(users->text, "could not be compared"));
	sz_sweep_fini(&sweep);
}

/* The budget was spent before anything, or in between. */
static void what_was_not_tried_is_open(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	start(&sweep);
	const struct sz_users_advice *users = advise(&sweep, 4);
	assert_int_equal(users->from, MOST);
	assert_int_equal(users->count, 1);
	assert_non_null(strstr(users->text, "fewer were not tried"));
	add(&sweep, 1, SZ_FOR_USERS, 3, 4, 800);
	users = advise(&sweep, 4);
	assert_int_equal(users->from, MOST);
	assert_non_null(strstr(users->text, "could not be compared"));
	sz_sweep_fini(&sweep);
}

/* At least 2 were asked for, though 1 carries it as well. */
static void never(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	sz_sweep_init(&sweep);
	sweep.machine.cores_allowed = 4;
	sweep.burst = sweep.clients = CALLS;
	sweep.users = MOST;
	sweep.users_least = 1;
	sweep.alone_latency_ms = 20;
	for (unsigned block = 0; block < 3; block++) {
		add(&sweep, 1, block ? SZ_FOR_RACE : SZ_FOR_ASCENT, block, MOST, 400 + block);
		add(&sweep, 2, block ? SZ_FOR_RACE : SZ_FOR_ASCENT, block, MOST, 390 + block);
	}
	assert_non_null(strstr(advise(&sweep, 1)->text, "more than 1 do not pay at 8 users"));
	assert_int_equal(sweep.advice.users.count, 0);
	sweep.least = 2;
	add(&sweep, 1, SZ_FOR_USERS, 3, 1, 50);
	add(&sweep, 2, SZ_FOR_USERS, 3, 1, 30);
	const struct sz_users_advice *users = advise(&sweep, 2);
	assert_int_equal(users->from, 0);
	assert_non_null(
		strstr(users->text, "2 workers do not pay at 8 users, the most that were asked"));
	sz_sweep_fini(&sweep);
}

static void one_number_is_no_question(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	start(&sweep);
	sweep.users_least = MOST;
	assert_string_equal(advise(&sweep, 4)->text, "");
	assert_int_equal(sweep.advice.users.count, 0);
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_pay_from_there_on),
		cmocka_unit_test(it_must_stay_so),
		cmocka_unit_test(disturbed_is_not_known),
		cmocka_unit_test(what_was_not_tried_is_open),
		cmocka_unit_test(never),
		cmocka_unit_test(one_number_is_no_question),
	};
	return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
