/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct {
	const char *name, *why;
} reserved[] = {
	{"Connection", "how long connections last is the load's to say (--reconnect-every)"},
	{"Content-Length", "it follows from the body"},
	{"Expect", "bodies are sent without asking first"},
	{"HTTP2-Settings", "connections do not change their protocol"},
	{"Keep-Alive", "how long connections last is the load's to say (--reconnect-every)"},
	{"Proxy-Connection", "requests go to the service itself, through no proxy"},
	{"TE", "answers are taken without trailers"},
	{"Trailer", "bodies are sent without trailers"},
	{"Transfer-Encoding", "bodies are sent with their length, or in chunks by --streamed"},
	{"Upgrade", "connections do not change their protocol"},
};

/* Any header whose name holds one of these. When in doubt it is a secret. */
static const char *const secret_names[] = {"AUTH",   "COOKIE",  "CREDENTIAL", "KEY",  "PASS",
					   "SECRET", "SESSION", "SIGNATURE",  "TOKEN"};

/* Headers that say one thing: a second one would contradict the first. */
static const char *const single_names[] = {"Authorization", "Content-Type", "User-Agent"};

bool sz_is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		if (byte <= ' ' || byte >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", byte))
			return false;
	}
	return len > 0;
}

const char *sz_header_reserved(const char *name)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(reserved); i++) {
		if (strcasecmp(name, reserved[i].name) == 0)
			return reserved[i].why;
	}
	return NULL;
}

bool sz_header_is_secret(const char *name)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(secret_names); i++) {
		if (strcasestr(name, secret_names[i]))
			return true;
	}
	return false;
}

/* --- checks --- */

/* application/grpc, application/grpc+proto; application/grpc-web is plain HTTP. */
static bool is_grpc(const char *name, const char *value)
{
	static const char type[] = "application/grpc";
	const size_t len = sizeof(type) - 1;
	return strcasecmp(name, "Content-Type") == 0 && strncasecmp(value, type, len) == 0 &&
	       (value[len] == '\0' || strchr("+; \t", value[len]));
}

static bool is_host(const char *value)
{
	return *value && value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789.-_:[]")] == '\0';
}

static bool holds_control(const char *value)
{
	for (; *value; value++) {
		unsigned char byte = (unsigned char)*value;
		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return true;
	}
	return false;
}

int sz_header_check(const char *name, const char *value, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	size_t len = strlen(name);
	if (!sz_is_token(name, len)) {
		sz_err_set(err, SZ_USAGE, 0, "'%s' cannot be the name of a header",
			   sz_input_quote(name, len, quote));
		return sz_err_hint(err, "write it like 'Accept: text/html', without a blank "
					"before the colon");
	}
	const char *why = sz_header_reserved(name);
	if (why)
		return sz_err_set(err, SZ_USAGE, 0, "the header %s cannot be set: %s", name, why);
	sz_input_quote(name, len, quote);
	if (holds_control(value)) {
		sz_err_set(err, SZ_USAGE, 0, "the value of the header %s holds a control character",
			   quote);
		return sz_err_hint(err, "a header is one line");
	}
	if (strcasecmp(name, "Host") == 0 && !is_host(value)) {
		sz_err_set(err, SZ_USAGE, 0, "the value of the header Host is no host name");
		return sz_err_hint(err, "write it like 'Host: www.example.org' or with a port");
	}
	if (is_grpc(name, value)) {
		sz_err_set(err, SZ_USAGE, 0, "gRPC is not supported");
		return sz_err_hint(err, "load a plain HTTP end point of the same service, or use "
					"ghz, which speaks gRPC");
	}
	return 0;
}

/* --- the headers of a set --- */

static bool is_single(const char *name)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(single_names); i++) {
		if (strcasecmp(name, single_names[i]) == 0)
			return true;
	}
	return false;
}

static bool has(const struct sz_requests *requests, const char *name)
{
	for (size_t i = 0; i < requests->shared_count; i++) {
		if (strcasecmp(requests->shared[i].name, name) == 0)
			return true;
	}
	return false;
}

static int append(struct sz_requests *requests, const char *name, const char *value,
		  struct sz_err *err)
{
	struct sz_header header = {
		.name = sz_arena_copy(&requests->arena, name, strlen(name)),
		.value = sz_arena_copy(&requests->arena, value, strlen(value)),
		.is_secret = sz_header_is_secret(name),
	};
	if (!header.name || !header.value ||
	    sz_grow(&requests->shared, &requests->shared_cap, requests->shared_count + 1,
		    sizeof(header)) < 0)
		return sz_err_nomem(err);
	requests->shared[requests->shared_count++] = header;
	return 0;
}

static int given_twice(const char *name, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "the header %s is given twice", name);
	return sz_err_hint(err, "give one of them");
}

int sz_headers_add(struct sz_requests *requests, const char *name, const char *value,
		   struct sz_err *err)
{
	if (sz_header_check(name, value, err) < 0)
		return -1;
	bool is_host_header = strcasecmp(name, "Host") == 0;
	if (is_host_header ? requests->host != NULL : is_single(name) && has(requests, name))
		return given_twice(name, err);
	if (!is_host_header)
		return append(requests, name, value, err);
	requests->host = sz_arena_copy(&requests->arena, value, strlen(value));
	return requests->host ? 0 : sz_err_nomem(err);
}

/* --- lines --- */

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* The line may be a secret that was put into the wrong place, so it is not
 * quoted. */
static int not_a_header(const char *why, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "this is no header: %s", why);
	return sz_err_hint(err, "write it like 'Accept: text/html'");
}

int sz_headers_add_line(struct sz_requests *requests, const char *line, size_t len,
			struct sz_err *err)
{
	const char *colon = memchr(line, ':', len);
	if (memchr(line, '\0', len))
		return not_a_header("it holds a NUL character", err);
	if (!colon)
		return not_a_header("it has no colon", err);
	const char *value = colon + 1, *end = line + len;
	while (value < end && is_blank(*value))
		value++;
	while (end > value && is_blank(end[-1]))
		end--;
	sz_autofree char *name_text = strndup(line, (size_t)(colon - line));
	sz_autofree char *value_text = strndup(value, (size_t)(end - value));
	if (!name_text || !value_text)
		return sz_err_nomem(err);
	return sz_headers_add(requests, name_text, value_text, err);
}

int sz_headers_add_lines(struct sz_requests *requests, const char *name, const char *text,
			 size_t len, struct sz_err *err)
{
	size_t at = 0, line_len, number = 0;
	for (const char *line; (line = sz_input_line(text, len, &at, &line_len));) {
		number++;
		if (sz_headers_add_line(requests, line, line_len, err) < 0)
			return sz_err_wrap(err, "%.200s:%zu", name, number);
	}
	return 0;
}
