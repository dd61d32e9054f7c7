/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of a load is whose.
 */
#include "load/shard.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "stat/shuffle.h"

/* Who starts the same command many times, and how it says which time this is;
 * ranks count from 0. */
static const struct launcher {
	const char *name, *rank, *size;
	const char *remedy; /* when one of them is missing */
} launchers[] = {
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "run it below mpirun"},
	{"PMI", "PMI_RANK", "PMI_SIZE", "run it below mpiexec, or srun --mpi=pmi2"},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "run it below srun"},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "SIZEUP_SHARDS",
	 "Kubernetes sets JOB_COMPLETION_INDEX in an Indexed Job; set SIZEUP_SHARDS to the "
	 "Job's completions in the pod's env, see docs/indexed-job.yaml"},
};

static int bad_shard(const char *text, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "'%.60s' is no shard", text);
	return sz_err_hint(err,
			   "write 2/5 for the second of five (at most %d), or env for what "
			   "mpirun, srun or Kubernetes says",
			   SZ_SHARDS_MAX);
}

static bool scan_number(const char *text, size_t len, unsigned *number)
{
	char digits[8];
	uint64_t value;
	struct sz_err ignored;
	if (len == 0 || len >= sizeof(digits) || strspn(text, "0123456789") < len)
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
	if (sz_parse_count(digits, &value, &ignored) < 0)
		return false;
	*number = (unsigned)value;
	return true;
}

static bool is_shard(const struct sz_shard *shard)
{
	return shard->number >= 1 && shard->number <= shard->of && shard->of <= SZ_SHARDS_MAX;
}

static int from_text(const char *text, struct sz_shard *shard, struct sz_err *err)
{
	struct sz_shard found;
	size_t len = strcspn(text, "/");
	if (text[len] != '/' || !scan_number(text, len, &found.number) ||
	    !scan_number(text + len + 1, strlen(text + len + 1), &found.of) || !is_shard(&found))
		return bad_shard(text, err);
	*shard = found;
	return 0;
}

static int half_said(const struct launcher *launcher, bool has_rank, struct sz_err *err)
{
	const char *has = has_rank ? launcher->rank : launcher->size;
	const char *lacks = has_rank ? launcher->size : launcher->rank;
	sz_err_set(err, SZ_USAGE, 0, "--shard env: %s is set (%s), and %s is not", has,
		   launcher->name, lacks);
	return sz_err_hint(err, "%s; or say --shard 2/5", launcher->remedy);
}

static int nobody_says(struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0,
		   "--shard env: the environment names no shard: neither %s nor %s, %s or %s is "
		   "set",
		   launchers[0].rank, launchers[1].rank, launchers[2].rank, launchers[3].rank);
	return sz_err_hint(err, "run it below mpirun, srun or a Kubernetes Indexed Job; or say "
				"--shard 2/5");
}

static int take_said(const struct launcher *launcher, const char *rank, const char *size,
		     struct sz_shard *shard, struct sz_err *err)
{
	struct sz_shard found = {0};
	bool are_numbers = scan_number(rank, strlen(rank), &found.number) &&
			   scan_number(size, strlen(size), &found.of);
	found.number++;
	if (are_numbers && is_shard(&found)) {
		*shard = found;
		return 0;
	}
	sz_err_set(err, SZ_USAGE, 0, "--shard env: %s=%.40s and %s=%.40s (%s) are no shard",
		   launcher->rank, rank, launcher->size, size, launcher->name);
	return sz_err_hint(err, "ranks go from 0 to the size less 1, and the size to %d",
			   SZ_SHARDS_MAX);
}

static int from_environment(sz_environment *environment, struct sz_shard *shard, struct sz_err *err)
{
	const struct launcher *half = NULL;
	for (size_t i = 0; i < SZ_ARRAY_LEN(launchers); i++) {
		const char *rank = environment(launchers[i].rank);
		const char *size = environment(launchers[i].size);
		if (rank && size)
			return take_said(&launchers[i], rank, size, shard, err);
		if ((rank || size) && !half)
			half = &launchers[i];
	}
	return half ? half_said(half, environment(half->rank) != NULL, err) : nobody_says(err);
}

int sz_shard_parse(const char *text, sz_environment *environment, struct sz_shard *shard,
		   struct sz_err *err)
{
	return strcmp(text, "env") == 0 ? from_environment(environment, shard, err)
					: from_text(text, shard, err);
}

unsigned sz_shard_part(const struct sz_shard *shard, unsigned total)
{
	return total / shard->of + (shard->number <= total % shard->of);
}

static int too_few(const struct sz_shard *shard, unsigned count, const char *what,
		   struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "%u %s cannot be shared by %u parts", count, what, shard->of);
	return sz_err_hint(err, "ask for --%s %u at least: they count for all shards together",
			   what, shard->of);
}

static int split_users(const struct sz_shard *shard, const struct sz_load_config *whole,
		       struct sz_load_config *part, struct sz_err *err)
{
	unsigned each = whole->clients / whole->users;
	if (whole->users < shard->of)
		return too_few(shard, whole->users, "users", err);
	if (whole->every_ns == 0) {
		sz_err_set(err, SZ_USAGE, 0,
			   "rounds of several shards come at the same instant only at a fixed "
			   "pace");
		return sz_err_hint(err, "say --every TIME, longer than a round takes");
	}
	part->users = sz_shard_part(shard, whole->users);
	part->clients = each * part->users;
	return 0;
}

static int split_clients(const struct sz_shard *shard, const struct sz_load_config *whole,
			 struct sz_load_config *part, struct sz_err *err)
{
	if (whole->clients < shard->of)
		return too_few(shard, whole->clients, "clients", err);
	part->clients = sz_shard_part(shard, whole->clients);
	return 0;
}

/* The number-th output of a generator that starts with the seed: shards do not
 * draw the same requests in the same order. */
static uint64_t seed_of(uint64_t seed, unsigned number)
{
	uint64_t drawn = seed;
	for (unsigned i = 0; i < number; i++)
		drawn = sz_random_next(&seed);
	return drawn;
}

int sz_shard_config(const struct sz_shard *shard, const struct sz_load_config *whole,
		    struct sz_load_config *part, struct sz_err *err)
{
	struct sz_load_config split = *whole;
	if (shard->of > 1) {
		bool bursts = whole->arrivals == SZ_ARRIVALS_BURST;
		if ((bursts ? split_users : split_clients)(shard, whole, &split, err) < 0)
			return -1;
		split.seed = seed_of(whole->seed, shard->number);
		split.turn = whole->turn + (shard->number - 1) * sz_load_connections(&split);
		/* Of a part that may be shared out itself. */
		unsigned parts = whole->rate.parts ? whole->rate.parts : 1;
		split.rate.part = whole->rate.part + (shard->number - 1) * parts;
		split.rate.parts = shard->of * parts;
	}
	*part = split;
	return 0;
}
