/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's side of HTTP/2 against nghttp2's server, in memory: whatever
 * the pieces, every call ends once, and as it should.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/http1.h"
#include "net/http2.h"

#define CALLS_MAX 200

/* The server */

struct server;
typedef void play_fn(struct server *server, int32_t stream);

struct server {
	nghttp2_session *session;
	play_fn *play;   /* a whole request came */
	char seen[2048]; /* fields of the requests, "name=value;" */
	size_t requests, open, most_open, pings_answered;
	uint64_t body_bytes;
	uint32_t reset_code; /* of the last reset that came */
	size_t resets;
	size_t to_send_bytes, step_bytes; /* of the body of a response */
};

static int server_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			 size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
			 void *data)
{
	struct server *server = data;
	size_t len = strlen(server->seen);
	(void)session, (void)frame, (void)flags;
	if (len + name_len + value_len + 3 < sizeof(server->seen))
		snprintf(server->seen + len, sizeof(server->seen) - len, "%.*s=%.*s;",
			 (int)name_len, (const char *)name, (int)value_len, (const char *)value);
	return 0;
}

static int server_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	struct server *server = data;
	(void)session;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		server->reset_code = frame->rst_stream.error_code;
		server->resets++;
	}
	if (frame->hd.type == NGHTTP2_PING && frame->hd.flags & NGHTTP2_FLAG_ACK)
		server->pings_answered++;
	if (frame->hd.type == NGHTTP2_HEADERS) {
		server->open++;
		if (server->open > server->most_open)
			server->most_open = server->open;
	}
	bool whole = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
		     frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	if (whole) {
		server->requests++;
		if (server->play)
			server->play(server, frame->hd.stream_id);
	}
	return 0;
}

static int server_data(nghttp2_session *session, uint8_t flags, int32_t stream,
		       const uint8_t *bytes, size_t len, void *data)
{
	(void)session, (void)flags, (void)stream, (void)bytes;
	((struct server *)data)->body_bytes += len;
	return 0;
}

static int server_close(nghttp2_session *session, int32_t stream, uint32_t code, void *data)
{
	(void)session, (void)stream, (void)code;
	((struct server *)data)->open--;
	return 0;
}

static ssize_t server_body(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t size,
			   uint32_t *flags, nghttp2_data_source *source, void *data)
{
	struct server *server = data;
	(void)session, (void)stream, (void)source;
	size_t len = server->step_bytes < size ? server->step_bytes : size;
	if (len > server->to_send_bytes)
		len = server->to_send_bytes;
	memset(bytes, 'x', len);
	server->to_send_bytes -= len;
	if (server->to_send_bytes == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)len;
}

static void server_start(struct server *server, play_fn *play, uint32_t streams)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
	*server = (struct server){.play = play};
	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	assert_int_equal(nghttp2_option_new(&option), 0);
	nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, server_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, server_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, server_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, server_close);
	assert_int_equal(nghttp2_session_server_new2(&server->session, callbacks, server, option),
			 0);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	assert_int_equal(nghttp2_submit_settings(server->session, 0, &settings, 1), 0);
}

#define FIELD(name_, value_)                                                                       \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(name_), (uint8_t *)(uintptr_t)(value_), strlen(name_),      \
			strlen(value_), NGHTTP2_NV_FLAG_NONE                                       \
	}

static void respond(struct server *server, int32_t stream, const char *status, size_t bytes)
{
	const nghttp2_nv fields[] = {FIELD(":status", status)};
	const nghttp2_data_provider provider = {.read_callback = server_body};
	server->to_send_bytes = bytes;
	if (!server->step_bytes)
		server->step_bytes = SIZE_MAX;
	assert_int_equal(nghttp2_submit_response(server->session, stream, fields, 1,
						 bytes ? &provider : NULL),
			 0);
}

static void play_hello(struct server *server, int32_t stream)
{
	respond(server, stream, "200", 5);
}

static void play_empty(struct server *server, int32_t stream)
{
	respond(server, stream, "204", 0);
}

/* Both sides */

struct pair {
	struct server server;
	struct sz_http2 *client;
	struct sz_http2_head *head;
	struct sz_http2_call calls[CALLS_MAX];
	unsigned ended[CALLS_MAX]; /* how often each was returned with an end */
	unsigned begun[CALLS_MAX]; /* and without, begun */
	size_t piece;
};

