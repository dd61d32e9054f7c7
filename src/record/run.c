/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a run down.
 */
#include "record/inside.h"

#include "base/clock.h"
#include "base/mem.h"
#include "record/redact.h"

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_redacted(sqlite3_stmt *statement, int at, const char *text)
{
	sz_autobuf struct sz_buf redacted = {0};
	sz_redact(text, &redacted);
	bind_text(statement, at, sz_buf_text(&redacted));
}

/* --- what is known beside the visits --- */

static int keep_failure(struct sz_store *store, int64_t run_id, const struct sz_setting *setting,
			struct sz_err *err)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	if (sz_store_prepare(store,
			     "INSERT OR REPLACE INTO failure (run, workers, why, starts)"
			     " VALUES (?, ?, ?, ?)",
			     &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	sqlite3_bind_int64(statement, 2, setting->workers);
	bind_redacted(statement, 3, setting->failure);
	sqlite3_bind_int64(statement, 4, setting->failed_starts);
	return sz_store_run(store, statement, err);
}

static int keep_failures(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
			 struct sz_err *err)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		const struct sz_setting *setting = &sweep->setting[i];
		if (setting->failed_starts && keep_failure(store, run_id, setting, err) < 0)
			return -1;
	}
	return 0;
}

static int update_run(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
		      struct sz_err *err)
{
	sz_autobuf struct sz_buf sql = {0};
	sz_autostatement sqlite3_stmt *statement = NULL;
	sz_buf_puts(&sql, "UPDATE run SET id = ?");
	sz_columns_set(&sz_run_columns, &sql);
	sz_buf_puts(&sql, " WHERE id = ?1");
	if (sql.failed)
		return sz_err_nomem(err);
	if (sz_store_prepare(store, sz_buf_text(&sql), &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	sz_columns_bind(&sz_run_columns, sweep, statement, 2);
	if (sz_store_run(store, statement, err) < 0)
		return -1;
	return keep_failures(store, run_id, sweep, err);
}

int sz_store_update(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
		    struct sz_err *err)
{
	if (sz_store_transact(store, err) < 0)
		return -1;
	return sz_store_commit(store, update_run(store, run_id, sweep, err), err);
}

/* --- its beginning and its end --- */

int sz_store_read_options(const char *options_json, json_t **options, struct sz_err *err)
{
	sz_autojson json_t *given = json_loads(options_json, 0, NULL);
	json_t *redacted = json_is_object(given) ? sz_redact_json(given) : NULL;
	if (!redacted)
		return sz_err_set(err, SZ_MACHINE, 0, "the options are not a JSON object");
	*options = redacted;
	return 0;
}

static void join_command(json_t *options, struct sz_buf *out)
{
	json_t *command = json_object_get(options, "command");
	sz_buf_puts(out, "");
	for (size_t i = 0; i < json_array_size(command); i++) {
		const char *word = json_string_value(json_array_get(command, i));
		sz_buf_printf(out, "%s%s", i ? " " : "", word ? word : "");
	}
}

static int insert_run(struct sz_store *store, const struct sz_sweep *sweep, json_t *options,
		      struct sz_err *err)
{
	sz_autobuf struct sz_buf sql = {0}, command = {0};
	sz_autostatement sqlite3_stmt *statement = NULL;
	sz_autofree char *options_text = json_dumps(options, JSON_COMPACT);
	sz_buf_puts(&sql, "INSERT INTO run (status, version, started_unix_ns, command,"
			  " url, options, own_cores");
	sz_columns_name(&sz_run_columns, &sql);
	sz_buf_puts(&sql, ") VALUES ('running', '" SIZEUP_VERSION "', ?, ?, ?, ?, ?");
	sz_columns_mark(&sz_run_columns, &sql);
	sz_buf_puts(&sql, ")");
	join_command(options, &command);
	if (!options_text || sql.failed || command.failed)
		return sz_err_nomem(err);
	if (sz_store_prepare(store, sz_buf_text(&sql), &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, (int64_t)sz_clock_ns(CLOCK_REALTIME));
	bind_text(statement, 2, sz_buf_text(&command));
	bind_redacted(statement, 3, sweep->url);
	bind_text(statement, 4, options_text);
	sqlite3_bind_double(statement, 5, sweep->machine.cores_allowed);
	sz_columns_bind(&sz_run_columns, sweep, statement, 6);
	return sz_store_run(store, statement, err);
}

int sz_store_begin(struct sz_store *store, const struct sz_sweep *sweep, const char *options_json,
		   int64_t *run_id, struct sz_err *err)
{
	sz_autojson json_t *options = NULL;
	if (sz_store_read_options(options_json, &options, err) < 0 ||
	    sz_store_transact(store, err) < 0)
		return -1;
	int status = insert_run(store, sweep, options, err);
	int64_t id = sqlite3_last_insert_rowid(store->db);
	if (status == 0)
		status = sz_store_claim(store, id, err);
	if (sz_store_commit(store, status, err) < 0)
		return -1;
	*run_id = id;
	return 0;
}

int sz_store_finish(struct sz_store *store, int64_t run_id, const char *status, struct sz_err *err)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	if (sz_store_prepare(store, "UPDATE run SET status = ? WHERE id = ?", &statement, err) < 0)
		return -1;
	bind_text(statement, 1, status);
	sqlite3_bind_int64(statement, 2, run_id);
	return sz_store_run(store, statement, err);
}

/* --- its visits --- */

static void add_share(json_t *list, const struct sz_worker_share *share)
{
	json_t *cores = json_real(share->cpu_cores); /* NULL for NaN, which makes a null */
	json_array_append_new(list, json_pack("[Io?]", (json_int_t)share->connections, cores));
}

/* [[connections, cpu_cores], …], as many digits as a double has. */
static char *share_text(const struct sz_window *window)
{
	sz_autojson json_t *list = json_array();
	for (unsigned i = 0; window->share && i < window->workers; i++)
		add_share(list, &window->share[i]);
	return list ? json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
}

static int insert_visit(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
			size_t visit_index, struct sz_err *err)
{
	const struct sz_visit *visit = &sweep->visits[visit_index];
	sz_autobuf struct sz_buf sql = {0};
	sz_autostatement sqlite3_stmt *statement = NULL;
	sz_autofree char *share = share_text(&visit->window);
	sz_buf_puts(&sql, "INSERT INTO visit (run, number, workers, share");
	sz_columns_name(&sz_visit_columns, &sql);
	sz_buf_puts(&sql, ") VALUES (?, ?, ?, ?");
	sz_columns_mark(&sz_visit_columns, &sql);
	sz_buf_puts(&sql, ")");
	if (!share || sql.failed)
		return sz_err_nomem(err);
	if (sz_store_prepare(store, sz_buf_text(&sql), &statement, err) < 0)
		return -1;
	sqlite3_bind_int64(statement, 1, run_id);
	sqlite3_bind_int64(statement, 2, (int64_t)visit_index);
	sqlite3_bind_int64(statement, 3, sweep->setting[visit->setting].workers);
	bind_text(statement, 4, share);
	sz_columns_bind(&sz_visit_columns, visit, statement, 5);
	return sz_store_run(store, statement, err);
}

int sz_store_visit(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
		   size_t visit_index, struct sz_err *err)
{
	if (sz_store_transact(store, err) < 0)
		return -1;
	int status = update_run(store, run_id, sweep, err);
	if (status == 0)
		status = insert_visit(store, run_id, sweep, visit_index, err);
	return sz_store_commit(store, status, err);
}
