/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http2.h"

#include <ctype.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/http1.h"

#define WINDOW_BYTES ((1 << 30) - 1)
#define SEND_HEAD_MAX_BYTES (256 * 1024) /* the longest head of a load, with what nghttp2 adds */
/* nghttp2 counts a CONTINUATION again with every read that ends within its first
 * bytes; eight, its own limit, are used up by one frame that comes byte by byte. */
#define CONTINUATIONS_MAX 1000
#define FIELD_OVERHEAD_BYTES 32 /* of each field in the size of a list: RFC 9113, 6.5.2 */

struct sz_http2 {
	nghttp2_session *session;
	struct sz_http2_call *first, *last; /* to which something happened */
	bool is_settled;
	bool is_broken;
	bool peer_leaves; /* its GOAWAY came */
	bool has_reset;   /* a stream: what still comes of it is no fault of the peer */
	char why[200];
	char begin[8]; /* of what the peer sent, for recognising HTTP/1 */
	size_t begin_len;
	const uint8_t *rest; /* nghttp2's, valid until more is asked of it */
	size_t rest_len;
};

/* Heads */

struct sz_http2_head {
	size_t count;
	nghttp2_nv fields[];
};

static char *copy_text(char *at, const char *text, size_t len)
{
	memcpy(at, text, len + 1);
	return at + len + 1;
}

/* A field and its texts; returns the room behind them. */
static char *put_field(struct sz_http2_head *head, char *at, const char *name, const char *value)
{
	nghttp2_nv *field = &head->fields[head->count++];
	*field = (nghttp2_nv){
		.name = (uint8_t *)at,
		.namelen = strlen(name),
		.valuelen = strlen(value),
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
	at = copy_text(at, name, field->namelen);
	for (size_t i = 0; i < field->namelen; i++)
		field->name[i] = (uint8_t)tolower(field->name[i]);
	field->value = (uint8_t *)at;
	return copy_text(at, value, field->valuelen);
}

struct sz_http2_head *sz_http2_head_new(const struct sz_http2_request *request)
{
	const struct sz_http2_field pseudo[] = {
		{":method", request->method},
		{":scheme", request->scheme},
		{":authority", request->authority},
		{":path", request->path},
	};
	const size_t pseudo_count = SZ_ARRAY_LEN(pseudo);
	size_t count = pseudo_count + request->field_count, text_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sz_http2_field *field =
			i < pseudo_count ? &pseudo[i] : &request->fields[i - pseudo_count];
		text_bytes += strlen(field->name) + strlen(field->value) + 2;
	}
	struct sz_http2_head *head =
		malloc(sizeof(*head) + count * sizeof(head->fields[0]) + text_bytes);
	if (!head)
		return NULL;
	char *at = (char *)&head->fields[count];
	head->count = 0;
	for (size_t i = 0; i < pseudo_count; i++)
		at = put_field(head, at, pseudo[i].name, pseudo[i].value);
	for (size_t i = 0; i < request->field_count; i++)
		at = put_field(head, at, request->fields[i].name, request->fields[i].value);
	return head;
}

void sz_http2_head_free(struct sz_http2_head *head)
{
	free(head);
}

/* Words */

#define RESET_FOR(code) [NGHTTP2_##code] = "the stream was reset: " #code
static const char *reset_text(uint32_t code)
{
	static const char *const texts[] = {
		RESET_FOR(NO_ERROR),
		RESET_FOR(PROTOCOL_ERROR),
		RESET_FOR(INTERNAL_ERROR),
		RESET_FOR(FLOW_CONTROL_ERROR),
		RESET_FOR(SETTINGS_TIMEOUT),
		RESET_FOR(STREAM_CLOSED),
		RESET_FOR(FRAME_SIZE_ERROR),
		RESET_FOR(REFUSED_STREAM),
		RESET_FOR(CANCEL),
		RESET_FOR(COMPRESSION_ERROR),
		RESET_FOR(CONNECT_ERROR),
		RESET_FOR(ENHANCE_YOUR_CALM),
		RESET_FOR(INADEQUATE_SECURITY),
		RESET_FOR(HTTP_1_1_REQUIRED),
	};
	return code < SZ_ARRAY_LEN(texts) ? texts[code] : "the stream was reset";
}

/* "PROTOCOL_ERROR: what the peer says of it", made printable. */
static void tell_goaway(struct sz_http2 *http2, const char *what, const nghttp2_goaway *goaway)
{
	int len = snprintf(http2->why, sizeof(http2->why), "%s %s%s", what,
			   nghttp2_http2_strerror(goaway->error_code),
			   goaway->opaque_data_len ? ": " : "");
	for (size_t i = 0; i < goaway->opaque_data_len && (size_t)len + 1 < sizeof(http2->why); i++)
		http2->why[len++] =
			(char)(isprint(goaway->opaque_data[i]) ? goaway->opaque_data[i] : '.');
	http2->why[len] = '\0';
}

