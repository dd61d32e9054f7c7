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

#include "base/clock.h"
#include "load/load.h"
#include "os/cpuset.h"
#include "os/os.h"
#include "record/record.h"
#include "target/target.h"

struct sz_measure_config {
	const struct sz_os *os;
	double cores_allowed;           /* to the service */
	const uint64_t *cpus;           /* the set whose foreign use matters: the service's and
					 * sizeup's own together, SZ_CPU_WORDS */
	const struct sz_target *target; /* the running service; its tree is billed */
	struct sz_load_config load;
	uint64_t window_min_ns, window_max_ns;
	size_t rounds;            /* of bursts; they end the window instead */
	uint64_t window_requests; /* end early once so many completed, the throughput is
				   * known within SZ_PRECISION and the CPU time of a request
				   * within SZ_COST_PRECISION */
};

/* Connect, warm up, measure, drain, disconnect. *window must be initialised;
 * what it owned is freed. -1 when no request was ever answered (SZ_MACHINE) or
 * when a stop was requested (SZ_INTERRUPTED). */
int sz_measure_window(const struct sz_measure_config *config, struct sz_window *window,
		      struct sz_err *err);

/* Half of the 95 % interval of the throughput, from within the window. */
#define SZ_PRECISION 0.03
/* Of the CPU time per request, where the service uses this share of its cores
 * or more. */
#define SZ_COST_PRECISION 0.01
#define SZ_PRECISE_COST_RATIO 0.5

/* What a window must not exceed (measurement facts: the foreign-CPU gate
 * brought the spread of a plateau to 1.3 %). */
#define SZ_GATE_FOREIGN_RATIO 0.05 /* of the allowed cores */
#define SZ_GATE_STEAL_RATIO 0.02   /* of the allowed cores' time */
#define SZ_GATE_CLIENT_CORES 0.8   /* in any second */
#define SZ_GATE_LITTLE 0.05
#define SZ_GATE_MEMORY_RATIO 0.01 /* of the window, in which nothing that could run did */
#define SZ_GATE_LATE_NS (100 * SZ_NS_PER_MS) /* past the longest it may take */

/* Bits of enum sz_disturbance for the numbers of a window. Pure. */
uint32_t sz_window_gate(const struct sz_window *window, double cores_allowed, unsigned clients,
			unsigned clients_answered);

/* Connections were reopened so often that neither Little's law nor the listen
 * queue means what it means for kept-alive ones: 1 % of the requests. */
bool sz_window_reconnects(const struct sz_window *window);

#endif
