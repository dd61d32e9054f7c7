/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults by name, and the plays they write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/inside.h"

static void arguments(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t arg[2];
	} cases[] = {
		{"never-answer", {0}},
		{"truncate", {500}},
		{"truncate=0", {0}},
		{"truncate=999", {999}},
		{"large-body=64KiB", {65536}},
		{"close-after=1k", {1000}},
		{"stall=1200ms", {1200 * SZ_NS_PER_MS}},
		{"freeze", {SZ_NS_PER_S, 5 * SZ_NS_PER_S}},
		{"freeze=200ms/2s", {200 * SZ_NS_PER_MS, 2 * SZ_NS_PER_S}},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_fault_choice choice = {0};
		struct sz_err err = {0};
		if (sz_fault_parse(cases[i].text, &choice, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.message);
		assert_int_equal(strncmp(cases[i].text, choice.fault->name,
					 strlen(choice.fault->name)),
				 0);
		assert_memory_equal(choice.arg, cases[i].arg, sizeof(choice.arg));
	}
}

static void refusals(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *message;
		const char *hint;
	} cases[] = {
		{"", "there is no fault ''", "--fault list"},
		{"truncade", "there is no fault 'truncade'", "did you mean --fault truncate?"},
		{"trunkate=5", "there is no fault 'trunkate'", "did you mean --fault truncate?"},
		{"tru", "there is no fault 'tru'", "--fault list"},
		{"never-answer=1", "takes no argument", "write --fault never-answer"},
		{"never-answer=", "takes no argument", "write --fault never-answer"},
		{"truncate=", "'' is not a size", ""},
		{"truncate=-1", "'-1' is not a size", ""},
		{"truncate=1000", "1000 is out of range", "from 0 to 999"},
		{"status=399", "399 is out of range", "from 400 to 599"},
		{"close-after=0", "0 is out of range", "from 1 to"},
		{"stall=0s", "0s is out of range", "above 0"},
		{"stall=2h", "2h is out of range", "up to 1h"},
		{"freeze=1s", "'1s' is not two durations", "--fault freeze=1s/5s"},
		{"freeze=1s/", "'' is not a duration", ""},
		{"freeze=1s/2s/3s", "'2s/3s' is not a duration", ""},
	};
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		struct sz_fault_choice choice = {.arg = {7, 8}};
		struct sz_err err = {0};
		assert_int_equal(sz_fault_parse(cases[i].text, &choice, &err), -1);
		assert_int_equal(err.code, SZ_USAGE);
		if (!strstr(err.message, cases[i].message) || !strstr(err.hint, cases[i].hint))
			fail_msg("%s: %s / %s", cases[i].text, err.message, err.hint);
		assert_null(choice.fault);
		assert_int_equal(choice.arg[0], 7);
	}
}

/* Every row can be chosen as it is listed, and strikes with something. */
static void rows(void **state)
{
	(void)state;
	sz_autobuf struct sz_buf list = {0};
	sz_fault_list(&list);
	for (const struct sz_fault *fault = sz_faults; fault->name; fault++) {
		struct sz_fault_choice choice;
		char line[64];
		snprintf(line, sizeof(line), "\n%s%s", fault->name, fault->fallback ? "=" : " ");
		assert_non_null(strstr(sz_buf_text(&list), line));
		assert_int_equal(sz_fault_parse(fault->name, &choice, NULL), 0);
		assert_ptr_equal(choice.fault, fault);
		assert_int_equal(fault->arg != SZ_FAULT_NONE, fault->fallback != NULL);
		assert_non_null(fault->seen);
		bool by_hook = fault->accepted || fault->never_accepts;
		assert_int_equal(by_hook, fault->strikes == SZ_STRIKES_SERVER_ALWAYS);

		struct sz_play play = {0};
		const struct sz_fault_ask ask = {.arg = choice.arg, .number = 1};
		sz_fault_play(fault, &play, &ask);
		assert_int_equal(play.count > 0, !by_hook);
		assert_false(sz_play_failed(&play));
		sz_play_fini(&play);
	}
}

/* What a play says from its start, as far as it fits; waits are skipped, and
 * repetitions happen. */
