/* SPDX-License-Identifier: Apache-2.0
 *
 * One request as a text: its line, headers, an empty line, the body. Editors know
 * such files as .http.
 */
#include "load/requests-inside.h"

#include <string.h>

#include "base/mem.h"

/* Up to the empty line or the end. */
static int read_headers(struct sz_requests *requests, const char *name, const char *text,
			size_t len, size_t *at, struct sz_err *err)
{
	size_t line_len, number = 1;
	for (const char *line; (line = sz_input_line(text, len, at, &line_len)) && line_len > 0;) {
		number++;
		if (sz_headers_add_line(requests, line, line_len, err) < 0)
			return sz_err_wrap(err, "%.200s:%zu", name, number);
	}
	return 0;
}

/* Editors end every file with a line's end, which no form or token would have. */
static size_t without_line_end(const char *text, size_t len)
{
	if (len && text[len - 1] == '\n')
		len--;
	return len && text[len - 1] == '\r' ? len - 1 : len;
}

static int read_body(struct sz_requests *requests, const char *text, size_t len, struct sz_err *err)
{
	len = without_line_end(text, len);
	if (len == 0)
		return 0;
	requests->body_bytes = len;
	return sz_requests_keep_body(requests, text, len, &requests->body, err);
}

static int add_request(struct sz_requests *requests, const char *line, size_t len,
		       struct sz_err *err)
{
	sz_autofree char *copy = strndup(line, len);
	if (!copy)
		return sz_err_nomem(err);
	if (strlen(copy) != len)
		return sz_err_set(err, SZ_USAGE, 0, "the request holds a NUL character");
	if (sz_requests_add(requests, copy, err) < 0)
		return -1;
	const struct sz_request *added = &requests->items[requests->count - 1];
	if (!requests->body || added->body)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "a request with %s has no body", added->method);
	return sz_err_hint(err, "write POST, or leave out what is below the empty line");
}

int sz_requests_read_message(struct sz_requests *requests, const char *name, const char *text,
			     size_t len, struct sz_err *err)
{
	size_t at = 0, line_len;
	const char *line = sz_input_line(text, len, &at, &line_len);
	if (!line || line_len == 0) {
		sz_err_set(err, SZ_USAGE, 0, "%.200s does not begin with a request", name);
		return sz_err_hint(err, "write its line first, like POST /login; then headers, an "
					"empty line, and the body");
	}
	if (read_headers(requests, name, text, len, &at, err) < 0)
		return -1;
	if (read_body(requests, text + at, len - at, err) < 0 ||
	    add_request(requests, line, line_len, err) < 0)
		return sz_err_wrap(err, "%.200s:1", name);
	return 0;
}
