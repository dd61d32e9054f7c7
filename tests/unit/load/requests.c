/* SPDX-License-Identifier: Apache-2.0
 *
 * What a load asks for: from the command line, lists, HAR files and logs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "load/requests-inside.h"

#define BASE "http://127.0.0.1:8000"
#define MS SZ_NS_PER_MS

static struct sz_requests *made; /* of the test; freed behind it */
static struct sz_err err;
static char scratch[64]; /* a directory for files of the test */

static int begin(void **state)
{
	(void)state;
	made = NULL;
	err = (struct sz_err){0};
	snprintf(scratch, sizeof(scratch), "/tmp/sizeup-requests-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	sz_requests_free(made);
	return rmdir(scratch);
}

/* --- helpers --- */

static void fail_with_err(const char *what)
{
	fail_msg("%s: %s (%s)", what, err.message, err.hint);
}

static void make(struct sz_requests_config config)
{
	if (sz_requests_new(&config, &made, &err) < 0)
		fail_with_err("sz_requests_new");
}

static void add(const char *text)
{
	if (sz_requests_add(made, text, &err) < 0)
		fail_with_err(text);
}

static void assert_refused(int status, const char *message, const char *hint)
{
	assert_int_equal(status, -1);
	assert_int_equal(err.code, SZ_USAGE);
	if (!strstr(err.message, message) || !strstr(err.hint, hint))
		fail_msg("'%s' (%s) instead of '%s' (%s)", err.message, err.hint, message, hint);
}

static void assert_config_refused(struct sz_requests_config config, const char *message,
				  const char *hint)
{
	struct sz_requests *untouched = NULL;
	assert_refused(sz_requests_new(&config, &untouched, &err), message, hint);
	assert_null(untouched);
}

/* One that is not there has the name "". */
static struct sz_header header_of(const struct sz_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++) {
		if (strcmp(request->headers[i].name, name) == 0)
			return request->headers[i];
	}
	return (struct sz_header){"", "", false};
}

static void assert_header(const struct sz_request *request, const char *name, const char *value)
{
	struct sz_header header = header_of(request, name);
	assert_string_equal(header.name, name);
	assert_string_equal(header.value, value);
}

static void assert_no_header(const struct sz_request *request, const char *name)
{
	assert_string_equal(header_of(request, name).name, "");
}

static bool is_secret(const struct sz_request *request, const char *name)
{
	return header_of(request, name).is_secret;
}

static const char *data_path(const char *name)
{
	static char path[4096];
	snprintf(path, sizeof(path), "%s/load/%s", getenv("SIZEUP_TEST_DATA"), name);
	return path;
}

static const char *write_file(const char *name, const char *text, mode_t mode)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* --- one request --- */

static void assert_head(const struct sz_request *request, const char *text)
{
	assert_int_equal(request->head_bytes, strlen(text));
	assert_memory_equal(request->head, text, request->head_bytes);
}

static void bytes_of_a_request(void **state)
{
	(void)state;
	char *headers[] = {(char[]){"Accept: text/html"}, (char[]){"X-A:  b c \t"}, NULL};
	make((struct sz_requests_config){.headers = headers, .body = "{\"n\":1}"});
	add("http://LocalHost:8000/a?b=c");
	const struct sz_request *request = &made->items[0];
	assert_head(request, "POST /a?b=c HTTP/1.1\r\n"
			     "Host: localhost:8000\r\n"
			     "Accept: text/html\r\n"
			     "X-A: b c\r\n"
			     "User-Agent: sizeup/" SIZEUP_VERSION "\r\n"
			     "Content-Length: 7\r\n\r\n");
	assert_memory_equal(request->head + request->head_bytes, "{\"n\":1}", 7);
	assert_int_equal(request->joined_bytes, request->head_bytes + 7);
	assert_int_equal(request->body_bytes, 7);
	assert_memory_equal(request->body, "{\"n\":1}", 7);
	assert_string_equal(request->label, "POST /a?b=c");
	assert_string_equal(request->target, "/a?b=c");
	assert_string_equal(request->host, "localhost:8000");
	assert_int_equal(request->header_count, 4);
	assert_false(request->is_head);
	assert_true(request->weight == 1 && request->at_ns == 0);
	assert_true(sz_statuses_has(request->expected, 200));
	assert_true(sz_statuses_has(request->expected, 399));
	assert_false(sz_statuses_has(request->expected, 400));
}

