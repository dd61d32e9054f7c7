/* SPDX-License-Identifier: Apache-2.0 */
#include "advise/merge.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"

#define NAMED_MOST 8 /* missing shards; the rest is "…" */

/* "shard 2 of 5 (host)" */
#define WHO "shard %u of %u (%.64s)"
#define WHO_IS(run) (run)->shard.number, (run)->shard.of, (run)->host

/* What cannot be merged because of how it was measured. */
static int again(struct sz_err *err)
{
	return sz_err_hint(err, "run all shards again, each as sizeup load --shard I/N "
				"--start-at \"$(($(date +%%s) + 30))\" --out FILE: the time once "
				"for all");
}

/* Are they of one load? */

static int check_versions(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	for (size_t i = 1; i < count; i++) {
		if (strcmp(runs[0]->version, runs[i]->version) == 0)
			continue;
		sz_err_set(err, SZ_USAGE, 0,
			   WHO " ran sizeup %.40s and " WHO " sizeup %.40s, which may count "
			       "differently",
			   WHO_IS(runs[0]), runs[0]->version, WHO_IS(runs[i]), runs[i]->version);
		return sz_err_hint(err, "install one version everywhere (sizeup --version), and "
					"run all shards again");
	}
	return 0;
}

static int check_asked(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	char difference[SZ_SHARD_TEXT];
	for (size_t i = 1; i < count; i++) {
		if (sz_shard_run_asks_same(runs[0], runs[i], difference))
			continue;
		sz_err_set(err, SZ_USAGE, 0, "%.150s and %.150s are not of one load: %.200s",
			   runs[0]->path, runs[i]->path, difference);
		return sz_err_hint(err, "give the files of one run; all shards have the same "
					"command line but for --shard and --out");
	}
	return 0;
}

static const struct sz_shard_run *find(struct sz_shard_run *const *runs, size_t count,
				       unsigned number)
{
	for (size_t i = 0; i < count; i++) {
		if (runs[i]->shard.number == number)
			return runs[i];
	}
	return NULL;
}

static int check_twice(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	for (size_t i = 1; i < count; i++) {
		const struct sz_shard_run *first = find(runs, i, runs[i]->shard.number);
		if (!first)
			continue;
		sz_err_set(err, SZ_USAGE, 0, WHO " is there twice: %.150s and %.150s",
			   WHO_IS(first), first->path, runs[i]->path);
		return sz_err_hint(err, "give each shard once; two that ran as the same shard "
					"need another --shard and another run");
	}
	return 0;
}

static int check_missing(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	unsigned of = runs[0]->shard.of, named = 0;
	char missing[120] = "";
	size_t len = 0;
	for (unsigned number = 1; number <= of && named <= NAMED_MOST; number++) {
		if (find(runs, count, number))
			continue;
		len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s",
					named ? ", " : "");
		if (named++ == NAMED_MOST)
			snprintf(missing + len, sizeof(missing) - len, "…");
		else
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%u", number);
	}
	if (named == 0)
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "of %u shards %s missing: %s", of,
		   named == 1 ? "one is" : "some are", missing);
	return sz_err_hint(err,
			   "give the files of all %u; a shard that wrote none said why on its "
			   "standard error",
			   of);
}

/* Was it one load? */

static int check_ended_well(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	char after[SZ_UNIT_TEXT];
	for (size_t i = 0; i < count; i++) {
		const struct sz_load_result *result = &runs[i]->result;
		if (!result->interrupted && result->aborted == SZ_ABORT_NONE)
			continue;
		static const char *const aborts[] = {
			[SZ_ABORT_NONE] = "it was interrupted",
			[SZ_ABORT_ERRORS] = "most requests failed",
			[SZ_ABORT_DEAD] = "the service was gone",
			[SZ_ABORT_NOT_HTTP] = "the service did not answer in HTTP any more",
			[SZ_ABORT_GONE] = "the service was gone at its end",
		};
		const char *why = aborts[result->interrupted ? SZ_ABORT_NONE : result->aborted];
		sz_err_set(err, SZ_UNTRUSTED, 0, WHO " ended early, after %s: %s", WHO_IS(runs[i]),
			   sz_format_duration(after, (double)result->duration_ns), why);
		return again(err);
	}
	return 0;
}

static int check_began_in_time(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	char late[SZ_UNIT_TEXT];
	for (size_t i = 0; i < count; i++) {
		const struct sz_shard_run *run = runs[i];
		double late_ns = (double)(run->began_ns - run->start_at_ns);
		double most_ns = (1 - SZ_MERGE_COMMON_LEAST) * (double)run->result.duration_ns;
		if (run->start_at_ns == 0 || late_ns <= most_ns)
			continue;
		sz_err_set(err, SZ_UNTRUSTED, 0,
			   WHO " began %s after --start-at: its clients were not connected and "
			       "answered by then",
			   WHO_IS(run), sz_format_duration(late, late_ns));
		return sz_err_hint(err, "run all shards again and leave more time: --start-at "
					"\"$(($(date +%%s) + 120))\"");
	}
	return 0;
}

/* Rounds that came while another lasted are left out, and all behind them later. */
static bool left_rounds_out(const struct sz_shard_run *run)
{
	const struct sz_load_result *result = &run->result;
	if (run->config.arrivals != SZ_ARRIVALS_BURST || run->shard.of == 1)
		return false;
	if (result->round_count != run->rounds)
		return true;
	double last_ns = (double)result->duration_ns -
			 (double)result->rounds[result->round_count - 1].slowest_ns;
	return last_ns > ((double)run->rounds - 0.5) * (double)run->config.every_ns;
}

