/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference server: an application of rt/ whose handlers have exactly
 * known cost, so that every claim of sizeup can be tested against the truth.
 *
 *	/            "ok\n", no work
 *	/io?ms=T     answers after T ms without using the CPU or the loop
 *	/cpu?ms=T    burns T ms of CPU time of its thread, then answers
 *	/block?ms=T  sleeps T ms on the loop: every other request waits
 *
 * T may be fractional; 0 … 60,000. Anything else is answered 400, an unknown
 * path 404, each with one line that says why.
 */
#ifndef SZ_SERVE_SERVE_H
#define SZ_SERVE_SERVE_H

#include "rt/rt.h"

void sz_serve_handle(struct sz_rt_request *request, void *app);

#endif
