/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers with a good status and another body than the expected one.
 */
#include "script.h"

static struct sz_load_config config;
static struct sz_load_result result;

/* A page in two pieces that part the expected text, and an error page. */
struct page {
	const char *first, *rest, *other_rest;
	bool closes;
};

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static const struct page pages[] = {
	{OK_HEAD "Content-Length: 11\r\n\r\nhello wo", "rld", "rms", false},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n8\r\nhello wo\r\n", "3\r\nrld\r\n0\r\n\r\n",
	 "3\r\nrms\r\n0\r\n\r\n", false},
	{OK_HEAD "Connection: close\r\n\r\nhello wo", "rld", "rms", true},
};

static const struct page *page;

/* The error page comes every other time. */
static void play_page(int fd)
{
	while (script_read(fd)) {
		bool other = atomic_load(&script_seen->requests) % 2;
		script_say(fd, page->first);
		script_sleep_ms(1);
		script_answer(fd, other ? page->other_rest : page->rest);
		if (page->closes)
			return;
	}
}

static void another_body_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < SZ_ARRAY_LEN(pages); i++) {
		page = &pages[i];
		script_start(play_page, &config, 1);
		assert_int_equal(sz_match_init(&config.expected, "world", NULL), 0);
		script_load(&config, 10, 5000, &result);
		uint64_t ok = result.outcomes[SZ_OUTCOME_OK];
		uint64_t others = result.outcomes[SZ_OUTCOME_HTTP_ERROR];
		assert_true(ok >= 10);
		assert_in_range(others, ok - 1, ok + 1);
		assert_int_equal(result.sent, ok + others);
		assert_int_equal(result.unexpected, others);
		assert_int_equal(result.error_status, 200);
		assert_int_equal(result.body_bytes, 11 * ok);
		script_stop(NULL);
	}
}

static void without_expectation_any_body_is_good(void **state)
{
	(void)state;
	page = &pages[0];
	script_start(play_page, &config, 1);
	script_load(&config, 10, 5000, &result);
	assert_int_equal(result.sent, result.outcomes[SZ_OUTCOME_OK]);
	assert_int_equal(result.unexpected, 0);
	assert_int_equal(result.error_status, 0);
}

static void play_error(int fd)
{
	while (script_read(fd))
		script_answer(fd, atomic_load(&script_seen->requests) % 2
					  ? "HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n"
					  : HELLO);
}

/* An error status needs no text to be an error. */
static void error_statuses_are_apart(void **state)
{
	(void)state;
	script_start(play_error, &config, 1);
	assert_int_equal(sz_match_init(&config.expected, "hello", NULL), 0);
	script_load(&config, 10, 5000, &result);
	assert_true(result.outcomes[SZ_OUTCOME_HTTP_ERROR] > 0);
	assert_int_equal(result.unexpected, 0);
	assert_int_equal(result.error_status, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(another_body_is_an_error, script_stop),
		cmocka_unit_test_teardown(without_expectation_any_body_is_good, script_stop),
		cmocka_unit_test_teardown(error_statuses_are_apart, script_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
