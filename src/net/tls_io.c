/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls_inside.h"

#include <string.h>

#include <openssl/err.h>

#include "base/mem.h"

/* The socket below */

static int note_result(BIO *bio, ssize_t result, int retry)
{
	struct sz_stream *stream = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	stream->errnum = 0;
	if (result < 0 && errno == EAGAIN)
		BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
	else if (result < 0)
		stream->errnum = errno;
	return (int)result;
}

static int socket_read(BIO *bio, char *bytes, int size)
{
	struct sz_stream *stream = BIO_get_data(bio);
	ssize_t n = recv(stream->fd, bytes, (size_t)size, 0);
	if (n == 0)
		stream->ended = true;
	return note_result(bio, n, BIO_FLAGS_READ);
}

static int socket_write(BIO *bio, const char *bytes, int len)
{
	const struct sz_stream *stream = BIO_get_data(bio);
	return note_result(bio, send(stream->fd, bytes, (size_t)len, MSG_NOSIGNAL),
			   BIO_FLAGS_WRITE);
}

static long socket_ctrl(BIO *bio, int command, long number, void *pointer)
{
	const struct sz_stream *stream = BIO_get_data(bio);
	(void)number, (void)pointer;
	if (command == BIO_CTRL_EOF)
		return stream->ended;
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *sz_tls_socket_method(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "sizeup socket");
	if (method) {
		BIO_meth_set_read(method, socket_read);
		BIO_meth_set_write(method, socket_write);
		BIO_meth_set_ctrl(method, socket_ctrl);
	}
	return method;
}

/* Handshake */

static int name_host(SSL *ssl, struct sz_tls_origin *origin)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	if (origin->is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(param, origin->host);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, origin->host, 0) &&
	       SSL_set_tlsext_host_name(ssl, origin->host);
}

static void offer_session(SSL *ssl, struct sz_tls_origin *origin)
{
	SSL_SESSION *session = sz_tls_take_session(origin);
	if (session)
		SSL_set_session(ssl, session);
	SSL_SESSION_free(session);
}

static int begin(struct sz_stream *stream)
{
	const struct sz_tls *tls = stream->origin->tls;
	SSL *ssl = SSL_new(tls->context);
	BIO *bio = BIO_new(tls->socket);
	if (!ssl || !bio || !name_host(ssl, stream->origin)) {
		SSL_free(ssl);
		BIO_free(bio);
		ERR_clear_error();
		return -1;
	}
	BIO_set_data(bio, stream);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
	SSL_set_app_data(ssl, stream);
	offer_session(ssl, stream->origin);
	stream->ssl = ssl;
	return 0;
}

/* The errno of a call that returned `result`, or 0 for the peer's orderly end,
 * with OpenSSL's reason if it has one. SSL_get_error() looks at the thread's
 * queue of errors, too: it is empty before each call because it is emptied
 * after each that failed. */
static int fault_of(struct sz_stream *stream, int result, int *reason)
{
	static const struct {
		int error;
		int errnum;
		uint32_t wants;
	} normal[] = {
		{SSL_ERROR_WANT_READ, EAGAIN, EPOLLIN},
		{SSL_ERROR_WANT_WRITE, EAGAIN, EPOLLOUT},
		{SSL_ERROR_ZERO_RETURN, 0, 0},
	};
	int error = SSL_get_error(stream->ssl, result);
	for (size_t i = 0; i < SZ_ARRAY_LEN(normal); i++) {
		if (normal[i].error != error)
			continue;
		stream->wants = normal[i].wants;
		return normal[i].errnum;
	}
	unsigned long code = ERR_peek_error();
	*reason = ERR_GET_REASON(code);
	stream->why = ERR_reason_error_string(code);
	stream->is_up = false;
	ERR_clear_error();
	if (stream->errnum)
		return stream->errnum;
	return stream->ended ? ECONNABORTED : EPROTO;
}

/* OpenSSL hands out a session of TLS 1.2 once, when it is made. */
static void keep_old_session(struct sz_stream *stream)
{
	if (SSL_version(stream->ssl) < TLS1_3_VERSION && SSL_session_reused(stream->ssl))
		sz_tls_keep_session(stream->origin, SSL_get1_session(stream->ssl));
}

int sz_tls_handshake(struct sz_stream *stream, struct sz_err *err)
{
	int reason = 0;
	if (!stream->ssl && begin(stream) < 0) {
		sz_err_nomem(err);
		return -ENOMEM;
	}
	int result = SSL_connect(stream->ssl);
	if (result == 1) {
		ERR_clear_error();
		stream->is_up = true;
		keep_old_session(stream);
		return 0;
	}
	int errnum = fault_of(stream, result, &reason);
	if (errnum == EAGAIN)
		return -EAGAIN;
	/* An orderly end is none here. */
	return -sz_tls_explain(stream, errnum ? errnum : ECONNABORTED, reason, err);
}

/* Bytes */

ssize_t sz_tls_read(struct sz_stream *stream, void *bytes, size_t size)
{
	size_t len;
	int reason;
	if (SSL_read_ex(stream->ssl, bytes, size, &len))
		return (ssize_t)len;
	return -fault_of(stream, 0, &reason);
}

ssize_t sz_tls_write(struct sz_stream *stream, const void *bytes, size_t len)
{
	size_t taken;
	int reason;
	if (SSL_write_ex(stream->ssl, bytes, len, &taken))
		return (ssize_t)taken;
	return -fault_of(stream, 0, &reason);
}

bool sz_tls_pending(const struct sz_stream *stream)
{
	return SSL_has_pending(stream->ssl);
}

/* The end */

int sz_stream_shutdown(struct sz_stream *stream)
{
	int reason;
	int result = stream->ssl ? SSL_shutdown(stream->ssl) : 0;
	if (result < 0)
		return -fault_of(stream, result, &reason);
	return shutdown(stream->fd, SHUT_WR) < 0 ? -errno : 0;
}

/* Without the attempt to say goodbye OpenSSL would not resume the session. */
void sz_stream_close(struct sz_stream *stream)
{
	if (stream->is_up && SSL_shutdown(stream->ssl) < 0)
		ERR_clear_error();
	SSL_free(stream->ssl);
	close(stream->fd);
	stream->ssl = NULL;
	stream->fd = -1;
}

/* What was agreed on */

enum sz_alpn sz_stream_alpn(const struct sz_stream *stream)
{
	const unsigned char *name = NULL;
	unsigned len = 0;
	if (stream->ssl)
		SSL_get0_alpn_selected(stream->ssl, &name, &len);
	if (len == 2 && memcmp(name, "h2", 2) == 0)
		return SZ_ALPN_H2;
	return len ? SZ_ALPN_HTTP1 : SZ_ALPN_NONE;
}

bool sz_stream_is_resumed(const struct sz_stream *stream)
{
	return stream->ssl && SSL_session_reused(stream->ssl);
}
