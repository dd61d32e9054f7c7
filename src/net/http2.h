/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2, the client's side of one connection, as a pure object on buffers: no
 * sockets, no clock. nghttp2 does the framing and is seen by http2.c alone.
 *
 *	sz_http2_new      then, whenever there is room: sz_http2_pull
 *	sz_http2_ask      a call, in the caller's memory
 *	sz_http2_feed     bytes that came; then sz_http2_next until NULL: the
 *	                  calls to which something happened
 *	sz_http2_cancel   a call that is waited for no longer
 *
 * Nothing calls back. A call that sz_http2_next() returns with an end is the
 * caller's again; until then, or until it is cancelled or the connection freed,
 * it must stay where it is. Feeding and pulling never end a call without it
 * being returned.
 *
 * What the peer may send is bounded: heads of SZ_HTTP1_HEAD_MAX, no pushes, as
 * many acknowledgements as nghttp2 lets pile up. Bodies are counted, looked
 * through and dropped, so the windows are 1 GiB - 1 for a stream and for the
 * connection, and flow control never holds a peer back. Frames that need an
 * answer (SETTINGS, PING) get it with the next pull. Responses of status 1xx
 * are skipped.
 *
 * How many streams the peer takes at once is honoured: a call above that number
 * waits inside until another has ended.
 */
#ifndef SZ_NET_HTTP2_H
#define SZ_NET_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/match.h"
#include "net/events.h"
#include "net/reply.h"

struct sz_http2;
struct sz_http2_head;

struct sz_http2_field {
	const char *name, *value;
};

/* A request without its body. Host is the authority and no field; fields that
 * concern one connection (RFC 9113, 8.2.2) are not allowed. */
struct sz_http2_request {
	const char *method, *scheme, *authority, *path;
	const struct sz_http2_field *fields;
	size_t field_count;
};

/* Made once, asked any number of times, by one thread or many; copies
 * everything. NULL when memory is out. */
struct sz_http2_head *sz_http2_head_new(const struct sz_http2_request *request);
void sz_http2_head_free(struct sz_http2_head *head); /* NULL is fine */

enum sz_http2_end {
	SZ_HTTP2_UNDER_WAY,
	SZ_HTTP2_WHOLE,   /* the whole response came */
	SZ_HTTP2_REFUSED, /* the peer did not process it, and says so: it may be asked again */
	SZ_HTTP2_RESET,   /* the peer gave it up, or its response breaks the rules: see why */
};

struct sz_http2_call {
	bool begun;         /* the first byte of a response came, be it of an interim one */
	bool head_complete; /* and the head of the final one, with */
	int status;         /* else 0 */
	uint64_t body_bytes;
	enum sz_http2_end end;
	const char *why;   /* static text; when RESET */
	size_t sent_bytes; /* of the request's body */
	/* Set before sz_http2_ask() by who wants to know whether the body holds a
	 * text; borrowed. */
	const struct sz_match *sought;
	size_t matched; /* as of sz_match_feed() */
	/* Likewise by who counts the events of the body; every piece of it is then
	 * something that happened. */
	struct sz_events *events;
	/* Likewise, by who wants more of the response; cleared. */
	struct sz_reply *reply;
	/* Likewise, borrowed until the call ends: "a=1; b=2", sent behind the head as a field
	 * of its own (RFC 9113, 8.2.3). */
	const char *cookies;
	/* own */
	int32_t stream;
	size_t head_list_bytes;
	const char *body;
	size_t body_total_bytes;
	bool is_listed;
	struct sz_http2_call *next;
};

/* NULL when memory is out. */
struct sz_http2 *sz_http2_new(void);
void sz_http2_free(struct sz_http2 *http2); /* NULL is fine; calls under way are forgotten */

/* Ask: *call is overwritten but for `sought`, `events`, `reply` and `cookies`. The body
 * (NULL: none) and head are borrowed until the call ends. 0, or -1 when memory is out
 * or sz_http2_may_ask() is false. */
int sz_http2_ask(struct sz_http2 *http2, const struct sz_http2_head *head, const char *body,
		 size_t body_bytes, struct sz_http2_call *call);

/* Give up a call under way: it is the caller's at once, and the peer is told. */
void sz_http2_cancel(struct sz_http2 *http2, struct sz_http2_call *call);

/* Whether the connection takes new calls: no GOAWAY came or went, nothing is
 * broken, and there are numbers left for streams (2^30 in all). */
bool sz_http2_may_ask(const struct sz_http2 *http2);

/* The next bytes from the peer. 0, or -1: the peer does not speak HTTP/2 or
 * breaks its rules, sz_http2_why() says how, and only next, why and free may
 * follow. */
int sz_http2_feed(struct sz_http2 *http2, const char *bytes, size_t len);

/* Bytes to send, at most `size`; 0: none now. May end calls, and fail as
 * sz_http2_feed() does: -1. */
ptrdiff_t sz_http2_pull(struct sz_http2 *http2, char *bytes, size_t size);

/* A call to which something happened since it was returned last; NULL: none. */
struct sz_http2_call *sz_http2_next(struct sz_http2 *http2);

/* Why the connection is over: a failure above, or the peer's GOAWAY with an
 * error. Printable; NULL: neither. */
const char *sz_http2_why(const struct sz_http2 *http2);

/* The streams that the peer takes at once; UINT32_MAX: any number, or its SETTINGS
 * have not come. */
uint32_t sz_http2_peer_streams(const struct sz_http2 *http2);

/* Whether the peer has shown that it speaks HTTP/2. */
bool sz_http2_is_settled(const struct sz_http2 *http2);

#endif
