/* SPDX-License-Identifier: Apache-2.0
 *
 * The faults. RFC numbers say why a right client must see what `seen` says.
 */
#include <stdio.h>

#include "base/clock.h"
#include "serve/inside.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define OK_BODY "ok\n"
#define GOOD OK_HEAD "Content-Length: 3\r\n\r\n" OK_BODY
#define CHUNKED OK_HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define ERROR_500 "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nerror\n"
#define EARLY_HINTS "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"

#define BODY_BYTES 1000 /* of answers that break within */
#define PIECE_BYTES ((size_t)16 * 1024)
#define SPLIT_NS SZ_NS_PER_MS

/* Writing plays */

static void say_filler(struct sz_play *play, size_t len)
{
	sz_autobuf struct sz_buf filler = {0};
	sz_buf_repeat(&filler, 'x', len);
	play->failed |= filler.failed;
	sz_play_say(play, sz_buf_text(&filler), filler.len);
}

static void say_head(struct sz_play *play, uint64_t content_length)
{
	char head[80];
	snprintf(head, sizeof(head), OK_HEAD "Content-Length: %llu\r\n\r\n",
		 (unsigned long long)content_length);
	sz_play_text(play, head);
}

void sz_fault_play_good(struct sz_play *play, const struct sz_fault_ask *ask)
{
	say_head(play, sizeof(OK_BODY) - 1);
	if (!ask->is_head)
		sz_play_text(play, OK_BODY);
}

static void play_late(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_play_step(play, SZ_STEP_WAIT, ask->arg[0]);
	sz_fault_play_good(play, ask);
}

/* Time */

static void play_stall(struct sz_play *play, const struct sz_fault_ask *ask)
{
	say_head(play, BODY_BYTES);
	say_filler(play, BODY_BYTES / 2);
	sz_play_step(play, SZ_STEP_WAIT, ask->arg[0]);
	say_filler(play, BODY_BYTES - BODY_BYTES / 2);
}

static void play_trickle(struct sz_play *play, const struct sz_fault_ask *ask)
{
	static const char good[] = GOOD;
	sz_play_say(play, good, 1);
	for (const char *byte = good + 1; *byte; byte++) {
		sz_play_step(play, SZ_STEP_WAIT, ask->arg[0]);
		sz_play_say(play, byte, 1);
	}
}

static void play_latency_steps(struct sz_play *play, const struct sz_fault_ask *ask)
{
	bool is_slow = ask->elapsed_ns / ask->arg[1] % 2 == 1;
	if (is_slow)
		play_late(play, ask);
	else
		sz_fault_play_good(play, ask);
}

static void play_error(struct sz_play *play, const struct sz_fault_ask *ask)
{
	(void)ask;
	sz_play_text(play, ERROR_500);
}

static void play_events(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_play_text(play, OK_HEAD "Content-Type: text/event-stream\r\n\r\n");
	sz_play_mark(play);
	sz_play_step(play, SZ_STEP_WAIT, ask->arg[0]);
	sz_play_text(play, "data: event\n\n");
	sz_play_repeat(play, SZ_FOREVER);
}

/* The life of a connection */

static void play_close_after(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_fault_play_good(play, ask);
	sz_play_step(play, SZ_STEP_CLOSE, 0);
}

static void play_close_idle(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_fault_play_good(play, ask);
	sz_play_step(play, SZ_STEP_IDLE, ask->arg[0]);
	sz_play_step(play, SZ_STEP_CLOSE, 0);
}

static void play_half_close(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_fault_play_good(play, ask);
	sz_play_step(play, SZ_STEP_HALF_CLOSE, 0);
	sz_play_step(play, SZ_STEP_HANG, 0);
}

static void play_half_close_early(struct sz_play *play, const struct sz_fault_ask *ask)
{
	(void)ask;
	sz_play_step(play, SZ_STEP_HALF_CLOSE, 0);
	sz_play_step(play, SZ_STEP_HANG, 0);
}

static void play_reset_after(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_fault_play_good(play, ask);
	sz_play_step(play, SZ_STEP_RESET, 0);
}

