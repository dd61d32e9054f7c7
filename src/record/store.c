/* SPDX-License-Identifier: Apache-2.0
 *
 * The file: where it is, whose it is, and its transactions.
 */
#include "record/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"

/* Marks a file as ours ("SIZU"): nobody else's is written to. */
#define APPLICATION_ID 0x53495a55
/* Counts the changes of its tables. */
#define VERSION 3

/* --- errors --- */

void sz_store_fill_err(const struct sz_store *store, struct sz_err *err)
{
	static const struct {
		int code;
		const char *remedy;
	} remedies[] = {
		{SQLITE_BUSY, "wait until the other program is done with it, or give --db PATH"},
		{SQLITE_FULL, "free some space, or give --db PATH on another disk"},
		{SQLITE_IOERR, "free some space, or give --db PATH on another disk"},
		{SQLITE_READONLY, "make it writable, or give --db PATH"},
		{SQLITE_CANTOPEN, "make its directory writable, or give --db PATH"},
		{SQLITE_NOTADB, "it is not a record of sizeup: give another --db PATH"},
		{SQLITE_CORRUPT, "it is damaged: move it away, or give another --db PATH"},
	};
	sz_err_set(err, SZ_MACHINE, 0, "%s: %s", store->path, sqlite3_errmsg(store->db));
	for (size_t i = 0; i < SZ_ARRAY_LEN(remedies); i++) {
		if (sqlite3_errcode(store->db) == remedies[i].code)
			sz_err_hint(err, "%s", remedies[i].remedy);
	}
}

/* --- SQL --- */

int sz_store_exec(struct sz_store *store, const char *sql, struct sz_err *err)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : sz_store_failed(store, err);
}

int sz_store_prepare(struct sz_store *store, const char *sql, sqlite3_stmt **statement,
		     struct sz_err *err)
{
	return sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK
		       ? 0
		       : sz_store_failed(store, err);
}

int sz_store_run(struct sz_store *store, sqlite3_stmt *statement, struct sz_err *err)
{
	return sqlite3_step(statement) == SQLITE_DONE ? 0 : sz_store_failed(store, err);
}

/* IMMEDIATE: two writers wait for each other. One that begins as a reader
 * cannot wait once another has written; it fails at once. */
int sz_store_transact(struct sz_store *store, struct sz_err *err)
{
	return sz_store_exec(store, "BEGIN IMMEDIATE", err);
}

int sz_store_commit(struct sz_store *store, int status, struct sz_err *err)
{
	if (status == 0 && sz_store_exec(store, "COMMIT", err) == 0)
		return 0;
	/* SQLite itself may have rolled back already. */
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return -1;
}

/* --- its tables --- */

static int read_number(struct sz_store *store, const char *sql, int *number, struct sz_err *err)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	if (sz_store_prepare(store, sql, &statement, err) < 0)
		return -1;
	if (sqlite3_step(statement) != SQLITE_ROW)
		return sz_store_failed(store, err);
	*number = sqlite3_column_int(statement, 0);
	return 0;
}

static int create_tables(struct sz_store *store, struct sz_err *err)
{
	sz_autobuf struct sz_buf sql = {0};
	sz_buf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION_ID,
		      VERSION);
	/* AUTOINCREMENT: the number of a run that was deleted is not used again. */
	sz_buf_puts(&sql, "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT,"
			  " started_unix_ns INTEGER NOT NULL, version TEXT NOT NULL,"
			  " command TEXT NOT NULL, url TEXT NOT NULL, options TEXT NOT NULL,"
			  " own_cores REAL, status TEXT NOT NULL");
	sz_columns_define(&sz_run_columns, &sql);
	sz_buf_puts(&sql, "); CREATE TABLE visit (run INTEGER NOT NULL REFERENCES run (id),"
			  " number INTEGER NOT NULL, workers INTEGER NOT NULL,"
			  " share TEXT NOT NULL");
	sz_columns_define(&sz_visit_columns, &sql);
	sz_buf_puts(&sql, ", PRIMARY KEY (run, number)) WITHOUT ROWID;"
			  "CREATE TABLE failure (run INTEGER NOT NULL REFERENCES run (id),"
			  " workers INTEGER NOT NULL, why TEXT NOT NULL, starts INTEGER NOT NULL,"
			  " PRIMARY KEY (run, workers)) WITHOUT ROWID");
	return sql.failed ? sz_err_nomem(err) : sz_store_exec(store, sz_buf_text(&sql), err);
}

static int use_tables(struct sz_store *store, struct sz_err *err)
{
	int application, version, tables;
	if (read_number(store, "PRAGMA application_id", &application, err) < 0 ||
	    read_number(store, "PRAGMA user_version", &version, err) < 0 ||
	    read_number(store, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	if (tables == 0 && application == 0 && version == 0)
		return create_tables(store, err);
	if (application != APPLICATION_ID) {
		sz_err_set(err, SZ_USAGE, 0, "%s belongs to another program", store->path);
		return sz_err_hint(err, "give another --db PATH");
	}
	if (version == VERSION)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%s was written by %s sizeup (format %d; this one knows %d)",
		   store->path, version > VERSION ? "a newer" : "another", version, VERSION);
	return sz_err_hint(err, "use that sizeup, or give another --db PATH");
}

/* --- the file --- */

static int make_directory(const char *path, struct sz_err *err)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	sz_err_set(err, SZ_MACHINE, errno, "cannot create the directory %s", path);
	return sz_err_hint(err, "give --db PATH");
}

