/* SPDX-License-Identifier: Apache-2.0
 *
 * Which request of the set is next, and what is told of each.
 */
#include "load/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/requests-inside.h"
#include "stat/shuffle.h"

/* A config without requests means: GET the URL. */
static int make_own(struct sz_load *load, struct sz_err *err)
{
	const struct sz_requests_config plain = {0};
	const struct sz_origin origin = {.url = load->config.url};
	struct sz_request_parts parts = {.method = "GET",
					 .target = load->config.url.target,
					 .weight = 1};
	if (sz_requests_new(&plain, &load->own_requests, err) < 0 ||
	    sz_requests_find_origin(load->own_requests, &origin, &parts.origin, err) < 0 ||
	    sz_requests_push(load->own_requests, &parts, err) < 0)
		return -1;
	load->requests = load->own_requests;
	return 0;
}

static void sum_weights(struct sz_load *load)
{
	double sum = 0;
	for (size_t i = 0; i < load->requests->count; i++)
		load->weights[i] = sum += load->requests->items[i].weight;
}

static size_t find_part(struct sz_load *load, const char *label)
{
	size_t i = 0;
	while (i < load->part_count && load->parts[i].label &&
	       strcmp(load->parts[i].label, label) != 0)
		i++;
	if (i == load->part_count) {
		load->part_count++;
		load->parts[i].label = i < SZ_LOAD_PARTS_MAX - 1 ? label : NULL;
	}
	return i;
}

/* One request at several rates: what came of each rate. */
static int init_steps(struct sz_load *load, struct sz_err *err)
{
	const struct sz_rate *rate = &load->config.rate;
	load->steps = calloc(rate->count, sizeof(load->steps[0]));
	load->parts = calloc(SZ_LOAD_PARTS_MAX, sizeof(load->parts[0]));
	if (!load->steps || !load->parts)
		return sz_err_nomem(err);
	for (size_t i = 0; i < rate->count; i++) {
		snprintf(load->steps[i].label, sizeof(load->steps[i].label), "at %g req/s",
			 rate->leg[i].from_rps);
		load->steps[i].part = find_part(load, load->steps[i].label);
	}
	return 0;
}

int sz_load_init_mix(struct sz_load *load, struct sz_err *err)
{
	load->requests = load->config.requests;
	load->random = load->config.seed;
	if (!load->requests && make_own(load, err) < 0)
		return -1;
	size_t count = load->requests->count;
	if (count == 1)
		return sz_load_has_steps(&load->config) ? init_steps(load, err) : 0;
	load->weights = calloc(count, sizeof(load->weights[0]));
	load->part_of = calloc(count, sizeof(load->part_of[0]));
	load->parts = calloc(SZ_LOAD_PARTS_MAX, sizeof(load->parts[0]));
	if (!load->weights || !load->part_of || !load->parts)
		return sz_err_nomem(err);
	sum_weights(load);
	for (size_t i = 0; i < count; i++)
		load->part_of[i] = find_part(load, load->requests->items[i].label);
	return 0;
}

/* The first whose cumulative weight is above a random one. */
static size_t draw(struct sz_load *load)
{
	size_t low = 0, high = load->requests->count - 1;
	double at = (double)(sz_random_next(&load->random) >> 11) * 0x1p-53 * load->weights[high];
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (load->weights[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct sz_request *sz_load_request(const struct sz_load *load, size_t number)
{
	return &load->requests->items[number % load->requests->count];
}

const struct sz_request *sz_load_next_request(struct sz_client *client)
{
	struct sz_load *load = client->load;
	if (load->stage == SZ_STAGE_SETUP) {
		client->again = false;
		return load->config.setup->items;
	}
	bool is_chosen = client->again || load->stage == SZ_STAGE_ROUND ||
			 (load->open.is_running && load->config.replay_speed > 0);
	client->again = false;
	if (is_chosen)
		return client->request;
	if (load->config.arrivals == SZ_ARRIVALS_BURST)
		return sz_load_request(load, (size_t)(client - load->clients));
	return sz_load_request(load, load->weights ? draw(load) : 0);
}

size_t sz_load_part_index(const struct sz_load *load, const struct sz_client *client)
{
	if (load->steps)
		return load->steps[client->step].part;
	return load->parts && client->request
		       ? load->part_of[client->request - load->requests->items]
		       : 0;
}
