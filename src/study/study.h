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
#include "record/store.h"

/* What the sweep is doing now. */
enum sz_step {
	SZ_STEP_CALIBRATE, /* how fast can this client be at all */
	SZ_STEP_START,     /* the service, at this setting */
	SZ_STEP_ALONE,     /* one client alone */
	SZ_STEP_KNEE,      /* a window on the way to the knee */
	SZ_STEP_LOAD,      /* the window, its warm-up and its drain */
	SZ_STEP_AGAIN,     /* the window was disturbed: once more */
	SZ_STEP_GOAL,      /* up to which rate the goal of latency is met */
	SZ_STEP_STOP,
	SZ_STEP_KNEE_POINT,   /* one number of clients was tried */
	SZ_STEP_FIRST_ANSWER, /* the ascent is over; sweep->advice holds the first answer */
	SZ_STEP_UNRECORDED,   /* from here on nothing is stored; sweep->unrecorded says why */
};

struct sz_progress {
	enum sz_step step;
	size_t setting;    /* index; meaningless while calibrating */
	double expected_s; /* how long this step may well take */
	/* SZ_STEP_KNEE_POINT: what so many clients got */
	unsigned clients;
	double throughput_rps;
};

typedef void sz_progress_fn(void *arg, const struct sz_sweep *sweep,
			    const struct sz_progress *progress);

struct sz_sweep_config {
	struct sz_os os;
	char *const *argv; /* command with templates, or NULL: see attached; borrowed */
	char *const *env;  /* NULL or NAME=VALUE with templates; borrowed */
	const char *reset; /* shell command before each start, with templates, or NULL */
	/* A service that is not our child: how to change and find it. Its URLs and
	 * time-outs are those of this struct. */
	struct {
		const char *apply, *undo, *pid_file, *cgroup;
	} attached;
	uint64_t hook_timeout_ns; /* of reset, apply and undo */
	struct sz_settings workers;
	struct sz_settings documented; /* counts that somebody's documentation recommends */
	unsigned current;              /* what the user runs now; 0: not told */
	unsigned least;                /* recommend no fewer; 0 or 1: no demand */
	uint64_t need_rps;             /* recommend the smallest that carries it; 0: no demand */
	struct sz_goal goal;           /* settings are compared by the rate that meets it */
	bool latency_table;            /* of the recommended one, at shares of what it can do */
	struct sz_load_config load;    /* url, addr and all; the port is the service's;
					* clients 0: as many as knee.h finds */
	struct sz_url ready_url;       /* asked for over HTTP/1.1, whatever the load speaks */
	struct sz_tls *ready_tls;      /* borrowed; NULL without TLS */
	uint64_t ready_timeout_ns, stop_timeout_ns;
	size_t rounds;            /* of a window of bursts (load.arrivals) */
	unsigned burst;           /* requests of a user at once; 0: a closed loop */
	struct sz_settings users; /* of bursts; settings are compared at the largest, of which
				   * load.clients is `burst` times as much */
	uint64_t window_ns;       /* least length of a window */
	bool ascent_only;         /* one window each, no repeats: a first answer */
	unsigned budget_windows;  /* no further round begins after so many windows … */
	uint64_t budget_ns;       /* … or after so much time */
	uint64_t soak_ns;         /* the recommended one under load for so long; 0: no soak */
	uint64_t seed;            /* of the random order */
	struct sz_store *store;   /* where each visit is kept; borrowed; NULL: nowhere */
	int64_t run_id;           /* in the store */
	sz_progress_fn *progress; /* may be NULL */
	/* Asked between windows: true when the user has seen enough. May be NULL. */
	bool (*enough)(void *arg);
	void *arg; /* of both */
};

/* A window ends at 300 requests (enough to quote a p99), but not before
 * window_ns and not after SZ_WINDOW_MAX_NS (or window_ns when that is more). */
#define SZ_WINDOW_REQUESTS 300
#define SZ_WINDOW_MAX_NS UINT64_C(10000000000)

/* The windows of the ascent, when it is not ended early. */
size_t sz_sweep_windows_most(const struct sz_sweep_config *config);

/* How long the ascent of a sweep takes: shortest and longest guess. */
void sz_sweep_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s);

/* What is known before anything is measured: the load, the machine as sizeup
 * itself sees it, the settings. *sweep must be initialised. */
int sz_sweep_describe(const struct sz_sweep_config *config, struct sz_sweep *sweep,
		      struct sz_err *err);

/* Sweep one knob and conclude (advise/):
 *
 * 1. Calibrate the client, and find the number of clients when it is not given.
 * 2. Ascend: one window per setting, with a fresh start of the service. Ends
 *    early after two steps in a row that each gained less than 3 %, at twice
 *    the cores or more; documented and current counts are tried all the same.
 *    A setting that fails after a smaller one was measured ends it, too.
 * 3. Race: rounds (blocks) of the settings that may be the answer, in random
 *    order, with fresh starts, and of untested counts that could change it,
 *    until the answer is decided, the budget is spent, or the user has enough.
 *    A current count is raced with the recommended one until there are pairs
 *    enough to tell before from after.
 * 4. The finalists with twice the clients: how far does the answer carry; and
 *    with connections opened the other way, where that can matter.
 * 5. The recommended one in an open loop, at shares of what it can do, when asked
 *    for: the latency of users who do not wait for each other.
 * 6. Bursts of fewer users, when asked for, at the smallest feasible setting and
 *    the recommended one: from how many users on do more workers pay.
 * 7. The recommended one for several windows without a restart: what a warm
 *    cache is worth, or age costs.
 * 8. The recommended one soaked under load, when asked for: what memory grows to.
 *
 * A service that is not our child is changed by the apply command instead of
 * started, never signalled, and put back by undo at the end, whatever happened.
 *
 * Each visit is stored before the next begins; a store that fails is given up,
 * not the sweep.
 *
 * *sweep must be described. When it holds the visits of a run that is resumed
 * (sz_store_resume), none of them is made again: the ascent goes on after its
 * last setting, the race with a new block. 0 also when interrupted:
 * sweep->interrupted is set and what was finished is there. -1 when nothing
 * could be measured. */
int sz_sweep_run(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err);

#endif
