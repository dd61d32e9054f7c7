/* SPDX-License-Identifier: Apache-2.0
 *
 * Every message is fed whole, split in two at every byte boundary, and one
 * byte at a time; the outcome must not depend on it. Bytes after the message
 * must be left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/http1.h"

#define NEXT_RESPONSE "HTTP/1.1 500 next\r\n"

struct response_case {
	const char *text;
	bool head_request;
	enum sz_http1_state state; /* MORE: only the close of the connection ends it */
	int status;
	bool keep_alive;
	uint64_t body_bytes;
};

#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define BAD SZ_HTTP1_BAD
#define DONE SZ_HTTP1_COMPLETE
#define UNTIL_CLOSE SZ_HTTP1_MORE

static const struct response_case responses[] = {
	{OK_HEAD "Content-Length: 3\r\n\r\nok\n", false, DONE, 200, true, 3},
	{OK_HEAD "Content-Length: 0\r\n\r\n", false, DONE, 200, true, 0},
	{OK_HEAD "Content-Length: 3\r\nConnection: close\r\n\r\nok\n", false, DONE, 200, false, 3},
	{OK_HEAD "content-length:3\r\nconnection:Close\r\n\r\nok\n", false, DONE, 200, false, 3},
	/* HTTP/1.0 */
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", false, DONE, 200, false, 1},
	{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx", false, DONE,
	 200, true, 1},
	/* chunks, extensions, trailers */
	{CHUNKED "0\r\n\r\n", false, DONE, 200, true, 0},
	{CHUNKED "3\r\nabc\r\n0\r\n\r\n", false, DONE, 200, true, 3},
	{CHUNKED "A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", false, DONE, 200, true, 11},
	{CHUNKED "2;name=\"a b\"\r\nab\r\n0\r\n\r\n", false, DONE, 200, true, 2},
	{CHUNKED "3;a=1;b=\"x;y\";c=\"x\\\"y\";d\r\nabc\r\n0;a;b=2\r\n\r\n", false, DONE, 200, true,
	 3},
	{CHUNKED "1 ;a\r\nx\r\n0\r\n\r\n", false, BAD, 200, false, 0},
	{CHUNKED "1; a = 1 ;\tb\r\nx\r\n0\r\n\r\n", false, DONE, 200, true, 1},
	{CHUNKED "1;a\r\n;\r\n2;;\r\n\r\n\r\n0;\r\nX: ;\r\n\r\n", false, DONE, 200, true, 3},
	{CHUNKED ";a\r\nx\r\n", false, BAD, 200, false, 0},
	{CHUNKED "1;a\nx\r\n0\r\n\r\n", false, BAD, 200, false, 0},
	{CHUNKED "1;a\rx\r\n0\r\n\r\n", false, BAD, 200, false, 0},
	{CHUNKED "1;a\x01\r\nx\r\n0\r\n\r\n", false, BAD, 200, false, 0},
	{CHUNKED "1\r\nx\r\n0\r\nDigest: abc\r\nX: y\r\n\r\n", false, DONE, 200, true, 1},
	/* no body whatever the head says */
	{OK_HEAD "Content-Length: 500\r\n\r\n", true, DONE, 200, true, 0},
	{CHUNKED, true, DONE, 200, true, 0},
	{OK_HEAD "\r\n", true, DONE, 200, true, 0},
	{"HTTP/1.1 204 No Content\r\n\r\n", false, DONE, 204, true, 0},
	{"HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\n\r\n", false, DONE, 304, true, 0},
	{"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false, DONE, 304, true,
	 0},
	/* interim responses */
	{"HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD "Content-Length: 1\r\n\r\nx", false, DONE, 200,
	 true, 1},
	{"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
	 "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
	 false, DONE, 404, true, 2},
	{"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" OK_HEAD "Content-Length: 1\r\n\r\nx",
	 false, DONE, 200, true, 1},
	/* ended by the close */
	{OK_HEAD "\r\nabcdef", false, UNTIL_CLOSE, 200, false, 6},
	{OK_HEAD "\r\n", false, UNTIL_CLOSE, 200, false, 0},
	{"HTTP/1.0 200 OK\r\n\r\nabc", false, UNTIL_CLOSE, 200, false, 3},
	{OK_HEAD "Transfer-Encoding: gzip\r\n\r\nabc", false, UNTIL_CLOSE, 200, false, 3},
	/* broken */
	{"garbage\r\n\r\n", false, BAD, 0, false, 0},
	{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", false,
	 BAD, 0, false, 0},
	{"HTTP/1.1 101 Switching Protocols\r\n\r\n", false, BAD, 0, false, 0},
	{"HTTP/2.0 200 OK\r\n\r\n", false, BAD, 0, false, 0},
	{"HTTP/0.9 200 OK\r\n\r\n", false, BAD, 0, false, 0},
	{"HTTP/1.1 20 OK\r\n\r\n", false, BAD, 0, false, 0},
	{OK_HEAD "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", false, BAD, 0, false, 0},
	{OK_HEAD "Content-Length: -1\r\n\r\n", false, BAD, 0, false, 0},
	{OK_HEAD "Content-Length: 99999999999999999999\r\n\r\n", false, BAD, 0, false, 0},
	{OK_HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", false, BAD, 0, false,
	 0},
	{OK_HEAD "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", false, BAD, 0, false,
	 0},
	{CHUNKED "zz\r\n", false, BAD, 200, false, 0},
	{CHUNKED "fffffffffffffffff\r\n", false, BAD, 200, false, 0},
	{OK_HEAD "bad header\r\n\r\n", false, BAD, 0, false, 0},
};

