/* SPDX-License-Identifier: Apache-2.0
 *
 * Log-ins of clients, against a server that gives each a session and refuses who
 * has none.
 */
#include "script.h"

#include <stdlib.h>

#define BODY "user=a&password=b"
#define LOGIN "POST /login?from=x\nContent-Type: application/x-www-form-urlencoded\n\n" BODY "\n"

static struct sz_load_config config;
static struct sz_load_result result;
static struct sz_requests *requests, *setup;
static struct sz_err err;

static struct also_seen {
	_Atomic unsigned logins;
	_Atomic unsigned bare; /* requests without a session */
} * also_seen;

/* What the server says to a log-in, and whether it sets its number as id. */
static const char *reply_status, *reply_rest;
static bool sets_id;
static bool hangs_up; /* instead, but for the first two */

/* A request and its body; false at the end of the connection. */
static bool read_request(int fd, char text[8192])
{
	size_t len = 0, whole = SIZE_MAX;
	while (len < whole) {
		ssize_t n = recv(fd, text + len, 8191 - len, 0);
		if (n <= 0)
			return false;
		len += (size_t)n;
		text[len] = '\0';
		const char *end = strstr(text, "\r\n\r\n");
		if (end)
			whole = (size_t)(end + 4 - text) +
				(strncmp(text, "POST", 4) == 0 ? strlen(BODY) : 0);
	}
	return len == whole;
}

static void play_sessions(int fd)
{
	char text[8192], answer[8192];
	while (read_request(fd, text)) {
		bool is_login = strncmp(text, "POST /login", 11) == 0;
		if (!is_login) {
			bool has_session = strstr(text, "\r\nCookie: theme=dark; id=");
			atomic_fetch_add(&also_seen->bare, !has_session);
			script_answer(fd, HELLO);
			continue;
		}
		unsigned number = atomic_fetch_add(&also_seen->logins, 1);
		if (hangs_up && number >= 2)
			return;
		bool is_right = strstr(text, "\r\n\r\n" BODY) && !strstr(text, "Cookie:");
		char id[48] = "";
		if (sets_id)
			snprintf(id, sizeof(id), "Set-Cookie: id=%u; Path=/\r\n", number);
		snprintf(answer, sizeof(answer), "HTTP/1.1 %s\r\n%s%s",
			 is_right ? reply_status : "400 Bad", id, reply_rest);
		script_answer(fd, answer);
	}
}

