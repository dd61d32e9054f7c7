/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/units.h"

struct values {
	bool json;
	const char *url;
	struct sz_texts env;
	uint64_t clients, depth, timeout_ns;
	struct sz_settings workers;
	int mode;
};

static const char *const modes[] = {"paced", "burst", NULL};

#define AT(member) SZ_OPT_AT(struct values, member)

static const struct sz_opt options[] = {
	{"json", SZ_OPT_FLAG, AT(json), .help = "one document"},
	{"url", SZ_OPT_TEXT, AT(url), .arg = "URL", .fallback = "/", .help = "what to request"},
	{"env", SZ_OPT_TEXTS, AT(env), .arg = "NAME=VALUE", .help = "environment"},
	{"clients", SZ_OPT_COUNT, AT(clients), .arg = "N", .min = 1, .max = 1000, .fallback = "50",
	 .help = "clients"},
	{"depth", SZ_OPT_COUNT, AT(depth), .arg = "N|all", .word = "all", .min = 1, .max = 9,
	 .fallback = "3", .help = "how deep"},
	{"timeout", SZ_OPT_DURATION, AT(timeout_ns), .arg = "TIME", .min = SZ_NS_PER_MS,
	 .max = SZ_NS_PER_S, .fallback = "250ms", .help = "time-out"},
	{"workers", SZ_OPT_SETTINGS, AT(workers), .arg = "LIST", .help = "counts"},
	{"mode", SZ_OPT_CHOICE, AT(mode), .choices = modes, .fallback = "burst", .help = "how"},
};

static const char *const examples[] = {"sizeup try --json", "exec sizeup-x; sizeup", NULL};

static const struct sz_command command = {
	.name = "try",
	.operands = "FILE -- CMD",
	.about = "Tries options.",
	.options = options,
	.option_count = SZ_ARRAY_LEN(options),
	.examples = examples,
	.operand_max = 2,
	.takes_command = true,
};

static int parse(char **argv, struct values *values, struct sz_parsed *parsed, struct sz_err *err)
{
	*values = (struct values){0};
	return sz_opt_parse(&command, argv, values, parsed, err);
}

#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})
#define W(text) ((char[]){text})

static void defaults_come_from_the_table(void **state)
{
	(void)state;
	struct values values;
	struct sz_parsed parsed;
	char *none[] = {NULL};
	assert_int_equal(parse(none, &values, &parsed, NULL), 0);
	assert_string_equal(values.url, "/");
	assert_int_equal(values.clients, 50);
	assert_int_equal(values.timeout_ns, 250 * SZ_NS_PER_MS);
	assert_int_equal(values.mode, 1);
	assert_int_equal(values.workers.count, 0);
	assert_false(values.json);
	assert_null(parsed.command);
}

static void everything_at_once(void **state)
{
	(void)state;
	struct values values;
	struct sz_parsed parsed;
	char **argv = ARGV(W("one"), W("--clients=7"), W("--json"), W("two"), W("--env"), W("A=1"),
			   W("--env=B=2"), W("--workers"), W("1..4"), W("--mode"), W("paced"),
			   W("--"), W("cmd"), W("--json=x"));
	assert_int_equal(parse(argv, &values, &parsed, NULL), 0);
	assert_int_equal(values.clients, 7);
	assert_true(values.json);
	assert_int_equal(values.env.count, 2);
	assert_string_equal(values.env.item[1], "B=2");
	assert_null(values.env.item[2]);
	assert_int_equal(values.workers.count, 3);
	assert_int_equal(values.mode, 0);
	assert_int_equal(parsed.operand_count, 2);
	assert_string_equal(parsed.operand[0], "one");
	assert_string_equal(parsed.operand[1], "two");
	assert_string_equal(parsed.command[0], "cmd");
	assert_string_equal(parsed.command[1], "--json=x");
}

