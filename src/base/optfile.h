/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of options: one YAML mapping from names to a text or a list of texts,
 *
 *	workers: 1,2,4
 *	quick: true
 *	env: [LOG=off, "WEB_CONCURRENCY={workers}"]
 *
 * read into pairs that know where they stand. What it is not: knowing which
 * names there are and what a text means; base/opt.h does.
 *
 * A text is what stands there: YAML's own ideas of `010`, `1e3` or `yes` do not
 * apply. Refused, with file, line and column: a name that comes twice, a name
 * without a value (null included), anything nested deeper than a list, a second
 * document, anchors, aliases, tags, NUL in a text, and all that is not UTF-8.
 */
#ifndef SZ_BASE_OPTFILE_H
#define SZ_BASE_OPTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SZ_OPTFILE_BYTES_MAX 65536

/* A place in the file; both count from 1, columns in code points. */
struct sz_mark {
	size_t line, column;
};

struct sz_optfile_pair {
	char *name;
	char **value; /* NULL-terminated; at least one, exactly one unless is_list */
	size_t count;
	bool is_list;
	bool quoted; /* a single value in quotes or in a block: surely a text */
	struct sz_mark name_at, value_at;
};

struct sz_optfile {
	char *path;                   /* for messages */
	struct sz_optfile_pair *pair; /* in the order of the file, no name twice */
	size_t count, cap;
};

/* Read `len` bytes; `path` is what messages call them. *file starts out zeroed,
 * stays so on failure, and is the caller's to sz_optfile_fini(). 0, or -1 with
 * SZ_USAGE. */
int sz_optfile_parse(const char *path, const char *text, size_t len, struct sz_optfile *file,
		     struct sz_err *err);

/* The same of a regular file of at most SZ_OPTFILE_BYTES_MAX bytes. */
int sz_optfile_read(const char *path, struct sz_optfile *file, struct sz_err *err);

void sz_optfile_fini(struct sz_optfile *file);

/* Put file, line and column before an error's message. Always -1. */
static inline int sz_optfile_blame(const struct sz_optfile *file, struct sz_mark at,
				   struct sz_err *err)
{
	return sz_err_wrap(err, "%.256s:%zu:%zu", file->path, at.line, at.column);
}

#endif
