/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/units.h"

/* One row per type: how a text becomes the value at `at`. */
typedef int store_fn(const struct sz_opt *opt, char *text, void *at, struct sz_err *err);

static int store_flag(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	bool is_true = strcmp(text, "true") == 0;
	if (!is_true && strcmp(text, "false") != 0) {
		sz_err_set(err, SZ_USAGE, 0, "'%.60s' is neither true nor false", text);
		return sz_err_hint(err, "write %s: true, or leave it out", opt->name);
	}
	*(bool *)at = is_true;
	return 0;
}

static int store_text(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	(void)opt;
	(void)err;
	*(const char **)at = text;
	return 0;
}

static int store_texts(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	struct sz_texts *texts = at;
	if (texts->count == SZ_TEXTS_MAX)
		return sz_err_set(err, SZ_USAGE, 0, "given more than %d times", SZ_TEXTS_MAX);
	(void)opt;
	texts->item[texts->count++] = text;
	return 0;
}

static int count_hint(const struct sz_opt *opt, struct sz_err *err)
{
	return sz_err_hint(err, "use a number from %llu to %llu%s%s", (unsigned long long)opt->min,
			   (unsigned long long)opt->max, opt->word ? ", or " : "",
			   opt->word ? opt->word : "");
}

static int store_count(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	uint64_t value;
	if (opt->word && strcmp(text, opt->word) == 0) {
		*(uint64_t *)at = 0;
		return 0;
	}
	if (sz_parse_count(text, &value, err) < 0)
		return opt->word ? count_hint(opt, err) : -1;
	if (value < opt->min || value > opt->max) {
		sz_err_set(err, SZ_USAGE, 0, "%s is out of range", text);
		return count_hint(opt, err);
	}
	*(uint64_t *)at = value;
	return 0;
}

static int store_duration(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	uint64_t ns;
	if (sz_parse_duration_ns(text, &ns, err) < 0)
		return -1;
	if (ns < opt->min || ns > opt->max) {
		char least[SZ_UNIT_TEXT], most[SZ_UNIT_TEXT];
		sz_err_set(err, SZ_USAGE, 0, "%s is out of range", text);
		return sz_err_hint(err, "use a time from %s to %s",
				   sz_format_duration(least, (double)opt->min),
				   sz_format_duration(most, (double)opt->max));
	}
	*(uint64_t *)at = ns;
	return 0;
}

static int store_settings(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	(void)opt;
	return sz_parse_settings(text, at, err);
}

static int store_choice(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	for (int i = 0; opt->choices[i]; i++) {
		if (strcmp(text, opt->choices[i]) == 0) {
			*(int *)at = i;
			return 0;
		}
	}
	sz_autobuf struct sz_buf known = {0};
	for (size_t i = 0; opt->choices[i]; i++)
		sz_buf_printf(&known, "%s%s", i ? " or " : "", opt->choices[i]);
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is not known", text);
	return sz_err_hint(err, "use %s", sz_buf_text(&known));
}

/* It was read before all others. */
static int store_file(const struct sz_opt *opt, char *text, void *at, struct sz_err *err)
{
	(void)opt;
	(void)text;
	(void)at;
	(void)err;
	return 0;
}

static store_fn *const stores[SZ_OPT_TYPES] = {
	[SZ_OPT_FLAG] = store_flag,         [SZ_OPT_TEXT] = store_text,
	[SZ_OPT_TEXTS] = store_texts,       [SZ_OPT_COUNT] = store_count,
	[SZ_OPT_DURATION] = store_duration, [SZ_OPT_SETTINGS] = store_settings,
	[SZ_OPT_CHOICE] = store_choice,     [SZ_OPT_FILE] = store_file,
};

static int store(const struct sz_opt *opt, char *text, void *options, struct sz_err *err)
{
	if (stores[opt->type](opt, text, (char *)options + opt->offset, err) == 0)
		return 0;
	return sz_err_wrap(err, "--%s", opt->name);
}

/* --- finding names --- */

/* Edit distance, only as far as it matters here; long texts are never near. */
static size_t edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 32 };
	size_t len_a = strlen(a), len_b = strlen(b);
	if (len_a >= LONGEST || len_b >= LONGEST)
		return LONGEST;
	size_t row[LONGEST] = {0};
	for (size_t j = 0; j <= len_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[len_b];
}

