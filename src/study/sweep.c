/* SPDX-License-Identifier: Apache-2.0
 *
 * The procedure of a sweep; study.h says what it does.
 */
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advise/advise.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "os/limits.h"
#include "stat/shuffle.h"
#include "study/ceiling.h"
#include "study/knee.h"
#include "study/users.h"
#include "study/visit.h"

#define GAINS_NOTHING 1.03 /* the ratio of throughput below which a step gained nothing */
#define GAINLESS_STEPS 2

struct run {
	const struct sz_sweep_config *config;
	struct sz_sweep *sweep;
	struct sz_err *err;
	uint64_t start_ns;
	unsigned block;
	struct sz_store *store; /* NULL once it has failed */
};

size_t sz_sweep_windows_most(const struct sz_sweep_config *config)
{
	return config->workers.count + config->documented.count + (config->current != 0) +
	       (config->least > 1);
}

void sz_sweep_estimate_s(const struct sz_sweep_config *config, double *least_s, double *most_s)
{
	double settings = (double)sz_sweep_windows_most(config);
	double warmup_s = sz_ns_to_s(config->load.warmup_ns);
	*least_s = settings * (1.0 + warmup_s + sz_ns_to_s(config->window_ns)) + 2.0;
	*most_s = settings * (4.0 + warmup_s + sz_ns_to_s(sz_window_max_ns(config))) + 6.0;
	if (config->load.clients == 0)
		sz_knee_estimate_s(config, least_s, most_s);
}

/* --- the record --- */

/* Keep the visit just made, or what else is known. A record that cannot be
 * kept is given up: one with a gap would be resumed wrongly. */
static void record(struct run *run, bool visited)
{
	struct sz_err err = {0};
	struct sz_sweep *sweep = run->sweep;
	int64_t id = run->config->run_id;
	if (!run->store)
		return;
	int status = visited ? sz_store_visit(run->store, id, sweep, sweep->visit_count - 1, &err)
			     : sz_store_update(run->store, id, sweep, &err);
	if (status == 0)
		return;
	run->store = NULL;
	snprintf(sweep->unrecorded, sizeof(sweep->unrecorded), "%.290s", err.message);
	sz_sweep_report(run->config, sweep, SZ_STEP_UNRECORDED, 0, 0);
}

/* --- one visit, and what its failure means --- */

/* One line of it: messages may quote lines of a service's output. */
static void note_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%.*s", (int)size - 1, text);
	for (char *byte = out; *byte; byte++) {
		if ((unsigned char)*byte < ' ')
			*byte = ' ';
	}
}

static bool was_visited(const struct sz_sweep *sweep, size_t setting)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		if (sweep->visits[i].setting == setting)
			return true;
	}
	return false;
}

enum went { WENT_WELL, WENT_WRONG, WENT_NO_FURTHER };

/* WENT_WRONG: the setting is not feasible, and that is noted. */
static enum went follow(struct run *run, const struct sz_visit_plan *plan)
{
	struct sz_setting *noted = &run->sweep->setting[plan->setting];
	if (sz_visit_setting(run->config, run->sweep, plan, run->err) == 0) {
		record(run, true);
		return WENT_WELL;
	}
	if (run->err->code == SZ_INTERRUPTED) {
		run->sweep->interrupted = true;
		return WENT_NO_FURTHER;
	}
	if (run->sweep->visit_count == 0) {
		/* Nothing works: an error, not a finding. */
		sz_err_wrap(run->err, "at %u worker%s", noted->workers,
			    noted->workers == 1 ? "" : "s");
		return WENT_NO_FURTHER;
	}
	/* What did work before must not be lost by one bad start. */
	bool first = plan->purpose == SZ_FOR_ASCENT || plan->purpose == SZ_FOR_RACE;
	if (first && !was_visited(run->sweep, plan->setting)) {
		note_text(noted->failure, sizeof(noted->failure), run->err->message);
		record(run, false);
	}
	return WENT_WRONG;
}

