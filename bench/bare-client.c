/* SPDX-License-Identifier: Apache-2.0
 *
 * bare-client PORT CONNECTIONS SECONDS: the least that a client of HTTP/1.1 can
 * do, to compare others with. It writes a request and reads until as many bytes
 * have come as the first response had; it neither parses nor times anything.
 * Prints requests and the CPU time of its process, in us per request.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1024

static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

static int connected(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		err(1, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void ask(int fd)
{
	if (write(fd, request, sizeof(request) - 1) != (ssize_t)sizeof(request) - 1)
		err(1, "write");
}

/* Bytes of a response: what comes until nothing has for a while. */
static size_t response_bytes(int port)
{
	char bytes[65536];
	size_t total = 0;
	ssize_t len;
	struct timeval patience = {.tv_usec = 200000};
	int fd = connected(port);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ask(fd);
	while ((len = read(fd, bytes, sizeof(bytes))) > 0)
		total += (size_t)len;
	close(fd);
	return total;
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	static size_t missing[CONNECTIONS_MAX * 2]; /* by descriptor */
	static char bytes[65536];
	struct epoll_event events[CONNECTIONS_MAX];
	if (argc != 4)
		errx(2, "usage: bare-client PORT CONNECTIONS SECONDS");
	int port = atoi(argv[1]), connections = atoi(argv[2]), poll = epoll_create1(0);
	if (connections < 1 || connections > CONNECTIONS_MAX)
		errx(2, "1 to %d connections", CONNECTIONS_MAX);
	size_t size = response_bytes(port), done = 0;
	for (int i = 0; i < connections; i++) {
		int fd = connected(port);
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
		epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
		missing[fd] = size;
		ask(fd);
	}
	double until_s = now_s() + atof(argv[3]), before_s = cpu_s();
	while (now_s() < until_s) {
		int count = epoll_wait(poll, events, CONNECTIONS_MAX, 100);
		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;
			ssize_t len = read(fd, bytes, sizeof(bytes));
			if (len <= 0 || (size_t)len > missing[fd])
				errx(1, "not the response of before");
			missing[fd] -= (size_t)len;
			if (missing[fd])
				continue;
			missing[fd] = size;
			done++;
			ask(fd);
		}
	}
	printf("%zu requests, %.3f us\n", done, (cpu_s() - before_s) * 1e6 / (double)done);
	return 0;
}