/* Feed text in pieces that end at cuts[]; the state after the last one. */
static enum sz_http1_state feed_response(struct sz_http1_response *response, const char *text,
					 size_t len, size_t first, size_t step, size_t *total)
{
	enum sz_http1_state state = SZ_HTTP1_MORE;
	*total = 0;
	for (size_t at = 0; at < len && state == SZ_HTTP1_MORE;) {
		size_t piece = at == 0 ? first : step;
		if (piece > len - at)
			piece = len - at;
		/* A copy of its own, so that a read beyond it is seen by ASan. */
		char *copy = malloc(piece);
		assert_non_null(copy);
		memcpy(copy, text + at, piece);
		size_t consumed;
		state = sz_http1_response_feed(response, copy, piece, &consumed);
		free(copy);
		assert_true(consumed <= piece);
		assert_true(state != SZ_HTTP1_MORE || consumed == piece);
		*total += consumed;
		at += piece;
	}
	return state;
}

static void check_response(const struct response_case *want, size_t first, size_t step,
			   struct sz_http1_memo *memo)
{
	sz_autobuf struct sz_buf text = {0};
	struct sz_http1_response response;
	size_t len = strlen(want->text);
	size_t total;
	sz_buf_puts(&text, want->text);
	if (want->state == DONE)
		sz_buf_puts(&text, NEXT_RESPONSE);
	sz_http1_response_init(&response, want->head_request);
	response.memo = memo;
	enum sz_http1_state state =
		feed_response(&response, sz_buf_text(&text), text.len, first, step, &total);
	if (state != want->state)
		fail_msg("%s: state %d, wanted %d (%s)", want->text, state, want->state,
			 response.why ? response.why : "");
	if (want->state == BAD) {
		assert_non_null(response.why);
		return;
	}
	assert_int_equal(response.status, want->status);
	assert_int_equal(response.body_bytes, want->body_bytes);
	assert_int_equal(total, len);
	if (want->state == UNTIL_CLOSE) {
		assert_true(response.until_close);
		assert_int_equal(sz_http1_response_eof(&response), SZ_HTTP1_COMPLETE);
	}
	assert_int_equal(response.keep_alive, want->keep_alive);
}

