/* SPDX-License-Identifier: Apache-2.0
 *
 * One visit of a sweep: start the service afresh at a setting, take its
 * window, stop it.
 */
#ifndef SZ_STUDY_VISIT_H
#define SZ_STUDY_VISIT_H

#include "measure/measure.h"
#include "os/limits.h"
#include "study/study.h"
#include "target/target.h"

/* Windows of a control, one after the other in the same life of the service. */
#define SZ_CONTROL_WINDOWS 3

struct sz_visit_plan {
	size_t setting; /* index */
	unsigned block;
	enum sz_purpose purpose;
	unsigned users;  /* of a burst; 0: as many clients as the purpose asks for */
	double rate_rps; /* of SZ_FOR_RATE */
};

/* Adds a visit to the sweep. The first one of a sweep also measures one client
 * alone. On failure nothing is added: SZ_INTERRUPTED, or why the setting could
 * not be measured. err must not be NULL. */
int sz_visit_setting(const struct sz_sweep_config *config, struct sz_sweep *sweep,
		     const struct sz_visit_plan *plan, struct sz_err *err);

/* Start the service afresh at a setting, call windows() while it runs, and stop
 * it: for windows that are no part of the record. `measure` is as for a visit.
 * Errors as above, or what windows() failed with. */
typedef int sz_windows_fn(void *arg, const struct sz_measure_config *measure, struct sz_err *err);
int sz_visit_unrecorded(const struct sz_sweep_config *config, struct sz_sweep *sweep,
			size_t setting, sz_windows_fn *windows, void *arg, struct sz_err *err);

void sz_describe_machine(const struct sz_limits *limits, struct sz_machine *machine);

/* How to change and find a service that is not our child. */
void sz_sweep_attached(const struct sz_sweep_config *config, struct sz_attached_config *attached);

uint64_t sz_window_max_ns(const struct sz_sweep_config *config);

void sz_sweep_report(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
		     enum sz_step step, size_t setting, double expected_s);

#endif
