/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this room share.
 */
#ifndef SZ_ADVISE_INSIDE_H
#define SZ_ADVISE_INSIDE_H

#include "advise/advise.h"

/* A setting that is less than 5 % below the best is as good; 4 % inside, so
 * that what is told as 5 % holds. */
#define SZ_DELTA 0.04
/* Tails vary more, a burst's too: 15 %, 12 % inside. */
#define SZ_TAIL_DELTA 0.12
static inline double sz_delta(const struct sz_sweep *sweep)
{
	return sweep->burst ? SZ_TAIL_DELTA : SZ_DELTA;
}
/* More workers pay when they take more than 15 % off the slowest first byte. */
#define SZ_PAYS_DELTA 0.15
#define SZ_CONFIDENCE 0.95
/* A window that was repeated this often, always with the same result, counts
 * as decided where no comparison is needed. */
#define SZ_REPEATS 3
/* R(N) <= 1.1 R1: nobody queues, the clients are the limit. */
#define SZ_UNSATURATED_RATIO 1.1
/* Alone a client cannot wait longer than in a crowd. */
#define SZ_CREDIBLE_RATIO 0.9
/* A CPU-bound service keeps its share of the cores at least this busy. */
#define SZ_BUSY_RATIO 0.90
/* One worker with this many times its share of the connections is a warning. */
#define SZ_UNEVEN 2.0
/* X R1 / N within this of 1: a worker has one request in hand. R1 holds what
 * the handler does beside the limiting thing, so it is never exact. */
#define SZ_ONE_AT_A_TIME 0.15
/* So many starts that fail, beside others that do not, are no accident. */
#define SZ_FAILED_STARTS_MOST 2
/* More failed requests than this, and a setting's numbers mean nothing. */
#define SZ_ERROR_RATIO 0.01

/* Made under the load that is compared: neither twice the clients nor a soak. */
static inline bool sz_visit_compares(const struct sz_visit *visit)
{
	return visit->purpose == SZ_FOR_ASCENT || visit->purpose == SZ_FOR_RACE;
}

/* A window that may decide: measured, feasible, undisturbed. */
bool sz_setting_decides(const struct sz_setting *setting);

/* Under this window's load nobody queues. */
bool sz_is_unsaturated(const struct sz_sweep *sweep, const struct sz_window *window);

/* The setting with the highest throughput that may decide, or NULL. */
const struct sz_setting *sz_best_setting(const struct sz_sweep *sweep);

/* Fill setting rows from visits. */
int sz_summarise(struct sz_sweep *sweep, struct sz_err *err);

/* 95 % intervals of the throughput, from how the windows of one setting differ. */
void sz_fill_intervals(struct sz_sweep *sweep);

/* Whether the undisturbed windows of a setting form two groups, and its lowest and
 * highest score. */
bool sz_starts_differ(const struct sz_sweep *sweep, size_t setting, double *low, double *high);

/* The first setting of which that is so and matters; setting_count: none. */
size_t sz_find_differing(const struct sz_sweep *sweep, double *low, double *high);

/* A setting at which a request costs so much less CPU time than at the smallest
 * that it cannot be the same answer; NULL: none. */
const struct sz_setting *sz_find_cheaper(const struct sz_sweep *sweep);

/* Compare the settings by all undisturbed windows. 0, or -1 when they cannot
 * be compared. */
int sz_select_setting(const struct sz_sweep *sweep, struct sz_selection *selection,
		      struct sz_err *err);

void sz_copy_verdicts(struct sz_sweep *sweep, const struct sz_selection *selection);

/* Pass over the selected setting when its tail is shown to be the worse one
 * (advise.h); true when it did. Its grade is then about both. */
bool sz_weigh_tails(const struct sz_sweep *sweep, struct sz_selection *selection);

/* The smallest setting from `least` on that carries sweep->need_rps, or NULL; the
 * grade says how sure that is. */
const struct sz_setting *sz_find_carrying(const struct sz_sweep *sweep, unsigned least,
					  enum sz_grade *grade);

/* With repeats it is open still whether a setting carries it: "no" is not shown
 * either. */
bool sz_need_is_open(const struct sz_sweep *sweep);

/* A setting at which the clients ask for less than it could give, or NULL. */
const struct sz_setting *sz_find_unasked(const struct sz_sweep *sweep);

void sz_next_for_need(const struct sz_sweep *sweep, struct sz_next *next);

/* Adds it unless it is there. */
void sz_next_again(struct sz_next *next, unsigned workers);

/* Index of the setting with so many workers; setting_count when there is none. */
size_t sz_setting_index(const struct sz_sweep *sweep, unsigned workers);

/* It was visited, whether or not anything could be measured. */
bool sz_was_tried(const struct sz_sweep *sweep, unsigned workers);

/* Add untested counts that could change the answer, each once in a sweep. */
void sz_next_untested(const struct sz_sweep *sweep, const struct sz_selection *selection,
		      struct sz_next *next);

/* The smallest setting that was measured, or the last. */
size_t sz_smallest_setting(const struct sz_sweep *sweep);

/* It can be trusted and the load does not saturate it. */
bool sz_smallest_is_enough(const struct sz_sweep *sweep);

/* What the windows with twice the clients say of the recommendation. */
void sz_judge_reach(struct sz_sweep *sweep);

/* What the bursts of fewer users say of it. */
void sz_judge_users(struct sz_sweep *sweep);

/* Pairs of windows that are wanted to tell before from after; and of which no
 * more are looked at. */
#define SZ_PAIRS 4
#define SZ_PAIRS_MAX 64

/* Fill confirmation and control of the advice. */
void sz_confirm(struct sz_sweep *sweep);

/* Before settings are judged: some may not fit. */
void sz_budget_memory(struct sz_sweep *sweep);

/* Bytes that the setting takes, grown as the soak showed; NaN when unknown. */
double sz_memory_needed(const struct sz_sweep *sweep, const struct sz_setting *setting);

/* False only when it is known not to fit beside what others take. */
bool sz_fits_memory(const struct sz_sweep *sweep, const struct sz_setting *setting);

/* The frontier and the neighbours of the recommended setting. */
void sz_weigh_memory(struct sz_sweep *sweep);

void sz_classify_limit(struct sz_sweep *sweep);
void sz_warn_all(struct sz_sweep *sweep);

/* The Nagle floor: TCP_NODELAY is lost where workers inherit sockets, and a
 * response written in two parts waits for the client's delayed ACK, 40 ms. */
bool sz_has_nagle_floor(const struct sz_sweep *sweep);

#endif
