/* SPDX-License-Identifier: Apache-2.0
 *
 * Small services for the tests of this room. Included once per program.
 */
#ifndef SZ_TESTS_TARGET_SERVICE_H
#define SZ_TESTS_TARGET_SERVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/get.h"
#include "net/listener.h"
#include "os/proc.h"
#include "target/target.h"

#define MS SZ_NS_PER_MS

#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})
#define PYTHON(script) ((const char *const[]){"/usr/bin/python3", "-IS", "-c", script, NULL})

/* Python that answers on {port} until it dies; status is an expression of
 * bytes. `before` runs first, `bound` once the port is bound. */
#define PYTHON_SERVER(before, bound, status)                                                       \
	before "\nimport socket\n"                                                                 \
	       "s = socket.create_server(('127.0.0.1', {port}))\n" bound "\n"                      \
	       "while True:\n"                                                                     \
	       "    c, _ = s.accept()\n"                                                           \
	       "    c.recv(4096)\n"                                                                \
	       "    c.sendall(b'HTTP/1.1 ' + " status " + b' X\\r\\n'\n"                           \
	       "              b'Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n')\n"          \
	       "    c.close()\n"

/* The way a daemon leaves its parent, and its parent's session. */
#define DAEMONISE                                                                                  \
	"import os\n"                                                                              \
	"if os.fork(): os._exit(0)\n"                                                              \
	"os.setsid()\n"                                                                            \
	"if os.fork(): os._exit(0)\n"

#define IGNORE_SIGTERM "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

struct service {
	struct sz_os os;
	struct sz_binding port_binding;
	struct sz_target_config config;
	const char *argv[8];
	const char *env[8];
	uint16_t port;
	struct sz_target *target;
};

static inline void sleep_ms(unsigned ms)
{
	struct timespec wait = sz_ns_timespec(ms * MS);
	nanosleep(&wait, NULL);
}

static inline char *const *copy_strings(const char *copy[8], const char *const *strings)
{
	size_t count = 0;
	for (; strings[count]; count++)
		copy[count] = strings[count];
	copy[count] = NULL;
	void *exec_style = copy;
	return exec_style;
}

/* A configuration on a free port; the test changes what it is about. */
static inline void service_init(struct service *service, const char *const *argv)
{
	struct sz_err err = {0};
	*service = (struct service){0};
	assert_int_equal(sz_os_init(&service->os, NULL, &err), 0);
	service->port = sz_free_port(&err);
	assert_int_not_equal(service->port, 0);
	service->port_binding.name = "port";
	snprintf(service->port_binding.value, sizeof(service->port_binding.value), "%u",
		 service->port);
	service->config = (struct sz_target_config){
		.argv = copy_strings(service->argv, argv),
		.ready_timeout_ns = 30 * SZ_NS_PER_S,
		.stop_timeout_ns = 10 * SZ_NS_PER_S,
	};
	char text[64];
	snprintf(text, sizeof(text), "http://127.0.0.1:%u/up", service->port);
	assert_int_equal(sz_url_parse(text, &service->config.ready_url, &err), 0);
	assert_int_equal(sz_url_resolve(&service->config.ready_url, &service->config.addr, &err),
			 0);
}

static inline void service_set_env(struct service *service, const char *const *env)
{
	service->config.env = copy_strings(service->env, env);
}

static inline int service_start(struct service *service, struct sz_err *err)
{
	return sz_target_start(&service->os, &service->config, &service->port_binding, 1,
			       &service->target, err);
}

static inline void service_start_ok(struct service *service)
{
	struct sz_err err = {0};
	if (service_start(service, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void service_ready_ok(struct service *service, struct sz_ready *ready)
{
	struct sz_err err = {0};
	if (sz_target_wait_ready(service->target, ready, &err) < 0)
		fail_msg("%s", err.message);
}

/* Wait until something answers, without binding the port ourselves. */
static inline void service_await_answer(const struct service *service)
{
	int status;
	while (sz_get(&service->config.ready_url, &service->config.addr, NULL,
		      sz_now_ns() + SZ_NS_PER_S, &status, NULL) < 0)
		sleep_ms(5);
}

/* Start a service that must fail to become ready. */
static inline void expect_not_ready(struct service *service, struct sz_err *err)
{
	struct sz_ready ready = {.ready_ns = 42};
	service_start_ok(service);
	assert_int_equal(sz_target_wait_ready(service->target, &ready, err), -1);
	assert_int_equal(ready.ready_ns, 42);
	sz_target_stop(service->target, NULL);
}

static inline bool port_is_free(uint16_t port)
{
	int fd = sz_listen(&(struct sz_listen_options){.port = port, .backlog = 1}, NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define assert_contains(text, part)                                                                \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("no '%s' in '%s'", part, text);                                   \
	} while (0)

#endif