static int breaks(struct sz_http2 *http2, const char *why)
{
	bool is_http1 = http2->begin_len >= 7 && memcmp(http2->begin, "HTTP/1.", 7) == 0;
	if (is_http1)
		why = "it answers in HTTP/1";
	if (is_http1 || !*http2->why)
		snprintf(http2->why, sizeof(http2->why), "%s", why);
	http2->is_broken = true;
	return -1;
}

/* Calls */

static struct sz_http2_call *call_of(const struct sz_http2 *http2, int32_t stream)
{
	return nghttp2_session_get_stream_user_data(http2->session, stream);
}

static void list(struct sz_http2 *http2, struct sz_http2_call *call)
{
	if (call->is_listed)
		return;
	call->is_listed = true;
	call->next = NULL;
	if (http2->last)
		http2->last->next = call;
	else
		http2->first = call;
	http2->last = call;
}

struct sz_http2_call *sz_http2_next(struct sz_http2 *http2)
{
	struct sz_http2_call *call = http2->first;
	if (!call)
		return NULL;
	http2->first = call->next;
	if (!http2->first)
		http2->last = NULL;
	call->is_listed = false;
	return call;
}

static void unlist(struct sz_http2 *http2, struct sz_http2_call *call)
{
	struct sz_http2_call *other;
	struct sz_http2_call *list_before = http2->first;
	http2->first = http2->last = NULL;
	while ((other = list_before)) {
		list_before = other->next;
		other->is_listed = false;
		if (other != call)
			list(http2, other);
	}
}

/* From now on the stream, which may live on, knows nothing of the call. */
static void end_call(struct sz_http2 *http2, struct sz_http2_call *call, enum sz_http2_end end,
		     const char *why)
{
	call->end = end;
	call->why = why;
	nghttp2_session_set_stream_user_data(http2->session, call->stream, NULL);
	list(http2, call);
}

/* A whole response ends the call, also when the peer did not want to see all of
 * the request (RFC 9113, 8.1). */
static int end_whole(struct sz_http2 *http2, struct sz_http2_call *call)
{
	bool is_sent = call->sent_bytes == call->body_total_bytes;
	end_call(http2, call, SZ_HTTP2_WHOLE, NULL);
	if (is_sent)
		return 0;
	return nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, call->stream,
					 NGHTTP2_CANCEL);
}

/* What nghttp2 tells */

/* nghttp2 drops what comes for a stream that is over. The call may wait in the list
 * as one that ended well. */
static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *data)
{
	static const char why[] = "a stream that had ended was answered again";
	struct sz_http2 *http2 = data;
	bool is_answer = hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_DATA;
	bool is_ours = hd->stream_id % 2 == 1 &&
		       (uint32_t)hd->stream_id < nghttp2_session_get_next_stream_id(session);
	if (!is_answer || !is_ours || http2->has_reset ||
	    nghttp2_session_find_stream(session, hd->stream_id))
		return 0;
	for (struct sz_http2_call *call = http2->first; call; call = call->next) {
		if (call->stream != hd->stream_id)
			continue;
		call->end = SZ_HTTP2_RESET;
		call->why = why;
	}
	snprintf(http2->why, sizeof(http2->why), "%s", why);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct sz_http2_call *call = call_of(data, frame->hd.stream_id);
	(void)session;
	if (!call)
		return 0;
	call->head_list_bytes = 0;
	if (!call->begun) {
		call->begun = true;
		list(data, call);
	}
	return 0;
}

