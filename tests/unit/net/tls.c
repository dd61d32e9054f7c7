/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS streams, against nginx and against peers that misbehave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "net/peer.h"

static pid_t nginx;

/* Every recv() and send() of the process goes through these. The names of their
 * parameters are glibc's. */
static unsigned recv_count;
static unsigned send_count;

ssize_t recv(int __fd, void *__buf, size_t __n, int __flags)
{
	recv_count++;
	return syscall(SYS_recvfrom, __fd, __buf, __n, __flags, NULL, NULL);
}

ssize_t send(int __fd, const void *__buf, size_t __n, int __flags)
{
	send_count++;
	return syscall(SYS_sendto, __fd, __buf, __n, __flags, NULL, 0);
}

/* One origin and its TLS, as a load has them. */
struct side {
	struct sz_tls *tls;
	struct sz_tls_origin *origin;
};

static struct side side_new(struct sz_tls_config config, const char *host)
{
	struct sz_err err = {0};
	struct side side = {.tls = sz_tls_new(&config, &err)};
	if (!side.tls)
		fail_msg("%s", err.message);
	side.origin = sz_tls_origin_new(side.tls, host, &err);
	assert_non_null(side.origin);
	return side;
}

static struct side trusting_side(const char *host)
{
	return side_new((struct sz_tls_config){.ca_file = path_of("good.pem")}, host);
}

static void side_free(struct side *side)
{
	sz_tls_origin_free(side->origin);
	sz_tls_free(side->tls);
}

static void wait_for(const struct sz_stream *stream, uint32_t events)
{
	struct pollfd wait = {.fd = stream->fd, .events = (short)events};
	assert_int_equal(poll(&wait, 1, 20000), 1);
}

static int shake_hands(struct sz_stream *stream, struct sz_err *err)
{
	int status;
	wait_for(stream, EPOLLOUT);
	assert_int_equal(sz_stream_connected(stream), 0);
	while ((status = sz_stream_handshake(stream, err)) == -EAGAIN)
		wait_for(stream, stream->wants);
	return status;
}

static int open_stream(struct sz_stream *stream, struct sz_route *route, const struct side *side,
		       struct sz_err *err)
{
	route->tls = side->origin;
	assert_int_equal(sz_stream_open(stream, route), 0);
	return shake_hands(stream, err);
}

static void must_open(struct sz_stream *stream, struct sz_route *route, const struct side *side)
{
	struct sz_err err = {0};
	if (open_stream(stream, route, side, &err) < 0)
		fail_msg("%s (%s)", err.message, err.hint);
}

/* As an event loop does it: waits unless bytes wait inside. */
static ssize_t await_bytes(struct sz_stream *stream, char *bytes, size_t size)
{
	ssize_t n;
	if (!sz_stream_pending(stream))
		wait_for(stream, EPOLLIN);
	while ((n = sz_stream_read(stream, bytes, size)) == -EAGAIN)
		wait_for(stream, stream->wants);
	return n;
}

static void write_all(struct sz_stream *stream, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = sz_stream_write(stream, bytes, len);
		if (n == -EAGAIN) {
			wait_for(stream, stream->wants);
			continue;
		}
		assert_true(n > 0);
		bytes += n;
		len -= (size_t)n;
	}
}

static void ask(struct sz_stream *stream, char answer[1024])
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	write_all(stream, request, sizeof(request) - 1);
	ssize_t len = await_bytes(stream, answer, 1023);
	assert_true(len > 0);
	answer[len] = '\0';
	assert_memory_equal(answer, "HTTP/1.1 200 OK\r\n", 17);
}

static void check_answer(struct sz_stream *stream, const char *want)
{
	char answer[1024];
	ask(stream, answer);
	if (!strstr(answer, want))
		fail_msg("%s: %s", want, answer);
}

static void good_certificate(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct sz_route route = nginx_route("good");
	struct sz_stream stream;
	must_open(&stream, &route, &side);
	assert_int_equal(sz_stream_alpn(&stream), SZ_ALPN_HTTP1);
	check_answer(&stream, "\r\n\r\n. TLSv1.3 localhost NONE");
	sz_stream_close(&stream);
	side_free(&side);
}

