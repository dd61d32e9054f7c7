/* SPDX-License-Identifier: Apache-2.0
 *
 * HAR files: what a browser sent for a page, and when.
 * http://www.softwareishard.com/blog/har-12-spec/; members that begin with '_'
 * are those of Chromium.
 */
#include "load/requests-inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"

#define DAY_MS 86400e3

struct entry {
	const json_t *request;
	size_t index;           /* in the file */
	const char *connection; /* NULL: not said */
	int64_t start_ns, end_ns;
	size_t origin;
	const char *target; /* inside the arena */
};

struct reading {
	struct sz_requests *requests;
	const json_t *list; /* log.entries */
	struct sz_origin page;
	struct entry *entries;
	size_t count, cap;
};

/* --- JSON --- */

/* A string without NUL, or NULL. */
static const char *text_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);
	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int lacks(const char *what, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "it has no %s as HAR 1.2 wants it", what);
	return sz_err_hint(err, "save the page's requests again, as a HAR file");
}

/* Browsers put bodies with NUL into strings. */
static json_t *parse(const char *name, const char *text, size_t len, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	json_error_t error;
	size_t skip = sz_input_mark(text, len);
	json_t *root = json_loadb(text + skip, len - skip, JSON_ALLOW_NUL, &error);
	if (root)
		return root;
	if (json_error_code(&error) == json_error_out_of_memory) {
		sz_err_nomem(err);
		return NULL;
	}
	sz_err_set(err, SZ_USAGE, 0, "%.200s:%d:%d: %s", name, error.line, error.column,
		   sz_input_quote(error.text, strlen(error.text), quote));
	sz_err_hint(err, "save the page's requests again, as a HAR file");
	return NULL;
}

/* --- the page --- */

/* The URL as it was sent. Some tools keep the fragment. */
static int parse_url(struct sz_requests *requests, const json_t *request, struct sz_origin *origin,
		     const char **target, struct sz_err *err)
{
	const char *url = text_of(request, "url");
	if (!url)
		return lacks("request.url", err);
	const char *sent = sz_arena_copy(&requests->arena, url, strcspn(url, "#"));
	return sent ? sz_origin_parse(sent, origin, target, err) : sz_err_nomem(err);
}

static bool is_document(const json_t *entry)
{
	const json_t *response = json_object_get(entry, "response");
	const char *kind = text_of(entry, "_resourceType");
	const char *type = text_of(json_object_get(response, "content"), "mimeType");
	json_int_t status = json_integer_value(json_object_get(response, "status"));
	if (status >= 300 && status < 400 && status != 304)
		return false;
	return kind ? strcmp(kind, "document") == 0
		    : type && strncasecmp(type, "text/html", 9) == 0;
}

static bool goes_over_http(const json_t *entry)
{
	const char *url = text_of(json_object_get(entry, "request"), "url");
	return url && sz_url_is_http(url);
}

/* The entry that tells which origin is the page's: the first document, else
 * the first request of all. */
static const json_t *find_page(const json_t *list)
{
	const json_t *first = NULL, *entry;
	size_t i;
	json_array_foreach(list, i, entry)
	{
		if (!goes_over_http(entry))
			continue;
		if (is_document(entry))
			return entry;
		if (!first)
			first = entry;
	}
	return first;
}

/* --- bodies --- */

static void append_escaped(const char *text, size_t len, struct sz_buf *out)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		bool is_plain = (byte >= '0' && byte <= '9') ||
				((byte | 32) >= 'a' && (byte | 32) <= 'z') ||
				(byte && strchr("-._*", byte));
		if (byte == ' ')
			sz_buf_puts(out, "+");
		else
			sz_buf_printf(out, is_plain ? "%c" : "%%%02X", byte);
	}
}

/* application/x-www-form-urlencoded, from the fields of a form.
 * https://url.spec.whatwg.org/#urlencoded-serializing */
