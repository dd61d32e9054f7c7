/* SPDX-License-Identifier: Apache-2.0
 *
 * Access logs:
 *
 *	192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 …
 *
 * What stands before the time stamp and behind the size is not looked at. The
 * request is as the client sent it, with quotes, backslashes and what is not
 * printable escaped: \xHH by both servers, \" \\ \n \t … by Apache.
 * https://nginx.org/en/docs/http/ngx_http_log_module.html
 * https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
 */
#include "load/requests-inside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct entry {
	int64_t s;     /* since 1970 */
	size_t number; /* of its line */
	const char *method;
	const char *target;
};

struct reading {
	struct sz_requests *requests;
	struct entry *entries;
	size_t count, cap;
	size_t lines, malformed;
	int64_t latest_s;
};

/* --- one line --- */

/* What the client sent, of the line's request. */
#define REQUEST_MAX (SZ_REQUEST_METHOD_MAX_BYTES + SZ_REQUEST_TARGET_MAX_BYTES + 16)

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit = (char)tolower((unsigned char)digit);
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The byte that the escape at text[0..len) means, and how long it is. */
static size_t unescape(const char *text, size_t len, char *byte)
{
	static const char letters[][2] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'},
					  {'b', '\b'}, {'f', '\f'}, {'v', '\v'}};
	int high = len > 3 ? hex_value(text[2]) : -1;
	int low = len > 3 ? hex_value(text[3]) : -1;
	if (len > 1 && text[1] == 'x' && high >= 0 && low >= 0) {
		*byte = (char)(high * 16 + low);
		return 4;
	}
	*byte = len > 1 ? text[1] : '\\';
	for (size_t i = 0; i < SZ_ARRAY_LEN(letters); i++) {
		if (len > 1 && text[1] == letters[i][0])
			*byte = letters[i][1];
	}
	return len > 1 ? 2 : 1;
}

/* The quoted text at *at (behind its first quote) to where its last quote is.
 * A text too long for `out`, or one that holds a NUL, becomes "". NULL: it does
 * not end. */
static const char *take_quoted(const char *at, const char *end, char out[REQUEST_MAX])
{
	size_t used = 0;
	bool is_sound = true;
	for (; at < end && *at != '"'; used++) {
		char byte = *at;
		at += byte == '\\' ? unescape(at, (size_t)(end - at), &byte) : 1;
		is_sound = is_sound && byte && used + 1 < REQUEST_MAX;
		if (is_sound)
			out[used] = byte;
	}
	out[is_sound ? used : 0] = '\0';
	return at < end ? at : NULL;
}

/* " 200 2326" or " 304 -", and the line's end or a blank behind it. */
static bool ends_well(const char *at, const char *end)
{
	if (end - at < 6 || at[0] != ' ' || at[4] != ' ')
		return false;
	for (int i = 1; i < 4; i++) {
		if (!isdigit((unsigned char)at[i]))
			return false;
	}
	const char *size = at + 5;
	at = size;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	if (at == size && *at == '-')
		at++;
	return at > size && (at == end || *at == ' ');
}

/* Behind the first "[10/Oct/2000:13:55:36 -0700" of the line; NULL: none. */
static const char *take_time(const char *line, const char *end, int64_t *s)
{
	while ((line = memchr(line, '[', (size_t)(end - line)))) {
		if (end - ++line >= SZ_MOMENT_LOG_BYTES && sz_moment_from_log(line, s))
			return line + SZ_MOMENT_LOG_BYTES;
	}
	return NULL;
}

/* [time] "request" status size. False: the line has another format. */
static bool split_line(const char *line, size_t len, int64_t *s, char request[REQUEST_MAX])
{
	const char *end = line + len;
	const char *at = take_time(line, end, s);
	if (!at || end - at < 3 || memcmp(at, "] \"", 3) != 0)
		return false;
	at = take_quoted(at + 3, end, request);
	return at && ends_well(at + 1, end);
}

/* "GET /path HTTP/1.1" cut into method and target. */
static bool split_request(char *request, char **method, char **target)
{
	char *version = strrchr(request, ' ');
	*method = request;
	*target = strchr(request, ' ');
	if (!version || version == *target || strncmp(version, " HTTP/", 6) != 0)
		return false;
	*version = '\0';
	*(*target)++ = '\0';
	return sz_method_is_sound(*method) && **target == '/' && !sz_url_bytes_fault(*target) &&
	       strlen(*target) <= SZ_REQUEST_TARGET_MAX_BYTES;
}

static const char *replayed_method(const char *method)
{
	return strcmp(method, "GET") == 0 ? "GET" : strcmp(method, "HEAD") == 0 ? "HEAD" : NULL;
}

/* --- all lines --- */

static int keep_entry(struct reading *reading, const char *method, const char *target, int64_t s,
		      struct sz_err *err)
{
	struct entry entry = {
		.s = s,
		.number = reading->lines,
		.method = method,
		.target = sz_arena_copy(&reading->requests->arena, target, strlen(target)),
	};
	if (reading->requests->count + reading->count == SZ_REQUESTS_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "there are more than %d requests", SZ_REQUESTS_MAX);
		return sz_err_hint(err, "give a part of the log, as head -n %d cuts it",
				   SZ_REQUESTS_MAX);
	}
	if (!entry.target ||
	    sz_grow(&reading->entries, &reading->cap, reading->count + 1, sizeof(entry)) < 0)
		return sz_err_nomem(err);
	if (reading->count && s < reading->latest_s)
		reading->requests->out_of_order++;
	else
		reading->latest_s = s;
	reading->entries[reading->count++] = entry;
	return 0;
}

