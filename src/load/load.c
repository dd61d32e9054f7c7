/* SPDX-License-Identifier: Apache-2.0
 *
 * A load from the outside: made, opened, run for windows, freed.
 */
#include "load/inside.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stop.h"

#define DESCRIPTORS_BESIDE_CLIENTS 64 /* whoever watches meanwhile keeps some, too */
#define PACE_MOST_NS (250 * SZ_NS_PER_MS)

int sz_load_raise_limit(unsigned connections, struct rlimit *before, struct sz_err *err)
{
	struct rlimit limit;
	rlim_t need = connections + DESCRIPTORS_BESIDE_CLIENTS;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot read the limit of descriptors");
	*before = limit;
	if (limit.rlim_cur >= need)
		return 0;
	if (limit.rlim_max < need) {
		sz_err_set(err, SZ_MACHINE, 0,
			   "%u connections need %lu open descriptors, and the limit is %lu",
			   connections, (unsigned long)need, (unsigned long)limit.rlim_max);
		return sz_err_hint(err, "raise it with 'ulimit -n %lu', or ask for fewer clients",
				   (unsigned long)need);
	}
	limit.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return sz_err_set(err, SZ_MACHINE, errno, "cannot raise the limit of descriptors");
	return 0;
}

static int check_config(const struct sz_load_config *config, struct sz_err *err)
{
	if (config->clients < 1 || config->clients > SZ_LOAD_CLIENTS_MAX) {
		sz_err_set(err, SZ_USAGE, 0, "cannot load with %u clients", config->clients);
		return sz_err_hint(err, "ask for 1 to %d", SZ_LOAD_CLIENTS_MAX);
	}
	if (config->arrivals == SZ_ARRIVALS_OPEN && !sz_rate_is_valid(&config->rate)) {
		sz_err_set(err, SZ_USAGE, 0, "a rate is out of range");
		return sz_err_hint(err, "ask for %g to %g requests per second", SZ_RATE_MIN_RPS,
				   SZ_RATE_MAX_RPS);
	}
	if (config->url.tls && !config->tls)
		return sz_err_set(err, SZ_USAGE, 0, "https needs a configuration of TLS");
	if (config->streams > 1 && config->http != SZ_HTTP_2) {
		sz_err_set(err, SZ_USAGE, 0,
			   "--streams are of HTTP/2: in HTTP/1 a connection has one request "
			   "at a time");
		return sz_err_hint(err, "give --http 2, too, or leave --streams out");
	}
	if (config->setup && config->setup->count != 1)
		return sz_err_set(err, SZ_USAGE, 0, "a log-in is one request");
	if (config->timeout_ns == 0) {
		sz_err_set(err, SZ_USAGE, 0, "a time-out of 0 leaves no time to answer");
		return sz_err_hint(err, "allow each request some seconds");
	}
	return 0;
}

static int build_route(struct sz_load *load, struct sz_err *err)
{
	sz_addresses_init(load);
	if (!load->config.url.tls)
		return 0;
	load->tls = sz_tls_origin_new(load->config.tls, load->config.url.host, err);
	load->route.tls = load->tls;
	return load->tls ? 0 : -1;
}

/* Users share no connection. */
static int build_clients(struct sz_load *load, struct sz_err *err)
{
	unsigned per_user = load->config.clients / load->config.users;
	unsigned streams = load->config.streams;
	load->conn_count = sz_load_connections(&load->config);
	load->clients = calloc(load->config.clients, sizeof(load->clients[0]));
	load->conns = calloc(load->conn_count, sizeof(load->conns[0]));
	if (!load->clients || !load->conns)
		return sz_err_nomem(err);
	struct sz_conn *conn = load->conns;
	for (unsigned user = 0; user < load->config.users; user++) {
		struct sz_client *clients = &load->clients[(size_t)user * per_user];
		for (unsigned i = 0; i < per_user; i += streams)
			sz_conn_init(conn++, load, &clients[i],
				     per_user - i < streams ? per_user - i : streams);
	}
	return 0;
}