static void pair_start(struct pair *pair, play_fn *play, uint32_t streams, size_t piece)
{
	static const struct sz_http2_field fields[] = {{"X-Trace", "a B"}, {"accept", "*/*"}};
	const struct sz_http2_request request = {.method = "GET",
						 .scheme = "http",
						 .authority = "example.org:8000",
						 .path = "/a?b=c",
						 .fields = fields,
						 .field_count = SZ_ARRAY_LEN(fields)};
	memset(pair, 0, sizeof(*pair));
	server_start(&pair->server, play, streams);
	pair->client = sz_http2_new();
	pair->head = sz_http2_head_new(&request);
	pair->piece = piece;
	assert_non_null(pair->client);
	assert_non_null(pair->head);
}

static void pair_stop(struct pair *pair)
{
	nghttp2_session_del(pair->server.session);
	sz_http2_free(pair->client);
	sz_http2_head_free(pair->head);
}

static void note_calls(struct pair *pair)
{
	struct sz_http2_call *call;
	while ((call = sz_http2_next(pair->client))) {
		assert_in_range(call - pair->calls, 0, CALLS_MAX - 1);
		if (call->end == SZ_HTTP2_UNDER_WAY)
			pair->begun[call - pair->calls]++;
		else
			pair->ended[call - pair->calls]++;
	}
}

static int feed(struct pair *pair, const void *bytes, size_t len)
{
	int status = 0;
	for (size_t at = 0; at < len && status == 0; at += pair->piece) {
		size_t step = len - at < pair->piece ? len - at : pair->piece;
		status = sz_http2_feed(pair->client, (const char *)bytes + at, step);
		note_calls(pair);
	}
	return status;
}

/* From the client to the server; whether there was anything. */
static bool carry_up(struct pair *pair)
{
	char bytes[4096];
	ptrdiff_t len = sz_http2_pull(pair->client, bytes,
				      pair->piece < sizeof(bytes) ? pair->piece : sizeof(bytes));
	note_calls(pair);
	assert_true(len >= 0);
	if (len == 0)
		return false;
	assert_int_equal(nghttp2_session_mem_recv(pair->server.session, (uint8_t *)bytes,
						  (size_t)len),
			 len);
	return true;
}

/* And back: 1, 0: nothing, -1: the client refuses it. */
static int carry_down(struct pair *pair)
{
	const uint8_t *bytes;
	ssize_t len = nghttp2_session_mem_send(pair->server.session, &bytes);
	assert_true(len >= 0);
	if (len == 0)
		return 0;
	return feed(pair, bytes, (size_t)len) < 0 ? -1 : 1;
}

static int talk(struct pair *pair)
{
	int down;
	bool up;
	do {
		up = carry_up(pair);
		down = carry_down(pair);
	} while (down >= 0 && (up || down));
	return down;
}

static void ask(struct pair *pair, size_t i)
{
	assert_int_equal(sz_http2_ask(pair->client, pair->head, NULL, 0, &pair->calls[i]), 0);
}

/* Responses */

static void an_answer_in_pieces_of(size_t piece)
{
	struct pair pair;
	struct sz_match match;
	assert_int_equal(sz_match_init(&match, "xxxxx", NULL), 0);
	pair_start(&pair, play_hello, 100, piece);
	pair.calls[0].sought = &match;
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	const struct sz_http2_call *call = &pair.calls[0];
	assert_int_equal(pair.ended[0], 1);
	assert_int_equal(call->end, SZ_HTTP2_WHOLE);
	assert_true(call->begun && call->head_complete);
	assert_int_equal(call->status, 200);
	assert_int_equal(call->body_bytes, 5);
	assert_int_equal(call->matched, 5);
	assert_null(sz_http2_why(pair.client));
	assert_int_equal(sz_http2_peer_streams(pair.client), 100);
	assert_non_null(strstr(pair.server.seen, ":method=GET;"));
	assert_non_null(strstr(pair.server.seen, ":scheme=http;"));
	assert_non_null(strstr(pair.server.seen, ":authority=example.org:8000;"));
	assert_non_null(strstr(pair.server.seen, ":path=/a?b=c;"));
	assert_non_null(strstr(pair.server.seen, "x-trace=a B;accept=*/*;"));
	/* The connection goes on. */
	ask(&pair, 1);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.ended[1], 1);
	assert_int_equal(pair.server.requests, 2);
	pair_stop(&pair);
}

