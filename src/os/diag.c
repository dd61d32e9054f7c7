/* SPDX-License-Identifier: Apache-2.0
 *
 * Listeners by sock_diag(7).
 */
#include "os/diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/mem.h"

static int ask(int fd, uint8_t family, uint16_t port)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = 1 << TCP_LISTEN,
			 .id.idiag_sport = htons(port)},
	};
	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

/* Add up one datagram. 1 while more is to come, 0 at the end, or -errno. */
static int add_messages(struct nlmsghdr *message, size_t len, uint64_t *queue)
{
	for (; NLMSG_OK(message, len); message = NLMSG_NEXT(message, len)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 0;
		if (message->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(message);
			bool whole = message->nlmsg_len >= NLMSG_LENGTH(sizeof(*error));
			return whole && error->error < 0 ? error->error : -EBADMSG;
		}
		const struct inet_diag_msg *socket = NLMSG_DATA(message);
		if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(*socket)))
			*queue += socket->idiag_rqueue;
	}
	return 1;
}

static int add_family(int fd, uint8_t family, uint16_t port, uint64_t *queue)
{
	_Alignas(struct nlmsghdr) char buffer[16384];
	int rc = ask(fd, family, port);
	if (rc < 0)
		return rc;
	do {
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);
		if (len < 0 && errno == EINTR)
			rc = 1;
		else if (len <= 0)
			return len < 0 ? -errno : -EBADMSG;
		else
			rc = add_messages((struct nlmsghdr *)buffer, (size_t)len, queue);
	} while (rc > 0);
	return rc;
}

int sz_diag_listen_queue(uint16_t port)
{
	sz_autoclose int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return -errno;
	uint64_t queue = 0;
	int rc = add_family(fd, AF_INET, port, &queue);
	if (rc == 0)
		rc = add_family(fd, AF_INET6, port, &queue);
	if (rc < 0)
		return rc;
	return queue < INT_MAX ? (int)queue : INT_MAX;
}
