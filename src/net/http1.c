/* SPDX-License-Identifier: Apache-2.0
 *
 * llhttp pauses at the end of every message, so that what follows on the
 * connection stays with the caller. Works with llhttp 8 and 9.
 */
#include "net/http1.h"

#include <ctype.h>
#include <llhttp.h>
#include <string.h>

_Static_assert(sizeof(llhttp_t) <= sizeof(((struct sz_http1_parser *)0)->opaque),
	       "the storage must hold llhttp's state");

static const char why_head_too_long[] = "the head is longer than 64 KiB";
static const char why_bad_version[] = "the version is not HTTP/1.0 or HTTP/1.1";

static llhttp_t *llhttp_of(struct sz_http1_parser *parser)
{
	return (llhttp_t *)(void *)parser->opaque;
}

/* Chunk extensions are to be ignored (RFC 9112, 7.1.1), and llhttp 8 refuses most of
 * them: several, or one with a quoted pair. So it is shown none: it pauses where a
 * line with the size of a chunk begins, and is given that line without what stands
 * from the semicolon to CR. Quoting need not be understood, as it hides no CR. */

static int begin_size_line(struct sz_http1_parser *parser)
{
	parser->line = SZ_HTTP1_LINE_SIZE;
	return HPE_PAUSED;
}

/* How many of the bytes llhttp may see at once. */
static size_t before_extension(struct sz_http1_parser *parser, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == ';')
			parser->line = SZ_HTTP1_LINE_EXTENSION;
		else if (bytes[i] == '\r')
			parser->line = SZ_HTTP1_LINE_NONE;
		else
			continue;
		return bytes[i] == ';' ? i : len;
	}
	return len;
}

static size_t skip_extension(struct sz_http1_parser *parser, const char *bytes, size_t len,
			     const char **why)
{
	size_t i = 0;
	while (i < len && (bytes[i] == '\t' || !iscntrl((unsigned char)bytes[i])))
		i++;
	if (i < len && bytes[i] != '\r')
		*why = "a control character in a chunk extension";
	else if (i < len)
		parser->line = SZ_HTTP1_LINE_NONE;
	return i;
}

/* Give llhttp bytes until the message ends, fails, or they are used up. While
 * the head lasts llhttp sees no more bytes than a head may have. *why stays
 * NULL, or says what is wrong. Returns the bytes used. */
static size_t parse(struct sz_http1_parser *parser, const bool *head_complete, const char *bytes,
		    size_t len, llhttp_errno_t *error, const char **why)
{
	llhttp_t *llhttp = llhttp_of(parser);
	size_t used = 0;
	*error = HPE_OK;
	while (used < len && !parser->complete && !*why) {
		const char *start = bytes + used;
		size_t step = len - used;
		if (parser->line == SZ_HTTP1_LINE_EXTENSION) {
			used += skip_extension(parser, start, step, why);
			continue;
		}
		if (parser->line == SZ_HTTP1_LINE_SIZE &&
		    (step = before_extension(parser, start, step)) == 0)
			continue;
		if (!*head_complete && step > SZ_HTTP1_HEAD_MAX - parser->head_bytes)
			step = SZ_HTTP1_HEAD_MAX - parser->head_bytes;
		if (step == 0) {
			*why = why_head_too_long;
			break;
		}
		bool in_head = !*head_complete;
		*error = llhttp_execute(llhttp, start, step);
		if (*error != HPE_OK)
			step = (size_t)(llhttp_get_error_pos(llhttp) - start);
		used += step;
		if (in_head)
			parser->head_bytes += step;
		if (*error == HPE_PAUSED && parser->line == SZ_HTTP1_LINE_SIZE) {
			llhttp_resume(llhttp);
		} else if (*error == HPE_PAUSED) {
			llhttp_reset(llhttp);
		} else if (*error != HPE_OK) {
			/* A callback that refused the message gave its own reason. */
			if (!*why)
				*why = llhttp_get_error_reason(llhttp);
		}
	}
	return used;
}

/* So far "HTTP/" was read. */
static int response_version(llhttp_t *llhttp, const char *bytes, size_t len)
{
	struct sz_http1_response *response = llhttp->data;
	(void)bytes, (void)len;
	response->is_http = true;
	return 0;
}

static int response_head(llhttp_t *llhttp)
{
	struct sz_http1_response *response = llhttp->data;
	int status = llhttp_get_status_code(llhttp);
	if (llhttp_get_http_major(llhttp) != 1)
		response->why = why_bad_version;
	else if (status < 100) /* llhttp 8 takes fewer digits too */
		response->why = "the status has less than three digits";
	else if (status == 101)
		response->why = "it switches to another protocol (101), which nobody asked for";
	if (response->why)
		return -1;
	/* llhttp would read a body where a Content-Length only says what GET
	 * would have sent. */
	bool no_body = response->head_request || status < 200 || status == 204 || status == 304;
	if (status >= 200) {
		response->status = status;
		response->head_complete = true;
		response->until_close = !no_body && llhttp_message_needs_eof(llhttp);
	}
	if (!no_body && llhttp->flags & F_CHUNKED)
		return begin_size_line(&response->parser);
	return no_body;
}

