/* SPDX-License-Identifier: Apache-2.0 */
#include "load/requests-inside.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct {
	const char *prefix;
	uint16_t port;
} schemes[] = {
	[SZ_SCHEME_HTTP] = {"http://", 80},
	[SZ_SCHEME_HTTPS] = {"https://", 443},
};

static const char instead_of_h3[] = "give its https:// address: services with HTTP/3 answer "
				    "HTTP/2 or HTTP/1.1 as well; h2load can be built with HTTP/3";
static const char instead_of_grpc[] = "load a plain HTTP end point of the same service, or use "
				      "ghz, which speaks gRPC";
static const char instead_of_ws[] = "load the service's http:// or https:// addresses";
static const char instead_of_unix[] = "give the socket's path as --unix-socket PATH, and the "
				      "request as http://localhost/path";

/* What people ask for by a scheme, and what there is instead. */
static const struct {
	const char *prefix, *what, *instead;
} others[] = {
	{"h3:", "HTTP/3", instead_of_h3},
	{"http3:", "HTTP/3", instead_of_h3},
	{"quic:", "HTTP/3", instead_of_h3},
	{"grpc:", "gRPC", instead_of_grpc},
	{"grpcs:", "gRPC", instead_of_grpc},
	{"ws:", "a WebSocket", instead_of_ws},
	{"wss:", "a WebSocket", instead_of_ws},
	{"unix:", "the path of a socket as a URL", instead_of_unix},
	{"http+unix:", "the path of a socket as a URL", instead_of_unix},
};

const char *sz_url_bytes_fault(const char *text)
{
	for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
		if (*byte <= ' ' || *byte == 0x7f)
			return "it holds a blank or a control character";
		if (*byte > 0x7f)
			return "it holds a character that must be percent-encoded";
		if (*byte == '#')
			return "a fragment (#...) is never sent to a server";
	}
	return NULL;
}

static bool find_scheme(const char *text, enum sz_scheme *scheme)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(schemes); i++) {
		if (strncasecmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
			*scheme = (enum sz_scheme)i;
			return true;
		}
	}
	return false;
}

bool sz_url_is_http(const char *text)
{
	enum sz_scheme scheme;
	return find_scheme(text, &scheme);
}

/* --- refusals --- */

static int refuse(const char *text, const char *why, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	sz_err_set(err, SZ_USAGE, 0, "'%s' is not a usable URL: %s",
		   sz_input_quote(text, strlen(text), quote), why);
	return sz_err_hint(err, "write it like http://127.0.0.1:8000/path");
}

static int refuse_scheme(const char *text, struct sz_err *err)
{
	char quote[SZ_INPUT_QUOTE];
	for (size_t i = 0; i < SZ_ARRAY_LEN(others); i++) {
		if (strncasecmp(text, others[i].prefix, strlen(others[i].prefix)) != 0)
			continue;
		sz_err_set(err, SZ_USAGE, 0, "'%s': %s is not supported",
			   sz_input_quote(text, strlen(text), quote), others[i].what);
		return sz_err_hint(err, "%s", others[i].instead);
	}
	if (strstr(text, "://"))
		return refuse(text, "only http:// and https:// are supported", err);
	refuse(text, "it has no http://", err);
	return sz_err_hint(err, "did you mean http://%s ?",
			   sz_input_quote(text, strlen(text), quote));
}

/* --- parsing --- */

/* Does a port follow the host? As written: the scheme's own counts, too. */
static bool names_port(const char *authority, const char *host)
{
	return authority[strlen(host) + (*authority == '[' ? 2 : 0)] == ':';
}

/* Hosts do not depend on case (RFC 3986, 3.2.2): in one they are compared as
 * text and sent alike. */
static void lower(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static int parse_authority(const char *text, size_t len, struct sz_origin *origin,
			   struct sz_err *err)
{
	char plain[512];
	if (len > 300)
		return refuse(text, "the host name is longer than 253 characters", err);
	snprintf(plain, sizeof(plain), "http://%.*s/", (int)len, text);
	if (sz_url_parse(plain, &origin->url, err) < 0)
		return -1;
	if (!names_port(plain + strlen("http://"), origin->url.host))
		origin->url.port = schemes[origin->scheme].port;
	lower(origin->url.host);
	return 0;
}

int sz_origin_parse(const char *text, struct sz_origin *origin, const char **target,
		    struct sz_err *err)
{
	struct sz_origin parsed = {0};
	const char *why = *text ? sz_url_bytes_fault(text) : "it is empty";
	if (why)
		return refuse(text, why, err);
	if (!find_scheme(text, &parsed.scheme))
		return refuse_scheme(text, err);
	const char *authority = text + strlen(schemes[parsed.scheme].prefix);
	size_t len = strcspn(authority, "/?");
	if (parse_authority(authority, len, &parsed, err) < 0)
		return -1;
	*origin = parsed;
	*target = authority[len] ? authority + len : "/";
	return 0;
}

const char *sz_origin_host(const struct sz_origin *origin, char text[272])
{
	bool is_ipv6 = strchr(origin->url.host, ':') != NULL;
	int len = snprintf(text, 272, is_ipv6 ? "[%s]" : "%s", origin->url.host);
	if (origin->url.port != schemes[origin->scheme].port)
		snprintf(text + len, 272 - (size_t)len, ":%u", origin->url.port);
	return text;
}

/* --- the origins of a set --- */

bool sz_origin_is_same(const struct sz_origin *a, const struct sz_origin *b)
{
	return a->scheme == b->scheme && a->url.port == b->url.port &&
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
