/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell commands around a service: run to their end, or ended; what they
 * leave when they succeed stays, all else goes with them.
 *
 * The test is a subreaper: whatever outlives a hook becomes its child.
 */
#include "service.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/stop.h"
#include "target/inside.h"

#define PATIENCE_MS 10000

static struct sz_os os;

static int run(const char *text, uint64_t timeout_ns, struct sz_buf *excerpt, struct sz_err *err)
{
	const struct sz_binding bindings[] = {{.name = "workers", .value = "3"}};
	const struct sz_hook hook = {.option = "--apply", .text = text, .timeout_ns = timeout_ns};
	return sz_hook_run(&os, &hook, bindings, SZ_ARRAY_LEN(bindings), excerpt, err);
}

static void expect_nothing_left(void)
{
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static void succeeds(void **state)
{
	(void)state;
	struct sz_err err = {0};
	sz_autobuf struct sz_buf excerpt = {0};
	assert_int_equal(run("echo {workers} ${HOME:+x} {{workers}} >&2", 30 * SZ_NS_PER_S,
			     &excerpt, &err),
			 0);
	assert_string_equal(sz_buf_text(&excerpt), "\n  3 x {workers}");
	expect_nothing_left();
}

static void fails(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("echo no such unit; sleep 60 & exit 5", 30 * SZ_NS_PER_S, NULL, &err),
			 -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "the --apply command exited with status 5 after ");
	assert_contains(err.message, "its last output:\n  no such unit");
	assert_contains(err.hint, "run it alone to see why: echo no such unit");
	expect_nothing_left();
}

