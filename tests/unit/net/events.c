/* SPDX-License-Identifier: Apache-2.0
 *
 * However a stream is cut, it has the same events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/events.h"

static const struct {
	const char *bytes;
	uint64_t count;
} streams[] = {
	{"", 0},
	{"data: 1", 0},
	{"data: 1\n", 0},
	{"data: 1\n\n", 1},
	{"event: a\ndata: 1\ndata: 2\n\ndata: 3\n\n", 2},
	{"data: 1\r\n\r\ndata: 2\r\n\r\n", 2},
	{"data: 1\r\rdata: 2\r\r", 2},
	/* CR LF is one end of a line, LF CR are two. */
	{"data: 1\r\ndata: 2\r\n", 0},
	{"data: 1\n\rdata: 2", 1},
	{"data: 1\r\n\ndata: 2\n\r\n", 2},
	/* Empty lines alone end no block. */
	{"\n\n\n", 0},
	{"\n\ndata: 1\n\n\n\n", 1},
	{": still here\n\n", 1},
	{"{\"one\": 1}\n{\"two\": 2}\n", 0},
};

static uint64_t count_in_pieces(const char *bytes, size_t first, size_t step)
{
	struct sz_events events = {0};
	size_t len = strlen(bytes);
	for (size_t at = 0, piece = first; at < len; at += piece, piece = step) {
		if (piece > len - at)
			piece = len - at;
		sz_events_feed(&events, bytes + at, piece);
	}
	return events.count;
}

static void blocks_end_with_an_empty_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(streams); i++) {
		size_t len = strlen(streams[i].bytes);
		for (size_t first = 1; first <= len; first++)
			assert_int_equal(count_in_pieces(streams[i].bytes, first, len),
					 streams[i].count);
		assert_int_equal(count_in_pieces(streams[i].bytes, 1, 1), streams[i].count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_end_with_an_empty_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
