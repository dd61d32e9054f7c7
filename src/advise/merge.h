/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the parts of a load that ran on several machines make one load.
 * Pure.
 */
#ifndef SZ_ADVISE_MERGE_H
#define SZ_ADVISE_MERGE_H

#include "advise/load.h"
#include "load/shard.h"

/* While not all were at it the service had only a part of the load. What may be
 * missing is what may be missing of the calls of an open loop, too. */
#define SZ_MERGE_COMMON_LEAST 0.98

/* SZ_USAGE when the files are not those of one load: other versions, something
 * else asked for, a shard missing or there twice. SZ_UNTRUSTED when they are,
 * and what they measured is not one load: one ended early, was late or fell behind
 * its schedule, or windows do not overlap. count is at least 1. */
int sz_merge_check(struct sz_shard_run *const *runs, size_t count, struct sz_err *err);

/* From the first begin to the last end: the share in which all were at it. */
double sz_merge_common_ratio(struct sz_shard_run *const *runs, size_t count);

/* Add what is to be distrusted beside what the sum tells. */
void sz_merge_judge(struct sz_shard_run *const *runs, size_t count,
		    struct sz_load_judgement *judgement);

#endif