static enum went go(struct run *run, size_t setting, enum sz_purpose purpose)
{
	const struct sz_visit_plan plan = {.setting = setting,
					   .block = run->block,
					   .purpose = purpose};
	return follow(run, &plan);
}

/* --- the ascent --- */

static bool must_be_tried(const struct sz_setting *setting, unsigned least)
{
	return setting->documented || setting->current || setting->workers == least;
}

/* The first visit of a setting that was made for this; NULL: there is none. */
static const struct sz_visit *find_visit(const struct sz_sweep *sweep, size_t setting,
					 enum sz_purpose purpose)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->setting == setting && visit->purpose == purpose)
			return visit;
	}
	return NULL;
}

/* Go there, unless a run that is resumed has done so. What the race added has
 * its windows there. */
static enum went climb(struct run *run, size_t setting)
{
	const struct sz_sweep *sweep = run->sweep;
	if (sweep->setting[setting].failure[0])
		return WENT_WRONG;
	if (find_visit(sweep, setting, SZ_FOR_ASCENT) || find_visit(sweep, setting, SZ_FOR_RACE))
		return WENT_WELL;
	return go(run, setting, SZ_FOR_ASCENT);
}

/* How many steps in a row have gained nothing, after the one to this setting. */
static unsigned count_gainless(const struct sz_sweep *sweep, size_t setting, unsigned gainless,
			       double *before)
{
	const struct sz_visit *visit = find_visit(sweep, setting, SZ_FOR_ASCENT);
	if (!visit)
		return gainless;
	bool nothing = visit->window.score <= GAINS_NOTHING * *before;
	*before = visit->window.score;
	return nothing ? gainless + 1 : 0;
}

static enum went ascend(struct run *run)
{
	struct sz_sweep *sweep = run->sweep;
	unsigned gainless = 0;
	double before = SZ_NAN;
	for (size_t i = 0; i < sweep->setting_count; i++) {
		if (sweep->stopped_early && !must_be_tried(&sweep->setting[i], sweep->least))
			continue;
		enum went went = climb(run, i);
		if (went == WENT_NO_FURTHER)
			return went;
		if (went == WENT_WRONG) {
			sweep->stopped_early = true;
			continue;
		}
		gainless = count_gainless(sweep, i, gainless, &before);
		if (gainless >= GAINLESS_STEPS &&
		    sweep->setting[i].workers >= 2 * sweep->machine.cores_allowed)
			sweep->stopped_early = true;
	}
	return WENT_WELL;
}

/* --- the race --- */

static bool budget_is_spent(const struct run *run)
{
	const struct sz_sweep_config *config = run->config;
	return run->sweep->visit_count >= config->budget_windows ||
	       sz_now_ns() - run->start_ns >= config->budget_ns ||
	       (config->enough && config->enough(config->arg));
}

/* The settings of one block, in random order, by their counts of workers: an
 * index would move when an untested one is added. Seed and block alone decide
 * the order, so a run that is resumed goes on like one that was not cut. */
static size_t plan_block(struct run *run, const struct sz_next *next,
			 unsigned workers[SZ_SETTINGS_MAX + SZ_UNTESTED_MAX])
{
	uint64_t random = run->config->seed + run->block;
	size_t count = next->again_count;
	memcpy(workers, next->again, count * sizeof(workers[0]));
	for (size_t i = 0; i < next->untested_count; i++) {
		if (sz_sweep_add_setting(run->sweep, next->untested[i]) < SZ_SETTINGS_MAX)
			workers[count++] = next->untested[i];
	}
	sz_shuffle(workers, count, &random);
	return count;
}

static enum went run_block(struct run *run, const struct sz_next *next)
{
	unsigned workers[SZ_SETTINGS_MAX + SZ_UNTESTED_MAX];
	run->block++;
	size_t count = plan_block(run, next, workers);
	for (size_t i = 0; i < count; i++) {
		/* Already in its place: this only finds it. */
		size_t setting = sz_sweep_add_setting(run->sweep, workers[i]);
		if (go(run, setting, SZ_FOR_RACE) == WENT_NO_FURTHER)
			return WENT_NO_FURTHER;
		if (budget_is_spent(run))
			break;
	}
	return WENT_WELL;
}