/* Neither a name's last dot nor an address is sent as the name. */
static void names_that_are_sent(void **state)
{
	(void)state;
	static const struct {
		const char *host, *sent;
	} cases[] = {{"localhost.", " localhost NONE"}, {"127.0.0.1", "  NONE"}, {"::1", "  NONE"}};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct side side = trusting_side(cases[i].host);
		struct sz_route route = nginx_route("good");
		struct sz_stream stream;
		must_open(&stream, &route, &side);
		check_answer(&stream, cases[i].sent);
		sz_stream_close(&stream);
		side_free(&side);
	}
}

static void protocols_that_are_offered(void **state)
{
	(void)state;
	static const struct {
		const char *server;
		enum sz_tls_offer offer;
		enum sz_alpn chosen;
	} cases[] = {
		{"h2", SZ_OFFER_HTTP1, SZ_ALPN_HTTP1},
		{"h2", SZ_OFFER_H2_OR_HTTP1, SZ_ALPN_H2},
		{"h2", SZ_OFFER_H2, SZ_ALPN_H2},
		{"good", SZ_OFFER_H2_OR_HTTP1, SZ_ALPN_HTTP1},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct side side =
			side_new((struct sz_tls_config){.offer = cases[i].offer, .no_verify = true},
				 "x");
		struct sz_route route = nginx_route(cases[i].server);
		struct sz_stream stream;
		must_open(&stream, &route, &side);
		assert_int_equal(sz_stream_alpn(&stream), cases[i].chosen);
		sz_stream_close(&stream);
		side_free(&side);
	}
	struct side side =
		side_new((struct sz_tls_config){.offer = SZ_OFFER_H2, .no_verify = true}, "x");
	struct sz_route route = nginx_route("good");
	struct sz_stream stream;
	struct sz_err err = {0};
	assert_int_equal(open_stream(&stream, &route, &side, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.message, "no HTTP version that was offered"));
	sz_stream_close(&stream);
	side_free(&side);
}

static void refused_certificates(void **state)
{
	(void)state;
	static const struct {
		const char *server, *ca_file, *host;
		int errnum;
		enum sz_code code;
		const char *message, *hint;
	} cases[] = {
		{"good", NULL, "localhost", ENOKEY, SZ_USAGE, "is self-signed", "--cacert"},
		{"good", "other.pem", "localhost", ENOKEY, SZ_USAGE, "is self-signed", "--cacert"},
		{"issued", "other.pem", "localhost", ENOKEY, SZ_USAGE, "issuer is not trusted",
		 "--cacert"},
		{"expired", "expired.pem", "localhost", EKEYEXPIRED, SZ_MACHINE,
		 "has expired, on 20", "renew"},
		{"early", "early.pem", "localhost", EKEYREJECTED, SZ_MACHINE, "not valid yet",
		 "clock"},
		{"other", "other.pem", "localhost", EKEYREJECTED, SZ_USAGE,
		 "is for other.example, *.other.example, 192.0.2.1, 2001:db8::1, a.example …",
		 "write a name"},
		{"other", "other.pem", "127.0.0.1", EKEYREJECTED, SZ_USAGE, "is for other.example,",
		 "write a name"},
		{"named", "named.pem", "localhost", EKEYREJECTED, SZ_USAGE, "is for evil?[2J.name",
		 "write a name"},
		{"old", "good.pem", "localhost", EPROTONOSUPPORT, SZ_MACHINE, "older than 1.2",
		 "1.2 or 1.3"},
		{"plain", "good.pem", "localhost", EPROTONOSUPPORT, SZ_USAGE, "does not speak TLS",
		 "http://"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct side side =
			side_new((struct sz_tls_config){.ca_file =
								cases[i].ca_file
									? path_of(cases[i].ca_file)
									: NULL},
				 cases[i].host);
		struct sz_route route = nginx_route(cases[i].server);
		struct sz_stream stream;
		struct sz_err err = {0};
		int status = open_stream(&stream, &route, &side, &err);
		if (status != -cases[i].errnum || !strstr(err.message, cases[i].message) ||
		    !strstr(err.hint, cases[i].hint))
			fail_msg("%s: %d, %s (%s)", cases[i].server, status, err.message, err.hint);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.message, cases[i].host));
		assert_non_null(stream.why);
		sz_stream_close(&stream);
		side_free(&side);
	}
}