static void a_long_body_stays_apart(void **state)
{
	(void)state;
	char body[SZ_REQUEST_JOINED_MAX_BYTES + 2];
	memset(body, 'x', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	make((struct sz_requests_config){.body = body});
	add("http://a/");
	assert_int_equal(made->items[0].body_bytes, sizeof(body) - 1);
	assert_int_equal(made->items[0].joined_bytes, made->items[0].head_bytes);
}

static void plain_get(void **state)
{
	(void)state;
	make((struct sz_requests_config){0});
	add("http://a.example.org?q");
	assert_head(&made->items[0], "GET /?q HTTP/1.1\r\nHost: a.example.org\r\n"
				     "User-Agent: sizeup/" SIZEUP_VERSION "\r\n\r\n");
	assert_null(made->items[0].body);
}

static void methods(void **state)
{
	(void)state;
	make((struct sz_requests_config){.method = "PATCH"});
	add("http://a/");
	add("HEAD http://a/");
	add("PURGE http://a/");
	assert_header(&made->items[0], "Content-Length", "0");
	assert_true(made->items[1].is_head);
	assert_string_equal(made->items[2].method, "PURGE");
	assert_no_header(&made->items[2], "Content-Length");
	assert_refused(sz_requests_add(made, "CONNECT http://a/", &err), "tunnel", "");
	assert_refused(sz_requests_add(made, "G(T http://a/", &err), "not an HTTP method", "GET");
	assert_int_equal(made->count, 3);
}

static void user_sets_host_and_user_agent(void **state)
{
	(void)state;
	char *headers[] = {(char[]){"host: www.example.org:81"}, (char[]){"user-agent: mine"},
			   NULL};
	make((struct sz_requests_config){.headers = headers});
	add("http://127.0.0.1:8000/");
	assert_head(&made->items[0], "GET / HTTP/1.1\r\nHost: www.example.org:81\r\n"
				     "user-agent: mine\r\n\r\n");
	assert_string_equal(made->items[0].host, "www.example.org:81");
	assert_string_equal(made->origins[0].url.host, "127.0.0.1");
}

static void refused_headers(void **state)
{
	(void)state;
	static const struct {
		const char *line, *message;
	} bad[] = {
		{"Content-Length: 3", "follows from the body"},
		{"transfer-encoding: chunked", "with their length"},
		{"Connection: close", "--reconnect-every"},
		{"Upgrade: h2c", "protocol"},
		{"Expect: 100-continue", "without asking"},
		{"A b: c", "name of a header"},
		{"A : c", "name of a header"},
		{": c", "name of a header"},
		{"A\r\nB: c", "name of a header"},
		{"A: b\r\nInjected: c", "control character"},
		{"A: b\nc", "control character"},
		{"A: b\x7f", "control character"},
		{"no-colon", "no colon"},
		{"Host: a/b", "no host name"},
		{"Host: a b", "no host name"},
		{"Host:", "no host name"},
		{"Content-Type: application/grpc", "gRPC"},
		{"content-type: application/grpc+proto", "gRPC"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		char line[64];
		char *headers[] = {(char[]){"A: b"}, line, NULL};
		snprintf(line, sizeof(line), "%s", bad[i].line);
		assert_config_refused((struct sz_requests_config){.headers = headers},
				      bad[i].message, "");
		assert_int_equal(strncmp(err.message, "header 2: ", 10), 0);
	}
	make((struct sz_requests_config){0});
	assert_refused(sz_headers_add_line(made, "A: b\0c", 6, &err), "NUL", "");
	assert_int_equal(sz_headers_add_line(made, "Content-Type: application/grpc-web", 34, &err),
			 0);
}

static void one_of_a_kind(void **state)
{
	(void)state;
	make((struct sz_requests_config){0});
	assert_int_equal(sz_headers_add(made, "Accept", "a", &err), 0);
	assert_int_equal(sz_headers_add(made, "Accept", "b", &err), 0);
	assert_int_equal(sz_headers_add(made, "Host", "a", &err), 0);
	assert_int_equal(sz_headers_add(made, "Authorization", "s3cr3t", &err), 0);
	assert_refused(sz_headers_add(made, "host", "a", &err), "twice", "one of them");
	assert_refused(sz_headers_add(made, "authorization", "s3cr3t", &err), "twice", "");
	assert_null(strstr(err.message, "s3cr3t"));
}

static void headers_from_a_file(void **state)
{
	(void)state;
	char at_file[4200];
	char *headers[] = {at_file, NULL};
	snprintf(at_file, sizeof(at_file), "@%s", data_path("headers.txt"));
	make((struct sz_requests_config){.headers = headers});
	add("http://a/");
	assert_header(&made->items[0], "Accept", "application/json");
	assert_header(&made->items[0], "X-Request-Source", "load");
	assert_header(&made->items[0], "X-Empty", "");
	assert_null(made->exposed_file);
	assert_refused(sz_headers_add_lines(made, "h.txt", "B: 1\n\nC: 2\n", 11, &err), "h.txt:2",
		       "");
	assert_refused(sz_headers_add_lines(made, "h.txt", "B: 1\n# s3cr3t\n", 14, &err), "h.txt:2",
		       "");
	assert_null(strstr(err.message, "s3cr3t"));
}

static void limits(void **state)
{
	(void)state;
	make((struct sz_requests_config){0});
	sz_autofree char *text = calloc(1, SZ_REQUEST_HEAD_MAX_BYTES + 16);
	assert_non_null(text);
	memset(text, 'a', SZ_REQUEST_TARGET_MAX_BYTES + 9);
	memcpy(text, "http://a/", 9);
	assert_refused(sz_requests_add(made, text, &err), "8 KiB", "");
	text[9 + SZ_REQUEST_TARGET_MAX_BYTES - 1] = '\0';
	add(text);

	memset(text, 'a', SZ_REQUEST_HEAD_MAX_BYTES);
	assert_int_equal(sz_headers_add(made, "X", text, &err), 0);
	assert_refused(sz_requests_add(made, "http://a/", &err), "64 KiB of headers", "shorter");

	const char *body;
	made->body_bytes_total = SZ_REQUESTS_BODIES_MAX_BYTES - 3;
	assert_refused(sz_requests_keep_body(made, "abcd", 4, &body, &err), "64.0 MiB", "");
	assert_int_equal(sz_requests_keep_body(made, "abc", 3, &body, &err), 0);
}

static void ten_thousand_and_not_one_more(void **state)
{
	(void)state;
	make((struct sz_requests_config){.base = BASE});
	for (int i = 0; i < SZ_REQUESTS_MAX; i++)
		add("/x");
	assert_refused(sz_requests_add(made, "/x", &err), "more than 10000 requests", "");
	assert_int_equal(made->count, SZ_REQUESTS_MAX);
	assert_int_equal(made->origin_count, 1);
}

static void too_many_origins(void **state)
{
	(void)state;
	make((struct sz_requests_config){0});
	for (unsigned i = 1; i <= SZ_ORIGINS_MAX; i++) {
		char url[40];
		snprintf(url, sizeof(url), "http://a:%u/", i);
		add(url);
	}
	add("http://A:64/");
	assert_int_equal(made->items[SZ_ORIGINS_MAX].origin, SZ_ORIGINS_MAX - 1);
	assert_refused(sz_requests_add(made, "http://b/", &err), "more than 64 hosts", "");
}

/* --- where it goes --- */

static void origins(void **state)
{
	(void)state;
	static const struct {
		const char *url, *host;
		bool tls;
		uint16_t port;
		const char *target, *header;
	} good[] = {
		{"http://a", "a", false, 80, "/", "a"},
		{"http://a:80/x", "a", false, 80, "/x", "a"},
		{"https://A/x?y", "a", true, 443, "/x?y", "a"},
		{"HTTPS://a:443", "a", true, 443, "/", "a"},
		{"https://a:80/", "a", true, 80, "/", "a:80"},
		{"http://a:443/", "a", false, 443, "/", "a:443"},
		{"https://[2001:DB8::1]/", "2001:db8::1", true, 443, "/", "[2001:db8::1]"},
		{"https://[::1]:8443/", "::1", true, 8443, "/", "[::1]:8443"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		struct sz_origin origin;
		const char *target;
		char header[272];
		if (sz_origin_parse(good[i].url, &origin, &target, &err) < 0)
			fail_with_err(good[i].url);
		assert_string_equal(origin.url.host, good[i].host);
		assert_int_equal(origin.url.tls, good[i].tls);
		assert_int_equal(origin.url.port, good[i].port);
		assert_string_equal(target, good[i].target);
		assert_string_equal(sz_url_host_header(&origin.url, header), good[i].header);
	}
}

static void refused_urls(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message, *hint;
	} bad[] = {
		{"", "names no URL", ""},
		{"POST", "names no URL", "POST http://"},
		{"localhost:8000/x", "no http://", "http://localhost:8000/x "},
		{"h3://a/", "HTTP/3", "https://"},
		{"grpc://a:50051", "gRPC", "ghz"},
		{"GRPCS://a", "gRPC", "ghz"},
		{"wss://a/", "WebSocket", "http://"},
		{"unix:/run/a.sock", "socket", "--unix-socket"},
		{"ftp://a/", "only http:// and https://", ""},
		{"http://u:p@a/", "password", ""},
		{"http://a/#x", "fragment", ""},
		{"http://a/\x01", "control", ""},
		{"http://a/\xc3\xa4", "percent-encoded", ""},
		{"/path", "to which service", "whole URL"},
		{"http://a/ weight=x", "no number", "weight=2"},
		{"http://a/ weight=1e3", "no number", ""},
		{"http://a/ weight=-1", "no number", ""},
		{"http://a/ weight=0", "weight 0", "above 0"},
		{"http://a/ weight=1000001", "weight", "above 0"},
		{"http://a/ speed=2", "not known", ""},
		{"GET http://a/ http://b/", "not known", ""},
	};
	make((struct sz_requests_config){0});
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++)
		assert_refused(sz_requests_add(made, bad[i].text, &err), bad[i].message,
			       bad[i].hint);
	assert_int_equal(made->count, 0);
	assert_config_refused((struct sz_requests_config){.base = BASE "/api"}, "path", "alone");
}

static void unix_socket(void **state)
{
	(void)state;
	char longer[120];
	make((struct sz_requests_config){.unix_socket = "/run/app.sock"});
	add("http://localhost/x");
	assert_string_equal(made->origins[0].unix_path, "/run/app.sock");
	memset(longer, 'a', 108);
	longer[108] = '\0';
	assert_config_refused((struct sz_requests_config){.unix_socket = longer}, "107 bytes", "");
	assert_config_refused((struct sz_requests_config){.unix_socket = ""}, "1 to", "");
}

/* --- files --- */

static void secrets_stay_secret(void **state)
{
	(void)state;
	const char *path = write_file("basic", "Aladdin:open sesame\nsecond line\n", 0604);
	struct sz_requests_config config = {.basic_file = path};
	make(config);
	add("http://a/");
	/* The example of RFC 7617, 2. */
	assert_header(&made->items[0], "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	assert_true(is_secret(&made->items[0], "Authorization"));
	assert_string_equal(made->exposed_file, path);
	unlink(path);
}

static void token_and_cookies(void **state)
{
	(void)state;
	const char *path = write_file("token", "abc.def\r\n", 0600);
	make((struct sz_requests_config){.bearer_file = path});
	add("http://a/");
	assert_header(&made->items[0], "Authorization", "Bearer abc.def");
	assert_null(made->exposed_file);
	sz_requests_free(made);
	made = NULL;
	path = write_file("token", "a=b; c=d", 0600);
	make((struct sz_requests_config){.cookie_file = path});
	add("http://a/");
	assert_header(&made->items[0], "Cookie", "a=b; c=d");
	assert_true(is_secret(&made->items[0], "Cookie"));
	assert_config_refused((struct sz_requests_config){.bearer_file = path}, "no blanks", "");
	assert_null(strstr(err.message, "a=b"));
	assert_config_refused((struct sz_requests_config){.basic_file = path}, "colon", "USER");
	unlink(path);
}

static void unusable_secrets(void **state)
{
	(void)state;
	char *headers[] = {(char[]){"Authorization: Bearer a"}, NULL};
	const char *path = write_file("token", "s3cr3t", 0600);
	assert_config_refused((struct sz_requests_config){.headers = headers, .bearer_file = path},
			      "twice", "");
	assert_config_refused((struct sz_requests_config){.cookie_file = path}, "a name and", "");
	assert_null(strstr(err.message, "s3cr3t"));
	write_file("token", "\nsecond", 0600);
	assert_config_refused((struct sz_requests_config){.bearer_file = path}, "first line", "");
	write_file("token", "a\x1b[1m", 0600);
	assert_config_refused((struct sz_requests_config){.bearer_file = path}, "control", "");
	unlink(path);
}

static void only_regular_files(void **state)
{
	(void)state;
	char body[200], fifo[128];
	snprintf(body, sizeof(body), "@%s", scratch);
	assert_config_refused((struct sz_requests_config){.body = body}, "is a directory", "file");
	snprintf(fifo, sizeof(fifo), "%s/fifo", scratch);
	snprintf(body, sizeof(body), "@%s", fifo);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_config_refused((struct sz_requests_config){.body = body}, "is a pipe", "file");
	unlink(fifo);
	assert_config_refused((struct sz_requests_config){.body = body}, "No such file", "");
	assert_config_refused((struct sz_requests_config){.body = "@/dev/null"}, "device", "");
}

static void body_from_a_file(void **state)
{
	(void)state;
	char body[200];
	const char *path = write_file("body", "", 0644);
	snprintf(body, sizeof(body), "@%s", path);
	make((struct sz_requests_config){.body = body});
	add("http://a/");
	assert_string_equal(made->items[0].method, "POST");
	assert_header(&made->items[0], "Content-Length", "0");
	sz_requests_free(made);
	made = NULL;
	write_file("body", "two\nlines\n", 0644);
	make((struct sz_requests_config){.body = body, .method = "GET"});
	add("http://a/");
	add("GET http://a/");
	assert_string_equal(made->items[0].method, "GET");
	assert_int_equal(made->items[0].body_bytes, 10);
	assert_memory_equal(made->items[0].body, "two\nlines\n", 10);
	assert_null(made->items[1].body);
	unlink(path);
}

static void files_have_a_limit(void **state)
{
	(void)state;
	const char *path = write_file("big", "", 0600);
	char at_file[200];
	char *headers[] = {at_file, NULL};
	snprintf(at_file, sizeof(at_file), "@%s", path);
	assert_int_equal(truncate(path, (off_t)SZ_REQUEST_HEAD_MAX_BYTES + 1), 0);
	assert_config_refused((struct sz_requests_config){.headers = headers}, "64.0 KiB", "");
	assert_int_equal(truncate(path, (off_t)SZ_REQUESTS_BODIES_MAX_BYTES + 1), 0);
	assert_config_refused((struct sz_requests_config){.body = at_file}, "64.0 MiB", "");
	unlink(path);
}

/* --- expected statuses --- */

static void statuses(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int has[4], lacks[4];
	} good[] = {
		{"2xx", {200, 299}, {300, 199}},
		{"200,204", {200, 204}, {201, 203}},
		{"200-299,404", {200, 250, 299, 404}, {300, 403}},
		{"5XX", {500, 599}, {499, 600, 639, 640}},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		struct sz_statuses set;
		assert_int_equal(sz_statuses_parse(good[i].text, &set, &err), 0);
		for (size_t k = 0; k < 4; k++) {
			if (good[i].has[k])
				assert_true(sz_statuses_has(&set, good[i].has[k]));
			assert_false(sz_statuses_has(&set, good[i].lacks[k]));
		}
	}
	static const char *const bad[] = {"",     "2x",      "1xx",      "6xx",     "20",
					  "100",  "600",     "200-",     "299-200", "200 204",
					  "200,", "2xx-3xx", "200--299", "0200",    "+20"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_statuses set = {{42}};
		assert_refused(sz_statuses_parse(bad[i], &set, &err), "expected statuses", "2xx");
		assert_int_equal(set.bits[0], 42);
	}
}

/* --- lists --- */

static void list(void **state)
{
	(void)state;
	make((struct sz_requests_config){.base = BASE, .body = "x", .expected = "201"});
	if (sz_requests_read_file(made, sz_requests_read_list, data_path("urls.txt"), &err) < 0)
		fail_with_err("urls.txt");
	static const struct {
		const char *label, *host;
		double weight;
		size_t body_bytes;
	} want[] = {
		{"POST /", "www.example.org", 6, 1},
		{"POST /find?q=a%20b", "www.example.org", 2.5, 1},
		{"POST /orders", "api.example.org:8080", 1, 1},
		{"HEAD /health", "127.0.0.1:8000", 1, 0},
		{"DELETE /items/7", "[2001:db8::1]:8000", 0.5, 1},
	};
	assert_int_equal(made->count, SZ_ARRAY_LEN(want));
	for (size_t i = 0; i < SZ_ARRAY_LEN(want); i++) {
		assert_string_equal(made->items[i].label, want[i].label);
		assert_string_equal(made->items[i].host, want[i].host);
		assert_true(made->items[i].weight == want[i].weight);
		assert_int_equal(made->items[i].body_bytes, want[i].body_bytes);
		assert_true(sz_statuses_has(made->items[i].expected, 201));
	}
	assert_ptr_equal(made->items[0].body, made->items[4].body);
	assert_int_equal(made->origin_count, 4);
}

static void broken_lists(void **state)
{
	(void)state;
	static const char nul[] = "http://a/\0b\n";
	make((struct sz_requests_config){0});
	assert_refused(sz_requests_read_list(made, "l", "# nothing\n\n \t\n", 14, &err),
		       "l holds no request", "one per line");
	assert_refused(sz_requests_read_list(made, "l", "http://a/\nftp://b/\n", 19, &err),
		       "l:2: ", "");
	assert_refused(sz_requests_read_list(made, "l", nul, sizeof(nul) - 1, &err), "l:1: ", "");
}

/* --- one request as a text --- */

static void read_message(const char *text)
{
	if (sz_requests_read_message(made, "m", text, strlen(text), &err) < 0)
		fail_with_err(text);
}

static void message(void **state)
{
	(void)state;
	static const char form[] =
		"POST /login\r\nContent-Type: application/json\r\nHost: app.example"
		"\r\n\r\n{\r\n\"a\": 1}\r\n";
	make((struct sz_requests_config){.base = BASE});
	read_message(form);
	const struct sz_request *request = &made->items[0];
	assert_int_equal(made->count, 1);
	assert_string_equal(request->label, "POST /login");
	assert_header(request, "Content-Type", "application/json");
	assert_string_equal(request->host, "app.example");
	assert_int_equal(request->body_bytes, strlen("{\r\n\"a\": 1}"));
	assert_memory_equal(request->body, "{\r\n\"a\": 1}", request->body_bytes);
	sz_requests_free(made);
	make((struct sz_requests_config){.base = BASE});
	read_message("/session");
	assert_string_equal(made->items[0].label, "GET /session");
	assert_null(made->items[0].body);
}

static void the_file_of_a_message_is_secret(void **state)
{
	(void)state;
	const char *path = write_file("login", "POST /login\n\nuser=a\n", 0644);
	make((struct sz_requests_config){.base = BASE});
	assert_int_equal(sz_requests_read_file(made, sz_requests_read_message, path, &err), 0);
	assert_string_equal(made->exposed_file, path);
	assert_int_equal(made->items[0].body_bytes, 6);
	unlink(path);
}

static void broken_messages(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "m does not begin with a request"},
		{"\nPOST /login", "m does not begin with a request"},
		{"POST /login HTTP/1.1\n", "m:1: 'HTTP/1.1' is not known"},
		{"POST /login\nContent-Length: 3\n\nabc", "m:2: the header Content-Length"},
		{"POST /login\nAccept: a\nsecret\n", "m:3: this is no header"},
		{"GET /login\n\nabc", "m:1: a request with GET has no body"},
		{"POST ftp://a/\n\nabc", "m:1: "},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		make((struct sz_requests_config){.base = BASE});
		assert_refused(sz_requests_read_message(made, "m", cases[i].text,
							strlen(cases[i].text), &err),
			       cases[i].message, "");
		assert_null(strstr(err.message, "secret"));
		sz_requests_free(made);
		made = NULL;
	}
}

