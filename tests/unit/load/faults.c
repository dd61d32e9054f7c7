/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers that misbehave, one script each, and what must be counted.
 */
#include "script.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>

static struct sz_load_config config;
static struct sz_load_result result;

/* Connecting, or the lead-in of the first window, must fail; returns what it
 * says. */
static struct sz_err open_fails(void)
{
	const struct sz_load_span span = {.max_ns = 100 * SZ_NS_PER_MS};
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	if (sz_load_open(load, &err) == 0)
		assert_int_equal(sz_load_window(load, &span, &result, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_true(err.hint[0] != '\0');
	sz_load_free(load);
	return err;
}

static void nobody_listens(void **state)
{
	(void)state;
	for (int mode = SZ_CONNECT_PACED; mode <= SZ_CONNECT_BURST; mode++) {
		script_config(&config, sz_free_port(NULL), 5);
		config.connect = (enum sz_connect_mode)mode;
		struct sz_err err = open_fails();
		assert_int_equal(err.errnum, ECONNREFUSED);
		assert_non_null(strstr(err.message, "cannot connect to 127.0.0.1:"));
	}
}

static void play_silence(int fd)
{
	(void)fd;
	script_hang();
}

static void nobody_answers(void **state)
{
	(void)state;
	for (int mode = SZ_CONNECT_PACED; mode <= SZ_CONNECT_BURST; mode++) {
		script_start(play_silence, &config, 5);
		config.connect = (enum sz_connect_mode)mode;
		config.timeout_ns = 50 * SZ_NS_PER_MS;
		struct sz_err err = open_fails();
		assert_int_equal(err.errnum, ETIMEDOUT);
		assert_non_null(strstr(err.message, "no request was answered within 50.0 ms"));
		script_stop(NULL);
	}
}

static void play_banner(int fd)
{
	script_say(fd, "SSH-2.0-OpenSSH_9.2\r\n\x01");
	script_hang();
}

static void not_http(void **state)
{
	(void)state;
	script_start(play_banner, &config, 5);
	struct sz_err err = open_fails();
	assert_int_equal(err.errnum, EPROTO);
	assert_non_null(strstr(err.message, "\"SSH-2.0-OpenSSH_9.2\\x0d\\x0a\\x01\""));
}

static void play_hang_up(int fd)
{
	script_read(fd);
}

static void hung_up_on(void **state)
{
	(void)state;
	script_start(play_hang_up, &config, 5);
	struct sz_err err = open_fails();
	assert_int_equal(err.errnum, ECONNRESET);
}

/* The connection serves two good answers, then the fault. */

static bool two_good_answers(int fd)
{
	for (int i = 0; i < 2; i++) {
		if (!script_read(fd))
			return false;
		script_answer(fd, HELLO);
	}
	return script_read(fd);
}

/* Every third request meets the fault, so with one client the counts agree
 * but for what was under way at the window's ends. */
static void check_every_third(enum sz_outcome outcome)
{
	uint64_t faults = result.outcomes[outcome];
	uint64_t ok = result.outcomes[SZ_OUTCOME_OK];
	assert_true(faults >= 1);
	assert_in_range(ok, 2 * faults - 2, 2 * faults + 2);
	assert_int_equal(result.sent, ok + faults);
	assert_int_equal(result.connections_opened, 1 + result.reconnects);
	assert_int_equal(result.connect.count, result.connections_opened);
}

static void check_errors(enum sz_phase phase, int errnum, uint64_t count)
{
	assert_int_equal(result.error_count, 1);
	assert_int_equal(script_errors(&result, phase, errnum), count);
}

/* Answers, and closes in place of the second answer: at once, or when it has had the
 * request for longer than a close can cross it. */
static unsigned second_takes_ms;

static void play_drop_the_second(int fd)
{
	if (!script_read(fd))
		return;
	script_answer(fd, HELLO);
	if (script_read(fd))
		script_sleep_ms(second_takes_ms);
}

static void a_request_that_somebody_had_is_not_stale(void **state)
{
	(void)state;
	for (second_takes_ms = 0; second_takes_ms <= 250; second_takes_ms += 250) {
		bool is_dropped = second_takes_ms > 0;
		script_start(play_drop_the_second, &config, 1);
		script_load(&config, 4, 5000, &result);
		uint64_t lost =
			result.outcomes[is_dropped ? SZ_OUTCOME_SOCKET_ERROR : SZ_OUTCOME_STALE];
		assert_true(lost >= 1);
		assert_int_equal(result.sent, result.outcomes[SZ_OUTCOME_OK] + lost);
		assert_int_equal(script_errors(&result, SZ_PHASE_WAIT, ECONNRESET),
				 is_dropped ? lost : 0);
		script_stop(NULL);
	}
}

static void play_late_garbage(int fd)
{
	if (two_good_answers(fd))
		script_say(fd, "\x16\x03\x01 \"garb\\age");
}

static void garbage_later(void **state)
{
	(void)state;
	script_start(play_late_garbage, &config, 1);
	script_load(&config, 10, 5000, &result);
	check_every_third(SZ_OUTCOME_NOT_HTTP);
	check_errors(SZ_PHASE_WAIT, EPROTO, result.outcomes[SZ_OUTCOME_NOT_HTTP]);
	assert_string_equal(result.not_http, "\\x16\\x03\\x01 \\x22garb\\x5cage");
	assert_int_equal(result.aborted, SZ_ABORT_NONE);
}

static void play_other_protocol(int fd)
{
	/* The priming and the lead-in, then never again. */
	if (atomic_load(&script_seen->connections) == 1)
		two_good_answers(fd);
	else
		script_read(fd);
	script_say(fd, "220 mail.example.org ESMTP\r\n");
}

static void another_protocol_for_good(void **state)
{
	(void)state;
	script_start(play_other_protocol, &config, 1);
	script_load(&config, UINT64_MAX, 20000, &result);
	assert_int_equal(result.aborted, SZ_ABORT_NOT_HTTP);
	assert_true(result.duration_ns >= SZ_ABORT_NOT_HTTP_NS);
	assert_true(result.outcomes[SZ_OUTCOME_NOT_HTTP] >= SZ_ABORT_DEAD_COUNT);
	assert_int_equal(result.sent, result.outcomes[SZ_OUTCOME_NOT_HTTP]);
	assert_string_equal(result.not_http, "220 mail.example.org ESMTP\\x0d\\x0a");
}

static void play_truncated(int fd)
{
	if (two_good_answers(fd))
		script_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhel");
}

static void play_truncated_chunks(int fd)
{
	if (two_good_answers(fd))
		script_say(fd,
			   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
}

static void truncated(void **state)
{
	(void)state;
	script_play *const plays[] = {play_truncated, play_truncated_chunks};
	for (size_t i = 0; i < SZ_ARRAY_LEN(plays); i++) {
		script_start(plays[i], &config, 1);
		script_load(&config, 10, 5000, &result);
		check_every_third(SZ_OUTCOME_TRUNCATED);
		check_errors(SZ_PHASE_BODY, EPROTO, result.outcomes[SZ_OUTCOME_TRUNCATED]);
		script_stop(NULL);
	}
}

static void play_too_long(int fd)
{
	if (two_good_answers(fd))
		script_say(fd, HELLO HELLO);
	script_read(fd);
}

static void more_than_announced(void **state)
{
	(void)state;
	script_start(play_too_long, &config, 1);
	script_load(&config, 10, 5000, &result);
	check_every_third(SZ_OUTCOME_PROTOCOL_ERROR);
	check_errors(SZ_PHASE_BODY, EPROTO, result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR]);
}

static void play_stuck(int fd)
{
	if (two_good_answers(fd))
		script_hang();
}

static void time_outs(void **state)
{
	(void)state;
	script_start(play_stuck, &config, 1);
	config.timeout_ns = 120 * SZ_NS_PER_MS;
	script_load(&config, 6, 5000, &result);
	check_every_third(SZ_OUTCOME_TIMEOUT);
	check_errors(SZ_PHASE_WAIT, ETIMEDOUT, result.outcomes[SZ_OUTCOME_TIMEOUT]);
	assert_true(result.latency[SZ_OUTCOME_TIMEOUT].min_ns >= config.timeout_ns);
	assert_true(result.latency[SZ_OUTCOME_OK].min_ns < config.timeout_ns);
	assert_int_equal(result.server_closed, 0);
}

static void play_reset_in_body(int fd)
{
	if (!two_good_answers(fd))
		return;
	script_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhel");
	script_sleep_ms(5);
	const struct linger at_once = {.l_onoff = 1};
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void reset_in_body(void **state)
{
	(void)state;
	script_start(play_reset_in_body, &config, 1);
	script_load(&config, 10, 5000, &result);
	check_every_third(SZ_OUTCOME_SOCKET_ERROR);
	assert_int_equal(script_errors(&result, SZ_PHASE_BODY, ECONNRESET), result.errors[0].count);
}

/* Ends of connections that are no errors */

static void check_all_ok(void)
{
	assert_true(result.sent > 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.error_count, 0);
	assert_int_equal(result.connections_opened, config.clients + result.reconnects);
}

static void play_close(int fd)
{
	if (script_read(fd))
		script_answer(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				  "Content-Length: 5\r\n\r\nhello");
	script_read(fd); /* the client closes */
}

static void connection_close_is_honoured(void **state)
{
	(void)state;
	script_start(play_close, &config, 4);
	script_load(&config, 40, 5000, &result);
	check_all_ok();
	assert_true(result.reconnects >= 40);
	assert_int_equal(result.server_closed, result.reconnects);
	assert_int_equal(atomic_load(&script_seen->requests), result.sent + result.uncounted);
}

static void play_http10(int fd)
{
	if (!script_read(fd))
		return;
	script_say(fd, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhel");
	script_answer(fd, "lo");
}

static void close_delimited(void **state)
{
	(void)state;
	script_start(play_http10, &config, 4);
	script_load(&config, 40, 5000, &result);
	check_all_ok();
	assert_int_equal(result.body_bytes, 5 * result.sent);
	assert_int_equal(result.server_closed, result.reconnects);
	assert_int_equal(atomic_load(&script_seen->requests), result.sent + result.uncounted);
}

static void play_ten(int fd)
{
	for (int i = 0; i < 10 && script_read(fd); i++)
		script_answer(fd, HELLO);
}

/* Whether a request was lost in the race is luck; that it is no error, and
 * that every other one succeeds, is not. */
static void silent_close_after_ten(void **state)
{
	(void)state;
	script_start(play_ten, &config, 2);
	script_load(&config, 100, 5000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] >= 100);
	assert_int_equal(result.sent,
			 result.outcomes[SZ_OUTCOME_OK] + result.outcomes[SZ_OUTCOME_STALE]);
	assert_int_equal(result.error_count, 0);
	assert_true(result.server_closed >= 8);
	assert_int_equal(result.server_closed, result.reconnects);
}

static void play_stale(int fd)
{
	for (int i = 0; i < 2 && script_read(fd); i++)
		script_answer(fd, HELLO);
	/* Closing with unread bytes resets the connection. */
	struct pollfd third = {.fd = fd, .events = POLLIN};
	poll(&third, 1, -1);
}

static void stale_is_retried_at_once(void **state)
{
	(void)state;
	script_start(play_stale, &config, 1);
	script_load(&config, 20, 5000, &result);
	check_every_third(SZ_OUTCOME_STALE);
	assert_int_equal(result.error_count, 0);
}

/* GET may be sent twice, and so may what its method says; POST may not. */
static void only_idempotent_requests_are_retried(void **state)
{
	(void)state;
	static const struct {
		const char *method;
		enum sz_outcome outcome;
	} cases[] = {
		{"PUT", SZ_OUTCOME_STALE},        {"DELETE", SZ_OUTCOME_STALE},
		{"POST", SZ_OUTCOME_NOT_RETRIED}, {"PATCH", SZ_OUTCOME_NOT_RETRIED},
		{"BREW", SZ_OUTCOME_NOT_RETRIED},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		const struct sz_requests_config asked = {.method = cases[i].method};
		struct sz_requests *requests = NULL;
		char url[64];
		script_start(play_stale, &config, 1);
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/", config.url.port);
		assert_int_equal(sz_requests_new(&asked, &requests, NULL), 0);
		assert_int_equal(sz_requests_add(requests, url, NULL), 0);
		config.requests = requests;
		script_load(&config, 10, 5000, &result);
		check_every_third(cases[i].outcome);
		assert_int_equal(result.error_count > 0, cases[i].outcome != SZ_OUTCOME_STALE);
		script_stop(NULL);
		sz_requests_free(requests);
	}
}

/* Once primed and warmed up: another answer, when nobody asked. */
static void play_again_unasked(int fd)
{
	while (script_read(fd)) {
		script_answer(fd, HELLO);
		if (atomic_load(&script_seen->answered) != 2)
			continue;
		script_sleep_ms(30);
		script_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked");
	}
}

/* Holds the loop up, so that bytes wait when the round begins. */
static void sleep_at_the_start(void *arg, enum sz_edge edge)
{
	(void)arg;
	if (edge == SZ_EDGE_START)
		script_sleep_ms(100);
}

static void what_came_before_answers_nothing(void **state)
{
	(void)state;
	script_start(play_again_unasked, &config, 1);
	config.arrivals = SZ_ARRIVALS_BURST;
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 1,
					  .max_ns = SZ_NS_PER_S,
					  .at_edge = sleep_at_the_start};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_int_equal(result.outcomes[SZ_OUTCOME_STALE], 1);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 1);
	assert_int_equal(result.sent, 2);
	assert_int_equal(result.body_bytes, 5);
	assert_int_equal(result.error_count, 0);
	/* What is stale was not even sent: one in the warm-up, one in the round. */
	assert_int_equal(atomic_load(&script_seen->requests), result.uncounted + 1);
}

static void play_second_loss(int fd)
{
	/* The first connection works twice, those after it never. */
	if (atomic_load(&script_seen->connections) == 1)
		play_stale(fd);
	else
		script_read(fd);
}

static void second_loss_is_an_error(void **state)
{
	(void)state;
	/* Two good answers are used up by priming and lead-in; the window is lost. */
	script_start(play_second_loss, &config, 1);
	config.timeout_ns = 30 * SZ_NS_PER_MS;
	script_load(&config, 1, 100, &result);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 0);
	assert_true(result.outcomes[SZ_OUTCOME_SOCKET_ERROR] > 0);
	assert_int_equal(result.sent, result.outcomes[SZ_OUTCOME_SOCKET_ERROR] +
					      result.outcomes[SZ_OUTCOME_STALE]);
	check_errors(SZ_PHASE_WAIT, ECONNRESET, result.outcomes[SZ_OUTCOME_SOCKET_ERROR]);
	assert_int_equal(result.clients_answered, 1);
}

