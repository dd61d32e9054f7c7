/* SPDX-License-Identifier: Apache-2.0
 *
 * The store: runs and their windows in one SQLite file per user, so that a run
 * that was killed can be resumed and an old one looked at again.
 *
 * What it is not: needed. A caller whose record fails goes on without one; no
 * answer is lost to a full disk.
 *
 * Three tables. `run` has a row per sweep: when, by which version, the command,
 * the options as understood (JSON), the machine, the calibration, the status.
 * `failure` has the settings that could not be measured, and why. `visit` has a row per finished
 * window: every field of struct sz_visit and struct sz_window as a column of the same name, except
 * that the setting is told by its count of workers. What is not known is NULL;
 * numbers come back bit by bit.
 *
 * Every call is one transaction that is on the disk when it returns. Writers
 * wait for each other for SZ_STORE_BUSY_MS.
 *
 * Secrets are stored as "***" (redact.h), so two runs that differ in nothing
 * else count as the same.
 *
 * A store belongs to one thread.
 */
#ifndef SZ_RECORD_STORE_H
#define SZ_RECORD_STORE_H

#include <stdint.h>

#include "base/err.h"
#include "record/record.h"

#define SZ_STORE_BUSY_MS 20000

struct sz_store;

/* Open the file at path, or with NULL the user's own
 * ($XDG_STATE_HOME/sizeup/history.db, else ~/.local/state/…, made with its
 * directories); only its owner can read it. A file of another program or of a
 * newer sizeup is refused and left as it is. */
int sz_store_open(const char *path, struct sz_store **store, struct sz_err *err);
void sz_store_close(struct sz_store *store); /* NULL is fine */

const char *sz_store_path(const struct sz_store *store);

/* A new run. The sweep is described (its url, load, machine, as known before
 * anything is measured); options_json is an object of all that must be the
 * same to resume it. Its member "command", an array of words, becomes the
 * command of the run. */
int sz_store_begin(struct sz_store *store, const struct sz_sweep *sweep, const char *options_json,
		   int64_t *run_id, struct sz_err *err);

/* Keep what is known beside the visits: calibration, machine, failed settings. */
int sz_store_update(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
		    struct sz_err *err);

/* Keep one visit and all that sz_store_update() keeps, or nothing. */
int sz_store_visit(struct sz_store *store, int64_t run_id, const struct sz_sweep *sweep,
		   size_t visit_index, struct sz_err *err);

/* The run is over: a name of enum sz_status, or "failed". One that was
 * interrupted may still be resumed. */
int sz_store_finish(struct sz_store *store, int64_t run_id, const char *status, struct sz_err *err);

/* Go on with a run that was killed or interrupted: *run_id, or the newest one
 * when that is 0. A run that some process is still making does not count.
 * Fills visits, calibration, machine and failures of a sweep that is described
 * and has no visits yet. SZ_USAGE when there is no such run, or when options,
 * sizeup's version or the machine (cores, kernel) differ; the message says
 * which. */
int sz_store_resume(struct sz_store *store, const char *options_json, int64_t *run_id,
		    struct sz_sweep *sweep, struct sz_err *err);

#endif