static int response_body(llhttp_t *llhttp, const char *bytes, size_t len)
{
	struct sz_http1_response *response = llhttp->data;
	response->body_bytes += len;
	if (response->sought)
		response->matched = sz_match_feed(response->sought, response->matched, bytes, len);
	if (response->events)
		sz_events_feed(response->events, bytes, len);
	if (response->reply)
		sz_reply_body(response->reply, bytes, len);
	return 0;
}

/* Behind the last chunk follow trailers, no size. */
static int response_chunk_complete(llhttp_t *llhttp)
{
	struct sz_http1_response *response = llhttp->data;
	return llhttp->flags & F_TRAILING ? 0 : begin_size_line(&response->parser);
}

/* After an interim response (1xx) the pause only makes parse() start over. */
static int response_complete(llhttp_t *llhttp)
{
	struct sz_http1_response *response = llhttp->data;
	response->parser.complete = response->head_complete;
	response->has_length = !(llhttp->flags & F_TRANSFER_ENCODING);
	bool is_said = llhttp->flags & F_CONNECTION_KEEP_ALIVE;
	response->keep_alive =
		llhttp_should_keep_alive(llhttp) && (is_said || !response->asked_in_http10);
	return HPE_PAUSED;
}

/* Neither an interim head nor trailers are of interest. */
static bool is_final_head(const llhttp_t *llhttp)
{
	const struct sz_http1_response *response = llhttp->data;
	return llhttp->status_code >= 200 && !response->head_complete;
}

static int response_field(llhttp_t *llhttp, const char *bytes, size_t len)
{
	struct sz_http1_response *response = llhttp->data;
	if (is_final_head(llhttp))
		sz_reply_name(response->reply, bytes, len);
	return 0;
}

static int response_value(llhttp_t *llhttp, const char *bytes, size_t len)
{
	struct sz_http1_response *response = llhttp->data;
	if (is_final_head(llhttp))
		sz_reply_value(response->reply, bytes, len);
	return 0;
}

static int response_field_end(llhttp_t *llhttp)
{
	struct sz_http1_response *response = llhttp->data;
	if (is_final_head(llhttp))
		sz_reply_end_field(response->reply);
	return 0;
}

/* To be called for every field of a head has its price, so only those have that
 * who asked for it. llhttp keeps the pointer for as long as it parses. */
#define EACH_RESPONSE                                                                              \
	.on_version = response_version, .on_headers_complete = response_head,                      \
	.on_body = response_body, .on_chunk_complete = response_chunk_complete,                    \
	.on_message_complete = response_complete
static const llhttp_settings_t response_settings = {EACH_RESPONSE};
static const llhttp_settings_t keeping_settings = {EACH_RESPONSE, .on_header_field = response_field,
						   .on_header_value = response_value,
						   .on_header_value_complete = response_field_end};

void sz_http1_response_init(struct sz_http1_response *response, bool head_request)
{
	*response = (struct sz_http1_response){.head_request = head_request};
}

void sz_http1_response_keep(struct sz_http1_response *response, struct sz_reply *reply)
{
	*reply = (struct sz_reply){0};
	response->reply = reply;
}

/* Not before there is something to parse: most responses are known. */
static void start_parser(struct sz_http1_response *response)
{
	llhttp_init(llhttp_of(&response->parser), HTTP_RESPONSE,
		    response->reply ? &keeping_settings : &response_settings);
}

static bool is_known(const struct sz_http1_response *response, const char *bytes, size_t len)
{
	const struct sz_http1_memo *memo = response->memo;
	return memo && memo->head_bytes && response->parser.head_bytes == 0 &&
	       memo->head_request == response->head_request &&
	       len >= memo->head_bytes + memo->body_bytes &&
	       memcmp(bytes, memo->head, memo->head_bytes) == 0;
}

/* Returns the bytes used. */
static size_t take_known(struct sz_http1_response *response, const char *bytes)
{
	const struct sz_http1_memo *memo = response->memo;
	response->status = memo->status;
	response->is_http = true;
	response->keep_alive = memo->keep_alive;
	response->head_complete = true;
	response->body_bytes = memo->body_bytes;
	if (response->sought)
		response->matched = sz_match_feed(response->sought, 0, bytes + memo->head_bytes,
						  memo->body_bytes);
	return memo->head_bytes + memo->body_bytes;
}

/* Of a whole message. */
static void note(const struct sz_http1_response *response, const char *bytes, size_t message_bytes)
{
	struct sz_http1_memo *memo = response->memo;
	size_t head_bytes = message_bytes - response->body_bytes;
	if (!response->has_length || head_bytes > sizeof(memo->head))
		return;
	memcpy(memo->head, bytes, head_bytes);
	memo->head_bytes = head_bytes;
	memo->body_bytes = response->body_bytes;
	memo->status = response->status;
	memo->keep_alive = response->keep_alive;
	memo->head_request = response->head_request;
}