static void play_impatient(int fd)
{
	struct pollfd next = {.fd = fd, .events = POLLIN};
	while (poll(&next, 1, 20) > 0 && script_read(fd))
		script_answer(fd, HELLO);
}

static void closed_between_windows(void **state)
{
	(void)state;
	script_start(play_impatient, &config, 3);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.requests = 10, .max_ns = 5 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	script_sleep_ms(60);
	script_window(load, &span, &result);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.clients_answered, 3);
	assert_true(result.server_closed >= 3);
	assert_int_equal(result.server_closed, result.reconnects);
	sz_load_free(load);
}

/* Answers that are not 200 */

static void play_500(int fd)
{
	while (script_read(fd))
		script_answer(fd, "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
}

static void http_errors_are_not_ok(void **state)
{
	(void)state;
	script_start(play_500, &config, 2);
	script_load(&config, 1, 50, &result);
	assert_true(result.sent > 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_HTTP_ERROR], result.sent);
	assert_int_equal(result.latency[SZ_OUTCOME_OK].count, 0);
	assert_int_equal(result.ttfb.count, 0);
	assert_int_equal(result.body_bytes, 0);
	assert_int_equal(result.clients_answered, 2);
	assert_int_equal(result.reconnects, 0);
}

static void play_early_hints(int fd)
{
	while (script_read(fd)) {
		script_say(fd, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
		script_answer(fd, HELLO);
	}
}

static void interim_responses_are_skipped(void **state)
{
	(void)state;
	script_start(play_early_hints, &config, 2);
	script_load(&config, 20, 5000, &result);
	check_all_ok();
	assert_int_equal(atomic_load(&script_seen->requests), result.sent + result.uncounted);
	assert_int_equal(result.body_bytes, 5 * result.sent);
}

static void play_byte_by_byte(int fd)
{
	while (script_read(fd)) {
		for (const char *byte = HELLO; *byte; byte++) {
			send(fd, byte, 1, MSG_NOSIGNAL);
			sched_yield();
		}
		atomic_fetch_add(&script_seen->answered, 1);
	}
}

static void any_boundary(void **state)
{
	(void)state;
	script_start(play_byte_by_byte, &config, 2);
	script_load(&config, 20, 5000, &result);
	check_all_ok();
	assert_int_equal(result.body_bytes, 5 * result.sent);
}

/* The server goes away */

static void play_last_words(int fd)
{
	while (script_read(fd)) {
		if (atomic_load(&script_seen->requests) >= 500)
			_exit(0);
		script_answer(fd, HELLO);
	}
}

static void server_dies(void **state)
{
	(void)state;
	script_start(play_last_words, &config, 3);
	script_load(&config, UINT64_MAX, 300, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] > 0);
	assert_true(result.connect_failed >= 3);
	assert_int_equal(script_errors(&result, SZ_PHASE_CONNECT, ECONNREFUSED),
			 result.connect_failed);
	/* Tries at 0, 10, 30, 70, 150, 310 ms after the loss. */
	assert_true(result.connect_failed <= 3 * 6);
	assert_int_equal(result.attempts, result.sent + result.connect_failed);
	assert_int_equal(result.connections_open_at_end, 0);
}