/* Make every directory that the path of a file names. */
static int make_directories(char *path, struct sz_err *err)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int status = make_directory(path, err);
		*slash = '/';
		if (status < 0)
			return -1;
	}
	return 0;
}

/* XDG Base Directory Specification 0.8: a relative path is to be ignored. */
static int own_path(char **path, struct sz_err *err)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *text = NULL;
	int len;
	if (state && state[0] == '/') {
		len = asprintf(&text, "%s/sizeup/history.db", state);
	} else if (home && home[0] == '/') {
		len = asprintf(&text, "%s/.local/state/sizeup/history.db", home);
	} else {
		sz_err_set(err, SZ_MACHINE, 0, "neither XDG_STATE_HOME nor HOME names a directory");
		return sz_err_hint(err, "give --db PATH");
	}
	if (len < 0)
		return sz_err_nomem(err);
	if (make_directories(text, err) < 0) {
		free(text);
		return -1;
	}
	*path = text;
	return 0;
}

/* SQLite would let everybody read it. A file that exists is not opened here:
 * closing it would drop the locks that SQLite has on it. */
static int make_file(const char *path, struct sz_err *err)
{
	struct stat file;
	sz_autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if ((fd < 0 && errno != EEXIST) || stat(path, &file) < 0) {
		sz_err_set(err, SZ_MACHINE, errno, "cannot create %s", path);
		return sz_err_hint(err, "give another --db PATH");
	}
	if (S_ISREG(file.st_mode))
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%s is not a regular file", path);
	return sz_err_hint(err, "give another --db PATH, or --no-record");
}

/* Two that make the file at once would wait for each other for ever, so SQLite
 * tells one of them at once that it is busy, whatever its time-out. */
static int use_wal(struct sz_store *store, struct sz_err *err)
{
	uint64_t until_ns = sz_now_ns() + SZ_STORE_BUSY_MS * SZ_NS_PER_MS;
	const struct timespec pause = sz_ns_timespec(10 * SZ_NS_PER_MS);
	while (sz_store_exec(store, "PRAGMA journal_mode = WAL", err) < 0) {
		if ((sqlite3_errcode(store->db) & 0xff) != SQLITE_BUSY || sz_now_ns() > until_ns)
			return -1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* WAL is turned on last: it changes the file, which may not be ours. */
static int open_file(struct sz_store *store, struct sz_err *err)
{
	if (make_file(store->path, err) < 0)
		return -1;
	if (sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return sz_store_failed(store, err);
	sqlite3_busy_timeout(store->db, SZ_STORE_BUSY_MS);
	if (sz_store_transact(store, err) < 0 ||
	    sz_store_commit(store, use_tables(store, err), err) < 0)
		return -1;
	return use_wal(store, err) < 0 ? -1
				       : sz_store_exec(store, "PRAGMA synchronous = FULL", err);
}

int sz_store_open(const char *path, struct sz_store **store, struct sz_err *err)
{
	struct sz_store *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return sz_err_nomem(err);
	opened->claims_fd = -1;
	int status = 0;
	if (!path)
		status = own_path(&opened->path, err);
	else if (!(opened->path = strdup(path)))
		status = sz_err_nomem(err);
	if (status < 0 || open_file(opened, err) < 0) {
		sz_store_close(opened);
		return -1;
	}
	*store = opened;
	return 0;
}

void sz_store_close(struct sz_store *store)
{
	if (!store)
		return;
	sqlite3_close(store->db);
	if (store->claims_fd >= 0)
		close(store->claims_fd);
	free(store->path);
	free(store);
}

const char *sz_store_path(const struct sz_store *store)
{
	return store->path;
}

/* --- who makes which run --- */

/* Byte N of a file beside the store is locked by the process that makes run N.
 * A POSIX lock: gone with its process however that dies, and not inherited by
 * the guard of the service, which lives a little longer. */
int sz_store_claim(struct sz_store *store, int64_t run_id, struct sz_err *err)
{
	struct flock claim = {.l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = run_id,
			      .l_len = 1};
	if (store->claims_fd < 0) {
		sz_autofree char *path = NULL;
		if (asprintf(&path, "%s-runs", store->path) < 0)
			return sz_err_nomem(err);
		store->claims_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (store->claims_fd < 0)
			return sz_err_set(err, SZ_MACHINE, errno, "cannot write to %s", path);
	}
	if (fcntl(store->claims_fd, F_SETLK, &claim) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return sz_err_set(err, SZ_USAGE, 0, "run %lld is still going on",
				  (long long)run_id);
	return sz_err_set(err, SZ_MACHINE, errno, "cannot lock %s-runs", store->path);
}
