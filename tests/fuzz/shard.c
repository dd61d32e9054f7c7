/* SPDX-License-Identifier: Apache-2.0
 *
 * What a shard keeps: refused, or a run that is written as it was read, and that
 * can be added to itself and shown.
 */
#include "base/mem.h"
#include "fuzz.h"
#include "load/shard-inside.h"
#include "report/report.h"

static void check_again(const struct sz_shard_run *run)
{
	sz_autobuf struct sz_buf once = {0}, twice = {0};
	struct sz_shard_run *back = NULL;
	struct sz_err err = {0};
	sz_shard_run_write(run, &once);
	FUZZ_CHECK(sz_shard_run_read("again", once.data, once.len, &back, &err) == 0);
	sz_shard_run_write(back, &twice);
	FUZZ_CHECK(strcmp(once.data, twice.data) == 0);
	sz_shard_run_free(back);
}

static void check_sum(struct sz_shard_run *run)
{
	sz_autobuf struct sz_buf text = {0}, json = {0};
	struct sz_shard_run *const both[] = {run, run};
	struct sz_load_judgement judgement;
	struct sz_err err = {0};
	struct sz_shard_run *sum = sz_shard_runs_add(both, 2, &err);
	FUZZ_CHECK(sum && sz_load_counts_ok(&sum->result));
	FUZZ_CHECK(sum->result.sent == 2 * run->result.sent);
	const struct sz_load_report report = {.config = &sum->config,
					      .result = &sum->result,
					      .judgement = &judgement,
					      .runs = both,
					      .run_count = 2};
	sz_load_judge(&sum->config, &sum->result, &judgement);
	sz_report_load_text(&report, &text);
	sz_report_load_json(&report, &json);
	FUZZ_CHECK(!text.failed && !json.failed);
	sz_shard_run_free(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sz_shard_run *run = NULL;
	struct sz_err err = {0};
	sz_autofree char *text = malloc(size ? size : 1);
	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	if (sz_shard_run_read("input", text, size, &run, &err) < 0) {
		FUZZ_CHECK(!run && err.code == SZ_USAGE && err.message[0] && err.hint[0]);
		return 0;
	}
	FUZZ_CHECK(sz_load_counts_ok(&run->result));
	check_again(run);
	check_sum(run);
	sz_shard_run_free(run);
	return 0;
}