static void append_form(const json_t *params, struct sz_buf *out)
{
	const json_t *param;
	size_t i;
	json_array_foreach(params, i, param)
	{
		const json_t *name = json_object_get(param, "name");
		const json_t *value = json_object_get(param, "value");
		if (i)
			sz_buf_puts(out, "&");
		if (json_is_string(name))
			append_escaped(json_string_value(name), json_string_length(name), out);
		sz_buf_puts(out, "=");
		if (json_is_string(value))
			append_escaped(json_string_value(value), json_string_length(value), out);
	}
}

static const json_t *text_body(const json_t *request)
{
	const json_t *text = json_object_get(json_object_get(request, "postData"), "text");
	return json_string_length(text) > 0 ? text : NULL;
}

static const json_t *form_body(const json_t *request)
{
	const json_t *params = json_object_get(json_object_get(request, "postData"), "params");
	return json_array_size(params) > 0 ? params : NULL;
}

/* What was sent is in the file as text, or can be made of it. */
static bool knows_body(const json_t *request)
{
	static const char form[] = "application/x-www-form-urlencoded";
	const json_t *data = json_object_get(request, "postData");
	const char *type = text_of(data, "mimeType"), *encoding = text_of(data, "encoding");
	if (encoding && *encoding)
		return false;
	if (text_body(request))
		return true;
	if (form_body(request))
		return type && strncasecmp(type, form, sizeof(form) - 1) == 0;
	return json_integer_value(json_object_get(request, "bodySize")) <= 0;
}

static void append_body(const json_t *request, struct sz_buf *out)
{
	const json_t *text = text_body(request), *params = form_body(request);
	if (text)
		sz_buf_append(out, json_string_value(text), json_string_length(text));
	else if (params)
		append_form(params, out);
}

/* --- which entries are sent, where and when --- */

static int read_time(const json_t *object, struct entry *entry, struct sz_err *err)
{
	const char *started = text_of(object, "startedDateTime");
	double took_ms = json_number_value(json_object_get(object, "time"));
	if (!started || !sz_moment_from_iso(started, &entry->start_ns))
		return lacks("startedDateTime", err);
	/* Tools write -1 or nothing when they do not know. */
	bool is_known = took_ms > 0 && took_ms < DAY_MS;
	entry->end_ns = entry->start_ns + 1 + (is_known ? (int64_t)(took_ms * 1e6) : 0);
	return 0;
}

/* The user's origin stands in for the page's own. */
static int place(struct reading *reading, const struct sz_origin *origin, size_t *index,
		 struct sz_err *err)
{
	struct sz_requests *requests = reading->requests;
	bool is_own = sz_origin_is_same(origin, &reading->page);
	return sz_requests_find_origin(requests, is_own && requests->base ? requests->base : origin,
				       index, err);
}

/* What of an entry is known without reading all of it. */
static bool is_left_out(struct sz_requests *requests, const json_t *object)
{
	const char *url = text_of(json_object_get(object, "request"), "url");
	if (url && !sz_url_is_http(url)) {
		requests->left_out[SZ_LEFT_OUT_SCHEME]++;
		return true;
	}
	if (text_of(object, "_fromCache")) {
		requests->left_out[SZ_LEFT_OUT_CACHED]++;
		return true;
	}
	return false;
}

static int keep(struct reading *reading, const struct entry *entry, struct sz_err *err)
{
	if (sz_grow(&reading->entries, &reading->cap, reading->count + 1, sizeof(*entry)) < 0)
		return sz_err_nomem(err);
	reading->entries[reading->count++] = *entry;
	return 0;
}

/* Of HTTP/1: a connection of HTTP/2 has many requests at once. */
static const char *connection_of(const json_t *object)
{
	static const char http1[] = "HTTP/1";
	const char *version = text_of(json_object_get(object, "request"), "httpVersion");
	bool is_http1 = version && strncasecmp(version, http1, sizeof(http1) - 1) == 0;
	return is_http1 ? text_of(object, "connection") : NULL;
}

