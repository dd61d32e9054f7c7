/* SPDX-License-Identifier: Apache-2.0
 *
 * How many clients a sweep needs: as many as its largest setting gains from
 * (stat/knee.h), so that no setting is judged by a load that one with fewer
 * workers could carry as well.
 */
#ifndef SZ_STUDY_KNEE_H
#define SZ_STUDY_KNEE_H

#include "study/study.h"

/* No more are tried; then these are the clients, though there is no knee. */
#define SZ_KNEE_CLIENTS_MAX 1024

/* Start the service once at the largest count of config->workers, take a short
 * window with 1, 2, 4 … clients until the knee is found, and fill clients,
 * knee_workers and knee_gain_ratio of the sweep. A disturbed window is repeated
 * once; SZ_UNTRUSTED when that one is disturbed, too. Otherwise fails as a
 * visit does. err must not be NULL. */
int sz_find_knee(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err);

/* Add how long that takes: shortest and longest guess. */
void sz_knee_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s);

#endif
