/* SPDX-License-Identifier: Apache-2.0 */
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static bool is_listed(const struct sz_addrs *addrs, const struct addrinfo *found)
{
	for (size_t i = 0; i < addrs->count; i++) {
		const struct sz_addr *addr = &addrs->list[i];
		if (addr->len == found->ai_addrlen &&
		    memcmp(&addr->storage, found->ai_addr, addr->len) == 0)
			return true;
	}
	return false;
}

/* Each once: /etc/hosts often gives localhost two lines, and then 127.0.0.1
 * comes twice. */
static void list_addresses(const struct addrinfo *found, struct sz_addrs *addrs)
{
	*addrs = (struct sz_addrs){0};
	for (; found; found = found->ai_next) {
		if (is_listed(addrs, found))
			continue;
		if (addrs->count == SZ_ADDRS_MAX) {
			addrs->left_out++;
			continue;
		}
		struct sz_addr *addr = &addrs->list[addrs->count++];
		addr->len = found->ai_addrlen;
		memcpy(&addr->storage, found->ai_addr, found->ai_addrlen);
	}
}

static int resolve_failed(const char *host, int status, int errnum, struct sz_err *err)
{
	if (status == EAI_MEMORY)
		return sz_err_nomem(err);
	sz_err_set(err, SZ_USAGE, status == EAI_SYSTEM ? errnum : 0,
		   "cannot resolve host '%.253s': %s", host, gai_strerror(status));
	if (status == EAI_AGAIN)
		return sz_err_hint(err, "no name server answered: see /etc/resolv.conf, or give "
					"the address itself");
	return sz_err_hint(err, "check the spelling, or give the address itself");
}

int sz_resolve(const char *host, uint16_t port, struct sz_addrs *addrs, struct sz_err *err)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", port);
	int status = getaddrinfo(host, service, &want, &found);
	if (status != 0)
		return resolve_failed(host, status, errno, err);
	list_addresses(found, addrs);
	freeaddrinfo(found);
	return 0;
}

int sz_addr_unix(const char *path, struct sz_addr *addr, struct sz_err *err)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof(un.sun_path)) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' cannot be the path of a unix socket: %s",
			   path, len ? "the kernel takes at most 107 characters" : "it is empty");
		return sz_err_hint(err,
				   "give the path where the service listens; a long one can be "
				   "relative, or go through a symbolic link");
	}
	memcpy(un.sun_path, path, len);
	*addr = (struct sz_addr){.len = sizeof(un)};
	memcpy(&addr->storage, &un, sizeof(un));
	return 0;
}

struct sz_addr sz_addr_local(unsigned index)
{
	const struct sockaddr_in ipv4 = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + index),
	};
	struct sz_addr addr = {.len = sizeof(ipv4)};
	memcpy(&addr.storage, &ipv4, sizeof(ipv4));
	return addr;
}

bool sz_addr_is_loopback(const struct sz_addr *addr)
{
	if (addr->storage.ss_family == AF_UNIX)
		return true;
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
	if (addr->storage.ss_family == AF_UNIX)
		return ((const struct sockaddr_un *)(const void *)&addr->storage)->sun_path;
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
