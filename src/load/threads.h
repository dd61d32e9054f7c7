/* SPDX-License-Identifier: Apache-2.0
 *
 * One load by several threads of this process: each has a shard of it (shard.h),
 * their windows begin together, and what they saw is added.
 */
#ifndef SZ_LOAD_THREADS_H
#define SZ_LOAD_THREADS_H

#include "load/shard.h"

#define SZ_LOAD_THREADS_MAX 64

/* Open, one window, add, free: run->result and its parts, which are then the run's
 * own. The calling thread is one of them, and calls span's at_poll, with what all have,
 * and its at_edge; precise_enough is not called. Errors are those of the first thread
 * that had one, or SZ_USAGE when there is too little to share out. */
int sz_load_by_threads(const struct sz_load_config *config, unsigned threads,
		       const struct sz_load_span *span, struct sz_shard_run *run,
		       struct sz_err *err);

#endif