static void play_unasked(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_fault_play_good(play, ask);
	sz_play_step(play, SZ_STEP_IDLE, ask->arg[0]);
	sz_fault_play_good(play, ask);
}

/* Framing */

static void play_body_then(struct sz_play *play, size_t len, enum sz_step_kind then)
{
	say_head(play, BODY_BYTES);
	say_filler(play, len);
	sz_play_step(play, then, 0);
}

static void play_truncate(struct sz_play *play, const struct sz_fault_ask *ask)
{
	play_body_then(play, ask->arg[0], SZ_STEP_CLOSE);
}

static void play_reset_body(struct sz_play *play, const struct sz_fault_ask *ask)
{
	play_body_then(play, ask->arg[0], SZ_STEP_RESET);
}

static void play_short_by_one(struct sz_play *play, const struct sz_fault_ask *ask)
{
	(void)ask;
	play_body_then(play, BODY_BYTES - 1, SZ_STEP_HANG);
}

static void play_truncate_chunk(struct sz_play *play, const struct sz_fault_ask *ask)
{
	char head[80];
	snprintf(head, sizeof(head), CHUNKED "%x\r\n", BODY_BYTES);
	sz_play_text(play, head);
	say_filler(play, ask->arg[0]);
	sz_play_step(play, SZ_STEP_CLOSE, 0);
}

static void play_head_with_body(struct sz_play *play, const struct sz_fault_ask *ask)
{
	(void)ask;
	sz_play_text(play, GOOD);
}

/* In two pieces, cut one byte further at each request. */
static void play_split(struct sz_play *play, const struct sz_fault_ask *ask)
{
	static const char whole[] = OK_HEAD "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
					    "3;a=\"x;y\";b=2\r\n" OK_BODY "\r\n"
					    "0;last\r\nX-Sum: 1\r\n\r\n";
	size_t len = sizeof(whole) - 1;
	size_t cut = 1 + ask->number % (len - 1);
	sz_play_say(play, whole, cut);
	sz_play_step(play, SZ_STEP_WAIT, SPLIT_NS);
	sz_play_say(play, whole + cut, len - cut);
}

static void play_large_body(struct sz_play *play, const struct sz_fault_ask *ask)
{
	uint64_t len = ask->arg[0];
	say_head(play, len);
	if (ask->is_head)
		return;
	say_filler(play, len % PIECE_BYTES);
	if (len < PIECE_BYTES)
		return;
	sz_play_mark(play);
	say_filler(play, PIECE_BYTES);
	sz_play_repeat(play, len / PIECE_BYTES - 1);
}

static void play_endless_body(struct sz_play *play, const struct sz_fault_ask *ask)
{
	char size[16];
	(void)ask;
	snprintf(size, sizeof(size), "%zx\r\n", PIECE_BYTES);
	sz_play_text(play, CHUNKED);
	sz_play_mark(play);
	sz_play_text(play, size);
	say_filler(play, PIECE_BYTES);
	sz_play_text(play, "\r\n");
	sz_play_repeat(play, SZ_FOREVER);
}

/* Heads */

/* A field line that takes `len` bytes. */
static void say_field(struct sz_play *play, size_t len)
{
	static const char name[] = "X-Filler: ";
	sz_play_text(play, name);
	say_filler(play, len - (sizeof(name) - 1) - 2);
	sz_play_text(play, "\r\n");
}

static void play_large_head(struct sz_play *play, const struct sz_fault_ask *ask)
{
	static const char first[] = OK_HEAD "Content-Length: 3\r\n";
	const size_t field_bytes = 100;
	size_t left = ask->arg[0] - (sizeof(first) - 1) - 2;
	sz_play_text(play, first);
	for (; left >= 2 * field_bytes; left -= field_bytes)
		say_field(play, field_bytes);
	say_field(play, left);
	sz_play_text(play, "\r\n");
	if (!ask->is_head)
		sz_play_text(play, OK_BODY);
}

static void play_endless_head(struct sz_play *play, const struct sz_fault_ask *ask)
{
	(void)ask;
	sz_play_text(play, OK_HEAD);
	sz_play_mark(play);
	say_field(play, 1000);
	sz_play_repeat(play, SZ_FOREVER);
}