enum sz_http1_state sz_http1_response_feed(struct sz_http1_response *response, const char *bytes,
					   size_t len, size_t *consumed)
{
	llhttp_errno_t error;
	bool is_first = response->parser.head_bytes == 0;
	if (is_known(response, bytes, len)) {
		*consumed = take_known(response, bytes);
		return SZ_HTTP1_COMPLETE;
	}
	if (is_first)
		start_parser(response);
	llhttp_of(&response->parser)->data = response;
	*consumed = parse(&response->parser, &response->head_complete, bytes, len, &error,
			  &response->why);
	if (response->why)
		return SZ_HTTP1_BAD;
	if (!response->parser.complete)
		return SZ_HTTP1_MORE;
	if (response->memo && is_first)
		note(response, bytes, *consumed);
	return SZ_HTTP1_COMPLETE;
}

enum sz_http1_state sz_http1_response_eof(struct sz_http1_response *response)
{
	if (response->head_complete && response->until_close) {
		response->keep_alive = false;
		return SZ_HTTP1_COMPLETE;
	}
	response->why = response->parser.head_bytes ? "truncated: the connection closed too early"
						    : "truncated: no response came";
	return SZ_HTTP1_BAD;
}

static int refuse(struct sz_http1_request *request, int status, const char *why)
{
	request->refuse_status = status;
	request->why = why;
	return -1;
}

static int request_target(llhttp_t *llhttp, const char *bytes, size_t len)
{
	struct sz_http1_request *request = llhttp->data;
	if (len >= sizeof(request->target) - request->target_len)
		return refuse(request, 414, "the target is too long");
	memcpy(request->target + request->target_len, bytes, len);
	request->target_len += len;
	request->target[request->target_len] = '\0';
	return 0;
}

/* "http://host/path" becomes "/path": RFC 9112, 3.2.2 asks servers to accept
 * the form that is meant for proxies. */
static void to_origin_form(struct sz_http1_request *request)
{
	char *authority = strstr(request->target, "://");
	if (request->target[0] == '/' || !authority)
		return;
	char *path = authority + 3 + strcspn(authority + 3, "/?");
	size_t len = strlen(path);
	bool has_root = *path == '/';
	memmove(request->target + !has_root, path, len + 1);
	if (!has_root)
		request->target[0] = '/';
}

static int request_head(llhttp_t *llhttp)
{
	struct sz_http1_request *request = llhttp->data;
	request->method = llhttp_method_name((llhttp_method_t)llhttp_get_method(llhttp));
	if (llhttp_get_http_major(llhttp) != 1)
		return refuse(request, 505, why_bad_version);
	if (llhttp_get_method(llhttp) == HTTP_CONNECT)
		return refuse(request, 501, "CONNECT is not supported");
	to_origin_form(request);
	if (request->target[0] != '/' && strcmp(request->target, "*") != 0)
		return refuse(request, 400, "the target is no path");
	request->head_complete = true;
	return 0;
}

static int request_complete(llhttp_t *llhttp)
{
	struct sz_http1_request *request = llhttp->data;
	request->parser.complete = true;
	request->keep_alive = llhttp_should_keep_alive(llhttp);
	return HPE_PAUSED;
}

void sz_http1_request_init(struct sz_http1_request *request)
{
	static const llhttp_settings_t settings = {
		.on_url = request_target,
		.on_headers_complete = request_head,
		.on_message_complete = request_complete,
	};
	/* Not the whole object: clearing 2 KiB of target for every request costs
	 * more than parsing a short one. */
	request->method = "";
	request->target[0] = '\0';
	request->target_len = 0;
	request->head_complete = false;
	request->keep_alive = false;
	request->why = NULL;
	request->refuse_status = 0;
	request->parser.head_bytes = 0;
	request->parser.complete = false;
	request->parser.line = SZ_HTTP1_LINE_NONE;
	llhttp_init(llhttp_of(&request->parser), HTTP_REQUEST, &settings);
}

static int refuse_status(const struct sz_http1_request *request, llhttp_errno_t error)
{
	if (request->why == why_head_too_long)
		return 431;
	switch (error) {
	case HPE_INVALID_METHOD:
		return 501;
	case HPE_INVALID_VERSION:
	case HPE_PAUSED_H2_UPGRADE:
		return 505;
	default:
		return 400;
	}
}

enum sz_http1_state sz_http1_request_feed(struct sz_http1_request *request, const char *bytes,
					  size_t len, size_t *consumed)
{
	llhttp_errno_t error;
	llhttp_of(&request->parser)->data = request;
	*consumed =
		parse(&request->parser, &request->head_complete, bytes, len, &error, &request->why);
	if (request->why) {
		if (!request->refuse_status)
			request->refuse_status = refuse_status(request, error);
		return SZ_HTTP1_BAD;
	}
	return request->parser.complete ? SZ_HTTP1_COMPLETE : SZ_HTTP1_MORE;
}
