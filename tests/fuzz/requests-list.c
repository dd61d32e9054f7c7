/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of URLs.
 */
#include "requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sz_requests_config config = {.base = "http://127.0.0.1:8000", .body = "x"};
	fuzz_read(&config, sz_requests_read_list, data, size);
	return 0;
}