static void play_interim_100(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_play_text(play, "HTTP/1.1 100 Continue\r\n\r\n");
	sz_fault_play_good(play, ask);
}

static void play_interim_103(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_play_text(play, EARLY_HINTS);
	sz_fault_play_good(play, ask);
}

static void play_interim_storm(struct sz_play *play, const struct sz_fault_ask *ask)
{
	sz_play_text(play, EARLY_HINTS);
	sz_play_repeat(play, ask->arg[0] - 1);
	sz_fault_play_good(play, ask);
}

static void play_status(struct sz_play *play, const struct sz_fault_ask *ask)
{
	char head[80];
	snprintf(head, sizeof(head), "HTTP/1.1 %u \r\nContent-Length: 6\r\n\r\n",
		 (unsigned)ask->arg[0]);
	sz_play_text(play, head);
	if (!ask->is_head)
		sz_play_text(play, "error\n");
}

void sz_fault_play(const struct sz_fault *fault, struct sz_play *play,
		   const struct sz_fault_ask *ask)
{
	if (fault->play)
		fault->play(play, ask);
	if (fault->len)
		sz_play_say(play, fault->bytes, fault->len);
	if (fault->then != SZ_STEP_SAY)
		sz_play_step(play, fault->then, 0);
}

/* May hold NUL. */
#define RAW(text) .bytes = (text), .len = sizeof(text) - 1

