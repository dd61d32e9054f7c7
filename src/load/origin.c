/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/quote.h"

/* Hosts do not depend on case (RFC 3986, 3.2.2): in one they are compared as
 * text and sent alike. */
static void lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

bool sz_url_is_http(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* The origin of text is parsed as a URL of its own: paths may be longer here. */
int sz_origin_parse(const char *text, struct sz_origin *origin, const char **target,
		    struct sz_err *err)
{
	sz_autobuf struct sz_buf root = {0};
	struct sz_url url;
	const char *authority = strstr(text, "://");
	authority = authority ? authority + strlen("://") : text;
	const char *rest = authority + strcspn(authority, "/?");
	sz_buf_append(&root, text, (size_t)(rest - text));
	sz_buf_puts(&root, "/");
	if (root.failed)
		return sz_err_nomem(err);
	bool is_usable = sz_url_is_http(text) && !sz_url_bytes_fault(rest) &&
			 sz_url_parse(sz_buf_text(&root), &url, NULL) == 0;
	if (!is_usable && sz_url_parse(text, &url, err) < 0)
		return -1;
	if (!url.host[0]) {
		char quote[SZ_URL_QUOTE];
		sz_err_set(err, SZ_USAGE, 0, "'%s' says not to which service it goes",
			   sz_url_quote(text, quote));
		return sz_err_hint(err, "give a whole URL, like http://127.0.0.1:8000/path");
	}
	lower(url.host);
	*origin = (struct sz_origin){.url = url};
	*target = *rest ? rest : "/";
	return 0;
}

/* --- the origins of a set --- */

bool sz_origin_is_same(const struct sz_origin *a, const struct sz_origin *b)
{
	return a->url.tls == b->url.tls && a->url.port == b->url.port &&
	       strcmp(a->url.host, b->url.host) == 0;
}

int sz_requests_find_origin(struct sz_requests *requests, const struct sz_origin *origin,
			    size_t *index, struct sz_err *err)
{
	for (size_t i = 0; i < requests->origin_count; i++) {
		if (sz_origin_is_same(&requests->origins[i], origin)) {
			*index = i;
			return 0;
		}
	}
	if (requests->origin_count == SZ_ORIGINS_MAX)
		return sz_err_set(err, SZ_USAGE, 0,
				  "the requests go to more than %d hosts and ports",
				  SZ_ORIGINS_MAX);
	if (sz_grow(&requests->origins, &requests->origin_cap, requests->origin_count + 1,
		    sizeof(*origin)) < 0)
		return sz_err_nomem(err);
	*index = requests->origin_count++;
	requests->origins[*index] = *origin;
	requests->origins[*index].unix_path = requests->unix_path;
	return 0;
}
