/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened in each second of a window.
 */
#include "load/inside.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* NULL when none are wanted, or memory is out. */
static struct sz_load_second *second_at(struct sz_load *load, uint64_t now_ns)
{
	if (!load->config.wants_seconds)
		return NULL;
	size_t i = (now_ns - load->result.began_ns) / SZ_NS_PER_S;
	if (i < load->second_count)
		return &load->seconds[i];
	if (sz_grow(&load->seconds, &load->second_cap, i + 1, sizeof(load->seconds[0])) < 0) {
		sz_err_nomem(&load->failure);
		sz_load_fail(load);
		return NULL;
	}
	memset(&load->seconds[load->second_count], 0,
	       (i + 1 - load->second_count) * sizeof(load->seconds[0]));
	load->second_count = i + 1;
	return &load->seconds[i];
}

void sz_seconds_sent(struct sz_load *load, uint64_t now_ns)
{
	struct sz_load_second *second = second_at(load, now_ns);
	if (second)
		second->sent++;
}

void sz_seconds_unconnected(struct sz_load *load, uint64_t now_ns)
{
	struct sz_load_second *second = second_at(load, now_ns);
	if (second)
		second->connect_failed++;
}

void sz_seconds_settled(struct sz_load *load, enum sz_outcome outcome, uint64_t now_ns)
{
	struct sz_load_second *second = second_at(load, now_ns);
	if (second)
		second->outcomes[outcome]++;
}

void sz_seconds_events(struct sz_load *load, uint64_t events, uint64_t now_ns)
{
	struct sz_load_second *second = second_at(load, now_ns);
	if (second)
		second->events += events;
}

void sz_seconds_end(struct sz_load *load)
{
	struct sz_load_result *result = &load->result;
	if (result->duration_ns)
		second_at(load, result->began_ns + result->duration_ns - 1);
	result->seconds = load->seconds;
	result->second_count = load->second_count;
}