const char *sz_nearest(const char *text, const char *(*at)(const void *list, size_t i),
		       const void *list)
{
	const char *nearest = NULL;
	size_t least = 3;
	const char *name = at(list, 0);
	for (size_t i = 1; name; name = at(list, i++)) {
		size_t distance = edit_distance(text, name);
		if (distance < least) {
			least = distance;
			nearest = name;
		}
	}
	return nearest;
}

const struct sz_opt *sz_opt_at(const struct sz_command *command, size_t i)
{
	if (i < command->option_count)
		return &command->options[i];
	i -= command->option_count;
	return i < command->shared_count ? &command->shared[i] : NULL;
}

static const char *option_name_at(const void *list, size_t i)
{
	const struct sz_opt *opt = sz_opt_at(list, i);
	return opt ? opt->name : NULL;
}

/* The option that `text` (after the dashes, up to '=') names. */
static const struct sz_opt *find(const struct sz_command *command, const char *text, size_t len)
{
	const struct sz_opt *opt;
	for (size_t i = 0; (opt = sz_opt_at(command, i)); i++) {
		if (strlen(opt->name) == len && memcmp(opt->name, text, len) == 0)
			return opt;
	}
	return NULL;
}

static int unknown_option(const struct sz_command *command, const char *arg, struct sz_err *err)
{
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	const char *nearest =
		strncmp(name, "--", 2) == 0 ? sz_nearest(name + 2, option_name_at, command) : NULL;
	sz_err_set(err, SZ_USAGE, 0, "unknown option %s", name);
	if (nearest)
		return sz_err_hint(err, "did you mean --%s?", nearest);
	return sz_err_hint(err, "see sizeup %s --help", command->name);
}

/* --- parsing --- */