/* The leaf itself, its issuer, and what the system trusts. */
static void accepted_certificates(void **state)
{
	(void)state;
	static const struct {
		const char *server, *ca_file, *system_file, *host;
	} cases[] = {
		{"issued", "issued.pem", "", "localhost"},
		{"issued", "authority.pem", "", "localhost"},
		{"good", NULL, "good.pem", "localhost"},
		{"other", "other.pem", "", "www.other.example"},
		{"other", "other.pem", "", "192.0.2.1"},
		{"other", "other.pem", "", "2001:DB8:0::1"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_tls_config config = {0};
		setenv("SSL_CERT_FILE", path_of(cases[i].system_file), 1);
		if (cases[i].ca_file)
			config.ca_file = path_of(cases[i].ca_file);
		struct side side = side_new(config, cases[i].host);
		struct sz_route route = nginx_route(cases[i].server);
		struct sz_stream stream;
		must_open(&stream, &route, &side);
		sz_stream_close(&stream);
		side_free(&side);
	}
	unsetenv("SSL_CERT_FILE");
}

static void sessions_resumed(void **state)
{
	(void)state;
	static const struct {
		const char *server;
		bool no_resume;
		const char *first, *later;
	} cases[] = {
		{"good", false, ". TLSv1.3", "r TLSv1.3"},
		{"tls12", false, ". TLSv1.2", "r TLSv1.2"},
		{"good", true, ". TLSv1.3", ". TLSv1.3"},
		{"tls12", true, ". TLSv1.2", ". TLSv1.2"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct side side = side_new((struct sz_tls_config){.ca_file = path_of("good.pem"),
								   .no_resume = cases[i].no_resume},
					    "localhost");
		struct sz_route route = nginx_route(cases[i].server);
		for (int k = 0; k < 4; k++) {
			struct sz_stream stream;
			must_open(&stream, &route, &side);
			assert_int_equal(sz_stream_is_resumed(&stream),
					 k > 0 && !cases[i].no_resume);
			check_answer(&stream, k ? cases[i].later : cases[i].first);
			sz_stream_close(&stream);
		}
		side_free(&side);
	}
}

/* What one connection brought serves the next two, not a third: a ticket of
 * TLS 1.3 is used once, and nginx hands out two. */
static void tickets_used_once(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct sz_route route = nginx_route("good");
	struct sz_stream first, later[3];
	must_open(&first, &route, &side);
	check_answer(&first, ".");
	for (size_t i = 0; i < 3; i++) {
		must_open(&later[i], &route, &side);
		assert_int_equal(sz_stream_is_resumed(&later[i]), i < 2);
	}
	for (size_t i = 0; i < 3; i++)
		sz_stream_close(&later[i]);
	sz_stream_close(&first);
	side_free(&side);
}

/* More tickets than are kept. */
static void tickets_beyond_the_store(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct sz_route route = nginx_route("good");
	struct sz_stream stream;
	for (int i = 0; i < SZ_TLS_SESSIONS / 2 + 8; i++) {
		must_open(&stream, &route, &side);
		check_answer(&stream, "TLSv1.3");
		assert_int_equal(sz_stream_is_resumed(&stream), i > 0);
		sz_stream_close(&stream);
	}
	side_free(&side);
}

static void client_certificate(void **state)
{
	(void)state;
	struct side side = side_new((struct sz_tls_config){.ca_file = path_of("good.pem"),
							   .cert_file = path_of("other.pem")},
				    "localhost");
	struct sz_route route = nginx_route("mutual");
	struct sz_stream stream;
	must_open(&stream, &route, &side);
	check_answer(&stream, "localhost FAILED:"); /* it came, and is self-signed */
	sz_stream_close(&stream);
	side_free(&side);
}

static void files_that_do_not_serve(void **state)
{
	(void)state;
	static const struct {
		const char *ca_file, *cert_file, *key_file, *message;
	} cases[] = {
		{"absent", NULL, NULL, "cannot read trusted certificates"},
		{"nginx.conf", NULL, NULL, "not usable as trusted certificates"},
		{NULL, "nginx.conf", NULL, "not usable as our own certificate"},
		{NULL, "good.pem", "absent", "cannot read the key"},
		{NULL, "good.pem", "other.pem", "key values mismatch"},
		{NULL, "good.pem", "locked.pem", "not usable as the key"},
		{NULL, NULL, "good.pem", "a key without a certificate"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_err err = {0};
		struct sz_tls_config config = {0};
		if (cases[i].ca_file)
			config.ca_file = path_of(cases[i].ca_file);
		if (cases[i].cert_file)
			config.cert_file = path_of(cases[i].cert_file);
		if (cases[i].key_file)
			config.key_file = path_of(cases[i].key_file);
		assert_null(sz_tls_new(&config, &err));
		assert_int_equal(err.code, SZ_USAGE);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%s", err.message);
		assert_int_equal(ERR_peek_error(), 0);
	}
}

static void one_read_and_one_write(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct sz_route route = nginx_route("good");
	struct sz_stream stream;
	must_open(&stream, &route, &side);
	check_answer(&stream, "TLSv1.3"); /* with the tickets before it */
	recv_count = send_count = 0;
	for (unsigned i = 1; i <= 10; i++) {
		check_answer(&stream, "TLSv1.3");
		assert_int_equal(recv_count, i);
		assert_int_equal(send_count, i);
		assert_false(sz_stream_pending(&stream));
	}
	sz_stream_close(&stream);
	side_free(&side);
}

/* Peers that misbehave */

static void cut_after_half_a_record(int fd)
{
	char bytes[4096];
	if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
		_exit(1);
	send(fd, "\x16\x03\x03\x00\x7a\x02\x00", 7, MSG_NOSIGNAL);
}

static void reset(int fd)
{
	char bytes[4096];
	const struct linger at_once = {.l_onoff = 1};
	if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
		_exit(1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void say_goodbye_first(int fd)
{
	static const char alert[] = "\x15\x03\x03\x00\x02\x01\x00";
	char bytes[4096];
	if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
		_exit(1);
	send(fd, alert, sizeof(alert) - 1, MSG_NOSIGNAL);
}

static void answer_in_plain_text(int fd)
{
	char bytes[4096];
	if (recv(fd, bytes, sizeof(bytes), 0) <= 0)
		_exit(1);
	send(fd, "SSH-2.0-OpenSSH_9.2\r\n", 21, MSG_NOSIGNAL);
}

static void broken_handshakes(void **state)
{
	(void)state;
	static const struct {
		peer_fn *speak;
		int errnum;
		const char *message;
	} cases[] = {
		{cut_after_half_a_record, ECONNABORTED, "closed the connection in the handshake"},
		{say_goodbye_first, ECONNABORTED, "closed the connection in the handshake"},
		{reset, ECONNRESET, "broke in the handshake: Connection reset"},
		{answer_in_plain_text, EPROTONOSUPPORT, "does not speak TLS"},
	};
	struct side side = trusting_side("localhost");
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct peer peer = peer_start(cases[i].speak);
		struct sz_stream stream;
		struct sz_err err = {0};
		int status = open_stream(&stream, &peer.route, &side, &err);
		if (status != -cases[i].errnum || !strstr(err.message, cases[i].message))
			fail_msg("%zu: %d, %s", i, status, err.message);
		sz_stream_close(&stream);
		peer_end(&peer);
	}
	side_free(&side);
}

static void end_with_goodbye(int fd)
{
	struct speaker speaker = speaker_start(fd, 1, SSL_VERIFY_NONE);
	SSL_write(speaker.ssl, "answer", 6);
	SSL_shutdown(speaker.ssl);
	speak_out(&speaker);
}

static void end_without_goodbye(int fd)
{
	struct speaker speaker = speaker_start(fd, 1, SSL_VERIFY_NONE);
	SSL_write(speaker.ssl, "answer", 6);
	speak_out(&speaker);
}

static void end_within_a_record(int fd)
{
	struct speaker speaker = speaker_start(fd, SIZE_MAX, SSL_VERIFY_NONE);
	char *bytes;
	SSL_write(speaker.ssl, "answer", 6);
	SSL_write(speaker.ssl, "lost", 4);
	long len = BIO_get_mem_data(speaker.said, &bytes);
	send(fd, bytes, (size_t)len - 1, MSG_NOSIGNAL);
}

static void corrupt_a_record(int fd)
{
	struct speaker speaker = speaker_start(fd, SIZE_MAX, SSL_VERIFY_NONE);
	char *bytes;
	SSL_write(speaker.ssl, "answer", 6);
	SSL_write(speaker.ssl, "lost", 4);
	long len = BIO_get_mem_data(speaker.said, &bytes);
	bytes[len - 1] ^= 1;
	speak_out(&speaker);
	speaker_linger(&speaker);
}

/* One byte of TLS at a time, and each kind of end behind whole bytes. */
static void ends_of_a_stream(void **state)
{
	(void)state;
	static const struct {
		peer_fn *speak;
		ssize_t end;
		const char *why;
	} cases[] = {
		{end_with_goodbye, 0, NULL},
		{end_without_goodbye, -ECONNABORTED, "unexpected eof while reading"},
		{end_within_a_record, -ECONNABORTED, "unexpected eof while reading"},
		{corrupt_a_record, -EPROTO, "decryption failed or bad record mac"},
	};
	struct side side = trusting_side("localhost");
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct peer peer = peer_start(cases[i].speak);
		struct sz_stream stream;
		char bytes[16];
		must_open(&stream, &peer.route, &side);
		assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), 6);
		assert_memory_equal(bytes, "answer", 6);
		assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), cases[i].end);
		if (cases[i].why)
			assert_string_equal(stream.why, cases[i].why);
		else
			assert_null(stream.why);
		sz_stream_close(&stream);
		peer_end(&peer);
	}
	side_free(&side);
}

