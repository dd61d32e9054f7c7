/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading back the run that is to go on.
 */
#include "record/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static int damaged(const struct sz_store *store, int64_t run_id, struct sz_err *err)
{
	sz_err_set(err, SZ_MACHINE, 0, "%s: run %lld is damaged", store->path, (long long)run_id);
	return sz_err_hint(err, "leave out --resume to start anew");
}

static const char *column_text(sqlite3_stmt *statement, int at)
{
	const unsigned char *text = sqlite3_column_text(statement, at);
	return text ? (const char *)text : "";
}

/* --- what has to be the same --- */

/* The terms on which two runs are one: options, version, machine. */
static void add_terms(json_t *options, const char *version, double cores, const char *kernel)
{
	json_object_set_new(options, "version of sizeup", json_string(version));
	json_object_set_new(options, "number of cores", json_real(cores));
	json_object_set_new(options, "kernel", json_string(kernel));
}

static char *term_text(const json_t *value)
{
	return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6))
		     : strdup("unknown");
}

static int compare_term(int64_t run_id, const char *name, const json_t *then, const json_t *now,
			struct sz_err *err)
{
	if (json_equal(then, now))
		return 0;
	sz_autofree char *then_text = term_text(then), *now_text = term_text(now);
	sz_err_set(err, SZ_USAGE, 0, "run %lld cannot go on: %s was %.200s and is %.200s now",
		   (long long)run_id, name, then_text ? then_text : "", now_text ? now_text : "");
	return sz_err_hint(err, "repeat its command line, or leave out --resume to start anew");
}

static int compare_terms(int64_t run_id, json_t *then, json_t *now, struct sz_err *err)
{
	const char *name;
	json_t *value;
	json_object_foreach(now, name, value)
	{
		if (compare_term(run_id, name, json_object_get(then, name), value, err) < 0)
			return -1;
	}
	json_object_foreach(then, name, value)
	{
		if (compare_term(run_id, name, value, json_object_get(now, name), err) < 0)
			return -1;
	}
	return 0;
}

