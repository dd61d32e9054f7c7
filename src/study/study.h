/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments, one file each. They start the service, take windows, and write
 * down what they saw; they report progress by callback and never print.
 */
#ifndef SZ_STUDY_STUDY_H
#define SZ_STUDY_STUDY_H

#include "load/load.h"
#include "os/os.h"
#include "record/record.h"

/* What the sweep is doing now. */
enum sz_step {
	SZ_STEP_CALIBRATE, /* how fast can this client be at all */
	SZ_STEP_START,     /* the service, at this setting */
	SZ_STEP_ALONE,     /* one client alone */
	SZ_STEP_LOAD,      /* the window, its warm-up and its drain */
	SZ_STEP_AGAIN,     /* the window was disturbed: once more */
	SZ_STEP_STOP,
};

struct sz_progress {
	enum sz_step step;
	size_t setting;    /* index; meaningless while calibrating */
	double expected_s; /* how long this step may well take */
};

typedef void sz_progress_fn(void *arg, const struct sz_sweep *sweep,
			    const struct sz_progress *progress);

struct sz_sweep_config {
	struct sz_os os;
	char *const *argv; /* command with templates; borrowed */
	char *const *env;  /* NULL or NAME=VALUE with templates; borrowed */
	struct sz_settings workers;
	struct sz_load_config load; /* url, addr and all; the port is the service's */
	struct sz_url ready_url;
	uint64_t ready_timeout_ns, stop_timeout_ns;
	uint64_t window_ns;       /* least length of a window */
	sz_progress_fn *progress; /* may be NULL */
	void *progress_arg;
};

/* A window ends at 300 requests (enough to quote a p99), but not before
 * window_ns and not after SZ_WINDOW_MAX_NS (or window_ns when that is more). */
#define SZ_WINDOW_REQUESTS 300
#define SZ_WINDOW_MAX_NS UINT64_C(10000000000)

/* How long a sweep of that configuration takes: shortest and longest guess. */
void sz_sweep_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s);

/* Sweep one knob upwards, one window per setting, and conclude (advise/).
 * *sweep must be initialised. A setting that fails after a smaller one was
 * measured is noted as infeasible and ends the ascent. 0 also when
 * interrupted: sweep->interrupted is set and what was finished is there. -1
 * when nothing could be measured. */
int sz_sweep_run(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err);

#endif
