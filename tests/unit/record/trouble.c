/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are not ours, disks that are full, other writers.
 */
#include "scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"

/* --- files that are not ours --- */

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static size_t read_file(const char *path, char *bytes, size_t size)
{
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	size_t len = fread(bytes, 1, size, file);
	fclose(file);
	return len;
}

/* Refused with this code and word, and not a byte of it changed. */
static void assert_refused(const char *path, enum sz_code code, const char *word)
{
	static char before[65536], after[sizeof(before)];
	struct sz_store *store = NULL;
	struct sz_err err = {0};
	size_t len = read_file(path, before, sizeof(before));
	assert_int_equal(sz_store_open(path, &store, &err), -1);
	assert_null(store);
	assert_int_equal(err.code, code);
	assert_true(err.hint[0] != '\0');
	if (!strstr(err.message, word))
		fail_msg("'%s' does not say '%s'", err.message, word);
	assert_int_equal(read_file(path, after, sizeof(after)), len);
	assert_memory_equal(before, after, len);
}

static void a_newer_format_is_refused(void **state)
{
	struct scratch *scratch = *state;
	scratch_open(scratch);
	scratch_close(scratch);
	run_sql(scratch->path, "PRAGMA user_version = 99");
	assert_refused(scratch->path, SZ_USAGE, "newer");
}

static void a_foreign_database_is_refused(void **state)
{
	struct scratch *scratch = *state;
	run_sql(scratch->path, "CREATE TABLE bookmarks (url TEXT)");
	assert_refused(scratch->path, SZ_USAGE, "another program");
}

static void garbage_is_refused(void **state)
{
	struct scratch *scratch = *state;
	FILE *file = fopen(scratch->path, "we");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("not a database\n", file);
	fclose(file);
	assert_refused(scratch->path, SZ_MACHINE, "not a database");
}

static void a_device_is_refused(void **state)
{
	(void)state;
	struct sz_store *store = NULL;
	struct sz_err err = {0};
	assert_int_equal(sz_store_open("/dev/full", &store, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_null(store);
}

/* --- the user's own file --- */

static void assert_mode(const char *path, mode_t mode)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, mode);
}

static void it_is_made_for_its_owner_alone(void **state)
{
	struct scratch *scratch = *state;
	char home[128], path[256];
	snprintf(home, sizeof(home), "%s/home", scratch->directory);
	setenv("HOME", home, 1);
	setenv("XDG_STATE_HOME", "relative/is/ignored", 1);
	mode_t mask = umask(0);
	struct sz_err err = {0};
	int status = sz_store_open(NULL, &scratch->store, &err);
	umask(mask);
	assert_int_equal(status, 0);
	snprintf(path, sizeof(path), "%s/.local/state/sizeup/history.db", home);
	assert_string_equal(sz_store_path(scratch->store), path);
	assert_mode(path, 0600);
	*strrchr(path, '/') = '\0';
	assert_mode(path, 0700);
	unsetenv("XDG_STATE_HOME");
}

static void a_home_that_cannot_be_written_is_an_error(void **state)
{
	struct scratch *scratch = *state;
	struct sz_err err = {0};
	char below[128];
	run_sql(scratch->path, "CREATE TABLE t (a)");
	/* Below a regular file not even root can write. */
	snprintf(below, sizeof(below), "%s/state", scratch->path);
	setenv("XDG_STATE_HOME", below, 1);
	assert_int_equal(sz_store_open(NULL, &scratch->store, &err), -1);
	unsetenv("XDG_STATE_HOME");
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(err.errnum, ENOTDIR);
	assert_null(scratch->store);
}

/* --- a disk that is full --- */

static void a_full_disk_keeps_what_was_stored(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep, resumed;
	struct sz_err err = {0};
	size_t kept = 0;
	describe(&sweep);
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	assert_int_equal(sz_store_exec(scratch->store, "PRAGMA max_page_count = 12", &err), 0);
	for (int status = 0; status == 0 && kept < 1000; kept += status == 0) {
		add_visit(&sweep, 1, (double)kept);
		status = sz_store_visit(scratch->store, run_id, &sweep, kept, &err);
	}
	assert_in_range(kept, 1, 999);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_non_null(strstr(err.message, "full"));
	assert_non_null(strstr(err.hint, "space"));

	/* Not half a visit, and nothing is locked. */
	assert_int_equal(sz_store_exec(scratch->store, "PRAGMA max_page_count = 1000", &err), 0);
	describe(&resumed);
	resume(scratch->store, &resumed);
	assert_int_equal(resumed.visit_count, kept);
	keep_visit(scratch->store, run_id, &sweep, kept);
	sz_sweep_fini(&sweep);
	sz_sweep_fini(&resumed);
}

