/* SPDX-License-Identifier: Apache-2.0 */
#include "study/ceiling.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/listener.h"
#include "target/target.h"

enum { USUAL_CLIENTS = 50 };

/* The running binary itself, whatever it is called and wherever it lies. */
static char *const responder_argv[] = {(char[]){"/proc/self/exe"},
				       (char[]){"serve"},
				       (char[]){"--workers"},
				       (char[]){"1"},
				       (char[]){"--port"},
				       (char[]){"{port}"},
				       NULL};

static int measure_ceiling(const struct sz_load_config *load_config, double *ceiling_rps,
			   struct sz_err *err)
{
	const struct sz_load_span span = {.min_ns = 500 * SZ_NS_PER_MS,
					  .max_ns = 500 * SZ_NS_PER_MS};
	struct sz_load *load = NULL;
	sz_autofree struct sz_load_result *result = malloc(sizeof(*result));
	if (!result)
		return sz_err_nomem(err);
	int status = sz_load_new(load_config, &load, err);
	if (status == 0)
		status = sz_load_open(load, err);
	if (status == 0)
		status = sz_load_window(load, &span, result, err);
	if (status == 0 && result->interrupted)
		status = sz_err_set(err, SZ_INTERRUPTED, 0, "interrupted");
	if (status == 0)
		*ceiling_rps =
			(double)result->outcomes[SZ_OUTCOME_OK] / sz_ns_to_s(result->client_cpu_ns);
	sz_load_free(load);
	return status;
}

int sz_client_ceiling(const struct sz_sweep_config *config, double *ceiling_rps, struct sz_err *err)
{
	struct sz_load_config load = config->load;
	struct sz_binding port = {.name = "port"};
	load.warmup_ns = 100 * SZ_NS_PER_MS;
	if (load.clients == 0) /* yet to be found */
		load.clients = USUAL_CLIENTS;
	/* What is asked of another service. */
	load.expected = (struct sz_match){0};
	load.requests = NULL;
	load.setup = NULL;
	load.calls = 0;
	load.http = SZ_HTTP_1;
	load.streams = 1;
	load.parses_all = true; /* the service's heads may all differ */
	if (sz_url_parse("http://127.0.0.1/", &load.url, err) < 0)
		return -1;
	load.url.port = sz_free_port(err);
	if (load.url.port == 0 || sz_url_resolve(&load.url, &load.addr, err) < 0)
		return -1;
	snprintf(port.value, sizeof(port.value), "%u", load.url.port);

	const struct sz_target_config responder = {
		.argv = responder_argv,
		.ready_url = load.url,
		.addr = load.addr,
		.ready_timeout_ns = 10 * SZ_NS_PER_S,
		.stop_timeout_ns = SZ_NS_PER_S,
	};
	struct sz_target *target;
	struct sz_ready ready;
	if (sz_target_start(&config->os, &responder, &port, 1, &target, err) < 0)
		return -1;
	int status = sz_target_wait_ready(target, &ready, err);
	if (status == 0)
		status = measure_ceiling(&load, ceiling_rps, err);
	sz_target_stop(target, NULL);
	return status;
}