static void answers_in_pieces(void **state)
{
	(void)state;
	an_answer_in_pieces_of(SIZE_MAX / 2);
	an_answer_in_pieces_of(1);
	an_answer_in_pieces_of(7);
}

static void without_a_body(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_empty, 100, 3);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].status, 204);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

static void play_cookies(struct server *server, int32_t stream)
{
	const nghttp2_nv early[] = {FIELD(":status", "103"), FIELD("set-cookie", "early=1")};
	const nghttp2_nv fields[] = {FIELD(":status", "401"), FIELD("set-cookie", "a=1; Path=/"),
				     FIELD("x", "set-cookie"), FIELD("set-cookie", "b=2")};
	const nghttp2_nv trailers[] = {FIELD("set-cookie", "late=1")};
	nghttp2_session *session = server->session;
	assert_int_equal(nghttp2_submit_headers(session, 0, stream, NULL, early, 2, NULL), 0);
	assert_int_equal(nghttp2_submit_headers(session, 0, stream, NULL, fields, 4, NULL), 0);
	assert_int_equal(nghttp2_submit_trailer(session, stream, trailers, 1), 0);
}

/* And what they are asked with; a call that wants none of it is as before. */
static void cookies(void **state)
{
	(void)state;
	struct pair pair;
	struct sz_reply reply;
	pair_start(&pair, play_cookies, 100, 5);
	memset(&reply, 0x55, sizeof(reply));
	pair.calls[0].reply = &reply;
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].status, 401);
	assert_string_equal(reply.cookies, "a=1; b=2");
	assert_int_equal(reply.body_bytes, 0);
	assert_null(strstr(pair.server.seen, "cookie"));
	pair.server.play = play_hello;
	pair.calls[1].cookies = "a=1; b=2";
	pair.calls[1].reply = &reply;
	ask(&pair, 1);
	ask(&pair, 2);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(reply.cookie_count, 0);
	assert_int_equal(reply.body_bytes, 5);
	const char *sent = strstr(pair.server.seen, "accept=*/*;cookie=a=1; b=2;:method=GET");
	assert_non_null(sent);
	assert_null(strstr(sent + 30, "cookie"));
	pair_stop(&pair);
}

static void play_interim(struct server *server, int32_t stream)
{
	const nghttp2_nv early[] = {FIELD(":status", "103"), FIELD("link", "</a.css>")};
	for (int i = 0; i < 3; i++)
		assert_int_equal(nghttp2_submit_headers(server->session, 0, stream, NULL, early, 2,
							NULL),
				 0);
	respond(server, stream, "200", 5);
}

static void interim_answers_are_skipped(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_interim, 100, 1);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.begun[0], 1);
	assert_int_equal(pair.ended[0], 1);
	assert_int_equal(pair.calls[0].status, 200);
	assert_int_equal(pair.calls[0].body_bytes, 5);
	pair_stop(&pair);
}

static void play_long_head(struct server *server, int32_t stream)
{
	static char value[16 * 1024];
	memset(value, 'v', sizeof(value) - 1);
	const nghttp2_nv fields[] = {FIELD(":status", "200"), FIELD("a", value), FIELD("b", value),
				     FIELD("c", value), FIELD("d", value)};
	assert_int_equal(nghttp2_submit_response(server->session, stream, fields,
						 SZ_ARRAY_LEN(fields), NULL),
			 0);
}

static void heads_are_bounded(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_long_head, 100, 1000);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_RESET);
	assert_non_null(strstr(pair.calls[0].why, "64 KiB"));
	assert_int_equal(pair.server.resets, 1);
	assert_true(sz_http2_may_ask(pair.client));
	pair_stop(&pair);
}

static void play_too_short(struct server *server, int32_t stream)
{
	const nghttp2_nv fields[] = {FIELD(":status", "200"), FIELD("content-length", "9")};
	const nghttp2_data_provider provider = {.read_callback = server_body};
	server->to_send_bytes = 5;
	server->step_bytes = 5;
	assert_int_equal(nghttp2_submit_response(server->session, stream, fields, 2, &provider), 0);
}

static void a_body_cut_short_is_no_answer(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_too_short, 100, 1000);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.ended[0], 1);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_RESET);
	assert_non_null(strstr(pair.calls[0].why, "breaks the rules"));
	pair_stop(&pair);
}

/* Requests */

