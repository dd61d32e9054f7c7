/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/mem.h"

/* Says what OpenSSL has against a file, and leaves its queue empty. */
static int refuse_file(const char *path, const char *what, const char *remedy, struct sz_err *err)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());
	ERR_clear_error();
	if (access(path, R_OK) < 0)
		return sz_err_set(err, SZ_USAGE, errno, "cannot read %s '%.200s'", what, path);
	sz_err_set(err, SZ_USAGE, 0, "'%.200s' is not usable as %s: %s", path, what,
		   reason ? reason : "unknown reason");
	return sz_err_hint(err, "%s", remedy);
}

static int load_trusted(SSL_CTX *context, const struct sz_tls_config *config, struct sz_err *err)
{
	/* Whatever the user names is trusted, not only self-signed roots. */
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
	if (!config->ca_file) {
		SSL_CTX_set_default_verify_paths(context);
		return 0;
	}
	if (SSL_CTX_load_verify_file(context, config->ca_file) == 1)
		return 0;
	return refuse_file(config->ca_file, "trusted certificates",
			   "give a file with certificates in PEM form", err);
}

/* In place of OpenSSL's question on the terminal. */
static int no_password(char *password, int size, int writing, void *data)
{
	(void)password, (void)size, (void)writing, (void)data;
	return -1;
}

static int load_own(SSL_CTX *context, const struct sz_tls_config *config, struct sz_err *err)
{
	const char *key_file = config->key_file ? config->key_file : config->cert_file;
	if (!config->cert_file) {
		if (!config->key_file)
			return 0;
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' is a key without a certificate", key_file);
		return sz_err_hint(err, "give the certificate as well, with --cert FILE");
	}
	SSL_CTX_set_default_passwd_cb(context, no_password);
	if (SSL_CTX_use_certificate_chain_file(context, config->cert_file) != 1)
		return refuse_file(config->cert_file, "our own certificate",
				   "give the certificate in PEM form, its issuers behind it", err);
	if (SSL_CTX_use_PrivateKey_file(context, key_file, SSL_FILETYPE_PEM) != 1)
		return refuse_file(key_file, "the key of our own certificate",
				   "give the certificate's own key in PEM form, not encrypted "
				   "('openssl pkey -in KEY -out PLAIN' takes a password off)",
				   err);
	return 0;
}

static int offer_protocols(SSL_CTX *context, enum sz_tls_offer offer)
{
	static const struct {
		unsigned len;
		const char *list; /* each with its length before it (RFC 7301) */
	} offers[] = {
		[SZ_OFFER_HTTP1] = {9, "\x08http/1.1"},
		[SZ_OFFER_H2_OR_HTTP1] = {12, "\x02h2\x08http/1.1"},
		[SZ_OFFER_H2] = {3, "\x02h2"},
	};
	return SSL_CTX_set_alpn_protos(context, (const unsigned char *)offers[offer].list,
				       offers[offer].len);
}

static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
	const struct sz_stream *stream = SSL_get_app_data(ssl);
	sz_tls_keep_session(stream->origin, session);
	return 1; /* the reference is ours now */
}

static void remember_sessions(SSL_CTX *context, bool no_resume)
{
	if (no_resume) {
		SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
		return;
	}
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_new_session);
}

static int set_up(SSL_CTX *context, const struct sz_tls_config *config, struct sz_err *err)
{
	/* Buffers only while a record is in them: 10,000 idle connections would
	 * keep 170 MB. One recv() for all that is there instead of one for each
	 * record's head and one for its rest. */
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(context, 1);
	SSL_CTX_set_verify(context, config->no_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
			   sz_tls_on_verify);
	remember_sessions(context, config->no_resume);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    offer_protocols(context, config->offer) != 0)
		return sz_err_nomem(err);
	return load_trusted(context, config, err) < 0 ? -1 : load_own(context, config, err);
}

struct sz_tls *sz_tls_new(const struct sz_tls_config *config, struct sz_err *err)
{
	struct sz_tls *tls = calloc(1, sizeof(*tls));
	if (tls) {
		tls->context = SSL_CTX_new(TLS_client_method());
		tls->socket = sz_tls_socket_method();
	}
	int status = tls && tls->context && tls->socket ? set_up(tls->context, config, err)
							: sz_err_nomem(err);
	ERR_clear_error();
	if (status == 0)
		return tls;
	sz_tls_free(tls);
	return NULL;
}

void sz_tls_free(struct sz_tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	BIO_meth_free(tls->socket);
	free(tls);
}

static bool is_address(const char *host)
{
	struct in6_addr address;
	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

struct sz_tls_origin *sz_tls_origin_new(struct sz_tls *tls, const char *host, struct sz_err *err)
{
	struct sz_tls_origin *origin = calloc(1, sizeof(*origin));
	size_t len = strlen(host);
	if (!origin) {
		sz_err_nomem(err);
		return NULL;
	}
	/* The dot that ends an absolute name is in neither SNI (RFC 6066,
	 * section 3) nor certificates. */
	if (len > 1 && host[len - 1] == '.')
		len--;
	if (len >= sizeof(origin->host)) {
		free(origin);
		sz_err_set(err, SZ_USAGE, 0, "the host name '%.80s…' is too long", host);
		return NULL;
	}
	snprintf(origin->host, sizeof(origin->host), "%.*s", (int)len, host);
	origin->is_address = is_address(origin->host);
	origin->tls = tls;
	return origin;
}

void sz_tls_origin_free(struct sz_tls_origin *origin)
{
	if (!origin)
		return;
	for (unsigned i = 0; i < SZ_TLS_SESSIONS; i++)
		SSL_SESSION_free(origin->sessions[i]);
	sz_buf_fini(&origin->detail);
	free(origin);
}

_Static_assert((SZ_TLS_SESSIONS & (SZ_TLS_SESSIONS - 1)) == 0, "`next` may wrap around");

void sz_tls_keep_session(struct sz_tls_origin *origin, SSL_SESSION *session)
{
	SSL_SESSION **place = &origin->sessions[origin->next++ % SZ_TLS_SESSIONS];
	SSL_SESSION_free(*place);
	*place = session;
}

SSL_SESSION *sz_tls_take_session(struct sz_tls_origin *origin)
{
	SSL_SESSION **newest = &origin->sessions[(origin->next - 1) % SZ_TLS_SESSIONS];
	if (*newest)
		origin->next--;
	return sz_steal(*newest);
}
