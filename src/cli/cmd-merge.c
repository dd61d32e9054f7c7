/* SPDX-License-Identifier: Apache-2.0
 *
 * `sizeup merge`: the shards of a load as one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "advise/merge.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "load/shard.h"

struct merge_options {
	bool json;
};

#define AT(member) SZ_OPT_AT(struct merge_options, member)

static const struct sz_opt merge_options[] = {
	{"json", SZ_OPT_FLAG, AT(json), .help = "print one JSON document instead of text"},
};

static const char *const merge_examples[] = {
	"sizeup serve --port 8000 & sleep 1; sizeup load --duration 2s --out /tmp/load.json "
	"http://127.0.0.1:8000/; sizeup merge /tmp/load.json; kill $!",
	NULL,
};

struct shards {
	struct sz_shard_run **run;
	size_t count;
};

static void shards_fini(struct shards *shards)
{
	for (size_t i = 0; i < shards->count; i++)
		sz_shard_run_free(shards->run[i]);
	free(shards->run);
}

static int read_all(char *const *paths, size_t count, struct shards *shards, struct sz_err *err)
{
	shards->run = calloc(count, sizeof(shards->run[0]));
	if (!shards->run)
		return sz_err_nomem(err);
	for (; shards->count < count; shards->count++) {
		if (sz_shard_run_load(paths[shards->count], &shards->run[shards->count], err) < 0)
			return -1;
	}
	return 0;
}

static int show(const struct merge_options *options, const struct shards *shards,
		const struct sz_shard_run *sum, struct sz_err *err)
{
	sz_autobuf struct sz_buf view = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &sum->config,
					.result = &sum->result,
					.runs = shards->run,
					.run_count = shards->count,
					.is_sum = shards->count > 1};
	snprintf(report.url, sizeof(report.url), "%s", sum->url);
	sz_load_judge(&sum->config, &sum->result, &judgement);
	sz_merge_judge(shards->run, shards->count, &judgement);
	if (options->json)
		sz_report_load_json(&report, &view);
	else
		sz_report_load_text(&report, &view);
	return sz_cli_print(&view, err) < 0 ? -1 : sz_cli_load_exit(&report);
}

static int merge(const struct merge_options *options, const struct shards *shards,
		 struct sz_err *err)
{
	if (sz_merge_check(shards->run, shards->count, err) < 0)
		return -1;
	struct sz_shard_run *sum = sz_shard_runs_add(shards->run, shards->count, err);
	int status = sum ? show(options, shards, sum, err) : -1;
	sz_shard_run_free(sum);
	return status;
}

static int run(const struct sz_command *spec, char **argv, struct sz_err *err)
{
	struct merge_options options = {0};
	struct shards shards = {0};
	sz_autoparsed struct sz_parsed parsed = {0};
	int help = sz_cli_parse(spec, argv, &options, &parsed, err);
	if (help)
		return help < 0 ? -1 : 0;
	if (parsed.operand_count == 0) {
		sz_err_set(err, SZ_USAGE, 0, "there is no file to merge");
		return sz_err_hint(err, "sizeup merge shard-*.json");
	}
	int status = read_all(parsed.operand, parsed.operand_count, &shards, err);
	if (status == 0)
		status = merge(&options, &shards, err);
	shards_fini(&shards);
	return status;
}

const struct sz_cli_command sz_cmd_merge = {
	.spec = {.name = "merge",
		 .operands = "FILE…",
		 .summary = "add what the shards of a load have seen, exactly",
		 .about =
			 "Reads what sizeup load --shard I/N --out FILE kept, of all N shards, and "
			 "shows it as one load: counts and histograms are added, percentiles "
			 "computed from the sum. Refused are files of several loads, and shards "
			 "that were not at it at the same time or fell behind their schedule. "
			 "Exit status: that of sizeup load; 2 the files are not those of one "
			 "load, 4 they are, and what they measured cannot be trusted.",
		 .options = merge_options,
		 .option_count = SZ_ARRAY_LEN(merge_options),
		 .examples = merge_examples,
		 .operand_max = SZ_SHARDS_MAX},
	.run = run,
};
