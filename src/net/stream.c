/* SPDX-License-Identifier: Apache-2.0 */
#include "net/stream.h"

#include "base/mem.h"
#include "net/listener.h"

static int connect_route(struct sz_route *route)
{
	if (!route->source_count)
		return sz_connect_start(&route->addr);
	const struct sz_addr source = sz_addr_local(route->source_next);
	route->source_next = (route->source_next + 1) % route->source_count;
	return sz_connect_from(&route->addr, &source);
}

int sz_stream_open(struct sz_stream *stream, struct sz_route *route)
{
	*stream = (struct sz_stream){.fd = connect_route(route), .origin = route->tls};
	int status = stream->fd < 0 ? stream->fd : 0;
	if (status < 0)
		stream->fd = -1;
	return status;
}

int sz_stream_connected(struct sz_stream *stream)
{
	int errnum = 0;
	socklen_t len = sizeof(errnum);
	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		return -errno;
	return -errnum;
}

int sz_stream_explain(const struct sz_route *route, int errnum, struct sz_err *err)
{
	static const struct {
		int errnum;
		const char *hint;
	} remedies[] = {
		{ECONNREFUSED, "nothing listens there: start the service, or correct the address"},
		{ENOENT, "no such socket: start the service, or correct the path"},
		{EACCES, "the socket may not be used: run as its user, or change its mode"},
		{EAGAIN, "its listen queue is full: fewer clients, or a longer backlog there"},
		{EADDRNOTAVAIL,
		 "all local ports towards it are in use or in TIME-WAIT: keep connections "
		 "open longer, connect from several addresses (--sources 16), or widen "
		 "net.ipv4.ip_local_port_range"},
		{EMFILE, "raise the limit of open files (ulimit -n), or ask for fewer clients"},
		{ENFILE, "raise fs.file-max, or ask for fewer clients"},
	};
	char text[64];
	sz_err_set(err, SZ_MACHINE, errnum, "cannot connect to %s",
		   sz_addr_text(&route->addr, text));
	for (size_t i = 0; i < SZ_ARRAY_LEN(remedies); i++) {
		if (remedies[i].errnum == errnum)
			return sz_err_hint(err, "%s", remedies[i].hint);
	}
	return -1;
}
