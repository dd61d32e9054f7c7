/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define COST_MS_MAX 60000.0

static void respond(struct sz_rt_request *request, int status, const char *text)
{
	sz_rt_respond(request, status, "text/plain", text, strlen(text));
}

static void respond_ok(struct sz_rt_request *request, void *arg)
{
	(void)arg;
	respond(request, 200, "ok\n");
}

static void handle_root(struct sz_rt_request *request, uint64_t cost_ns)
{
	(void)cost_ns;
	respond_ok(request, NULL);
}

static void handle_io(struct sz_rt_request *request, uint64_t cost_ns)
{
	sz_rt_later(request, cost_ns, respond_ok, NULL);
}

/* Some work of about a microsecond, in user space like an application's. */
static void burn_a_little(void)
{
	for (volatile unsigned i = 0; i < 500; i++)
		;
}

static void handle_cpu(struct sz_rt_request *request, uint64_t cost_ns)
{
	uint64_t until_ns = sz_thread_cpu_ns() + cost_ns;
	while (sz_thread_cpu_ns() < until_ns)
		burn_a_little();
	respond_ok(request, NULL);
}

static void handle_block(struct sz_rt_request *request, uint64_t cost_ns)
{
	struct timespec until = sz_ns_timespec(sz_now_ns() + cost_ns);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
	respond_ok(request, NULL);
}

static const struct route {
	const char *path;
	void (*handle)(struct sz_rt_request *request, uint64_t cost_ns);
} routes[] = {
	{"/", handle_root},
	{"/io", handle_io},
	{"/cpu", handle_cpu},
	{"/block", handle_block},
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(routes); i++) {
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	}
	return NULL;
}

void sz_serve_handle(struct sz_rt_request *request, void *app)
{
	(void)app;
	const struct route *route = find_route(sz_rt_path(request));
	double cost_ms = sz_rt_query_number(request, "ms", 0);
	if (!route)
		respond(request, 404, "unknown path; there are /, /io, /cpu and /block\n");
	else if (!(cost_ms >= 0 && cost_ms <= COST_MS_MAX)) /* NaN is neither */
		respond(request, 400, "ms must be a number from 0 to 60000\n");
	else
		route->handle(request, (uint64_t)(cost_ms * 1e6));
}