static void long_bodies_keep_to_the_peers_window(void **state)
{
	(void)state;
	struct pair pair;
	const size_t bytes = 1000000;
	sz_autofree char *body = calloc(1, bytes);
	assert_non_null(body);
	pair_start(&pair, play_hello, 100, 4096);
	assert_int_equal(sz_http2_ask(pair.client, pair.head, body, bytes, &pair.calls[0]), 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.server.body_bytes, bytes);
	assert_int_equal(pair.calls[0].sent_bytes, bytes);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

static void the_longest_heads_are_sent(void **state)
{
	(void)state;
	struct pair pair;
	static char value[60 * 1024];
	memset(value, '{', sizeof(value) - 1); /* 15 bits in HPACK's code */
	const struct sz_http2_field field = {"x-long", value};
	const struct sz_http2_request request = {.method = "GET",
						 .scheme = "https",
						 .authority = "a",
						 .path = "/",
						 .fields = &field,
						 .field_count = 1};
	pair_start(&pair, play_hello, 100, 4096);
	sz_http2_head_free(pair.head);
	pair.head = sz_http2_head_new(&request);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

static int early_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
	(void)session;
	if (frame->hd.type == NGHTTP2_HEADERS)
		respond(data, frame->hd.stream_id, "413", 0);
	return 0;
}

static void an_answer_before_the_end_of_the_request(void **state)
{
	(void)state;
	struct pair pair;
	static const char body[500000];
	nghttp2_session_callbacks *callbacks;
	pair_start(&pair, NULL, 100, 4096);
	nghttp2_session_del(pair.server.session);
	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, early_frame);
	assert_int_equal(nghttp2_session_server_new(&pair.server.session, callbacks, &pair.server),
			 0);
	nghttp2_session_callbacks_del(callbacks);
	assert_int_equal(nghttp2_submit_settings(pair.server.session, 0, NULL, 0), 0);
	assert_int_equal(sz_http2_ask(pair.client, pair.head, body, sizeof(body), &pair.calls[0]),
			 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.ended[0], 1);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	assert_int_equal(pair.calls[0].status, 413);
	assert_true(pair.calls[0].sent_bytes < sizeof(body));
	pair_stop(&pair);
}

/* Streams */

static void many_streams_end_once_each(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_hello, 1000, 11);
	for (size_t i = 0; i < CALLS_MAX; i++)
		ask(&pair, i);
	assert_int_equal(talk(&pair), 0);
	for (size_t i = 0; i < CALLS_MAX; i++) {
		assert_int_equal(pair.ended[i], 1);
		assert_int_equal(pair.calls[i].end, SZ_HTTP2_WHOLE);
	}
	assert_int_equal(pair.server.requests, CALLS_MAX);
	pair_stop(&pair);
}

static void the_peers_number_of_streams_is_honoured(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_hello, 2, 64);
	assert_int_equal(sz_http2_peer_streams(pair.client), UINT32_MAX);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(sz_http2_peer_streams(pair.client), 2);
	for (size_t i = 0; i < 9; i++)
		ask(&pair, i);
	assert_int_equal(talk(&pair), 0);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(pair.calls[i].end, SZ_HTTP2_WHOLE);
	assert_int_equal(pair.server.most_open, 2);
	pair_stop(&pair);
}

static void play_reset(struct server *server, int32_t stream)
{
	static const uint32_t codes[] = {NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM,
					 NGHTTP2_ENHANCE_YOUR_CALM, 999};
	nghttp2_submit_rst_stream(server->session, 0, stream, codes[stream / 2 % 4]);
}

static void resets(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_reset, 100, 5);
	for (size_t i = 0; i < 4; i++)
		ask(&pair, i);
	assert_int_equal(talk(&pair), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pair.ended[i], 1);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_RESET);
	assert_string_equal(pair.calls[0].why, "the stream was reset: INTERNAL_ERROR");
	assert_int_equal(pair.calls[1].end, SZ_HTTP2_REFUSED);
	assert_int_equal(pair.calls[2].end, SZ_HTTP2_RESET);
	assert_string_equal(pair.calls[2].why, "the stream was reset: ENHANCE_YOUR_CALM");
	assert_string_equal(pair.calls[3].why, "the stream was reset");
	assert_true(sz_http2_may_ask(pair.client));
	pair_stop(&pair);
}