/* Where a client's own cookies go. */
static void place_of_cookies(void **state)
{
	(void)state;
	char *headers[] = {(char[]){"Cookie: a=1"}, (char[]){"X: y"}, NULL};
	make((struct sz_requests_config){.headers = headers});
	add("http://a/");
	const struct sz_request *request = &made->items[0];
	assert_true(request->has_cookie);
	assert_memory_equal(request->head + request->cookie_at, "\r\nX: y\r\n", 8);
	sz_requests_free(made);
	make((struct sz_requests_config){.body = "x"});
	add("http://a/");
	request = &made->items[0];
	assert_false(request->has_cookie);
	assert_int_equal(request->cookie_at, request->head_bytes - 4);
}

/* --- HAR files --- */

static void read_har(const char *path)
{
	if (sz_requests_read_file(made, sz_requests_read_har, path, &err) < 0)
		fail_with_err(path);
}

static void har_as_a_page_fires_it(void **state)
{
	(void)state;
	make((struct sz_requests_config){.base = BASE});
	read_har(data_path("page.har"));
	static const struct {
		const char *label;
		uint64_t at_ns;
		const char *body;
	} want[] = {
		{"GET /app", 0, NULL},
		{"GET /static/app.css?v=7", 200 * MS, NULL},
		{"GET /api/user", 390 * MS, NULL},
		{"GET /api/items?page=1&q=a%20b", 400 * MS, NULL},
		{"POST /api/events", 405 * MS, "{\"kind\":\"view\",\"n\":\"\xc3\xa4\"}"},
		{"POST /search", 410 * MS, "q=a+b%26c&lang=d%C3%A9"},
	};
	assert_int_equal(made->count, SZ_ARRAY_LEN(want));
	for (size_t i = 0; i < SZ_ARRAY_LEN(want); i++) {
		const struct sz_request *request = &made->items[i];
		assert_string_equal(request->label, want[i].label);
		assert_int_equal(request->at_ns, want[i].at_ns);
		assert_string_equal(request->host, "127.0.0.1:8000");
		assert_int_equal(request->body_bytes, want[i].body ? strlen(want[i].body) : 0);
		if (want[i].body)
			assert_memory_equal(request->body, want[i].body, request->body_bytes);
	}
	assert_int_equal(made->left_out[SZ_LEFT_OUT_ORIGIN], 2);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_SCHEME], 2);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_CACHED], 1);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_BODY], 1);
	assert_int_equal(made->concurrency, 4);
}

