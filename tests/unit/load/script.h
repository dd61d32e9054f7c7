/* SPDX-License-Identifier: Apache-2.0
 *
 * A server that plays a script, in a child process: one thread per connection
 * runs play(). What it saw is counted in memory shared with the test.
 */
#ifndef TEST_LOAD_SCRIPT_H
#define TEST_LOAD_SCRIPT_H

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "load/load.h"
#include "net/listener.h"

#define HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

struct script_seen {
	_Atomic uint64_t connections;
	_Atomic uint64_t requests;
	_Atomic uint64_t answered;
	_Atomic uint64_t hurried; /* connections before the one ahead was answered */
};

typedef void script_play(int fd);

static struct script_seen *script_seen;
static pid_t script_pid = -1;
static const char *script_host; /* where it listens; NULL: 127.0.0.1 */
static script_play *script_played;

/* One request; false at the end of the connection. */
static inline bool script_read(int fd)
{
	char text[4096];
	size_t len = 0;
	while (len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0) {
		ssize_t n = recv(fd, text + len, sizeof(text) - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
	}
	atomic_fetch_add(&script_seen->requests, 1);
	return true;
}

static inline void script_say(int fd, const char *text)
{
	send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static inline void script_answer(int fd, const char *text)
{
	atomic_fetch_add(&script_seen->answered, 1);
	script_say(fd, text);
}

static inline void script_sleep_ms(unsigned ms)
{
	struct timespec left = sz_ns_timespec(ms * SZ_NS_PER_MS);
	nanosleep(&left, NULL);
}

static inline void script_hang(void)
{
	for (;;)
		pause();
}

static inline void *script_thread(void *arg)
{
	int fd = (int)(intptr_t)arg;
	int on = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	script_played(fd);
	close(fd);
	return NULL;
}

static inline void script_serve(int listener)
{
	fcntl(listener, F_SETFL, 0); /* blocking */
	for (;;) {
		pthread_t thread;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		uint64_t number = atomic_fetch_add(&script_seen->connections, 1);
		if (number > atomic_load(&script_seen->answered))
			atomic_fetch_add(&script_seen->hurried, 1);
		if (pthread_create(&thread, NULL, script_thread, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
		else
			close(fd);
	}
}

static inline void script_config(struct sz_load_config *config, uint16_t port, unsigned clients)
{
	char text[64];
	snprintf(text, sizeof(text), "http://127.0.0.1:%u/", port);
	*config = (struct sz_load_config){.clients = clients, .timeout_ns = 10 * SZ_NS_PER_S};
	assert_int_equal(sz_url_parse(text, &config->url, NULL), 0);
	assert_int_equal(sz_url_resolve(&config->url, &config->addr, NULL), 0);
}

/* Start the script and fill config for it. */
static inline void script_start(script_play *play, struct sz_load_config *config, unsigned clients)
{
	struct sz_err err = {0};
	const struct sz_listen_options options = {.host = script_host, .backlog = 128};
	int listener = sz_listen(&options, &err);
	if (listener < 0)
		fail_msg("%s", err.message);
	script_seen = mmap(NULL, sizeof(*script_seen), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(script_seen != MAP_FAILED);
	script_played = play;
	script_config(config, sz_socket_port(listener), clients);
	script_pid = fork();
	assert_true(script_pid >= 0);
	if (script_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		script_serve(listener);
	}
	close(listener);
}

static inline int script_stop(void **state)
{
	(void)state;
	if (script_pid > 0) {
		kill(script_pid, SIGKILL);
		waitpid(script_pid, NULL, 0);
		munmap(script_seen, sizeof(*script_seen));
	}
	script_pid = -1;
	return 0;
}

static inline struct sz_load *script_open(const struct sz_load_config *config)
{
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	if (sz_load_new(config, &load, &err) < 0 || sz_load_open(load, &err) < 0)
		fail_msg("%s", err.message);
	return load;
}

static inline void script_window(struct sz_load *load, const struct sz_load_span *span,
				 struct sz_load_result *result)
{
	struct sz_err err = {0};
	if (sz_load_window(load, span, result, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(sz_load_counts_ok(result));
}

/* Open, one window of at least `requests` good answers or max_ms, free. */
static inline void script_load(const struct sz_load_config *config, uint64_t requests,
			       unsigned max_ms, struct sz_load_result *result)
{
	struct sz_load *load = script_open(config);
	const struct sz_load_span span = {.requests = requests, .max_ns = max_ms * SZ_NS_PER_MS};
	script_window(load, &span, result);
	sz_load_free(load);
}

static inline uint64_t script_errors(const struct sz_load_result *result, enum sz_phase phase,
				     int errnum)
{
	for (size_t i = 0; i < result->error_count; i++)
		if (result->errors[i].phase == phase && result->errors[i].errnum == errnum)
			return result->errors[i].count;
	return 0;
}

#endif