static int check_kept_up(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	char late[SZ_UNIT_TEXT];
	for (size_t i = 0; i < count; i++) {
		const struct sz_shard_run *run = runs[i];
		if (sz_load_was_late(&run->result)) {
			double late_ns = sz_hist_quantile_ns(&run->result.lateness, 0.99);
			sz_err_set(err, SZ_UNTRUSTED, 0,
				   WHO " fell behind its schedule: it sent 1 %% of its calls more "
				       "than %s late, as its machine was too busy",
				   WHO_IS(run), sz_format_duration(late, late_ns));
			return sz_err_hint(err, "give it a core of its own, or split the load "
						"among more shards; then run all of them again");
		}
		if (left_rounds_out(run)) {
			sz_err_set(err, SZ_UNTRUSTED, 0,
				   WHO " fell behind its schedule: rounds lasted longer than "
				       "--every, so it left some out",
				   WHO_IS(run));
			return sz_err_hint(err, "run all shards again with a longer --every");
		}
	}
	return 0;
}

/* Rounds are there until the next would be due: how long the last one takes is the
 * service's, not the shard's. */
static int64_t end_of(const struct sz_shard_run *run)
{
	bool bursts = run->config.arrivals == SZ_ARRIVALS_BURST && run->config.every_ns;
	return run->began_ns +
	       (int64_t)(bursts ? run->rounds * run->config.every_ns : run->result.duration_ns);
}

struct extremes {
	const struct sz_shard_run *first_begin, *last_begin, *first_end, *last_end;
};

static struct extremes extremes_of(struct sz_shard_run *const *runs, size_t count)
{
	struct extremes found = {runs[0], runs[0], runs[0], runs[0]};
	for (size_t i = 1; i < count; i++) {
		if (runs[i]->began_ns < found.first_begin->began_ns)
			found.first_begin = runs[i];
		if (runs[i]->began_ns > found.last_begin->began_ns)
			found.last_begin = runs[i];
		if (end_of(runs[i]) < end_of(found.first_end))
			found.first_end = runs[i];
		if (end_of(runs[i]) > end_of(found.last_end))
			found.last_end = runs[i];
	}
	return found;
}

double sz_merge_common_ratio(struct sz_shard_run *const *runs, size_t count)
{
	struct extremes of = extremes_of(runs, count);
	double common_ns = (double)(end_of(of.first_end) - of.last_begin->began_ns);
	double all_ns = (double)(end_of(of.last_end) - of.first_begin->began_ns);
	return common_ns > 0 ? common_ns / all_ns : 0;
}

static int check_overlap(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	char apart[SZ_UNIT_TEXT];
	struct extremes of = extremes_of(runs, count);
	double ratio = sz_merge_common_ratio(runs, count);
	if (ratio >= SZ_MERGE_COMMON_LEAST)
		return 0;
	sz_err_set(err, SZ_UNTRUSTED, 0,
		   "the windows have only %.1f %% of their time in common, and %.0f %% is the "
		   "least: " WHO " began %s after " WHO,
		   ratio * 100, SZ_MERGE_COMMON_LEAST * 100, WHO_IS(of.last_begin),
		   sz_format_duration(apart,
				      (double)(of.last_begin->began_ns - of.first_begin->began_ns)),
		   WHO_IS(of.first_begin));
	return again(err);
}

int sz_merge_check(struct sz_shard_run *const *runs, size_t count, struct sz_err *err)
{
	static int (*const checks[])(struct sz_shard_run *const *, size_t, struct sz_err *) = {
		check_versions,   check_asked,         check_twice,   check_missing,
		check_ended_well, check_began_in_time, check_overlap, check_kept_up,
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++) {
		if (checks[i](runs, count, err) < 0)
			return -1;
	}
	return 0;
}

/* Containers of one machine have one clock. */
static bool on_one_machine(struct sz_shard_run *const *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!runs[i]->boot[0] || strcmp(runs[i]->boot, runs[0]->boot) != 0)
			return false;
	}
	return true;
}

static void judge_clocks(struct sz_shard_run *const *runs, size_t count,
			 struct sz_load_judgement *judgement)
{
	if (on_one_machine(runs, count))
		return;
	for (size_t i = 0; i < count; i++) {
		double error_ns = (double)runs[i]->clock_error_ns;
		double most_ns = (1 - SZ_MERGE_COMMON_LEAST) * (double)runs[i]->result.duration_ns;
		if (error_ns >= 0 && error_ns <= most_ns)
			continue;
		sz_load_distrust(judgement,
				 "the clock of %.64s is not known to be right: whether the windows "
				 "overlap is as uncertain (set it by NTP or PTP)",
				 runs[i]->host);
		return;
	}
}

/* A tenth, as with the calls of an open loop. */
static void judge_rounds(struct sz_shard_run *const *runs, size_t count,
			 struct sz_load_judgement *judgement)
{
	char apart[SZ_UNIT_TEXT], slowest[SZ_UNIT_TEXT];
	struct extremes of = extremes_of(runs, count);
	double apart_ns = (double)(of.last_begin->began_ns - of.first_begin->began_ns);
	double slowest_ns = (double)runs[0]->result.slowest.p50_ns;
	if (runs[0]->config.arrivals == SZ_ARRIVALS_BURST && apart_ns > 0.1 * slowest_ns)
		sz_load_distrust(judgement,
				 "rounds of the shards began up to %s apart, and take %s: they "
				 "hardly met",
				 sz_format_duration(apart, apart_ns),
				 sz_format_duration(slowest, slowest_ns));
}

void sz_merge_judge(struct sz_shard_run *const *runs, size_t count,
		    struct sz_load_judgement *judgement)
{
	judge_clocks(runs, count, judgement);
	judge_rounds(runs, count, judgement);
}
