/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C: the one process-wide request to end early, with what has been
 * measured so far.
 *
 * SIGINT, SIGTERM and SIGHUP only note the request; whoever is waiting sees
 * it through sz_stop_fd() (level-triggered: readable from then on) and
 * returns what it has. Nothing ends the program but its own main(). A signal
 * that was ignored when sizeup started (nohup) stays ignored.
 *
 * The state is global because signals are. A child that is forked without
 * exec calls sz_stop_fini() before it installs handlers of its own.
 */
#ifndef SZ_BASE_STOP_H
#define SZ_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Install the handlers. Once, from main(). */
int sz_stop_init(struct sz_err *err);

/* Default handlers again, and the request forgotten. */
void sz_stop_fini(void);

bool sz_stop_requested(void);

/* A descriptor that polls readable once a stop was requested; -1 before init. */
int sz_stop_fd(void);

/* Sleep; true when a stop was requested before or during the sleep. */
bool sz_stop_sleep(uint64_t ns);

#endif