int sz_load_new(const struct sz_load_config *config, struct sz_load **load, struct sz_err *err)
{
	if (check_config(config, err) < 0)
		return -1;
	struct sz_load *made = calloc(1, sizeof(*made));
	if (!made)
		return sz_err_nomem(err);
	made->config = *config;
	if (!made->config.streams)
		made->config.streams = 1;
	made->protocol = config->http == SZ_HTTP_2 ? &sz_via_http2 : &sz_via_http1;
	if (sz_load_raise_limit(sz_load_connections(config), &made->descriptor_limit, err) < 0) {
		free(made);
		return -1;
	}
	if (sz_load_init_stages(made, err) < 0 || sz_load_init_mix(made, err) < 0 ||
	    sz_load_init_heads(made, err) < 0 || sz_burst_init(made, err) < 0 ||
	    build_route(made, err) < 0 || build_clients(made, err) < 0 ||
	    sz_sessions_init(made, err) < 0) {
		sz_load_free(made);
		return -1;
	}
	*load = made;
	return 0;
}

static void hang_up_all(struct sz_load *load)
{
	for (unsigned i = 0; load->conns && i < load->conn_count; i++) {
		if (load->conns[i].state != SZ_CONN_DOWN)
			sz_conn_hang_up(&load->conns[i]);
	}
}

void sz_load_free(struct sz_load *load)
{
	if (!load)
		return;
	hang_up_all(load);
	sz_loop_free(load->loop);
	sz_tls_origin_free(load->tls);
	sz_load_free_heads(load);
	sz_sessions_free(load);
	sz_requests_free(load->own_requests);
	free(load->clients);
	free(load->conns);
	free(load->weights);
	free(load->part_of);
	free(load->steps);
	free(load->parts);
	free(load->seconds);
	free(load->next_call);
	free(load->open.queue);
	setrlimit(RLIMIT_NOFILE, &load->descriptor_limit);
	free(load);
}

/* Opening */

static int pace(struct sz_load *load, enum sz_load_stage stage, struct sz_err *err)
{
	for (unsigned i = 0; i < load->config.clients && !load->interrupted; i++) {
		load->primed = &load->clients[i];
		sz_load_begin_stage(load, stage, 0, sz_now_ns() + PACE_MOST_NS);
		sz_client_go(load->primed);
		if (sz_load_run_stage(load, err) < 0)
			return -1;
	}
	return 0;
}

static bool in_bursts(const struct sz_load *load)
{
	return load->config.arrivals == SZ_ARRIVALS_BURST;
}

static bool interrupted(struct sz_load *load)
{
	if (sz_stop_requested())
		load->interrupted = true;
	return load->interrupted;
}

static void forget_answers(struct sz_load *load)
{
	load->answered = 0;
	for (unsigned i = 0; i < load->config.clients; i++)
		load->clients[i].answered = false;
}

static int warm_up_bursts(struct sz_load *load, struct sz_err *err)
{
	if (interrupted(load))
		return 0;
	forget_answers(load);
	if (sz_burst_warm_up(load, load->config.warmup_ns, err) < 0)
		return -1;
	return load->answered || load->interrupted ? 0 : sz_load_no_answer_error(load, err);
}

/* Whoever was not answered in time while that was paced is waited for. */
static int set_up(struct sz_load *load, struct sz_err *err)
{
	bool is_paced = load->config.connect == SZ_CONNECT_PACED;
	if (is_paced && pace(load, SZ_STAGE_SETUP, err) < 0)
		return -1;
	if (interrupted(load))
		return 0;
	load->primed = NULL;
	sz_load_begin_stage(load, SZ_STAGE_SETUP, 0, UINT64_MAX);
	for (unsigned i = 0; i < load->config.clients; i++)
		sz_client_go(&load->clients[i]);
	return sz_load_run_stage(load, err);
}

