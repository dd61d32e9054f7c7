/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS for clients: what is trusted, what is offered, and the sessions of each
 * host. The connections are sz_stream's (stream.h). OpenSSL 3 does the work
 * and is seen by the files tls*.c alone.
 *
 * TLS 1.2 or newer. The certificate must lead to a trusted one, be valid now
 * and name the host, unless no_verify. Keys are never logged.
 *
 * Threads: a sz_tls is set up once and then only read: any number of threads
 * may use it. An origin belongs to one thread, with all its streams. Such a
 * thread must not leave errors in OpenSSL's queue by calls of its own.
 */
#ifndef SZ_NET_TLS_H
#define SZ_NET_TLS_H

#include <stdbool.h>

#include "base/err.h"

struct sz_tls;
struct sz_tls_origin;

enum sz_alpn {
	SZ_ALPN_NONE, /* nothing was agreed on: HTTP/1 */
	SZ_ALPN_HTTP1,
	SZ_ALPN_H2,
};

enum sz_tls_offer {
	SZ_OFFER_HTTP1,
	SZ_OFFER_H2_OR_HTTP1,
	SZ_OFFER_H2,
};

struct sz_tls_config {
	const char *ca_file;   /* PEM: trusts these instead of the system's; NULL: those */
	const char *cert_file; /* PEM: our own certificate and its chain; NULL: none */
	const char *key_file;  /* PEM: its key, not encrypted; NULL: it is in cert_file */
	enum sz_tls_offer offer;
	bool no_verify;
	bool no_resume; /* every handshake is a full one */
};

/* Reads the files; keeps nothing of config. A file that does not serve is
 * SZ_USAGE. */
struct sz_tls *sz_tls_new(const struct sz_tls_config *config, struct sz_err *err);
void sz_tls_free(struct sz_tls *tls); /* NULL is fine; after its origins */

/* One host, as the URL names it: a name, which is also sent (SNI), or an
 * address, which is not. Keeps the sessions that its servers hand out: the
 * newest goes first, each once in TLS 1.3 (RFC 8446, C.4), again and again in
 * 1.2, and SZ_TLS_SESSIONS at most. Borrows tls. */
#define SZ_TLS_SESSIONS 256
struct sz_tls_origin *sz_tls_origin_new(struct sz_tls *tls, const char *host, struct sz_err *err);
void sz_tls_origin_free(struct sz_tls_origin *origin); /* NULL is fine; after its streams */

#endif
