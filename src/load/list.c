/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of URLs, one per line.
 */
#include "load/requests-inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quote.h"

struct line {
	const char *method; /* NULL: not said */
	const char *url;
	double weight;
};

static bool parse_weight(const char *text, double *weight)
{
	size_t len = strspn(text, "0123456789.");
	char *end;
	double value = strtod(text, &end);
	if (len == 0 || len > 24 || end != text + len || *end)
		return false;
	*weight = value;
	return true;
}

static char *next_word(char **rest)
{
	char *word;
	do
		word = strsep(rest, " \t");
	while (word && !*word);
	return word;
}

static int not_a_request(const char *why, const char *word, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE], shown[SZ_URL_QUOTE];
	sz_url_quote(word, shown);
	sz_err_set(err, SZ_USAGE, 0, "'%s' %s", sz_input_quote(shown, strlen(shown), quote), why);
	return sz_err_hint(err, "write a request like POST http://127.0.0.1:8000/path weight=2");
}

static int parse_line(char *text, struct line *line, struct sz_err *err)
{
	static const char weight[] = "weight=";
	char *rest = text;
	char *word = next_word(&rest);
	*line = (struct line){.weight = 1};
	if (word && !strpbrk(word, "/:")) {
		line->method = word;
		word = next_word(&rest);
	}
	if (!word)
		return not_a_request("names no URL", line->method ? line->method : "", err);
	line->url = word;
	while ((word = next_word(&rest))) {
		if (strncmp(word, weight, sizeof(weight) - 1) != 0)
			return not_a_request("is not known behind a URL", word, err);
		if (!parse_weight(word + sizeof(weight) - 1, &line->weight))
			return not_a_request("gives no number as weight", word, err);
	}
	return 0;
}

/* Where a URL goes, a path alone to the base. */
static int resolve(struct sz_requests *requests, const char *url, size_t *origin,
		   const char **target, struct sz_err *err)
{
	struct sz_origin found;
	if (*url != '/') {
		if (sz_origin_parse(url, &found, target, err) < 0)
			return -1;
		return sz_requests_find_origin(requests, &found, origin, err);
	}
	if (!requests->base) {
		not_a_request("says not to which service it goes", url, err);
		return sz_err_hint(err, "give a whole URL, like http://127.0.0.1:8000/path");
	}
	*target = url;
	return sz_requests_find_origin(requests, requests->base, origin, err);
}

static bool goes_without_body(const char *method)
{
	return method && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}

static int add(struct sz_requests *requests, char *text, struct sz_err *err)
{
	struct line line;
	size_t origin;
	const char *target;
	if (parse_line(text, &line, err) < 0 ||
	    resolve(requests, line.url, &origin, &target, err) < 0)
		return -1;
	const char *body = goes_without_body(line.method) ? NULL : requests->body;
	const char *method = line.method ? line.method : requests->method;
	if (!method)
		method = body ? "POST" : "GET";
	return sz_requests_push(requests,
				&(struct sz_request_parts){
					.method = method,
					.origin = origin,
					.target = target,
					.body = body,
					.body_bytes = requests->body_bytes,
					.weight = line.weight,
				},
				err);
}

int sz_requests_add(struct sz_requests *requests, const char *text, struct sz_err *err)
{
	sz_autofree char *copy = strdup(text);
	return copy ? add(requests, copy, err) : sz_err_nomem(err);
}

static bool is_skipped(const char *line, size_t len)
{
	size_t at = 0;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at == len || line[at] == '#';
}

static int add_line(struct sz_requests *requests, const char *line, size_t len, struct sz_err *err)
{
	sz_autofree char *copy = strndup(line, len);
	if (!copy)
		return sz_err_nomem(err);
	if (strlen(copy) != len)
		return not_a_request("ends in a NUL character", copy, err);
	return add(requests, copy, err);
}

int sz_requests_read_list(struct sz_requests *requests, const char *name, const char *text,
			  size_t len, struct sz_err *err)
{
	size_t at = sz_input_mark(text, len), line_len, number = 0, before = requests->count;
	for (const char *line; (line = sz_input_line(text, len, &at, &line_len));) {
		number++;
		if (is_skipped(line, line_len))
			continue;
		if (add_line(requests, line, line_len, err) < 0)
			return sz_err_wrap(err, "%.200s:%zu", name, number);
	}
	if (requests->count > before)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "%.200s holds no request", name);
	return sz_err_hint(err,
			   "write one per line, like POST http://127.0.0.1:8000/path weight=2");
}
