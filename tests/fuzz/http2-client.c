/* SPDX-License-Identifier: Apache-2.0
 *
 * Whatever a server sends, however the network cut it: fed whole and fed in
 * pieces the calls end alike, each at most once, and what comes to send is
 * bounded. The first byte of the input chooses the size of the pieces.
 */
#include <stdbool.h>

#include "fuzz.h"
#include "net/http2.h"

#define CALLS 3

struct outcome {
	struct sz_http2 *http2;
	int status;
	bool may_ask;
	bool is_flood; /* what nghttp2 calls one depends on the pieces */
	unsigned ended[CALLS];
	struct sz_http2_call calls[CALLS];
};

static void note_calls(struct outcome *outcome)
{
	struct sz_http2_call *call;
	while ((call = sz_http2_next(outcome->http2))) {
		FUZZ_CHECK(call >= outcome->calls && call < outcome->calls + CALLS);
		FUZZ_CHECK(call->end != SZ_HTTP2_RESET || call->why);
		FUZZ_CHECK(call->end != SZ_HTTP2_WHOLE || (call->head_complete && call->status));
		if (call->end != SZ_HTTP2_UNDER_WAY)
			FUZZ_CHECK(++outcome->ended[call - outcome->calls] == 1);
	}
}

static void pull_all(struct outcome *outcome)
{
	char bytes[1024];
	ptrdiff_t len;
	while ((len = sz_http2_pull(outcome->http2, bytes, sizeof(bytes))) > 0)
		FUZZ_CHECK(len <= (ptrdiff_t)sizeof(bytes));
	if (len < 0)
		outcome->status = -1;
	note_calls(outcome);
}

static void run(struct outcome *outcome, const struct sz_http2_head *head, const char *bytes,
		size_t len, size_t piece)
{
	*outcome = (struct outcome){.http2 = sz_http2_new()};
	FUZZ_CHECK(outcome->http2);
	for (size_t i = 0; i < CALLS; i++)
		FUZZ_CHECK(sz_http2_ask(outcome->http2, head, "body", 4 * (i == 1),
					&outcome->calls[i]) == 0);
	pull_all(outcome);
	for (size_t at = 0; at < len && outcome->status == 0; at += piece) {
		size_t step = len - at < piece ? len - at : piece;
		outcome->status = sz_http2_feed(outcome->http2, bytes + at, step);
		note_calls(outcome);
	}
	pull_all(outcome);
	const char *why = sz_http2_why(outcome->http2);
	FUZZ_CHECK(outcome->status == 0 || why);
	outcome->may_ask = sz_http2_may_ask(outcome->http2);
	outcome->is_flood = why && strstr(why, "CONTINUATION");
	sz_http2_free(outcome->http2);
}

static void check_alike(const struct outcome *whole, const struct outcome *cut)
{
	if (whole->is_flood || cut->is_flood)
		return;
	/* Behind a GOAWAY nghttp2 may or may not look at what comes. */
	FUZZ_CHECK(whole->may_ask == cut->may_ask);
	bool comparable = whole->status == 0 && cut->status == 0;
	for (size_t i = 0; i < CALLS && comparable; i++) {
		FUZZ_CHECK(whole->ended[i] == cut->ended[i]);
		FUZZ_CHECK(whole->calls[i].end == cut->calls[i].end);
		FUZZ_CHECK(whole->calls[i].status == cut->calls[i].status);
		/* Of a body that breaks its length as much counts as came before. */
		FUZZ_CHECK(whole->calls[i].body_bytes == cut->calls[i].body_bytes ||
			   whole->calls[i].end == SZ_HTTP2_RESET);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sz_http2_request request = {.method = "GET",
							.scheme = "http",
							.authority = "a",
							.path = "/"};
	if (size == 0)
		return 0;
	struct sz_http2_head *head = sz_http2_head_new(&request);
	char *bytes = fuzz_text(data + 1, size - 1);
	struct outcome whole;
	struct outcome cut;
	FUZZ_CHECK(head);
	run(&whole, head, bytes, size - 1, SIZE_MAX / 2);
	run(&cut, head, bytes, size - 1, 1 + data[0] % 64);
	check_alike(&whole, &cut);
	free(bytes);
	sz_http2_head_free(head);
	return 0;
}