/* Before anything is sent */

static void refused_configs(void **state)
{
	(void)state;
	const struct {
		unsigned clients;
		uint64_t timeout_ns;
	} bad[] = {{0, 1}, {SZ_LOAD_CLIENTS_MAX + 1, 1}, {1, 0}};
	struct sz_load *const untouched = (struct sz_load *)&config;
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		struct sz_err err = {0};
		struct sz_load *load = untouched;
		script_config(&config, 1, bad[i].clients);
		config.timeout_ns = bad[i].timeout_ns;
		assert_int_equal(sz_load_new(&config, &load, &err), -1);
		assert_int_equal(err.code, SZ_USAGE);
		assert_true(err.hint[0] != '\0');
		assert_ptr_equal(load, untouched);
	}
}

/* In a child, since a lowered hard limit stays. */
static bool names_the_descriptors_needed(void)
{
	const struct rlimit low = {.rlim_cur = 40, .rlim_max = 40};
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	return setrlimit(RLIMIT_NOFILE, &low) == 0 && sz_load_new(&config, &load, &err) == -1 &&
	       err.code == SZ_MACHINE && strstr(err.message, "164") && strstr(err.message, "40") &&
	       strstr(err.hint, "ulimit -n 164");
}

/* And gives it back, so that a service started later does not inherit it. */
static bool raises_the_soft_limit(void)
{
	const struct rlimit low = {.rlim_cur = 40, .rlim_max = 1000};
	struct rlimit during = {0}, after = {0};
	struct sz_load *load = NULL;
	if (setrlimit(RLIMIT_NOFILE, &low) < 0 || sz_load_new(&config, &load, NULL) < 0)
		return false;
	getrlimit(RLIMIT_NOFILE, &during);
	sz_load_free(load);
	getrlimit(RLIMIT_NOFILE, &after);
	return during.rlim_cur == 164 && after.rlim_cur == 40;
}

