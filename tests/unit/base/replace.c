/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/replace.h"

/* The test's own directory, which is the current one. */
static int enter(void **state)
{
	static char directory[32];
	snprintf(directory, sizeof(directory), "/tmp/sizeup-replace-XXXXXX");
	*state = mkdtemp(directory);
	return *state && chdir(directory) == 0 ? 0 : -1;
}

/* Fails when something is left that the test does not know of. */
static int leave(void **state)
{
	static const char *const names[] = {"file", "link", "dangling", "special"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++)
		unlink(names[i]);
	return chdir("/") == 0 ? rmdir(*state) : -1;
}

static int replace(const char *path, const char *text, struct sz_err *err)
{
	sz_autobuf struct sz_buf buf = {0};
	sz_buf_puts(&buf, text);
	return sz_replace(path, &buf, err);
}

static void assert_holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t len = fread(found, 1, sizeof(found) - 1, file);
	fclose(file);
	assert_int_equal(len, strlen(text));
	assert_string_equal(found, text);
}

static void assert_refused(const char *path, const char *says)
{
	struct sz_err err = {0};
	assert_int_equal(sz_replace_check(path, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, says));
	assert_true(err.hint[0]);
	memset(&err, 0, sizeof(err));
	assert_int_equal(replace(path, "x", &err), -1);
	assert_true(err.hint[0]);
}

static void the_new_is_its_owners_and_the_old_keeps_its_permissions(void **state)
{
	struct stat status;
	(void)state;
	assert_int_equal(sz_replace_check("file", NULL), 0);
	assert_int_equal(access("file", F_OK), -1);
	assert_int_equal(replace("file", "one", NULL), 0);
	assert_int_equal(stat("file", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(chmod("file", 0640), 0);
	assert_int_equal(replace("file", "two", NULL), 0);
	assert_int_equal(stat("file", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_holds("file", "two");
}

static void a_link_stays_and_leads_to_the_new(void **state)
{
	struct stat status;
	(void)state;
	assert_int_equal(replace("file", "old", NULL), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(sz_replace_check("link", NULL), 0);
	assert_int_equal(replace("link", "new", NULL), 0);
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_holds("file", "new");
}

static void what_is_no_file_stays(void **state)
{
	struct stat status;
	(void)state;
	assert_int_equal(mkfifo("special", 0600), 0);
	assert_int_equal(symlink("special", "link"), 0);
	assert_refused("special", "not a regular file");
	assert_refused("link", "not a regular file");
	assert_int_equal(lstat("special", &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	assert_refused(".", "not a regular file");
	assert_int_equal(symlink("nothing", "dangling"), 0);
	assert_refused("dangling", "does not exist");
	assert_refused("no/file", "cannot write");
	assert_refused("special/file", "cannot write");
}

static void a_device_stays(void **state)
{
	struct stat status;
	(void)state;
	/* As /dev/null; only root may, and not in every container. */
	if (mknod("special", S_IFCHR | 0600, makedev(1, 3)) < 0)
		skip();
	assert_refused("special", "not a regular file");
	assert_int_equal(stat("special", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

static void without_room_the_old_stays(void **state)
{
	struct rlimit before, none = {0};
	struct sz_err err = {0};
	(void)state;
	assert_int_equal(replace("file", "old", NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	int status = replace("file", "new", &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(status, -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_true(err.hint[0]);
	assert_holds("file", "old");
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(the_new_is_its_owners_and_the_old_keeps_its_permissions),
		IN_DIRECTORY(a_link_stays_and_leads_to_the_new),
		IN_DIRECTORY(what_is_no_file_stays),
		IN_DIRECTORY(a_device_stays),
		IN_DIRECTORY(without_room_the_old_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
