/* SPDX-License-Identifier: Apache-2.0
 *
 * A request means the same however the network cut it; see http1-response.c.
 */
#include <stdbool.h>

#include "net/http1.h"
#include "fuzz.h"

struct outcome {
	enum sz_http1_state state;
	size_t consumed;
	struct sz_http1_request request;
};

static void feed(struct outcome *outcome, const char *bytes, size_t len, size_t piece)
{
	sz_http1_request_init(&outcome->request);
	outcome->state = SZ_HTTP1_MORE;
	outcome->consumed = 0;
	while (outcome->state == SZ_HTTP1_MORE && outcome->consumed < len) {
		size_t rest = len - outcome->consumed;
		size_t step = rest < piece ? rest : piece;
		size_t used = SIZE_MAX;
		outcome->state = sz_http1_request_feed(&outcome->request, bytes + outcome->consumed,
						       step, &used);
		FUZZ_CHECK(used <= step);
		FUZZ_CHECK(outcome->state != SZ_HTTP1_MORE || used == step);
		outcome->consumed += used;
	}
}

static void check_refusal(const struct sz_http1_request *request)
{
	FUZZ_CHECK(request->why);
	FUZZ_CHECK(request->refuse_status >= 400 && request->refuse_status <= 599);
}

static void check_alike(const struct outcome *whole, const struct outcome *cut)
{
	const struct sz_http1_request *request = &whole->request;
	FUZZ_CHECK(whole->state == cut->state);
	if (whole->state == SZ_HTTP1_BAD) {
		check_refusal(request);
		check_refusal(&cut->request);
	}
	if (whole->state != SZ_HTTP1_COMPLETE)
		return;
	FUZZ_CHECK(whole->consumed == cut->consumed);
	FUZZ_CHECK(request->keep_alive == cut->request.keep_alive);
	FUZZ_CHECK(request->method[0] && strcmp(request->method, cut->request.method) == 0);
	FUZZ_CHECK(request->target[0] == '/' || strcmp(request->target, "*") == 0);
	FUZZ_CHECK(strcmp(request->target, cut->request.target) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t piece = 1 + (data[0] & 0x7f);
	char *bytes = fuzz_text(data + 1, size - 1);
	struct outcome whole;
	struct outcome cut;
	feed(&whole, bytes, size - 1, SIZE_MAX);
	feed(&cut, bytes, size - 1, piece);
	check_alike(&whole, &cut);
	free(bytes);
	return 0;
}