static void har_headers(void **state)
{
	(void)state;
	make((struct sz_requests_config){.base = BASE});
	read_har(data_path("page.har"));
	assert_head(&made->items[4],
		    "POST /api/events HTTP/1.1\r\nHost: 127.0.0.1:8000\r\naccept: */*\r\n"
		    "accept-encoding: gzip, deflate, br\r\nreferer: "
		    "https://www.example.org/app\r\n"
		    "user-agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0\r\n"
		    "content-type: application/json\r\nContent-Length: 24\r\n\r\n");
	/* Six cookies, and the authorization of one. */
	assert_int_equal(made->secrets_dropped, 7);
}

static void har_with_its_secrets(void **state)
{
	(void)state;
	char *headers[] = {(char[]){"Authorization: mine"}, NULL};
	make((struct sz_requests_config){.headers = headers, .keep_secrets = true});
	read_har(data_path("page.har"));
	assert_int_equal(made->count, 6);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_ORIGIN], 2);
	assert_int_equal(made->secrets_dropped, 0);
	const struct sz_request *user = &made->items[2];
	assert_string_equal(user->label, "GET /api/user");
	assert_header(user, "cookie", "session=s3cr3t; theme=dark");
	assert_true(is_secret(user, "cookie"));
	assert_no_header(user, "authorization");
	assert_header(user, "Authorization", "mine");
	assert_int_equal(made->origins[user->origin].url.tls, true);
	assert_int_equal(made->items[1].at_ns, 200 * MS);
}