static void responses_at_every_boundary(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(responses); i++) {
		size_t len = strlen(responses[i].text) + strlen(NEXT_RESPONSE);
		for (size_t cut = 1; cut <= len; cut++)
			check_response(&responses[i], cut, len, NULL);
		check_response(&responses[i], 1, 1, NULL);
	}
}

/* Whether the body holds "aab": the frame is no part of it, and neither is the
 * next message. */
static void sought_text_at_every_boundary(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool holds;
	} cases[] = {
		{OK_HEAD "Content-Length: 4\r\n\r\naaab", true},
		{OK_HEAD "Content-Length: 4\r\n\r\naacb", false},
		{OK_HEAD "Content-Length: 3\r\n\r\naaaaab", false},
		{OK_HEAD "X: aab\r\nContent-Length: 0\r\n\r\n", false},
		{CHUNKED "2\r\naa\r\n2\r\nab\r\n0\r\n\r\n", true},
		{CHUNKED "1;aab\r\na\r\n1\r\nb\r\n0\r\nX: aab\r\n\r\n", false},
		{"HTTP/1.0 200 OK\r\n\r\nxaaab", true},
		{"HTTP/1.0 200 OK\r\n\r\nxaaaa", false},
	};
	struct sz_match match;
	assert_int_equal(sz_match_init(&match, "aab", NULL), 0);
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].text);
		for (size_t cut = 1; cut <= len; cut++) {
			struct sz_http1_response response;
			size_t total;
			sz_http1_response_init(&response, false);
			assert_int_equal(response.matched, 0);
			response.sought = &match;
			feed_response(&response, cases[i].text, len, cut, cut == 1 ? 1 : len,
				      &total);
			assert_int_equal(response.matched == match.len, cases[i].holds);
		}
	}
}

/* Whatever came before, and when it comes again. */
static void a_memo_changes_nothing(void **state)
{
	(void)state;
	static struct sz_http1_memo memo;
	for (size_t i = 0; i < SZ_ARRAY_LEN(responses); i++) {
		size_t len = strlen(responses[i].text) + strlen(NEXT_RESPONSE);
		for (size_t cut = len; cut > 0; cut--)
			check_response(&responses[i], cut, len, &memo);
		check_response(&responses[i], len, len, &memo);
	}
}

static void feed_with(struct sz_http1_memo *memo, const char *text, size_t len, bool head_request,
		      struct sz_http1_response *response)
{
	size_t used;
	sz_http1_response_init(response, head_request);
	response->memo = memo;
	sz_http1_response_feed(response, text, len, &used);
}

static void a_memo_is_of_equal_heads_alone(void **state)
{
	(void)state;
	static const char three[] = OK_HEAD "Content-Length: 3\r\n\r\nabc";
	static const char gone[] = "HTTP/1.1 410 OK\r\nContent-Length: 3\r\n\r\nabc";
	static const char chunked[] = CHUNKED "3\r\nabc\r\n0\r\n\r\n";
	struct sz_http1_memo memo = {0};
	struct sz_http1_response response;
	feed_with(&memo, chunked, strlen(chunked), false, &response);
	assert_int_equal(memo.head_bytes, 0);
	feed_with(&memo, three, strlen(three), false, &response);
	assert_int_equal(memo.head_bytes, strlen(three) - 3);
	/* A parser that was not asked has seen no byte. */
	feed_with(&memo, three, strlen(three), false, &response);
	assert_int_equal(response.parser.head_bytes, 0);
	assert_true(response.head_complete && response.body_bytes == 3);
	feed_with(&memo, three, strlen(three) - 1, false, &response);
	assert_true(response.head_complete && response.body_bytes == 2);
	feed_with(&memo, three, strlen(three) - 3, true, &response);
	assert_int_equal(response.body_bytes, 0);
	feed_with(&memo, gone, strlen(gone), false, &response);
	assert_int_equal(response.status, 410);
}