/* nghttp2 has seen to it that a status has three digits. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *data)
{
	struct sz_http2_call *call = call_of(data, frame->hd.stream_id);
	(void)session, (void)flags;
	if (!call)
		return 0;
	call->head_list_bytes += name_len + value_len + FIELD_OVERHEAD_BYTES;
	if (call->head_list_bytes > SZ_HTTP1_HEAD_MAX) {
		call->why = "the head is longer than 64 KiB";
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (name_len == 7 && value_len == 3 && memcmp(name, ":status", 7) == 0)
		call->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
	if (call->reply && call->status >= 200 && !call->head_complete) {
		sz_reply_name(call->reply, (const char *)name, name_len);
		sz_reply_value(call->reply, (const char *)value, value_len);
		sz_reply_end_field(call->reply);
	}
	return 0;
}

static void on_head(struct sz_http2_call *call)
{
	if (call->status >= 200)
		call->head_complete = true;
	else
		call->status = 0;
}

static int on_stream_frame(struct sz_http2 *http2, const nghttp2_frame *frame)
{
	struct sz_http2_call *call = call_of(http2, frame->hd.stream_id);
	if (!call)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS)
		on_head(call);
	if (call->head_complete && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		return end_whole(http2, call);
	return 0;
}

static void on_reset(struct sz_http2_call *call, uint32_t code)
{
	if (call)
		call->why = reset_text(code);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct sz_http2 *http2 = data;
	(void)session;
	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
	case NGHTTP2_DATA:
		return on_stream_frame(http2, frame);
	case NGHTTP2_RST_STREAM:
		on_reset(call_of(http2, frame->hd.stream_id), frame->rst_stream.error_code);
		return 0;
	case NGHTTP2_SETTINGS:
		http2->is_settled = true;
		return 0;
	case NGHTTP2_GOAWAY:
		http2->peer_leaves = true;
		if (frame->goaway.error_code != NGHTTP2_NO_ERROR)
			tell_goaway(http2, "it closed the connection:", &frame->goaway);
		return 0;
	default:
		return 0;
	}
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
			    void *data)
{
	struct sz_http2_call *call = call_of(data, frame->hd.stream_id);
	(void)session;
	if (call)
		call->why = nghttp2_strerror(error);
	return 0;
}

/* An error of the connection is told to the peer, with the reason. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct sz_http2 *http2 = data;
	(void)session;
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		http2->has_reset = true;
	if (frame->hd.type != NGHTTP2_GOAWAY)
		return 0;
	if (!*http2->why)
		tell_goaway(http2, "broken framing:", &frame->goaway);
	http2->is_broken = true;
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
		   size_t len, void *data)
{
	struct sz_http2_call *call = call_of(data, stream);
	(void)session, (void)flags;
	if (!call)
		return 0;
	call->body_bytes += len;
	if (call->sought)
		call->matched =
			sz_match_feed(call->sought, call->matched, (const char *)bytes, len);
	if (call->events) {
		sz_events_feed(call->events, (const char *)bytes, len);
		list(data, call);
	}
	if (call->reply)
		sz_reply_body(call->reply, (const char *)bytes, len);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *data)
{
	struct sz_http2 *http2 = data;
	struct sz_http2_call *call = call_of(http2, stream);
	(void)session;
	if (!call)
		return 0;
	if (code == NGHTTP2_REFUSED_STREAM && !call->begun)
		end_call(http2, call, SZ_HTTP2_REFUSED, NULL);
	else
		end_call(http2, call, SZ_HTTP2_RESET,
			 call->why ? call->why : "the response breaks the rules of HTTP/2");
	return 0;
}

/* A request that never left is refused, too: by a GOAWAY that came before. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *data)
{
	struct sz_http2 *http2 = data;
	struct sz_http2_call *call = call_of(http2, frame->hd.stream_id);
	(void)session;
	if (!call || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED)
		end_call(http2, call, SZ_HTTP2_REFUSED, NULL);
	else
		end_call(http2, call, SZ_HTTP2_RESET, nghttp2_strerror(error));
	return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
			 uint32_t *flags, nghttp2_data_source *source, void *data)
{
	struct sz_http2_call *call = call_of(data, stream);
	(void)session, (void)source;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	size_t left = call->body_total_bytes - call->sent_bytes;
	size_t len = left < size ? left : size;
	memcpy(bytes, call->body + call->sent_bytes, len);
	call->sent_bytes += len;
	if (len == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)len;
}

/* The connection */

static int make_session(struct sz_http2 *http2)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) {
		nghttp2_session_callbacks_del(callbacks);
		return -1;
	}
	nghttp2_option_set_max_send_header_block_length(option, SEND_HEAD_MAX_BYTES);
	nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	int status = nghttp2_session_client_new2(&http2->session, callbacks, http2, option);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return status;
}

static int introduce(nghttp2_session *session)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SZ_HTTP1_HEAD_MAX},
	};
	int status = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
					     SZ_ARRAY_LEN(settings));
	if (status == 0)
		status = nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
							       WINDOW_BYTES);
	return status;
}

struct sz_http2 *sz_http2_new(void)
{
	struct sz_http2 *http2 = calloc(1, sizeof(*http2));
	if (http2 && (make_session(http2) != 0 || introduce(http2->session) != 0)) {
		sz_http2_free(http2);
		return NULL;
	}
	return http2;
}

void sz_http2_free(struct sz_http2 *http2)
{
	if (!http2)
		return;
	nghttp2_session_del(http2->session);
	free(http2);
}

