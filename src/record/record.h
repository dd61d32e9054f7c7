/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run has found: plain structs, filled by measure/, study/ and
 * advise/, kept by store.h, shown by report/. No behaviour here but making and
 * freeing them.
 *
 * Units are in the names. A number that was not or could not be measured is
 * NaN (a double) or -1 (a byte count), and becomes null in JSON and "–" in
 * text; it is never 0.
 */
#ifndef SZ_RECORD_RECORD_H
#define SZ_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "stat/select.h"

/* Not measured. (NAN itself is a float.) */
#define SZ_NAN __builtin_nan("")

/* Why a window does not count: external evidence only, never that its number
 * looked odd. Stored by their numbers: new ones go to the end. */
enum sz_disturbance {
	SZ_DISTURBED_FOREIGN_CPU, /* other programs used > 5 % of the allowed cores */
	SZ_DISTURBED_STEAL,       /* the hypervisor took > 2 % */
	SZ_DISTURBED_MEMORY,      /* nothing got on for want of memory in > 1 % of it */
	SZ_DISTURBED_CLIENT,      /* sizeup used >= 80 % of a core, in any second */
	SZ_DISTURBED_UNANSWERED,  /* some clients had had no response when it opened */
	SZ_DISTURBED_QUEUE,       /* connections sat in the listen queue when it opened */
	SZ_DISTURBED_PAUSED,      /* sizeup itself was stopped or starved: it ended late */
	SZ_DISTURBED_UNSTEADY,    /* the throughput was still changing */
	SZ_DISTURBED_LITTLE,      /* X * R differs from the clients by more than 5 % */
	SZ_DISTURBANCES,
};

/* One process of the service at the end of a window. */
struct sz_worker_share {
	unsigned connections;
	double cpu_cores;
};

/* One window: a setting under load for a few seconds. */
struct sz_window {
	double duration_s;
	uint64_t sent, ok, errors; /* requests of the window; errors: sent but not ok, and
				    * connects that failed; stale and unfinished apart */
	uint64_t unfinished, stale;
	uint64_t due, dropped; /* of an open loop: calls that were, and those never sent; 0 */
	int error_status;      /* of the last HTTP error; 0: none; 2xx or 3xx: another body than
				* the expected one */
	double throughput_rps; /* ok only */
	/* By this settings are compared, more is better: req/s, for bursts rounds
	 * per second of the slowest first byte, with a goal what meets it. */
	double score;
	double goal_rps;      /* that many were asked for when the goal of latency was last met,
			       * 0: it never was; NaN: there is none */
	unsigned rounds;      /* of bursts; 0: a closed loop */
	double burst_ttfb_ms; /* median over the rounds of the slowest first byte */
	double latency_mean_ms, latency_p50_ms, latency_p90_ms, latency_p95_ms, latency_p99_ms,
		latency_max_ms;
	double ttfb_p50_ms, ttfb_max_ms;
	double longest_gap_ms; /* without any completion */

	double cpu_s_per_request; /* of the whole tree */
	double tree_cores, client_cores, foreign_cores, steal_ratio;
	double runqueue_cores;   /* threads of the tree ready to run and waiting for a CPU */
	double downstream_cores; /* of services on this machine that this one calls */
	double reference_ms;     /* what a fixed piece of work took just before the window */
	double in_flight;        /* X * R */
	double little_ratio;     /* X * R / clients; NaN when connections were reopened */

	int64_t pss_total_bytes, rss_total_bytes;
	int64_t pss_worker_bytes, rss_worker_bytes; /* mean per worker */
	int64_t pss_supervisor_bytes;               /* -1: there is none */
	/* Of the limit that leaves the service the least, and what everybody takes
	 * of it, the service too. */
	int64_t memory_limit_bytes, memory_taken_bytes;
	/* Shares of the window in which some task of the machine, or all that could
	 * run, stood still for want of a CPU or of memory; NaN where the kernel does
	 * not count it. */
	double cpu_some_ratio, memory_some_ratio, memory_full_ratio;

