/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "advise/advise.h"
#include "base/mem.h"
#include "report/report.h"

/* With SIZEUP_UPDATE_GOLDEN set the files are written instead of compared:
 * look at the difference before committing it. */
static void assert_golden(const struct sz_buf *view, const char *name)
{
	char path[512], golden[16384] = "";
	snprintf(path, sizeof(path), "%s/report/%s", getenv("SIZEUP_TEST_DATA"), name);
	bool update = getenv("SIZEUP_UPDATE_GOLDEN") != NULL;
	FILE *file = fopen(path, update ? "w" : "r");
	assert_non_null(file);
	if (update)
		assert_int_equal(fwrite(view->data, 1, view->len, file), view->len);
	else
		assert_true(fread(golden, 1, sizeof(golden) - 1, file) > 0);
	fclose(file);
	if (!update)
		assert_string_equal(view->data, golden);
}

static void add_visit(struct sz_sweep *sweep, unsigned workers, double rps, double p50_ms)
{
	size_t index = sz_sweep_add_setting(sweep, workers);
	struct sz_visit *visit = sz_sweep_add_visit(sweep);
	assert_non_null(visit);
	struct sz_window *window = &visit->window;
	visit->setting = index;
	visit->clients = 50;
	visit->settled = true;
	visit->ready_s = 0.05;
	visit->start_cpu_s = 0.01;
	visit->exit_s = 0.02;
	window->duration_s = 4.0;
	window->ok = window->sent = (uint64_t)(4 * rps);
	window->throughput_rps = window->score = rps;
	window->latency_mean_ms = window->latency_p50_ms = window->latency_p90_ms = p50_ms;
	window->latency_p95_ms = window->latency_max_ms = p50_ms * 1.1;
	window->in_flight = 50;
	window->cpu_s_per_request = 0.0201;
	window->tree_cores = rps * 0.0201;
	window->client_cores = 0.01;
	window->foreign_cores = 0.01;
	window->memory_full_ratio = 0;
	window->workers = workers;
	window->pss_total_bytes = 1500000 * workers;
	window->pss_worker_bytes = 1200000;
	window->rss_total_bytes = 4000000 * workers;
	window->workers_known = window->connections_known = true;
	window->imbalance = 1;
	window->share = calloc(workers, sizeof(*window->share));
	for (unsigned i = 0; i < workers; i++)
		window->share[i] = (struct sz_worker_share){50 / workers + (i == 0), 0.99};
}

static void fill_sweep(struct sz_sweep *sweep)
{
	sz_sweep_init(sweep);
	sweep->machine = (struct sz_machine){
		.cores_allowed = 2,
		.cpus_allowed = 2,
		.cpus_online = 4,
		.memory_limit_bytes = UINT64_C(8) << 30,
		.cores_from = "affinity of the process",
		.memory_from = "memory of the machine",
		.kernel = "Linux 6.1",
	};
	snprintf(sweep->command, sizeof(sweep->command), "serve --workers {workers}");
	snprintf(sweep->url, sizeof(sweep->url), "http://127.0.0.1:8000/cpu?ms=20");
	sweep->clients = 50;
	sweep->alone_latency_ms = 20.1;
	sweep->client_ceiling_rps = 90000;
	add_visit(sweep, 1, 49.6, 1008);
	add_visit(sweep, 2, 98.4, 507);
	assert_int_equal(sz_advise_sweep(sweep, NULL), 0);
}

static void sweep_text_is_golden(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	sz_autobuf struct sz_buf view = {0};
	fill_sweep(&sweep);
	sz_report_sweep_text(&sweep, &view);
	assert_golden(&view, "sweep.txt");
	sz_sweep_fini(&sweep);
}

static json_t *parse(const struct sz_buf *view)
{
	json_error_t error;
	json_t *document = json_loads(view->data, 0, &error);
	assert_non_null(document);
	return document;
}

static json_t *at(json_t *object, const char *a, const char *b)
{
	json_t *inner = json_object_get(object, a);
	assert_non_null(inner);
	if (b)
		inner = json_object_get(inner, b);
	assert_non_null(inner);
	return inner;
}

