/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of options: outputs untouched and a place told on failure; what was
 * accepted has names, values and places, and no name twice.
 */
#include "base/optfile.h"
#include "fuzz.h"

static void check_mark(struct sz_mark at)
{
	FUZZ_CHECK(at.line >= 1 && at.column >= 1);
}

static void check_pair(const struct sz_optfile *file, size_t i)
{
	const struct sz_optfile_pair *pair = &file->pair[i];
	check_mark(pair->name_at);
	check_mark(pair->value_at);
	FUZZ_CHECK(pair->count >= 1 && !pair->value[pair->count]);
	FUZZ_CHECK(pair->is_list || pair->count == 1);
	FUZZ_CHECK(!(pair->is_list && pair->quoted));
	for (size_t k = 0; k < pair->count; k++)
		FUZZ_CHECK(pair->value[k]);
	for (size_t k = 0; k < i; k++)
		FUZZ_CHECK(strcmp(file->pair[k].name, pair->name) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sz_err err = {0};
	struct sz_optfile file = {0};
	if (sz_optfile_parse("f", (const char *)data, size, &file, &err) < 0) {
		FUZZ_CHECK(!file.path && !file.pair && file.count == 0);
		FUZZ_CHECK(err.code == SZ_USAGE && strncmp(err.message, "f:", 2) == 0);
		FUZZ_CHECK(err.hint[0]);
		return 0;
	}
	FUZZ_CHECK(file.count >= 1);
	for (size_t i = 0; i < file.count; i++)
		check_pair(&file, i);
	sz_optfile_fini(&file);
	return 0;
}
