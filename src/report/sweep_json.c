/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep as JSON, "sizeup/sweep/1": names are stable and carry units.
 */
#include "report/report.h"

#include <math.h>

#include "base/mem.h"
#include "report/json.h"

static json_t *machine(const struct sz_sweep *sweep)
{
	const struct sz_machine *machine = &sweep->machine;
	const struct sz_advice *advice = &sweep->advice;
	bool known = advice->reference_ms > 0;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:s}", "reference_ms",
			 sz_json_number(known ? advice->reference_ms : SZ_NAN), "speed_drift",
			 sz_json_number(known ? advice->speed_drift : SZ_NAN), "cores_allowed",
			 sz_json_number(machine->cores_allowed > 0 ? machine->cores_allowed
								   : SZ_NAN),
			 "cpus_allowed", sz_json_count(machine->cpus_allowed), "cpus_online",
			 sz_json_count(machine->cpus_online), "memory_limit_bytes",
			 sz_json_bytes(machine->memory_limit_bytes
					       ? (int64_t)machine->memory_limit_bytes
					       : -1),
			 "memory_limited", (int)machine->memory_limited, "cores_from",
			 sz_json_text(machine->cores_from), "memory_from",
			 sz_json_text(machine->memory_from), "kernel", machine->kernel);
}

static json_t *shares(const struct sz_window *window, bool connections)
{
	if (connections && !window->connections_known)
		return json_null();
	json_t *array = json_array();
	for (unsigned i = 0; i < window->workers; i++) {
		const struct sz_worker_share *share = &window->share[i];
		json_array_append_new(array, connections ? sz_json_count(share->connections)
							 : sz_json_number(share->cpu_cores));
	}
	return array;
}

static json_t *spread(const struct sz_window *window)
{
	return json_pack("{s:o, s:o, s:o}", "imbalance", sz_json_number(window->imbalance),
			 "connections", shares(window, true), "cpu_cores", shares(window, false));
}

static json_t *disturbances(const struct sz_window *window)
{
	json_t *array = json_array();
	for (unsigned bit = 0; bit < SZ_DISTURBANCES; bit++) {
		if (window->disturbed >> bit & 1)
			json_array_append_new(array, json_string(sz_disturbance_text(bit)));
	}
	return array;
}

/* Shares of the window in which tasks of the machine stood still. */
static json_t *pressure(const struct sz_window *window)
{
	const struct sz_json_field fields[] = {
		{"cpu_some_ratio", window->cpu_some_ratio},
		{"memory_some_ratio", window->memory_some_ratio},
		{"memory_full_ratio", window->memory_full_ratio},
	};
	return sz_json_numbers(fields, SZ_ARRAY_LEN(fields));
}

static json_t *latency(const struct sz_window *window)
{
	const struct sz_json_field fields[] = {
		{"mean", window->latency_mean_ms}, {"p50", window->latency_p50_ms},
		{"p90", window->latency_p90_ms},   {"p95", window->latency_p95_ms},
		{"p99", window->latency_p99_ms},   {"max", window->latency_max_ms},
	};
	return sz_json_numbers(fields, SZ_ARRAY_LEN(fields));
}

static json_t *memory(const struct sz_window *window)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rss_peak_bytes",
			 sz_json_bytes(window->rss_peak_bytes), "pss_total_bytes",
			 sz_json_bytes(window->pss_total_bytes), "rss_total_bytes",
			 sz_json_bytes(window->rss_total_bytes), "pss_worker_bytes",
			 sz_json_bytes(window->pss_worker_bytes), "rss_worker_bytes",
			 sz_json_bytes(window->rss_worker_bytes), "pss_supervisor_bytes",
			 sz_json_bytes(window->pss_supervisor_bytes));
}