static void misspelt(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("sytemctl restart app", 30 * SZ_NS_PER_S, NULL, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_contains(err.message, "status 127");
	assert_contains(err.message, "sytemctl");
	assert_int_equal(run("echo {wokers}", 30 * SZ_NS_PER_S, NULL, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_contains(err.message, "--apply: no value is known for {wokers}");
}

static void hangs(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("echo asking; sleep 60 | sleep 60", 100 * MS, NULL, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "still ran after 0.1 s");
	assert_contains(err.message, "\n  asking");
	assert_contains(err.hint, "--hook-timeout");
	expect_nothing_left();
}

static void ignores_sigterm(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("trap '' TERM; setsid sleep 60; sleep 60", 50 * MS, NULL, &err), -1);
	expect_nothing_left();
}

static void prints_ten_megabytes(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("head -c 10000000 /dev/zero | tr '\\0' 'x'; echo; echo the end; exit "
			     "1",
			     30 * SZ_NS_PER_S, NULL, &err),
			 -1);
	assert_contains(err.message, "status 1");
	assert_contains(err.message, "\n  the end");
}

/* A command that starts the service: the daemon stays, and is not ours. */
static void daemon_stays(void **state)
{
	(void)state;
	struct sz_err err = {0};
	pid_t daemon;
	assert_int_equal(run("setsid sleep 60 >/dev/null 2>&1 &", 30 * SZ_NS_PER_S, NULL, &err), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	struct sz_tree tree = {0};
	assert_int_equal(sz_tree_read(&os, getpid(), &tree), 0);
	assert_int_equal(tree.count, 2);
	daemon = tree.procs[1].pid;
	sz_tree_fini(&tree);
	kill(daemon, SIGKILL);
	assert_int_equal(waitpid(daemon, NULL, 0), daemon);
}

static void daemon_holds_output(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(run("sleep 60 &", 30 * SZ_NS_PER_S, NULL, &err), -1);
	assert_int_equal(err.code, SZ_USAGE);
	assert_contains(err.message, "output open");
	assert_contains(err.hint, "2>&1");
	expect_nothing_left();
}

static void stop_requested(void **state)
{
	(void)state;
	struct sz_err err = {0};
	assert_int_equal(sz_stop_init(&err), 0);
	/* Comes while the command runs. */
	char text[64];
	snprintf(text, sizeof(text), "kill -TERM %d; sleep 60", (int)getpid());
	assert_int_equal(run(text, 30 * SZ_NS_PER_S, NULL, &err), -1);
	assert_int_equal(err.code, SZ_INTERRUPTED);
	expect_nothing_left();

	err = (struct sz_err){0};
	assert_int_equal(run("exit 1", 30 * SZ_NS_PER_S, NULL, &err), -1);
	assert_int_equal(err.code, SZ_INTERRUPTED);
	const struct sz_hook undo = {.option = "--undo",
				     .text = "sleep 0.05; exit 6",
				     .timeout_ns = 30 * SZ_NS_PER_S,
				     .despite_stop = true};
	assert_int_equal(sz_hook_run(&os, &undo, NULL, 0, NULL, &err), -1);
	assert_contains(err.message, "the --undo command exited with status 6");
	sz_stop_fini();
}

/* sizeup is killed while its hook runs. */
static void killed_sizeup(void **state)
{
	(void)state;
	int held[2];
	assert_int_equal(pipe(held), 0);
	pid_t sizeup = fork();
	if (sizeup == 0) {
		char text[96];
		/* Through /proc, because a guard closes what it inherits. */
		snprintf(text, sizeof(text), "echo x >/proc/%d/fd/%d; trap '' TERM; sleep 60",
			 (int)getpid(), held[1]);
		run(text, 60 * SZ_NS_PER_S, NULL, NULL);
		_exit(1);
	}
	char byte;
	assert_int_equal(read(held[0], &byte, 1), 1);
	kill(sizeup, SIGKILL);
	for (unsigned waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0)
			break;
		sleep_ms(5);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(held[0]);
	close(held[1]);
}

/* --- the hook of our own services --- */

static void reset_runs_before_the_start(void **state)
{
	(void)state;
	struct service service;
	struct sz_ready ready;
	char dir[] = "/tmp/sizeup-reset-XXXXXX", reset[128], mark[64];
	assert_non_null(mkdtemp(dir));
	snprintf(mark, sizeof(mark), "%s/mark", dir);
	snprintf(reset, sizeof(reset), "echo {port} >%s", mark);
	service_init(&service, PYTHON(PYTHON_SERVER("import os\nmark = os.environ['MARK']\n"
						    "ok = open(mark).read() == '{port}\\n'",
						    "", "(b'200' if ok else b'500')")));
	char env[96];
	snprintf(env, sizeof(env), "MARK=%s", mark);
	service_set_env(&service, (const char *const[]){env, NULL});
	service.config.reset = reset;
	service.config.hook_timeout_ns = 30 * SZ_NS_PER_S;
	service_start_ok(&service);
	service_ready_ok(&service, &ready);
	sz_target_stop(service.target, NULL);
	unlink(mark);
	rmdir(dir);
}

static void failed_reset_starts_nothing(void **state)
{
	(void)state;
	struct service service;
	struct sz_err err = {0};
	service_init(&service, SH("exec sleep 60"));
	service.config.reset = "echo cannot drop it; exit 2";
	service.config.hook_timeout_ns = 30 * SZ_NS_PER_S;
	assert_int_equal(service_start(&service, &err), -1);
	assert_contains(err.message, "the --reset command exited with status 2");
	expect_nothing_left();
}

int main(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (sz_os_init(&os, NULL, NULL) < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(succeeds),
		cmocka_unit_test(fails),
		cmocka_unit_test(misspelt),
		cmocka_unit_test(hangs),
		cmocka_unit_test(ignores_sigterm),
		cmocka_unit_test(prints_ten_megabytes),
		cmocka_unit_test(daemon_stays),
		cmocka_unit_test(daemon_holds_output),
		cmocka_unit_test(stop_requested),
		cmocka_unit_test(killed_sizeup),
		cmocka_unit_test(reset_runs_before_the_start),
		cmocka_unit_test(failed_reset_starts_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