static void demand_a_certificate(int fd)
{
	struct speaker speaker =
		speaker_start(fd, SIZE_MAX, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
	speaker_linger(&speaker);
}

/* In TLS 1.3 the client's handshake is over before the server looks. */
static void certificate_demanded(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct peer peer = peer_start(demand_a_certificate);
	struct sz_stream stream;
	char bytes[16];
	must_open(&stream, &peer.route, &side);
	assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), -EPROTO);
	assert_string_equal(stream.why, "tlsv13 alert certificate required");
	sz_stream_close(&stream);
	peer_end(&peer);
	side_free(&side);
}

static void three_records_at_once(int fd)
{
	struct speaker speaker = speaker_start(fd, SIZE_MAX, SSL_VERIFY_NONE);
	char bytes[16];
	speaker_read(&speaker, bytes, sizeof(bytes));
	SSL_write(speaker.ssl, "alpha", 5);
	SSL_write(speaker.ssl, "omicron", 7);
	SSL_write(speaker.ssl, "omega", 5);
	speak_out(&speaker);
	speaker_linger(&speaker);
}

/* After the first read epoll has nothing to report, and two records wait. */
static void pending_records(void **state)
{
	(void)state;
	static const char *const pieces[] = {"alp", "ha", "omi", "cro", "n", "ome", "ga"};
	struct side side = trusting_side("localhost");
	struct peer peer = peer_start(three_records_at_once);
	struct sz_stream stream;
	must_open(&stream, &peer.route, &side);
	write_all(&stream, "go", 2);
	for (size_t i = 0; i < SZ_ARRAY_LEN(pieces); i++) {
		char bytes[3];
		struct pollfd wait = {.fd = stream.fd, .events = POLLIN};
		size_t len = strlen(pieces[i]);
		assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), len);
		assert_memory_equal(bytes, pieces[i], len);
		assert_int_equal(sz_stream_pending(&stream), i + 1 < SZ_ARRAY_LEN(pieces));
		assert_int_equal(poll(&wait, 1, 0), 0);
	}
	sz_stream_close(&stream);
	peer_end(&peer);
	side_free(&side);
}