/* What one window says of its setting, merged into the setting's object. */
static json_t *window_fields(const struct sz_window *window)
{
	const struct sz_json_field numbers[] = {
		{"in_flight_per_worker",
		 window->workers ? window->in_flight / window->workers : SZ_NAN},
		{"cpu_s_per_request", window->cpu_s_per_request},
		{"window_s", window->duration_s},
		{"longest_gap_ms", window->longest_gap_ms},
		{"tree_cores", window->tree_cores},
		{"client_cores", window->client_cores},
		{"client_peak_cores", window->client_peak_cores},
		{"sampler_cores", window->sampler_cores},
		{"foreign_cores", window->foreign_cores},
		{"steal_ratio", window->steal_ratio},
		{"runqueue_cores", window->runqueue_cores},
		{"downstream_cores", window->downstream_cores},
		{"little_ratio", window->little_ratio},
	};
	const struct sz_json_field ttfb[] = {{"p50", window->ttfb_p50_ms},
					     {"max", window->ttfb_max_ms}};
	json_t *object = sz_json_numbers(numbers, SZ_ARRAY_LEN(numbers));
	json_object_set_new(object, "requests", sz_json_count(window->ok));
	json_object_set_new(object, "errors", sz_json_count(window->errors));
	json_object_set_new(object, "stale", sz_json_count(window->stale));
	json_object_set_new(object, "workers_counted", sz_json_count(window->workers));
	json_object_set_new(object, "samples", sz_json_count(window->samples));
	json_object_set_new(object, "processes_peak",
			    window->samples ? sz_json_count(window->processes_peak) : json_null());
	json_object_set_new(object, "threads_peak",
			    window->samples ? sz_json_count(window->threads_peak) : json_null());
	json_object_set_new(object, "burst",
			    window->rounds
				    ? json_pack("{s:o, s:o}", "rounds",
						sz_json_count(window->rounds), "slowest_ttfb_ms",
						sz_json_number(window->burst_ttfb_ms))
				    : json_null());
	json_object_set_new(object, "latency_ms", latency(window));
	json_object_set_new(object, "ttfb_ms", sz_json_numbers(ttfb, SZ_ARRAY_LEN(ttfb)));
	json_object_set_new(object, "memory", memory(window));
	json_object_set_new(object, "pressure", pressure(window));
	json_object_set_new(object, "spread", spread(window));
	json_object_set_new(object, "remote_connections", json_null());
	json_object_set_new(object, "disturbances", disturbances(window));
	return object;
}

static json_t *setting(const struct sz_setting *setting)
{
	const struct sz_window *window = &setting->window;
	const struct sz_json_field numbers[] = {
		{"speedup", setting->speedup},
		{"efficiency", setting->efficiency},
		{"ready_s", setting->ready_s},
		{"start_cpu_s", setting->start_cpu_s},
	};
	const struct sz_json_field throughput[] = {
		{"mean", window->throughput_rps},
		{"low", setting->throughput_low_rps},
		{"high", setting->throughput_high_rps},
	};
	json_t *object = sz_json_numbers(numbers, SZ_ARRAY_LEN(numbers));
	json_object_set_new(object, "setting",
			    json_pack("{s:i}", "workers", (int)setting->workers));
	json_object_set_new(object, "windows", sz_json_count(setting->windows));
	json_object_set_new(object, "disturbed", sz_json_count(setting->disturbed));
	json_object_set_new(object, "documented", json_boolean(setting->documented));
	json_object_set_new(object, "current", json_boolean(setting->current));
	json_object_set_new(object, "verdict", json_string(sz_verdict_name(setting->verdict)));
	json_object_set_new(object, "why_infeasible",
			    setting->why_infeasible[0] ? sz_json_text(setting->why_infeasible)
						       : json_null());
	json_object_set_new(object, "saturated",
			    setting->measured ? json_boolean(setting->saturated) : json_null());
	json_object_set_new(object, "throughput_rps",
			    sz_json_numbers(throughput, SZ_ARRAY_LEN(throughput)));
	json_object_set_new(object, "goal_rps", sz_json_number(setting->window.goal_rps));
	json_object_set_new(object, "drain",
			    json_pack("{s:n, s:o, s:b}", "lost", "exit_s",
				      sz_json_number(setting->exit_s), "killed",
				      (int)setting->killed));
	if (setting->measured) {
		json_t *more = window_fields(window);
		json_object_update(object, more);
		json_decref(more);
	}
	return object;
}

static json_t *recommendation(const struct sz_sweep *sweep)
{
	const struct sz_advice *advice = &sweep->advice;
	if (!advice->recommended)
		return json_null();
	const struct sz_setting *chosen = &sweep->setting[advice->setting];
	json_t *object = json_object();
	json_object_set_new(object, "setting", json_pack("{s:i}", "workers", (int)chosen->workers));
	json_object_set_new(object, "grade", json_string(sz_grade_name(advice->grade)));
	json_object_set_new(object, "range_limited", json_boolean(advice->range_limited));
	json_object_set_new(object, "reason", json_string(advice->reason));
	json_object_set_new(object, "reach",
			    advice->reach[0] ? json_string(advice->reach) : json_null());
	return object;
}

static json_t *confirmation(const struct sz_sweep *sweep)
{
	const struct sz_confirmation *confirmation = &sweep->advice.confirmation;
	if (confirmation->pairs == 0)
		return json_null();
	const struct sz_json_field ratio[] = {{"mean", confirmation->ratio},
					      {"low", confirmation->low},
					      {"high", confirmation->high}};
	const struct sz_setting *current = &sweep->setting[sz_sweep_current(sweep)];
	return json_pack("{s:{s:i}, s:i, s:o}", "current", "workers", (int)current->workers,
			 "pairs", (int)confirmation->pairs, "speed_ratio",
			 sz_json_numbers(ratio, SZ_ARRAY_LEN(ratio)));
}

