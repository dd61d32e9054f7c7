/* SPDX-License-Identifier: Apache-2.0
 *
 * A store in a directory of its own, for one test.
 */
#ifndef SZ_TEST_RECORD_SCRATCH_H
#define SZ_TEST_RECORD_SCRATCH_H

#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/inside.h"

#define OPTIONS "{\"command\": [\"serve\", \"{workers}\"], \"clients\": 50, \"url\": \"/a\"}"

struct scratch {
	char directory[64];
	char path[96];
	struct sz_store *store;
};

static inline void scratch_open(struct scratch *scratch)
{
	struct sz_err err = {0};
	if (sz_store_open(scratch->path, &scratch->store, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void scratch_close(struct scratch *scratch)
{
	sz_store_close(scratch->store);
	scratch->store = NULL;
}

static inline int scratch_setup(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));
	assert_non_null(scratch);
	snprintf(scratch->directory, sizeof(scratch->directory), "/tmp/sizeup-record-XXXXXX");
	assert_non_null(mkdtemp(scratch->directory));
	snprintf(scratch->path, sizeof(scratch->path), "%s/history.db", scratch->directory);
	*state = scratch;
	return 0;
}

static inline int scratch_remove(const char *path, const struct stat *status, int type,
				 struct FTW *walk)
{
	(void)status, (void)type, (void)walk;
	return remove(path);
}

static inline int scratch_teardown(void **state)
{
	struct scratch *scratch = *state;
	sz_store_close(scratch->store);
	nftw(scratch->directory, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
	free(scratch);
	return 0;
}

#define SCRATCH_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

/* A sweep as it is before anything is measured. */
static inline void describe(struct sz_sweep *sweep)
{
	sz_sweep_init(sweep);
	snprintf(sweep->url, sizeof(sweep->url), "http://127.0.0.1:8000/a");
	snprintf(sweep->machine.kernel, sizeof(sweep->machine.kernel), "Linux 6.1.0");
	sweep->machine.cores_allowed = 2;
	sweep->clients = 50;
	sz_sweep_add_setting(sweep, 1);
	sz_sweep_add_setting(sweep, 2);
	sz_sweep_add_setting(sweep, 4);
}

static inline struct sz_visit *add_visit(struct sz_sweep *sweep, unsigned workers, double rps)
{
	size_t setting = sz_sweep_add_setting(sweep, workers);
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	assert_non_null(visit);
	visit->setting = setting;
	visit->clients = sweep->clients;
	visit->window.throughput_rps = visit->window.score = rps;
	return visit;
}

static inline int64_t begin(struct sz_store *store, const struct sz_sweep *sweep)
{
	struct sz_err err = {0};
	int64_t run_id = 0;
	if (sz_store_begin(store, sweep, OPTIONS, &run_id, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(run_id > 0);
	return run_id;
}

static inline void keep_visit(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
			      size_t index)
{
	struct sz_err err = {0};
	if (sz_store_visit(store, run_id, sweep, index, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void resume(struct sz_store *store, struct sz_sweep *sweep)
{
	struct sz_err err = {0};
	int64_t run_id = 0;
	if (sz_store_resume(store, OPTIONS, &run_id, sweep, &err) < 0)
		fail_msg("%s", err.message);
}

#endif
