/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this room share.
 */
#ifndef SZ_ADVISE_INSIDE_H
#define SZ_ADVISE_INSIDE_H

#include "advise/advise.h"

/* delta: a setting that is less than 5 % below the best is as good. */
#define SZ_DELTA 0.05
/* Without repeats the mean ratio must be above 1 - 0.4 delta. */
#define SZ_WEAK_RATIO (1.0 - 0.4 * SZ_DELTA)
/* R(N) <= 1.1 R1: nobody queues, the clients are the limit. */
#define SZ_UNSATURATED_RATIO 1.1
/* A CPU-bound service keeps its share of the cores at least this busy. */
#define SZ_BUSY_RATIO 0.90
/* More failed requests than this, and a setting's numbers mean nothing. */
#define SZ_ERROR_RATIO 0.01

/* A window that may decide: measured, feasible, undisturbed. */
bool sz_setting_decides(const struct sz_setting *setting);

/* The setting with the highest throughput that may decide, or NULL. */
const struct sz_setting *sz_best_setting(const struct sz_sweep *sweep);

void sz_classify_limit(struct sz_sweep *sweep);
void sz_warn_all(struct sz_sweep *sweep);

__attribute__((format(printf, 2, 3))) void sz_evidence(struct sz_advice *advice, const char *fmt,
						       ...);

/* The Nagle floor: TCP_NODELAY is lost where workers inherit sockets, and a
 * response written in two parts waits for the client's delayed ACK, 40 ms. */
bool sz_has_nagle_floor(const struct sz_sweep *sweep);

#endif
