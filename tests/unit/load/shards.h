/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of shards whose every sample is known. Include it last.
 */
#ifndef SZ_TEST_SHARDS_H
#define SZ_TEST_SHARDS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "load/inside.h"
#include "load/shard-inside.h"
#include "stat/shuffle.h"

#define SHARDS_BEGAN_NS INT64_C(1767225600000000000)

/* A result with so many samples, drawn by *random, of which every 16th failed; each
 * is told to a result that has those of all, too. Two requests take turns. */
static inline void shards_fill(struct sz_load_result *result, struct sz_load_part *parts,
			       unsigned samples, uint64_t *random)
{
	for (unsigned i = 0; i < samples; i++) {
		uint64_t ns = sz_random_next(random) >> (24 + sz_random_next(random) % 24);
		enum sz_outcome outcome = i % 16 == 7 ? SZ_OUTCOME_HTTP_ERROR : SZ_OUTCOME_OK;
		result->attempts++;
		result->sent++;
		result->scheduled++;
		result->outcomes[outcome]++;
		sz_hist_add(&result->latency[outcome], ns);
		sz_hist_add(&result->lateness, ns >> 20);
		parts[i % 2].outcomes[outcome]++;
		if (outcome != SZ_OUTCOME_OK)
			continue;
		sz_hist_add(&result->ttfb, ns / 2);
		sz_hist_add(&result->queue, ns / 3);
		sz_hist_add(&result->service, ns / 5);
		sz_hist_add(&result->transfer, ns / 7);
		sz_hist_add(&result->connect, ns / 11);
		sz_hist_add(&result->handshake, ns / 13);
		sz_hist_add(&parts[i % 2].ttfb, ns / 2);
		sz_hist_add(&parts[i % 2].latency, ns);
	}
}

/* Shard number of `of`, of an open loop of 10 s. */
static inline struct sz_shard_run *shards_make(unsigned number, unsigned of)
{
	static struct sz_load_part parts[1024][2];
	struct sz_shard_run *run = calloc(1, sizeof(*run));
	uint64_t random = number;
	run->shard = (struct sz_shard){.number = number, .of = of};
	sz_shard_run_describe(run);
	snprintf(run->host, sizeof(run->host), "host-%u", number);
	snprintf(run->url, sizeof(run->url), "http://127.0.0.1:8000/");
	run->path = "some file";
	run->config = (struct sz_load_config){
		.arrivals = SZ_ARRIVALS_OPEN,
		.clients = 50 + of,
		.users = 1,
		.timeout_ns = 30 * SZ_NS_PER_S,
		.warmup_ns = SZ_NS_PER_S / 2,
		.seed = 5,
		.rate = {.leg = {{.from_rps = 100, .to_rps = 1000.0 / 3, .span_ns = 10}},
			 .count = 1,
			 .poisson = true,
			 .seed = 5},
	};
	run->duration_ns = 10 * SZ_NS_PER_S;
	run->start_at_ns = SHARDS_BEGAN_NS;
	run->began_ns = SHARDS_BEGAN_NS + number * (int64_t)SZ_NS_PER_MS;
	memset(parts[number], 0, sizeof(parts[number]));
	parts[number][0].label = "GET /a";
	parts[number][1].label = "GET /b";
	struct sz_load_result *result = &run->result;
	result->duration_ns = 10 * SZ_NS_PER_S + number;
	result->parts = parts[number];
	result->part_count = 2;
	result->series.interval_ns = SZ_NS_PER_S / 10;
	result->series.count = 99;
	for (size_t i = 0; i < 99; i++)
		result->series.ok[i] = (double)(number * i);
	result->longest_gap_ns = number * SZ_NS_PER_MS;
	result->client_cpu_ns = result->busiest_cpu_ns = number * SZ_NS_PER_S;
	result->error_ratio = INFINITY;
	shards_fill(result, parts[number], 1000 * number, &random);
	return run;
}

/* Bursts: rounds of which the slowest takes number * (round + 1) ms. */
static inline struct sz_shard_run *shards_make_burst(unsigned number, unsigned of)
{
	struct sz_shard_run *run = shards_make(number, of);
	run->config.arrivals = SZ_ARRIVALS_BURST;
	run->config.clients = 14 * of;
	run->config.users = of;
	run->config.every_ns = SZ_NS_PER_S;
	run->result.scheduled = 0;
	memset(&run->result.lateness, 0, sizeof(run->result.lateness));
	run->duration_ns = 0;
	run->rounds = run->result.round_count = 10;
	run->result.duration_ns = 9 * SZ_NS_PER_S + 10 * number * SZ_NS_PER_MS;
	for (size_t i = 0; i < 10; i++)
		run->result.rounds[i] = (struct sz_load_round){
			.slowest_ttfb_ns = number * (i + 1) * SZ_NS_PER_MS / 2,
			.slowest_ns = number * (i + 1) * SZ_NS_PER_MS,
			.failed = number == 1 && i == 4,
			.slowest_part = number % 2,
		};
	return run;
}

#endif
