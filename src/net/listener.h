/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets: listening ones, and non-blocking connects. Every descriptor is
 * close-on-exec and non-blocking.
 */
#ifndef SZ_NET_LISTENER_H
#define SZ_NET_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"

struct sz_listen_options {
	const char *host; /* numeric address; NULL is 127.0.0.1 */
	uint16_t port;    /* 0: the kernel chooses; read it back with sz_socket_port() */
	int backlog;      /* as given to listen(2); the kernel caps it at somaxconn */
	bool reuseport;
};

/* A listening TCP socket, SO_REUSEADDR set. The descriptor or -1. A busy port
 * is SZ_MACHINE with a remedy. */
int sz_listen(const struct sz_listen_options *options, struct sz_err *err);

/* Local port of a socket, 0 on failure. */
uint16_t sz_socket_port(int fd);

/* A port that was free a moment ago on 127.0.0.1; 0 with err on failure. */
uint16_t sz_free_port(struct sz_err *err);

/* Begin connecting; TCP gets TCP_NODELAY. The descriptor (connected or in
 * progress), or -errno. A unix socket connects at once or not at all: -EAGAIN
 * is a full listen queue, and nothing tells when there is room again. */
int sz_connect_start(const struct sz_addr *addr);

/* The same, from an address of our own (sz_addr_local()); its port is chosen
 * when the destination is known, so that one local port serves several. When
 * all of them are taken it is -EADDRNOTAVAIL, as without a source. */
int sz_connect_from(const struct sz_addr *addr, const struct sz_addr *source);

#endif
