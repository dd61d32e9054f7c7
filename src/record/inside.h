/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the store share.
 */
#ifndef SZ_RECORD_INSIDE_H
#define SZ_RECORD_INSIDE_H

#include <jansson.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "record/store.h"

struct sz_store {
	sqlite3 *db;
	char *path;
	int claims_fd; /* see sz_store_claim() */
};

/* --- SQL --- */

/* What SQLite says, and a remedy when one is known. Always -1. */
#define sz_store_failed(store, err) (sz_store_fill_err(store, err), sz_failed())
void sz_store_fill_err(const struct sz_store *store, struct sz_err *err);

int sz_store_exec(struct sz_store *store, const char *sql, struct sz_err *err);
int sz_store_prepare(struct sz_store *store, const char *sql, sqlite3_stmt **statement,
		     struct sz_err *err);

/* Run a statement that returns no row. */
int sz_store_run(struct sz_store *store, sqlite3_stmt *statement, struct sz_err *err);

/* A transaction that writes. It is over after sz_store_commit(), which keeps
 * nothing when status (of what was done in it) is -1, and then returns -1. */
int sz_store_transact(struct sz_store *store, struct sz_err *err);
int sz_store_commit(struct sz_store *store, int status, struct sz_err *err);

static inline void sz_finalize_at(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}
#define sz_autostatement __attribute__((cleanup(sz_finalize_at)))

static inline void sz_json_free_at(json_t **value)
{
	json_decref(*value);
}
#define sz_autojson __attribute__((cleanup(sz_json_free_at)))

/* Let the run be this process's until it ends; -1 with SZ_USAGE when another
 * process has it. */
int sz_store_claim(struct sz_store *store, int64_t run_id, struct sz_err *err);

/* The options without their secrets; a new reference. */
int sz_store_read_options(const char *options_json, json_t **options, struct sz_err *err);

/* --- columns --- */

enum sz_column_type {
	SZ_COLUMN_REAL,     /* double; NaN is NULL */
	SZ_COLUMN_INTEGER,  /* int64_t; negative is NULL */
	SZ_COLUMN_COUNT,    /* uint64_t */
	SZ_COLUMN_UNSIGNED, /* unsigned, uint32_t, an enum, an int that is never negative */
	SZ_COLUMN_BOOL,
	SZ_COLUMN_TEXT, /* char array */
};

/* A member of a struct that is a column of a table. */
struct sz_column {
	const char *name;
	enum sz_column_type type;
	size_t offset, size;
};

struct sz_columns {
	const struct sz_column *column;
	size_t count;
};

extern const struct sz_columns sz_run_columns;   /* of struct sz_sweep */
extern const struct sz_columns sz_visit_columns; /* of struct sz_visit */

void sz_columns_define(const struct sz_columns *columns, struct sz_buf *sql); /* ", a TYPE, …" */
void sz_columns_name(const struct sz_columns *columns, struct sz_buf *sql);   /* ", a, b, …" */
void sz_columns_mark(const struct sz_columns *columns, struct sz_buf *sql);   /* ", ?, ?, …" */
void sz_columns_set(const struct sz_columns *columns, struct sz_buf *sql);    /* ", a = ?, …" */

/* Parameters are counted from 1, columns of a result from 0, as in SQLite. The
 * object must stay until the statement has run. */
void sz_columns_bind(const struct sz_columns *columns, const void *object, sqlite3_stmt *statement,
		     int first);
void sz_columns_read(const struct sz_columns *columns, sqlite3_stmt *statement, int first,
		     void *object);

#endif
