/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXAMPLE "write it like http://127.0.0.1:8000/path"

static int refuse(struct sz_err *err, const char *text, const char *why)
{
	sz_err_set(err, SZ_USAGE, 0, "'%.200s' is not a usable URL: %s", text, why);
	return sz_err_hint(err, EXAMPLE);
}

/* What no part of a URL may hold. NULL, or why not. */
static const char *check_bytes(const char *text)
{
	for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
		if (*byte <= ' ' || *byte == 0x7f)
			return "it holds a space or a control character";
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

static int check_scheme(const char *text, struct sz_err *err)
{
	size_t len = scheme_len(text);
	if (len == 4 && strncasecmp(text, "http", 4) == 0)
		return 0;
	if (len == 0) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' is not a usable URL: it has no http://",
			   text);
		return sz_err_hint(err, "did you mean http://%.200s ?", text);
	}
	if (len == 5 && strncasecmp(text, "https", 5) == 0) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s': TLS is not supported by this version",
			   text);
		return sz_err_hint(err, "give the plain HTTP address of the service, the one "
					"behind the TLS proxy");
	}
	return refuse(err, text, "only http:// is supported");
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

/* HOST[:PORT] in text[0..len). NULL, or why not. */
static const char *parse_authority(const char *text, size_t len, struct sz_url *url)
{
	if (memchr(text, '@', len))
		return "user and password are not supported";
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
	url->port = 80;
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
	const char *why = *text ? check_bytes(text) : "it is empty";
	if (why)
		return refuse(err, text, why);
	const char *target = text;
	if (*text != '/') {
		if (check_scheme(text, err) < 0)
			return -1;
		const char *authority = text + strlen("http://");
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
	if (url->port != 80)
		snprintf(text + len, 272 - (size_t)len, ":%u", url->port);
	return text;
}

int sz_url_resolve(const struct sz_url *url, struct sz_addr *addr, struct sz_err *err)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char port[8];
	snprintf(port, sizeof(port), "%u", url->port);
	int status = getaddrinfo(url->host, port, &want, &found);
	if (status != 0) {
		sz_err_set(err, SZ_USAGE, 0, "cannot resolve host '%s': %s", url->host,
			   gai_strerror(status));
		return sz_err_hint(err, "check the spelling, or give the address itself");
	}
	const struct addrinfo *best = found;
	while (best->ai_family != AF_INET && best->ai_next)
		best = best->ai_next;
	if (best->ai_family != AF_INET)
		best = found;
	*addr = (struct sz_addr){.len = best->ai_addrlen};
	memcpy(&addr->storage, best->ai_addr, best->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

bool sz_addr_is_loopback(const struct sz_addr *addr)
{
	if (addr->storage.ss_family == AF_INET) {
		const struct sockaddr_in *ipv4 = (const void *)&addr->storage;
		return ntohl(ipv4->sin_addr.s_addr) >> 24 == 127;
	}
	if (addr->storage.ss_family == AF_INET6) {
		const struct in6_addr *ipv6 =
			&((const struct sockaddr_in6 *)(const void *)&addr->storage)->sin6_addr;
		return IN6_IS_ADDR_LOOPBACK(ipv6) ||
		       (IN6_IS_ADDR_V4MAPPED(ipv6) && ipv6->s6_addr[12] == 127);
	}
	return false;
}

const char *sz_addr_text(const struct sz_addr *addr, char text[64])
{
	char host[INET6_ADDRSTRLEN] = "?";
	if (addr->storage.ss_family == AF_INET6) {
		const struct sockaddr_in6 *ipv6 = (const void *)&addr->storage;
		inet_ntop(AF_INET6, &ipv6->sin6_addr, host, sizeof(host));
		snprintf(text, 64, "[%s]:%u", host, ntohs(ipv6->sin6_port));
	} else {
		const struct sockaddr_in *ipv4 = (const void *)&addr->storage;
		inet_ntop(AF_INET, &ipv4->sin_addr, host, sizeof(host));
		snprintf(text, 64, "%s:%u", host, ntohs(ipv4->sin_port));
	}
	return text;
}