static enum went race(struct run *run)
{
	struct sz_next next;
	while (!budget_is_spent(run)) {
		size_t before = run->sweep->visit_count;
		sz_advise_next(run->sweep, &next);
		if (next.again_count + next.untested_count == 0)
			break;
		if (run_block(run, &next) == WENT_NO_FURTHER)
			return WENT_NO_FURTHER;
		if (run->sweep->visit_count == before)
			break; /* nothing of the block could be measured */
		if (sz_advise_sweep(run->sweep, run->err) < 0)
			return WENT_NO_FURTHER;
	}
	return WENT_WELL;
}

/* --- how far it carries --- */

/* The next larger setting that was measured; the same when there is none. */
static size_t next_larger(const struct sz_sweep *sweep, size_t setting)
{
	for (size_t i = setting + 1; i < sweep->setting_count; i++) {
		if (sweep->setting[i].measured)
			return i;
	}
	return setting;
}

/* Once for each purpose, unless a run that is resumed has done so. */
static enum went go_once(struct run *run, size_t setting, enum sz_purpose purpose)
{
	if (find_visit(run->sweep, setting, purpose))
		return WENT_WELL;
	run->block++;
	return go(run, setting, purpose);
}

/* The recommended setting and the next larger one. */
static enum went try_finalists(struct run *run, enum sz_purpose purpose)
{
	const struct sz_sweep *sweep = run->sweep;
	size_t chosen = sweep->advice.setting, larger = next_larger(sweep, chosen);
	if (!sweep->advice.recommended || budget_is_spent(run))
		return WENT_WELL;
	if (go_once(run, chosen, purpose) == WENT_NO_FURTHER)
		return WENT_NO_FURTHER;
	return larger == chosen ? WENT_WELL : go_once(run, larger, purpose);
}

static enum went try_twice_the_clients(struct run *run)
{
	if (run->sweep->clients > SZ_LOAD_CLIENTS_MAX / 2)
		return WENT_WELL;
	return try_finalists(run, SZ_FOR_TWICE);
}

/* How connections are opened decides which worker gets them, where they are
 * kept and there is more than one worker. */
static enum went try_other_connects(struct run *run)
{
	const struct sz_advice *advice = &run->sweep->advice;
	if (run->config->load.reconnect_every || run->config->rounds || !advice->saturated ||
	    run->sweep->setting[advice->setting].workers == 1)
		return WENT_WELL;
	return try_finalists(run, SZ_FOR_CONNECT);
}

/* Every other window is of a fresh start: what is that worth? */
static enum went try_without_restart(struct run *run)
{
	const struct sz_advice *advice = &run->sweep->advice;
	if (!advice->recommended || budget_is_spent(run))
		return WENT_WELL;
	return go_once(run, advice->setting, SZ_FOR_CONTROL);
}

static enum went try_fewer_users(struct run *run)
{
	struct sz_visit_plan plan;
	unsigned block = run->block + 1;
	while (!budget_is_spent(run) && sz_plan_fewer_users(run->config, run->sweep, &plan)) {
		plan.block = run->block = block;
		enum went went = follow(run, &plan);
		if (went != WENT_WELL)
			return went;
	}
	return WENT_WELL;
}

static bool has_rate(const struct sz_sweep *sweep, size_t setting, double rate_rps)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose == SZ_FOR_RATE && visit->setting == setting &&
		    visit->rate_rps == rate_rps)
			return true;
	}
	return false;
}

/* Outside the budget, like the soak: it was asked for. What the setting can do is
 * known only when the clients queue. */