static void a_call_that_is_given_up(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, NULL, 1, 100);
	assert_int_equal(talk(&pair), 0);
	for (size_t i = 0; i < 3; i++)
		ask(&pair, i); /* of which the server takes one */
	assert_int_equal(talk(&pair), 0);
	sz_http2_cancel(pair.client, &pair.calls[2]);
	sz_http2_cancel(pair.client, &pair.calls[0]);
	memset(&pair.calls[0], 0xff, sizeof(pair.calls[0])); /* the caller's again */
	memset(&pair.calls[2], 0xff, sizeof(pair.calls[2]));
	pair.server.play = play_hello;
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.server.resets, 1);
	assert_int_equal(pair.server.reset_code, NGHTTP2_CANCEL);
	assert_int_equal(pair.server.requests, 2);
	assert_int_equal(pair.ended[0] + pair.ended[2], 0);
	assert_int_equal(pair.calls[1].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

/* What was fed and not yet asked for goes as well. */
static void a_call_is_given_up_when_something_happened_to_it(void **state)
{
	(void)state;
	struct pair pair;
	const uint8_t *bytes;
	ssize_t len;
	pair_start(&pair, play_hello, 100, 4096);
	for (size_t i = 0; i < 3; i++)
		ask(&pair, i);
	while (carry_up(&pair))
		;
	while ((len = nghttp2_session_mem_send(pair.server.session, &bytes)) > 0)
		assert_int_equal(sz_http2_feed(pair.client, (const char *)bytes, (size_t)len), 0);
	sz_http2_cancel(pair.client, &pair.calls[1]);
	note_calls(&pair);
	assert_int_equal(pair.ended[0], 1);
	assert_int_equal(pair.ended[1], 0);
	assert_int_equal(pair.ended[2], 1);
	assert_int_equal(talk(&pair), 0);
	pair_stop(&pair);
}

/* The end of a connection */

static void goaway(struct pair *pair, int32_t last, uint32_t code, const char *text)
{
	assert_int_equal(nghttp2_submit_goaway(pair->server.session, 0, last, code,
					       (const uint8_t *)text, strlen(text)),
			 0);
}

static void a_goaway_refuses_what_it_leaves_out(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, NULL, 2, 1);
	for (size_t i = 0; i < 2; i++)
		ask(&pair, i); /* streams 1 and 3 */
	assert_int_equal(talk(&pair), 0);
	ask(&pair, 2); /* never leaves: the server takes two */
	goaway(&pair, 1, NGHTTP2_NO_ERROR, "");
	assert_int_equal(talk(&pair), 0);
	assert_false(sz_http2_may_ask(pair.client));
	assert_int_equal(sz_http2_ask(pair.client, pair.head, NULL, 0, &pair.calls[3]), -1);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_UNDER_WAY);
	assert_int_equal(pair.calls[1].end, SZ_HTTP2_REFUSED);
	assert_null(sz_http2_why(pair.client));
	respond(&pair.server, 1, "200", 5);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	assert_int_equal(pair.calls[2].end, SZ_HTTP2_REFUSED);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pair.ended[i], 1);
	pair_stop(&pair);
}

static void a_goaway_says_why(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, NULL, 100, 1);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	goaway(&pair, 1, NGHTTP2_ENHANCE_YOUR_CALM, "slow\ndown");
	assert_int_equal(talk(&pair), 0);
	assert_string_equal(sz_http2_why(pair.client),
			    "it closed the connection: ENHANCE_YOUR_CALM: slow.down");
	assert_false(sz_http2_may_ask(pair.client));
	pair_stop(&pair);
}

static void bad_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} cases[] = {
		{"HTTP/1.1 400 Bad Request\r\n\r\n", 28, "it answers in HTTP/1"},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", 23, "broken framing"},
		/* DATA of a stream before any SETTINGS */
		{"\0\0\1\0\0\0\0\0\1x", 10, "broken framing: PROTOCOL_ERROR"},
		/* SETTINGS, then one of a stream */
		{"\0\0\0\4\0\0\0\0\0\0\0\0\4\0\0\0\0\1", 18, "broken framing: PROTOCOL_ERROR"},
		/* SETTINGS, then a WINDOW_UPDATE by nothing */
		{"\0\0\0\4\0\0\0\0\0\0\0\4\x8\0\0\0\0\0\0\0\0\0", 22, "broken framing"},
		/* SETTINGS, then HEADERS that HPACK does not know */
		{"\0\0\0\4\0\0\0\0\0\0\0\1\1\4\0\0\0\1\xff", 19, "broken framing"},
	};
	static const size_t pieces[] = {1, 3, SIZE_MAX / 2};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases) * SZ_ARRAY_LEN(pieces); i++) {
		struct pair pair;
		size_t c = i / SZ_ARRAY_LEN(pieces);
		pair_start(&pair, NULL, 100, pieces[i % SZ_ARRAY_LEN(pieces)]);
		ask(&pair, 0);
		while (carry_up(&pair))
			;
		assert_int_equal(feed(&pair, cases[c].bytes, cases[c].len), -1);
		const char *why = sz_http2_why(pair.client);
		if (!why || strncmp(why, cases[c].why, strlen(cases[c].why)) != 0)
			fail_msg("case %zu: %s", c, why ? why : "no reason");
		char bytes[64];
		assert_int_equal(sz_http2_pull(pair.client, bytes, sizeof(bytes)), -1);
		assert_false(sz_http2_may_ask(pair.client));
		pair_stop(&pair);
	}
}

