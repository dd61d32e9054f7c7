/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

json_t *sz_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *sz_json_text(const char *text)
{
	json_t *string = json_string(text);
	if (string)
		return string;
	sz_autofree char *copy = strdup(text);
	for (char *byte = copy; byte && *byte; byte++) {
		if ((unsigned char)*byte >= 0x80)
			*byte = '?';
	}
	return copy ? json_string(copy) : NULL;
}

json_t *sz_json_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *sz_json_bytes(int64_t bytes)
{
	return bytes < 0 ? json_null() : json_integer(bytes);
}

json_t *sz_json_numbers(const struct sz_json_field *fields, size_t count)
{
	json_t *object = json_object();
	for (size_t i = 0; i < count; i++)
		json_object_set_new(object, fields[i].name, sz_json_number(fields[i].value));
	return object;
}

void sz_json_write(json_t *document, struct sz_buf *out)
{
	/* Six significant digits: more would only look precise. */
	sz_autofree char *text =
		document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) : NULL;
	json_decref(document);
	if (!text) {
		out->failed = true;
		return;
	}
	sz_buf_puts(out, text);
	sz_buf_puts(out, "\n");
}
