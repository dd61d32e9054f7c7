/* SPDX-License-Identifier: Apache-2.0
 *
 * A response means the same however the network cut it: fed whole and fed in
 * pieces it ends in the same state. The first byte of the input chooses the
 * size of the pieces and whether the request was HEAD.
 */
#include <stdbool.h>

#include "net/http1.h"
#include "fuzz.h"

struct outcome {
	enum sz_http1_state state;
	size_t consumed;
	struct sz_http1_response response;
};

static void feed(struct outcome *outcome, const char *bytes, size_t len, size_t piece, bool head)
{
	sz_http1_response_init(&outcome->response, head);
	outcome->state = SZ_HTTP1_MORE;
	outcome->consumed = 0;
	while (outcome->state == SZ_HTTP1_MORE && outcome->consumed < len) {
		size_t rest = len - outcome->consumed;
		size_t step = rest < piece ? rest : piece;
		size_t used = SIZE_MAX;
		outcome->state = sz_http1_response_feed(&outcome->response,
							bytes + outcome->consumed, step, &used);
		FUZZ_CHECK(used <= step);
		FUZZ_CHECK(outcome->state != SZ_HTTP1_MORE || used == step);
		outcome->consumed += used;
	}
	if (outcome->state == SZ_HTTP1_MORE)
		outcome->state = sz_http1_response_eof(&outcome->response);
}

static void check_alike(const struct outcome *whole, const struct outcome *cut)
{
	FUZZ_CHECK(whole->state == cut->state);
	FUZZ_CHECK(whole->response.status == cut->response.status);
	FUZZ_CHECK(whole->response.head_complete == cut->response.head_complete);
	if (whole->state == SZ_HTTP1_BAD) {
		FUZZ_CHECK(whole->response.why && cut->response.why);
		return;
	}
	FUZZ_CHECK(whole->consumed == cut->consumed);
	FUZZ_CHECK(whole->response.body_bytes == cut->response.body_bytes);
	FUZZ_CHECK(whole->response.keep_alive == cut->response.keep_alive);
	FUZZ_CHECK(whole->response.status >= 101 && whole->response.status <= 999);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	bool head = data[0] & 0x80;
	size_t piece = 1 + (data[0] & 0x7f);
	char *bytes = fuzz_text(data + 1, size - 1);
	struct outcome whole;
	struct outcome cut;
	feed(&whole, bytes, size - 1, SIZE_MAX, head);
	feed(&cut, bytes, size - 1, piece, head);
	check_alike(&whole, &cut);
	free(bytes);
	return 0;
}
