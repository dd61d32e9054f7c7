/* SPDX-License-Identifier: Apache-2.0
 *
 * HAR files, without their secrets and with them.
 */
#include "requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sz_requests_config least = {.base = "http://127.0.0.1:8000"};
	const struct sz_requests_config all = {.keep_secrets = true};
	fuzz_read(&least, sz_requests_read_har, data, size);
	fuzz_read(&all, sz_requests_read_har, data, size);
	return 0;
}