#define ECHO_BYTES ((size_t)4 << 20)
#define PIECE_BYTES ((size_t)50000)

/* Written to when the client cannot write any more. */
static int stalled_pipe[2];

/* Reads nothing until the client is stuck, then everything; tells the sum, with
 * keys changed behind it. */
static void read_late(int fd)
{
	struct speaker speaker = speaker_start(fd, SIZE_MAX, SSL_VERIFY_NONE);
	uint64_t sum = 0;
	if (read(stalled_pipe[0], &sum, 1) != 1)
		_exit(1);
	sum = 0;
	for (size_t total = 0; total < ECHO_BYTES;) {
		unsigned char bytes[16384];
		size_t len;
		while (!SSL_read_ex(speaker.ssl, bytes, sizeof(bytes), &len))
			hear(&speaker);
		for (size_t i = 0; i < len; i++)
			sum = sum * 31 + bytes[i];
		total += len;
	}
	SSL_key_update(speaker.ssl, SSL_KEY_UPDATE_REQUESTED);
	SSL_write(speaker.ssl, &sum, sizeof(sum));
	speak_out(&speaker);
	char again[16];
	speaker_read(&speaker, again, sizeof(again));
	SSL_write(speaker.ssl, again, 5);
	speak_out(&speaker);
	speaker_linger(&speaker);
}

