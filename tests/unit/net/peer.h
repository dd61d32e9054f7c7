/* SPDX-License-Identifier: Apache-2.0
 *
 * The other side of TLS, for tests: certificates made on the spot, nginx on
 * unix sockets, and peers that misbehave, each a child process that serves
 * one connection on a port. Include after cmocka.
 */
#ifndef SZ_TEST_PEER_H
#define SZ_TEST_PEER_H

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/listener.h"
#include "net/stream.h"

#define DAY_S (24 * 60 * 60L)

static char directory[] = "/tmp/sizeup-tls-XXXXXX";

static inline const char *path_of(const char *name)
{
	static char paths[4][64]; /* so that one call may hold several */
	static unsigned next;
	char *path = paths[next++ % SZ_ARRAY_LEN(paths)];
	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

/* Certificates: PEM files with the key inside, self-signed unless `issuer`
 * names the file of another. One without alternative names may issue. */

struct certificate {
	const char *file;
	const char *alternative; /* as in openssl.cnf, "DNS:a,IP:127.0.0.1"; NULL: none */
	const char *common;
	long from_s, to_s; /* from now */
	const char *issuer;
};

static inline void sign(X509 *made, EVP_PKEY *key, const char *issuer)
{
	FILE *file = issuer ? fopen(path_of(issuer), "re") : NULL;
	X509 *other = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
	EVP_PKEY *other_key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
	X509_set_issuer_name(made, X509_get_subject_name(other ? other : made));
	assert_true(X509_sign(made, other_key ? other_key : key, EVP_sha256()) > 0);
	X509_free(other);
	EVP_PKEY_free(other_key);
	if (file)
		fclose(file);
}

static inline void make_certificate(struct certificate want)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *made = X509_new();
	ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
	X509_set_version(made, X509_VERSION_3);
	X509_gmtime_adj(X509_getm_notBefore(made), want.from_s);
	X509_gmtime_adj(X509_getm_notAfter(made), want.to_s);
	X509_set_pubkey(made, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
				   (const unsigned char *)want.common, -1, -1, 0);
	int extension = want.alternative ? NID_subject_alt_name : NID_basic_constraints;
	const char *value = want.alternative ? want.alternative : "critical,CA:TRUE";
	X509_EXTENSION *made_extension = X509V3_EXT_conf_nid(NULL, NULL, extension, value);
	assert_true(X509_add_ext(made, made_extension, -1));
	X509_EXTENSION_free(made_extension);
	sign(made, key, want.issuer);
	FILE *file = fopen(path_of(want.file), "we");
	assert_non_null(file);
	assert_true(PEM_write_X509(file, made));
	assert_true(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
	fclose(file);
	X509_free(made);
	EVP_PKEY_free(key);
}

/* nginx. One server for each of the names below, on a unix socket. */

#define TELL "$ssl_session_reused $ssl_protocol $ssl_server_name $ssl_client_verify "

static inline void write_server(FILE *file, const char *name, const char *listen,
				const char *certificate, const char *more)
{
	fprintf(file, " server { listen unix:%s %s; %s", path_of(name), listen, more);
	if (certificate)
		fprintf(file, " ssl_certificate %s; ssl_certificate_key %s;", path_of(certificate),
			path_of(certificate));
	fprintf(file, " location / { return 200 \"" TELL "\"; } }\n");
}

static inline void write_nginx_conf(void)
{
	static const char *const temporary[] = {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"};
	FILE *file = fopen(path_of("nginx.conf"), "we");
	assert_non_null(file);
	fprintf(file, "daemon off; master_process off; pid %s; error_log %s;\n",
		path_of("nginx.pid"), path_of("nginx.log"));
	fprintf(file, "events {}\nhttp { access_log off; keepalive_requests 100000;\n");
	for (size_t i = 0; i < SZ_ARRAY_LEN(temporary); i++)
		fprintf(file, " %s_temp_path %s;\n", temporary[i], path_of("nginx.tmp"));
	write_server(file, "good", "ssl", "good.pem", "ssl_protocols TLSv1.2 TLSv1.3;");
	write_server(file, "h2", "ssl http2", "good.pem", "");
	write_server(file, "tls12", "ssl", "good.pem", "ssl_protocols TLSv1.2;");
	write_server(file, "old", "ssl", "good.pem",
		     "ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;");
	write_server(file, "expired", "ssl", "expired.pem", "");
	write_server(file, "early", "ssl", "early.pem", "");
	write_server(file, "other", "ssl", "other.pem", "");
	write_server(file, "named", "ssl", "named.pem", "");
	write_server(file, "issued", "ssl", "issued.pem", "");
	write_server(file, "mutual", "ssl", "good.pem", "ssl_verify_client optional_no_ca;");
	write_server(file, "plain", "", NULL, "");
	fprintf(file, "}\n");
	fclose(file);
}

static inline struct sz_route nginx_route(const char *name)
{
	struct sz_route route = {0};
	assert_int_equal(sz_addr_unix(path_of(name), &route.addr, NULL), 0);
	return route;
}

/* Its last server answers, so all listen. */
static inline void await_nginx(void)
{
	struct sz_route route = nginx_route("plain");
	uint64_t deadline_ns = sz_now_ns() + 20 * SZ_NS_PER_S;
	struct sz_stream stream;
	while (sz_stream_open(&stream, &route) < 0) {
		assert_true(sz_now_ns() < deadline_ns);
		usleep(5000);
	}
	sz_stream_close(&stream);
}

static inline pid_t nginx_start(void)
{
	write_nginx_conf();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("nginx", "nginx", "-p", directory, "-c", path_of("nginx.conf"), "-e",
		       path_of("nginx.log"), NULL);
		execl("/usr/sbin/nginx", "nginx", "-p", directory, "-c", path_of("nginx.conf"),
		      "-e", path_of("nginx.log"), NULL);
		_exit(9);
	}
	await_nginx();
	return pid;
}

/* Peers of one connection. A `speak` runs in the child, after accept(). */

typedef void peer_fn(int fd);

struct peer {
	pid_t pid;
	struct sz_route route;
};

static inline struct peer peer_start(peer_fn *speak)
{
	struct peer peer;
	struct sz_addrs found;
	sz_autoclose int listener = sz_listen(&(struct sz_listen_options){.backlog = 8}, NULL);
	assert_int_equal(sz_resolve("127.0.0.1", sz_socket_port(listener), &found, NULL), 0);
	peer.route = (struct sz_route){.addr = found.list[0]};
	peer.pid = fork();
	if (peer.pid == 0) {
		struct pollfd wait = {.fd = listener, .events = POLLIN};
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		poll(&wait, 1, 20000);
		speak(accept(listener, NULL, NULL));
		_exit(0);
	}
	return peer;
}

static inline void peer_end(const struct peer *peer)
{
	int status;
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	assert_int_equal(status, 0);
}

/* The server's side of TLS in a child: what it says lies in memory until it is
 * sent, in pieces of so many bytes. */

struct speaker {
	int fd;
	SSL *ssl;
	BIO *said;
	size_t piece_bytes;
};

static inline void speak_out(struct speaker *speaker)
{
	char *bytes;
	long left = BIO_get_mem_data(speaker->said, &bytes);
	while (left > 0) {
		size_t piece =
			(size_t)left < speaker->piece_bytes ? (size_t)left : speaker->piece_bytes;
		if (send(speaker->fd, bytes, piece, MSG_NOSIGNAL) < 0)
			break;
		bytes += piece;
		left -= (long)piece;
	}
	(void)BIO_reset(speaker->said);
}

static inline void hear(struct speaker *speaker)
{
	char bytes[16384];
	ssize_t n = recv(speaker->fd, bytes, sizeof(bytes), 0);
	if (n <= 0)
		_exit(0);
	BIO_write(SSL_get_rbio(speaker->ssl), bytes, (int)n);
}

static inline struct speaker speaker_start(int fd, size_t piece_bytes, int verify)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate_file(context, path_of("good.pem"), SSL_FILETYPE_PEM);
	SSL_CTX_use_PrivateKey_file(context, path_of("good.pem"), SSL_FILETYPE_PEM);
	SSL_CTX_set_verify(context, verify, NULL);
	struct speaker speaker = {fd, SSL_new(context), BIO_new(BIO_s_mem()), piece_bytes};
	SSL_set_bio(speaker.ssl, BIO_new(BIO_s_mem()), speaker.said);
	SSL_set_accept_state(speaker.ssl);
	int result;
	while ((result = SSL_do_handshake(speaker.ssl)) != 1) {
		bool refused = SSL_get_error(speaker.ssl, result) != SSL_ERROR_WANT_READ;
		speak_out(&speaker);
		hear(&speaker);
		if (refused)
			_exit(0);
	}
	speak_out(&speaker);
	return speaker;
}

static inline void speaker_read(struct speaker *speaker, char *bytes, size_t size)
{
	size_t len;
	while (!SSL_read_ex(speaker->ssl, bytes, size, &len))
		hear(speaker);
}

/* Until the client closes. */
static inline _Noreturn void speaker_linger(struct speaker *speaker)
{
	for (;;)
		hear(speaker);
}

#endif
