/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
	{"file", SZ_OPT_FILE, .arg = "PATH", .help = "more options"},
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
	.operand_name = "command",
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

/* --- a file of options --- */

static const char options_path[] = "sizeup-opt-test.yaml";

static void write_options(const char *text)
{
	FILE *out = fopen(options_path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static int remove_options(void **state)
{
	(void)state;
	remove(options_path);
	return 0;
}

static void a_file_gives_what_the_command_line_can(void **state)
{
	(void)state;
	struct values values;
	sz_autoparsed struct sz_parsed parsed;
	write_options("json: true\nurl: /a b\nclients: 010\ntimeout: 1s\nworkers: [1..4, 3]\n"
		      "mode: paced\nenv: [A=1, B=2]\ncommand: [cmd, --json=x]\n");
	char **argv = ARGV(W("one"), W("--file"), W("sizeup-opt-test.yaml"));
	assert_int_equal(parse(argv, &values, &parsed, NULL), 0);
	assert_true(values.json);
	assert_string_equal(values.url, "/a b");
	assert_int_equal(values.clients, 10);
	assert_int_equal(values.timeout_ns, SZ_NS_PER_S);
	assert_int_equal(values.workers.count, 4);
	assert_int_equal(values.workers.value[2], 3);
	assert_int_equal(values.mode, 0);
	assert_int_equal(values.env.count, 2);
	assert_string_equal(values.env.item[1], "B=2");
	assert_string_equal(parsed.command[0], "cmd");
	assert_string_equal(parsed.command[1], "--json=x");
	assert_null(parsed.command[2]);
	assert_int_equal(parsed.operand_count, 1);
}

static void the_command_line_wins_wherever_the_file_stands(void **state)
{
	(void)state;
	struct values values;
	sz_autoparsed struct sz_parsed parsed;
	write_options("json: false\nclients: 7\nurl: /file\nworkers: 8\nenv: [A=1]\n"
		      "command: [mine]\n");
	char **argv = ARGV(W("--json"), W("--clients=9"), W("--workers"), W("1,2"), W("--env"),
			   W("A=2"), W("--file=sizeup-opt-test.yaml"), W("--"), W("cmd"));
	assert_int_equal(parse(argv, &values, &parsed, NULL), 0);
	assert_true(values.json);
	assert_int_equal(values.clients, 9);
	assert_string_equal(values.url, "/file");
	assert_int_equal(values.workers.count, 2);
	assert_int_equal(values.env.count, 2);
	assert_string_equal(values.env.item[0], "A=1");
	assert_string_equal(values.env.item[1], "A=2");
	assert_string_equal(parsed.command[0], "cmd");
}

static void an_operand_has_a_name_in_a_file(void **state)
{
	(void)state;
	const struct sz_command load = {
		.name = "load",
		.operand_max = 1,
		.operand_name = "page",
		.options = options,
		.option_count = SZ_ARRAY_LEN(options),
	};
	struct values values = {0};
	struct sz_parsed parsed;
	write_options("page: /of-the-file\n");
	char **argv = ARGV(W("--file"), W("sizeup-opt-test.yaml"), NULL, NULL);
	assert_int_equal(sz_opt_parse(&load, argv, &values, &parsed, NULL), 0);
	assert_int_equal(parsed.operand_count, 1);
	assert_string_equal(parsed.operand[0], "/of-the-file");
	sz_parsed_fini(&parsed);

	argv[2] = W("/typed");
	assert_int_equal(sz_opt_parse(&load, argv, &values, &parsed, NULL), 0);
	assert_int_equal(parsed.operand_count, 1);
	assert_string_equal(parsed.operand[0], "/typed");
	sz_parsed_fini(&parsed);
}

static void bad_files_say_why(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message, *hint;
	} bad[] = {
		{"url: /\nclints: 5\n", ":2:1: unknown option 'clints'", "did you mean clients?"},
		{"commands: [a]\n", ":1:1: unknown option 'commands'", "did you mean command?"},
		{"<<: 5\n", ":1:1: unknown option '<<'", "see sizeup try --help"},
		{"--env: [A=1]\n", ":1:1: unknown option '--env'", "did you mean env?"},
		{"clients: 0\n", ":1:10: --clients: 0 is out of range", "from 1 to 1000"},
		{"clients: 1e3\n", ":1:10: --clients: '1e3' is not a whole number", "50"},
		{"clients: 0x10\n", ":1:10: --clients: '0x10' is not a whole number", "50"},
		{"clients: [1]\n", ":1:10: clients takes one value", "clients: VALUE"},
		{"timeout: 1:30\n", ":1:10: --timeout: '1:30' is not a duration", "250ms"},
		{"workers: [1, x]\n", ":1:10: --workers: '1,x' is not a list", "1,2,4"},
		{"mode: gently\n", ":1:7: --mode: 'gently' is not known", "paced or burst"},
		{"env: A=1\n", ":1:6: env takes a list", "env: [FIRST, SECOND]"},
		{"command: ls\n", ":1:10: command takes a list", "command: [FIRST, SECOND]"},
		{"json: yes\n", ":1:7: --json: 'yes' is neither true nor false", "json: true"},
		{"json: True\n", ":1:7: --json: 'True' is neither true nor false", "json: true"},
		{"json: 'true'\n", ":1:7: json takes true or false", "without quotes"},
		{"json: [true]\n", ":1:7: json takes one value", "json: VALUE"},
		{"file: b.yaml\n", ":1:7: a file of options names no other", "one file"},
		{"help: true\n", ":1:1: unknown option 'help'", "--help"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct values values;
		sz_autoparsed struct sz_parsed parsed;
		struct sz_err err = {0};
		write_options(bad[i].text);
		char **argv = ARGV(W("--file"), W("sizeup-opt-test.yaml"));
		if (parse(argv, &values, &parsed, &err) == 0 ||
		    !strstr(err.message, bad[i].message) || !strstr(err.hint, bad[i].hint))
			fail_msg("'%s': %s; %s", bad[i].text, err.message, err.hint);
		assert_int_equal(err.code, SZ_USAGE);
		assert_memory_equal(err.message, options_path, sizeof(options_path) - 1);
	}
}

static void only_one_file_is_read(void **state)
{
	(void)state;
	struct values values;
	sz_autoparsed struct sz_parsed parsed;
	struct sz_err err = {0};
	assert_int_equal(parse(ARGV(W("--file=a"), W("--file=b")), &values, &parsed, &err), -1);
	assert_non_null(strstr(err.message, "more than one file"));
	/* What only looks like the option. */
	char **argv = ARGV(W("--url"), W("--file"), W("--"), W("--file"), W("b"));
	assert_int_equal(parse(argv, &values, &parsed, &err), 0);
	assert_string_equal(values.url, "--file");
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
		cmocka_unit_test_teardown(a_file_gives_what_the_command_line_can, remove_options),
		cmocka_unit_test_teardown(the_command_line_wins_wherever_the_file_stands,
					  remove_options),
		cmocka_unit_test_teardown(an_operand_has_a_name_in_a_file, remove_options),
		cmocka_unit_test_teardown(bad_files_say_why, remove_options),
		cmocka_unit_test(only_one_file_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
