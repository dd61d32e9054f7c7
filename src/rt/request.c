/* SPDX-License-Identifier: Apache-2.0
 *
 * What the application is told of a request; pure functions on its text.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/inside.h"

static const struct sz_rt_conn *conn_of(const struct sz_rt_request *request)
{
	return (const struct sz_rt_conn *)(const void *)((const char *)request -
							 offsetof(struct sz_rt_conn, request));
}

const char *sz_rt_method(const struct sz_rt_request *request)
{
	return conn_of(request)->parser.method;
}

const char *sz_rt_path(const struct sz_rt_request *request)
{
	return conn_of(request)->parser.target;
}

/* The value of the first `name=value` in the query; NULL when there is none. */
static const char *find_value(const char *query, const char *name, size_t *len)
{
	size_t name_len = strlen(name);
	while (*query) {
		size_t pair_len = strcspn(query, "&");
		if (pair_len >= name_len && strncmp(query, name, name_len) == 0) {
			if (pair_len == name_len) {
				*len = 0;
				return query + name_len;
			}
			if (query[name_len] == '=') {
				*len = pair_len - name_len - 1;
				return query + name_len + 1;
			}
		}
		query += pair_len + (query[pair_len] == '&');
	}
	return NULL;
}

/* "2%2E5" is "2.5". False when it does not fit or is no valid encoding. */
static bool percent_decode(const char *text, size_t len, char *decoded, size_t size)
{
	size_t at = 0;
	for (size_t i = 0; i < len; i++) {
		char byte = text[i];
		if (at + 1 == size)
			return false;
		if (byte == '%') {
			if (i + 2 >= len || !isxdigit((unsigned char)text[i + 1]) ||
			    !isxdigit((unsigned char)text[i + 2]))
				return false;
			char digits[3] = {text[i + 1], text[i + 2]};
			byte = (char)strtoul(digits, NULL, 16);
			i += 2;
		}
		decoded[at++] = byte;
	}
	decoded[at] = '\0';
	return strlen(decoded) == at;
}

double sz_rt_query_number(const struct sz_rt_request *request, const char *name, double fallback)
{
	char text[64];
	char *end;
	size_t len;
	const char *value = find_value(request->query, name, &len);
	if (!value)
		return fallback;
	/* Digits and a point only: strtod() would take "inf", "-1" and "0x1". */
	if (!percent_decode(value, len, text, sizeof(text)) ||
	    text[strspn(text, "0123456789.")] != '\0')
		return (double)NAN;
	double number = strtod(text, &end);
	return end != text && *end == '\0' ? number : (double)NAN;
}
