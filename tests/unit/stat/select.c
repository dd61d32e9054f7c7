/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "data.h"
#include "stat/select.h"

#define OBSERVATIONS_MAX 80

static const struct sz_select_rule five_percent = {.delta = 0.05, .confidence = 0.95};

static enum sz_verdict verdict_of(const char *name)
{
	static const char *const names[] = {
		[SZ_UNDECIDED] = "undecided",
		[SZ_ACCEPTED] = "accepted",
		[SZ_INFERIOR] = "inferior",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum sz_verdict)i;
	}
	fail_msg("unknown verdict %s", name);
	return SZ_INFEASIBLE;
}

static enum sz_grade grade_of(const char *name)
{
	static const char *const names[] = {
		[SZ_GRADE_WEAK] = "weak",
		[SZ_GRADE_NOT_WORSE_SHOWN] = "not-worse-shown",
		[SZ_GRADE_DECIDED] = "decided",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum sz_grade)i;
	}
	fail_msg("unknown grade %s", name);
	return SZ_GRADE_WEAK;
}

static size_t read_observations(const json_t *set, struct sz_observation *observations)
{
	const json_t *list = json_object_get(set, "obs"), *item;
	size_t i;
	assert_true(json_array_size(list) <= OBSERVATIONS_MAX);
	json_array_foreach(list, i, item)
	{
		observations[i] = (struct sz_observation){
			.block = (unsigned)json_integer_value(json_array_get(item, 0)),
			.setting = (unsigned)json_integer_value(json_array_get(item, 1)),
			.value = json_number_value(json_array_get(item, 2)),
		};
	}
	return json_array_size(list);
}

static void compare_candidate(const struct sz_candidate *candidate, const json_t *expected)
{
	assert_int_equal(candidate->setting, (unsigned)data_number(expected, "N"));
	assert_near(candidate->mean_log, data_number(expected, "mean_log"), 1e-9);
	assert_near(candidate->ratio_to_best, data_number(expected, "ratio_to_best"), 1e-9);
	assert_near(candidate->ratio_low, data_number(expected, "lower_ratio_vs_best_other"), 1e-7);
	assert_near(candidate->ratio_high, data_number(expected, "upper_ratio_vs_best_other"),
		    1e-7);
	assert_int_equal(candidate->verdict, verdict_of(data_text(expected, "verdict")));
}

static void compare_selection(const struct sz_selection *selection, const json_t *set)
{
	const json_t *per = json_object_get(set, "per"), *expected;
	size_t i;
	assert_int_equal(selection->count, json_array_size(per));
	assert_int_equal(selection->df, (size_t)data_number(set, "df"));
	assert_near(selection->residual_sd, data_number(set, "residual_sd"), 1e-12);
	assert_near(selection->dunnett_d, data_number(set, "dunnett_d"), 1e-7);
	json_array_foreach(per, i, expected) compare_candidate(&selection->candidate[i], expected);
	assert_int_equal(selection->candidate[selection->selected].setting,
			 (unsigned)data_number(set, "selected"));
	assert_int_equal(selection->grade, grade_of(data_text(set, "grade")));
	assert_int_equal(selection->range_limited,
			 json_is_true(json_object_get(set, "range_limited")));
}

static void vectors(void **state)
{
	(void)state;
	json_t *root = data_json("selection.json"), *sets = json_object_get(root, "sets"), *set;
	const char *name;
	assert_int_equal(json_object_size(sets), 7);
	json_object_foreach(sets, name, set)
	{
		struct sz_observation observations[OBSERVATIONS_MAX];
		size_t count = read_observations(set, observations);
		struct sz_select_rule rule = {
			.delta = data_number(set, "delta"),
			.confidence = data_number(set, "confidence"),
		};
		struct sz_selection selection;
		assert_int_equal(sz_select(observations, count, &rule, &selection, NULL), 0);
		compare_selection(&selection, set);
	}
	json_decref(root);
}

/* The gate of these windows stands for the one of a real sweep: two cores, no
 * column for the client. */
