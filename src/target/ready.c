/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the service: until it answers, then until its start-up work is
 * over.
 */
#include "target/inside.h"

#include <errno.h>

#include "base/clock.h"
#include "base/stop.h"
#include "net/get.h"
#include "os/proc.h"

#define TRY_NS SZ_NS_PER_S
#define TRY_MAX_NS (32 * SZ_NS_PER_S)
#define PAUSE_MIN_NS (20 * SZ_NS_PER_MS)
#define PAUSE_MAX_NS (100 * SZ_NS_PER_MS)

/* A router may answer 404 before the application behind it is mounted. */
#define REFUSAL_PATIENCE_NS (2 * SZ_NS_PER_S)

#define SETTLE_WINDOW_NS (200 * SZ_NS_PER_MS)
#define SETTLE_PATIENCE_NS (10 * SZ_NS_PER_S)
#define SETTLED_SHARE 20 /* 1/20 = 5 % of a core */

/* What the last try gave. */
struct answer {
	uint64_t patience_ns; /* with the next try */
	int status;           /* 0: none, and why says why */
	struct sz_err why;
	uint64_t first_4xx_ns; /* 0: none so far */
};

static bool is_good(int status)
{
	return status >= 200 && status < 400;
}

static bool is_4xx(int status)
{
	return status >= 400 && status < 500;
}

static int interrupted(struct sz_err *err)
{
	return sz_err_set(err, SZ_INTERRUPTED, 0, "stopped while waiting for the service");
}

/* Not cut at the deadline: a try of a few milliseconds would say "timed out"
 * of a service that answers 503. */
static void try_once(const struct sz_target *target, struct answer *answer)
{
	uint64_t now = sz_now_ns();
	answer->status = 0;
	sz_get(&target->ready_url, &target->addr, target->tls, now + answer->patience_ns,
	       &answer->status, &answer->why);
	/* A page may simply be slow: the next try waits longer. */
	if (answer->status == 0 && answer->why.errnum == ETIMEDOUT &&
	    answer->patience_ns < TRY_MAX_NS)
		answer->patience_ns *= 2;
	if (is_4xx(answer->status) && answer->first_4xx_ns == 0)
		answer->first_4xx_ns = now;
}

static int wrong_url(const struct sz_target *target, int status, struct sz_err *err)
{
	sz_err_set(err, SZ_USAGE, 0, "the service answers %d for %.200s", status,
		   target->ready_url.target);
	return sz_err_hint(err,
			   "correct --ready, or --url when there is none: a path that it answers "
			   "with 200 tells that it is up");
}

static void hint_never_ready(const struct sz_target *target, const struct answer *answer,
			     struct sz_err *err)
{
	if (answer->status != 0)
		sz_err_hint(err, "choose another path with --ready, or wait longer with "
				 "--ready-timeout");
	else if (answer->why.errnum == ECONNREFUSED)
		sz_err_hint(err, "%s", target->kind->refused_hint);
	else
		sz_err_hint(err,
			    "choose a path that it answers quickly with --ready, or wait longer "
			    "with --ready-timeout");
}

static int never_ready(const struct sz_target *target, const struct answer *answer,
		       struct sz_err *err)
{
	sz_autobuf struct sz_buf last = {0};
	if (answer->status != 0)
		sz_buf_printf(&last, "it answers %d for %.100s", answer->status,
			      target->ready_url.target);
	else
		sz_buf_printf(&last, "%.140s", answer->why.message);

	sz_autobuf struct sz_buf excerpt = {0};
	target->kind->last_output(target, &excerpt);
	sz_err_set(err, SZ_MACHINE, 0, "the service was not ready after %.1f s: %s%s%s",
		   sz_ns_to_s(target->ready_timeout_ns), sz_buf_text(&last),
		   excerpt.len ? "; its last output:" : "", sz_buf_text(&excerpt));
	hint_never_ready(target, answer, err);
	return -1;
}