/* A service that ran on beside one just started; null: not measured. */
static json_t *control(const struct sz_advice *advice)
{
	if (!(advice->control_ratio > 0))
		return json_null();
	return json_pack("{s:o, s:o}", "age_s", sz_json_number(advice->control_age_s),
			 "speed_ratio", sz_json_number(advice->control_ratio));
}

static json_t *frontier(const struct sz_sweep *sweep)
{
	json_t *array = json_array();
	for (size_t i = 0; i < sweep->advice.frontier_count; i++) {
		const struct sz_setting *setting = &sweep->setting[sweep->advice.frontier[i]];
		json_array_append_new(array,
				      json_pack("{s:{s:i}, s:o, s:o}", "setting", "workers",
						(int)setting->workers, "throughput_rps",
						sz_json_number(setting->window.throughput_rps),
						"pss_total_bytes",
						sz_json_bytes(setting->window.pss_total_bytes)));
	}
	return array;
}

/* What another setting would change. */
static json_t *neighbour(const struct sz_sweep *sweep, size_t index)
{
	if (!sweep->advice.recommended || index == SZ_SETTINGS_MAX)
		return json_null();
	const struct sz_setting *other = &sweep->setting[index];
	const struct sz_window *window = &other->window;
	const struct sz_window *chosen = &sweep->setting[sweep->advice.setting].window;
	bool known = window->pss_total_bytes >= 0 && chosen->pss_total_bytes >= 0;
	return json_pack("{s:{s:i}, s:o, s:o}", "setting", "workers", (int)other->workers,
			 "speed_ratio", sz_json_number(window->score / chosen->score),
			 "pss_more_bytes",
			 known ? json_integer(window->pss_total_bytes - chosen->pss_total_bytes)
			       : json_null());
}

/* From how many users on more workers pay; null when that was not asked. */
static json_t *users(const struct sz_sweep *sweep)
{
	const struct sz_users_advice *advice = &sweep->advice.users;
	if (!advice->text[0])
		return json_null();
	json_t *rows = json_array();
	for (size_t i = 0; i < advice->count; i++) {
		const struct sz_json_field slowest[] = {
			{"smallest", advice->row[i].smallest_ms},
			{"recommended", advice->row[i].recommended_ms},
		};
		json_array_append_new(rows,
				      json_pack("{s:o, s:o}", "users",
						sz_json_count(advice->row[i].users),
						"slowest_ttfb_ms",
						sz_json_numbers(slowest, SZ_ARRAY_LEN(slowest))));
	}
	return json_pack("{s:o, s:s, s:{s:i}, s:o}", "from",
			 advice->from ? sz_json_count(advice->from) : json_null(), "text",
			 advice->text, "smallest", "workers",
			 (int)sweep->setting[advice->smallest].workers, "rows", rows);
}

static json_t *limit(const struct sz_advice *advice)
{
	json_t *evidence = json_array();
	for (size_t i = 0; i < advice->evidence_count; i++)
		json_array_append_new(evidence, sz_json_text(advice->evidence[i]));
	return json_pack("{s:s, s:o, s:o}", "class", sz_class_name(advice->limit), "evidence",
			 evidence, "runner_up",
			 advice->runner_up[0] ? json_string(advice->runner_up) : json_null());
}

static json_t *memory_budget(const struct sz_memory_budget *memory)
{
	const struct sz_json_field fields[] = {
		{"fixed_bytes", memory->known ? memory->fixed_bytes : SZ_NAN},
		{"per_worker_bytes", memory->known ? memory->worker_bytes : SZ_NAN},
		{"r2", memory->known ? memory->r2 : SZ_NAN},
		{"soak_s", memory->soak_s > 0 ? memory->soak_s : SZ_NAN},
	};
	json_t *object = sz_json_numbers(fields, SZ_ARRAY_LEN(fields));
	bool soaked = memory->soak_s > 0;
	json_object_set_new(object, "soak_workers",
			    soaked ? sz_json_count(memory->soak_workers) : json_null());
	json_object_set_new(object, "soak_total_bytes",
			    sz_json_bytes(soaked ? memory->soak_total_bytes : -1));
	json_object_set_new(object, "soak_per_worker_bytes",
			    sz_json_bytes(soaked ? memory->soak_worker_bytes : -1));
	json_object_set_new(object, "limit_bytes", sz_json_bytes(memory->limit_bytes));
	json_object_set_new(object, "others_bytes", sz_json_bytes(memory->others_bytes));
	json_object_set_new(object, "fits_workers", sz_json_bytes(memory->fits_workers));
	return object;
}

static json_t *warnings(const struct sz_advice *advice)
{
	json_t *array = json_array();
	for (size_t i = 0; i < advice->warning_count; i++) {
		const struct sz_warning *warning = &advice->warnings[i];
		json_array_append_new(array, json_pack("{s:s, s:o, s:o}", "code", warning->code,
						       "text", sz_json_text(warning->text),
						       "remedy", sz_json_text(warning->remedy)));
	}
	return array;
}

