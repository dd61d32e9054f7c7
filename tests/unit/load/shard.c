/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of a load is whose, and when it begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "load/shard.h"

/* An environment of pairs. */
static const char *const *variables;

static char *environment(const char *name)
{
	for (const char *const *pair = variables; *pair; pair += 2) {
		if (strcmp(pair[0], name) == 0)
			return (char *)(uintptr_t)pair[1];
	}
	return NULL;
}

static void is(const char *text, unsigned number, unsigned of)
{
	struct sz_shard shard = {0};
	struct sz_err err = {0};
	assert_int_equal(sz_shard_parse(text, environment, &shard, &err), 0);
	assert_int_equal(shard.number, number);
	assert_int_equal(shard.of, of);
}

static void is_refused(const char *text, const char *says)
{
	struct sz_shard shard = {.number = 7, .of = 9};
	struct sz_err err = {0};
	assert_int_equal(sz_shard_parse(text, environment, &shard, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.message, says));
	assert_true(err.hint[0] != '\0');
	assert_int_equal(shard.number, 7);
}

static void shards_by_hand(void **state)
{
	(void)state;
	is("1/1", 1, 1);
	is("2/5", 2, 5);
	is("1024/1024", 1024, 1024);
	static const char *const bad[] = {"",
					  "0/3",
					  "4/3",
					  "1",
					  "1/",
					  "/3",
					  "1/0",
					  "-1/3",
					  "1/1025",
					  "a/b",
					  "1/3/3",
					  " 1/3",
					  "1/3 ",
					  "1k/2",
					  "0x1/3",
					  "1.0/3",
					  "99999999999999999999/3"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_refused(bad[i], "is no shard");
}

static void launchers_say_which(void **state)
{
	(void)state;
	static const char *const mpi[] = {"OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "3",
					  /* The batch script's own. */
					  "SLURM_PROCID", "0", "SLURM_NTASKS", "8", NULL};
	static const char *const pmi[] = {"PMI_RANK", "0", "PMI_SIZE", "2", NULL};
	static const char *const slurm[] = {"SLURM_PROCID", "4", "SLURM_NTASKS", "5", NULL};
	static const char *const kubernetes[] = {"JOB_COMPLETION_INDEX", "2", "SIZEUP_SHARDS", "4",
						 NULL};
	variables = mpi;
	is("env", 2, 3);
	variables = pmi;
	is("env", 1, 2);
	variables = slurm;
	is("env", 5, 5);
	variables = kubernetes;
	is("env", 3, 4);
}

static void half_said_is_refused(void **state)
{
	(void)state;
	static const char *const nothing[] = {NULL};
	static const char *const index_alone[] = {"JOB_COMPLETION_INDEX", "2", NULL};
	static const char *const size_alone[] = {"SLURM_NTASKS", "2", NULL};
	static const char *const beyond[] = {"PMI_RANK", "2", "PMI_SIZE", "2", NULL};
	static const char *const words[] = {"PMI_RANK", "", "PMI_SIZE", "two", NULL};
	/* A shell of salloc knows the size, and mpirun below it both. */
	static const char *const whole_later[] =
		{"PMI_SIZE", "9", "SLURM_PROCID", "0", "SLURM_NTASKS", "2", NULL};
	variables = nothing;
	is_refused("env", "names no shard");
	variables = index_alone;
	is_refused("env", "JOB_COMPLETION_INDEX is set (Kubernetes), and SIZEUP_SHARDS is not");
	variables = size_alone;
	is_refused("env", "SLURM_NTASKS is set (Slurm), and SLURM_PROCID is not");
	variables = beyond;
	is_refused("env", "PMI_RANK=2 and PMI_SIZE=2");
	variables = words;
	is_refused("env", "PMI_SIZE=two");
	variables = whole_later;
	is("env", 1, 2);
}

static void parts_add_up(void **state)
{
	(void)state;
	for (unsigned total = 0; total <= 130; total++) {
		for (unsigned of = 1; of <= 40; of++) {
			unsigned sum = 0, least = UINT32_MAX, most = 0;
			for (unsigned number = 1; number <= of; number++) {
				struct sz_shard shard = {.number = number, .of = of};
				unsigned part = sz_shard_part(&shard, total);
				sum += part;
				least = part < least ? part : least;
				most = part > most ? part : most;
			}
			assert_int_equal(sum, total);
			assert_true(most - least <= 1);
		}
	}
}

/* The n parts of a schedule, one call after the other, are the schedule. */
static void assert_schedule_is_shared(struct sz_load_config *whole, unsigned of)
{
	struct sz_load_config part[7];
	struct sz_schedule all, each[7];
	struct sz_err err;
	for (unsigned i = 0; i < of; i++) {
		struct sz_shard shard = {.number = i + 1, .of = of};
		assert_int_equal(sz_shard_config(&shard, whole, &part[i], &err), 0);
		sz_schedule_init(&each[i], &part[i].rate);
	}
	sz_schedule_init(&all, &whole->rate);
	for (unsigned call = 0; call < 5000; call++)
		assert_true(sz_schedule_next_ns(&all) == sz_schedule_next_ns(&each[call % of]));
}

static void all_have_one_schedule(void **state)
{
	(void)state;
	static const char *const rates[] = {"500", "50..2000", "100,333.3,1000"};
	for (size_t i = 0; i < 3; i++) {
		for (int poisson = 0; poisson <= 1; poisson++) {
			struct sz_load_config whole = {.clients = 50, .arrivals = SZ_ARRIVALS_OPEN};
			struct sz_err err;
			whole.rate.poisson = poisson;
			whole.rate.seed = 42;
			assert_int_equal(sz_rate_parse(rates[i], 3 * SZ_NS_PER_S, &whole.rate,
						       &err),
					 0);
			for (unsigned of = 1; of <= 7; of++)
				assert_schedule_is_shared(&whole, of);
		}
	}
}

static void a_part_has_its_rate(void **state)
{
	(void)state;
	struct sz_load_config whole = {.clients = 9, .arrivals = SZ_ARRIVALS_OPEN}, part;
	struct sz_shard shard = {.number = 2, .of = 4};
	struct sz_err err;
	assert_int_equal(sz_rate_parse("100..300", SZ_NS_PER_S, &whole.rate, &err), 0);
	assert_int_equal(sz_shard_config(&shard, &whole, &part, &err), 0);
	assert_true(sz_rate_at_rps(&part.rate, SZ_NS_PER_S / 2) == 50);
	assert_true(sz_rate_at_rps(&part.rate, 2 * SZ_NS_PER_S) == 75);
	assert_int_equal(part.clients, 2);
}

static void orders_differ(void **state)
{
	(void)state;
	struct sz_load_config whole = {.clients = 9, .seed = 1}, part;
	struct sz_err err;
	uint64_t seeds[3];
	for (unsigned i = 0; i < 3; i++) {
		struct sz_shard shard = {.number = i + 1, .of = 3};
		assert_int_equal(sz_shard_config(&shard, &whole, &part, &err), 0);
		seeds[i] = part.seed;
		assert_true(part.seed != whole.seed && (i == 0 || seeds[i] != seeds[i - 1]));
	}
	assert_int_equal(sz_shard_config(&SZ_SHARD_WHOLE, &whole, &part, &err), 0);
	assert_memory_equal(&part, &whole, sizeof(part));
}

static void users_are_dealt_out(void **state)
{
	(void)state;
	struct sz_load_config part, whole = {.clients = 5 * 14,
					     .users = 5,
					     .arrivals = SZ_ARRIVALS_BURST,
					     .every_ns = SZ_NS_PER_S};
	struct sz_err err = {0};
	const struct sz_shard first = {.number = 1, .of = 3}, last = {.number = 3, .of = 3};
	assert_int_equal(sz_shard_config(&first, &whole, &part, &err), 0);
	assert_int_equal(part.users, 2);
	assert_int_equal(part.clients, 28);
	assert_int_equal(sz_shard_config(&last, &whole, &part, &err), 0);
	assert_int_equal(part.users, 1);
	whole.every_ns = 0;
	assert_int_equal(sz_shard_config(&last, &whole, &part, &err), -1);
	assert_non_null(strstr(err.hint, "--every"));
	assert_int_equal(part.users, 1);
	whole.users = 2;
	assert_int_equal(sz_shard_config(&last, &whole, &part, &err), -1);
	assert_non_null(strstr(err.message, "2 users cannot be shared by 3 parts"));
}

static void too_few_clients(void **state)
{
	(void)state;
	struct sz_load_config whole = {.clients = 2}, part;
	const struct sz_shard shard = {.number = 1, .of = 3};
	struct sz_err err = {0};
	assert_int_equal(sz_shard_config(&shard, &whole, &part, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_non_null(strstr(err.hint, "--clients 3"));
}

static void starts(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t unix_ns;
	} good[] = {
		{"1767225600", INT64_C(1767225600000000000)},
		{"1767225600.25", INT64_C(1767225600250000000)},
		{"2026-01-01T00:00:00Z", INT64_C(1767225600000000000)},
		{"2026-01-01T01:00:00.5+01:00", INT64_C(1767225600500000000)},
	};
	/* The fourth is in milliseconds. */
	static const char *const bad[] = {"",
					  "soon",
					  "-5",
					  "1767225600000",
					  "1767225600.",
					  "2026-01-01",
					  "2026-01-01T00:00:00",
					  "1.5.5",
					  "9999999999",
					  "12:00"};
	int64_t unix_ns;
	struct sz_err err = {0};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(sz_start_parse(good[i].text, &unix_ns, &err), 0);
		assert_true(unix_ns == good[i].unix_ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(sz_start_parse(bad[i], &unix_ns, &err), -1);
		assert_int_equal(err.code, SZ_USAGE);
	}
}

static void starts_are_ahead(void **state)
{
	(void)state;
	struct sz_wall wall = sz_wall_read();
	struct sz_err err = {0};
	int64_t now_ns = (int64_t)sz_now_ns() + wall.ahead_ns;
	uint64_t start_ns = 0;
	assert_int_equal(sz_start_on_clock(now_ns + 60000000000, &wall, &start_ns, &err), 0);
	assert_true(start_ns == (uint64_t)(now_ns + 60000000000 - wall.ahead_ns));
	assert_int_equal(sz_start_on_clock(now_ns - 1, &wall, &start_ns, &err), -1);
	assert_non_null(strstr(err.message, "ago"));
	assert_int_equal(sz_start_on_clock(0, &wall, &start_ns, &err), -1);
	assert_int_equal(sz_start_on_clock(now_ns + INT64_C(90000000000000), &wall, &start_ns,
					   &err),
			 -1);
	assert_non_null(strstr(err.message, "ahead"));
}

static void a_moved_clock_is_an_error(void **state)
{
	(void)state;
	struct sz_wall wall = {.ahead_ns = 1000, .error_ns = 10};
	const struct sz_wall back = {.ahead_ns = 400, .error_ns = 30};
	const struct sz_wall unkept = {.ahead_ns = 400, .error_ns = -1};
	sz_wall_look_again(&wall, &back);
	assert_int_equal(wall.ahead_ns, 1000);
	assert_int_equal(wall.error_ns, 630);
	sz_wall_look_again(&wall, &unkept);
	assert_int_equal(wall.error_ns, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_by_hand),
		cmocka_unit_test(launchers_say_which),
		cmocka_unit_test(half_said_is_refused),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(all_have_one_schedule),
		cmocka_unit_test(a_part_has_its_rate),
		cmocka_unit_test(orders_differ),
		cmocka_unit_test(users_are_dealt_out),
		cmocka_unit_test(too_few_clients),
		cmocka_unit_test(starts),
		cmocka_unit_test(starts_are_ahead),
		cmocka_unit_test(a_moved_clock_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
