/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a service listens: IPv4, IPv6 or a unix socket, in one type.
 */
#ifndef SZ_NET_ADDR_H
#define SZ_NET_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct sz_addr {
	struct sockaddr_storage storage;
	socklen_t len;
};

#define SZ_ADDRS_MAX 16

struct sz_addrs {
	struct sz_addr list[SZ_ADDRS_MAX];
	size_t count;
	size_t left_out; /* further ones that the list has no room for */
};

/* Addresses of a host name or a literal (IPv6 without brackets), each once, in
 * the order of getaddrinfo(3); at least one. A name that does not resolve is
 * SZ_USAGE. Asks the resolver: may block. */
int sz_resolve(const char *host, uint16_t port, struct sz_addrs *addrs, struct sz_err *err);

/* The unix socket at path. Does not look whether it is there. A path that the
 * kernel's 108 bytes do not hold is SZ_USAGE. */
int sz_addr_unix(const char *path, struct sz_addr *addr, struct sz_err *err);

/* The index-th address of 127.0.0.0/8 after 127.0.0.0, any port. All are this
 * machine's own, so each has a range of local ports to itself. */
struct sz_addr sz_addr_local(unsigned index);

/* Cannot leave this machine: 127.0.0.0/8, ::1, IPv4-mapped 127.0.0.0/8, or a
 * unix socket. */
bool sz_addr_is_loopback(const struct sz_addr *addr);

/* Printable "127.0.0.1:80" or "[::1]:80" in text, or the path of a unix
 * socket, which is addr's own. */
const char *sz_addr_text(const struct sz_addr *addr, char text[64]);

#endif