static size_t undisturbed(const json_t *windows, const char *mode,
			  struct sz_observation *observations)
{
	size_t i, count = 0;
	const json_t *window;
	json_array_foreach(windows, i, window)
	{
		double foreign_cores =
			2 * (1 - data_number(window, "idle")) - data_number(window, "cpu_cores");
		if (strcmp(data_text(window, "mode"), mode) != 0 || foreign_cores > 0.10)
			continue;
		assert_true(count < OBSERVATIONS_MAX);
		observations[count++] = (struct sz_observation){
			.block = (unsigned)data_number(window, "block"),
			.setting = (unsigned)data_number(window, "n"),
			.value = data_number(window, "rps"),
		};
	}
	return count;
}

static void real_sweeps(void **state)
{
	(void)state;
	static const struct {
		const char *mode;
		size_t kept;
		unsigned selected;
		bool range_limited;
	} expected[] = {{"cpu", 10, 2, false}, {"lock", 8, 4, false}, {"sleep", 16, 32, true}};
	json_t *root = data_json("real_sweep_2core.json");
	for (size_t i = 0; i < SZ_ARRAY_LEN(expected); i++) {
		struct sz_observation observations[OBSERVATIONS_MAX];
		struct sz_selection selection;
		size_t kept = undisturbed(json_object_get(root, "windows"), expected[i].mode,
					  observations);
		assert_int_equal(kept, expected[i].kept);
		assert_int_equal(sz_select(observations, kept, &five_percent, &selection, NULL), 0);
		assert_int_equal(selection.candidate[selection.selected].setting,
				 expected[i].selected);
		assert_int_equal(selection.range_limited, expected[i].range_limited);
		assert_int_equal(selection.grade, SZ_GRADE_DECIDED);
	}
	json_decref(root);
}

/* An incomplete design with a cell measured four times. */
static const struct sz_observation patchy[] = {
	{0, 1, 101}, {0, 2, 198}, {0, 4, 203}, {1, 2, 240}, {1, 4, 247}, {1, 4, 243}, {1, 4, 239},
	{1, 4, 251}, {2, 1, 88},  {2, 4, 177}, {2, 8, 171}, {3, 8, 205}, {3, 2, 207}, {4, 1, 95},
};

static void same_answer(const struct sz_selection *a, const struct sz_selection *b,
			double tolerance)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->df, b->df);
	assert_int_equal(a->selected, b->selected);
	assert_int_equal(a->grade, b->grade);
	assert_near(a->residual_sd, b->residual_sd, tolerance);
	for (size_t i = 0; i < a->count; i++) {
		const struct sz_candidate *left = &a->candidate[i], *right = &b->candidate[i];
		assert_int_equal(left->setting, right->setting);
		assert_int_equal(left->verdict, right->verdict);
		assert_near(left->mean_log, right->mean_log, tolerance);
		assert_near(left->ratio_low, right->ratio_low, tolerance);
		assert_near(left->ratio_high, right->ratio_high, tolerance);
	}
}

static void invariant(void **state)
{
	(void)state;
	const size_t count = SZ_ARRAY_LEN(patchy);
	static const double luck[] = {1, 1e6, 1e-6, 0.37, 42};
	static const unsigned other_block[] = {900, 3, 0xffffffff, 0, 17};
	struct sz_selection plain, changed;
	struct sz_observation turned[SZ_ARRAY_LEN(patchy)], scaled[SZ_ARRAY_LEN(patchy)],
		renamed[SZ_ARRAY_LEN(patchy)];
	for (size_t i = 0; i < count; i++) {
		scaled[i] = renamed[i] = patchy[i];
		scaled[i].value *= luck[patchy[i].block];
		renamed[i].block = other_block[patchy[i].block];
	}
	assert_int_equal(sz_select(patchy, count, &five_percent, &plain, NULL), 0);
	assert_int_equal(plain.df, 14 + 1 - 4 - 5);
	for (size_t by = 0; by < count; by++) {
		for (size_t i = 0; i < count; i++)
			turned[i] = patchy[(by + count - i) % count];
		assert_int_equal(sz_select(turned, count, &five_percent, &changed, NULL), 0);
		same_answer(&plain, &changed, 0);
	}
	assert_int_equal(sz_select(scaled, count, &five_percent, &changed, NULL), 0);
	same_answer(&plain, &changed, 1e-9);
	assert_int_equal(sz_select(renamed, count, &five_percent, &changed, NULL), 0);
	same_answer(&plain, &changed, 1e-12);
}