static int begin(void **state)
{
	(void)state;
	also_seen = mmap(NULL, sizeof(*also_seen), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	reply_status = "302 Found";
	reply_rest = "Location: /\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n";
	sets_id = true;
	hangs_up = false;
	err = (struct sz_err){0};
	return also_seen == MAP_FAILED;
}

static int end(void **state)
{
	script_stop(state);
	munmap(also_seen, sizeof(*also_seen));
	sz_requests_free(requests);
	sz_requests_free(setup);
	requests = setup = NULL;
	return 0;
}

static void start(unsigned clients)
{
	char base[64];
	char *headers[] = {(char[]){"Cookie: theme=dark"}, (char[]){"Accept: */*"}, NULL};
	script_start(play_sessions, &config, clients);
	snprintf(base, sizeof(base), "http://127.0.0.1:%u", config.url.port);
	const struct sz_requests_config plain = {.base = base, .headers = headers};
	const struct sz_requests_config bare = {.base = base};
	assert_int_equal(sz_requests_new(&plain, &requests, &err), 0);
	assert_int_equal(sz_requests_add(requests, "/", &err), 0);
	assert_int_equal(sz_requests_new(&bare, &setup, &err), 0);
	assert_int_equal(sz_requests_read_message(setup, "login", LOGIN, strlen(LOGIN), &err), 0);
	config.requests = requests;
	config.setup = setup;
}

static void check_sessions(unsigned clients)
{
	assert_int_equal(also_seen->logins, clients);
	assert_int_equal(also_seen->bare, 0);
	assert_int_equal(result.cookies, 2 * clients);
	assert_int_equal(result.outcomes[SZ_OUTCOME_OK], result.sent);
	assert_true(result.uncounted >= clients);
}

/* However connections are opened, and however often. */
static void each_client_logs_in_once(void **state)
{
	static const struct {
		enum sz_connect_mode connect;
		enum sz_arrivals arrivals;
		uint64_t reconnect_every;
	} cases[] = {
		{SZ_CONNECT_PACED, SZ_ARRIVALS_CLOSED, 0},
		{SZ_CONNECT_BURST, SZ_ARRIVALS_CLOSED, 1},
		{SZ_CONNECT_PACED, SZ_ARRIVALS_OPEN, 2},
		{SZ_CONNECT_BURST, SZ_ARRIVALS_OPEN, 0},
		{SZ_CONNECT_PACED, SZ_ARRIVALS_BURST, 1},
		{SZ_CONNECT_BURST, SZ_ARRIVALS_BURST, 0},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		start(7);
		config.connect = cases[i].connect;
		config.arrivals = cases[i].arrivals;
		config.reconnect_every = cases[i].reconnect_every;
		config.rate = (struct sz_rate){.leg = {{200, 200, SZ_NS_PER_S}}, .count = 1};
		struct sz_load *load = script_open(&config);
		const struct sz_load_span span = {.max_ns = 300 * SZ_NS_PER_MS,
						  .min_ns = 100 * SZ_NS_PER_MS,
						  .rounds = 3};
		script_window(load, &span, &result);
		check_sessions(7);
		script_window(load, &span, &result);
		assert_int_equal(also_seen->logins, 7);
		assert_int_equal(also_seen->bare, 0);
		sz_load_free(load);
		end(state);
		begin(state);
	}
}

static void assert_no_load(enum sz_code code, const char *message, const char *hint)
{
	struct sz_load *load = NULL;
	assert_int_equal(sz_load_new(&config, &load, &err), 0);
	assert_int_equal(sz_load_open(load, &err), -1);
	sz_load_free(load);
	assert_int_equal(err.code, code);
	if (!strstr(err.message, message) || !strstr(err.hint, hint))
		fail_msg("'%s' (%s) instead of '%s' (%s)", err.message, err.hint, message, hint);
	/* Its query is nobody's business, nor is the body. */
	assert_non_null(strstr(err.message, "--setup: POST /login: "));
	assert_null(strstr(err.message, "password"));
}

static void log_ins_that_are_refused(void **state)
{
	reply_status = "401 Unauthorized";
	reply_rest = "Content-Length: 8\r\n\r\nwrong\n\x1b!";
	start(3);
	assert_no_load(SZ_USAGE, "answered with 401: \"wrong\\x0a\\x1b!\"", "Content-Type");
	end(state);
	begin(state);
	reply_status = "503 Busy";
	reply_rest = "Content-Length: 0\r\n\r\n";
	start(3);
	assert_no_load(SZ_MACHINE, "answered with 503: \"\"", "log");
}

static void a_log_in_that_is_not_answered(void **state)
{
	(void)state;
	hangs_up = true;
	start(3);
	assert_no_load(SZ_MACHINE, "did not answer", "log");
}

static void too_many_cookies(void **state)
{
	static char many[4096];
	(void)state;
	size_t len = 0;
	for (unsigned i = 0; i < 17; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "Set-Cookie: c%u=1\r\n", i);
	snprintf(many + len, sizeof(many) - len, "Content-Length: 0\r\n\r\n");
	reply_rest = many;
	start(1);
	assert_no_load(SZ_MACHINE, "sets more than 16 cookies", "fewer");
}

/* Then the request is as without a log-in. */
static void no_cookies(void **state)
{
	(void)state;
	reply_rest = "Content-Length: 0\r\n\r\n";
	sets_id = false;
	start(2);
	script_load(&config, 10, 5000, &result);
	assert_int_equal(also_seen->logins, 2);
	assert_int_equal(result.cookies, 0);
	assert_int_equal(also_seen->bare, result.sent + result.uncounted - 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_client_logs_in_once),
		TEST(log_ins_that_are_refused),
		TEST(a_log_in_that_is_not_answered),
		TEST(too_many_cookies),
		TEST(no_cookies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