	/* From looks inside the window, ten a second. */
	unsigned samples;
	double sampler_cores;     /* what looking cost; billed to sizeup */
	double client_peak_cores; /* sizeup in its busiest second */
	int64_t rss_peak_bytes;   /* of the whole tree; shared pages count in each process */
	unsigned processes_peak, threads_peak;

	int64_t listeners;             /* sockets that listen on the port; -1: unknown */
	bool workers_known;            /* false: the sockets could not be read */
	unsigned workers;              /* worker processes counted */
	struct sz_worker_share *share; /* one per worker; owned */
	bool connections_known;        /* false: the server closes connections, so counting them
					* after the window means nothing */
	double imbalance;              /* largest share of connections x workers; 1 = even */
	int64_t listen_queue;          /* when the window opened; -1: unknown */
	uint64_t reconnects;           /* asked for, or because the server closed */
	uint64_t server_closed;        /* connections that the server closed */
	uint32_t disturbed;            /* bit set of enum sz_disturbance */
};

/* Why a setting was visited. Stored by their numbers. */
enum sz_purpose {
	SZ_FOR_ASCENT,  /* once each, upwards */
	SZ_FOR_RACE,    /* again, in random order, until it is decided */
	SZ_FOR_TWICE,   /* with twice the clients: how far does the answer carry */
	SZ_FOR_SOAK,    /* the recommended one for minutes: what memory grows to */
	SZ_FOR_CONTROL, /* several windows without a restart: what age and a warm cache do */
	SZ_FOR_CONNECT, /* connections opened the other way, paced or all at once */
	SZ_FOR_USERS,   /* a burst of fewer users: from how many on do more workers pay */
	SZ_FOR_RATE,    /* an open loop at a share of what the setting can do: real latency */
};

/* One fresh start of the service at a setting, and its window. */
struct sz_visit {
	size_t setting; /* index */
	unsigned block; /* visits of one block share the machine's luck; the ascent is block 0 */
	enum sz_purpose purpose;
	unsigned clients;
	double rate_rps; /* SZ_FOR_RATE: asked for; NaN */
	struct sz_window window;
	unsigned retries; /* windows thrown away as disturbed before this one */
	double ready_s, start_cpu_s;
	bool settled;         /* start-up work was over when the load began */
	unsigned old_workers; /* of a service that is not ours: still there from before */
	double age_s;         /* of the service, from ready to the end of the window */
	double fresh_score;   /* of the first window after the same start; NaN but for a control */
	bool done;
	double exit_s; /* from SIGTERM to an empty tree; NaN when it is not ours to stop */
	bool killed;   /* it did not stop in time */
};

/* One setting of the knob. */
struct sz_setting {
	unsigned workers;  /* asked */
	bool documented;   /* somebody's documentation recommends it */
	bool current;      /* it is what the user runs now */
	char failure[300]; /* why it could not be measured; "" when it could */
	/* From here on advise/ fills it from the visits. */
	bool measured;
	unsigned windows, disturbed; /* visits under the normal load; of those, disturbed */
	/* Medians over the undisturbed windows (over all of them when there is
	 * none); counts are sums; the spread is the last window's. */
	struct sz_window window;
	double throughput_low_rps, throughput_high_rps; /* 95 %, from repeats; NaN without */
	double ready_s, start_cpu_s, exit_s;            /* medians */
	bool settled, killed;                           /* all of them; any of them */
	enum sz_verdict verdict;
	char why_infeasible[300];
	double speedup, efficiency; /* against the smallest feasible setting */
	bool saturated;
};

struct sz_machine {
	double cores_allowed;
	unsigned cpus_allowed, cpus_online;
	uint64_t memory_limit_bytes;
	bool memory_limited;
	char cores_from[384], memory_from[384];
	char unseen[256]; /* limits that could not be read */
	char kernel[96];
};

