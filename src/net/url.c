/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/quote.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443
#define EXAMPLE "write it like http://127.0.0.1:8000/path"

static int refuse(struct sz_err *err, const char *text, const char *why)
{
	char quote[SZ_URL_QUOTE];
	sz_err_set(err, SZ_USAGE, 0, "'%s' is not a usable URL: %s", sz_url_quote(text, quote),
		   why);
	return sz_err_hint(err, EXAMPLE);
}

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

/* Length of "scheme" when text starts with "scheme://", else 0. */
static size_t scheme_len(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789+.-");
	return isalpha((unsigned char)text[0]) && strncmp(text + len, "://", 3) == 0 ? len : 0;
}

static const char instead_of_h3[] = "give its https:// address: services with HTTP/3 answer "
				    "HTTP/2 or HTTP/1.1 as well; h2load can be built with HTTP/3";
static const char instead_of_grpc[] = "load a plain HTTP end point of the same service, or use "
				      "ghz, which speaks gRPC";
static const char instead_of_ws[] = "load the service's http:// or https:// addresses";
static const char instead_of_unix[] = "give it as --unix-socket PATH, and a URL like "
				      "http://localhost/path";

/* What people ask for by a scheme, and what there is instead. */
static const struct {
	const char *prefix, *what, *instead;
} others[] = {
	{"h3:", "HTTP/3 is not supported", instead_of_h3},
	{"http3:", "HTTP/3 is not supported", instead_of_h3},
	{"quic:", "HTTP/3 is not supported", instead_of_h3},
	{"grpc:", "gRPC is not supported", instead_of_grpc},
	{"grpcs:", "gRPC is not supported", instead_of_grpc},
	{"ws:", "a WebSocket is not supported", instead_of_ws},
	{"wss:", "a WebSocket is not supported", instead_of_ws},
	{"unix:", "a unix socket is no part of the URL", instead_of_unix},
	{"http+unix:", "a unix socket is no part of the URL", instead_of_unix},
};

static int refuse_scheme(const char *text, struct sz_err *err)
{
	char quote[SZ_URL_QUOTE];
	sz_url_quote(text, quote);
	for (size_t i = 0; i < SZ_ARRAY_LEN(others); i++) {
		if (strncasecmp(text, others[i].prefix, strlen(others[i].prefix)) != 0)
			continue;
		sz_err_set(err, SZ_USAGE, 0, "'%s': %s", quote, others[i].what);
		return sz_err_hint(err, "%s", others[i].instead);
	}
	if (scheme_len(text) > 0)
		return refuse(err, text, "only http:// and https:// are supported");
	sz_err_set(err, SZ_USAGE, 0, "'%s' is not a usable URL: it has no http://", quote);
	return sz_err_hint(err, "did you mean http://%s ?", quote);
}

/* Takes "http://" or "https://" off *text. */
static int parse_scheme(const char **text, struct sz_url *url, struct sz_err *err)
{
	static const struct {
		const char *name;
		bool tls;
		uint16_t port;
	} schemes[] = {{"http", false, HTTP_PORT}, {"https", true, HTTPS_PORT}};
	size_t len = scheme_len(*text);
	for (size_t i = 0; i < SZ_ARRAY_LEN(schemes); i++) {
		if (strlen(schemes[i].name) != len || strncasecmp(*text, schemes[i].name, len) != 0)
			continue;
		url->tls = schemes[i].tls;
		url->port = schemes[i].port;
		*text += len + strlen("://");
		return 0;
	}
	return refuse_scheme(*text, err);
}

static const char *parse_port(const char *text, size_t len, uint16_t *port)
{
	static const char why[] = "the port must be a number from 1 to 65535";
	if (len == 0 || len > 5 || strspn(text, "0123456789") < len)
		return why;
	unsigned long value = strtoul(text, NULL, 10);
	if (value < 1 || value > 65535)
		return why;
	*port = (uint16_t)value;
	return NULL;
}

