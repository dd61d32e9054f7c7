/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds for every set of requests, whoever wrote what it was read from.
 */
#ifndef SZ_FUZZ_REQUESTS_H
#define SZ_FUZZ_REQUESTS_H

#include "fuzz.h"
#include "load/requests-inside.h"

/* Lines of a head: none holds a CR or LF of its own, and the empty one is the
 * last. */
static inline size_t fuzz_count_lines(const struct sz_request *request)
{
	size_t lines = 0;
	const char *at = request->head, *end = at + request->head_bytes;
	FUZZ_CHECK(strnlen(at, request->head_bytes) == request->head_bytes);
	while (at < end) {
		size_t len = strcspn(at, "\r\n");
		FUZZ_CHECK(strncmp(at + len, "\r\n", 2) == 0);
		FUZZ_CHECK((len == 0) == (at + 2 == end));
		at += len + 2;
		lines++;
	}
	return lines;
}

static inline void fuzz_check_request(const struct sz_requests *requests,
				      const struct sz_request *request)
{
	FUZZ_CHECK(request->origin < requests->origin_count);
	FUZZ_CHECK(request->weight > 0 && request->weight <= SZ_REQUEST_WEIGHT_MAX);
	FUZZ_CHECK(request->head_bytes <= SZ_REQUEST_HEAD_MAX_BYTES);
	FUZZ_CHECK(request->target[0] == '/' && !sz_url_bytes_fault(request->target));
	FUZZ_CHECK(sz_is_token(request->method, strlen(request->method)));
	FUZZ_CHECK(request->body || request->body_bytes == 0);
	FUZZ_CHECK(request->joined_bytes == request->head_bytes ||
		   request->joined_bytes == request->head_bytes + request->body_bytes);
	/* Request line, Host, the headers, the empty line. */
	FUZZ_CHECK(fuzz_count_lines(request) == request->header_count + 3);
}

static inline void fuzz_check_requests(const struct sz_requests *requests)
{
	FUZZ_CHECK(requests->count <= SZ_REQUESTS_MAX);
	FUZZ_CHECK(requests->origin_count <= SZ_ORIGINS_MAX);
	for (size_t i = 0; i < requests->count; i++) {
		fuzz_check_request(requests, &requests->items[i]);
		FUZZ_CHECK(i == 0 || requests->items[i - 1].at_ns <= requests->items[i].at_ns);
	}
	for (const char *at = requests->first_malformed; at && *at; at++)
		FUZZ_CHECK(*at >= ' ' && *at < 0x7f);
}

/* Memory of the input's exact size, so that a sanitizer sees every read behind
 * its end: readers need no NUL. */
static inline void fuzz_read(const struct sz_requests_config *config, sz_requests_reader *reader,
			     const uint8_t *data, size_t size)
{
	struct sz_requests *requests = NULL;
	struct sz_err err = {0};
	char *text = malloc(size ? size : 1);
	FUZZ_CHECK(text && sz_requests_new(config, &requests, &err) == 0);
	if (size)
		memcpy(text, data, size);
	if (reader(requests, "input", text, size, &err) == 0)
		FUZZ_CHECK(requests->count > 0);
	else
		FUZZ_CHECK(err.code == SZ_USAGE && err.message[0]);
	fuzz_check_requests(requests);
	sz_requests_free(requests);
	free(text);
}

#endif
