/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of services: http://HOST[:PORT][/PATH][?QUERY], or a path alone, for a
 * service whose port is chosen later. Pure parsing; sz_url_resolve() asks the
 * resolver.
 */
#ifndef SZ_NET_URL_H
#define SZ_NET_URL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct sz_url {
	char host[256];    /* without the brackets of IPv6; "" when only a path was given */
	uint16_t port;     /* 0 when only a path was given */
	char target[2048]; /* request target: path and query, starts with '/' */
};

struct sz_addr {
	struct sockaddr_storage storage;
	socklen_t len;
};

/* Parse and validate. https and other schemes, user:password@, spaces,
 * control bytes, fragments and over-long parts are refused with SZ_USAGE. */
int sz_url_parse(const char *text, struct sz_url *url, struct sz_err *err);

/* The value of the Host header: host[:port], with brackets for IPv6; the
 * port is left out when it is 80. */
const char *sz_url_host_header(const struct sz_url *url, char text[272]);

/* Address of url->host: the first IPv4 one, or the first of any kind when it
 * has none ("localhost" is ::1 first, and most services listen on 127.0.0.1
 * alone). A name that does not resolve is SZ_USAGE. */
int sz_url_resolve(const struct sz_url *url, struct sz_addr *addr, struct sz_err *err);

/* 127.0.0.0/8, ::1, or IPv4-mapped 127.0.0.0/8. */
bool sz_addr_is_loopback(const struct sz_addr *addr);

/* Printable "127.0.0.1:80" or "[::1]:80". */
const char *sz_addr_text(const struct sz_addr *addr, char text[64]);

#endif