static void broken_har(void **state)
{
	(void)state;
#define ENTRY(request, more) "{\"log\":{\"entries\":[{\"request\":" request more "}]}}"
#define GET_A "{\"method\":\"GET\",\"url\":\"http://a/\"}"
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"", "f:1:0: "},
		{"{\"log\":\n  {,}}", "f:2:4: "},
		{"[1]", "log.entries"},
		{"{\"log\":{\"entries\":{}}}", "log.entries"},
		{"{\"log\":{\"entries\":[]}}", "no request over http"},
		{ENTRY("{\"method\":\"GET\",\"url\":\"data:,x\"}", ""), "no request over http"},
		{ENTRY(GET_A, ""), "entries[0]: it has no startedDateTime"},
		{ENTRY(GET_A, ",\"startedDateTime\":\"yesterday\""), "startedDateTime"},
		{ENTRY("{\"url\":\"http://a/\"}", ",\"startedDateTime\":\"2024-03-05T10:15:30Z\""),
		 "entries[0]: it has no request.method"},
		{ENTRY("{\"method\":\"GET\",\"url\":\"http://a\\u0000/\"}", ""), "no request over"},
		{ENTRY("{\"method\":\"GET\",\"url\":\"http://a/ b\"}", ""), "blank"},
		{ENTRY("{\"method\":\"GET\",\"url\":\"http://a/\",\"headers\":[{\"name\":"
		       "\"A\",\"value\":\"b\\r\\nC: d\"}]}",
		       ",\"startedDateTime\":\"2024-03-05T10:15:30Z\""),
		 "control character"},
		{ENTRY("{\"method\":\"GET\",\"url\":\"http://a/\",\"headers\":[{\"name\":"
		       "\"A\"}]}",
		       ",\"startedDateTime\":\"2024-03-05T10:15:30Z\""),
		 "request.headers"},
		{ENTRY("{\"method\":\"PUT\",\"url\":\"http://a/\",\"bodySize\":7}", ""),
		 "none of its 1 requests"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		make((struct sz_requests_config){0});
		assert_refused(sz_requests_read_har(made, "f", bad[i].text, strlen(bad[i].text),
						    &err),
			       bad[i].message, "");
		assert_int_equal(strncmp(err.message, "f:", 2), 0);
		sz_requests_free(made);
		made = NULL;
	}
}

