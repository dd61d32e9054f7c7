/* SPDX-License-Identifier: Apache-2.0
 *
 * Access logs.
 */
#include "requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sz_requests_config config = {.base = "http://127.0.0.1:8000"};
	fuzz_read(&config, sz_requests_read_log, data, size);
	return 0;
}
