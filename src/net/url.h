/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of services: http[s]://HOST[:PORT][/PATH][?QUERY], or a path alone, for
 * a service whose port is chosen later. Pure parsing; sz_url_resolve() asks the
 * resolver. A unix socket is no part of a URL: it takes the place of the
 * address (sz_addr_unix()), and the URL says the rest.
 */
#ifndef SZ_NET_URL_H
#define SZ_NET_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"

struct sz_url {
	char host[256];    /* without the brackets of IPv6; "" when only a path was given */
	bool tls;          /* https */
	uint16_t port;     /* 0 when only a path was given */
	char target[2048]; /* request target: path and query, starts with '/' */
};

/* What no part of a URL may hold: all but visible ASCII, and '#'. NULL, or why
 * text cannot be sent. */
const char *sz_url_bytes_fault(const char *text);

/* Parse and validate. Other schemes, user:password@, spaces,
 * control bytes, fragments and over-long parts are refused with SZ_USAGE. */
int sz_url_parse(const char *text, struct sz_url *url, struct sz_err *err);

/* The value of the Host header: host[:port], with brackets for IPv6; the
 * port is left out when it is the scheme's own, 80 or 443. */
const char *sz_url_host_header(const struct sz_url *url, char text[272]);

/* Address of url->host: the first IPv4 one, or the first of any kind when it
 * has none ("localhost" is ::1 first, and most services listen on 127.0.0.1
 * alone). A name that does not resolve is SZ_USAGE. */
int sz_url_resolve(const struct sz_url *url, struct sz_addr *addr, struct sz_err *err);

/* All addresses of it as sz_resolve() finds them, but that one first. */
int sz_url_resolve_all(const struct sz_url *url, struct sz_addrs *addrs, struct sz_err *err);

#endif