/* A complete framed response that loses its end is truncated, wherever. */
static void truncated_responses(void **state)
{
	(void)state;
	static const char *const texts[] = {
		OK_HEAD "Content-Length: 3\r\n\r\nok\n",
		CHUNKED "3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD "Content-Length: 1\r\n\r\nx",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(texts); i++) {
		for (size_t len = 0; len < strlen(texts[i]); len++) {
			struct sz_http1_response response;
			size_t total;
			sz_http1_response_init(&response, false);
			assert_int_equal(feed_response(&response, texts[i], len, len, len, &total),
					 SZ_HTTP1_MORE);
			assert_int_equal(sz_http1_response_eof(&response), SZ_HTTP1_BAD);
			assert_non_null(strstr(response.why, "truncated"));
		}
	}
}

/* What speaks there is known with the first bytes, whatever becomes of it. */
static void http_or_not(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool is_http;
	} cases[] = {
		{OK_HEAD "Content-Length: x\r\n\r\n", true},
		{"HTTP/1.1 2x0 OK\r\n\r\n", true},
		{"HTTP/2.0 200 OK\r\n\r\n", true},
		{"SSH-2.0-OpenSSH_9.2\r\n", false},
		{"HTTPS is not spoken here\r\n", false},
		{"\x15\x03\x01", false},
		{"<html>", false},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].text);
		for (size_t step = 1; step <= len; step++) {
			struct sz_http1_response response;
			size_t total;
			sz_http1_response_init(&response, false);
			assert_int_equal(feed_response(&response, cases[i].text, len, step, step,
						       &total),
					 SZ_HTTP1_BAD);
			assert_int_equal(response.is_http, cases[i].is_http);
		}
	}
}

static void moved_between_feeds(void **state)
{
	(void)state;
	const char *text = responses[0].text;
	size_t consumed;
	struct sz_http1_response first, second;
	sz_http1_response_init(&first, false);
	assert_int_equal(sz_http1_response_feed(&first, text, 20, &consumed), SZ_HTTP1_MORE);
	second = first;
	memset(&first, 0xff, sizeof(first));
	assert_int_equal(sz_http1_response_feed(&second, text + 20, strlen(text) - 20, &consumed),
			 SZ_HTTP1_COMPLETE);
	assert_int_equal(second.status, 200);
	assert_int_equal(second.body_bytes, 3);
}

/* A head of exactly `len` bytes. */
static void make_head(struct sz_buf *buf, const char *start, size_t len)
{
	sz_buf_puts(buf, start);
	sz_buf_puts(buf, "X: ");
	sz_buf_repeat(buf, 'x', len - buf->len - 4);
	sz_buf_puts(buf, "\r\n\r\n");
	assert_int_equal(buf->len, len);
}

static void head_limits(void **state)
{
	(void)state;
	for (size_t excess = 0; excess < 2; excess++) {
		for (size_t step = 1000; step < 200000; step *= 190) {
			sz_autobuf struct sz_buf text = {0};
			struct sz_http1_response response;
			size_t total;
			make_head(&text, OK_HEAD "Content-Length: 1\r\n",
				  SZ_HTTP1_HEAD_MAX + excess);
			sz_buf_puts(&text, "b");
			sz_http1_response_init(&response, false);
			assert_int_equal(feed_response(&response, text.data, text.len, step, step,
						       &total),
					 excess ? SZ_HTTP1_BAD : SZ_HTTP1_COMPLETE);
			assert_int_equal(response.body_bytes, excess ? 0 : 1);
		}
		sz_autobuf struct sz_buf text = {0};
		struct sz_http1_request request;
		size_t consumed;
		make_head(&text, "GET / HTTP/1.1\r\n", SZ_HTTP1_HEAD_MAX + excess);
		sz_http1_request_init(&request);
		assert_int_equal(sz_http1_request_feed(&request, text.data, text.len, &consumed),
				 excess ? SZ_HTTP1_BAD : SZ_HTTP1_COMPLETE);
		assert_int_equal(request.refuse_status, excess ? 431 : 0);
	}
}

