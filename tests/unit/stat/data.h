/* SPDX-License-Identifier: Apache-2.0
 *
 * Reference numbers of tests/data/stat. Not for anything but tests: what is
 * missing or malformed ends the test.
 */
#ifndef SZ_TESTS_UNIT_STAT_DATA_H
#define SZ_TESTS_UNIT_STAT_DATA_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h and what it wants come first. */

#define assert_near(value, expected, tolerance)                                                    \
	do {                                                                                       \
		double value_ = (value), expected_ = (expected);                                   \
		if (!(fabs(value_ - expected_) <= (tolerance)))                                    \
			fail_msg("%s is %.12g, not %.12g", #value, value_, expected_);             \
	} while (0)

static inline FILE *data_open(const char *name)
{
	char path[4096];
	const char *root = getenv("SIZEUP_TEST_DATA");
	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/stat/%s", root, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	return file;
}

static inline json_t *data_json(const char *name)
{
	FILE *file = data_open(name);
	json_t *root = json_loadf(file, 0, NULL);
	fclose(file);
	assert_non_null(root);
	return root;
}

static inline double data_number(const json_t *object, const char *key)
{
	const json_t *number = json_object_get(object, key);
	assert_true(json_is_number(number));
	return json_number_value(number);
}

static inline const char *data_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	assert_non_null(text);
	return text;
}

/* The fields of the next line of a CSV file; false at its end. */
static inline bool data_row(FILE *file, char line[200], char *field[], size_t fields)
{
	if (!fgets(line, 200, file))
		return false;
	char *rest = line;
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < fields; i++) {
		field[i] = strsep(&rest, ",");
		assert_non_null(field[i]);
	}
	return true;
}

#endif
