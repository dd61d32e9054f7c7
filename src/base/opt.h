/* SPDX-License-Identifier: Apache-2.0
 *
 * Options as data: one table per command is the parser, the defaults and the
 * help text, so that they cannot disagree.
 *
 *	static const struct sz_opt options[] = {
 *		{.name = "clients", .type = SZ_OPT_COUNT, .arg = "N", .fallback = "50",
 *		 .min = 1, .max = 50000, SZ_OPT_AT(struct mine, clients),
 *		 .help = "clients, each with one request in flight"},
 *	};
 *
 * `--name VALUE` or `--name=VALUE`; some also as a letter, `-n VALUE`. `--` ends
 * options.
 * Texts point into argv, or into the file of options, and live as long as they do.
 *
 * A command with an option of type SZ_OPT_FILE takes its options from such a
 * file as well (base/optfile.h): each under its name without dashes, true or
 * false for a flag, a list for one that may be repeated. They count as if they
 * stood first on the command line, so those given there win, and add to lists.
 */
#ifndef SZ_BASE_OPT_H
#define SZ_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/optfile.h"

enum sz_opt_type {
	SZ_OPT_FLAG,     /* bool */
	SZ_OPT_TEXT,     /* const char *, NULL when not given */
	SZ_OPT_TEXTS,    /* struct sz_texts; may be given several times */
	SZ_OPT_COUNT,    /* uint64_t within [min, max] */
	SZ_OPT_DURATION, /* uint64_t nanoseconds within [min, max] */
	SZ_OPT_SETTINGS, /* struct sz_settings; count 0 when not given */
	SZ_OPT_CHOICE,   /* int: index into choices */
	SZ_OPT_FILE,     /* nothing: names the file of options */
	SZ_OPT_TYPES,
};

#define SZ_TEXTS_MAX 64

struct sz_texts {
	char *item[SZ_TEXTS_MAX + 1]; /* NULL-terminated */
	size_t count;
};

struct sz_opt {
	const char *name;
	enum sz_opt_type type;
	char letter;                /* '\0': none */
	size_t offset;              /* of the value in the command's options */
	const char *arg;            /* placeholder in the help; NULL for flags and choices */
	const char *fallback;       /* default, as one would type it; NULL: none */
	uint64_t min, max;          /* inclusive, of counts and durations */
	const char *word;           /* of counts: means 0, whatever min is; NULL: none */
	const char *const *choices; /* NULL-terminated */
	const char *help;
};

#define SZ_OPT_AT(type_, member_) .offset = offsetof(type_, member_)

struct sz_command {
	const char *name;
	const char *operands; /* as in the usage line: "URL", "-- CMD …"; NULL: none */
	const char *summary;  /* one line */
	const char *about;    /* a paragraph; lines are wrapped */
	const struct sz_opt *options;
	size_t option_count;
	/* Rows that several commands have, of a struct with which their options begin. */
	const struct sz_opt *shared;
	size_t shared_count;
	const char *const *examples; /* NULL-terminated, each works when pasted */
	size_t operand_max;          /* before `--` */
	bool takes_command;          /* everything after `--` is a command */
	const char *operand_name;    /* of the operands, or of the command, in a file */
};

struct sz_parsed {
	bool help;      /* --help was given: nothing else was looked at */
	char **operand; /* inside argv or file */
	size_t operand_count;
	char **command; /* after `--`, or of the file; NULL: there is none */
	struct sz_optfile file;
};

/* The i-th option of a command, its own first; NULL at the end. */
const struct sz_opt *sz_opt_at(const struct sz_command *command, size_t i);

/* Parse argv (without program and command name) into `options`, which starts
 * out zeroed, with defaults first. Reorders nothing; argv must stay, and
 * *parsed until the options are done with: sz_parsed_fini() it then, also after
 * a failure. 0, or -1 with SZ_USAGE. */
int sz_opt_parse(const struct sz_command *command, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err);
void sz_parsed_fini(struct sz_parsed *parsed);

#define sz_autoparsed __attribute__((cleanup(sz_parsed_fini)))

/* Usage, description, options with their defaults, examples. `program` is how
 * this program was called, so that examples work when pasted. */
void sz_opt_help(const struct sz_command *command, const char *program, struct sz_buf *out);

/* Append text with every word "sizeup" replaced by `program`. */
void sz_opt_example(const char *text, const char *program, struct sz_buf *out);

/* The name of the list closest to `text` (at most two edits away), or NULL.
 * `at(list, i)` returns the i-th name, NULL at the end. */
const char *sz_nearest(const char *text, const char *(*at)(const void *list, size_t i),
		       const void *list);

#endif
