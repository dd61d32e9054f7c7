/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of one client connection: TCP or a unix socket, with TLS or
 * without, for level-triggered epoll (loop.h). Never blocks.
 *
 * What it is not: a watcher (the caller's sz_watch waits), a clock (the caller
 * stamps; connect and handshake end at calls of their own), or HTTP.
 *
 *	sz_stream_open()       then wait for EPOLLOUT
 *	sz_stream_connected()  the result of the connect
 *	sz_stream_handshake()  at once, and after each -EAGAIN when `wants` came
 *	sz_stream_read(), sz_stream_write(), sz_stream_pending()
 *	sz_stream_close()
 *
 * Calls return -errno. After -EAGAIN, and until the next call, `wants` is the
 * event that the same call waits for: with TLS reading may have to write first
 * and the other way round. Any other failure ends the stream; close it.
 *
 * TLS takes from the socket all that is there, so what epoll will never report
 * may wait inside: after the handshake and after each read, read again while
 * sz_stream_pending(), until -EAGAIN. A readable TLS stream may also hold
 * nothing for the caller (session tickets come behind the handshake): -EAGAIN.
 *
 * With plain streams one read is one recv(2) and one write one send(2), and
 * nothing is allocated. The same is true of TLS records of up to 16 KiB, but
 * for what OpenSSL allocates; an idle connection keeps no record buffers.
 *
 * Ownership: embedded in the caller's connection, which must not move between
 * open and close. A route, what it borrows, and its streams belong to one
 * thread.
 */
#ifndef SZ_NET_STREAM_H
#define SZ_NET_STREAM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"
#include "net/addr.h"
#include "net/tls.h"

/* Where connections lead, and how. Outlives its streams. */
struct sz_route {
	struct sz_addr addr;
	struct sz_tls_origin *tls; /* borrowed; NULL: no TLS */
	unsigned source_count;     /* connect from 127.0.0.1, .2 … in turn, so many; needs an
				    * addr of 127.0.0.0/8. 0: from what the kernel chooses */
	unsigned source_next;      /* own */
};

struct sz_stream {
	int fd;          /* for the caller's watch; -1: closed */
	uint32_t wants;  /* EPOLLIN or EPOLLOUT, after -EAGAIN */
	const char *why; /* OpenSSL's words for a failure: static text, or NULL */
	/* own, all of TLS */
	struct sz_tls_origin *origin;
	struct ssl_st *ssl; /* from the first step of the handshake on */
	int errnum;         /* of the last recv or send below TLS, but EAGAIN */
	bool ended;         /* the peer's FIN came below TLS */
	bool is_up;         /* the handshake is over and nothing failed since */
};

/* Begin connecting. 0 or -errno, and then the stream is closed. -EADDRNOTAVAIL:
 * all local ports towards the address are taken; -EAGAIN: the listen queue of
 * the unix socket is full, which no event ends: try again later. */
int sz_stream_open(struct sz_stream *stream, struct sz_route *route);

/* After EPOLLOUT, EPOLLERR or EPOLLHUP: 0 or -errno. */
int sz_stream_connected(struct sz_stream *stream);

/* Put a failed open or connect into words, with the remedy. Always -1. */
int sz_stream_explain(const struct sz_route *route, int errnum, struct sz_err *err);

/* The TLS side, for the functions below. */
int sz_tls_handshake(struct sz_stream *stream, struct sz_err *err);
ssize_t sz_tls_read(struct sz_stream *stream, void *bytes, size_t size);
ssize_t sz_tls_write(struct sz_stream *stream, const void *bytes, size_t len);
bool sz_tls_pending(const struct sz_stream *stream);

/* A step of the handshake: 0 when it is over (at once without TLS), -EAGAIN, or
 * why there is none, as errno and in *err:
 *	EKEYEXPIRED, ENOKEY   the certificate has expired; nobody trusted signed it
 *	EKEYREJECTED          it is for another host, or else not acceptable
 *	EPROTONOSUPPORT       the peer speaks no TLS, or none that both know
 *	EACCES                the peer wants a (better) certificate of ours
 *	EPROTO                it broke the protocol, or refused for another reason
 *	ECONNABORTED          it closed the connection in the middle
 *	ENOMEM, ECONNRESET …  as they say */
static inline int sz_stream_handshake(struct sz_stream *stream, struct sz_err *err)
{
	return stream->origin ? sz_tls_handshake(stream, err) : 0;
}

static inline ssize_t sz_stream_result(struct sz_stream *stream, ssize_t result, uint32_t wants)
{
	if (__builtin_expect(result >= 0, 1))
		return result;
	stream->wants = wants;
	return -errno;
}

/* Bytes read; 0 when the peer ended in an orderly way (with TLS: said so); or
 * -errno: with TLS -ECONNABORTED when the connection closed without a word, so
 * that what came may have been cut short (what is framed and complete is not),
 * and -EPROTO with `why` when the peer broke off. */
static inline ssize_t sz_stream_read(struct sz_stream *stream, void *bytes, size_t size)
{
	if (__builtin_expect(stream->origin != NULL, 0))
		return sz_tls_read(stream, bytes, size);
	return sz_stream_result(stream, recv(stream->fd, bytes, size, 0), EPOLLIN);
}

/* Bytes taken, perhaps fewer than len, or -errno; never SIGPIPE. After -EAGAIN
 * the next write must begin with the same bytes and be no shorter, wherever
 * they are: TLS may have begun to send them. */
static inline ssize_t sz_stream_write(struct sz_stream *stream, const void *bytes, size_t len)
{
	if (__builtin_expect(stream->origin != NULL, 0))
		return sz_tls_write(stream, bytes, len);
	return sz_stream_result(stream, send(stream->fd, bytes, len, MSG_NOSIGNAL), EPOLLOUT);
}

/* Whether bytes wait inside, of which epoll knows nothing. */
static inline bool sz_stream_pending(const struct sz_stream *stream)
{
	return __builtin_expect(stream->origin != NULL, 0) && sz_tls_pending(stream);
}

/* Say that nothing more will be sent; reading goes on. 0 or -errno, -EAGAIN
 * included. */
int sz_stream_shutdown(struct sz_stream *stream);

/* Close what sz_stream_open() opened. TLS says so to the peer, as far as that
 * goes without waiting. */
void sz_stream_close(struct sz_stream *stream);

/* Of TLS, once the handshake is over (without: HTTP/1, false). */
enum sz_alpn sz_stream_alpn(const struct sz_stream *stream); /* what the peer chose */
bool sz_stream_is_resumed(const struct sz_stream *stream);   /* an earlier session */

#endif
