/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages: what each waits for, and who is waited for meanwhile.
 */
#include "load/inside.h"

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/stop.h"

/* A time-out that comes so late is not believed at once. */
#define TIMEOUT_LATE_NS (20 * SZ_NS_PER_MS)

static bool primed_was_answered(const struct sz_load *load)
{
	return load->primed->answered;
}

/* Whom pacing waits for; in the end all. */
static bool are_set_up(const struct sz_load *load)
{
	return load->primed ? load->primed->answered : load->answered == load->config.clients;
}

/* In an open loop few may be needed. */
static bool all_were_answered(const struct sz_load *load)
{
	return load->answered == load->config.clients ||
	       (sz_load_is_open(load) && load->answered > 0);
}

static bool enough_is_known(const struct sz_load *load)
{
	return load->precise && load->result.outcomes[SZ_OUTCOME_OK] >= load->span->requests;
}

static bool counted_are_settled(const struct sz_load *load)
{
	return load->counted_in_flight == 0;
}

static bool all_were_settled(const struct sz_load *load)
{
	return load->unsettled == 0;
}

static bool streams_are_through(const struct sz_load *load)
{
	const struct sz_client *primed = load->primed;
	if (primed && (primed->answered || (primed->state == SZ_CLIENT_IDLE && !primed->is_due)))
		return true;
	return load->unsettled == 0;
}

static bool nothing_is_pending(const struct sz_load *load)
{
	return load->oldest == NULL;
}

static bool (*const stage_goals[SZ_STAGE_COUNT])(const struct sz_load *) = {
	[SZ_STAGE_PRIMING] = primed_was_answered, [SZ_STAGE_LEAD_IN] = all_were_answered,
	[SZ_STAGE_COUNTING] = enough_is_known,    [SZ_STAGE_TAIL] = counted_are_settled,
	[SZ_STAGE_ROUND] = all_were_settled,      [SZ_STAGE_STREAMS] = streams_are_through,
	[SZ_STAGE_DRAINING] = nothing_is_pending, [SZ_STAGE_SETUP] = are_set_up,
};

/* Counting ends here and not when the stage's function returns: what is sent
 * after this moment is not of the window. */
static void finish_stage(struct sz_load *load, uint64_t now_ns)
{
	if (load->finished)
		return;
	load->finished = true;
	load->finished_ns = now_ns;
	/* Of streams that are opened one after the other, all are still listened to. */
	if (load->stage != SZ_STAGE_STREAMS || !load->primed || load->interrupted)
		load->counting = false;
	sz_loop_stop(load->loop);
}

void sz_load_check_stage(struct sz_load *load, uint64_t now_ns)
{
	if (now_ns < load->earliest_ns)
		return;
	if (now_ns >= load->latest_ns || stage_goals[load->stage](load))
		finish_stage(load, now_ns);
}

void sz_load_fail(struct sz_load *load)
{
	load->failed = true;
	finish_stage(load, sz_now_ns());
}

static void arm_stage_timer(struct sz_load *load, uint64_t due_ns)
{
	if (sz_timer_set(load->loop, &load->stage_timer, due_ns, &load->failure) < 0)
		sz_load_fail(load);
}

static void on_stage_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_load *load = sz_container_of(timer, struct sz_load, stage_timer);
	sz_load_check_stage(load, now_ns);
	if (!load->finished && load->latest_ns != UINT64_MAX)
		arm_stage_timer(load, load->latest_ns);
}

void sz_load_begin_stage(struct sz_load *load, enum sz_load_stage stage, uint64_t earliest_ns,
			 uint64_t latest_ns)
{
	load->stage = stage;
	load->earliest_ns = earliest_ns;
	load->latest_ns = latest_ns;
	load->finished = false;
	arm_stage_timer(load, earliest_ns);
}

static void interrupt(struct sz_load *load)
{
	load->interrupted = true;
	finish_stage(load, sz_now_ns());
}

static void on_stop(struct sz_watch *watch, uint32_t events)
{
	(void)events;
	interrupt(sz_container_of(watch, struct sz_load, stop_watch));
}

int sz_load_run_stage(struct sz_load *load, struct sz_err *err)
{
	if (sz_stop_requested())
		interrupt(load);
	sz_load_check_stage(load, sz_now_ns());
	while (!load->finished)
		if (sz_loop_run(load->loop, &load->failure) < 0)
			sz_load_fail(load);
	sz_timer_clear(load->loop, &load->stage_timer);
	if (!load->failed)
		return 0;
	if (err)
		*err = load->failure;
	return -1;
}

/* What is under way */

static void arm_timeout_timer(struct sz_load *load)
{
	uint64_t due_ns = load->oldest->started_ns + load->config.timeout_ns;
	if (sz_timer_set(load->loop, &load->timeout_timer, due_ns, &load->failure) < 0)
		sz_load_fail(load);
}

void sz_load_push_wait(struct sz_load *load, struct sz_wait *wait, uint64_t now_ns)
{
	wait->started_ns = now_ns;
	wait->older = load->newest;
	wait->newer = NULL;
	if (load->newest)
		load->newest->newer = wait;
	else
		load->oldest = wait;
	load->newest = wait;
	if (!sz_timer_armed(&load->timeout_timer))
		arm_timeout_timer(load);
}

