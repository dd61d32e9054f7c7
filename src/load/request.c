/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define CHUNK_BYTES 16384

/* --- checks --- */

bool sz_method_is_sound(const char *method)
{
	size_t len = strlen(method);
	return len <= SZ_REQUEST_METHOD_MAX_BYTES && sz_is_token(method, len);
}

static int check_method(const char *method, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	if (!sz_method_is_sound(method)) {
		sz_err_set(err, SZ_USAGE, 0, "'%s' is not an HTTP method",
			   sz_input_quote(method, strlen(method), quote));
		return sz_err_hint(err,
				   "give GET, HEAD, POST, PUT, PATCH, DELETE or another "
				   "word of at most %zu letters",
				   SZ_REQUEST_METHOD_MAX_BYTES);
	}
	if (strcmp(method, "CONNECT") != 0)
		return 0;
	sz_err_set(err, SZ_USAGE, 0,
		   "CONNECT is not supported: it asks for a tunnel, not for an "
		   "answer");
	return sz_err_hint(err, "load the service itself, not through a proxy");
}

static int check_target(const char *target, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	const char *why = sz_url_bytes_fault(target);
	if (*target != '/' && *target != '?')
		why = "it does not start with /";
	if (strlen(target) > SZ_REQUEST_TARGET_MAX_BYTES)
		why = "it is longer than 8 KiB";
	if (!why)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "'%s' cannot be requested: %s",
		   sz_input_quote(target, strlen(target), quote), why);
	return sz_err_hint(err, "give path and query as they are sent, like /find?q=a%%20b");
}

static int check_parts(const struct sz_requests *requests, const struct sz_request_parts *parts,
		       struct sz_err *err)
{
	if (requests->count == SZ_REQUESTS_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "there are more than %d requests", SZ_REQUESTS_MAX);
		return sz_err_hint(err, "give a part of them, or several loads");
	}
	if (!(parts->weight > 0 && parts->weight <= SZ_REQUEST_WEIGHT_MAX)) {
		sz_err_set(err, SZ_USAGE, 0, "a request cannot have the weight %g", parts->weight);
		return sz_err_hint(err, "give a number above 0, at most %.0f",
				   SZ_REQUEST_WEIGHT_MAX);
	}
	for (size_t i = 0; i < parts->header_count; i++) {
		if (sz_header_check(parts->headers[i].name, parts->headers[i].value, err) < 0)
			return -1;
	}
	return check_method(parts->method, err) < 0 ? -1 : check_target(parts->target, err);
}

/* --- headers --- */