static size_t said(const struct sz_play *play, char *text, size_t size)
{
	size_t len = 0;
	uint64_t repeated = 0;
	for (size_t i = 0; i < play->count && len < size; i++) {
		const struct sz_step *step = &play->steps[i];
		if (step->kind == SZ_STEP_REPEAT && repeated++ < step->value)
			i = step->from - 1;
		if (step->kind != SZ_STEP_SAY)
			continue;
		size_t part = step->value < size - len ? step->value : size - len;
		memcpy(text + len, play->bytes.data + step->from, part);
		len += part;
	}
	return len;
}

static size_t play_says(const char *fault, struct sz_fault_ask ask, char *text, size_t size)
{
	struct sz_fault_choice choice;
	struct sz_play play = {0};
	assert_int_equal(sz_fault_parse(fault, &choice, NULL), 0);
	ask.arg = choice.arg;
	sz_fault_play(choice.fault, &play, &ask);
	size_t len = said(&play, text, size);
	sz_play_fini(&play);
	return len;
}

static void sizes(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		size_t len;
	} cases[] = {
		{"large-head=1024", 1024 + 3},
		{"large-head=60KiB", 60 * 1024 + 3},
		{"large-head=61441", 61441 + 3},
		{"large-body=0", 38},
		{"large-body=1", 39},
		{"large-body=16383", 42 + 16383},
		{"large-body=16KiB", 42 + 16384},
		{"large-body=40000", 42 + 40000},
		{"interim-storm=1", 61 + 41},
		{"interim-storm=100", 6100 + 41},
		{"endless-head", 100000},
		{"endless-body", 100000},
	};
	char text[100000];
	for (size_t i = 0; i < SZ_ARRAY_LEN(cases); i++) {
		size_t len = play_says(cases[i].fault, (struct sz_fault_ask){.number = 1}, text,
				       sizeof(text));
		if (len != cases[i].len)
			fail_msg("%s: %zu bytes", cases[i].fault, len);
	}
}

/* Whatever the cut, both pieces are there, and every cut comes. */
static void split_cuts_everywhere(void **state)
{
	(void)state;
	char whole[200], text[200];
	struct sz_fault_choice choice;
	size_t len = play_says("split", (struct sz_fault_ask){.number = 1}, whole, sizeof(whole));
	bool cut_at[200] = {false};
	assert_int_equal(sz_fault_parse("split", &choice, NULL), 0);
	for (uint64_t number = 1; number < len; number++) {
		struct sz_play play = {0};
		const struct sz_fault_ask ask = {.arg = choice.arg, .number = number};
		sz_fault_play(choice.fault, &play, &ask);
		assert_int_equal(play.count, 3);
		assert_int_equal(said(&play, text, sizeof(text)), len);
		assert_memory_equal(text, whole, len);
		cut_at[play.steps[0].value] = true;
		sz_play_fini(&play);
	}
	for (size_t cut = 1; cut < len; cut++)
		assert_true(cut_at[cut]);
}

static void head_has_no_body(void **state)
{
	(void)state;
	char text[200];
	const struct sz_fault_ask head = {.is_head = true, .number = 1};
	size_t len = play_says("late", head, text, sizeof(text));
	assert_int_equal(len, 38);
	assert_memory_equal(text + len - 4, "\r\n\r\n", 4);
	assert_int_equal(play_says("head-body", head, text, sizeof(text)), 41);
	assert_int_equal(play_says("large-body", head, text, sizeof(text)), 44);
}

static void latency_steps(void **state)
{
	(void)state;
	struct sz_fault_choice choice;
	assert_int_equal(sz_fault_parse("latency-steps=10ms/1s", &choice, NULL), 0);
	for (uint64_t s = 0; s < 4; s++) {
		struct sz_play play = {0};
		const struct sz_fault_ask ask = {.arg = choice.arg,
						 .elapsed_ns = s * SZ_NS_PER_S + 1};
		sz_fault_play(choice.fault, &play, &ask);
		assert_int_equal(play.steps[0].kind, s % 2 ? SZ_STEP_WAIT : SZ_STEP_SAY);
		sz_play_fini(&play);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(refusals),
		cmocka_unit_test(rows),
		cmocka_unit_test(sizes),
		cmocka_unit_test(split_cuts_everywhere),
		cmocka_unit_test(head_has_no_body),
		cmocka_unit_test(latency_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