static int set_defaults(const struct sz_command *command, void *options, struct sz_err *err)
{
	const struct sz_opt *opt;
	for (size_t i = 0; (opt = sz_opt_at(command, i)); i++) {
		/* Texts are only ever read; argv's type is what forces the cast. */
		if (opt->fallback && store(opt, (char *)(uintptr_t)opt->fallback, options, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static bool ends_options(const struct sz_command *command, const char *word)
{
	return command->takes_command && strcmp(word, "--") == 0;
}

/* "-n", alone. */
static const struct sz_opt *find_letter(const struct sz_command *command, const char *arg)
{
	const struct sz_opt *opt = NULL;
	for (size_t i = 0; arg[1] && !arg[2] && (opt = sz_opt_at(command, i)); i++) {
		if (opt->letter == arg[1])
			break;
	}
	return opt;
}

/* The option at argv[0] and its value; how many words it took, or -1. */
static int read_option(const struct sz_command *command, char **argv, const struct sz_opt **option,
		       char **value, struct sz_err *err)
{
	static char given[] = "true"; /* what a flag is by standing there */
	char *arg = argv[0];
	size_t len = strcspn(arg, "=");
	const struct sz_opt *opt = strncmp(arg, "--", 2) == 0 ? find(command, arg + 2, len - 2)
							      : find_letter(command, arg);
	if (!opt)
		return unknown_option(command, arg, err);

	bool has_value = arg[len];
	bool is_flag = opt->type == SZ_OPT_FLAG;
	if (is_flag && has_value)
		return sz_err_set(err, SZ_USAGE, 0, "--%s takes no value", opt->name);
	if (!is_flag && !has_value && !argv[1]) {
		sz_err_set(err, SZ_USAGE, 0, "--%s needs a value", opt->name);
		return sz_err_hint(err, "see sizeup %s --help", command->name);
	}
	*option = opt;
	*value = is_flag ? given : has_value ? arg + len + 1 : argv[1];
	return is_flag || has_value ? 1 : 2;
}

static int take_option(const struct sz_command *command, char **argv, void *options,
		       struct sz_err *err)
{
	const struct sz_opt *opt;
	char *value;
	int taken = read_option(command, argv, &opt, &value, err);
	return taken < 0 || store(opt, value, options, err) < 0 ? -1 : taken;
}

static bool wants_help(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++) {
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return true;
	}
	return false;
}

static int too_many_operands(const struct sz_command *command, const char *operand,
			     struct sz_err *err)
{
	char quote[SZ_URL_QUOTE];
	sz_err_set(err, SZ_USAGE, 0, "unexpected argument '%.80s'", sz_url_quote(operand, quote));
	if (command->takes_command)
		return sz_err_hint(err, "put -- before the command: sizeup %s [options] -- %s …",
				   command->name, quote);
	return sz_err_hint(err, "see sizeup %s --help", command->name);
}

static int take_words(const struct sz_command *command, char **argv, void *options,
		      struct sz_parsed *parsed, struct sz_err *err)
{
	char **operand = NULL;
	size_t operand_count = 0;
	while (*argv && !ends_options(command, *argv)) {
		if (is_option(*argv)) {
			int taken = take_option(command, argv, options, err);
			if (taken < 0)
				return -1;
			argv += taken;
			continue;
		}
		if (operand_count == command->operand_max)
			return too_many_operands(command, *argv, err);
		if (!operand)
			operand = argv;
		/* Keep operands together: they move down over options already read. */
		operand[operand_count++] = *argv++;
	}
	if (operand) {
		parsed->operand = operand;
		parsed->operand_count = operand_count;
	}
	if (*argv && argv[1])
		parsed->command = argv + 1;
	return 0;
}

/* --- a file of options --- */

static int second_file(const char *what, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "%s", what);
	return sz_err_hint(err, "put all options into one file");
}

/* The value of the option that names the file; NULL when it is not given. */
static int find_file(const struct sz_command *command, char **argv, const char **path,
		     struct sz_err *err)
{
	const char *found = NULL;
	while (*argv && !ends_options(command, *argv)) {
		const struct sz_opt *opt;
		char *value;
		int taken = 1;
		if (is_option(*argv)) {
			taken = read_option(command, argv, &opt, &value, err);
			if (taken < 0)
				return -1;
			if (opt->type == SZ_OPT_FILE && found)
				return second_file("there is more than one file of options", err);
			if (opt->type == SZ_OPT_FILE)
				found = value;
		}
		argv += taken;
	}
	*path = found;
	return 0;
}

static const char *file_name_at(const void *list, size_t i)
{
	const struct sz_command *command = list;
	size_t count = command->option_count + command->shared_count;
	return i == count ? command->operand_name : option_name_at(list, i);
}

static int unknown_name(const struct sz_command *command, const char *name, struct sz_err *err)
{
	const char *nearest = sz_nearest(name, file_name_at, command);
	sz_err_set(err, SZ_USAGE, 0, "unknown option '%.60s'", name);
	if (nearest)
		return sz_err_hint(err, "did you mean %s?", nearest);
	return sz_err_hint(err, "see sizeup %s --help; in a file, names have no dashes",
			   command->name);
}

static int check_shape(const struct sz_optfile_pair *pair, bool wants_list, struct sz_err *err)
{
	if (pair->is_list == wants_list)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%s takes %s", pair->name,
		   wants_list ? "a list" : "one value, not a list");
	return sz_err_hint(err, wants_list ? "write %s: [FIRST, SECOND]" : "write %s: VALUE",
			   pair->name);
}

/* A list of settings is what stands between commas on the command line. */
static int store_joined(const struct sz_opt *opt, const struct sz_optfile_pair *pair, void *options,
			struct sz_err *err)
{
	sz_autobuf struct sz_buf text = {0};
	for (size_t i = 0; i < pair->count; i++)
		sz_buf_printf(&text, "%s%s", i ? "," : "", pair->value[i]);
	return text.failed ? sz_err_nomem(err) : store(opt, text.data, options, err);
}

static int store_pair(const struct sz_opt *opt, const struct sz_optfile_pair *pair, void *options,
		      struct sz_err *err)
{
	if (opt->type == SZ_OPT_FILE)
		return second_file("a file of options names no other", err);
	if (opt->type == SZ_OPT_SETTINGS)
		return store_joined(opt, pair, options, err);
	if (check_shape(pair, opt->type == SZ_OPT_TEXTS, err) < 0)
		return -1;
	if (opt->type == SZ_OPT_FLAG && pair->quoted) {
		sz_err_set(err, SZ_USAGE, 0, "%s takes true or false, not a text in quotes",
			   pair->name);
		return sz_err_hint(err, "write %s: true, without quotes", pair->name);
	}
	for (size_t i = 0; i < pair->count; i++) {
		if (store(opt, pair->value[i], options, err) < 0)
			return -1;
	}
	return 0;
}

static int take_operand(const struct sz_command *command, const struct sz_optfile_pair *pair,
			struct sz_parsed *parsed, struct sz_err *err)
{
	bool may_be_list = command->operand_max > 1 && pair->count <= command->operand_max;
	if (!(pair->is_list && may_be_list) && check_shape(pair, command->takes_command, err) < 0)
		return -1;
	if (command->takes_command) {
		parsed->command = pair->value;
	} else {
		parsed->operand = pair->value;
		parsed->operand_count = pair->count;
	}
	return 0;
}

static int take_pair(const struct sz_command *command, const struct sz_optfile_pair *pair,
		     void *options, struct sz_parsed *parsed, struct sz_err *err)
{
	const struct sz_optfile *file = &parsed->file;
	const struct sz_opt *opt = find(command, pair->name, strlen(pair->name));
	bool is_operand = command->operand_name && strcmp(pair->name, command->operand_name) == 0;
	if (!opt && !is_operand) {
		unknown_name(command, pair->name, err);
		return sz_optfile_blame(file, pair->name_at, err);
	}
	int status = is_operand ? take_operand(command, pair, parsed, err)
				: store_pair(opt, pair, options, err);
	return status < 0 ? sz_optfile_blame(file, pair->value_at, err) : 0;
}

static int take_file(const struct sz_command *command, char **argv, void *options,
		     struct sz_parsed *parsed, struct sz_err *err)
{
	const char *path;
	if (find_file(command, argv, &path, err) < 0 ||
	    (path && sz_optfile_read(path, &parsed->file, err) < 0))
		return -1;
	for (size_t i = 0; i < parsed->file.count; i++) {
		if (take_pair(command, &parsed->file.pair[i], options, parsed, err) < 0)
			return -1;
	}
	return 0;
}

/* --- all of it --- */

int sz_opt_parse(const struct sz_command *command, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err)
{
	*parsed = (struct sz_parsed){.help = wants_help(argv)};
	if (parsed->help)
		return 0;
	if (set_defaults(command, options, err) < 0 ||
	    take_file(command, argv, options, parsed, err) < 0)
		return -1;
	return take_words(command, argv, options, parsed, err);
}

void sz_parsed_fini(struct sz_parsed *parsed)
{
	sz_optfile_fini(&parsed->file);
}

/* --- help --- */

enum { HELP_COLUMNS = 88, HELP_INDENT = 28 };

static void help_option(const struct sz_opt *opt, struct sz_buf *out)
{
	size_t start = out->len;
	sz_buf_puts(out, "  ");
	if (opt->letter)
		sz_buf_printf(out, "-%c, ", opt->letter);
	sz_buf_printf(out, "--%s", opt->name);
	for (size_t i = 0; opt->choices && opt->choices[i]; i++)
		sz_buf_printf(out, "%s%s", i ? "|" : " ", opt->choices[i]);
	if (opt->arg)
		sz_buf_printf(out, " %s", opt->arg);
	size_t used = out->len - start;
	if (used + 2 > HELP_INDENT) {
		sz_buf_puts(out, "\n");
		used = 0;
	}
	sz_buf_repeat(out, ' ', HELP_INDENT - used);

	sz_autobuf struct sz_buf text = {0};
	sz_buf_puts(&text, opt->help);
	if (opt->fallback)
		sz_buf_printf(&text, " [%s]", opt->fallback);
	sz_buf_wrap(out, sz_buf_text(&text), HELP_INDENT, HELP_COLUMNS);
	sz_buf_puts(out, "\n");
}

void sz_opt_example(const char *text, const char *program, struct sz_buf *out)
{
	static const char name[] = "sizeup";
	const size_t len = sizeof(name) - 1;
	const char *start = text;
	for (const char *at; (at = strstr(text, name)); text = at + len) {
		bool is_word = (at == start || at[-1] == ' ') && (at[len] == ' ' || !at[len]);
		sz_buf_append(out, text, (size_t)(at - text));
		sz_buf_puts(out, is_word ? program : name);
	}
	sz_buf_puts(out, text);
}

void sz_opt_help(const struct sz_command *command, const char *program, struct sz_buf *out)
{
	sz_buf_printf(out, "Usage: sizeup %s%s%s%s\n\n", command->name,
		      command->option_count ? " [options]" : "", command->operands ? " " : "",
		      command->operands ? command->operands : "");
	sz_buf_wrap(out, command->about, 0, HELP_COLUMNS);
	sz_buf_puts(out, "\n\nOptions:\n");
	const struct sz_opt *opt;
	for (size_t i = 0; (opt = sz_opt_at(command, i)); i++)
		help_option(opt, out);
	sz_buf_puts(out, "  --help                    this text\n\nExamples:\n");
	for (size_t i = 0; command->examples[i]; i++) {
		sz_buf_puts(out, "  ");
		sz_opt_example(command->examples[i], program, out);
		sz_buf_puts(out, "\n");
	}
}