/* The head may be many calls' at once, so it stays as it is. */
static int32_t submit(struct sz_http2 *http2, const struct sz_http2_head *head,
		      const nghttp2_data_provider *provider, struct sz_http2_call *call)
{
	nghttp2_session *session = http2->session;
	if (!call->cookies)
		return nghttp2_submit_request(session, NULL, head->fields, head->count, provider,
					      call);
	sz_autofree nghttp2_nv *fields = malloc((head->count + 1) * sizeof(*fields));
	if (!fields)
		return NGHTTP2_ERR_NOMEM;
	memcpy(fields, head->fields, head->count * sizeof(*fields));
	fields[head->count] = (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t) "cookie",
		.value = (uint8_t *)(uintptr_t)call->cookies,
		.namelen = strlen("cookie"),
		.valuelen = strlen(call->cookies),
		.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
	};
	return nghttp2_submit_request(session, NULL, fields, head->count + 1, provider, call);
}

int sz_http2_ask(struct sz_http2 *http2, const struct sz_http2_head *head, const char *body,
		 size_t body_bytes, struct sz_http2_call *call)
{
	const nghttp2_data_provider provider = {.read_callback = read_body};
	*call = (struct sz_http2_call){
		.sought = call->sought,
		.events = call->events,
		.reply = call->reply,
		.cookies = call->cookies,
		.body = body,
		.body_total_bytes = body_bytes,
	};
	if (!sz_http2_may_ask(http2))
		return -1;
	if (call->reply)
		*call->reply = (struct sz_reply){0};
	call->stream = submit(http2, head, body_bytes ? &provider : NULL, call);
	return call->stream < 0 ? -1 : 0;
}

void sz_http2_cancel(struct sz_http2 *http2, struct sz_http2_call *call)
{
	if (call->is_listed)
		unlist(http2, call);
	nghttp2_session_set_stream_user_data(http2->session, call->stream, NULL);
	if (nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, call->stream,
				      NGHTTP2_CANCEL) != 0)
		breaks(http2, "out of memory");
}

bool sz_http2_may_ask(const struct sz_http2 *http2)
{
	return !http2->is_broken && nghttp2_session_check_request_allowed(http2->session);
}

/* nghttp2 goes on after an error of the connection, to say so to the peer and
 * to swallow what still comes; here it is over then. Its words are in what it
 * would send. */
static int check_framing(struct sz_http2 *http2)
{
	const uint8_t *bytes;
	bool is_over = !nghttp2_session_check_request_allowed(http2->session) &&
		       nghttp2_session_get_next_stream_id(http2->session) <= INT32_MAX;
	if (http2->peer_leaves || !is_over)
		return 0;
	while (nghttp2_session_mem_send(http2->session, &bytes) > 0)
		;
	return breaks(http2, "broken framing");
}

int sz_http2_feed(struct sz_http2 *http2, const char *bytes, size_t len)
{
	size_t room = sizeof(http2->begin) - http2->begin_len;
	size_t begin_len = len < room ? len : room;
	if (http2->is_broken)
		return -1;
	memcpy(http2->begin + http2->begin_len, bytes, begin_len);
	http2->begin_len += begin_len;
	ssize_t status = nghttp2_session_mem_recv(http2->session, (const uint8_t *)bytes, len);
	if (status < 0)
		return breaks(http2, nghttp2_strerror((int)status));
	return check_framing(http2);
}

ptrdiff_t sz_http2_pull(struct sz_http2 *http2, char *bytes, size_t size)
{
	size_t len = 0;
	if (http2->is_broken)
		return -1;
	while (len < size) {
		if (http2->rest_len == 0) {
			ssize_t more = nghttp2_session_mem_send(http2->session, &http2->rest);
			if (more < 0 || http2->is_broken)
				return breaks(http2, nghttp2_strerror((int)more));
			http2->rest_len = (size_t)more;
		}
		size_t step = http2->rest_len < size - len ? http2->rest_len : size - len;
		if (step == 0)
			break;
		memcpy(bytes + len, http2->rest, step);
		http2->rest += step;
		http2->rest_len -= step;
		len += step;
	}
	return (ptrdiff_t)len;
}

const char *sz_http2_why(const struct sz_http2 *http2)
{
	return *http2->why ? http2->why : NULL;
}

uint32_t sz_http2_peer_streams(const struct sz_http2 *http2)
{
	return http2->is_settled ? nghttp2_session_get_remote_settings(
					   http2->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
				 : UINT32_MAX;
}

bool sz_http2_is_settled(const struct sz_http2 *http2)
{
	return http2->is_settled;
}