/* Masses */

static void ten_thousand_pings_are_answered(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, NULL, 100, SIZE_MAX / 2);
	assert_int_equal(talk(&pair), 0);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(nghttp2_submit_ping(pair.server.session, 0, NULL), 0);
		if (i % 100 == 99)
			assert_int_equal(talk(&pair), 0);
	}
	assert_int_equal(pair.server.pings_answered, 10000);
	pair_stop(&pair);
}

/* Who never takes the answers is not answered for ever. */
static void a_flood_of_pings_ends_the_connection(void **state)
{
	(void)state;
	static const char ping[] = "\0\0\x8\6\0\0\0\0\0pingpong";
	struct pair pair;
	int status = 0;
	pair_start(&pair, NULL, 100, SIZE_MAX / 2);
	assert_int_equal(talk(&pair), 0);
	for (int i = 0; i < 10000 && status == 0; i++)
		status = sz_http2_feed(pair.client, ping, sizeof(ping) - 1);
	assert_int_equal(status, -1);
	assert_non_null(sz_http2_why(pair.client));
	pair_stop(&pair);
}

static void play_crumbs(struct server *server, int32_t stream)
{
	server->step_bytes = 1;
	respond(server, stream, "200", 10000);
}

static void ten_thousand_frames_are_one_body(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_crumbs, 100, 4096);
	ask(&pair, 0);
	assert_int_equal(talk(&pair), 0);
	assert_int_equal(pair.calls[0].body_bytes, 10000);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

static void play_large(struct server *server, int32_t stream)
{
	respond(server, stream, "200", (size_t)64 << 20);
}

/* 64 MiB without a WINDOW_UPDATE: the server asks for no more room. */
static void no_window_holds_the_peer_back(void **state)
{
	(void)state;
	struct pair pair;
	pair_start(&pair, play_large, 100, SIZE_MAX / 2);
	ask(&pair, 0);
	while (carry_up(&pair))
		;
	while (carry_down(&pair) > 0)
		;
	assert_int_equal(pair.calls[0].body_bytes, (size_t)64 << 20);
	assert_int_equal(pair.calls[0].end, SZ_HTTP2_WHOLE);
	pair_stop(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_in_pieces),
		cmocka_unit_test(without_a_body),
		cmocka_unit_test(cookies),
		cmocka_unit_test(interim_answers_are_skipped),
		cmocka_unit_test(heads_are_bounded),
		cmocka_unit_test(a_body_cut_short_is_no_answer),
		cmocka_unit_test(long_bodies_keep_to_the_peers_window),
		cmocka_unit_test(the_longest_heads_are_sent),
		cmocka_unit_test(an_answer_before_the_end_of_the_request),
		cmocka_unit_test(many_streams_end_once_each),
		cmocka_unit_test(the_peers_number_of_streams_is_honoured),
		cmocka_unit_test(resets),
		cmocka_unit_test(a_call_that_is_given_up),
		cmocka_unit_test(a_call_is_given_up_when_something_happened_to_it),
		cmocka_unit_test(a_goaway_refuses_what_it_leaves_out),
		cmocka_unit_test(a_goaway_says_why),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(ten_thousand_pings_are_answered),
		cmocka_unit_test(a_flood_of_pings_ends_the_connection),
		cmocka_unit_test(ten_thousand_frames_are_one_body),
		cmocka_unit_test(no_window_holds_the_peer_back),
	};
	return cmocka_run_group_tests_name("net/http2", tests, NULL, NULL);
}