const struct sz_fault sz_faults[] = {
	/* Silence and death */
	{"never-answer", .seen = "timeout", .then = SZ_STEP_HANG,
	 .help = "read the request, say nothing"},
	{"never-read", .strikes = SZ_STRIKES_CONNECTIONS, .seen = "timeout", .then = SZ_STEP_HANG,
	 .never_reads = true, .help = "accept a connection, read nothing"},
	{"never-accept", .strikes = SZ_STRIKES_SERVER_ALWAYS, .seen = "timeout",
	 .never_accepts = true, .help = "listen, accept nothing; the backlog fills up"},
	{"accept-close", .strikes = SZ_STRIKES_CONNECTIONS, .seen = "socket_error",
	 .then = SZ_STEP_CLOSE, .help = "accept a connection and close it"},
	{"accept-reset", .strikes = SZ_STRIKES_CONNECTIONS, .seen = "socket_error",
	 .then = SZ_STEP_RESET, .help = "accept a connection and reset it"},
	{"slow-accept", SZ_FAULT_TIME, "20ms", .strikes = SZ_STRIKES_SERVER_ALWAYS, .seen = "ok",
	 .accepted = sz_fault_pause_accepting, .help = "accept one connection in TIME"},
	{"refuse-after", SZ_FAULT_COUNT, "10", 1, 1000000, SZ_STRIKES_SERVER_ALWAYS, "ok",
	 .accepted = sz_fault_stop_accepting,
	 .help = "stop listening after N connections; later ones are refused"},
	{"die-after", SZ_FAULT_COUNT, "100", 1, 1000000000, SZ_STRIKES_SERVER_ONCE, "socket_error",
	 .then = SZ_STEP_DIE, .help = "exit with status 3 on the Nth request"},

	/* Time */
	{"late", SZ_FAULT_TIME, "1s", .seen = "ok", .play = play_late,
	 .help = "answer well, TIME late"},
	{"stall", SZ_FAULT_TIME, "1200ms", .seen = "ok", .play = play_stall,
	 .help = "stop for TIME in the middle of the body, then go on"},
	{"trickle", SZ_FAULT_TIME, "50ms", .seen = "ok", .play = play_trickle,
	 .help = "answer well, one byte per TIME"},
	{"freeze", SZ_FAULT_TIMES, "1s/5s", .strikes = SZ_STRIKES_SERVER_ALWAYS, .seen = "ok",
	 .accepted = sz_fault_begin_freezing,
	 .help = "the whole server stands still for TIME, EVERY so often from the first "
		 "connection on"},
	{"latency-steps", SZ_FAULT_TIMES, "50ms/1s", .seen = "ok", .play = play_latency_steps,
	 .help = "by turns answer at once for EVERY and TIME late for EVERY"},
	{"fast-errors", SZ_FAULT_TIME, "20ms", .seen = "http_error", .play = play_error,
	 .otherwise = play_late, .help = "500 at once, while good answers take TIME"},

	/* The life of a connection */
	{"close-after", SZ_FAULT_COUNT, "10", 1, 1000000000, SZ_STRIKES_NTH_REQUEST, "ok",
	 .play = play_close_after, .help = "close a connection behind its Nth answer, unannounced"},
	{"close-idle", SZ_FAULT_TIME, "5ms", .seen = "ok", .play = play_close_idle,
	 .help = "close a connection that has been idle for TIME"},
	{"stale", SZ_FAULT_COUNT, "3", 2, 1000000000, SZ_STRIKES_NTH_REQUEST, "stale",
	 .then = SZ_STEP_CLOSE, .help = "close a connection in place of its Nth answer"},
	{"stale-reset", SZ_FAULT_COUNT, "3", 2, 1000000000, SZ_STRIKES_NTH_REQUEST, "stale",
	 .then = SZ_STEP_RESET, .help = "reset a connection in place of its Nth answer"},
	{"empty-reply", .seen = "stale", .then = SZ_STEP_CLOSE, .help = "close without an answer"},
	{"half-close", .seen = "ok", .play = play_half_close,
	 .help = "answer, then shut our side and go on reading"},
	{"half-close-early", .seen = "stale", .play = play_half_close_early,
	 .help = "shut our side without an answer and go on reading"},
	{"reset-after", .seen = "ok", .play = play_reset_after,
	 .help = "answer, then reset the connection"},
	{"connection-close", .seen = "ok", .then = SZ_STEP_CLOSE,
	 .help = "announce that the connection closes, and close it",
	 RAW(OK_HEAD "Content-Length: 3\r\nConnection: close\r\n\r\n" OK_BODY)},
	{"close-not-meant", .seen = "ok", .then = SZ_STEP_HANG,
	 .help = "announce that the connection closes, and leave it open",
	 RAW(OK_HEAD "Content-Length: 3\r\nConnection: close\r\n\r\n" OK_BODY)},
	{"http10", .seen = "ok", .then = SZ_STEP_CLOSE,
	 .help = "HTTP/1.0, the end of the body is that of the connection",
	 RAW("HTTP/1.0 200 OK\r\n\r\n" OK_BODY)},
	{"http10-length", .seen = "ok", .then = SZ_STEP_HANG,
	 .help = "HTTP/1.0 with a length, which means that the connection closes; leave it open",
	 RAW("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n" OK_BODY)},
	{"http10-keep-alive", .seen = "ok",
	 .help = "HTTP/1.0 with a length on a connection that stays, as announced",
	 RAW("HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n" OK_BODY)},
	{"until-close", .seen = "ok", .then = SZ_STEP_CLOSE,
	 .help = "HTTP/1.1 without a length, the body ends with the connection",
	 RAW(OK_HEAD "\r\n" OK_BODY)},
	{"events", SZ_FAULT_TIME, "100ms", .seen = "timeout", .play = play_events,
	 .help = "server-sent events without end, one per TIME"},
	{"until-never", .seen = "timeout", .then = SZ_STEP_HANG,
	 .help = "the same, but the connection stays open", RAW(OK_HEAD "\r\n" OK_BODY)},

	/* Out of step */
	{"early-response", .strikes = SZ_STRIKES_CONNECTIONS, .seen = "ok", RAW(GOOD),
	 .answers_in_advance = true,
	 .help = "answer the first request of a connection before it came"},
	{"unasked", SZ_FAULT_TIME, "20ms", .seen = "ok", .play = play_unasked,
	 .help = "another response on a connection that has been idle for TIME"},
	{"two-responses", .seen = "protocol_error", RAW(GOOD GOOD),
	 .help = "two responses to one request"},

	/* Bodies */
	{"truncate", SZ_FAULT_BYTES, "500", 0, BODY_BYTES - 1, .seen = "truncated",
	 .play = play_truncate, .help = "close after SIZE of a body of 1000 bytes"},
	{"truncate-chunk", SZ_FAULT_BYTES, "500", 0, BODY_BYTES - 1, .seen = "truncated",
	 .play = play_truncate_chunk, .help = "close after SIZE of a chunk of 1000 bytes"},
	{"no-last-chunk", .seen = "truncated", .then = SZ_STEP_CLOSE,
	 .help = "close in place of the last chunk", RAW(CHUNKED "3\r\n" OK_BODY "\r\n")},
	{"truncate-head", .seen = "truncated", .then = SZ_STEP_CLOSE,
	 .help = "close within the head", RAW(OK_HEAD "Content-Le")},
	{"reset-body", SZ_FAULT_BYTES, "500", 1, BODY_BYTES - 1, .seen = "socket_error",
	 .play = play_reset_body, .help = "reset after SIZE of a body of 1000 bytes"},
	{"short-by-one", .seen = "timeout", .play = play_short_by_one,
	 .help = "a byte of the body is missing, and the connection stays open"},
	{"long-by-one", .seen = "protocol_error", .help = "a byte more than the length says",
	 RAW(GOOD "!")},
	{"large-body", SZ_FAULT_BYTES, "1MiB", 0, UINT64_C(1) << 40, .seen = "ok",
	 .play = play_large_body, .help = "a body of SIZE"},
	{"endless-body", .seen = "timeout", .play = play_endless_body,
	 .help = "chunks without end, as fast as they are read"},

	/* No body (RFC 9112, section 6.3, rule 1) */
	{"204-length", .seen = "ok", .help = "204 that has a length, and no body",
	 RAW("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n")},
	{"204-chunked", .seen = "ok", .help = "204 that says it is chunked, and no body",
	 RAW("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n")},
	{"204-body", .seen = "protocol_error", .help = "204 with a body",
	 RAW("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n" OK_BODY)},
	{"304-length", .seen = "ok", .help = "304 that has a length, and no body",
	 RAW("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n")},
	{"304-chunked", .seen = "ok", .help = "304 that says it is chunked, and no body",
	 RAW("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n")},
	{"304-body", .seen = "protocol_error", .help = "304 with a body",
	 RAW("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n" OK_BODY)},
	{"head-body", .seen = "protocol_error", .play = play_head_with_body,
	 .help = "HEAD is answered with a body, other methods well"},

	/* Lengths (RFC 9112, section 6.3, rules 3 to 5) */
	{"two-lengths", .seen = "protocol_error", .help = "two lengths that differ",
	 RAW(OK_HEAD "Content-Length: 3\r\nContent-Length: 4\r\n\r\n" OK_BODY)},
	{"negative-length", .seen = "protocol_error", .help = "a length below zero",
	 RAW(OK_HEAD "Content-Length: -3\r\n\r\n" OK_BODY)},
	{"huge-length", .seen = "protocol_error", .help = "a length of 2^64 + 3",
	 RAW(OK_HEAD "Content-Length: 18446744073709551619\r\n\r\n" OK_BODY)},
	{"word-length", .seen = "protocol_error", .help = "a length that is no number",
	 RAW(OK_HEAD "Content-Length: three\r\n\r\n" OK_BODY)},
	{"length-and-chunked", .seen = "protocol_error", .help = "a length and chunks",
	 RAW(OK_HEAD "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
		     "3\r\n" OK_BODY "\r\n0\r\n\r\n")},

	/* Chunks (RFC 9112, section 7.1) */
	{"split", .seen = "ok", .play = play_split,
	 .help = "chunks with extensions and trailers, in two pieces, cut one byte further each "
		 "time"},
	{"chunk-extensions", .seen = "ok",
	 .help = "every form of a chunk extension: tokens, quoted, with a quoted pair, no value",
	 RAW(CHUNKED "3;a=1;b=\"x;y\";c=\"x\\\"y\";d\r\n" OK_BODY "\r\n0;a=1;b=2\r\n\r\n")},
	{"chunk-overflow", .seen = "protocol_error", .help = "a chunk of 2^64 + 3 bytes",
	 RAW(CHUNKED "10000000000000003\r\n" OK_BODY "\r\n0\r\n\r\n")},
	{"chunk-negative", .seen = "protocol_error", .help = "a chunk of a size below zero",
	 RAW(CHUNKED "-3\r\n" OK_BODY "\r\n0\r\n\r\n")},
	{"chunk-word", .seen = "protocol_error", .help = "a chunk of a size that is no number",
	 RAW(CHUNKED "three\r\n" OK_BODY "\r\n0\r\n\r\n")},
	{"chunk-too-long", .seen = "protocol_error", .help = "a chunk longer than it says",
	 RAW(CHUNKED "2\r\n" OK_BODY "\r\n0\r\n\r\n")},

	/* Heads */
	{"interim-100", .seen = "ok", .play = play_interim_100, .help = "100 before the answer"},
	{"interim-103", .seen = "ok", .play = play_interim_103, .help = "103 before the answer"},
	{"interim-storm", SZ_FAULT_COUNT, "1000", 1, 1000000, .seen = "ok",
	 .play = play_interim_storm, .help = "N times 103 before the answer"},
	{"interim-only", .seen = "timeout", .then = SZ_STEP_HANG, .help = "103 and no answer",
	 RAW(EARLY_HINTS)},
	{"upgrade-101", .seen = "protocol_error", .then = SZ_STEP_HANG,
	 .help = "101, unasked: another protocol",
	 RAW("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n")},
	{"large-head", SZ_FAULT_BYTES, "60KiB", 1024, UINT64_C(1) << 24, .seen = "ok",
	 .play = play_large_head, .help = "a head of SIZE"},
	{"endless-head", .seen = "protocol_error", .play = play_endless_head,
	 .help = "header fields without end, as fast as they are read"},
	{"bare-lf", .seen = "protocol_error", .help = "lines that end without CR",
	 RAW("HTTP/1.1 200 OK\nContent-Length: 3\n\n" OK_BODY)},
	{"obs-fold", .seen = "ok", .help = "a header field that goes on in the next line",
	 RAW(OK_HEAD "X-Folded: one\r\n two\r\nContent-Length: 3\r\n\r\n" OK_BODY)},
	{"nul-in-header", .seen = "protocol_error", .help = "NUL in a header field",
	 RAW(OK_HEAD "X-Nul: a\0b\r\nContent-Length: 3\r\n\r\n" OK_BODY)},
	{"bad-status", .seen = "protocol_error", .help = "a status that is no number",
	 RAW("HTTP/1.1 2x0 OK\r\nContent-Length: 3\r\n\r\n" OK_BODY)},

	/* No HTTP */
	{"garbage", .seen = "not_http", .then = SZ_STEP_CLOSE, .help = "bytes that are no HTTP",
	 RAW("\x00\xff\xfe\x80garbage\r\n\r\n")},
	{"http09", .seen = "not_http", .then = SZ_STEP_CLOSE, .help = "a body without a head",
	 RAW(OK_BODY)},
	{"banner", .strikes = SZ_STRIKES_CONNECTIONS, .seen = "not_http", .then = SZ_STEP_HANG,
	 .help = "speak first, as SSH does", RAW("SSH-2.0-OpenSSH_9.2\r\n")},
	/* Record type alert, TLS 1.0, two bytes: fatal, protocol_version. */
	{"tls-alert", .seen = "not_http", .then = SZ_STEP_CLOSE,
	 .help = "a TLS alert, as a TLS port answers plain HTTP",
	 RAW("\x15\x03\x01\x00\x02\x02\x46")},
	/* An empty SETTINGS frame: what a server of HTTP/2 says first. */
	{"http2", .seen = "not_http", .then = SZ_STEP_HANG,
	 .help = "an HTTP/2 frame, as a port that knows only HTTP/2",
	 RAW("\x00\x00\x00\x04\x00\x00\x00\x00\x00")},

	/* What status and body say */
	{"status", SZ_FAULT_COUNT, "500", 400, 599, .seen = "http_error", .play = play_status,
	 .help = "status N"},
	{"redirect", .seen = "ok", .help = "302 to the same place",
	 RAW("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")},
	{"error-page", .seen = "ok",
	 .help = "an error page with status 200: only a look at the body tells",
	 RAW(OK_HEAD "Content-Length: 30\r\n\r\n<h1>Internal Server Error</h1>")},
	{0},
};