static void a_word_stands_for_zero(void **state)
{
	(void)state;
	struct values values;
	struct sz_parsed parsed;
	struct sz_err err = {0};
	assert_int_equal(parse(ARGV(W("--depth"), W("all")), &values, &parsed, NULL), 0);
	assert_int_equal(values.depth, 0);
	assert_int_equal(parse(ARGV(W("--depth"), W("9")), &values, &parsed, NULL), 0);
	assert_int_equal(values.depth, 9);
	assert_int_equal(parse(ARGV(W("--depth"), W("al")), &values, &parsed, &err), -1);
	assert_string_equal(err.hint, "use a number from 1 to 9, or all");
	/* Without its word 0 is what it is. */
	assert_int_equal(parse(ARGV(W("--depth"), W("0")), &values, &parsed, &err), -1);
	assert_string_equal(err.hint, "use a number from 1 to 9, or all");
	assert_int_equal(parse(ARGV(W("--clients"), W("all")), &values, &parsed, &err), -1);
}

static void bad_options_say_why(void **state)
{
	(void)state;
	static const struct {
		const char *word, *value, *message;
	} bad[] = {
		{"--clints", "5", "unknown option --clints"},
		{"-c", "5", "unknown option -c"},
		{"--clients", "0", "--clients: 0 is out of range"},
		{"--clients", "1001", "--clients: 1001 is out of range"},
		{"--clients", "-1", "--clients: '-1' is not a whole number"},
		{"--clients", NULL, "--clients needs a value"},
		{"--timeout", "2s", "--timeout: 2s is out of range"},
		{"--timeout", "soon", "--timeout: 'soon' is not a duration"},
		{"--workers", "5..1", "--workers: '5..1' is not a list of settings"},
		{"--mode", "gently", "--mode: 'gently' is not known"},
		{"--json=1", NULL, "--json takes no value"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct values values;
		struct sz_parsed parsed;
		struct sz_err err = {0};
		char word[32] = "", value[32] = "";
		strncpy(word, bad[i].word, sizeof(word) - 1);
		strncpy(value, bad[i].value ? bad[i].value : "", sizeof(value) - 1);
		char *argv[] = {word, bad[i].value ? value : NULL, NULL};
		assert_int_equal(parse(argv, &values, &parsed, &err), -1);
		assert_int_equal(err.code, SZ_USAGE);
		assert_non_null(strstr(err.message, bad[i].message));
	}
}

static void too_many_operands_hint_at_dashes(void **state)
{
	(void)state;
	struct values values;
	struct sz_parsed parsed;
	struct sz_err err = {0};
	assert_int_equal(parse(ARGV(W("a"), W("b"), W("c")), &values, &parsed, &err), -1);
	assert_non_null(strstr(err.hint, "put -- before the command"));
}

static void help_comes_first_but_not_from_the_command(void **state)
{
	(void)state;
	struct values values;
	struct sz_parsed parsed;
	assert_int_equal(parse(ARGV(W("--bogus"), W("--help")), &values, &parsed, NULL), 0);
	assert_true(parsed.help);
	assert_int_equal(parse(ARGV(W("--"), W("x"), W("--help")), &values, &parsed, NULL), 0);
	assert_false(parsed.help);

	sz_autobuf struct sz_buf help = {0};
	sz_opt_help(&command, "./here/sizeup", &help);
	assert_non_null(strstr(help.data, "Usage: sizeup try [options] FILE -- CMD"));
	for (size_t i = 0; i < SZ_ARRAY_LEN(options); i++) {
		assert_non_null(strstr(help.data, options[i].name));
		assert_non_null(strstr(help.data, options[i].help));
	}
	assert_non_null(strstr(help.data, "[250ms]"));
	assert_non_null(strstr(help.data, "  ./here/sizeup try --json\n"));
	assert_non_null(strstr(help.data, "  exec sizeup-x; ./here/sizeup\n"));
}

static const char *name_at(const void *list, size_t i)
{
	return ((const char *const *)list)[i];
}

static void nearest_names(void **state)
{
	(void)state;
	static const char *const names[] = {"sweep", "serve", "load", NULL};
	assert_string_equal(sz_nearest("swep", name_at, names), "sweep");
	assert_string_equal(sz_nearest("serv", name_at, names), "serve");
	assert_null(sz_nearest("reproduce", name_at, names));
	assert_null(sz_nearest("", name_at, (const char *const[]){"sweep", NULL}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_come_from_the_table),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(a_word_stands_for_zero),
		cmocka_unit_test(bad_options_say_why),
		cmocka_unit_test(too_many_operands_hint_at_dashes),
		cmocka_unit_test(help_comes_first_but_not_from_the_command),
		cmocka_unit_test(nearest_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