static enum went tell_latency(struct run *run)
{
	static const double shares[] = {0.50, 0.70, 0.85};
	const struct sz_advice *advice = &run->sweep->advice;
	if (!run->config->latency_table || !advice->recommended || !advice->saturated)
		return WENT_WELL;
	const struct sz_setting *setting = &run->sweep->setting[advice->setting];
	double most_rps = setting->window.throughput_rps;
	for (size_t i = 0; i < SZ_ARRAY_LEN(shares); i++) {
		const struct sz_visit_plan plan = {.setting = advice->setting,
						   .block = run->block + 1,
						   .purpose = SZ_FOR_RATE,
						   .rate_rps = shares[i] * most_rps};
		if (has_rate(run->sweep, plan.setting, plan.rate_rps))
			continue;
		run->block++;
		if (follow(run, &plan) == WENT_NO_FURTHER)
			return WENT_NO_FURTHER;
	}
	return WENT_WELL;
}

/* Outside the budget: it was asked for. */
static enum went soak(struct run *run)
{
	const struct sz_advice *advice = &run->sweep->advice;
	if (run->config->soak_ns == 0 || !advice->recommended)
		return WENT_WELL;
	return go_once(run, advice->setting, SZ_FOR_SOAK);
}

/* --- all of it --- */

static void describe_load(const struct sz_sweep_config *config, struct sz_sweep *sweep)
{
	char host[272];
	size_t used = 0;
	sweep->clients = config->load.clients;
	sweep->burst = config->burst;
	if (config->burst) {
		sweep->users = config->users.value[config->users.count - 1];
		sweep->users_least = config->users.value[0];
	}
	sweep->connect_burst = config->load.connect == SZ_CONNECT_BURST;
	snprintf(sweep->url, sizeof(sweep->url), "%s://%s%.200s",
		 config->load.url.tls ? "https" : "http",
		 sz_url_host_header(&config->load.url, host), config->load.url.target);
	if (!config->argv)
		snprintf(sweep->command, sizeof(sweep->command), "%s", config->attached.apply);
	for (char *const *arg = config->argv; arg && *arg && used < sizeof(sweep->command); arg++) {
		int n = snprintf(sweep->command + used, sizeof(sweep->command) - used, "%s%s",
				 used ? " " : "", *arg);
		used += n > 0 ? (size_t)n : 0;
	}
}

static int add_settings(struct sz_sweep *sweep, const unsigned *workers, size_t count,
			struct sz_err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (sz_sweep_add_setting(sweep, workers[i]) == SZ_SETTINGS_MAX)
			return sz_err_set(err, SZ_USAGE, 0, "more than %d worker counts",
					  SZ_SETTINGS_MAX);
	}
	return 0;
}

static void mark_settings(const struct sz_sweep_config *config, struct sz_sweep *sweep)
{
	for (size_t i = 0; i < sweep->setting_count; i++) {
		struct sz_setting *setting = &sweep->setting[i];
		setting->current = setting->workers == config->current;
		for (size_t k = 0; k < config->documented.count; k++)
			setting->documented |= setting->workers == config->documented.value[k];
	}
}

static int list_settings(const struct sz_sweep_config *config, struct sz_sweep *sweep,
			 struct sz_err *err)
{
	const struct sz_settings *asked = &config->workers, *documented = &config->documented;
	if (add_settings(sweep, asked->value, asked->count, err) < 0 ||
	    add_settings(sweep, documented->value, documented->count, err) < 0 ||
	    add_settings(sweep, &config->current, config->current != 0, err) < 0 ||
	    add_settings(sweep, &config->least, config->least > 1, err) < 0)
		return -1;
	sweep->least = config->least;
	sweep->need_rps = config->need_rps;
	sweep->goal = config->goal;
	mark_settings(config, sweep);
	return 0;
}

static int describe_own_machine(const struct sz_os *os, struct sz_machine *machine,
				struct sz_err *err)
{
	struct sz_limits limits;
	if (sz_limits_read(os, getpid(), &limits, err) < 0)
		return -1;
	sz_describe_machine(&limits, machine);
	return 0;
}