/* Classes of limits (measurement of where the time goes). */
enum sz_class {
	SZ_CLASS_UNKNOWN,
	SZ_CLASS_CPU_BOUND,
	SZ_CLASS_WAITING,
	SZ_CLASS_SERIALISED,
	SZ_CLASS_UNEVEN_SPREAD,
	SZ_CLASS_OVERSUBSCRIBED,
	SZ_CLASS_NAGLE_FLOOR,
	SZ_CLASS_CLIENT_BOUND,
	SZ_CLASS_NOISY,
};

#define SZ_EVIDENCE_MAX 6
#define SZ_WARNINGS_MAX 32

struct sz_warning {
	const char *code; /* static: "uneven-spread" */
	char text[400];
	char remedy[300];
};

enum sz_status {
	SZ_STATUS_ANSWERED,
	SZ_STATUS_NO, /* measured, and no setting can be recommended */
	SZ_STATUS_UNTRUSTWORTHY,
	SZ_STATUS_INTERRUPTED,
	SZ_STATUS_FAILED, /* nothing could be measured; see failure of the sweep */
};

/* Memory of the whole tree (PSS) by workers. A floor until it was soaked:
 * shared pages become private, caches fill. */
struct sz_memory_budget {
	bool known;
	double fixed_bytes, worker_bytes; /* a line through the settings */
	double r2;
	double soak_s; /* 0: not soaked */
	unsigned soak_workers;
	int64_t soak_total_bytes; /* after the soak */
	int64_t soak_worker_bytes;
	/* Of the limit that binds, and what other programs (sizeup among them) take
	 * of it: medians over the settings; -1: unknown. */
	int64_t limit_bytes, others_bytes;
	int64_t fits_workers; /* into what is left; -1: unknown */
};

/* The count in use now beside the recommended one: pairs of fresh starts next to
 * each other in time. */
struct sz_confirmation {
	unsigned pairs;   /* 0: nothing to confirm */
	double ratio;     /* score of the recommended over that of the current */
	double low, high; /* 95 %; NaN with one pair */
};

/* A burst of so many users at two settings: how long the slowest first byte
 * takes, median over the rounds; NaN: not known from an undisturbed window. */
struct sz_users_row {
	unsigned users;
	double smallest_ms, recommended_ms;
};

/* From how many users on more workers pay: where the recommended setting is
 * faster than the smallest feasible one by more than 15 %, and stays so. */
struct sz_users_advice {
	size_t smallest;                          /* index of that setting */
	unsigned from;                            /* 0: not even for the most users */
	struct sz_users_row row[SZ_SETTINGS_MAX]; /* ascending users */
	size_t count;
	char text[300]; /* all that in words; "" when one number of users was asked for */
};

/* What advise/ concludes. */
struct sz_advice {
	enum sz_status status;
	bool recommended;
	size_t setting; /* index of the recommended one */
	enum sz_grade grade;
	bool range_limited; /* it is the largest tested and the curve still rose */
	char reason[400];
	char reach[200]; /* for which numbers of clients it holds; "" when not tried */
	struct sz_users_advice users;
	struct sz_memory_budget memory;
	struct sz_confirmation confirmation;
	double control_ratio; /* the last window without a restart over the first; NaN */
	double control_age_s;
	double reference_ms; /* median of the reference work */
	double speed_drift;  /* the slowest over the fastest of it, less 1 */
	/* Settings that no other beats in both memory (PSS) and score; ascending. */
	size_t frontier[SZ_SETTINGS_MAX];
	size_t frontier_count;
	size_t beaten_count; /* the others that may decide */
	/* Tested neighbours of the recommended one that may decide; SZ_SETTINGS_MAX:
	 * there is none. */
	size_t larger, smaller;
	bool need_unmet;        /* no setting carries what is needed */
	bool need_open;         /* too little is known to say so */
	bool need_unasked;      /* nor can be seen to: the clients ask for less */
	bool incomparable;      /* undisturbed windows that share no block */
	bool knob_does_nothing; /* as many workers at every setting */
	bool saturated;         /* the load saturates the service at its smallest setting */
	enum sz_class limit;
	char evidence[SZ_EVIDENCE_MAX][300];
	size_t evidence_count;
	char runner_up[300];
	struct sz_warning warnings[SZ_WARNINGS_MAX];
	size_t warning_count;
};