/* Offers the same bytes after a stall, but from elsewhere. */
static void write_in_pieces(struct sz_stream *stream, const unsigned char *bytes, size_t len)
{
	unsigned char *copies[] = {malloc(PIECE_BYTES), malloc(PIECE_BYTES)};
	unsigned turn = 0, stalls = 0;
	while (len) {
		size_t size = len < PIECE_BYTES ? len : PIECE_BYTES;
		unsigned char *copy = copies[turn++ % 2];
		memcpy(copy, bytes, size);
		ssize_t n = sz_stream_write(stream, copy, size);
		memset(copy, 0, size);
		if (n == -EAGAIN) {
			assert_int_equal(stream->wants, EPOLLOUT);
			if (stalls++ == 0)
				assert_int_equal(write(stalled_pipe[1], "", 1), 1);
			wait_for(stream, stream->wants);
			continue;
		}
		assert_true(n > 0);
		bytes += n;
		len -= (size_t)n;
	}
	free(copies[0]);
	free(copies[1]);
}

static void write_more_than_fits(void **state)
{
	(void)state;
	const int buffer_bytes = 65536;
	struct side side = trusting_side("localhost");
	struct sz_stream stream;
	unsigned char *bytes = malloc(ECHO_BYTES);
	char answer[16];
	uint64_t sum = 0;
	for (size_t i = 0; i < ECHO_BYTES; i++) {
		bytes[i] = (unsigned char)(i * 2654435761U >> 24);
		sum = sum * 31 + bytes[i];
	}
	assert_int_equal(pipe(stalled_pipe), 0);
	struct peer peer = peer_start(read_late);
	must_open(&stream, &peer.route, &side);
	setsockopt(stream.fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
	write_in_pieces(&stream, bytes, ECHO_BYTES);
	assert_int_equal(await_bytes(&stream, answer, sizeof(answer)), sizeof(sum));
	assert_memory_equal(answer, &sum, sizeof(sum));
	write_all(&stream, "after", 5);
	assert_int_equal(await_bytes(&stream, answer, sizeof(answer)), 5);
	assert_memory_equal(answer, "after", 5);
	sz_stream_close(&stream);
	free(bytes);
	close(stalled_pipe[0]);
	close(stalled_pipe[1]);
	peer_end(&peer);
	side_free(&side);
}

static void answer_after_the_end(int fd)
{
	struct speaker speaker = speaker_start(fd, SIZE_MAX, SSL_VERIFY_NONE);
	char bytes[16];
	size_t len;
	while (!SSL_read_ex(speaker.ssl, bytes, sizeof(bytes), &len)) {
		if (SSL_get_shutdown(speaker.ssl) & SSL_RECEIVED_SHUTDOWN)
			break;
		hear(&speaker);
	}
	SSL_write(speaker.ssl, "goodbye", 7);
	SSL_shutdown(speaker.ssl);
	speak_out(&speaker);
}

static void half_close(void **state)
{
	(void)state;
	struct side side = trusting_side("localhost");
	struct peer peer = peer_start(answer_after_the_end);
	struct sz_stream stream;
	char bytes[16];
	must_open(&stream, &peer.route, &side);
	assert_int_equal(sz_stream_shutdown(&stream), 0);
	assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), 7);
	assert_int_equal(await_bytes(&stream, bytes, sizeof(bytes)), 0);
	sz_stream_close(&stream);
	peer_end(&peer);
	side_free(&side);
}

