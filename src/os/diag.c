/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets by sock_diag(7).
 */
#include "os/diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"

bool sz_diag_reaches(const struct sz_os *os, pid_t pid)
{
	char path[64];
	struct stat ours, theirs;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return sz_os_is_live(os) && stat("/proc/self/ns/net", &ours) == 0 &&
	       stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

/* ---- a dump ---- */

/* One socket: a body of `len` bytes. 0 to go on, or -errno. */
typedef int on_socket_fn(void *body, size_t len, void *arg);

struct dump {
	on_socket_fn *on_socket;
	void *arg;
};

/* One datagram. 1 while more is to come, 0 at the end, or -errno. */
static int take_messages(struct nlmsghdr *message, size_t len, const struct dump *dump)
{
	for (; NLMSG_OK(message, len); message = NLMSG_NEXT(message, len)) {
		size_t body_len = message->nlmsg_len - NLMSG_HDRLEN;
		if (message->nlmsg_type == NLMSG_DONE)
			return 0;
		if (message->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(message);
			bool whole = body_len >= sizeof(*error);
			return whole && error->error < 0 ? error->error : -EBADMSG;
		}
		int rc = dump->on_socket(NLMSG_DATA(message), body_len, dump->arg);
		if (rc < 0)
			return rc;
	}
	return 1;
}

static int run_dump(int fd, const void *request, size_t size, const struct dump *dump)
{
	_Alignas(struct nlmsghdr) char buffer[32768];
	int rc = send(fd, request, size, 0) < 0 ? -errno : 1;
	while (rc > 0) {
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len < 0 ? -errno : -EBADMSG;
		rc = take_messages((struct nlmsghdr *)buffer, (size_t)len, dump);
	}
	return rc;
}

static int open_diag(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return fd < 0 ? -errno : fd;
}

/* ---- TCP ---- */

static int add_queue(void *body, size_t len, void *arg)
{
	const struct inet_diag_msg *socket = body;
	if (len >= sizeof(*socket))
		*(uint64_t *)arg += socket->idiag_rqueue;
	return 0;
}

static int add_listen_queue(int fd, uint8_t family, uint16_t port, uint64_t *queue)
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
	return run_dump(fd, &request, sizeof(request), &(struct dump){add_queue, queue});
}

int sz_diag_listen_queue(uint16_t port)
{
	sz_autoclose int fd = open_diag();
	if (fd < 0)
		return fd;
	uint64_t queue = 0;
	int rc = add_listen_queue(fd, AF_INET, port, &queue);
	if (rc == 0)
		rc = add_listen_queue(fd, AF_INET6, port, &queue);
	if (rc < 0)
		return rc;
	return queue < INT_MAX ? (int)queue : INT_MAX;
}

struct tcp_rows {
	sz_tcp_row_fn *on_row;
	void *arg;
};

static struct sz_tcp_end end_of(uint8_t family, const __be32 address[4], __be16 port)
{
	struct sz_tcp_end end = {.port = ntohs(port)};
	if (family == AF_INET) {
		end.address[10] = end.address[11] = 0xff;
		memcpy(end.address + 12, address, 4);
	} else {
		memcpy(end.address, address, 16);
	}
	return end;
}

static int take_tcp(void *body, size_t len, void *arg)
{
	const struct tcp_rows *rows = arg;
	const struct inet_diag_msg *socket = body;
	if (len < sizeof(*socket))
		return -EBADMSG;
	const struct inet_diag_sockid *id = &socket->id;
	const struct sz_tcp_row row = {
		.inode = socket->idiag_inode,
		.state = socket->idiag_state,
		.rx_queue = socket->idiag_rqueue,
		.uid = socket->idiag_uid,
		.local = end_of(socket->idiag_family, id->idiag_src, id->idiag_sport),
		.remote = end_of(socket->idiag_family, id->idiag_dst, id->idiag_dport),
	};
	return rows->on_row(&row, rows->arg);
}

/* The older request is the one for both families at once, in one walk. */
int sz_diag_tcp(sz_tcp_row_fn *on_row, void *arg)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req body;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = TCPDIAG_GETSOCK,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body.idiag_states = 1 << TCP_ESTABLISHED | 1 << TCP_LISTEN,
	};
	sz_autoclose int fd = open_diag();
	if (fd < 0)
		return fd;
	struct tcp_rows rows = {on_row, arg};
	return run_dump(fd, &request, sizeof(request), &(struct dump){take_tcp, &rows});
}

/* ---- unix ---- */

struct unix_rows {
	sz_unix_row_fn *on_row;
	void *arg;
};

static void note_attribute(struct rtattr *attribute, struct sz_unix_row *row)
{
	uint32_t value = 0;
	if (attribute->rta_type == UNIX_DIAG_NAME)
		row->named = true;
	if (RTA_PAYLOAD(attribute) != sizeof(value))
		return;
	memcpy(&value, RTA_DATA(attribute), sizeof(value));
	if (attribute->rta_type == UNIX_DIAG_PEER)
		row->peer = value;
	else if (attribute->rta_type == UNIX_DIAG_UID)
		row->uid = value;
}

static int take_unix(void *body, size_t len, void *arg)
{
	const struct unix_rows *rows = arg;
	struct unix_diag_msg *socket = body;
	if (len < sizeof(*socket))
		return -EBADMSG;
	if (socket->udiag_type != SOCK_STREAM)
		return 0;
	struct sz_unix_row row = {.inode = socket->udiag_ino, .uid = (uid_t)-1};
	int left = (int)(len - sizeof(*socket));
	for (struct rtattr *at = (struct rtattr *)(socket + 1); RTA_OK(at, left);
	     at = RTA_NEXT(at, left))
		note_attribute(at, &row);
	return rows->on_row(&row, rows->arg);
}

int sz_diag_unix(sz_unix_row_fn *on_row, void *arg)
{
	const struct {
		struct nlmsghdr header;
		struct unix_diag_req body;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = AF_UNIX,
			 .udiag_states = 1 << TCP_ESTABLISHED,
			 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_UID},
	};
	sz_autoclose int fd = open_diag();
	if (fd < 0)
		return fd;
	struct unix_rows rows = {on_row, arg};
	return run_dump(fd, &request, sizeof(request), &(struct dump){take_unix, &rows});
}
