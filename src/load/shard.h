/* SPDX-License-Identifier: Apache-2.0
 *
 * One load from several machines: each has a shard of it, keeps what it saw in
 * a file, and the files are added.
 *
 *	shard.c       which part of the load is whose
 *	wall.c        the clock of the day: all begin at the same instant
 *	shard-run.c   what a shard keeps, and of what load it is
 *	shard-write.c to a file
 *	shard-read.c  and back
 *	merge.c       addition
 *
 * Together the shards are the load that was asked for: clients, users and calls
 * are dealt out to the last one, and of an open loop everybody has the whole
 * schedule and takes every n-th call of it. Only counters and histograms are
 * added, and never a percentile; whatever follows from them is computed anew.
 *
 * What it is not: starting anything on other machines (mpirun, srun and
 * Kubernetes do), and judging whether the parts make one load (advise/merge.h).
 */
#ifndef SZ_LOAD_SHARD_H
#define SZ_LOAD_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "load/load.h"

#define SZ_SHARDS_MAX 1024

struct sz_shard {
	unsigned number; /* 1 … of */
	unsigned of;     /* 1 … SZ_SHARDS_MAX */
};

#define SZ_SHARD_WHOLE ((struct sz_shard){.number = 1, .of = 1})

/* As getenv(3). */
typedef char *sz_environment(const char *name);

/* "2/5": the second of five; "env": as the launcher says in the environment.
 * Open MPI, PMI, Slurm and Kubernetes are asked in this order, and the first
 * that tells both number and size is believed: who runs mpirun within a job of
 * Slurm means mpirun's. SZ_USAGE otherwise. */
int sz_shard_parse(const char *text, sz_environment *environment, struct sz_shard *shard,
		   struct sz_err *err);

/* The shard's part of so many: parts differ by at most one, and add up. */
unsigned sz_shard_part(const struct sz_shard *shard, unsigned total);

/* *part is what the shard does of *whole: its clients (in bursts its users with
 * theirs), its calls of the same schedule, and an order of requests of its own.
 * SZ_USAGE when there are too few for everybody. */
int sz_shard_config(const struct sz_shard *shard, const struct sz_load_config *whole,
		    struct sz_load_config *part, struct sz_err *err);

/* How this machine's clock of the day stands to the one that measures. */
struct sz_wall {
	int64_t ahead_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	int64_t error_ns; /* how wrong it is at most, by the kernel's estimate; -1: nobody
			   * keeps it right */
};

struct sz_wall sz_wall_read(void);

/* The later of two looks, with what the clock was moved by meanwhile as error. */
void sz_wall_look_again(struct sz_wall *wall, const struct sz_wall *later);

/* "2026-07-01T12:00:00Z" (RFC 3339), or seconds since 1970 with a fraction if need
 * be, to nanoseconds since 1970. */
int sz_start_parse(const char *text, int64_t *unix_ns, struct sz_err *err);

/* The same instant on the one clock. SZ_USAGE unless it is ahead, by a day at
 * most. */
int sz_start_on_clock(int64_t unix_ns, const struct sz_wall *wall, uint64_t *start_ns,
		      struct sz_err *err);

#define SZ_SHARD_FILE_MAX_BYTES ((size_t)16 << 20)
#define SZ_SHARD_TEXT 512

/* What a shard keeps. All but the pointers of config (they are NULL, its address is
 * none) survives a file. */
struct sz_shard_run {
	char version[SZ_SHARD_TEXT]; /* of sizeup */
	char host[SZ_SHARD_TEXT];
	char boot[SZ_SHARD_TEXT]; /* names the running kernel, whose clock its containers share;
				   * "": unknown */
	struct sz_shard shard;

	/* What was asked for, of all shards together. */
	char url[SZ_SHARD_TEXT]; /* for people */
	struct sz_load_config config;
	uint64_t requests; /* a digest of what is sent and expected, without secrets */
	uint64_t duration_ns;
	uint64_t rounds;
	int64_t start_at_ns; /* since 1970, as all times below; 0: when ready */

	int64_t began_ns; /* the window; its length is the result's */
	int64_t clock_error_ns;
	struct sz_load_result result;

	/* own */
	const char *path;           /* where it was read from, or NULL */
	struct sz_load_part *parts; /* the result's, when they are its own */
	struct sz_arena arena;      /* path and labels */
};

/* Fill version, host, boot and the digest of config's requests. */
void sz_shard_run_describe(struct sz_shard_run *run);

/* SZ_MACHINE. An older file of that name is replaced as a whole, or not at all. */
int sz_shard_run_save(const struct sz_shard_run *run, const char *path, struct sz_err *err);

/* The text of such a file. */
void sz_shard_run_write(const struct sz_shard_run *run, struct sz_buf *out);

/* Whatever the file is: SZ_USAGE, or a run whose counts add up. `name` is the file's,
 * for messages. */
int sz_shard_run_read(const char *name, const char *text, size_t len, struct sz_shard_run **run,
		      struct sz_err *err);
int sz_shard_run_load(const char *path, struct sz_shard_run **run, struct sz_err *err);
void sz_shard_run_free(struct sz_shard_run *run); /* NULL is fine */

/* Were both asked for the same? If not, what differs and how, in words. */
bool sz_shard_run_asks_same(const struct sz_shard_run *a, const struct sz_shard_run *b,
			    char difference[SZ_SHARD_TEXT]);

/* All runs as one, of at least one; they ask for the same, and have the same
 * parts. Its shard is the whole, its window begins with the first and is as long
 * as the longest. The longest gap is an upper bound: when nobody of all had an
 * answer, each of them had none. NULL when memory is out. */
struct sz_shard_run *sz_shard_runs_add(struct sz_shard_run *const *runs, size_t count,
				       struct sz_err *err);

#endif
