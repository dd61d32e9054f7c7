/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads over HTTP/2 with prior knowledge, against servers that share a connection
 * badly in known ways: what each request in flight is counted as.
 */
#include "script.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include <nghttp2/nghttp2.h>

static struct sz_load_config config;
static struct sz_load_result result;

static struct also_seen {
	_Atomic uint64_t most_at_once; /* streams of a connection */
	_Atomic uint64_t cancelled;
} * also_seen;

/* One connection of the server */

struct session {
	nghttp2_session *nghttp2;
	int fd;
	uint64_t requests;
	int32_t held[64]; /* not answered yet */
	size_t held_count;
	void (*on_request)(struct session *session, int32_t stream);
	bool is_over;
};

static void respond(struct session *session, int32_t stream)
{
	static const nghttp2_nv status = {(uint8_t *)(uintptr_t) ":status",
					  (uint8_t *)(uintptr_t) "200", 7, 3, NGHTTP2_NV_FLAG_NONE};
	atomic_fetch_add(&script_seen->answered, 1);
	nghttp2_submit_response(session->nghttp2, stream, &status, 1, NULL);
}

static void reset(struct session *session, int32_t stream, uint32_t code)
{
	nghttp2_submit_rst_stream(session->nghttp2, 0, stream, code);
}

static int on_frame(nghttp2_session *nghttp2, const nghttp2_frame *frame, void *data)
{
	struct session *session = data;
	(void)nghttp2;
	if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code == NGHTTP2_CANCEL)
		atomic_fetch_add(&also_seen->cancelled, 1);
	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	session->requests++;
	atomic_fetch_add(&script_seen->requests, 1);
	session->on_request(session, frame->hd.stream_id);
	return 0;
}

static bool send_all(struct session *session)
{
	const uint8_t *bytes;
	ssize_t len;
	while ((len = nghttp2_session_mem_send(session->nghttp2, &bytes)) > 0) {
		if (send(session->fd, bytes, (size_t)len, MSG_NOSIGNAL) != len)
			return false;
	}
	return len == 0;
}

/* What is held goes out when nothing more has come for 20 ms. */
static bool receive(struct session *session)
{
	char bytes[16384];
	struct pollfd wait = {.fd = session->fd, .events = POLLIN};
	if (poll(&wait, 1, session->held_count ? 20 : -1) == 0) {
		while (session->held_count)
			respond(session, session->held[--session->held_count]);
		return true;
	}
	ssize_t len = recv(session->fd, bytes, sizeof(bytes), 0);
	return len > 0 &&
	       nghttp2_session_mem_recv(session->nghttp2, (uint8_t *)bytes, (size_t)len) == len;
}

static void serve(int fd, void (*on_request)(struct session *, int32_t), uint32_t streams)
{
	struct session session = {.fd = fd, .on_request = on_request};
	const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
	nghttp2_session_callbacks *callbacks;
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_server_new(&session.nghttp2, callbacks, &session);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session.nghttp2, 0, &settings, 1);
	while (send_all(&session) && !session.is_over && receive(&session))
		;
	nghttp2_session_del(session.nghttp2);
}

static void start(script_play *play, unsigned clients, unsigned streams)
{
	also_seen = mmap(NULL, sizeof(*also_seen), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(also_seen != MAP_FAILED);
	script_start(play, &config, clients);
	config.http = SZ_HTTP_2;
	config.streams = streams;
}

static int stop(void **state)
{
	if (also_seen)
		munmap(also_seen, sizeof(*also_seen));
	also_seen = NULL;
	return script_stop(state);
}

static uint64_t all_sent(void)
{
	return result.sent + result.uncounted;
}

/* A server that is in order */

static void play_answers(int fd)
{
	serve(fd, respond, 100);
}

static void hold(struct session *session, int32_t stream)
{
	session->held[session->held_count++] = stream;
	if (session->held_count > atomic_load(&also_seen->most_at_once))
		atomic_store(&also_seen->most_at_once, session->held_count);
}

static void play_holds(int fd)
{
	serve(fd, hold, 100);
}

static void clients_share_connections(void **state)
{
	(void)state;
	start(play_answers, 10, 4);
	script_load(&config, 500, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] >= 500);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.clients_answered, 10);
	assert_int_equal(result.connections_opened, 3);
	assert_int_equal(atomic_load(&script_seen->connections), 3);
	assert_int_equal(atomic_load(&script_seen->requests), all_sent());
}