static void sweep_json_tells_the_same(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	sz_autobuf struct sz_buf view = {0};
	fill_sweep(&sweep);
	sz_report_sweep_json(&sweep, &view);
	json_t *document = parse(&view);
	json_t *second = json_array_get(json_object_get(document, "settings"), 1);
	assert_string_equal(json_string_value(at(document, "schema", NULL)), "sizeup/sweep/1");
	assert_string_equal(json_string_value(at(document, "status", NULL)), "answered");
	assert_true(json_real_value(at(second, "throughput_rps", "mean")) == 98.4);
	assert_true(json_is_null(at(second, "throughput_rps", "low")));
	/* Fewer than 299 requests: there is no p99. */
	assert_true(json_is_null(at(second, "latency_ms", "p99")));
	assert_true(json_is_null(at(second, "memory", "pss_supervisor_bytes")));
	assert_int_equal(json_integer_value(at(second, "memory", "pss_total_bytes")), 3000000);
	assert_int_equal(json_array_size(at(second, "spread", "connections")), 2);
	assert_int_equal(json_integer_value(
				 json_object_get(at(document, "recommendation", "setting"),
						 "workers")),
			 2);
	assert_string_equal(json_string_value(at(document, "limit", "class")), "cpu-bound");
	assert_true(json_is_null(at(document, "need_rps", NULL)));
	assert_true(json_is_null(at(second, "pressure", "cpu_some_ratio")));
	assert_int_equal(json_array_size(at(document, "frontier", NULL)), 2);
	assert_true(json_is_null(at(document, "neighbours", "larger")));
	json_t *smaller = at(document, "neighbours", "smaller");
	assert_int_equal(json_integer_value(at(smaller, "setting", "workers")), 1);
	assert_true(fabs(json_real_value(at(smaller, "speed_ratio", NULL)) - 49.6 / 98.4) < 1e-3);
	assert_int_equal(json_integer_value(at(smaller, "pss_more_bytes", NULL)), -1500000);
	json_decref(document);
	sz_sweep_fini(&sweep);
}

/* 1.5 MB each; of 8 GB others take 2. */
static void what_memory_buys_is_told(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"of 7.45 GiB others use 1.86 GiB: 4000 workers fit",
		"One more      4 workers give 0.1 % more speed for 2.86 MiB more memory",
		"One less      1 worker gives 49.6 % less speed for 1.43 MiB less memory",
		"Frontier      1, 2, 4: every other",
	};
	struct sz_sweep sweep;
	sz_autobuf struct sz_buf json = {0}, text = {0};
	fill_sweep(&sweep);
	add_visit(&sweep, 4, 98.5, 507);
	add_visit(&sweep, 8, 90, 550);
	for (size_t i = 0; i < sweep.visit_count; i++) {
		struct sz_window *window = &sweep.visits[i].window;
		window->memory_limit_bytes = INT64_C(8000000000);
		window->memory_taken_bytes = INT64_C(2000000000) + window->pss_total_bytes;
	}
	assert_int_equal(sz_advise_sweep(&sweep, NULL), 0);
	sz_report_sweep_text(&sweep, &text);
	/* The text is wrapped: look for what fits into a line. */
	for (size_t i = 0; i < SZ_ARRAY_LEN(lines); i++)
		if (!strstr(text.data, lines[i]))
			fail_msg("no \"%s\" in:\n%s", lines[i], text.data);
	sz_report_sweep_json(&sweep, &json);
	json_t *document = parse(&json);
	assert_int_equal(json_integer_value(at(document, "memory_budget", "fits_workers")), 4000);
	assert_int_equal(json_integer_value(at(document, "memory_budget", "others_bytes")),
			 2000000000);
	assert_int_equal(json_array_size(at(document, "frontier", NULL)), 3);
	json_decref(document);
	sz_sweep_fini(&sweep);
}

static void nothing_measured_is_null_everywhere(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	sz_autobuf struct sz_buf json = {0}, text = {0};
	sz_sweep_init(&sweep);
	sz_sweep_add_setting(&sweep, 1);
	sweep.interrupted = true;
	assert_int_equal(sz_advise_sweep(&sweep, NULL), 0);
	sz_report_sweep_json(&sweep, &json);
	sz_report_sweep_text(&sweep, &text);
	assert_null(strstr(text.data, "nan"));
	json_t *document = parse(&json);
	json_t *only = json_array_get(json_object_get(document, "settings"), 0);
	assert_true(json_is_null(at(document, "recommendation", NULL)));
	assert_true(json_is_null(at(document, "load", "saturated")));
	assert_true(json_is_null(at(document, "alone", "latency_ms")));
	assert_int_equal(json_integer_value(at(only, "windows", NULL)), 0);
	json_decref(document);
	sz_sweep_fini(&sweep);
}

