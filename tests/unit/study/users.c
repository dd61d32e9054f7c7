/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/users.h"

/* Settings 1, 2, 4 under bursts of 14; 4 is recommended, 1 the smallest. */
static void start(struct sz_sweep *sweep, struct sz_sweep_config *config)
{
	sz_sweep_init(sweep);
	for (unsigned workers = 1; workers <= 4; workers *= 2)
		sz_sweep_add_setting(sweep, workers);
	*config = (struct sz_sweep_config){.burst = 14, .users = {{1, 2, 4}, 3}};
	sweep->burst = 14;
	sweep->users = 4;
	sweep->users_least = 1;
	sweep->clients = 56;
	sweep->advice.recommended = true;
	sweep->advice.setting = 2;
	sweep->advice.users.smallest = 0;
}

static void make(struct sz_sweep *sweep, const struct sz_visit_plan *plan, enum sz_purpose purpose)
{
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	assert_non_null(visit);
	visit->setting = plan->setting;
	visit->purpose = purpose;
	visit->clients = plan->users * sweep->burst;
}

static void each_number_at_both_settings(void **state)
{
	(void)state;
	static const struct {
		unsigned users;
		size_t setting;
	} wanted[] = {{2, 0}, {2, 2}, {1, 0}, {1, 2}};
	struct sz_sweep sweep;
	struct sz_sweep_config config;
	struct sz_visit_plan plan;
	start(&sweep, &config);
	for (size_t i = 0; i < 4; i++) {
		assert_true(sz_plan_fewer_users(&config, &sweep, &plan));
		assert_int_equal(plan.users, wanted[i].users);
		assert_int_equal(plan.setting, wanted[i].setting);
		assert_int_equal(plan.purpose, SZ_FOR_USERS);
		make(&sweep, &plan, SZ_FOR_USERS);
	}
	assert_false(sz_plan_fewer_users(&config, &sweep, &plan));
	sz_sweep_fini(&sweep);
}

/* A resumed run holds some already, in whatever order. */
static void what_was_made_is_left_out(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	struct sz_sweep_config config;
	struct sz_visit_plan plan;
	start(&sweep, &config);
	make(&sweep, &(struct sz_visit_plan){.setting = 0, .users = 2}, SZ_FOR_USERS);
	make(&sweep, &(struct sz_visit_plan){.setting = 2, .users = 1}, SZ_FOR_USERS);
	/* As many clients, for another purpose: that is no such visit. */
	make(&sweep, &(struct sz_visit_plan){.setting = 2, .users = 2}, SZ_FOR_TWICE);
	assert_true(sz_plan_fewer_users(&config, &sweep, &plan));
	assert_true(plan.users == 2 && plan.setting == 2);
	make(&sweep, &plan, SZ_FOR_USERS);
	assert_true(sz_plan_fewer_users(&config, &sweep, &plan));
	assert_true(plan.users == 1 && plan.setting == 0);
	sz_sweep_fini(&sweep);
}

static void nothing_to_compare(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	struct sz_sweep_config config;
	struct sz_visit_plan plan;
	start(&sweep, &config);
	config.users = (struct sz_settings){{4}, 1};
	assert_false(sz_plan_fewer_users(&config, &sweep, &plan));
	start(&sweep, &config);
	sweep.advice.setting = 0;
	assert_false(sz_plan_fewer_users(&config, &sweep, &plan));
	start(&sweep, &config);
	sweep.advice.recommended = false;
	assert_false(sz_plan_fewer_users(&config, &sweep, &plan));
	start(&sweep, &config);
	config.burst = 0;
	assert_false(sz_plan_fewer_users(&config, &sweep, &plan));
	sz_sweep_fini(&sweep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_at_both_settings),
		cmocka_unit_test(what_was_made_is_left_out),
		cmocka_unit_test(nothing_to_compare),
	};
	return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