static void descriptor_limits(void **state)
{
	(void)state;
	bool (*const checks[])(void) = {names_the_descriptors_needed, raises_the_soft_limit};
	script_config(&config, 1, 100);
	for (size_t i = 0; i < SZ_ARRAY_LEN(checks); i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0)
			_exit(checks[i]() ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nobody_listens, script_stop),
		cmocka_unit_test_teardown(nobody_answers, script_stop),
		cmocka_unit_test_teardown(not_http, script_stop),
		cmocka_unit_test_teardown(hung_up_on, script_stop),
		cmocka_unit_test_teardown(a_request_that_somebody_had_is_not_stale, script_stop),
		cmocka_unit_test_teardown(garbage_later, script_stop),
		cmocka_unit_test_teardown(another_protocol_for_good, script_stop),
		cmocka_unit_test_teardown(truncated, script_stop),
		cmocka_unit_test_teardown(more_than_announced, script_stop),
		cmocka_unit_test_teardown(time_outs, script_stop),
		cmocka_unit_test_teardown(reset_in_body, script_stop),
		cmocka_unit_test_teardown(connection_close_is_honoured, script_stop),
		cmocka_unit_test_teardown(close_delimited, script_stop),
		cmocka_unit_test_teardown(silent_close_after_ten, script_stop),
		cmocka_unit_test_teardown(stale_is_retried_at_once, script_stop),
		cmocka_unit_test_teardown(only_idempotent_requests_are_retried, script_stop),
		cmocka_unit_test_teardown(what_came_before_answers_nothing, script_stop),
		cmocka_unit_test_teardown(second_loss_is_an_error, script_stop),
		cmocka_unit_test_teardown(closed_between_windows, script_stop),
		cmocka_unit_test_teardown(http_errors_are_not_ok, script_stop),
		cmocka_unit_test_teardown(interim_responses_are_skipped, script_stop),
		cmocka_unit_test_teardown(any_boundary, script_stop),
		cmocka_unit_test_teardown(server_dies, script_stop),
		cmocka_unit_test(refused_configs),
		cmocka_unit_test(descriptor_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