/* Interim responses cannot go on for ever. */
static void endless_interim(void **state)
{
	(void)state;
	static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";
	struct sz_http1_response response;
	enum sz_http1_state result = SZ_HTTP1_MORE;
	size_t total = 0;
	sz_http1_response_init(&response, false);
	while (result == SZ_HTTP1_MORE && total < 2 * SZ_HTTP1_HEAD_MAX) {
		size_t consumed;
		result = sz_http1_response_feed(&response, interim, strlen(interim), &consumed);
		total += consumed;
	}
	assert_int_equal(result, SZ_HTTP1_BAD);
	assert_int_equal(total, SZ_HTTP1_HEAD_MAX);
}

struct request_case {
	const char *text;
	int refuse_status; /* 0: complete */
	const char *method;
	const char *target;
	bool keep_alive;
};

static const struct request_case requests[] = {
	{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "GET", "/", true},
	{"GET /io?ms=2.5&x=%20y HTTP/1.1\r\n\r\n", 0, "GET", "/io?ms=2.5&x=%20y", true},
	{"\r\nGET /a HTTP/1.1\r\n\r\n", 0, "GET", "/a", true},
	{"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n", 0, "HEAD", "/", false},
	{"GET / HTTP/1.0\r\n\r\n", 0, "GET", "/", false},
	{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", 0, "GET", "/", true},
	{"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 0, "GET", "/", true},
	{"OPTIONS * HTTP/1.1\r\n\r\n", 0, "OPTIONS", "*", true},
	{"GET http://host:80/x?y HTTP/1.1\r\n\r\n", 0, "GET", "/x?y", true},
	{"GET http://host HTTP/1.1\r\n\r\n", 0, "GET", "/", true},
	{"GET http://host?q HTTP/1.1\r\n\r\n", 0, "GET", "/?q", true},
	{"GET /?u=http://a/b HTTP/1.1\r\n\r\n", 0, "GET", "/?u=http://a/b", true},
	{"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 0, "POST", "/", true},
	{"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;e\r\nabc\r\n0\r\nT: v\r\n\r\n", 0,
	 "POST", "/c", true},
	{"BREW / HTTP/1.1\r\n\r\n", 501, NULL, NULL, false},
	{"CONNECT a:443 HTTP/1.1\r\n\r\n", 501, NULL, NULL, false},
	{"GET / HTTP/3.0\r\n\r\n", 505, NULL, NULL, false},
	{"GET / HTTP/2.0\r\n\r\n", 505, NULL, NULL, false},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, NULL, NULL, false},
	{"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, NULL,
	 NULL, false},
	{"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, NULL, NULL,
	 false},
	{"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400, NULL, NULL, false},
	{"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, NULL, NULL, false},
};

static enum sz_http1_state feed_request(struct sz_http1_request *request, const char *text,
					size_t len, size_t first, size_t step, size_t *total)
{
	enum sz_http1_state state = SZ_HTTP1_MORE;
	*total = 0;
	for (size_t at = 0; at < len && state == SZ_HTTP1_MORE;) {
		size_t piece = at == 0 ? first : step;
		size_t consumed;
		if (piece > len - at)
			piece = len - at;
		state = sz_http1_request_feed(request, text + at, piece, &consumed);
		assert_true(state != SZ_HTTP1_MORE || consumed == piece);
		*total += consumed;
		at += piece;
	}
	return state;
}

static void check_request(const struct request_case *want, size_t first, size_t step)
{
	sz_autobuf struct sz_buf text = {0};
	struct sz_http1_request request;
	size_t total;
	sz_buf_puts(&text, want->text);
	if (!want->refuse_status)
		sz_buf_puts(&text, "GET /next HTTP/1.1\r\n");
	sz_http1_request_init(&request);
	enum sz_http1_state state =
		feed_request(&request, sz_buf_text(&text), text.len, first, step, &total);
	if (state != (want->refuse_status ? SZ_HTTP1_BAD : SZ_HTTP1_COMPLETE))
		fail_msg("%s: state %d (%s)", want->text, state, request.why ? request.why : "");
	if (request.refuse_status != want->refuse_status)
		fail_msg("%s: status %d (%s)", want->text, request.refuse_status,
			 request.why ? request.why : "");
	if (want->refuse_status) {
		assert_non_null(request.why);
		return;
	}
	assert_string_equal(request.method, want->method);
	assert_string_equal(request.target, want->target);
	assert_int_equal(request.keep_alive, want->keep_alive);
	assert_int_equal(total, strlen(want->text));
}

static void requests_at_every_boundary(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(requests); i++) {
		size_t len = strlen(requests[i].text) + 20;
		for (size_t cut = 1; cut <= len; cut++)
			check_request(&requests[i], cut, len);
		check_request(&requests[i], 1, 1);
	}
}

static void long_targets(void **state)
{
	(void)state;
	for (size_t excess = 0; excess < 2; excess++) {
		sz_autobuf struct sz_buf text = {0};
		struct sz_http1_request request;
		size_t total;
		sz_buf_puts(&text, "GET /");
		sz_buf_repeat(&text, 'a', SZ_HTTP1_TARGET_MAX - 2 + excess);
		sz_buf_puts(&text, " HTTP/1.1\r\n\r\n");
		sz_http1_request_init(&request);
		enum sz_http1_state result =
			feed_request(&request, text.data, text.len, 700, 700, &total);
		assert_int_equal(result, excess ? SZ_HTTP1_BAD : SZ_HTTP1_COMPLETE);
		assert_int_equal(request.refuse_status, excess ? 414 : 0);
		if (!excess)
			assert_int_equal(strlen(request.target), SZ_HTTP1_TARGET_MAX - 1);
	}
}

/* One object, message after message out of one buffer. */
static void pipelined_requests(void **state)
{
	(void)state;
	static const char text[] = "GET /1 HTTP/1.1\r\n\r\n"
				   "POST /2 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
				   "GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n";
	struct sz_http1_request request;
	size_t at = 0;
	for (char digit = '1'; digit <= '3'; digit++) {
		size_t consumed;
		sz_http1_request_init(&request);
		assert_int_equal(sz_http1_request_feed(&request, text + at, strlen(text) - at,
						       &consumed),
				 SZ_HTTP1_COMPLETE);
		assert_int_equal(request.target[1], digit);
		at += consumed;
	}
	assert_int_equal(at, strlen(text));
	assert_false(request.keep_alive);
}

/* To a request in HTTP/1.0 the server must say that it keeps the connection (RFC 9112,
 * 9.3), whatever its own version. */
static void who_asks_in_http10_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool keep_alive;
	} cases[] = {
		{OK_HEAD "Content-Length: 0\r\n\r\n", false},
		{OK_HEAD "Content-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", true},
		{OK_HEAD "Content-Length: 0\r\nConnection: close\r\n\r\n", false},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_http1_response response;
		size_t used;
		sz_http1_response_init(&response, false);
		response.asked_in_http10 = true;
		assert_int_equal(sz_http1_response_feed(&response, cases[i].text,
							strlen(cases[i].text), &used),
				 DONE);
		assert_int_equal(response.keep_alive, cases[i].keep_alive);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks_in_http10_is_told),
		cmocka_unit_test(responses_at_every_boundary),
		cmocka_unit_test(sought_text_at_every_boundary),
		cmocka_unit_test(a_memo_changes_nothing),
		cmocka_unit_test(a_memo_is_of_equal_heads_alone),
		cmocka_unit_test(truncated_responses),
		cmocka_unit_test(http_or_not),
		cmocka_unit_test(moved_between_feeds),
		cmocka_unit_test(head_limits),
		cmocka_unit_test(endless_interim),
		cmocka_unit_test(requests_at_every_boundary),
		cmocka_unit_test(long_targets),
		cmocka_unit_test(pipelined_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