static void har_with_a_byte_order_mark_and_nul(void **state)
{
	(void)state;
	static const char text[] =
		"\xef\xbb\xbf" ENTRY("{\"method\":\"POST\",\"url\":\"http://a/\",\"postData\":{"
				     "\"mimeType\":\"application/octet-stream\",\"text\":"
				     "\"a\\u0000b\"}}",
				     ",\"startedDateTime\":\"2024-03-05T10:15:30Z\"");
	make((struct sz_requests_config){0});
	if (sz_requests_read_har(made, "f", text, sizeof(text) - 1, &err) < 0)
		fail_with_err("har");
	assert_int_equal(made->items[0].body_bytes, 3);
	assert_memory_equal(made->items[0].body, "a\0b", 3);
	assert_header(&made->items[0], "Content-Length", "3");
	assert_int_equal(made->concurrency, 1);
}

static void list_with_a_byte_order_mark(void **state)
{
	(void)state;
	static const char text[] = "\xef\xbb\xbfGET http://a/x\n";
	make((struct sz_requests_config){0});
	if (sz_requests_read_list(made, "l", text, sizeof(text) - 1, &err) < 0)
		fail_with_err("list");
	assert_int_equal(made->count, 1);
	assert_string_equal(made->items[0].method, "GET");
}

/* Four at once. */
static void har_names_its_connections(void **state)
{
	(void)state;
	static const struct {
		const char *version, *ids[4];
		unsigned concurrency;
	} cases[] = {
		{"http/1.1", {"11", "12", "11", "12"}, 2}, {"HTTP/1.1", {"1", "1", "1", "1"}, 1},
		{"HTTP/1.1", {"1", "2", "3", "4"}, 4},     {"HTTP/1.1", {"1", "1", "1", ""}, 4},
		{"HTTP/1.1", {"80", "80", "80", "80"}, 4}, {"h2", {"1", "1", "1", "1"}, 4},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf text = {0};
		sz_buf_puts(&text, "{\"log\":{\"entries\":[");
		for (size_t at = 0; at < 4; at++)
			sz_buf_printf(&text,
				      "%s{\"startedDateTime\":\"2024-03-05T10:00:00Z\",\"time\":50,"
				      "\"connection\":\"%s\",\"request\":{\"method\":\"GET\","
				      "\"url\":\"http://a/\",\"httpVersion\":\"%s\"}}",
				      at ? "," : "", cases[i].ids[at], cases[i].version);
		sz_buf_puts(&text, "]}}");
		make((struct sz_requests_config){0});
		if (sz_requests_read_har(made, "f", text.data, text.len, &err) < 0)
			fail_with_err("har");
		assert_int_equal(made->concurrency, cases[i].concurrency);
		sz_requests_free(made);
		made = NULL;
	}
}

static void what_cannot_be_sent_again_says_why(void **state)
{
	(void)state;
	static const char har[] = ENTRY("{\"method\":\"POST\",\"url\":\"http://a/\","
					"\"postData\":{\"mimeType\":\"a/b\",\"text\":\"AAA=\","
					"\"encoding\":\"base64\"}}",
					",\"startedDateTime\":\"2024-03-05T10:15:30Z\"");
	static const char whole[] = "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET http://a/ "
				    "HTTP/1.1\" 200 5\n";
	make((struct sz_requests_config){.base = "http://127.0.0.1:1"});
	assert_refused(sz_requests_read_har(made, "f", har, sizeof(har) - 1, &err),
		       "none of its 1 requests", "base64");
	assert_refused(sz_requests_read_log(made, "f", whole, sizeof(whole) - 1, &err),
		       "none of 1 lines", "not a whole URL");
	char over_long[9000], line[9100];
	memset(over_long, 'x', sizeof(over_long) - 1);
	over_long[sizeof(over_long) - 1] = '\0';
	int len =
		snprintf(line, sizeof(line),
			 "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /%s HTTP/1.1\" 200 5\n",
			 over_long);
	sz_requests_free(made);
	make((struct sz_requests_config){.base = "http://127.0.0.1:1"});
	assert_refused(sz_requests_read_log(made, "f", line, (size_t)len, &err), "none of 1 lines",
		       "8192 bytes");
}