int sz_sweep_describe(const struct sz_sweep_config *config, struct sz_sweep *sweep,
		      struct sz_err *err)
{
	describe_load(config, sweep);
	sweep->seed = config->seed;
	if (describe_own_machine(&config->os, &sweep->machine, err) < 0)
		return -1;
	return list_settings(config, sweep, err);
}

static enum went calibrate(struct run *run)
{
	struct sz_sweep *sweep = run->sweep;
	if (!isnan(sweep->client_ceiling_rps))
		return WENT_WELL;
	sz_sweep_report(run->config, sweep, SZ_STEP_CALIBRATE, 0, 1.0);
	if (sz_client_ceiling(run->config, &sweep->client_ceiling_rps, run->err) == 0)
		return WENT_WELL;
	sweep->interrupted = run->err->code == SZ_INTERRUPTED;
	sz_err_wrap(run->err, "measuring the load generator");
	return WENT_NO_FURTHER;
}

/* Unless they were given, or a run that is resumed has found them. */
static enum went find_clients(struct run *run)
{
	struct sz_sweep *sweep = run->sweep;
	if (sweep->clients)
		return WENT_WELL;
	if (sz_find_knee(run->config, sweep, run->err) == 0) {
		record(run, false);
		return WENT_WELL;
	}
	sweep->interrupted = run->err->code == SZ_INTERRUPTED;
	return WENT_NO_FURTHER;
}

static enum went measure_all(struct run *run)
{
	struct sz_sweep *sweep = run->sweep;
	static enum went (*const stages[])(
		struct run *) = {race,         try_twice_the_clients, try_other_connects,
				 tell_latency, try_fewer_users,       try_without_restart,
				 soak};
	enum went went = find_clients(run);
	if (went == WENT_WELL)
		went = ascend(run);
	if (sz_advise_sweep(sweep, run->err) < 0 || went == WENT_NO_FURTHER)
		return WENT_NO_FURTHER;
	sz_sweep_report(run->config, sweep, SZ_STEP_FIRST_ANSWER, 0, 0);
	if (run->config->ascent_only)
		return WENT_WELL;
	for (size_t i = 0; i < SZ_ARRAY_LEN(stages); i++) {
		if (stages[i](run) == WENT_NO_FURTHER)
			return WENT_NO_FURTHER;
	}
	return WENT_WELL;
}

/* Whatever happened: the service is somebody's. */
static void undo(const struct sz_sweep_config *config, struct sz_sweep *sweep)
{
	struct sz_err err = {0};
	struct sz_attached_config attached;
	struct sz_binding port = {.name = "port"};
	snprintf(port.value, sizeof(port.value), "%u", config->load.url.port);
	sz_sweep_attached(config, &attached);
	if (sz_target_undo(&config->os, &attached, &port, 1, &err) < 0)
		note_text(sweep->undo_failure, sizeof(sweep->undo_failure), err.message);
}

static unsigned last_block(const struct sz_sweep *sweep)
{
	unsigned last = 0;
	for (size_t i = 0; i < sweep->visit_count; i++)
		last = sweep->visits[i].block > last ? sweep->visits[i].block : last;
	return last;
}

int sz_sweep_run(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err)
{
	/* Failures are told apart by their code even when the caller does not care. */
	struct sz_err own = {0};
	struct run run = {.config = config,
			  .sweep = sweep,
			  .err = err ? err : &own,
			  .start_ns = sz_now_ns(),
			  .block = last_block(sweep),
			  .store = config->store};
	enum went went = calibrate(&run);
	if (went == WENT_WELL) {
		went = measure_all(&run);
		if (!config->argv)
			undo(config, sweep);
	}
	if (went == WENT_NO_FURTHER && !sweep->interrupted) {
		note_text(sweep->failure, sizeof(sweep->failure), run.err->message);
		sweep->advice.status = SZ_STATUS_FAILED;
		return -1;
	}
	return sz_advise_sweep(sweep, run.err);
}
