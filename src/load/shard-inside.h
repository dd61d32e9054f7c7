/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside what several machines share; nobody else includes this.
 *
 * Whatever a result counts is in one of two tables, which its file and the
 * addition go by: what is in one of them is not forgotten by the other. A test
 * knows what of the result is in neither, and why.
 */
#ifndef SZ_LOAD_SHARD_INSIDE_H
#define SZ_LOAD_SHARD_INSIDE_H

#include "load/shard.h"

/* The most that a file may count: sums of SZ_SHARDS_MAX such fit 63 bits, and
 * whoever reads JSON numbers as doubles keeps them exact. */
#define SZ_SHARD_COUNT_MAX (UINT64_C(1) << 53)

enum sz_adding { SZ_ADD_SUM, SZ_ADD_MOST, SZ_ADD_LEAST };

/* A whole number of 1 (a bool), 4 or 8 bytes in a struct. */
struct sz_member {
	const char *name;
	size_t offset, bytes;
	uint64_t most;
	enum sz_adding adding;
};

uint64_t sz_member_get(const struct sz_member *member, const void *object);
void sz_member_set(const struct sz_member *member, void *object, uint64_t value);

struct sz_members {
	const struct sz_member *item;
	size_t count;
};

struct sz_hist_member {
	const char *name;
	size_t offset;
};

extern const struct sz_members sz_result_counters;
#define SZ_RESULT_HISTS 21
extern const struct sz_hist_member sz_result_hists[SZ_RESULT_HISTS];

static inline struct sz_hist *sz_result_hist(struct sz_load_result *result, size_t i)
{
	return (struct sz_hist *)(void *)((char *)result + sz_result_hists[i].offset);
}

#define SZ_SHARD_FAMILY "sizeup/shard/"
#define SZ_SHARD_SCHEMA SZ_SHARD_FAMILY "1"

/* Of struct sz_shard_run: what all shards have to agree on, and what is a shard's own;
 * texts of SZ_SHARD_TEXT bytes. */
extern const struct sz_members sz_shard_asked, sz_shard_own;

struct sz_text_member {
	const char *name;
	size_t offset;
};

#define SZ_SHARD_TEXTS 4
extern const struct sz_text_member sz_shard_texts[SZ_SHARD_TEXTS];

/* What follows from the rest of a run: fill it in. -1 when memory is out. */
int sz_shard_run_derive(struct sz_shard_run *run, struct sz_err *err);

#endif
