/* SPDX-License-Identifier: Apache-2.0
 *
 * A request as a text: what was taken is one request, and its body what stood there.
 */
#include "requests.h"

static int read_message(struct sz_requests *requests, const char *name, const char *text,
			size_t len, struct sz_err *err)
{
	if (sz_requests_read_message(requests, name, text, len, err) < 0)
		return -1;
	const struct sz_request *request = &requests->items[0];
	FUZZ_CHECK(requests->count == 1 && request->body_bytes < len);
	if (request->body)
		FUZZ_CHECK(memmem(text, len, request->body, request->body_bytes));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sz_requests_config config = {.base = "http://127.0.0.1:8000"};
	fuzz_read(&config, read_message, data, size);
	return 0;
}
