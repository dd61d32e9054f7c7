/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the numbers of a load run can be trusted.
 */
#ifndef SZ_ADVISE_LOAD_H
#define SZ_ADVISE_LOAD_H

#include "load/load.h"

#define SZ_LOAD_REASONS_MAX 16 /* more than there are kinds */

struct sz_load_judgement {
	char reasons[SZ_LOAD_REASONS_MAX][240]; /* why not */
	size_t count;                           /* 0: they can */
	char notes[SZ_LOAD_REASONS_MAX][240];   /* what to know though they can */
	size_t note_count;
	bool is_behind; /* of an open loop: the service, or too few clients, cannot keep up */
};

/* Pure. The result must be of a window that has opened. */
void sz_load_judge(const struct sz_load_config *config, const struct sz_load_result *result,
		   struct sz_load_judgement *judgement);

/* Another reason. */
__attribute__((format(printf, 2, 3))) void sz_load_distrust(struct sz_load_judgement *judgement,
							    const char *fmt, ...);

/* Nobody answered well, or not any more at the end; or the service came to take no
 * request at all (HTTP/2). */
bool sz_load_has_failed(const struct sz_load_result *result);

/* Cores that the load generator used while it was at work: in bursts, within
 * the rounds. From SZ_LOAD_CLIENT_CORES_MOST on it may itself be the limit. */
double sz_load_client_cores(const struct sz_load_config *config,
			    const struct sz_load_result *result);
#define SZ_LOAD_CLIENT_CORES_MOST 0.8

/* Of an open loop: did fewer calls come back than were due, and by more than chance? What
 * is missing is by how many more there are on their way at the end than at the start.
 * Where they neither queue nor are refused their number is Poisson's, of the variance
 * in_flight (its mean), and the difference of two has twice that. */
bool sz_load_is_behind(double due, double came, double in_flight);

/* Requests in flight over time, over the clients: of a closed loop that keeps its
 * connections 1, but for the time between an answer and the next request. Below
 * the first it is noted, below the second not to be trusted. */
double sz_load_concurrency_ratio(const struct sz_load_config *config,
				 const struct sz_load_result *result);
#define SZ_LOAD_CONCURRENCY_NOTED 0.99
#define SZ_LOAD_CONCURRENCY_LEAST 0.90

/* Of bursts: from the start of a round to that of the next, on average; NaN when fewer
 * than two are whole, or the window was interrupted. Beyond every_ns by more than
 * SZ_LOAD_PACE_NOTED it is noted. */
double sz_load_round_pace_ns(const struct sz_load_result *result);
#define SZ_LOAD_PACE_NOTED 0.01

/* More failures than that, and what is told of the rest tells little. */
#define SZ_LOAD_FAILED_MOST 0.01

#endif
