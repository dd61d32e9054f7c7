/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of `sizeup load` share: its options (cmd-load.c), what they ask for
 * (load-plan.c), and doing it (load-run.c).
 */
#ifndef SZ_CLI_LOAD_OPTIONS_H
#define SZ_CLI_LOAD_OPTIONS_H

#include "cli/cli.h"

#define SZ_LOAD_ROUNDS_UNSAID 20 /* what the table of options says, too */

struct sz_load_options {
	struct sz_cli_request request; /* first: its rows are shared */
	uint64_t clients, reconnect_every, duration_ns, timeout_ns, warmup_ns;
	uint64_t burst, rounds, users, every_ns, seed, think_ns, threads, requests;
	const char *rate, *speed, *precision, *expect_body, *shard, *start_at, *out, *csv;
	int connect, arrivals, late;
	bool hold, json;
};
_Static_assert(offsetof(struct sz_load_options, request) == 0, "its rows are shared");

/* Fill config, and what it borrows: asked is the caller's to sz_cli_asked_fini() in any
 * case. 0 or -1. */
int sz_cli_load_config(const struct sz_load_options *options, const struct sz_parsed *parsed,
		       struct sz_cli_asked *asked, struct sz_load_config *config,
		       struct sz_err *err);

/* When its window is to end. 0 or -1. */
int sz_cli_load_span(const struct sz_load_options *options, const struct sz_load_config *config,
		     struct sz_load_span *span, struct sz_err *err);

/* The longest that a loop goes on; a replay is over when its last call has come. */
uint64_t sz_cli_load_duration_ns(const struct sz_load_options *options,
				 const struct sz_load_config *config);

/* Load, then show or keep the result. Exit status, or -1. */
int sz_cli_load(const struct sz_load_options *options, const struct sz_load_config *whole,
		struct sz_err *err);

#endif