void sz_load_pull_wait(struct sz_load *load, struct sz_wait *wait)
{
	if (wait->older)
		wait->older->newer = wait->newer;
	else
		load->oldest = wait->newer;
	if (wait->newer)
		wait->newer->older = wait->older;
	else
		load->newest = wait->older;
}

/* Who comes late may find that answers came in time, and that their bytes wait: they
 * are read before anything is given up. */
static bool looks_again(struct sz_load *load, const struct sz_timer *timer, uint64_t now_ns)
{
	bool is_late = now_ns - timer->due_ns > TIMEOUT_LATE_NS;
	load->looked_again = is_late && !load->looked_again;
	if (load->looked_again &&
	    sz_timer_set(load->loop, &load->timeout_timer, now_ns + 1, &load->failure) < 0)
		sz_load_fail(load);
	return load->looked_again;
}

static void on_timeout_timer(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_load *load = sz_container_of(timer, struct sz_load, timeout_timer);
	if (looks_again(load, timer, now_ns))
		return;
	while (load->oldest && load->oldest->started_ns + load->config.timeout_ns <= now_ns)
		load->oldest->time_out(load->oldest, now_ns);
	if (load->oldest)
		arm_timeout_timer(load);
}

/* What clients tell */

void sz_load_note_gap(struct sz_load *load, uint64_t now_ns)
{
	uint64_t gap_ns = now_ns - load->completed_ns;
	if (gap_ns > load->result.longest_gap_ns)
		load->result.longest_gap_ns = gap_ns;
	load->completed_ns = now_ns;
}

void sz_load_note_answer(struct sz_load *load, struct sz_client *client, bool ok, uint64_t now_ns)
{
	struct sz_load_series *series = &load->result.series;
	load->ever_answered = true;
	load->last_errnum = 0;
	if (!client->answered) {
		client->answered = true;
		load->answered++;
	}
	if (!load->counting)
		return;
	load->result.came++;
	load->result.came_ok += ok;
	sz_load_note_gap(load, now_ns);
	sz_series_advance(series, &load->interval_start_ns, now_ns);
	if (!sz_load_is_streams(load))
		series->ok[series->count] += ok;
}

/* Polls */

static void arm_poll_timer(struct sz_load *load, uint64_t now_ns)
{
	if (sz_timer_set(load->loop, &load->poll_timer, now_ns + SZ_LOAD_POLL_NS, &load->failure) <
	    0)
		sz_load_fail(load);
}

static void note_stall(struct sz_load *load, uint64_t late_ns)
{
	if (late_ns >= SZ_LOAD_STALL_NS && late_ns > load->result.stall_ns)
		load->result.stall_ns = late_ns;
}

/* A stream may be silent for as long as it likes, and a burst looks after each round. */
static bool must_end(struct sz_load *load, uint64_t now_ns)
{
	if (load->stage == SZ_STAGE_TAIL)
		return sz_abort_check_tail(load, now_ns);
	return load->stage == SZ_STAGE_COUNTING && sz_abort_check(load, now_ns);
}

static void look_at_window(struct sz_load *load, uint64_t now_ns)
{
	const struct sz_load_span *span = load->span;
	struct sz_load_series *series = &load->result.series;
	sz_series_advance(series, &load->interval_start_ns, now_ns);
	load->precise =
		span->error_ratio == 0 || sz_series_error_ratio(series) <= span->error_ratio;
	if (span->at_poll)
		span->at_poll(span->arg, sz_series_sum(series));
	/* Asked even when the throughput is not known yet: it may be looking at what
	 * happens from poll to poll. */
	if (span->precise_enough && !span->precise_enough(span->arg, sz_series_sum(series)))
		load->precise = false;
}

static void on_poll(struct sz_timer *timer, uint64_t now_ns)
{
	struct sz_load *load = sz_container_of(timer, struct sz_load, poll_timer);
	bool is_tail = load->stage == SZ_STAGE_TAIL;
	if (!is_tail)
		note_stall(load, now_ns - timer->due_ns);
	if (must_end(load, now_ns)) {
		finish_stage(load, now_ns);
		return;
	}
	if (!is_tail)
		look_at_window(load, now_ns);
	sz_load_check_stage(load, now_ns);
	arm_poll_timer(load, now_ns);
}

void sz_load_begin_polls(struct sz_load *load, uint64_t now_ns)
{
	load->precise = load->span->error_ratio == 0 && !load->span->precise_enough;
	arm_poll_timer(load, now_ns);
}

void sz_load_end_polls(struct sz_load *load)
{
	sz_timer_clear(load->loop, &load->poll_timer);
}

int sz_load_init_stages(struct sz_load *load, struct sz_err *err)
{
	load->loop = sz_loop_new(err);
	if (!load->loop)
		return -1;
	load->stage_timer.fn = on_stage_timer;
	load->timeout_timer.fn = on_timeout_timer;
	load->poll_timer.fn = on_poll;
	load->stop_watch.fn = on_stop;
	if (sz_stop_fd() < 0)
		return 0;
	return sz_watch_set(load->loop, &load->stop_watch, sz_stop_fd(), EPOLLIN, err);
}
