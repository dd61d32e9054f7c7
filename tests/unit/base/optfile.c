/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/optfile.h"

static void read_text(const char *text, struct sz_optfile *file)
{
	struct sz_err err = {0};
	if (sz_optfile_parse("x.yaml", text, strlen(text), file, &err) < 0)
		fail_msg("%s", err.message);
}

static void assert_pair(const struct sz_optfile *file, size_t i, const char *name,
			const char *const *values)
{
	const struct sz_optfile_pair *pair = &file->pair[i];
	assert_true(i < file->count);
	assert_string_equal(pair->name, name);
	for (size_t k = 0; values[k]; k++) {
		assert_true(k < pair->count);
		assert_string_equal(pair->value[k], values[k]);
	}
	assert_null(values[pair->count]);
	assert_null(pair->value[pair->count]);
}

#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void texts_stay_as_they_are(void **state)
{
	(void)state;
	struct sz_optfile file = {0};
	read_text("a: 010\nb: 1e3\nc: yes\nk: 1,2,4\ne: /cpu?ms=20\nf: ''\ng: \"~\"\n"
		  "h: \"x \\u00e4\\n\"\ni: |\n  one\n  two\nj: 12:30\n",
		  &file);
	assert_int_equal(file.count, 10);
	assert_pair(&file, 0, "a", VALUES("010"));
	assert_pair(&file, 1, "b", VALUES("1e3"));
	assert_pair(&file, 2, "c", VALUES("yes"));
	assert_pair(&file, 3, "k", VALUES("1,2,4"));
	assert_pair(&file, 4, "e", VALUES("/cpu?ms=20"));
	assert_pair(&file, 5, "f", VALUES(""));
	assert_pair(&file, 6, "g", VALUES("~"));
	assert_pair(&file, 7, "h", VALUES("x \xc3\xa4\n"));
	assert_pair(&file, 8, "i", VALUES("one\ntwo\n"));
	assert_pair(&file, 9, "j", VALUES("12:30"));
	assert_false(file.pair[2].quoted);
	assert_true(file.pair[5].quoted);
	assert_true(file.pair[8].quoted);
	sz_optfile_fini(&file);
}

static void lists_and_places(void **state)
{
	(void)state;
	struct sz_optfile file = {0};
	read_text("# first\nenv: [A=1, \"B={workers}\"]\n\ncommand:\n  - one\n  - --two\n", &file);
	assert_int_equal(file.count, 2);
	assert_pair(&file, 0, "env", VALUES("A=1", "B={workers}"));
	assert_pair(&file, 1, "command", VALUES("one", "--two"));
	assert_true(file.pair[0].is_list);
	assert_int_equal(file.pair[0].name_at.line, 2);
	assert_int_equal(file.pair[0].name_at.column, 1);
	assert_int_equal(file.pair[0].value_at.line, 2);
	assert_int_equal(file.pair[0].value_at.column, 6);
	assert_int_equal(file.pair[1].value_at.line, 5);
	assert_int_equal(file.pair[1].value_at.column, 3);
	sz_optfile_fini(&file);
}

/* One way of writing the same two pairs each. */
static void editors_differ(void **state)
{
	(void)state;
	static const char *const same[] = {
		"a: 1\nb: 2\n",
		"a: 1\r\nb: 2\r\n",
		"\xEF\xBB\xBF\x61: 1\nb: 2",
		"%YAML 1.2\n---\na: 1\nb: 2\n...\n",
		"{a: 1, b: 2}",
		"? a\n: 1\n? b\n: 2\n",
		"  a:\t1\n  b: 2 \t\n",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(same); i++) {
		struct sz_optfile file = {0};
		read_text(same[i], &file);
		assert_int_equal(file.count, 2);
		assert_pair(&file, 0, "a", VALUES("1"));
		assert_pair(&file, 1, "b", VALUES("2"));
		sz_optfile_fini(&file);
	}
}