static void all_of_a_connection_are_in_flight_at_once(void **state)
{
	(void)state;
	start(play_holds, 12, 6);
	config.connect = SZ_CONNECT_BURST;
	script_load(&config, 24, 20000, &result);
	assert_int_equal(atomic_load(&also_seen->most_at_once), 6);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	/* Each has its own stamps: all waited as long as the server did. */
	assert_true(result.latency[SZ_OUTCOME_OK].min_ns >= 20 * SZ_NS_PER_MS);
}

static void an_open_loop(void **state)
{
	(void)state;
	start(play_answers, 20, 10);
	config.arrivals = SZ_ARRIVALS_OPEN;
	assert_int_equal(sz_rate_parse("400", SZ_NS_PER_S, &config.rate, NULL), 0);
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.min_ns = SZ_NS_PER_S / 2, .max_ns = SZ_NS_PER_S / 2};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_true(result.scheduled >= 200);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.scheduled - result.dropped);
	assert_int_equal(result.connections_opened, 2);
}

static void users_share_no_connection(void **state)
{
	(void)state;
	start(play_answers, 8, 3);
	config.arrivals = SZ_ARRIVALS_BURST;
	config.users = 2;
	config.pause_ns = SZ_NS_PER_MS;
	struct sz_load *load = script_open(&config);
	const struct sz_load_span span = {.rounds = 5, .max_ns = 60 * SZ_NS_PER_S};
	script_window(load, &span, &result);
	sz_load_free(load);
	assert_int_equal(result.round_count, 5);
	assert_int_equal(result.rounds_failed, 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], 40);
	assert_int_equal(result.connections_opened, 4); /* three and one of each user */
}

static void connections_are_replaced_as_asked(void **state)
{
	(void)state;
	start(play_answers, 4, 2);
	config.reconnect_every = 5;
	script_load(&config, 200, 20000, &result);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_int_equal(result.server_closed, 0);
	/* All but the two last have carried five. */
	assert_true(result.connections_opened * 5 >= all_sent());
	assert_true((result.connections_opened - 2) * 5 <= all_sent());
}

/* Fewer requests than clients: all of them come to their turn. */
static void short_connections_serve_everybody(void **state)
{
	(void)state;
	start(play_answers, 10, 10);
	config.reconnect_every = 3;
	script_load(&config, 200, 20000, &result);
	assert_int_equal(result.clients_answered, 10);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_true(result.connections_opened * 3 >= all_sent());
}

/* Refusals */

static void refuse_some(struct session *session, int32_t stream)
{
	if (session->requests % 7 == 0)
		reset(session, stream, NGHTTP2_REFUSED_STREAM);
	else
		respond(session, stream);
}

static void play_refuses_some(int fd)
{
	serve(fd, refuse_some, 100);
}

static void a_refused_stream_is_stale(void **state)
{
	(void)state;
	start(play_refuses_some, 3, 3);
	script_load(&config, 200, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_STALE] > 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + result.outcomes[SZ_OUTCOME_STALE],
			 result.sent);
	assert_int_equal(result.connections_opened, 1);
}

static void refuse_after_ten(struct session *session, int32_t stream)
{
	if (session->requests > 10)
		reset(session, stream, NGHTTP2_REFUSED_STREAM);
	else
		respond(session, stream);
}

static void play_refuses_after_ten(int fd)
{
	serve(fd, refuse_after_ten, 100);
}

static void a_request_is_retried_once(void **state)
{
	(void)state;
	start(play_refuses_after_ten, 2, 2);
	script_load(&config, 10000, 300, &result);
	assert_true(result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR] > 0);
	assert_int_equal(result.outcomes[SZ_OUTCOME_STALE],
			 result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR]);
	assert_int_equal(result.connections_opened, 1);
}