/* Setting up */

static void lock_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	FILE *file = fopen(path_of("locked.pem"), "we");
	assert_non_null(file);
	assert_true(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(),
					 (const unsigned char *)"secret", 6, NULL, NULL));
	fclose(file);
	EVP_PKEY_free(key);
}

static int setup(void **state)
{
	(void)state;
	static const char good[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
	static const struct certificate certificates[] = {
		{"good.pem", good, "sizeup test", -DAY_S, DAY_S, NULL},
		{"expired.pem", good, "localhost", -3 * DAY_S, -2 * DAY_S, NULL},
		{"early.pem", good, "localhost", DAY_S, 2 * DAY_S, NULL},
		{"authority.pem", NULL, "sizeup test authority", -DAY_S, DAY_S, NULL},
		{"issued.pem", good, "issued", -DAY_S, DAY_S, "authority.pem"},
		{"named.pem", NULL, "evil\033[2J.name", -DAY_S, DAY_S, NULL},
		{"other.pem",
		 "DNS:other.example,DNS:*.other.example,IP:192.0.2.1,email:a@a.example,"
		 "IP:2001:db8::1,DNS:a.example,DNS:b.example",
		 "localhost", -DAY_S, DAY_S, NULL},
	};
	if (!mkdtemp(directory))
		return -1;
	for (size_t i = 0; i < SZ_ARRAY_LEN(certificates); i++)
		make_certificate(certificates[i]);
	lock_key();
	nginx = nginx_start();
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status, (void)kind, (void)where;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	/* Nothing is left for it to finish. */
	if (nginx > 0) {
		kill(nginx, SIGKILL);
		waitpid(nginx, NULL, 0);
	}
	return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_certificate),
		cmocka_unit_test(names_that_are_sent),
		cmocka_unit_test(protocols_that_are_offered),
		cmocka_unit_test(refused_certificates),
		cmocka_unit_test(accepted_certificates),
		cmocka_unit_test(sessions_resumed),
		cmocka_unit_test(tickets_used_once),
		cmocka_unit_test(tickets_beyond_the_store),
		cmocka_unit_test(client_certificate),
		cmocka_unit_test(files_that_do_not_serve),
		cmocka_unit_test(one_read_and_one_write),
		cmocka_unit_test(broken_handshakes),
		cmocka_unit_test(ends_of_a_stream),
		cmocka_unit_test(certificate_demanded),
		cmocka_unit_test(pending_records),
		cmocka_unit_test(write_more_than_fits),
		cmocka_unit_test(half_close),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