/* Zero and one sample: neither NaN nor a made-up percentile. */
static void load_views_with_few_samples(void **state)
{
	(void)state;
	/* Which connect all the time. */
	const struct sz_load_config config = {.clients = 3, .reconnect_every = 1};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &config,
					.result = result};
	result->duration_ns = 1000000000;
	result->clients_answered = 3;
	for (uint64_t samples = 0; samples <= 1; samples++) {
		sz_autobuf struct sz_buf json = {0}, text = {0};
		if (samples)
			sz_hist_add(&result->latency[SZ_OUTCOME_OK], 5000000);
		result->attempts = result->sent = result->outcomes[SZ_OUTCOME_OK] = samples;
		sz_load_judge(&config, result, &judgement);
		/* Nothing was sent at all: the window was too short. */
		assert_int_equal(judgement.count, samples ? 0 : 1);
		sz_report_load_json(&report, &json);
		sz_report_load_text(&report, &text);
		assert_null(strstr(text.data, "nan"));
		json_t *document = parse(&json);
		assert_string_equal(json_string_value(at(document, "status", NULL)),
				    samples ? "answered" : "untrustworthy");
		assert_true(json_is_null(at(document, "latency_ms", "p50")));
		assert_int_equal(json_is_null(at(document, "latency_ms", "max")), samples == 0);
		assert_int_equal(json_integer_value(at(document, "counts", "ok")), samples);
		json_decref(document);
	}
}

static void a_sick_run_is_not_trusted(void **state)
{
	(void)state;
	const struct sz_load_config config = {.clients = 3};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	struct sz_load_judgement judgement;
	result->duration_ns = 1000000000;
	result->client_cpu_ns = result->busiest_cpu_ns = 900000000;
	result->clients_answered = 2;
	result->sent = 5; /* and no attempt: the law does not hold */
	sz_load_judge(&config, result, &judgement);
	assert_int_equal(judgement.count, 4);
	assert_non_null(strstr(judgement.reasons[3], "0.0 of 3 clients"));
	sz_hist_add(&result->connect, 1010000000);
	sz_hist_add(&result->latency[SZ_OUTCOME_OK], 500000000);
	sz_load_judge(&config, result, &judgement);
	assert_int_equal(judgement.count, 6);
	assert_non_null(strstr(judgement.reasons[3], "listen queue was full"));
	assert_non_null(strstr(judgement.reasons[4], "shorter than 3 times"));
}

static void the_knee_is_told(void **state)
{
	(void)state;
	static const struct {
		unsigned clients;
		double gain_ratio;
		const char *words;
	} cases[] = {
		{32, 0.004, "32 clients (the knee of 8 workers: 64 gained 0.4 %), each"},
		{1, -0.01, "1 client (the knee of 8 workers: 2 gained -1.0 %), each"},
		{1024, SZ_NAN, "1024 clients (the most tried: no knee of 8 workers up to there)"},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_sweep sweep;
		sz_autobuf struct sz_buf json = {0}, text = {0};
		fill_sweep(&sweep);
		sweep.clients = cases[i].clients;
		sweep.knee_workers = 8;
		sweep.knee_gain_ratio = cases[i].gain_ratio;
		sz_report_sweep_text(&sweep, &text);
		sz_report_sweep_json(&sweep, &json);
		assert_non_null(strstr(text.data, cases[i].words));
		json_t *document = parse(&json);
		json_t *knee = at(document, "load", "knee");
		assert_int_equal(json_integer_value(at(knee, "workers", NULL)), 8);
		assert_int_equal(json_is_null(at(knee, "gain_ratio", NULL)),
				 isnan(cases[i].gain_ratio));
		json_decref(document);
		sz_sweep_fini(&sweep);
	}
}