static void leave_after_ten(struct session *session, int32_t stream)
{
	if (session->requests > 10)
		return; /* as the GOAWAY says */
	respond(session, stream);
	if (session->requests == 10)
		nghttp2_submit_goaway(session->nghttp2, 0, stream, NGHTTP2_NO_ERROR, NULL, 0);
}

static void play_leaves_after_ten(int fd)
{
	serve(fd, leave_after_ten, 100);
}

static void a_goaway_is_no_error(void **state)
{
	(void)state;
	start(play_leaves_after_ten, 6, 3);
	script_load(&config, 300, 20000, &result);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + result.outcomes[SZ_OUTCOME_STALE],
			 result.sent);
	assert_true(result.reconnects >= 25);
	assert_int_equal(result.server_closed, result.reconnects);
	assert_int_equal(result.error_count, 0);
}

/* Errors */

static void reset_some(struct session *session, int32_t stream)
{
	if (session->requests % 5 == 0)
		reset(session, stream, NGHTTP2_INTERNAL_ERROR);
	else
		respond(session, stream);
}

static void play_resets_some(int fd)
{
	serve(fd, reset_some, 100);
}

static void a_reset_stream_is_a_protocol_error(void **state)
{
	(void)state;
	start(play_resets_some, 4, 4);
	script_load(&config, 40, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR] > 0);
	assert_int_equal(script_errors(&result, SZ_PHASE_WAIT, EPROTO),
			 result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR]);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] +
				 result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR],
			 result.sent);
	assert_int_equal(result.connections_opened, 1);
}

static void ignore_some(struct session *session, int32_t stream)
{
	if (session->requests % 20 != 0)
		respond(session, stream);
}

static void play_ignores_some(int fd)
{
	serve(fd, ignore_some, 100);
}

static void a_time_out_keeps_the_connection(void **state)
{
	(void)state;
	start(play_ignores_some, 4, 4);
	config.timeout_ns = 100 * SZ_NS_PER_MS;
	script_load(&config, 200, 20000, &result);
	uint64_t timeouts = result.outcomes[SZ_OUTCOME_TIMEOUT];
	assert_true(timeouts > 0);
	assert_int_equal(script_errors(&result, SZ_PHASE_WAIT, ETIMEDOUT), timeouts);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + timeouts, result.sent);
	assert_true(result.latency[SZ_OUTCOME_TIMEOUT].min_ns >= 100 * SZ_NS_PER_MS);
	assert_int_equal(result.connections_opened, 1);
	assert_true(atomic_load(&also_seen->cancelled) >= timeouts - 1);
}

/* The first connection's first twenty are answered; then they, and all later
 * ones, end with whatever is in flight. */
static void die(struct session *session, int32_t stream)
{
	if (atomic_load(&script_seen->answered) < 20)
		respond(session, stream);
	else
		session->is_over = true;
}

static void play_dies(int fd)
{
	serve(fd, die, 100);
}

static void a_lost_connection_loses_each_of_its_requests(void **state)
{
	(void)state;
	start(play_dies, 5, 5);
	script_load(&config, 10000, 500, &result);
	/* Stale on the connection that had answered; errors on those that had not. */
	assert_in_range(result.outcomes[SZ_OUTCOME_STALE], 1, 5);
	assert_true(result.outcomes[SZ_OUTCOME_SOCKET_ERROR] >= 5);
	assert_int_equal(result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR], 0);
	assert_true(result.reconnects >= 1);
}

static void a_post_is_not_sent_twice(void **state)
{
	(void)state;
	const struct sz_requests_config asked = {.method = "POST"};
	struct sz_requests *requests = NULL;
	char url[64];
	start(play_dies, 5, 5);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", config.url.port);
	assert_int_equal(sz_requests_new(&asked, &requests, NULL), 0);
	assert_int_equal(sz_requests_add(requests, url, NULL), 0);
	config.requests = requests;
	script_load(&config, 10000, 500, &result);
	sz_requests_free(requests);
	assert_in_range(result.outcomes[SZ_OUTCOME_NOT_RETRIED], 1, 5);
	assert_int_equal(result.outcomes[SZ_OUTCOME_STALE], 0);
}