static int note_malformed(struct reading *reading, const char *line, size_t len, struct sz_err *err)
{
	struct sz_requests *requests = reading->requests;
	char quote[SZ_INPUT_QUOTE], text[SZ_INPUT_QUOTE + 32];
	reading->malformed++;
	requests->left_out[SZ_LEFT_OUT_MALFORMED]++;
	if (requests->first_malformed)
		return 0;
	int n = snprintf(text, sizeof(text), "line %zu: %s", reading->lines,
			 sz_input_quote(line, len, quote));
	requests->first_malformed = sz_arena_copy(&requests->arena, text, (size_t)n);
	return requests->first_malformed ? 0 : sz_err_nomem(err);
}

static int read_line(struct reading *reading, const char *line, size_t len, struct sz_err *err)
{
	struct sz_requests *requests = reading->requests;
	char request[REQUEST_MAX], *method, *target;
	int64_t s;
	reading->lines++;
	if (!split_line(line, len, &s, request))
		return note_malformed(reading, line, len, err);
	if (!split_request(request, &method, &target)) {
		requests->left_out[SZ_LEFT_OUT_NOT_HTTP]++;
		return 0;
	}
	const char *replayed = replayed_method(method);
	if (replayed)
		return keep_entry(reading, replayed, target, s, err);
	requests->left_out[SZ_LEFT_OUT_BODY]++;
	return 0;
}

static int read_lines(struct reading *reading, const char *text, size_t len, struct sz_err *err)
{
	size_t at = 0, line_len;
	for (const char *line; (line = sz_input_line(text, len, &at, &line_len));) {
		if (read_line(reading, line, line_len, err) < 0)
			return -1;
	}
	return 0;
}

static int check_format(const struct reading *reading, struct sz_err *err)
{
	if (reading->malformed > reading->lines - reading->malformed) {
		sz_err_set(err, SZ_USAGE, 0,
			   "%zu of %zu lines are not in Common or Combined Log Format; %s",
			   reading->malformed, reading->lines, reading->requests->first_malformed);
		return sz_err_hint(err, "give a log as nginx (format combined) or Apache (common, "
					"combined) writes it");
	}
	if (reading->count)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "none of %zu lines is a request that can be sent again",
		   reading->lines);
	if (reading->requests->left_out[SZ_LEFT_OUT_NOT_HTTP])
		return sz_err_hint(err,
				   "give a log with requests for a path, of %zu bytes at most: GET "
				   "/path HTTP/1.1, not a whole URL as a proxy logs it",
				   SZ_REQUEST_TARGET_MAX_BYTES);
	return sz_err_hint(err, "give a log with GET or HEAD requests: those with bodies cannot be "
				"repeated from a log");
}

static int by_time(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	if (left->s != right->s)
		return left->s < right->s ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

/* The entries of one second, which are `count` at `first`. */
static int push_second(struct reading *reading, size_t origin, size_t first, size_t count,
		       struct sz_err *err)
{
	const struct entry *entries = &reading->entries[first];
	uint64_t start_ns = (uint64_t)(entries->s - reading->entries->s) * SZ_NS_PER_S;
	for (size_t i = 0; i < count; i++) {
		const struct sz_request_parts parts = {
			.method = entries[i].method,
			.origin = origin,
			.target = entries[i].target,
			.weight = 1,
			.at_ns = start_ns + i * SZ_NS_PER_S / count,
		};
		if (sz_requests_push(reading->requests, &parts, err) < 0)
			return -1;
	}
	return 0;
}

static int push_all(struct reading *reading, struct sz_err *err)
{
	size_t origin;
	if (sz_requests_find_origin(reading->requests, reading->requests->base, &origin, err) < 0)
		return -1;
	qsort(reading->entries, reading->count, sizeof(reading->entries[0]), by_time);
	for (size_t first = 0, next = 0; first < reading->count; first = next) {
		while (next < reading->count &&
		       reading->entries[next].s == reading->entries[first].s)
			next++;
		if (push_second(reading, origin, first, next - first, err) < 0)
			return -1;
	}
	return 0;
}

int sz_requests_read_log(struct sz_requests *requests, const char *name, const char *text,
			 size_t len, struct sz_err *err)
{
	struct reading reading = {.requests = requests};
	if (!requests->base) {
		sz_err_set(err, SZ_USAGE, 0, "a log does not say to which service its requests go");
		return sz_err_hint(err, "give the service's URL beside it, like "
					"http://127.0.0.1:8000");
	}
	int status = read_lines(&reading, text, len, err);
	if (status == 0)
		status = check_format(&reading, err);
	if (status == 0)
		status = push_all(&reading, err);
	free(reading.entries);
	return status < 0 ? sz_err_wrap(err, "%.200s", name) : 0;
}