static int introduce(struct sz_load *load, struct sz_err *err)
{
	if (load->config.setup)
		return set_up(load, err);
	bool primes = load->config.connect == SZ_CONNECT_PACED && !sz_load_is_streams(load);
	return primes ? pace(load, SZ_STAGE_PRIMING, err) : 0;
}

static uint64_t later_ns(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

static bool has_lead_in(const struct sz_load *load)
{
	return !in_bursts(load) && !sz_load_is_streams(load);
}

/* Nobody sends until what comes before the window has just the time it needs: others
 * may be connecting meanwhile. */
static int wait_for_start(struct sz_load *load, struct sz_err *err)
{
	uint64_t before_ns = has_lead_in(load) ? load->config.warmup_ns + SZ_LOAD_WAKE_NS : 0;
	if (load->span->start_ns <= sz_now_ns() + before_ns)
		return 0;
	sz_load_begin_stage(load, SZ_STAGE_DRAINING, load->span->start_ns - before_ns, UINT64_MAX);
	return sz_load_run_stage(load, err);
}

/* What is in flight since priming goes on into the loop. */
static int lead_in(struct sz_load *load, struct sz_err *err)
{
	if (interrupted(load))
		return 0;
	/* Who thinks for long would be waited for as long. */
	if (!load->config.think_ns || load->config.connect == SZ_CONNECT_BURST)
		forget_answers(load);
	uint64_t now_ns = sz_now_ns(), start_ns = load->span->start_ns;
	sz_load_begin_stage(load, SZ_STAGE_LEAD_IN,
			    later_ns(start_ns, now_ns + load->config.warmup_ns),
			    later_ns(start_ns, now_ns + load->config.timeout_ns));
	if (sz_load_is_open(load))
		sz_open_begin(load, now_ns);
	for (unsigned i = 0; i < load->config.clients; i++)
		sz_client_join(&load->clients[i], now_ns);
	if (sz_load_run_stage(load, err) < 0)
		return -1;
	return load->answered || load->interrupted ? 0 : sz_load_no_answer_error(load, err);
}

static void abandon_all(struct sz_load *load, uint64_t now_ns)
{
	for (unsigned i = 0; i < load->config.clients; i++)
		sz_client_abandon(&load->clients[i], now_ns);
	hang_up_all(load);
}

static int drain(struct sz_load *load, struct sz_err *err)
{
	sz_open_end(load);
	sz_load_begin_stage(load, SZ_STAGE_DRAINING, 0, UINT64_MAX);
	if (sz_load_run_stage(load, err) < 0)
		return -1;
	/* Only after an interruption is anything left. */
	if (load->oldest)
		abandon_all(load, sz_now_ns());
	return 0;
}

int sz_load_open(struct sz_load *load, struct sz_err *err)
{
	if (introduce(load, err) < 0)
		return -1;
	if (in_bursts(load) && (warm_up_bursts(load, err) < 0 || drain(load, err) < 0))
		return -1;
	if (load->interrupted)
		return sz_err_set(err, SZ_INTERRUPTED, 0,
				  "interrupted while the clients connected");
	return 0;
}

/* Windows */

static void at_edge(const struct sz_load_span *span, enum sz_edge edge)
{
	if (span->at_edge)
		span->at_edge(span->arg, edge);
}

static int run_loop(struct sz_load *load, uint64_t t0_ns, struct sz_err *err)
{
	const struct sz_load_span *span = load->span;
	sz_load_begin_stage(load, SZ_STAGE_COUNTING, t0_ns + span->min_ns, t0_ns + span->max_ns);
	if (sz_load_is_open(load))
		sz_open_count(load, t0_ns);
	load->counting = true;
	int rc = sz_load_run_stage(load, err);
	if (rc == 0 && sz_load_is_open(load))
		sz_open_stop_counting(load, load->finished_ns);
	return rc;
}

static void end_series(struct sz_load *load)
{
	struct sz_load_series *series = &load->result.series;
	sz_series_advance(series, &load->interval_start_ns, load->finished_ns);
	series->ok[series->count] = 0;
	if (load->config.arrivals == SZ_ARRIVALS_CLOSED)
		load->result.error_ratio = sz_series_error_ratio(series);
}

/* Both ends are taken just before at_edge(), so that the service has the same
 * time between them as between two looks at it; at_edge()'s own CPU time is
 * not the load's. */
static int count(struct sz_load *load, const struct sz_load_span *span, struct sz_err *err)
{
	struct sz_load_result *result = &load->result;
	uint64_t t0_ns = sz_now_ns();
	at_edge(span, SZ_EDGE_START);
	uint64_t cpu_ns = sz_thread_cpu_ns();
	uint64_t waits = sz_loop_waits(load->loop);
	result->began_ns = t0_ns;
	result->clients_answered = load->answered;
	load->completed_ns = t0_ns;
	sz_series_begin(&result->series, &load->interval_start_ns, t0_ns);
	sz_abort_begin(load, t0_ns);
	sz_load_begin_polls(load, t0_ns);
	int rc = in_bursts(load)            ? sz_burst_count(load, err)
		 : sz_load_is_streams(load) ? sz_streams_count(load, err)
					    : run_loop(load, t0_ns, err);
	sz_load_end_polls(load);
	sz_abort_end(load);
	result->client_cpu_ns = result->busiest_cpu_ns = sz_thread_cpu_ns() - cpu_ns;
	result->epoll_waits = sz_loop_waits(load->loop) - waits;
	result->duration_ns = load->finished_ns - t0_ns;
	result->connections_open_at_end = load->open_now;
	sz_load_note_gap(load, load->finished_ns);
	end_series(load);
	at_edge(span, SZ_EDGE_END);
	if (sz_load_is_streams(load))
		abandon_all(load, load->finished_ns);
	return rc;
}

static int tail(struct sz_load *load, struct sz_err *err)
{
	sz_load_begin_stage(load, SZ_STAGE_TAIL, 0, UINT64_MAX);
	sz_load_begin_polls(load, sz_now_ns());
	int rc = sz_load_run_stage(load, err);
	sz_load_end_polls(load);
	return rc;
}

static void fill_totals(struct sz_load *load)
{
	struct sz_load_result *result = &load->result;
	result->interrupted = load->interrupted;
	result->connections_opened = load->opened;
	result->reconnects = load->reconnects;
	result->server_closed = load->server_closed;
	result->connect = load->connect;
	result->handshake = load->handshake;
	result->resumed = load->resumed;
	result->cookies = load->cookies;
	result->address_count = load->address_count > 1 ? load->address_count : 0;
	memcpy(result->addresses, load->addresses,
	       result->address_count * sizeof(result->addresses[0]));
	result->parts = load->parts;
	result->part_count = load->part_count;
	sz_burst_spreads(result, load->sorted_ns);
	result->uncounted = load->uncounted;
	load->uncounted = 0;
}

static void forget_parts(struct sz_load *load)
{
	for (size_t i = 0; i < load->part_count; i++)
		load->parts[i] = (struct sz_load_part){.label = load->parts[i].label};
}

int sz_load_window(struct sz_load *load, const struct sz_load_span *span,
		   struct sz_load_result *result, struct sz_err *err)
{
	memset(&load->result, 0, sizeof(load->result));
	forget_parts(load);
	load->second_count = 0;
	load->result.error_ratio = INFINITY;
	load->span = span;
	if (wait_for_start(load, err) < 0)
		return -1;
	if (has_lead_in(load) && lead_in(load, err) < 0)
		return -1;
	if (!interrupted(load)) {
		if (count(load, span, err) < 0 || tail(load, err) < 0)
			return -1;
		at_edge(span, SZ_EDGE_SETTLED);
	}
	if (drain(load, err) < 0)
		return -1;
	sz_seconds_end(load);
	if (load->failed)
		return sz_err_nomem(err);
	fill_totals(load);
	*result = load->result;
	return 0;
}
