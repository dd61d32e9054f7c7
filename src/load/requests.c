/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/mem.h"
#include "base/units.h"

#define SECRET_MAX_BYTES ((size_t)64 * 1024)

const char *sz_left_out_name(enum sz_left_out why)
{
	static const char *const names[SZ_LEFT_OUT_COUNT] = {
		[SZ_LEFT_OUT_ORIGIN] = "they go to another origin than the page",
		[SZ_LEFT_OUT_SCHEME] = "they are not http or https",
		[SZ_LEFT_OUT_CACHED] = "the browser had the answer in its cache",
		[SZ_LEFT_OUT_BODY] = "their body is not known",
		[SZ_LEFT_OUT_NOT_HTTP] = "they are no HTTP",
		[SZ_LEFT_OUT_MALFORMED] = "the line is malformed",
	};
	return names[why];
}

int sz_requests_keep_body(struct sz_requests *requests, const char *bytes, size_t len,
			  const char **body, struct sz_err *err)
{
	if (len > SZ_REQUESTS_BODIES_MAX_BYTES - requests->body_bytes_total) {
		char most[SZ_UNIT_TEXT];
		sz_format_bytes(most, (double)SZ_REQUESTS_BODIES_MAX_BYTES);
		sz_err_set(err, SZ_USAGE, 0, "the bodies of the requests exceed %s together", most);
		return sz_err_hint(err, "give a part of the requests, or shorter bodies");
	}
	const char *copy = sz_arena_copy(&requests->arena, bytes, len);
	if (!copy)
		return sz_err_nomem(err);
	requests->body_bytes_total += len;
	*body = copy;
	return 0;
}

/* --- secrets --- */

static int note_exposed(struct sz_requests *requests, const char *path, mode_t mode,
			struct sz_err *err)
{
	if (!(mode & S_IROTH) || requests->exposed_file)
		return 0;
	requests->exposed_file = sz_arena_copy(&requests->arena, path, strlen(path));
	return requests->exposed_file ? 0 : sz_err_nomem(err);
}

/* The first line of a file. */
static int read_secret(struct sz_requests *requests, const char *path, struct sz_buf *file,
		       struct sz_err *err)
{
	mode_t mode;
	if (sz_input_read(path, SECRET_MAX_BYTES, file, &mode, err) < 0)
		return -1;
	sz_buf_puts(file, "");
	if (file->failed)
		return sz_err_nomem(err);
	size_t len = strcspn(file->data, "\r\n");
	/* A NUL before the line's end, or nothing but the end. */
	if (len == 0 || (len == strlen(file->data) && len < file->len)) {
		sz_err_set(err, SZ_USAGE, 0, "the first line of %.200s is not a line of text",
			   path);
		return sz_err_hint(err, "write the secret, and nothing else, on its first line");
	}
	file->data[len] = '\0';
	return note_exposed(requests, path, mode, err);
}

/* RFC 4648, 4. */
static void append_base64(const char *text, struct sz_buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)text;
	for (size_t left = strlen(text); left > 0;) {
		size_t taken = left < 3 ? left : 3;
		unsigned group = (unsigned)in[0] << 16 | (taken > 1 ? (unsigned)in[1] << 8 : 0) |
				 (taken > 2 ? in[2] : 0);
		char quad[4] = {digits[group >> 18], digits[group >> 12 & 63],
				taken > 1 ? digits[group >> 6 & 63] : '=',
				taken > 2 ? digits[group & 63] : '='};
		sz_buf_append(out, quad, sizeof(quad));
		in += taken;
		left -= taken;
	}
}

static int bearer_value(const char *secret, struct sz_buf *value, struct sz_err *err)
{
	if (strpbrk(secret, " \t")) {
		sz_err_set(err, SZ_USAGE, 0, "a token holds no blanks");
		return sz_err_hint(err, "write the token alone, without the word Bearer");
	}
	sz_buf_printf(value, "Bearer %s", secret);
	return 0;
}

static int basic_value(const char *secret, struct sz_buf *value, struct sz_err *err)
{
	if (!strchr(secret, ':')) {
		sz_err_set(err, SZ_USAGE, 0, "user and password are not separated by a colon");
		return sz_err_hint(err, "write the first line like USER:PASSWORD");
	}
	sz_buf_puts(value, "Basic ");
	append_base64(secret, value);
	return 0;
}

static int cookie_value(const char *secret, struct sz_buf *value, struct sz_err *err)
{
	if (!strchr(secret, '=')) {
		sz_err_set(err, SZ_USAGE, 0, "a cookie has a name and a value");
		return sz_err_hint(err, "write the first line like NAME=VALUE; NAME=VALUE");
	}
	sz_buf_puts(value, secret);
	return 0;
}

typedef int value_fn(const char *secret, struct sz_buf *value, struct sz_err *err);

static int add_secret(struct sz_requests *requests, const char *path, const char *name,
		      value_fn *make_value, struct sz_err *err)
{
	sz_autobuf struct sz_buf file = {0}, value = {0};
	if (!path)
		return 0;
	if (read_secret(requests, path, &file, err) < 0)
		return -1;
	if (make_value(file.data, &value, err) < 0)
		return sz_err_wrap(err, "%.200s", path);
	if (value.failed)
		return sz_err_nomem(err);
	if (sz_headers_add(requests, name, value.data, err) < 0)
		return sz_err_wrap(err, "%.200s", path);
	return 0;
}