/* How the clients were found; null when they were given. */
static json_t *knee(const struct sz_sweep *sweep)
{
	if (sweep->knee_workers == 0)
		return json_null();
	return json_pack("{s:i, s:o}", "workers", (int)sweep->knee_workers, "gain_ratio",
			 sz_json_number(sweep->knee_gain_ratio));
}

static json_t *load(const struct sz_sweep *sweep)
{
	bool known = sweep->setting_count && sweep->setting[0].measured;
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:s}", "mode",
			 sweep->burst ? "burst" : "closed", "clients",
			 sweep->clients ? sz_json_count(sweep->clients) : json_null(), "knee",
			 knee(sweep), "connect", sweep->connect_burst ? "burst" : "paced",
			 "saturated", known ? json_boolean(sweep->advice.saturated) : json_null(),
			 "url", sweep->url);
}

static json_t *goal(const struct sz_goal *goal)
{
	if (goal->ratio == 0)
		return json_null();
	return json_pack("{s:f, s:f}", "quantile", goal->ratio, "most_ms", goal->most_ms);
}

static json_t *latency_row(const struct sz_visit *visit)
{
	const struct sz_window *window = &visit->window;
	const struct sz_json_field latency[] = {
		{"p50", window->latency_p50_ms}, {"p90", window->latency_p90_ms},
		{"p95", window->latency_p95_ms}, {"p99", window->latency_p99_ms},
		{"max", window->latency_max_ms},
	};
	return json_pack("{s:f, s:o, s:o, s:b, s:o}", "asked_rps", visit->rate_rps, "goodput_rps",
			 sz_json_number(window->throughput_rps), "errors",
			 sz_json_count(window->errors + window->dropped), "disturbed",
			 window->disturbed != 0, "latency_ms",
			 sz_json_numbers(latency, SZ_ARRAY_LEN(latency)));
}

static json_t *latency_table(const struct sz_sweep *sweep)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < sweep->visit_count; i++) {
		if (sz_is_latency_row(sweep, &sweep->visits[i]))
			json_array_append_new(rows, latency_row(&sweep->visits[i]));
	}
	return rows;
}

void sz_report_sweep_json(const struct sz_sweep *sweep, struct sz_buf *out)
{
	json_t *settings = json_array();
	for (size_t i = 0; i < sweep->setting_count; i++)
		json_array_append_new(settings, setting(&sweep->setting[i]));
	const struct sz_json_field alone[] = {
		{"latency_ms", sweep->alone_latency_ms},
		{"cpu_s_per_request", sweep->alone_cpu_s_per_request},
	};
	json_t *document = json_object();
	json_object_set_new(document, "schema", json_string("sizeup/sweep/1"));
	json_object_set_new(document, "status", json_string(sz_status_name(sweep->advice.status)));
	json_object_set_new(document, "failure",
			    sweep->failure[0] ? sz_json_text(sweep->failure) : json_null());
	json_object_set_new(document, "machine", machine(sweep));
	json_object_set_new(document, "command", sz_json_text(sweep->command));
	json_object_set_new(document, "seed", sz_json_count(sweep->seed));
	json_object_set_new(document, "knobs", json_pack("[s]", "workers"));
	json_object_set_new(document, "load", load(sweep));
	json_object_set_new(document, "alone", sz_json_numbers(alone, SZ_ARRAY_LEN(alone)));
	json_object_set_new(document, "client_ceiling_rps",
			    sz_json_number(sweep->client_ceiling_rps));
	json_object_set_new(document, "settings", settings);
	json_object_set_new(document, "recommendation", recommendation(sweep));
	json_object_set_new(document, "confirmation", confirmation(sweep));
	json_object_set_new(document, "control", control(&sweep->advice));
	json_object_set_new(document, "need_rps",
			    sweep->need_rps ? sz_json_count(sweep->need_rps) : json_null());
	json_object_set_new(document, "goal", goal(&sweep->goal));
	json_object_set_new(document, "latency_table", latency_table(sweep));
	json_object_set_new(document, "frontier", frontier(sweep));
	json_object_set_new(document, "neighbours",
			    json_pack("{s:o, s:o}", "larger",
				      neighbour(sweep, sweep->advice.larger), "smaller",
				      neighbour(sweep, sweep->advice.smaller)));
	json_object_set_new(document, "users", users(sweep));
	json_object_set_new(document, "memory_budget", memory_budget(&sweep->advice.memory));
	json_object_set_new(document, "limit", limit(&sweep->advice));
	json_object_set_new(document, "warnings", warnings(&sweep->advice));
	sz_json_write(document, out);
}
