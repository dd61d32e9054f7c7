/* SPDX-License-Identifier: Apache-2.0 */
#include "net/get.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "net/http1.h"
#include "net/stream.h"

static int fail(struct sz_err *err, const struct sz_addr *addr, int errnum)
{
	char text[64];
	return sz_err_set(err, errnum == ECANCELED ? SZ_INTERRUPTED : SZ_MACHINE, errnum,
			  "no answer from %s", sz_addr_text(addr, text));
}

/* Wait until fd is ready. 0, ETIMEDOUT or ECANCELED. */
static int wait_ready(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now_ns = sz_now_ns();
		if (sz_stop_requested())
			return ECANCELED;
		if (now_ns >= deadline_ns)
			return ETIMEDOUT;
		struct timespec left = sz_ns_timespec(deadline_ns - now_ns);
		struct pollfd waits[] = {
			{.fd = fd, .events = events},
			{.fd = sz_stop_fd(), .events = POLLIN},
		};
		int ready = ppoll(waits, SZ_ARRAY_LEN(waits), &left, NULL);
		if (ready < 0 && errno != EINTR)
			return errno;
		if (ready > 0 && waits[0].revents)
			return 0;
	}
}

/* Wait for what the stream's last call wants. */
static int wait_wanted(const struct sz_stream *stream, uint64_t deadline_ns)
{
	return wait_ready(stream->fd, stream->wants == EPOLLOUT ? POLLOUT : POLLIN, deadline_ns);
}

static int finish_connect(struct sz_stream *stream, uint64_t deadline_ns, struct sz_err *err)
{
	int errnum = wait_ready(stream->fd, POLLOUT, deadline_ns);
	int status = errnum ? -errnum : sz_stream_connected(stream);
	while (status == 0 && (status = sz_stream_handshake(stream, err)) == -EAGAIN)
		status = -wait_wanted(stream, deadline_ns);
	return -status;
}

static int send_all(struct sz_stream *stream, const char *bytes, size_t len, uint64_t deadline_ns)
{
	while (len) {
		ssize_t sent = sz_stream_write(stream, bytes, len);
		if (sent >= 0) {
			bytes += sent;
			len -= (size_t)sent;
			continue;
		}
		if (sent != -EAGAIN && sent != -EINTR)
			return (int)-sent;
		int errnum = wait_wanted(stream, deadline_ns);
		if (errnum)
			return errnum;
	}
	return 0;
}

static int read_response(struct sz_stream *stream, uint64_t deadline_ns,
			 struct sz_http1_response *response)
{
	enum sz_http1_state state = SZ_HTTP1_MORE;
	while (state == SZ_HTTP1_MORE) {
		char bytes[16384];
		size_t consumed;
		ssize_t len = sz_stream_read(stream, bytes, sizeof(bytes));
		int errnum = 0;
		if (len > 0)
			state = sz_http1_response_feed(response, bytes, (size_t)len, &consumed);
		else if (len == 0)
			state = sz_http1_response_eof(response);
		else if (len == -EAGAIN || len == -EINTR)
			errnum = wait_wanted(stream, deadline_ns);
		else
			errnum = (int)-len;
		if (errnum)
			return errnum;
	}
	return state == SZ_HTTP1_COMPLETE ? 0 : EPROTO;
}

static int ask(struct sz_stream *stream, const struct sz_url *url, uint64_t deadline_ns,
	       struct sz_http1_response *response)
{
	char host[272];
	char request[sizeof(url->target) + sizeof(host) + 128];
	int len = snprintf(request, sizeof(request),
			   "GET %s HTTP/1.1\r\n"
			   "Host: %s\r\n"
			   "User-Agent: sizeup/" SIZEUP_VERSION "\r\n"
			   "Accept: */*\r\n"
			   "Connection: close\r\n\r\n",
			   url->target, sz_url_host_header(url, host));
	sz_http1_response_init(response, false);
	int errnum = send_all(stream, request, (size_t)len, deadline_ns);
	return errnum ? errnum : read_response(stream, deadline_ns, response);
}

/* Over an open route. */
static int get(const struct sz_url *url, struct sz_route *route, uint64_t deadline_ns, int *status,
	       struct sz_err *err)
{
	struct sz_http1_response response = {0};
	struct sz_stream stream;
	struct sz_err handshake = {0};
	int errnum = -sz_stream_open(&stream, route);
	if (errnum)
		return fail(err, &route->addr, errnum);
	errnum = finish_connect(&stream, deadline_ns, &handshake);
	if (!errnum)
		errnum = ask(&stream, url, deadline_ns, &response);
	sz_stream_close(&stream);
	if (errnum) {
		fail(err, &route->addr, errnum);
		const char *why = handshake.message[0] ? handshake.message : response.why;
		return why ? sz_err_wrap(err, "%s", why) : -1;
	}
	*status = response.status;
	return 0;
}

int sz_get(const struct sz_url *url, const struct sz_addr *addr, struct sz_tls *tls,
	   uint64_t deadline_ns, int *status, struct sz_err *err)
{
	struct sz_route route = {.addr = *addr};
	if (url->tls) {
		route.tls = sz_tls_origin_new(tls, url->host, err);
		if (!route.tls)
			return -1;
	}
	int result = get(url, &route, deadline_ns, status, err);
	sz_tls_origin_free(route.tls);
	return result;
}