static void a_damaged_run_is_left_alone(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int64_t newest = 0;
	describe(&sweep);
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	add_visit(&sweep, 1, 10);
	add_visit(&sweep, 2, 20);
	keep_visit(scratch->store, run_id, &sweep, 0);
	keep_visit(scratch->store, run_id, &sweep, 1);
	sz_sweep_fini(&sweep);
	assert_int_equal(sz_store_exec(scratch->store,
				       "UPDATE visit SET share = '[[1,' WHERE number = 1", &err),
			 0);
	describe(&sweep);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &newest, &sweep, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_int_equal(sweep.visit_count, 0);
	assert_int_equal(sweep.setting_count, 3);
	sz_sweep_fini(&sweep);
}

/* --- other writers --- */

static void a_lock_that_stays_is_an_error(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	struct sz_store *other;
	describe(&sweep);
	add_visit(&sweep, 1, 10);
	scratch_open(scratch);
	int64_t run_id = begin(scratch->store, &sweep);
	assert_int_equal(sz_store_open(scratch->path, &other, &err), 0);
	assert_int_equal(sz_store_transact(other, &err), 0);
	sqlite3_busy_timeout(scratch->store->db, 20);
	assert_int_equal(sz_store_visit(scratch->store, run_id, &sweep, 0, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_non_null(strstr(err.message, "locked"));
	sz_store_close(other);
	keep_visit(scratch->store, run_id, &sweep, 0);
	sz_sweep_fini(&sweep);
}

enum { WRITERS = 4, VISITS = 10 };

/* A whole run; never returns. */
static void write_run(const char *path)
{
	struct sz_store *store;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int64_t run_id;
	describe(&sweep);
	int status = sz_store_open(path, &store, &err);
	if (status == 0)
		status = sz_store_begin(store, &sweep, OPTIONS, &run_id, &err);
	for (size_t i = 0; status == 0 && i < VISITS; i++) {
		add_visit(&sweep, 1, 10);
		status = sz_store_visit(store, run_id, &sweep, i, &err);
	}
	if (status < 0)
		fprintf(stderr, "%s\n", err.message);
	_exit(status < 0);
}

static int count(struct sz_store *store, const char *sql)
{
	sz_autostatement sqlite3_stmt *statement = NULL;
	assert_int_equal(sz_store_prepare(store, sql, &statement, NULL), 0);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	return sqlite3_column_int(statement, 0);
}

/* The file itself does not exist yet: all make it, one does. */
static void runs_at_once_all_work(void **state)
{
	struct scratch *scratch = *state;
	pid_t writers[WRITERS];
	for (size_t i = 0; i < WRITERS; i++) {
		writers[i] = fork();
		if (writers[i] == 0)
			write_run(scratch->path);
		assert_true(writers[i] > 0);
	}
	for (size_t i = 0; i < WRITERS; i++) {
		int status;
		assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
		assert_int_equal(status, 0);
	}
	scratch_open(scratch);
	assert_int_equal(count(scratch->store, "SELECT count(*) FROM run"), WRITERS);
	assert_int_equal(count(scratch->store, "SELECT count(*) FROM visit"), WRITERS * VISITS);
}

/* Begins a run, tells so, and waits to be killed. */
static void hold_run(const char *path, int told)
{
	struct sz_store *store;
	struct sz_sweep sweep;
	int64_t run_id;
	describe(&sweep);
	if (sz_store_open(path, &store, NULL) < 0 ||
	    sz_store_begin(store, &sweep, OPTIONS, &run_id, NULL) < 0 || write(told, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void a_run_that_goes_on_is_not_resumed(void **state)
{
	struct scratch *scratch = *state;
	struct sz_sweep sweep;
	struct sz_err err = {0};
	int told[2];
	char byte;
	int64_t newest = 0;
	assert_int_equal(pipe(told), 0);
	pid_t holder = fork();
	if (holder == 0)
		hold_run(scratch->path, told[1]);
	close(told[1]);
	assert_int_equal(read(told[0], &byte, 1), 1);
	close(told[0]);

	describe(&sweep);
	scratch_open(scratch);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &newest, &sweep, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	kill(holder, SIGKILL);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	assert_int_equal(sz_store_resume(scratch->store, OPTIONS, &newest, &sweep, &err), 0);
	assert_int_equal(newest, 1);
	sz_sweep_fini(&sweep);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCRATCH_TEST(a_newer_format_is_refused),
		SCRATCH_TEST(a_foreign_database_is_refused),
		SCRATCH_TEST(garbage_is_refused),
		cmocka_unit_test(a_device_is_refused),
		SCRATCH_TEST(it_is_made_for_its_owner_alone),
		SCRATCH_TEST(a_home_that_cannot_be_written_is_an_error),
		SCRATCH_TEST(a_full_disk_keeps_what_was_stored),
		SCRATCH_TEST(a_damaged_run_is_left_alone),
		SCRATCH_TEST(a_lock_that_stays_is_an_error),
		SCRATCH_TEST(runs_at_once_all_work),
		SCRATCH_TEST(a_run_that_goes_on_is_not_resumed),
	};
	return cmocka_run_group_tests_name("trouble", tests, NULL, NULL);
}
