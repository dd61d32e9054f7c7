/* SPDX-License-Identifier: Apache-2.0
 *
 * Events in a stream of bytes that comes in pieces: blocks of lines, each ended by an
 * empty line, as server-sent events are (HTML Living Standard, 9.2.6: a line ends
 * with LF, CR or both). What a block holds is not looked at: a comment that keeps
 * the connection alive is an event, too. Pure.
 */
#ifndef SZ_NET_EVENTS_H
#define SZ_NET_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise for a new stream. */
struct sz_events {
	uint64_t count;
	/* own */
	bool in_line;  /* the line has bytes */
	bool in_block; /* a line before had some */
	bool after_cr; /* LF would be of the same end of line */
};

void sz_events_feed(struct sz_events *events, const char *bytes, size_t len);

#endif
