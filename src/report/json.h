/* SPDX-License-Identifier: Apache-2.0
 *
 * Small helpers over jansson: what is not known becomes null, never NaN.
 */
#ifndef SZ_REPORT_JSON_H
#define SZ_REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"

json_t *sz_json_number(double value); /* null for NaN */

/* Bytes that are no UTF-8 become '?': a command may hold anything, and text
 * that was cut may end inside a character. */
json_t *sz_json_text(const char *text);

json_t *sz_json_count(uint64_t value);
json_t *sz_json_bytes(int64_t bytes); /* null when negative */

/* {"p50": …, "max": …}: names and numbers in step. */
struct sz_json_field {
	const char *name;
	double value;
};
json_t *sz_json_numbers(const struct sz_json_field *fields, size_t count);

/* Append the document and a newline to out; takes the reference. */
void sz_json_write(json_t *document, struct sz_buf *out);

#endif