static bool holds(const struct sz_header *headers, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(headers[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool copy_header(struct sz_requests *requests, const struct sz_header *header,
			struct sz_header *copy)
{
	copy->name = sz_arena_copy(&requests->arena, header->name, strlen(header->name));
	copy->value = sz_arena_copy(&requests->arena, header->value, strlen(header->value));
	copy->is_secret = sz_header_is_secret(header->name);
	return copy->name && copy->value;
}

/* A request with these methods and no body says so (RFC 9110, 8.6). */
static bool expects_body(const char *method)
{
	return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
	       strcmp(method, "PATCH") == 0;
}

static bool add_length(struct sz_requests *requests, const struct sz_request_parts *parts,
		       struct sz_header *header)
{
	char length[24];
	int len = snprintf(length, sizeof(length), "%zu", parts->body_bytes);
	*header = (struct sz_header){
		.name = "Content-Length",
		.value = sz_arena_copy(&requests->arena, length, (size_t)len),
	};
	return header->value != NULL;
}

static int gather_headers(struct sz_requests *requests, const struct sz_request_parts *parts,
			  struct sz_request *request, struct sz_err *err)
{
	size_t room = parts->header_count + requests->shared_count + 2;
	struct sz_header *headers = sz_arena_alloc(&requests->arena, room * sizeof(*headers));
	size_t count = 0;
	if (!headers)
		return sz_err_nomem(err);
	for (size_t i = 0; i < parts->header_count; i++) {
		if (holds(requests->shared, requests->shared_count, parts->headers[i].name))
			continue;
		if (!copy_header(requests, &parts->headers[i], &headers[count++]))
			return sz_err_nomem(err);
	}
	if (requests->shared_count)
		memcpy(&headers[count], requests->shared,
		       requests->shared_count * sizeof(*headers));
	count += requests->shared_count;
	if (!holds(headers, count, "User-Agent"))
		headers[count++] =
			(struct sz_header){"User-Agent", "sizeup/" SIZEUP_VERSION, false};
	if (parts->body && requests->framing == SZ_FRAMED_BY_CHUNKS) {
		headers[count++] = (struct sz_header){"Transfer-Encoding", "chunked", false};
	} else if (parts->body ? requests->framing == SZ_FRAMED_BY_LENGTH
			       : expects_body(parts->method)) {
		if (!add_length(requests, parts, &headers[count++]))
			return sz_err_nomem(err);
	}
	request->headers = headers;
	request->header_count = count;
	return 0;
}

/* --- bytes --- */

static int write_head(struct sz_requests *requests, struct sz_request *request, struct sz_err *err)
{
	sz_autobuf struct sz_buf head = {0};
	sz_buf_printf(&head, "%s %s HTTP/1.%d\r\nHost: %s\r\n", request->method, request->target,
		      requests->is_http10 ? 0 : 1, request->host);
	for (size_t i = 0; i < request->header_count; i++) {
		const struct sz_header *header = &request->headers[i];
		sz_buf_printf(&head, "%s: %s\r\n", header->name, header->value);
		if (strcasecmp(header->name, "Cookie") != 0)
			continue;
		request->has_cookie = true;
		request->cookie_at = head.len - strlen("\r\n");
	}
	if (!request->has_cookie)
		request->cookie_at = head.len - strlen("\r\n");
	sz_buf_puts(&head, "\r\n");
	if (head.failed)
		return sz_err_nomem(err);
	if (head.len > SZ_REQUEST_HEAD_MAX_BYTES) {
		sz_err_set(err, SZ_USAGE, 0, "a request has more than %zu KiB of headers",
			   SZ_REQUEST_HEAD_MAX_BYTES / 1024);
		return sz_err_hint(err, "send fewer or shorter headers; servers take 8 to 64 KiB");
	}
	request->head_bytes = head.len;
	if (request->body && request->body_bytes <= SZ_REQUEST_JOINED_MAX_BYTES)
		sz_buf_append(&head, request->body, request->body_bytes);
	if (head.failed)
		return sz_err_nomem(err);
	request->head = sz_arena_copy(&requests->arena, head.data, head.len);
	request->joined_bytes = head.len;
	return request->head ? 0 : sz_err_nomem(err);
}

static int cut_into_chunks(struct sz_requests *requests, const char *body, size_t body_bytes,
			   struct sz_err *err)
{
	sz_autobuf struct sz_buf wire = {0};
	for (size_t done = 0; done < body_bytes;) {
		size_t left = body_bytes - done;
		size_t len = left < CHUNK_BYTES ? left : CHUNK_BYTES;
		sz_buf_printf(&wire, "%zx\r\n", len);
		sz_buf_append(&wire, body + done, len);
		sz_buf_puts(&wire, "\r\n");
		done += len;
	}
	sz_buf_puts(&wire, "0\r\n\r\n");
	if (wire.failed)
		return sz_err_nomem(err);
	requests->chunked_body = sz_arena_copy(&requests->arena, wire.data, wire.len);
	if (!requests->chunked_body)
		return sz_err_nomem(err);
	requests->whole_body = body;
	requests->chunked_body_bytes = wire.len;
	return 0;
}

/* Requests may share a body, and then they share its chunks. */
static int frame_body(struct sz_requests *requests, struct sz_request *request, struct sz_err *err)
{
	if (!request->body || requests->framing != SZ_FRAMED_BY_CHUNKS)
		return 0;
	if (request->body != requests->whole_body &&
	    cut_into_chunks(requests, request->body, request->body_bytes, err) < 0)
		return -1;
	request->body = requests->chunked_body;
	request->body_bytes = requests->chunked_body_bytes;
	return 0;
}

static int name_request(struct sz_requests *requests, const struct sz_request_parts *parts,
			struct sz_request *request, struct sz_err *err)
{
	struct sz_arena *arena = &requests->arena;
	sz_autobuf struct sz_buf label = {0};
	char host[272];
	sz_url_host_header(&requests->origins[parts->origin].url, host);
	sz_buf_printf(&label, "%s %s%s", parts->method, *parts->target == '?' ? "/" : "",
		      parts->target);
	if (label.failed)
		return sz_err_nomem(err);
	request->method = sz_arena_copy(arena, parts->method, strlen(parts->method));
	request->label = sz_arena_copy(arena, label.data, label.len);
	request->host = requests->host ? requests->host : sz_arena_copy(arena, host, strlen(host));
	if (!request->method || !request->label || !request->host)
		return sz_err_nomem(err);
	request->target = request->label + strlen(parts->method) + 1;
	return 0;
}

static bool is_idempotent(const char *method)
{
	static const char *const names[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(names); i++) {
		if (strcmp(method, names[i]) == 0)
			return true;
	}
	return false;
}

int sz_requests_push(struct sz_requests *requests, const struct sz_request_parts *parts,
		     struct sz_err *err)
{
	struct sz_request made = {
		.is_head = strcmp(parts->method, "HEAD") == 0,
		.is_idempotent = is_idempotent(parts->method),
		.origin = parts->origin,
		.body = parts->body,
		.body_bytes = parts->body ? parts->body_bytes : 0,
		.weight = parts->weight,
		.at_ns = parts->at_ns,
		.expected = &requests->expected,
	};
	if (check_parts(requests, parts, err) < 0 ||
	    name_request(requests, parts, &made, err) < 0 ||
	    gather_headers(requests, parts, &made, err) < 0 ||
	    frame_body(requests, &made, err) < 0 || write_head(requests, &made, err) < 0)
		return -1;
	if (sz_grow(&requests->items, &requests->cap, requests->count + 1, sizeof(made)) < 0)
		return sz_err_nomem(err);
	requests->items[requests->count++] = made;
	return 0;
}