/* The estimates satisfy the normal equations: residuals sum to 0 over every
 * setting and every block. */
static void least_squares(void **state)
{
	(void)state;
	const size_t count = SZ_ARRAY_LEN(patchy);
	double block_sum[5] = {0}, block_size[5] = {0}, setting_sum[4] = {0}, squares = 0;
	double log_value[SZ_ARRAY_LEN(patchy)];
	struct sz_selection selection;
	assert_int_equal(sz_select(patchy, count, &five_percent, &selection, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (selection.candidate[k].setting != patchy[i].setting)
			k++;
		log_value[i] = log(patchy[i].value) - selection.candidate[k].mean_log;
		block_sum[patchy[i].block] += log_value[i];
		block_size[patchy[i].block]++;
	}
	for (size_t i = 0; i < count; i++) {
		double residual =
			log_value[i] - block_sum[patchy[i].block] / block_size[patchy[i].block];
		size_t k = 0;
		while (selection.candidate[k].setting != patchy[i].setting)
			k++;
		setting_sum[k] += residual;
		squares += residual * residual;
	}
	for (size_t k = 0; k < 4; k++)
		assert_near(setting_sum[k], 0, 1e-12);
	assert_near(selection.residual_sd, sqrt(squares / (double)selection.df), 1e-12);
}

static void without_repeats(void **state)
{
	(void)state;
	static const struct sz_observation once[] = {{0, 1, 100},
						     {0, 2, 197},
						     {0, 4, 200},
						     {0, 8, 199}};
	struct sz_selection selection;
	unsigned race[SZ_SETTINGS_MAX];
	assert_int_equal(sz_select(once, 4, &five_percent, &selection, NULL), 0);
	assert_int_equal(selection.df, 0);
	assert_true(isnan(selection.residual_sd) && isnan(selection.dunnett_d));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(selection.candidate[i].verdict, SZ_UNDECIDED);
		assert_true(isnan(selection.candidate[i].ratio_low));
		assert_true(isnan(selection.candidate[i].ratio_high));
	}
	/* 0.985 is not below 1 - 0.4 * 0.05. */
	assert_int_equal(selection.selected, 1);
	assert_int_equal(selection.best, 2);
	assert_int_equal(selection.grade, SZ_GRADE_WEAK);
	assert_int_equal(sz_select_race(&selection, race), 4);
}

/* The last doubling, not the last step, which may be a mid-point away. */
static void range_limit(void **state)
{
	(void)state;
	static const struct {
		struct sz_observation once[3];
		bool range_limited;
	} cases[] = {
		{{{0, 8, 100}, {0, 12, 104}, {0, 16, 108}}, true},
		{{{0, 4, 70}, {0, 8, 104}, {0, 16, 108}}, false},
		{{{0, 2, 50}, {0, 6, 100}, {0, 8, 103}}, true},
		{{{0, 8, 100}, {0, 16, 108}, {0, 32, 108}}, false},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_selection selection;
		assert_int_equal(sz_select(cases[i].once, 3, &five_percent, &selection, NULL), 0);
		assert_int_equal(selection.range_limited, cases[i].range_limited);
		assert_int_equal(selection.selected, i == 3 ? 1 : 2);
	}
}

static void one_setting(void **state)
{
	(void)state;
	static const struct sz_observation alone[] = {{0, 4, 100}, {0, 4, 102}};
	struct sz_selection selection;
	unsigned list[SZ_SETTINGS_MAX];
	assert_int_equal(sz_select(alone, 2, &five_percent, &selection, NULL), 0);
	assert_int_equal(selection.df, 1);
	assert_near(selection.residual_sd, log(1.02) * M_SQRT1_2, 1e-12);
	assert_int_equal(selection.candidate[0].verdict, SZ_UNDECIDED);
	assert_int_equal(selection.grade, SZ_GRADE_WEAK);
	assert_false(selection.range_limited);
	assert_int_equal(sz_select_race(&selection, list), 0);
	assert_int_equal(sz_select_untested(&selection, list), 1);
	assert_int_equal(list[0], 2);
}

