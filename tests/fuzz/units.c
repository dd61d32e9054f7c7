/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities as people write them: outputs untouched on failure, and what was
 * accepted keeps its promises.
 */
#include "base/units.h"
#include "fuzz.h"

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

typedef int parse_fn(const char *text, uint64_t *value, struct sz_err *err);

static void parse_number(parse_fn *parse, const char *text)
{
	struct sz_err err = {0};
	uint64_t value = UNTOUCHED;
	if (parse(text, &value, &err) == 0)
		return;
	FUZZ_CHECK(value == UNTOUCHED);
	FUZZ_CHECK(err.code == SZ_USAGE && err.message[0]);
}

static void parse_settings(const char *text)
{
	struct sz_err err = {0};
	struct sz_settings settings = {0};
	if (sz_parse_settings(text, &settings, &err) < 0) {
		FUZZ_CHECK(settings.count == 0 && err.code == SZ_USAGE && err.message[0]);
		return;
	}
	FUZZ_CHECK(settings.count >= 1 && settings.count <= SZ_SETTINGS_MAX);
	FUZZ_CHECK(settings.value[0] >= 1);
	for (size_t i = 1; i < settings.count; i++)
		FUZZ_CHECK(settings.value[i - 1] < settings.value[i]);
	FUZZ_CHECK(settings.value[settings.count - 1] <= SZ_SETTING_VALUE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	parse_number(sz_parse_count, text);
	parse_number(sz_parse_duration_ns, text);
	parse_number(sz_parse_bytes, text);
	parse_settings(text);
	free(text);
	return 0;
}
