/* SPDX-License-Identifier: Apache-2.0 */
#include "net/get.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "net/http1.h"
#include "net/listener.h"

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

static int finish_connect(int fd, uint64_t deadline_ns)
{
	int errnum = wait_ready(fd, POLLOUT, deadline_ns);
	socklen_t len = sizeof(errnum);
	if (errnum == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	return errnum;
}

static int send_all(int fd, const char *bytes, size_t len, uint64_t deadline_ns)
{
	while (len) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
		if (sent >= 0) {
			bytes += sent;
			len -= (size_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return errno;
		int errnum = wait_ready(fd, POLLOUT, deadline_ns);
		if (errnum)
			return errnum;
	}
	return 0;
}

static int read_response(int fd, uint64_t deadline_ns, struct sz_http1_response *response)
{
	enum sz_http1_state state = SZ_HTTP1_MORE;
	while (state == SZ_HTTP1_MORE) {
		char bytes[16384];
		size_t consumed;
		int errnum = wait_ready(fd, POLLIN, deadline_ns);
		if (errnum)
			return errnum;
		ssize_t len = recv(fd, bytes, sizeof(bytes), 0);
		if (len > 0)
			state = sz_http1_response_feed(response, bytes, (size_t)len, &consumed);
		else if (len == 0)
			state = sz_http1_response_eof(response);
		else if (errno != EAGAIN && errno != EINTR)
			return errno;
	}
	return state == SZ_HTTP1_COMPLETE ? 0 : EPROTO;
}

int sz_get(const struct sz_url *url, const struct sz_addr *addr, uint64_t deadline_ns, int *status,
	   struct sz_err *err)
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
	sz_autoclose int fd = sz_connect_start(addr);
	if (fd < 0)
		return fail(err, addr, -fd);

	struct sz_http1_response response;
	sz_http1_response_init(&response, false);
	int errnum = finish_connect(fd, deadline_ns);
	if (!errnum)
		errnum = send_all(fd, request, (size_t)len, deadline_ns);
	if (!errnum)
		errnum = read_response(fd, deadline_ns, &response);
	if (errnum) {
		fail(err, addr, errnum);
		return response.why ? sz_err_wrap(err, "%s", response.why) : -1;
	}
	*status = response.status;
	return 0;
}
