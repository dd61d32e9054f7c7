/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside TLS; nobody else includes this.
 *
 *	tls.c      what is trusted and offered; origins and their sessions
 *	tls_io.c   handshake, bytes and end of one stream
 *	tls_why.c  why a handshake failed, for people
 */
#ifndef SZ_NET_TLS_INSIDE_H
#define SZ_NET_TLS_INSIDE_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "net/stream.h"

struct sz_tls {
	SSL_CTX *context;
	BIO_METHOD *socket;
};

struct sz_tls_origin {
	struct sz_tls *tls;
	char host[256];
	bool is_address;
	struct sz_buf detail; /* of the last certificate that was not accepted */
	/* The newest is before `next`; where there was none for long is NULL. */
	SSL_SESSION *sessions[SZ_TLS_SESSIONS];
	unsigned next;
};

/* tls.c: keep a session (takes it over); hand out the newest, or NULL. */
void sz_tls_keep_session(struct sz_tls_origin *origin, SSL_SESSION *session);
SSL_SESSION *sz_tls_take_session(struct sz_tls_origin *origin);

/* tls_io.c: the socket below TLS: recv() and send() on the stream's own
 * descriptor. OpenSSL's own would raise SIGPIPE. */
BIO_METHOD *sz_tls_socket_method(void);

/* tls_why.c: called for each certificate of a chain while it is checked. */
int sz_tls_on_verify(int ok, X509_STORE_CTX *checked);

/* tls_why.c: fill *err for a handshake that failed with errnum, and reason of
 * OpenSSL's SSL_R_ (0: none). The errno that the stream's user is told. */
int sz_tls_explain(const struct sz_stream *stream, int errnum, int reason, struct sz_err *err);

#endif