/* "p99<250ms" of calls that come when they are due. */
struct sz_goal {
	double ratio; /* 0.99; 0: there is no goal */
	double most_ms;
};

/* The ratios of which a window knows the latency, and it. */
#define SZ_GOAL_RATIOS 4
extern const double sz_goal_ratios[SZ_GOAL_RATIOS];
double sz_window_latency_ms(const struct sz_window *window, double ratio);

struct sz_sweep {
	struct sz_machine machine;
	char command[512];      /* as given, for people */
	char undo_failure[300]; /* the service was not put back as it was; "" when it was */
	char url[512];
	unsigned clients;       /* 0: not found yet */
	unsigned knee_workers;  /* the clients are the knee of that setting; 0: they were given */
	double knee_gain_ratio; /* what twice as many gained, as 0.004; NaN: there is no knee up to
				 * these, the most that were tried */
	bool connect_burst;
	unsigned burst;              /* requests that a user sends at once; 0: a closed loop */
	unsigned users, users_least; /* settings are compared at the first, the larger */
	uint64_t seed;
	unsigned least; /* recommend no fewer workers */
	/* Recommend the smallest that carries so many requests/s, instead of the
	 * smallest as good as the best; 0: no. */
	uint64_t need_rps;
	struct sz_goal goal;

	double client_ceiling_rps;      /* requests/s this client could send with one core; NaN */
	double alone_latency_ms;        /* R1: mean latency of one client alone, smallest setting */
	double alone_cpu_s_per_request; /* D1 */

	struct sz_setting setting[SZ_SETTINGS_MAX]; /* ascending; not all need be measured */
	size_t setting_count;
	struct sz_visit *visits; /* in the order they were made; owned */
	size_t visit_count, visit_cap;
	char failure[600]; /* why nothing could be measured; "" when something could */
	bool interrupted;
	bool stopped_early;   /* the ascent ended because more gained nothing */
	char unrecorded[300]; /* why the store could not keep all of it; "" when it could */
	struct sz_advice advice;
};

/* The visit tells the latency of the recommended setting at some rate. */
bool sz_is_latency_row(const struct sz_sweep *sweep, const struct sz_visit *visit);

/* Room for one more visit, initialised, in sweep->visits; NULL when memory is
 * out. Valid until the next call. */
struct sz_visit *sz_sweep_add_visit(struct sz_sweep *sweep);

/* Index of a setting, added in its place when it is new (indices in visits
 * follow); SZ_SETTINGS_MAX when there is no room. */
size_t sz_sweep_add_setting(struct sz_sweep *sweep, unsigned workers);

/* Index of the count in use now; setting_count when it was not told. */
size_t sz_sweep_current(const struct sz_sweep *sweep);

/* Everything not measured yet. */
void sz_window_init(struct sz_window *window);
void sz_window_fini(struct sz_window *window);
void sz_sweep_init(struct sz_sweep *sweep);
void sz_sweep_fini(struct sz_sweep *sweep);

/* Plain words for people: "other programs used the CPU", … */
const char *sz_disturbance_text(enum sz_disturbance disturbance);
const char *sz_disturbance_remedy(enum sz_disturbance disturbance);

/* Codes of JSON. */
const char *sz_verdict_name(enum sz_verdict verdict);
const char *sz_grade_name(enum sz_grade grade);
const char *sz_class_name(enum sz_class limit);
const char *sz_status_name(enum sz_status status);

#endif
