/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

#define SOCKET_TYPE (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

static void turn_on(int fd, int level, int option)
{
	int on = 1;
	setsockopt(fd, level, option, &on, sizeof(on));
}

static int numeric_addr(const char *host, uint16_t port, struct sz_addr *addr, struct sz_err *err)
{
	const struct addrinfo want = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
	};
	struct addrinfo *found = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &want, &found) != 0) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' is not a numeric address", host);
		return sz_err_hint(err, "write it like 127.0.0.1, 0.0.0.0 or ::1");
	}
	*addr = (struct sz_addr){.len = found->ai_addrlen};
	memcpy(&addr->storage, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

static int listen_error(int errnum, const struct sz_addr *addr, struct sz_err *err)
{
	static const struct {
		int errnum;
		enum sz_code code;
		const char *hint;
	} remedies[] = {
		{EADDRINUSE, SZ_MACHINE, "choose another --port, or stop the program that has it"},
		{EACCES, SZ_MACHINE, "choose a --port of 1024 or more"},
		{EADDRNOTAVAIL, SZ_USAGE, "choose a --host that is an address of this machine"},
	};
	char text[64];
	sz_addr_text(addr, text);
	for (size_t i = 0; i < SZ_ARRAY_LEN(remedies); i++) {
		if (remedies[i].errnum != errnum)
			continue;
		sz_err_set(err, remedies[i].code, errnum, "cannot listen on %s", text);
		return sz_err_hint(err, "%s", remedies[i].hint);
	}
	return sz_err_set(err, SZ_MACHINE, errnum, "cannot listen on %s", text);
}

int sz_listen(const struct sz_listen_options *options, struct sz_err *err)
{
	struct sz_addr addr;
	const char *host = options->host ? options->host : "127.0.0.1";
	if (numeric_addr(host, options->port, &addr, err) < 0)
		return -1;
	sz_autoclose int fd = socket(addr.storage.ss_family, SOCKET_TYPE, 0);
	if (fd < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot make a socket");
	turn_on(fd, SOL_SOCKET, SO_REUSEADDR);
	if (options->reuseport)
		turn_on(fd, SOL_SOCKET, SO_REUSEPORT);
	/* Two sockets may both bind with SO_REUSEADDR; the second listen() then
	 * fails with the same EADDRINUSE. */
	if (bind(fd, (const struct sockaddr *)&addr.storage, addr.len) < 0 ||
	    listen(fd, options->backlog) < 0)
		return listen_error(errno, &addr, err);
	return sz_steal_fd(&fd);
}

uint16_t sz_socket_port(int fd)
{
	struct sockaddr_storage storage;
	socklen_t len = sizeof(storage);
	if (getsockname(fd, (struct sockaddr *)&storage, &len) < 0)
		return 0;
	switch (storage.ss_family) {
	case AF_INET:
		return ntohs(((const struct sockaddr_in *)(const void *)&storage)->sin_port);
	case AF_INET6:
		return ntohs(((const struct sockaddr_in6 *)(const void *)&storage)->sin6_port);
	default:
		return 0;
	}
}

uint16_t sz_free_port(struct sz_err *err)
{
	const struct sockaddr_in any_port = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	sz_autoclose int fd = socket(AF_INET, SOCKET_TYPE, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&any_port, sizeof(any_port)) < 0) {
		sz_err_set(err, SZ_MACHINE, errno, "cannot find a free port");
		return 0;
	}
	return sz_socket_port(fd);
}

int sz_connect_start(const struct sz_addr *addr)
{
	return sz_connect_from(addr, NULL);
}

int sz_connect_from(const struct sz_addr *addr, const struct sz_addr *source)
{
	sz_autoclose int fd = socket(addr->storage.ss_family, SOCKET_TYPE, 0);
	if (fd < 0)
		return -errno;
	if (addr->storage.ss_family != AF_UNIX)
		turn_on(fd, IPPROTO_TCP, TCP_NODELAY);
	if (source) {
		turn_on(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
		if (bind(fd, (const struct sockaddr *)&source->storage, source->len) < 0)
			return -errno;
	}
	if (connect(fd, (const struct sockaddr *)&addr->storage, addr->len) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return sz_steal_fd(&fd);
}
