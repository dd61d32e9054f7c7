/* SPDX-License-Identifier: Apache-2.0
 *
 * A real server in a child process, and a plain blocking client, for the
 * tests of rt/ and serve/. Include after cmocka.
 */
#ifndef SZ_TEST_SERVER_H
#define SZ_TEST_SERVER_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/http1.h"
#include "net/listener.h"
#include "net/url.h"
#include "rt/rt.h"
#include "serve/serve.h"

#define BIG_BYTES ((size_t)8 * 1024 * 1024)

struct server {
	pid_t pid;
	uint16_t port;
};

struct server_options {
	unsigned workers; /* 0: one */
	bool reuseport;
	uint64_t stop_budget_ns; /* 0: five seconds */
	rlim_t descriptors;      /* 0: as they are */
};

/* /pid answers with the worker's pid, /big with BIG_BYTES; the rest is serve/. */
static inline void test_handle(struct sz_rt_request *request, void *app)
{
	char text[32];
	if (strcmp(sz_rt_path(request), "/pid") == 0) {
		snprintf(text, sizeof(text), "%d", (int)getpid());
		sz_rt_respond(request, 200, "text/plain", text, strlen(text));
	} else if (strcmp(sz_rt_path(request), "/big") == 0) {
		char *body = calloc(1, BIG_BYTES);
		sz_rt_respond(request, 200, "application/octet-stream", body, BIG_BYTES);
		free(body);
	} else {
		sz_serve_handle(request, app);
	}
}

static inline void tell_port(uint16_t port, void *app)
{
	if (write(*(int *)app, &port, sizeof(port)) < 0)
		_exit(9);
}

static _Noreturn void be_server(const struct server_options *options, int pipe_fd)
{
	struct sz_rt_config config = {
		.workers = options->workers ? options->workers : 1,
		.backlog = 511,
		.reuseport = options->reuseport,
		.stop_budget_ns =
			options->stop_budget_ns ? options->stop_budget_ns : 5 * SZ_NS_PER_S,
		.handle = test_handle,
		.on_listening = tell_port,
		.app = &pipe_fd,
	};
	struct rlimit limit = {options->descriptors, options->descriptors};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (options->descriptors)
		setrlimit(RLIMIT_NOFILE, &limit);
	_exit(sz_rt_run(&config, NULL) == 0 ? 0 : 1);
}

static inline struct server server_start(struct server_options options)
{
	struct server server = {0};
	int ends[2];
	/* Workers that lose their supervisor become ours, so that their end can
	 * be waited for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe(ends), 0);
	server.pid = fork();
	if (server.pid == 0) {
		close(ends[0]);
		be_server(&options, ends[1]);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &server.port, sizeof(server.port)), sizeof(server.port));
	close(ends[0]);
	return server;
}

/* Wait for the end; the exit status, or 128 + signal. */
static inline int server_wait(const struct server *server)
{
	int status;
	assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void server_stop(const struct server *server)
{
	kill(server->pid, SIGTERM);
	assert_int_equal(server_wait(server), 0);
}

struct client {
	int fd;
	char bytes[8192];
	size_t len;
};

static inline struct client client_open(uint16_t port)
{
	const struct timeval patience = {.tv_sec = 10};
	struct sz_url url = {.host = "127.0.0.1", .port = port};
	struct sz_addr addr;
	struct client client = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	assert_int_equal(sz_url_resolve(&url, &addr, NULL), 0);
	setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(client.fd, (struct sockaddr *)&addr.storage, addr.len) < 0) {
		close(client.fd);
		client.fd = -1;
	}
	return client;
}

static inline void client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static inline void client_send(struct client *client, const char *text)
{
	assert_int_equal(send(client->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static inline void client_ask(struct client *client, const char *target)
{
	char text[256];
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
	client_send(client, text);
}

/* The next response: its status, or 0 when the connection ended; whether it
 * may go on; its body as text. */
static inline int client_read(struct client *client, bool is_head, bool *keep_alive, char body[256])
{
	for (;;) {
		struct sz_http1_response response;
		size_t used = 0;
		sz_http1_response_init(&response, is_head);
		if (client->len && sz_http1_response_feed(&response, client->bytes, client->len,
							  &used) == SZ_HTTP1_COMPLETE) {
			if (body)
				snprintf(body, 256, "%.*s", (int)response.body_bytes,
					 client->bytes + used - response.body_bytes);
			if (keep_alive)
				*keep_alive = response.keep_alive;
			client->len -= used;
			memmove(client->bytes, client->bytes + used, client->len);
			return response.status;
		}
		assert_null(response.why);
		ssize_t len = recv(client->fd, client->bytes + client->len,
				   sizeof(client->bytes) - client->len, 0);
		if (len <= 0)
			return 0;
		client->len += (size_t)len;
	}
}

static inline int client_get(struct client *client, const char *target, char body[256])
{
	client_ask(client, target);
	return client_read(client, false, NULL, body);
}

/* The pid of the worker that serves this connection. */
static inline pid_t client_worker(struct client *client)
{
	char body[256];
	assert_int_equal(client_get(client, "/pid", body), 200);
	return (pid_t)strtol(body, NULL, 10);
}

static inline bool client_at_end(struct client *client)
{
	char byte;
	return client->len == 0 && recv(client->fd, &byte, 1, 0) == 0;
}

#endif
