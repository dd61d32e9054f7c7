/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens inside a window: a thread that looks at the service and at
 * sizeup itself ten times a second, by what costs microseconds (os/track.h,
 * clocks), and finds the service's processes anew once a second.
 *
 * What it is not: the source of the window's own numbers, which are read at its
 * edges. What it costs is billed to sizeup like the load generator, and told.
 *
 * For this room only.
 */
#ifndef SZ_MEASURE_SAMPLER_H
#define SZ_MEASURE_SAMPLER_H

#include "measure/measure.h"

#define SZ_SAMPLE_NS (100 * SZ_NS_PER_MS)

/* Of a span of time. */
struct sz_samples {
	unsigned looks;
	double cost_cores;       /* the thread's own CPU time while it lived; NaN: unknown */
	int64_t rss_peak_bytes;  /* of all processes together; -1 when one was unreadable */
	unsigned processes_peak; /* 0 without a look */
	unsigned threads_peak;
	double client_peak_cores; /* sizeup's in its busiest second; NaN below a second */
};

struct sz_sampler;

/* *sampler is the caller's; target and os are borrowed until it is stopped. */
int sz_sampler_start(const struct sz_os *os, const struct sz_target *target,
		     struct sz_sampler **sampler, struct sz_err *err);

/* Stop and free it; samples of what it saw from from_ns to to_ns. samples may
 * be NULL; NULL for sampler is fine. */
void sz_sampler_stop(struct sz_sampler *sampler, uint64_t from_ns, uint64_t to_ns,
		     struct sz_samples *samples);

#endif