static void from_how_many_users(void **state)
{
	(void)state;
	struct sz_sweep sweep;
	sz_autobuf struct sz_buf json = {0}, text = {0};
	fill_sweep(&sweep);
	sz_report_sweep_json(&sweep, &json);
	json_t *document = parse(&json);
	assert_true(json_is_null(at(document, "users", NULL)));
	assert_true(json_is_null(at(document, "load", "knee")));
	json_decref(document);
	sweep.advice.users = (struct sz_users_advice){
		.from = 4,
		.row = {{2, 20, SZ_NAN}, {4, 80, 40}},
		.count = 2,
		.text = "from 4 users on 2 workers pay",
	};
	json.len = 0;
	sz_report_sweep_json(&sweep, &json);
	sz_report_sweep_text(&sweep, &text);
	assert_non_null(strstr(text.data, "Users         from 4 users on"));
	assert_non_null(strstr(text.data, "users  1 worker  2 workers\n"));
	assert_non_null(strstr(text.data, "    2   20.0 ms          –\n"));
	document = parse(&json);
	assert_int_equal(json_integer_value(at(document, "users", "from")), 4);
	json_t *first = json_array_get(at(document, "users", "rows"), 0);
	assert_int_equal(json_integer_value(at(first, "users", NULL)), 2);
	assert_true(json_number_value(at(first, "slowest_ttfb_ms", "smallest")) == 20);
	assert_true(json_is_null(at(first, "slowest_ttfb_ms", "recommended")));
	json_decref(document);
	sz_sweep_fini(&sweep);
}

static void another_body_is_told(void **state)
{
	(void)state;
	const struct sz_load_config config = {.clients = 1};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	sz_autobuf struct sz_buf json = {0}, text = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &config,
					.result = result};
	result->duration_ns = 1000000000;
	result->clients_answered = 1;
	result->attempts = result->sent = result->outcomes[SZ_OUTCOME_HTTP_ERROR] = 9;
	result->unexpected = 7;
	sz_load_judge(&config, result, &judgement);
	sz_report_load_json(&report, &json);
	sz_report_load_text(&report, &text);
	assert_non_null(strstr(text.data, "7 x body: a good status without the expected text"));
	json_t *document = parse(&json);
	assert_int_equal(json_integer_value(at(document, "counts", "unexpected")), 7);
	assert_int_equal(json_integer_value(at(document, "counts", "http_error")), 9);
	json_decref(document);
}

static void burst_views(void **state)
{
	(void)state;
	const struct sz_load_config config = {.clients = 28,
					      .users = 2,
					      .arrivals = SZ_ARRIVALS_BURST};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	sz_autobuf struct sz_buf json = {0}, text = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &config,
					.result = result};
	result->duration_ns = 1000000000;
	result->clients_answered = 28;
	result->error_ratio = INFINITY;
	result->attempts = result->sent = result->outcomes[SZ_OUTCOME_OK] = 28;
	for (int i = 0; i < 28; i++)
		sz_hist_add(&result->latency[SZ_OUTCOME_OK], 280000000);
	result->round_count = 1;
	result->rounds[0] = (struct sz_load_round){280000000, 290000000, 0, 0};
	result->slowest_ttfb = (struct sz_load_spread){280000000, 280000000, 280000000};
	result->slowest = (struct sz_load_spread){290000000, 290000000, 290000000};
	/* Of its 290 ms the client was busy with 90 %; of the whole window with a quarter. */
	result->client_cpu_ns = result->busiest_cpu_ns = 261000000;
	sz_load_judge(&config, result, &judgement);
	assert_int_equal(judgement.count, 1);
	sz_report_load_json(&report, &json);
	sz_report_load_text(&report, &text);
	assert_non_null(strstr(text.data, "2 users x 14 requests"));
	assert_non_null(strstr(text.data, "first byte  p50 280 ms"));
	json_t *document = parse(&json);
	json_t *burst = at(document, "burst", NULL);
	assert_int_equal(json_integer_value(at(burst, "size", NULL)), 14);
	assert_int_equal(json_integer_value(at(burst, "users", NULL)), 2);
	assert_int_equal(json_integer_value(at(burst, "rounds", NULL)), 1);
	assert_true(json_real_value(at(burst, "slowest_ttfb_ms", "p50")) == 280);
	assert_true(json_real_value(at(burst, "slowest_ms", "max")) == 290);
	assert_true(json_is_true(at(document, "client", "saturated")));
	assert_true(json_is_null(at(document, "goodput_error_ratio", NULL)));
	json_decref(document);
}

/* What a step of a rate, a request and all others are called. A file may begin with
 * the last. */
