/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/1.x, both sides, as pure functions on buffers: no sockets, no clock,
 * no allocation. llhttp does the parsing and is seen by http1.c alone.
 *
 * Response side (the client's): framing rules of RFC 9112 section 6.3 in
 * order, method-aware (HEAD), 1xx skipped, but 101 refused, body delimited by
 * length, chunks (whose extensions are ignored) or close. Request side (the server's): method,
 * target, keep-alive, body skipped.
 *
 * One object per connection, reset between messages. Constant memory
 * whatever arrives; heads above SZ_HTTP1_HEAD_MAX are an error.
 */
#ifndef SZ_NET_HTTP1_H
#define SZ_NET_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/match.h"
#include "net/events.h"
#include "net/reply.h"

#define SZ_HTTP1_HEAD_MAX (64 * 1024)

enum sz_http1_state {
	SZ_HTTP1_MORE,     /* everything was consumed; the message is not complete */
	SZ_HTTP1_COMPLETE, /* the message ended at *consumed; bytes after it are the next one */
	SZ_HTTP1_BAD,      /* not HTTP, or broken framing; see ->why */
};

/* The parser behind the room's back: storage for llhttp (the size is checked
 * where it is used) and where the message is. Holds no pointer into itself. */
struct sz_http1_parser {
	_Alignas(void *) unsigned char opaque[128];
	size_t head_bytes;
	bool complete;
	enum sz_http1_line {
		SZ_HTTP1_LINE_NONE,
		SZ_HTTP1_LINE_SIZE,      /* with the size of a chunk */
		SZ_HTTP1_LINE_EXTENSION, /* the same, behind a semicolon */
	} line;
};

/* The last response that came in one piece, its length told by its head. A head
 * of the same bytes, which servers send until the next second of Date, means the
 * same, and is not parsed again. Starts out zeroed. */
#define SZ_HTTP1_MEMO_MAX 1024
struct sz_http1_memo {
	char head[SZ_HTTP1_MEMO_MAX];
	size_t head_bytes; /* 0: none yet */
	uint64_t body_bytes;
	int status;
	bool head_request, keep_alive;
};

struct sz_http1_response {
	int status;   /* final status once the head is complete, else 0 */
	bool is_http; /* "HTTP/" was read: what is BAD without it is another protocol */
	bool head_complete;
	bool keep_alive;      /* the connection may carry another request (valid when COMPLETE) */
	bool asked_in_http10; /* set after init(): the answer must say that it keeps alive */
	bool until_close;     /* the body ends when the connection closes */
	uint64_t body_bytes;  /* decoded body bytes so far */
	const char *why;      /* static text when BAD */
	/* Set after init() by who wants to know whether the body holds a text;
	 * borrowed until the message ends. */
	const struct sz_match *sought;
	size_t matched; /* as of sz_match_feed() */
	/* Likewise by who counts the events of the body. */
	struct sz_events *events;
	/* Likewise, by who expects many of the same, and wants nothing of the body but
	 * what is sought. */
	struct sz_http1_memo *memo;
	/* own */
	struct sz_reply *reply;
	bool head_request, has_length;
	struct sz_http1_parser parser;
};

/* Expect the response to a new request. head_request: it was HEAD. */
void sz_http1_response_init(struct sz_http1_response *response, bool head_request);

/* After init(): keep cookies and the begin of the body in *reply, which is cleared and
 * borrowed until the message ends. */
void sz_http1_response_keep(struct sz_http1_response *response, struct sz_reply *reply);

/* Feed the next bytes of the connection. *consumed is how many were used: all
 * of them when MORE, those up to the end of the message when COMPLETE, any
 * number when BAD. After COMPLETE or BAD only init() may follow. */
enum sz_http1_state sz_http1_response_feed(struct sz_http1_response *response, const char *bytes,
					   size_t len, size_t *consumed);

/* The peer closed. COMPLETE when the close itself ends the body, else BAD
 * ("truncated": the framing promised more, or no response came). */
enum sz_http1_state sz_http1_response_eof(struct sz_http1_response *response);

#define SZ_HTTP1_TARGET_MAX 2048

struct sz_http1_request {
	const char *method;               /* static text, once the head is complete */
	char target[SZ_HTTP1_TARGET_MAX]; /* path and query, or "*"; NUL-terminated */
	bool head_complete;
	bool keep_alive;   /* valid when COMPLETE */
	const char *why;   /* static text when BAD */
	int refuse_status; /* when BAD: the status to answer: 400, 414, 431, 501 or 505 */
	/* own */
	size_t target_len;
	struct sz_http1_parser parser;
};

void sz_http1_request_init(struct sz_http1_request *request);

/* As sz_http1_response_feed(). */
enum sz_http1_state sz_http1_request_feed(struct sz_http1_request *request, const char *bytes,
					  size_t len, size_t *consumed);

#endif
