/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a text occurs in a stream of bytes that comes in pieces.
 *
 * D. E. Knuth, J. H. Morris, V. R. Pratt, "Fast pattern matching in strings",
 * SIAM J. Comput. 6 (1977): linear in the bytes, and all that is kept of a
 * stream between two pieces is one number. Pure; one text may be sought in
 * many streams, from many threads.
 */
#ifndef SZ_BASE_MATCH_H
#define SZ_BASE_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SZ_MATCH_MAX 256

/* A value: it may be copied. All zero: no text. */
struct sz_match {
	size_t len;
	char text[SZ_MATCH_MAX];
	/* Of the first i + 1 bytes, the longest proper prefix that also ends them. */
	uint8_t border[SZ_MATCH_MAX];
};

/* The text is copied. SZ_USAGE when it is empty or longer than SZ_MATCH_MAX. */
int sz_match_init(struct sz_match *match, const char *text, struct sz_err *err);

/* The next bytes of a stream of which the last `matched` bytes are as the text
 * begins; 0 for a new stream. Returns what to pass with those that follow:
 * match->len once the text has occurred, from then on for ever. */
size_t sz_match_feed(const struct sz_match *match, size_t matched, const char *bytes, size_t len);

#endif