static void be_annoyed(struct session *session, int32_t stream)
{
	if (session->requests <= 10) {
		respond(session, stream);
		return;
	}
	nghttp2_session_terminate_session2(session->nghttp2, stream, NGHTTP2_ENHANCE_YOUR_CALM);
	session->is_over = true;
}

static void play_is_annoyed(int fd)
{
	serve(fd, be_annoyed, 100);
}

static void a_goaway_with_an_error_is_followed_by_a_new_connection(void **state)
{
	(void)state;
	start(play_is_annoyed, 2, 2);
	script_load(&config, 50, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] >= 50);
	assert_true(result.reconnects >= 4);
}

/* Refused by us */

static struct sz_err load_fails(void)
{
	const struct sz_load_span span = {.max_ns = 100 * SZ_NS_PER_MS};
	struct sz_err err = {0};
	struct sz_load *load = NULL;
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	if (sz_load_open(load, &err) == 0)
		assert_int_equal(sz_load_window(load, &span, &result, &err), -1);
	sz_load_free(load);
	return err;
}

static void play_takes_three(int fd)
{
	serve(fd, respond, 3);
}

static void a_server_that_takes_fewer_streams(void **state)
{
	(void)state;
	start(play_takes_three, 5, 5);
	struct sz_err err = load_fails();
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "takes 3 streams"));
	assert_non_null(strstr(err.hint, "--streams 3"));
}

static void lower(struct session *session, uint32_t streams)
{
	const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
	nghttp2_submit_settings(session->nghttp2, 0, &settings, 1);
}

static void lower_to_one(struct session *session, int32_t stream)
{
	if (session->requests == 100)
		lower(session, 1);
	respond(session, stream);
}

static void lower_to_none(struct session *session, int32_t stream)
{
	if (session->requests == 100)
		lower(session, 0);
	respond(session, stream);
}

static void play_lowers_to_one(int fd)
{
	serve(fd, lower_to_one, 100);
}

static void play_lowers_to_none(int fd)
{
	serve(fd, lower_to_none, 100);
}

static void play_takes_one(int fd)
{
	serve(fd, respond, 1);
}

static void play_takes_none(int fd)
{
	serve(fd, respond, 0);
}

static void who_takes_none_is_not_cured_by_the_command_line(void **state)
{
	(void)state;
	start(play_takes_none, 1, 1);
	struct sz_err err = load_fails();
	assert_int_equal(err.code, SZ_MACHINE);
	assert_non_null(strstr(err.message, "takes 0 streams"));
	assert_null(strstr(err.hint, "--streams"));
}

static void one_stream_is_singular(void **state)
{
	(void)state;
	start(play_takes_one, 4, 4);
	struct sz_err err = load_fails();
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, "takes 1 stream of"));
	assert_non_null(strstr(err.hint, "--streams 1"));
}

static void fewer_streams_in_mid_run_are_told(void **state)
{
	(void)state;
	start(play_lowers_to_one, 4, 4);
	script_load(&config, 500, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] >= 500);
	/* What was on its way is refused. */
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK] + result.outcomes[SZ_OUTCOME_STALE],
			 result.sent);
	assert_int_equal(result.streams_lacking, 3);
	assert_false(result.takes_no_streams);
}

static void no_streams_in_mid_run_leave_what_was_measured(void **state)
{
	(void)state;
	start(play_lowers_to_none, 4, 4);
	config.timeout_ns = 200 * SZ_NS_PER_MS;
	script_load(&config, 1000000, 300, &result);
	assert_true(result.outcomes[SZ_OUTCOME_OK] > 50);
	assert_true(result.outcomes[SZ_OUTCOME_TIMEOUT] >= 4);
	assert_true(sz_load_counts_ok(&result));
	assert_int_equal(result.streams_lacking, 4);
	assert_true(result.takes_no_streams);
}