static int choose(struct reading *reading, const json_t *object, size_t index, struct sz_err *err)
{
	struct sz_requests *requests = reading->requests;
	struct entry entry = {.request = json_object_get(object, "request"),
			      .index = index,
			      .connection = connection_of(object)};
	struct sz_origin origin;
	if (is_left_out(requests, object))
		return 0;
	if (parse_url(requests, entry.request, &origin, &entry.target, err) < 0)
		return -1;
	if (!sz_origin_is_same(&origin, &reading->page)) {
		requests->left_out[SZ_LEFT_OUT_ORIGIN]++;
		return 0;
	}
	if (!knows_body(entry.request)) {
		requests->left_out[SZ_LEFT_OUT_BODY]++;
		return 0;
	}
	if (place(reading, &origin, &entry.origin, err) < 0 || read_time(object, &entry, err) < 0)
		return -1;
	return keep(reading, &entry, err);
}

static int choose_all(struct reading *reading, struct sz_err *err)
{
	const json_t *object;
	size_t i;
	json_array_foreach(reading->list, i, object)
	{
		if (choose(reading, object, i, err) < 0)
			return sz_err_wrap(err, "entries[%zu]", i);
	}
	return 0;
}

/* --- headers --- */

/* Ours to say, or HTTP/2's way to say what is in the request line. */
static bool is_dropped(const char *name)
{
	return *name == ':' || strcasecmp(name, "Host") == 0 || sz_header_reserved(name);
}

static int read_headers(struct sz_requests *requests, const json_t *list, struct sz_header *headers,
			size_t *count, struct sz_err *err)
{
	const json_t *header;
	size_t i;
	json_array_foreach(list, i, header)
	{
		struct sz_header read = {
			.name = text_of(header, "name"),
			.value = text_of(header, "value"),
		};
		if (!read.name || !read.value)
			return lacks("request.headers", err);
		if (is_dropped(read.name))
			continue;
		if (!requests->keep_secrets && sz_header_is_secret(read.name))
			requests->secrets_dropped++;
		else
			headers[(*count)++] = read;
	}
	return 0;
}

/* --- requests --- */

static int push_parts(struct reading *reading, const struct entry *entry,
		      struct sz_request_parts *parts, struct sz_err *err)
{
	struct sz_requests *requests = reading->requests;
	sz_autobuf struct sz_buf body = {0};
	append_body(entry->request, &body);
	if (body.failed)
		return sz_err_nomem(err);
	parts->body_bytes = body.len;
	if (body.len && sz_requests_keep_body(requests, body.data, body.len, &parts->body, err) < 0)
		return -1;
	return sz_requests_push(requests, parts, err);
}

static int push(struct reading *reading, const struct entry *entry, struct sz_err *err)
{
	const json_t *list = json_object_get(entry->request, "headers");
	sz_autofree struct sz_header *headers = calloc(json_array_size(list) + 1, sizeof(*headers));
	struct sz_request_parts parts = {
		.method = text_of(entry->request, "method"),
		.origin = entry->origin,
		.target = entry->target,
		.headers = headers,
		.weight = 1,
		.at_ns = (uint64_t)(entry->start_ns - reading->entries->start_ns),
	};
	if (!headers)
		return sz_err_nomem(err);
	if (!parts.method)
		return lacks("request.method", err);
	if (read_headers(reading->requests, list, headers, &parts.header_count, err) < 0)
		return -1;
	return push_parts(reading, entry, &parts, err);
}