static int add_secrets(struct sz_requests *requests, const struct sz_requests_config *config,
		       struct sz_err *err)
{
	const struct {
		const char *path, *name;
		value_fn *make_value;
	} secrets[] = {
		{config->bearer_file, "Authorization", bearer_value},
		{config->basic_file, "Authorization", basic_value},
		{config->cookie_file, "Cookie", cookie_value},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(secrets); i++) {
		if (add_secret(requests, secrets[i].path, secrets[i].name, secrets[i].make_value,
			       err) < 0)
			return -1;
	}
	return 0;
}

/* --- what all requests have in common --- */

static int add_header_file(struct sz_requests *requests, const char *path, struct sz_err *err)
{
	sz_autobuf struct sz_buf file = {0};
	mode_t mode;
	size_t before = requests->shared_count;
	if (sz_input_read(path, SZ_REQUEST_HEAD_MAX_BYTES, &file, &mode, err) < 0 ||
	    sz_headers_add_lines(requests, path, sz_buf_text(&file), file.len, err) < 0)
		return -1;
	for (size_t i = before; i < requests->shared_count; i++) {
		if (requests->shared[i].is_secret)
			return note_exposed(requests, path, mode, err);
	}
	return 0;
}

static int add_headers(struct sz_requests *requests, char *const *headers, struct sz_err *err)
{
	for (size_t i = 0; headers && headers[i]; i++) {
		const char *text = headers[i];
		if (*text == '@' ? add_header_file(requests, text + 1, err) < 0
				 : sz_headers_add_line(requests, text, strlen(text), err) < 0)
			return sz_err_wrap(err, "header %zu", i + 1);
	}
	return 0;
}

static int set_body(struct sz_requests *requests, const char *body, struct sz_err *err)
{
	sz_autobuf struct sz_buf bytes = {0};
	if (!body)
		return 0;
	if (*body != '@')
		sz_buf_puts(&bytes, body);
	else if (sz_input_read(body + 1, SZ_REQUESTS_BODIES_MAX_BYTES, &bytes, NULL, err) < 0)
		return sz_err_wrap(err, "body");
	if (bytes.failed)
		return sz_err_nomem(err);
	requests->body_bytes = bytes.len;
	return sz_requests_keep_body(requests, sz_buf_text(&bytes), bytes.len, &requests->body,
				     err);
}

static int set_method(struct sz_requests *requests, const char *method, struct sz_err *err)
{
	if (!method)
		return 0;
	requests->method = sz_arena_copy(&requests->arena, method, strlen(method));
	return requests->method ? 0 : sz_err_nomem(err);
}

static int set_unix_path(struct sz_requests *requests, const char *path, struct sz_err *err)
{
	const size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
	if (!path)
		return 0;
	if (!*path || strlen(path) > most) {
		sz_err_set(err, SZ_USAGE, 0, "the path of a unix socket has 1 to %zu bytes", most);
		return sz_err_hint(err, "give a shorter one, as one relative to the directory");
	}
	requests->unix_path = sz_arena_copy(&requests->arena, path, strlen(path));
	return requests->unix_path ? 0 : sz_err_nomem(err);
}

static int set_base(struct sz_requests *requests, const char *url, struct sz_err *err)
{
	struct sz_origin origin;
	const char *target;
	if (!url)
		return 0;
	if (sz_origin_parse(url, &origin, &target, err) < 0)
		return -1;
	if (strcmp(target, "/") != 0) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' has a path, but the requests have their own",
			   url);
		return sz_err_hint(err, "give scheme, host and port alone");
	}
	struct sz_origin *base = sz_arena_alloc(&requests->arena, sizeof(*base));
	if (!base)
		return sz_err_nomem(err);
	*base = origin;
	requests->base = base;
	return 0;
}

static int set_all(struct sz_requests *requests, const struct sz_requests_config *config,
		   struct sz_err *err)
{
	const char *expected = config->expected ? config->expected : "2xx,3xx";
	requests->keep_secrets = config->keep_secrets;
	requests->is_http10 = config->is_http10;
	requests->framing = config->framing;
	if (sz_statuses_parse(expected, &requests->expected, err) < 0 ||
	    set_base(requests, config->base, err) < 0 ||
	    set_unix_path(requests, config->unix_socket, err) < 0 ||
	    set_method(requests, config->method, err) < 0 ||
	    set_body(requests, config->body, err) < 0 ||
	    add_headers(requests, config->headers, err) < 0 ||
	    add_secrets(requests, config, err) < 0)
		return -1;
	return 0;
}

int sz_requests_new(const struct sz_requests_config *config, struct sz_requests **requests,
		    struct sz_err *err)
{
	struct sz_requests *made = calloc(1, sizeof(*made));
	if (!made)
		return sz_err_nomem(err);
	if (set_all(made, config, err) < 0) {
		sz_requests_free(made);
		return -1;
	}
	*requests = made;
	return 0;
}

void sz_requests_free(struct sz_requests *requests)
{
	if (!requests)
		return;
	free(requests->items);
	free(requests->origins);
	free(requests->shared);
	sz_arena_fini(&requests->arena);
	free(requests);
}

int sz_requests_read_file(struct sz_requests *requests, sz_requests_reader *reader,
			  const char *path, struct sz_err *err)
{
	sz_autobuf struct sz_buf file = {0};
	mode_t mode;
	if (sz_input_read(path, SZ_REQUESTS_FILE_MAX_BYTES, &file, &mode, err) < 0 ||
	    reader(requests, path, sz_buf_text(&file), file.len, err) < 0)
		return -1;
	return reader == sz_requests_read_message ? note_exposed(requests, path, mode, err) : 0;
}
