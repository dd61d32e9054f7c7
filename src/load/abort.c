/* SPDX-License-Identifier: Apache-2.0
 *
 * When a window makes no sense any more: most of it fails, or nobody is there.
 */
#include "load/inside.h"

#include <errno.h>

static uint64_t lost(const struct sz_load_result *result)
{
	return result->connect_failed + result->outcomes[SZ_OUTCOME_SOCKET_ERROR];
}

void sz_abort_begin(struct sz_load *load, uint64_t now_ns)
{
	load->began_ns = load->alive_ns = now_ns;
	load->alive_answers = load->alive_lost = 0;
	load->alive_settled = load->alive_not_http = 0;
}

static bool mostly_fails(const struct sz_load *load, uint64_t now_ns)
{
	uint64_t settled = sz_load_settled(&load->result);
	return now_ns - load->began_ns >= SZ_ABORT_LEAST_NS && settled >= SZ_ABORT_LEAST_COUNT &&
	       (double)sz_load_failed(&load->result) > SZ_ABORT_ERROR_RATIO * (double)settled;
}

/* An error page, too, is a sign of life. */
static void look_for_life(struct sz_load *load, uint64_t now_ns)
{
	const struct sz_load_result *result = &load->result;
	uint64_t answers =
		result->outcomes[SZ_OUTCOME_OK] + result->outcomes[SZ_OUTCOME_HTTP_ERROR];
	if (answers == load->alive_answers)
		return;
	load->alive_answers = answers;
	load->alive_lost = lost(result);
	load->alive_settled = sz_load_settled(result);
	load->alive_not_http = result->outcomes[SZ_OUTCOME_NOT_HTTP];
	load->alive_ns = now_ns;
}

static bool speaks_no_http(const struct sz_load *load, uint64_t now_ns)
{
	const struct sz_load_result *result = &load->result;
	uint64_t not_http = result->outcomes[SZ_OUTCOME_NOT_HTTP] - load->alive_not_http;
	return now_ns - load->alive_ns >= SZ_ABORT_NOT_HTTP_NS && not_http >= SZ_ABORT_DEAD_COUNT &&
	       not_http == sz_load_settled(result) - load->alive_settled;
}

static bool is_dead(const struct sz_load *load, uint64_t now_ns)
{
	const struct sz_load_result *result = &load->result;
	return now_ns - load->alive_ns >= SZ_ABORT_DEAD_NS &&
	       lost(result) - load->alive_lost >= SZ_ABORT_DEAD_COUNT;
}

bool sz_abort_check_tail(struct sz_load *load, uint64_t now_ns)
{
	look_for_life(load, now_ns);
	if (is_dead(load, now_ns))
		load->result.aborted = SZ_ABORT_DEAD;
	return load->result.aborted != SZ_ABORT_NONE;
}

void sz_abort_end(struct sz_load *load)
{
	bool refused = load->last_phase == SZ_PHASE_CONNECT &&
		       (load->last_errnum == ECONNREFUSED || load->last_errnum == ENOENT);
	if (load->result.aborted == SZ_ABORT_NONE && !load->interrupted && load->open_now == 0 &&
	    load->result.connect_failed && refused)
		load->result.aborted = SZ_ABORT_GONE;
}

bool sz_abort_check(struct sz_load *load, uint64_t now_ns)
{
	look_for_life(load, now_ns);
	if (speaks_no_http(load, now_ns))
		load->result.aborted = SZ_ABORT_NOT_HTTP;
	else if (is_dead(load, now_ns))
		load->result.aborted = SZ_ABORT_DEAD;
	else if (mostly_fails(load, now_ns))
		load->result.aborted = SZ_ABORT_ERRORS;
	return load->result.aborted != SZ_ABORT_NONE;
}
