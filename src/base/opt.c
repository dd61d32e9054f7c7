/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* One row per type: how a text becomes the value at `at`. */
typedef int store_fn(const struct sz_opt *opt, char *text, void *at, struct sz_err *err);

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

static store_fn *const stores[SZ_OPT_TYPES] = {
	[SZ_OPT_TEXT] = store_text,         [SZ_OPT_TEXTS] = store_texts,
	[SZ_OPT_COUNT] = store_count,       [SZ_OPT_DURATION] = store_duration,
	[SZ_OPT_SETTINGS] = store_settings, [SZ_OPT_CHOICE] = store_choice,
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

static const char *option_name_at(const void *list, size_t i)
{
	const struct sz_command *command = list;
	return i < command->option_count ? command->options[i].name : NULL;
}

/* The option that `text` (after the dashes, up to '=') names. */
static const struct sz_opt *find(const struct sz_command *command, const char *text, size_t len)
{
	for (size_t i = 0; i < command->option_count; i++) {
		const struct sz_opt *opt = &command->options[i];
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
	for (size_t i = 0; i < command->option_count; i++) {
		const struct sz_opt *opt = &command->options[i];
		/* Texts are only ever read; argv's type is what forces the cast. */
		if (opt->fallback && store(opt, (char *)(uintptr_t)opt->fallback, options, err) < 0)
			return -1;
	}
	return 0;
}

/* One option at argv[0]; how many words it took, or -1. */
static int take_option(const struct sz_command *command, char **argv, void *options,
		       struct sz_err *err)
{
	char *arg = argv[0];
	size_t len = strcspn(arg, "=");
	const struct sz_opt *opt =
		strncmp(arg, "--", 2) == 0 ? find(command, arg + 2, len - 2) : NULL;
	if (!opt)
		return unknown_option(command, arg, err);

	char *value = arg[len] ? arg + len + 1 : NULL;
	if (opt->type == SZ_OPT_FLAG) {
		if (value)
			return sz_err_set(err, SZ_USAGE, 0, "--%s takes no value", opt->name);
		*(bool *)((char *)options + opt->offset) = true;
		return 1;
	}
	if (value)
		return store(opt, value, options, err) < 0 ? -1 : 1;
	if (!argv[1]) {
		sz_err_set(err, SZ_USAGE, 0, "--%s needs a value", opt->name);
		return sz_err_hint(err, "see sizeup %s --help", command->name);
	}
	return store(opt, argv[1], options, err) < 0 ? -1 : 2;
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
	sz_err_set(err, SZ_USAGE, 0, "unexpected argument '%.80s'", operand);
	if (command->takes_command)
		return sz_err_hint(err, "put -- before the command: sizeup %s [options] -- %s …",
				   command->name, operand);
	return sz_err_hint(err, "see sizeup %s --help", command->name);
}

int sz_opt_parse(const struct sz_command *command, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err)
{
	*parsed = (struct sz_parsed){.help = wants_help(argv)};
	if (parsed->help)
		return 0;
	if (set_defaults(command, options, err) < 0)
		return -1;
	while (*argv) {
		if (command->takes_command && strcmp(*argv, "--") == 0) {
			parsed->command = argv[1] ? argv + 1 : NULL;
			return 0;
		}
		if ((*argv)[0] == '-' && (*argv)[1]) {
			int taken = take_option(command, argv, options, err);
			if (taken < 0)
				return -1;
			argv += taken;
			continue;
		}
		if (parsed->operand_count == command->operand_max)
			return too_many_operands(command, *argv, err);
		if (!parsed->operand)
			parsed->operand = argv;
		/* Keep operands together: they move down over options already read. */
		parsed->operand[parsed->operand_count++] = *argv++;
	}
	return 0;
}

/* --- help --- */

enum { HELP_COLUMNS = 88, HELP_INDENT = 28 };

static void help_option(const struct sz_opt *opt, struct sz_buf *out)
{
	size_t start = out->len;
	sz_buf_printf(out, "  --%s", opt->name);
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
	for (size_t i = 0; i < command->option_count; i++)
		help_option(&command->options[i], out);
	sz_buf_puts(out, "  --help                    this text\n\nExamples:\n");
	for (size_t i = 0; command->examples[i]; i++) {
		sz_buf_puts(out, "  ");
		sz_opt_example(command->examples[i], program, out);
		sz_buf_puts(out, "\n");
	}
}