static int timed_out(const struct sz_target *target, const struct answer *answer,
		     struct sz_err *err)
{
	if (!is_good(answer->status))
		return never_ready(target, answer, err);
	target->kind->explain_wait(target, err);
	return -1;
}

/* Until it answers, and its processes are those of the setting. */
static int wait_answer(struct sz_target *target, struct sz_err *err)
{
	uint64_t deadline = target->ready_deadline_ns;
	uint64_t pause = PAUSE_MIN_NS;
	struct answer answer = {.patience_ns = TRY_NS};
	for (;;) {
		uint64_t now = sz_now_ns();
		try_once(target, &answer);
		if (sz_stop_requested())
			return interrupted(err);
		bool answered = is_good(answer.status);
		int seen = target->kind->look(target, answered, err);
		if (seen < 0)
			return -1;
		if (answered && seen > 0)
			return 0;
		uint64_t patience = answer.first_4xx_ns + REFUSAL_PATIENCE_NS;
		if (is_4xx(answer.status) && now >= (patience < deadline ? patience : deadline))
			return wrong_url(target, answer.status, err);
		if (now >= deadline)
			return timed_out(target, &answer, err);
		if (sz_stop_sleep(pause))
			return interrupted(err);
		pause = pause * 5 / 4 < PAUSE_MAX_NS ? pause * 5 / 4 : PAUSE_MAX_NS;
	}
}

/* CPU time of the service so far; 0 when it is gone. */
static uint64_t tree_cpu_ns(const struct sz_target *target, struct sz_tree *tree)
{
	sz_target_tree(target, tree);
	return sz_tree_cpu_ns(tree);
}

/* One window; *cpu_ns goes from its begin to its end. */
static bool window_is_calm(const struct sz_target *target, struct sz_tree *tree, uint64_t *cpu_ns)
{
	uint64_t began = sz_now_ns();
	uint64_t before = *cpu_ns;
	if (sz_stop_sleep(SETTLE_WINDOW_NS))
		return false;
	*cpu_ns = tree_cpu_ns(target, tree);
	uint64_t used = *cpu_ns > before ? *cpu_ns - before : 0;
	return used * SETTLED_SHARE < sz_now_ns() - began;
}

/* Until a window is calm and its processes stay those of the setting: 1; 0
 * when they did not, -1 when there is no use in waiting. */
static int watch_settle(struct sz_target *target, struct sz_ready *ready, struct sz_tree *tree,
			struct sz_err *err)
{
	uint64_t give_up = sz_now_ns() + SETTLE_PATIENCE_NS;
	uint64_t cpu_ns = tree_cpu_ns(target, tree);
	int seen;
	do {
		uint64_t began = sz_now_ns();
		bool calm = window_is_calm(target, tree, &cpu_ns);
		if (sz_stop_requested())
			return interrupted(err);
		seen = target->kind->look(target, true, err);
		ready->settled = calm && target->same_since_ns <= began;
	} while (seen > 0 && !ready->settled && sz_now_ns() < give_up);
	ready->settled_ns = sz_now_ns() - target->start_ns;
	ready->start_cpu_ns = cpu_ns > target->base_cpu_ns ? cpu_ns - target->base_cpu_ns : 0;
	return seen;
}

static int wait_settled(struct sz_target *target, struct sz_ready *ready, struct sz_err *err)
{
	struct sz_tree tree = {0};
	int seen = watch_settle(target, ready, &tree, err);
	sz_tree_fini(&tree);
	return seen;
}

/* A change may begin only after the command that asked for it has ended: what
 * looked like the new processes is then replaced while it settles. */
int sz_target_wait_ready(struct sz_target *target, struct sz_ready *ready, struct sz_err *err)
{
	struct sz_ready seen = {0};
	int settled;
	do {
		if (wait_answer(target, err) < 0)
			return -1;
		seen.ready_ns = sz_now_ns() - target->start_ns;
		settled = wait_settled(target, &seen, err);
	} while (settled == 0);
	if (settled < 0)
		return -1;
	if (target->kind->fill_ready)
		target->kind->fill_ready(target, &seen);
	*ready = seen;
	return 0;
}
