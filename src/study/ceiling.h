/* SPDX-License-Identifier: Apache-2.0
 *
 * How many requests a second this client could send if the service cost
 * nothing: measured against the reference server's empty handler, over plain
 * HTTP/1.1 whatever the load speaks.
 */
#ifndef SZ_STUDY_CEILING_H
#define SZ_STUDY_CEILING_H

#include "study/study.h"

/* Requests completed per second of the client's own CPU time: what one core
 * can do, whoever else uses the others. */
int sz_client_ceiling(const struct sz_sweep_config *config, double *ceiling_rps,
		      struct sz_err *err);

#endif
