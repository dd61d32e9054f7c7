/* SPDX-License-Identifier: Apache-2.0
 *
 * One window: a running service under load for a few seconds, watched from
 * the kernel, gated against outside disturbance.
 *
 * What it is not: it starts and stops nothing and compares nothing; a window
 * says only what was seen and whether something external spoilt it.
 */
#ifndef SZ_MEASURE_MEASURE_H
#define SZ_MEASURE_MEASURE_H

#include "load/load.h"
#include "os/limits.h"
#include "os/os.h"
#include "record/record.h"

struct sz_measure_config {
	const struct sz_os *os;
	const struct sz_limits *limits; /* of the service */
	pid_t guard_pid;                /* parent of the service: its tree is billed */
	struct sz_load_config load;
	uint64_t window_min_ns, window_max_ns;
	uint64_t window_requests; /* end early once this many completed */
};

/* Connect, warm up, measure, drain, disconnect. *window must be initialised;
 * what it owned is freed. -1 when no request was ever answered (SZ_MACHINE) or
 * when a stop was requested (SZ_INTERRUPTED). */
int sz_measure_window(const struct sz_measure_config *config, struct sz_window *window,
		      struct sz_err *err);

/* What a window must not exceed (measurement facts: the foreign-CPU gate
 * brought the spread of a plateau to 1.3 %). */
#define SZ_GATE_FOREIGN_RATIO 0.05 /* of the allowed cores */
#define SZ_GATE_STEAL_RATIO 0.02   /* of the allowed cores' time */
#define SZ_GATE_CLIENT_CORES 0.8
#define SZ_GATE_LITTLE 0.05

/* Bits of enum sz_disturbance for the numbers of a window. Pure. */
uint32_t sz_window_gate(const struct sz_window *window, double cores_allowed, unsigned clients,
			unsigned clients_answered);

#endif