static void parts_have_a_heading(void **state)
{
	(void)state;
	static const struct {
		const char *label, *heading, *line;
	} cases[] = {{"at 100 req/s", "  due\n", "  at 100 req/s\n"},
		     {"GET /", "  request\n", "  GET /\n"},
		     {NULL, "  request\n", "  (all others)\n"}};
	const struct sz_load_config config = {.clients = 1};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	sz_autofree struct sz_load_part *part = calloc(1, sizeof(*part));
	struct sz_load_judgement judgement = {0};
	const struct sz_load_report report = {.judgement = &judgement,
					      .config = &config,
					      .result = result};
	result->duration_ns = 1000000000;
	result->parts = part;
	result->part_count = 1;
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf text = {0};
		part->label = cases[i].label;
		sz_report_load_text(&report, &text);
		assert_non_null(strstr(text.data, cases[i].heading));
		assert_non_null(strstr(text.data, cases[i].line));
	}
}

/* Three rounds within 410 ms, of which the last took 60 ms: 175 ms from each to the next. */
static void a_pace_that_is_not_held_is_told(void **state)
{
	(void)state;
	static const struct {
		uint64_t every_ns;
		bool interrupted, is_noted;
	} cases[] = {{0, false, false},
		     {100000000, false, true},
		     {174000000, false, false},
		     {100000000, true, false}};
	struct sz_load_config config = {.clients = 1, .users = 1, .arrivals = SZ_ARRIVALS_BURST};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &config,
					.result = result};
	result->duration_ns = 410000000;
	result->clients_answered = 1;
	result->attempts = result->sent = result->outcomes[SZ_OUTCOME_OK] = 3;
	result->round_count = 3;
	result->rounds[2].slowest_ns = 60000000;
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		sz_autobuf struct sz_buf json = {0};
		config.every_ns = cases[i].every_ns;
		result->interrupted = cases[i].interrupted;
		sz_load_judge(&config, result, &judgement);
		assert_int_equal(judgement.note_count, cases[i].is_noted);
		if (cases[i].is_noted)
			assert_non_null(strstr(judgement.notes[0], "every 175 ms on average, not "
								   "every 100 ms"));
		sz_report_load_json(&report, &json);
		json_t *document = parse(&json);
		assert_true(json_number_value(at(document, "burst", "every_asked_ms")) ==
			    (double)cases[i].every_ns / 1e6);
		assert_true(json_number_value(at(document, "burst", "every_ms")) ==
			    (cases[i].interrupted ? 0 : 175));
		json_decref(document);
	}
}

/* A round with a failure, and an interruption before the first was over. */
static void bursts_that_say_little(void **state)
{
	(void)state;
	const struct sz_load_config config = {.clients = 1,
					      .users = 1,
					      .arrivals = SZ_ARRIVALS_BURST};
	sz_autofree struct sz_load_result *result = calloc(1, sizeof(*result));
	sz_autobuf struct sz_buf json = {0}, text = {0};
	struct sz_load_judgement judgement;
	struct sz_load_report report = {.judgement = &judgement,
					.config = &config,
					.result = result};
	result->duration_ns = 1000000000;
	result->clients_answered = 1;
	sz_load_judge(&config, result, &judgement);
	assert_int_equal(judgement.count, 0);
	sz_report_load_json(&report, &json);
	sz_report_load_text(&report, &text);
	assert_null(strstr(text.data, "Slowest"));
	json_t *document = parse(&json);
	assert_true(json_is_null(at(at(document, "burst", NULL), "slowest_ttfb_ms", "p50")));
	json_decref(document);

	result->round_count = 3;
	result->rounds_failed = 1;
	sz_load_judge(&config, result, &judgement);
	assert_int_equal(judgement.count, 1);
	assert_non_null(strstr(judgement.reasons[0], "1 of 3 rounds"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweep_text_is_golden),
		cmocka_unit_test(sweep_json_tells_the_same),
		cmocka_unit_test(what_memory_buys_is_told),
		cmocka_unit_test(nothing_measured_is_null_everywhere),
		cmocka_unit_test(load_views_with_few_samples),
		cmocka_unit_test(a_sick_run_is_not_trusted),
		cmocka_unit_test(the_knee_is_told),
		cmocka_unit_test(from_how_many_users),
		cmocka_unit_test(another_body_is_told),
		cmocka_unit_test(burst_views),
		cmocka_unit_test(parts_have_a_heading),
		cmocka_unit_test(a_pace_that_is_not_held_is_told),
		cmocka_unit_test(bursts_that_say_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
