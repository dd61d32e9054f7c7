/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of headers: a request with those that were taken is still one request.
 */
#include "requests.h"

static int read_headers(struct sz_requests *requests, const char *name, const char *text,
			size_t len, struct sz_err *err)
{
	if (sz_headers_add_lines(requests, name, text, len, err) < 0)
		return -1;
	return sz_requests_add(requests, "http://127.0.0.1:8000/", err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sz_requests_config config = {0};
	fuzz_read(&config, read_headers, data, size);
	return 0;
}