static const char *parse_ipv6(const char *text, size_t len, struct sz_url *url)
{
	struct in6_addr address;
	if (len >= sizeof(url->host))
		return "the IPv6 address is too long";
	memcpy(url->host, text, len);
	url->host[len] = '\0';
	return inet_pton(AF_INET6, url->host, &address) == 1
		       ? NULL
		       : "what is inside the brackets is no IPv6 address";
}

static const char *parse_name(const char *text, size_t len, struct sz_url *url)
{
	if (len == 0)
		return "it names no host";
	if (len > 253)
		return "the host name is longer than 253 characters";
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr(".-_", text[i]))
			return "the host name holds a character that names cannot hold";
	}
	memcpy(url->host, text, len);
	url->host[len] = '\0';
	return NULL;
}

/* HOST[:PORT] in text[0..len); without PORT, url->port stays the scheme's.
 * NULL, or why not. */
static const char *parse_authority(const char *text, size_t len, struct sz_url *url)
{
	if (memchr(text, '@', len))
		return "a user and a password are no part of it: --basic-file says them";
	const char *end = text + len;
	const char *host_end;
	const char *why;
	if (len && *text == '[') {
		const char *bracket = memchr(text, ']', len);
		if (!bracket)
			return "the bracket of the IPv6 address is not closed";
		why = parse_ipv6(text + 1, (size_t)(bracket - text - 1), url);
		host_end = bracket + 1;
	} else {
		const char *colon = memchr(text, ':', len);
		host_end = colon ? colon : end;
		if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
			return "an IPv6 address needs brackets: http://[::1]:8000/";
		why = parse_name(text, (size_t)(host_end - text), url);
	}
	if (why)
		return why;
	if (host_end == end)
		return NULL;
	if (*host_end != ':')
		return "after the IPv6 address only a port may follow";
	return parse_port(host_end + 1, (size_t)(end - host_end - 1), &url->port);
}

static const char *parse_target(const char *text, struct sz_url *url)
{
	const char *root = *text == '/' ? "" : "/";
	int len = snprintf(url->target, sizeof(url->target), "%s%s", root, text);
	return (size_t)len < sizeof(url->target) ? NULL : "path and query are too long";
}

int sz_url_parse(const char *text, struct sz_url *url, struct sz_err *err)
{
	struct sz_url parsed = {0};
	const char *why = *text ? sz_url_bytes_fault(text) : "it is empty";
	if (why)
		return refuse(err, text, why);
	const char *target = text;
	if (*text != '/') {
		const char *authority = text;
		if (parse_scheme(&authority, &parsed, err) < 0)
			return -1;
		size_t len = strcspn(authority, "/?");
		target = authority + len;
		why = parse_authority(authority, len, &parsed);
	}
	if (!why)
		why = parse_target(target, &parsed);
	if (why)
		return refuse(err, text, why);
	*url = parsed;
	return 0;
}

const char *sz_url_host_header(const struct sz_url *url, char text[272])
{
	bool is_ipv6 = strchr(url->host, ':') != NULL;
	int len = snprintf(text, 272, is_ipv6 ? "[%s]" : "%s", url->host);
	if (url->port != (url->tls ? HTTPS_PORT : HTTP_PORT))
		snprintf(text + len, 272 - (size_t)len, ":%u", url->port);
	return text;
}

int sz_url_resolve_all(const struct sz_url *url, struct sz_addrs *addrs, struct sz_err *err)
{
	struct sz_addrs found;
	if (sz_resolve(url->host, url->port, &found, err) < 0)
		return -1;
	size_t best = 0;
	while (best < found.count && found.list[best].storage.ss_family != AF_INET)
		best++;
	if (best < found.count) {
		struct sz_addr first = found.list[best];
		memmove(&found.list[1], &found.list[0], best * sizeof(first));
		found.list[0] = first;
	}
	*addrs = found;
	return 0;
}

int sz_url_resolve(const struct sz_url *url, struct sz_addr *addr, struct sz_err *err)
{
	struct sz_addrs found;
	if (sz_url_resolve_all(url, &found, err) < 0)
		return -1;
	*addr = found.list[0];
	return 0;
}