/* One request after the other, in reverse order, each ending as the next begins. */
static void har_of_ten_thousand(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf text = {0};
	sz_buf_puts(&text, "{\"log\":{\"entries\":[");
	for (int i = SZ_REQUESTS_MAX - 1; i >= 0; i--)
		sz_buf_printf(&text,
			      "{\"startedDateTime\":\"2024-03-05T10:%02d:%02d.%d00+01:00\","
			      "\"time\":99.9,\"request\":{\"method\":\"GET\",\"url\":"
			      "\"http://a/%d\"}}%s",
			      i / 600, i / 10 % 60, i % 10, i, i ? "," : "]}}");
	make((struct sz_requests_config){0});
	if (sz_requests_read_har(made, "f", text.data, text.len, &err) < 0)
		fail_with_err("har");
	assert_int_equal(made->count, SZ_REQUESTS_MAX);
	assert_int_equal(made->concurrency, 1);
	for (size_t i = 0; i < made->count; i++) {
		assert_int_equal(made->items[i].at_ns, i * 100 * MS);
		assert_int_equal(strtoul(made->items[i].target + 1, NULL, 10), i);
	}
	assert_refused(sz_requests_read_har(made, "f", text.data, text.len, &err),
		       "more than 10000 requests", "");
}

static void moments(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2009-07-24T19:20:30.45+01:00", INT64_C(1248459630450000000)},
		{"2024-02-29T23:59:60.000000001-00:30", INT64_C(1709253000000000001)},
		{"2024-03-05T10:15:30.1234567899Z", INT64_C(1709633730123456789)},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(good); i++) {
		int64_t ns;
		assert_true(sz_moment_from_iso(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	static const char *const bad[] = {
		"",
		"2024-03-05",
		"2024-03-05T10:15:30",
		"2024-03-05T10:15:30.Z",
		"2024-03-05 10:15:30Z",
		"2024-13-05T10:15:30Z",
		"2024-02-30T10:15:30Z",
		"2024-03-05T24:15:30Z",
		"2024-03-05T10:15:30+1:00",
		"2024-03-05T10:15:30+0100",
		"2024-03-05T10:15:30Zx",
		"1969-03-05T10:15:30Z",
		"9999-03-05T10:15:30Z",
		"+024-03-05T10:15:30Z",
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		int64_t ns = 42;
		assert_false(sz_moment_from_iso(bad[i], &ns));
		assert_int_equal(ns, 42);
	}
	int64_t s;
	assert_true(sz_moment_from_log("10/Oct/2000:13:55:36 -0700", &s));
	assert_int_equal(s, 971211336);
	assert_false(sz_moment_from_log("10/Okt/2000:13:55:36 -0700", &s));
	assert_false(sz_moment_from_log("10/Oct/2000:13:55:36 +07:0", &s));
}

/* --- access logs --- */

static void replayed_log(void **state)
{
	(void)state;
	make((struct sz_requests_config){.base = BASE});
	if (sz_requests_read_file(made, sz_requests_read_log, data_path("combined.log"), &err) < 0)
		fail_with_err("combined.log");
	static const struct {
		const char *label;
		uint64_t at_ns;
	} want[] = {
		{"GET /", 0},
		{"GET /static/app.css?v=7", 250 * MS},
		{"GET /find?q=\"a%20b\"", 500 * MS},
		{"HEAD /health", 750 * MS},
		{"GET /late", 1000 * MS},
		{"GET /vhost", 3000 * MS},
	};
	assert_int_equal(made->count, SZ_ARRAY_LEN(want));
	for (size_t i = 0; i < SZ_ARRAY_LEN(want); i++) {
		assert_string_equal(made->items[i].label, want[i].label);
		assert_int_equal(made->items[i].at_ns, want[i].at_ns);
		assert_string_equal(made->items[i].host, "127.0.0.1:8000");
	}
	assert_true(made->items[3].is_head);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_BODY], 1);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_NOT_HTTP], 3);
	assert_int_equal(made->left_out[SZ_LEFT_OUT_MALFORMED], 2);
	assert_int_equal(made->out_of_order, 1);
	assert_string_equal(made->first_malformed, "line 10: logrotate was here");
}