/* Repeats that agree to the last digit: no variance, and nothing to divide by. */
static void no_noise(void **state)
{
	(void)state;
	static const struct sz_observation exact[] = {{0, 1, 100}, {0, 2, 190}, {0, 3, 200},
						      {1, 1, 100}, {1, 2, 190}, {1, 3, 200}};
	struct sz_selection selection;
	assert_int_equal(sz_select(exact, 6, &five_percent, &selection, NULL), 0);
	assert_near(selection.residual_sd, 0, 1e-14);
	assert_near(selection.candidate[1].ratio_low, 0.95, 1e-12);
	assert_int_equal(selection.candidate[0].verdict, SZ_INFERIOR);
	assert_int_equal(selection.candidate[2].verdict, SZ_ACCEPTED);
}

static void as_many_as_fit(void **state)
{
	(void)state;
	struct sz_observation many[3 * (SZ_SETTINGS_MAX + 1)];
	struct sz_selection selection;
	struct sz_err err = {0};
	size_t count = 0;
	for (unsigned n = SZ_SETTINGS_MAX; n >= 1; n--) {
		double mean = n < 20 ? n * 100 : 2000;
		for (unsigned block = 0; block < 3; block++)
			many[count++] = (struct sz_observation){block, n, mean + (n + block) % 3};
	}
	assert_int_equal(sz_select(many, count, &five_percent, &selection, NULL), 0);
	assert_int_equal(selection.count, SZ_SETTINGS_MAX);
	assert_int_equal(selection.candidate[selection.selected].setting, 20);
	many[count++] = (struct sz_observation){0, SZ_SETTINGS_MAX + 1, 1};
	assert_int_equal(sz_select(many, count, &five_percent, &selection, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_int_equal(selection.count, SZ_SETTINGS_MAX);
}

static void refusals(void **state)
{
	(void)state;
	static const struct sz_observation apart[] = {{0, 1, 1},
						      {0, 2, 2},
						      {1, 4, 3},
						      {1, 8, 4},
						      {2, 2, 5}};
	static const struct sz_observation zero[] = {{0, 1, 1}, {0, 2, 0}};
	static const struct sz_observation infinite[] = {{0, 1, HUGE_VAL}};
	static const struct sz_observation unknown[] = {{0, 1, 1}, {0, 3, NAN}};
	static const struct sz_select_rule no_delta = {.delta = 0, .confidence = 0.95};
	static const struct sz_select_rule certain = {.delta = 0.05, .confidence = 1};
	static const struct sz_select_rule no_number = {.delta = NAN, .confidence = 0.95};
	static const struct {
		const struct sz_observation *observations;
		size_t count;
		const struct sz_select_rule *rule;
		enum sz_code code;
		const char *says;
	} cases[] = {
		{apart, 5, &five_percent, SZ_UNTRUSTED, "settings 1 and 4"},
		{zero, 2, &five_percent, SZ_UNTRUSTED, "setting 2"},
		{infinite, 1, &five_percent, SZ_UNTRUSTED, "setting 1"},
		{unknown, 2, &five_percent, SZ_UNTRUSTED, "setting 3"},
		{apart, 0, &five_percent, SZ_UNTRUSTED, "no undisturbed window"},
		{apart, 2, &no_delta, SZ_USAGE, "loss of 0"},
		{apart, 2, &certain, SZ_USAGE, "confidence of 1"},
		{apart, 2, &no_number, SZ_USAGE, "loss of nan"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_selection selection = {.count = 77};
		struct sz_err err = {0};
		assert_int_equal(sz_select(cases[i].observations, cases[i].count, cases[i].rule,
					   &selection, &err),
				 -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.message, cases[i].says));
		assert_true(err.hint[0] != '\0');
		assert_int_equal(selection.count, 77);
	}
	/* A chain of shared blocks is enough. */
	static const struct sz_observation chain[] = {{0, 1, 1}, {0, 2, 2}, {1, 2, 5},
						      {1, 4, 9}, {2, 4, 9}, {2, 8, 9}};
	struct sz_selection selection;
	assert_int_equal(sz_select(chain, 6, &five_percent, &selection, NULL), 0);
	assert_near(selection.candidate[0].ratio_to_best, 1 / (2 * 1.8), 1e-12);
}

static void untested(void **state)
{
	(void)state;
	static const struct {
		struct sz_selection selection;
		size_t count;
		unsigned expected[SZ_UNTESTED_MAX];
	} cases[] = {
		/* Inferior left neighbour. */
		{{.candidate = {{.setting = 2, .mean_log = -0.5, .verdict = SZ_INFERIOR},
				{.setting = 8, .verdict = SZ_ACCEPTED}},
		  .count = 2,
		  .best = 1,
		  .selected = 1},
		 1,
		 {4}},
		/* The left neighbour is not excluded: more windows there come first. */
		{{.candidate = {{.setting = 2, .mean_log = -0.03}, {.setting = 8}},
		  .count = 2,
		  .best = 1,
		  .selected = 1},
		 0,
		 {0}},
		/* An inner best, and the same mid-point asked for twice. */
		{{.candidate = {{.setting = 1, .mean_log = -0.9, .verdict = SZ_INFERIOR},
				{.setting = 4, .verdict = SZ_ACCEPTED},
				{.setting = 16, .mean_log = -0.02}},
		  .count = 3,
		  .best = 1,
		  .selected = 1},
		 2,
		 {2, 8}},
		/* A plateau to the right of the best hides no peak. */
		{{.candidate = {{.setting = 3, .mean_log = -0.9, .verdict = SZ_INFERIOR},
				{.setting = 4, .verdict = SZ_ACCEPTED},
				{.setting = 16, .mean_log = -0.009}},
		  .count = 3,
		  .best = 1,
		  .selected = 1},
		 0,
		 {0}},
		/* Good from the first one on, with a best further up. */
		{{.candidate = {{.setting = 50, .mean_log = -0.01},
				{.setting = 52},
				{.setting = 54, .mean_log = -0.02}},
		  .count = 3,
		  .best = 1,
		  .selected = 0},
		 3,
		 {25, 51, 53}},
		{{.candidate = {{.setting = 1}}, .count = 1}, 0, {0}},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		unsigned list[SZ_UNTESTED_MAX];
		assert_int_equal(sz_select_untested(&cases[i].selection, list), cases[i].count);
		for (size_t k = 0; k < cases[i].count; k++)
			assert_int_equal(list[k], cases[i].expected[k]);
	}
}

static void races(void **state)
{
	(void)state;
	static const struct {
		struct sz_selection selection;
		size_t count;
		unsigned expected[4];
	} cases[] = {
		{{.candidate = {{.setting = 1, .verdict = SZ_ACCEPTED}, {.setting = 2}},
		  .count = 2,
		  .grade = SZ_GRADE_DECIDED},
		 0,
		 {0}},
		/* 6 is undecided, but larger than an accepted one; 16 and 8 are best. */
		{{.candidate = {{.setting = 1, .mean_log = -1, .verdict = SZ_INFERIOR},
				{.setting = 2, .mean_log = -0.06},
				{.setting = 4, .mean_log = -0.01, .verdict = SZ_ACCEPTED},
				{.setting = 6, .mean_log = -0.04},
				{.setting = 8, .mean_log = -0.005, .verdict = SZ_ACCEPTED},
				{.setting = 16, .verdict = SZ_ACCEPTED}},
		  .count = 6,
		  .best = 5,
		  .selected = 2,
		  .grade = SZ_GRADE_NOT_WORSE_SHOWN},
		 4,
		 {2, 4, 8, 16}},
		{{.candidate = {{.setting = 1, .mean_log = -1, .verdict = SZ_INFERIOR},
				{.setting = 2, .mean_log = -0.01},
				{.setting = 4},
				{.setting = 8, .mean_log = -0.04}},
		  .count = 4,
		  .best = 2,
		  .selected = 1,
		  .grade = SZ_GRADE_WEAK},
		 3,
		 {2, 4, 8}},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		unsigned list[SZ_SETTINGS_MAX];
		assert_int_equal(sz_select_race(&cases[i].selection, list), cases[i].count);
		for (size_t k = 0; k < cases[i].count; k++)
			assert_int_equal(list[k], cases[i].expected[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),         cmocka_unit_test(real_sweeps),
		cmocka_unit_test(invariant),       cmocka_unit_test(least_squares),
		cmocka_unit_test(without_repeats), cmocka_unit_test(one_setting),
		cmocka_unit_test(no_noise),        cmocka_unit_test(as_many_as_fit),
		cmocka_unit_test(refusals),        cmocka_unit_test(untested),
		cmocka_unit_test(races),           cmocka_unit_test(range_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
