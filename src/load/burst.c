/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts: rounds in which all clients send at once, with pauses between.
 *
 * A round is a stage that is over when each client's call is settled; a pause
 * is one in which nobody sends and that lasts until the next round is due.
 */
#include "load/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int sz_burst_init(struct sz_load *load, struct sz_err *err)
{
	const struct sz_load_config *config = &load->config;
	unsigned users = config->users ? config->users : 1;
	if (config->clients % users != 0)
		return sz_err_set(err, SZ_USAGE, 0, "%u clients cannot be shared by %u users",
				  config->clients, users);
	load->config.users = users;
	load->round_calls = sz_load_calls(config);
	load->next_call = calloc(users, sizeof(load->next_call[0]));
	return load->next_call ? 0 : sz_err_nomem(err);
}

/* The next call of the client's user; false: there is none left. */
static bool take_call(struct sz_load *load, struct sz_client *client)
{
	unsigned per_user = load->config.clients / load->config.users;
	unsigned *next = &load->next_call[(size_t)(client - load->clients) / per_user];
	if (*next == load->round_calls)
		return false;
	client->request = sz_load_request(load, (*next)++);
	client->is_due = true;
	client->again = false;
	client->first_byte_ns = 0;
	return true;
}

/* A client that waits to try again after a failure need not wait any longer:
 * users do not know of each other's failures. */
static void call(struct sz_client *client)
{
	if (!take_call(client->load, client))
		return;
	sz_timer_clear(client->load->loop, &client->retry);
	sz_client_go(client);
}

static int pause_until(struct sz_load *load, uint64_t due_ns, struct sz_err *err)
{
	sz_load_begin_stage(load, SZ_STAGE_DRAINING, due_ns, UINT64_MAX);
	return sz_load_run_stage(load, err);
}

static int run_round(struct sz_load *load, uint64_t start_ns, bool is_counted, struct sz_err *err)
{
	if (pause_until(load, start_ns, err) < 0)
		return -1;
	if (load->interrupted)
		return 0;
	sz_load_begin_stage(load, SZ_STAGE_ROUND, 0, UINT64_MAX);
	load->counting = is_counted;
	load->round = (struct sz_load_round){0};
	load->round_start_ns = start_ns;
	load->unsettled = load->config.users * load->round_calls;
	memset(load->next_call, 0, load->config.users * sizeof(load->next_call[0]));
	for (unsigned i = 0; i < load->config.clients; i++)
		call(&load->clients[i]);
	return sz_load_run_stage(load, err);
}

void sz_load_note_call(struct sz_load *load, struct sz_client *client, bool ok, uint64_t now_ns)
{
	struct sz_load_round *round = &load->round;
	uint64_t first_byte_ns = client->first_byte_ns ? client->first_byte_ns : now_ns;
	uint64_t ttfb_ns = first_byte_ns - load->round_start_ns;
	uint64_t total_ns = now_ns - load->round_start_ns;
	if (ttfb_ns > round->slowest_ttfb_ns) {
		round->slowest_ttfb_ns = ttfb_ns;
		round->slowest_part = sz_load_part_index(load, client);
	}
	if (total_ns > round->slowest_ns)
		round->slowest_ns = total_ns;
	round->failed += !ok;
	load->unsettled--;
	take_call(load, client);
}

/* When the round after the one just finished is due. */
static uint64_t next_start_ns(const struct sz_load *load, uint64_t first_ns)
{
	uint64_t every_ns = load->config.every_ns;
	if (every_ns == 0)
		return load->finished_ns + load->config.pause_ns;
	return first_ns + ((load->finished_ns - first_ns) / every_ns + 1) * every_ns;
}

int sz_burst_warm_up(struct sz_load *load, uint64_t least_ns, struct sz_err *err)
{
	uint64_t first_ns = sz_now_ns();
	uint64_t start_ns = first_ns;
	do {
		if (run_round(load, start_ns, false, err) < 0)
			return -1;
		start_ns = next_start_ns(load, first_ns);
	} while (!load->interrupted && start_ns < first_ns + least_ns);
	return pause_until(load, start_ns, err);
}

static void keep_round(struct sz_load *load)
{
	struct sz_load_result *result = &load->result;
	if (load->interrupted)
		return;
	result->rounds[result->round_count++] = load->round;
	result->rounds_failed += load->round.failed > 0;
	if (load->parts)
		load->parts[load->round.slowest_part].slowest_rounds++;
}

static bool wants_another(const struct sz_load *load)
{
	size_t count = load->result.round_count;
	return !load->interrupted && count != load->span->rounds && count < SZ_LOAD_ROUNDS_MAX;
}

/* Where several load at once their rounds are due at the same instants, however
 * late each of them wakes. */
static uint64_t first_start_ns(const struct sz_load *load)
{
	uint64_t now_ns = sz_now_ns(), asked_ns = load->span->start_ns;
	return now_ns - asked_ns < SZ_LOAD_WAKE_NS ? asked_ns : now_ns;
}

/* No pause follows the last round: the window ends with it. */
int sz_burst_count(struct sz_load *load, struct sz_err *err)
{
	uint64_t first_ns = first_start_ns(load);
	uint64_t start_ns = first_ns;
	load->result.began_ns = first_ns;
	do {
		if (run_round(load, start_ns, true, err) < 0)
			return -1;
		keep_round(load);
		start_ns = next_start_ns(load, first_ns);
	} while (wants_another(load) && start_ns - first_ns <= load->span->max_ns &&
		 !sz_abort_check(load, load->finished_ns));
	return 0;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

static struct sz_load_spread spread_of(uint64_t *values_ns, size_t count)
{
	if (count == 0)
		return (struct sz_load_spread){0};
	qsort(values_ns, count, sizeof(values_ns[0]), compare_ns);
	return (struct sz_load_spread){
		.min_ns = values_ns[0],
		.p50_ns = values_ns[(count - 1) / 2],
		.max_ns = values_ns[count - 1],
	};
}

void sz_burst_spreads(struct sz_load_result *result, uint64_t sorted_ns[SZ_LOAD_ROUNDS_MAX])
{
	for (size_t i = 0; i < result->round_count; i++)
		sorted_ns[i] = result->rounds[i].slowest_ttfb_ns;
	result->slowest_ttfb = spread_of(sorted_ns, result->round_count);
	for (size_t i = 0; i < result->round_count; i++)
		sorted_ns[i] = result->rounds[i].slowest_ns;
	result->slowest = spread_of(sorted_ns, result->round_count);
}