static int check_terms(struct sz_store *store, const char *options_json, int64_t run_id,
		       const struct sz_sweep *sweep, struct sz_err *err)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	sz_autojson json_t *now = NULL, *then = NULL;
	if (sz_store_read_options(options_json, &now, err) < 0 ||
	    sz_store_prepare(store,
			     "SELECT options, version, own_cores, kernel FROM run"
			     " WHERE id = ?",
			     &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	if (sqlite3_step(statement) != SQLITE_ROW)
		return sz_store_failed(store, err);
	then = json_loads(column_text(statement, 0), 0, NULL);
	if (!json_is_object(then))
		return damaged(store, run_id, err);
	add_terms(now, SIZEUP_VERSION, sweep->machine.cores_allowed, sweep->machine.kernel);
	add_terms(then, column_text(statement, 1), sqlite3_column_double(statement, 2),
		  column_text(statement, 3));
	return compare_terms(run_id, then, now, err);
}

/* --- what was found --- */

static int read_failure(sqlite3_stmt *statement, struct sz_sweep *sweep)
{
	size_t index = sz_sweep_add_setting(sweep, (unsigned)sqlite3_column_int64(statement, 0));
	if (index == SZ_SETTINGS_MAX)
		return -1;
	snprintf(sweep->setting[index].failure, sizeof(sweep->setting[index].failure), "%s",
		 column_text(statement, 1));
	sweep->setting[index].failed_starts = (unsigned)sqlite3_column_int64(statement, 2);
	return 0;
}

static int read_run(struct sz_store *store, int64_t run_id, struct sz_sweep *sweep,
		    struct sz_err *err)
{
	sz_autobuf struct sz_buf sql = {0};
	sz_autostatement sqlite3_stmt *statement = NULL;
	sz_buf_puts(&sql, "SELECT id");
	sz_columns_name(&sz_run_columns, &sql);
	sz_buf_puts(&sql, " FROM run WHERE id = ?");
	if (sql.failed)
		return sz_err_nomem(err);
	if (sz_store_prepare(store, sz_buf_text(&sql), &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	if (sqlite3_step(statement) != SQLITE_ROW)
		return sz_store_failed(store, err);
	sz_columns_read(&sz_run_columns, statement, 1, sweep);
	return 0;
}

static void read_one_share(json_t *pair, struct sz_worker_share *share)
{
	json_t *cores = json_array_get(pair, 1);
	share->connections = (unsigned)json_integer_value(json_array_get(pair, 0));
	share->cpu_cores = json_is_number(cores) ? json_number_value(cores) : SZ_NAN;
}

static int read_share(sqlite3_stmt *statement, int at, struct sz_window *window)
{
	sz_autojson json_t *list = json_loads(column_text(statement, at), 0, NULL);
	size_t count = json_array_size(list);
	if (!list || count != window->workers)
		return -1;
	window->share = calloc(count + 1, sizeof(*window->share));
	if (!window->share)
		return -1;
	for (size_t i = 0; i < count; i++)
		read_one_share(json_array_get(list, i), &window->share[i]);
	return 0;
}

static int read_visit(sqlite3_stmt *statement, struct sz_sweep *sweep)
{
	unsigned workers = (unsigned)sqlite3_column_int64(statement, 0);
	size_t setting = sz_sweep_add_setting(sweep, workers);
	struct sz_visit *visit = setting < SZ_SETTINGS_MAX ? sz_sweep_add_visit(sweep) : NULL;
	if (!visit)
		return -1;
	sz_columns_read(&sz_visit_columns, statement, 2, visit);
	visit->setting = setting;
	return read_share(statement, 1, &visit->window);
}

typedef int read_fn(sqlite3_stmt *statement, struct sz_sweep *sweep);

/* Every row of a query about the run. */
static int read_rows(struct sz_store *store, const char *sql, int64_t run_id, read_fn *read_row,
		     struct sz_sweep *sweep, struct sz_err *err)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	int step;
	if (sz_store_prepare(store, sql, &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		if (read_row(statement, sweep) < 0)
			return damaged(store, run_id, err);
	}
	return step == SQLITE_DONE ? 0 : sz_store_failed(store, err);
}

static int read_all(struct sz_store *store, int64_t run_id, struct sz_sweep *sweep,
		    struct sz_err *err)
{
	sz_autobuf struct sz_buf visits = {0};
	sz_buf_puts(&visits, "SELECT workers, share");
	sz_columns_name(&sz_visit_columns, &visits);
	sz_buf_puts(&visits, " FROM visit WHERE run = ? ORDER BY number");
	if (visits.failed)
		return sz_err_nomem(err);
	if (read_run(store, run_id, sweep, err) < 0 ||
	    read_rows(store, "SELECT workers, why, starts FROM failure WHERE run = ?", run_id,
		      read_failure, sweep, err) < 0)
		return -1;
	return read_rows(store, sz_buf_text(&visits), run_id, read_visit, sweep, err);
}

/* --- which run --- */

/* The newest run on these terms that can go on and nobody makes, or just the one
 * asked for. When there are only others, *err says how the newest differs. */
static int claim_unfinished(struct sz_store *store, const char *options_json,
			    const struct sz_sweep *sweep, int64_t *run_id, struct sz_err *err)
{
	struct sz_err other = {0};
	sz_autostatement sqlite3_stmt *statement = NULL;
	int step;
	if (sz_store_prepare(store,
			     "SELECT id FROM run WHERE status IN ('running', 'interrupted')"
			     " AND ?1 IN (0, id) ORDER BY id DESC",
			     &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, *run_id);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(statement, 0);
		if (check_terms(store, options_json, id, sweep, other.message[0] ? NULL : &other) <
		    0)
			continue;
		if (sz_store_claim(store, id, err) == 0) {
			*run_id = id;
			return 0;
		}
	}
	if (step != SQLITE_DONE)
		return sz_store_failed(store, err);
	if (other.message[0]) {
		if (err)
			*err = other;
		return -1;
	}
	sz_err_set(err, SZ_USAGE, 0, "%s holds no run that could be resumed", store->path);
	return sz_err_hint(err, "leave out --resume to start anew");
}

int sz_store_resume(struct sz_store *store, const char *options_json, int64_t *run_id,
		    struct sz_sweep *sweep, struct sz_err *err)
{
	int64_t id = *run_id;
	if (claim_unfinished(store, options_json, sweep, &id, err) < 0)
		return -1;
	sz_autofree struct sz_sweep *resumed = malloc(sizeof(*resumed));
	if (!resumed)
		return sz_err_nomem(err);
	*resumed = *sweep;
	if (read_all(store, id, resumed, err) < 0 ||
	    sz_store_finish(store, id, "running", err) < 0) {
		sz_sweep_fini(resumed);
		return -1;
	}
	*sweep = *resumed;
	*run_id = id;
	return 0;
}