static int by_start(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static int push_all(struct reading *reading, struct sz_err *err)
{
	for (size_t i = 0; i < reading->count; i++) {
		if (push(reading, &reading->entries[i], err) < 0)
			return sz_err_wrap(err, "entries[%zu]", reading->entries[i].index);
	}
	return 0;
}

/* --- how many at once --- */

static int ascending(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return left < right ? -1 : left > right;
}

/* The most requests that were open at one time. Entries are in order of their
 * start. */
static int count_open(struct reading *reading, struct sz_err *err)
{
	sz_autofree int64_t *ends_ns = calloc(reading->count, sizeof(*ends_ns));
	size_t ended = 0;
	if (!ends_ns)
		return sz_err_nomem(err);
	for (size_t i = 0; i < reading->count; i++)
		ends_ns[i] = reading->entries[i].end_ns;
	qsort(ends_ns, reading->count, sizeof(*ends_ns), ascending);
	for (size_t i = 0; i < reading->count; i++) {
		while (ends_ns[ended] <= reading->entries[i].start_ns)
			ended++;
		unsigned open = (unsigned)(i + 1 - ended);
		if (open > reading->requests->concurrency)
			reading->requests->concurrency = open;
	}
	return 0;
}

static int by_connection(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Over how many connections they went; 0: that is not said of each. Some browsers
 * write the server's port, which tells no connection from another. */
static int count_connections(const struct reading *reading, unsigned *count, struct sz_err *err)
{
	sz_autofree const char **names = calloc(reading->count, sizeof(*names));
	unsigned found = 1;
	char port[8];
	snprintf(port, sizeof(port), "%u", reading->page.url.port);
	if (!names)
		return sz_err_nomem(err);
	*count = 0;
	for (size_t i = 0; i < reading->count; i++) {
		names[i] = reading->entries[i].connection;
		if (!names[i] || !*names[i] || strcmp(names[i], port) == 0)
			return 0;
	}
	qsort(names, reading->count, sizeof(*names), by_connection);
	for (size_t i = 1; i < reading->count; i++)
		found += strcmp(names[i], names[i - 1]) != 0;
	*count = found;
	return 0;
}

/* Entries overlap while they wait for a connection, too. */
static int find_concurrency(struct reading *reading, struct sz_err *err)
{
	unsigned connections;
	if (count_open(reading, err) < 0 || count_connections(reading, &connections, err) < 0)
		return -1;
	if (connections && connections < reading->requests->concurrency)
		reading->requests->concurrency = connections;
	return 0;
}

/* --- the file --- */

static int find_list(const json_t *root, const json_t **list, struct sz_err *err)
{
	const json_t *found = json_object_get(json_object_get(root, "log"), "entries");
	if (!json_is_array(found))
		return lacks("log.entries", err);
	*list = found;
	return 0;
}

static int read_page(struct reading *reading, struct sz_err *err)
{
	const json_t *page = find_page(reading->list);
	const char *target;
	if (!page) {
		sz_err_set(err, SZ_USAGE, 0, "it holds no request over http or https");
		return sz_err_hint(err, "save the file while the page loads, with the cache off");
	}
	return parse_url(reading->requests, json_object_get(page, "request"), &reading->page,
			 &target, err);
}

static int check_count(const struct reading *reading, struct sz_err *err)
{
	if (reading->count > 0)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "none of its %zu requests can be sent again",
		   json_array_size(reading->list));
	if (reading->requests->left_out[SZ_LEFT_OUT_BODY])
		return sz_err_hint(err, "save it with a tool that keeps bodies as text: what is in "
					"base64, or left out, is not sent");
	return sz_err_hint(err, "save the file while the page loads, with the cache off");
}

static int read_root(struct reading *reading, const json_t *root, struct sz_err *err)
{
	if (find_list(root, &reading->list, err) < 0 || read_page(reading, err) < 0 ||
	    choose_all(reading, err) < 0 || check_count(reading, err) < 0)
		return -1;
	qsort(reading->entries, reading->count, sizeof(reading->entries[0]), by_start);
	return push_all(reading, err) < 0 ? -1 : find_concurrency(reading, err);
}

int sz_requests_read_har(struct sz_requests *requests, const char *name, const char *text,
			 size_t len, struct sz_err *err)
{
	struct reading reading = {.requests = requests};
	json_t *root = parse(name, text, len, err);
	if (!root)
		return -1;
	int status = read_root(&reading, root, err);
	free(reading.entries);
	json_decref(root);
	return status < 0 ? sz_err_wrap(err, "%.200s", name) : 0;
}