static const struct {
	const char *text, *message;
} bad[] = {
	{"", "x.yaml:1:1: the file holds no options"},
	{"# only a remark\n", "x.yaml:2:1: the file holds no options"},
	{"--- \n", "x.yaml:2:1: the file must be a mapping"},
	{"just a text\n", "x.yaml:1:1: the file must be a mapping"},
	{"- a\n- b\n", "x.yaml:1:1: the file must be a mapping"},
	{"{}\n", "x.yaml:1:2: the mapping is empty"},
	{"a: 1\nb: 2\n'a': 3\n", "x.yaml:3:1: 'a' stands here again, after line 1"},
	{"a:\n", "x.yaml:1:3: a value is missing"},
	{"a: 1\nb: ~\n", "x.yaml:2:4: a value is missing"},
	{"a: null\n", "x.yaml:1:4: a value is missing"},
	{"a:\n- 1\n-\n", "x.yaml:3:2: a value is missing"},
	{"a: []\n", "x.yaml:1:5: the list is empty"},
	{"a: {b: 1}\n", "x.yaml:1:4: a list or a mapping stands where a text"},
	{"a:\n  - {workers}\n", "x.yaml:2:5: a list or a mapping stands where a text"},
	{"a: [[1]]\n", "x.yaml:1:5: a list or a mapping stands where a text"},
	{"? [a]\n: 1\n", "x.yaml:1:3: a list or a mapping stands where a text"},
	{"a: 1\n---\nb: 2\n", "x.yaml:2:1: a second document begins"},
	{"a: &x 1\n", "x.yaml:1:4: anchors"},
	{"a: *x\n", "x.yaml:1:4: anchors"},
	{"a: !!str 1\n", "x.yaml:1:4: anchors"},
	{"a: !mine [1]\n", "x.yaml:1:4: anchors"},
	{"a: &x [1]\n", "x.yaml:1:4: anchors"},
	{"&x a: 1\n", "x.yaml:1:1: anchors"},
	{"!!map {a: 1}\n", "x.yaml:1:1: anchors"},
	{"a: &x {b: 1}\n", "x.yaml:1:4: anchors"},
	{"<<: *x\n", "x.yaml:1:5: anchors"},
	{"a: \"1\\0002\"\n", "x.yaml:1:4: a text cannot hold NUL"},
	{"a: 1\n\tb: 2\n", "x.yaml:2:1: this is not YAML"},
	{"a: [A={workers}]\n", "x.yaml:1:7: this is not YAML"},
	{"a: 'open\n", "x.yaml:2:1: this is not YAML"},
	{"a: b: c\n", "x.yaml:1:5: this is not YAML"},
	{"a: \xff\n", "x.yaml:1:4: this is not YAML: invalid leading UTF-8"},
	{"a: 1\r\n# \xc3\xa4 \xc3(\n", "x.yaml:2:6: this is not YAML: invalid trailing UTF-8"},
	{"\xff\xfe\x61:", "x.yaml:1:1: this is not YAML: invalid leading UTF-8"},
	{"a: \x01\n", "x.yaml:1:4: this is not YAML: control characters"},
};

static void bad_files_say_where_and_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_err err = {0};
		struct sz_optfile file = {0};
		int status =
			sz_optfile_parse("x.yaml", bad[i].text, strlen(bad[i].text), &file, &err);
		if (status == 0 ||
		    strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
			fail_msg("'%s': '%s' is not '%s'", bad[i].text, err.message,
				 bad[i].message);
		assert_int_equal(err.code, SZ_USAGE);
		assert_true(err.hint[0]);
		assert_null(file.pair);
		assert_null(file.path);
	}
}

static void nesting_is_refused_where_it_begins(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf text = {0};
	struct sz_err err = {0};
	struct sz_optfile file = {0};
	sz_buf_puts(&text, "a: ");
	sz_buf_repeat(&text, '[', 60000);
	assert_int_equal(sz_optfile_parse("x", text.data, text.len, &file, &err), -1);
	assert_non_null(strstr(err.message, "x:1:5: a list or a mapping"));
}

/* --- from the disk --- */

static char scratch[] = "/tmp/sizeup-optfile-XXXXXX";

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	(void)state;
	return rmdir(scratch);
}

static const char *path_of(const char *name)
{
	static char path[64];
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return path;
}

static void write_remark(const char *path, size_t bytes)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs("a: 1\n", out);
	for (size_t i = 5; i < bytes; i++)
		fputc(i + 1 == bytes ? '\n' : '#', out);
	assert_int_equal(fclose(out), 0);
}

static void a_file_has_a_largest_size(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_optfile file = {0};
	const char *path = path_of("long");
	write_remark(path, SZ_OPTFILE_BYTES_MAX);
	assert_int_equal(sz_optfile_read(path, &file, &err), 0);
	assert_pair(&file, 0, "a", VALUES("1"));
	assert_string_equal(file.path, path);
	sz_optfile_fini(&file);
	write_remark(path, SZ_OPTFILE_BYTES_MAX + 1);
	assert_int_equal(sz_optfile_read(path, &file, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "more than 64 KiB"));
	remove(path);
}

static void assert_unreadable(const char *path, const char *why)
{
	struct sz_err err = {0};
	struct sz_optfile file = {0};
	assert_int_equal(sz_optfile_read(path, &file, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, path));
	assert_non_null(strstr(err.message, why));
}

static void only_files_are_read(void **state)
{
	(void)state;
	const char *path = path_of("fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_unreadable(path, "not a regular file");
	remove(path);
	assert_unreadable(path, "No such file");
	assert_unreadable(scratch, "not a regular file");
	assert_unreadable("/dev/null", "not a regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_stay_as_they_are),
		cmocka_unit_test(lists_and_places),
		cmocka_unit_test(editors_differ),
		cmocka_unit_test(bad_files_say_where_and_why),
		cmocka_unit_test(nesting_is_refused_where_it_begins),
		cmocka_unit_test(a_file_has_a_largest_size),
		cmocka_unit_test(only_files_are_read),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