/* HEADERS of :status 200 with END_STREAM and END_HEADERS, once more. */
static void answer_again(struct session *session, int32_t stream)
{
	const unsigned char again[] =
		{0, 0, 1, 1, 5, 0, 0, (unsigned char)(stream >> 8), (unsigned char)stream, 0x88};
	respond(session, stream);
	if (session->requests == 20 && send_all(session))
		session->is_over =
			send(session->fd, again, sizeof(again), MSG_NOSIGNAL) != sizeof(again);
}

static void play_answers_again(int fd)
{
	serve(fd, answer_again, 100);
}

static void who_answers_twice_breaks_the_protocol(void **state)
{
	(void)state;
	start(play_answers_again, 4, 4);
	script_load(&config, 200, 20000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_PROTOCOL_ERROR] > 0);
	assert_true(sz_load_counts_ok(&result));
	assert_int_equal(result.errors[0].errnum, EPROTO);
}

static void play_http1(int fd)
{
	script_say(fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	script_sleep_ms(200);
}

static void play_hang_up(int fd)
{
	(void)fd;
}

static void play_silence(int fd)
{
	(void)fd;
	script_hang();
}

static void a_server_of_http1(void **state)
{
	(void)state;
	static script_play *const plays[] = {play_http1, play_hang_up, play_silence};
	for (size_t i = 0; i < SZ_ARRAY_LEN(plays); i++) {
		start(plays[i], 3, 3);
		config.timeout_ns = 300 * SZ_NS_PER_MS;
		struct sz_err err = load_fails();
		assert_int_equal(err.code, SZ_MACHINE);
		assert_non_null(strstr(err.hint, "leave --http 2 out"));
		if (i == 0)
			assert_non_null(strstr(err.message, "it answers in HTTP/1"));
		stop(NULL);
	}
}

static void http1_has_no_streams(void **state)
{
	(void)state;
	struct sz_err err = {0};
	struct sz_load *load;
	script_config(&config, 9, 5);
	config.streams = 2;
	assert_int_equal(sz_load_new(&config, &load, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(clients_share_connections, stop),
		cmocka_unit_test_teardown(all_of_a_connection_are_in_flight_at_once, stop),
		cmocka_unit_test_teardown(an_open_loop, stop),
		cmocka_unit_test_teardown(users_share_no_connection, stop),
		cmocka_unit_test_teardown(connections_are_replaced_as_asked, stop),
		cmocka_unit_test_teardown(short_connections_serve_everybody, stop),
		cmocka_unit_test_teardown(a_refused_stream_is_stale, stop),
		cmocka_unit_test_teardown(a_request_is_retried_once, stop),
		cmocka_unit_test_teardown(a_goaway_is_no_error, stop),
		cmocka_unit_test_teardown(a_reset_stream_is_a_protocol_error, stop),
		cmocka_unit_test_teardown(a_time_out_keeps_the_connection, stop),
		cmocka_unit_test_teardown(a_lost_connection_loses_each_of_its_requests, stop),
		cmocka_unit_test_teardown(a_post_is_not_sent_twice, stop),
		cmocka_unit_test_teardown(a_goaway_with_an_error_is_followed_by_a_new_connection,
					  stop),
		cmocka_unit_test_teardown(a_server_that_takes_fewer_streams, stop),
		cmocka_unit_test_teardown(who_takes_none_is_not_cured_by_the_command_line, stop),
		cmocka_unit_test_teardown(one_stream_is_singular, stop),
		cmocka_unit_test_teardown(fewer_streams_in_mid_run_are_told, stop),
		cmocka_unit_test_teardown(no_streams_in_mid_run_leave_what_was_measured, stop),
		cmocka_unit_test_teardown(who_answers_twice_breaks_the_protocol, stop),
		cmocka_unit_test_teardown(a_server_of_http1, stop),
		cmocka_unit_test(http1_has_no_streams),
	};
	return cmocka_run_group_tests_name("load/http2", tests, NULL, NULL);
}
