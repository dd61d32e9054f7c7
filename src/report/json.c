/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

json_t *sz_json_number(double value)
{
	if (!isfinite(value))
		return json_null();
	char digits[40];
	snprintf(digits, sizeof(digits), "%.6g", value);
	return json_real(strtod(digits, NULL));
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
	sz_autofree char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
	json_decref(document);
	if (!text) {
		out->failed = true;
		return;
	}
	sz_buf_puts(out, text);
	sz_buf_puts(out, "\n");
}