/* How one line is taken: 1 request, or what it is counted as. */
static void log_lines(void **state)
{
	(void)state;
#define AT "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "
	static const struct {
		const char *line, *target; /* NULL: left out */
		enum sz_left_out why;
	} cases[] = {
		{AT "\"GET /a HTTP/1.0\" 200 1", "/a", 0},
		{AT "\"GET /a HTTP/1.0\" 200 -", "/a", 0},
		{AT "\"GET /a%5c\\\\b HTTP/1.0\" 200 1 \"x", "/a%5c\\b", 0},
		{AT "\"GET /\\x41\\x4a HTTP/1.1\" 200 1 more", "/AJ", 0},
		{"[::1]:80 " AT "\"GET /v6 HTTP/1.1\" 200 1", "/v6", 0},
		{AT "\"GET /\\t HTTP/1.1\" 200 1", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"GET /\\x00 HTTP/1.1\" 200 1", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"GET /\\xc3\\xa4 HTTP/1.1\" 200 1", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"GET /a b HTTP/1.1\" 200 1", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"GET /a\" 200 1", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"\" 400 0", NULL, SZ_LEFT_OUT_NOT_HTTP},
		{AT "\"OPTIONS /a HTTP/1.1\" 204 0", NULL, SZ_LEFT_OUT_BODY},
		{AT "\"GET /a HTTP/1.1\" 20 1", NULL, SZ_LEFT_OUT_MALFORMED},
		{AT "\"GET /a HTTP/1.1\" 200", NULL, SZ_LEFT_OUT_MALFORMED},
		{AT "\"GET /a HTTP/1.1\" 200 1x", NULL, SZ_LEFT_OUT_MALFORMED},
		{AT "\"GET /a HTTP/1.1\\\" 200 1", NULL, SZ_LEFT_OUT_MALFORMED},
		{AT "GET /a HTTP/1.1 200 1", NULL, SZ_LEFT_OUT_MALFORMED},
		{"1.2.3.4 - - [10/Oct/2000:13:55:36] \"GET /a HTTP/1.1\" 200 1", NULL,
		 SZ_LEFT_OUT_MALFORMED},
		{"[", NULL, SZ_LEFT_OUT_MALFORMED},
		{"", NULL, SZ_LEFT_OUT_MALFORMED},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf text = {0};
		sz_buf_printf(&text, AT "\"GET /first HTTP/1.1\" 200 1\n%s\n", cases[i].line);
		make((struct sz_requests_config){.base = BASE});
		if (sz_requests_read_log(made, "l", text.data, text.len, &err) < 0)
			fail_with_err(cases[i].line);
		assert_int_equal(made->count, cases[i].target ? 2 : 1);
		if (cases[i].target)
			assert_string_equal(made->items[1].target, cases[i].target);
		else
			assert_int_equal(made->left_out[cases[i].why], 1);
		sz_requests_free(made);
		made = NULL;
	}
}

static void unusable_logs(void **state)
{
	(void)state;
	static const char half[] = AT "\"GET / HTTP/1.1\" 200 1\nx\n";
	static const char more[] = AT "\"GET / HTTP/1.1\" 200 1\nx\x1b\ny\n";
	static const char posts[] = AT "\"POST / HTTP/1.1\" 200 1\n";
	make((struct sz_requests_config){0});
	assert_refused(sz_requests_read_log(made, "l", half, sizeof(half) - 1, &err),
		       "to which service", BASE);
	sz_requests_free(made);
	make((struct sz_requests_config){.base = BASE});
	assert_int_equal(sz_requests_read_log(made, "l", half, sizeof(half) - 1, &err), 0);
	sz_requests_free(made);
	make((struct sz_requests_config){.base = BASE});
	assert_refused(sz_requests_read_log(made, "l", more, sizeof(more) - 1, &err),
		       "l: 2 of 3 lines are not in Common or Combined Log Format; line 2: x\\x1b",
		       "nginx");
	sz_requests_free(made);
	make((struct sz_requests_config){.base = BASE});
	assert_refused(sz_requests_read_log(made, "l", posts, sizeof(posts) - 1, &err),
		       "none of 1 lines", "GET or HEAD");
	assert_refused(sz_requests_read_log(made, "l", "", 0, &err), "none of 0 lines", "");
}

/* The last line first: all but one are earlier than one before them. */
static void log_of_ten_thousand(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf text = {0};
	for (int i = SZ_REQUESTS_MAX - 1; i >= 0; i--)
		sz_buf_printf(&text,
			      "a - - [10/Oct/2000:%02d:%02d:%02d +0000] \"GET /%d HTTP/1.1\" "
			      "200 1\n",
			      i / 3600, i / 60 % 60, i % 60, i);
	make((struct sz_requests_config){.base = BASE});
	if (sz_requests_read_log(made, "l", text.data, text.len, &err) < 0)
		fail_with_err("log");
	assert_int_equal(made->count, SZ_REQUESTS_MAX);
	assert_int_equal(made->out_of_order, SZ_REQUESTS_MAX - 1);
	for (size_t i = 0; i < made->count; i++)
		assert_int_equal(made->items[i].at_ns, i * SZ_NS_PER_S);
	assert_refused(sz_requests_read_log(made, "l", text.data, text.len, &err),
		       "l: there are more than 10000 requests", "head -n 10000");
}

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < SZ_LEFT_OUT_COUNT; i++) {
		assert_non_null(sz_left_out_name((enum sz_left_out)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(sz_left_out_name((enum sz_left_out)i),
						sz_left_out_name((enum sz_left_out)k));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_of_a_request),
		TEST(a_long_body_stays_apart),
		TEST(plain_get),
		TEST(methods),
		TEST(user_sets_host_and_user_agent),
		TEST(refused_headers),
		TEST(one_of_a_kind),
		TEST(headers_from_a_file),
		TEST(limits),
		TEST(ten_thousand_and_not_one_more),
		TEST(too_many_origins),
		TEST(origins),
		TEST(refused_urls),
		TEST(unix_socket),
		TEST(secrets_stay_secret),
		TEST(token_and_cookies),
		TEST(unusable_secrets),
		TEST(only_regular_files),
		TEST(body_from_a_file),
		TEST(files_have_a_limit),
		TEST(statuses),
		TEST(list),
		TEST(broken_lists),
		TEST(message),
		TEST(the_file_of_a_message_is_secret),
		TEST(broken_messages),
		TEST(place_of_cookies),
		TEST(har_as_a_page_fires_it),
		TEST(har_headers),
		TEST(har_with_its_secrets),
		TEST(broken_har),
		TEST(har_with_a_byte_order_mark_and_nul),
		TEST(list_with_a_byte_order_mark),
		TEST(har_names_its_connections),
		TEST(what_cannot_be_sent_again_says_why),
		TEST(har_of_ten_thousand),
		TEST(moments),
		TEST(replayed_log),
		TEST(log_lines),
		TEST(unusable_logs),
		TEST(log_of_ten_thousand),
		TEST(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
