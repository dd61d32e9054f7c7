/* SPDX-License-Identifier: Apache-2.0
 *
 * Services that are not ours: changed, found again, waited for, left alone.
 */
#include "standin.h"

#include <errno.h>

#include "os/sock.h"
#include "target/inside.h"

/* The processes of the target that hold the port. */
static unsigned count_workers(const struct standin *standin)
{
	struct sz_tree tree = {0};
	struct sz_port_view view;
	unsigned workers = 0;
	assert_int_equal(sz_target_tree(standin->target, &tree), 0);
	assert_int_equal(sz_tree_classify(&standin->os, &tree, standin->port, &view), 0);
	for (size_t i = 0; i < tree.count; i++)
		workers += tree.procs[i].role == SZ_ROLE_WORKER && tree.procs[i].state != 'Z';
	sz_tree_fini(&tree);
	return workers;
}

static void scaled_in_place(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	struct sz_stopped stopped = {.exit_ns = 1};
	standin_start(&standin, "scale", "1");
	static const char *const settings[] = {"3", "1", "1"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(settings); i++) {
		standin_apply_ok(&standin, settings[i], &ready);
		assert_int_equal(ready.workers, settings[i][0] - '0');
		assert_int_equal(ready.old_workers, 0);
		assert_true(ready.ready_ns > 0 && ready.ready_ns <= ready.settled_ns);
		assert_int_equal(count_workers(&standin), settings[i][0] - '0');
		assert_int_equal(sz_target_pid(standin.target), standin.pid);
		assert_int_equal(sz_target_guard_pid(standin.target), 0);
		assert_true(sz_target_alive(standin.target, NULL));
		sz_target_stop(standin.target, &stopped);
		assert_int_equal(stopped.exit_ns, 0);
	}
	assert_true(standin_lives(&standin));
	standin_end(&standin);
}

static void reloaded_gracefully(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	standin_start(&standin, "replace", "2");
	standin_apply_ok(&standin, "3", &ready);
	assert_int_equal(ready.workers, 3);
	/* The old ones went after 300 ms, and were waited for. */
	assert_true(ready.ready_ns >= 300 * MS);
	assert_int_equal(count_workers(&standin), 3);
	sz_target_stop(standin.target, NULL);
	standin_end(&standin);
}

static void old_workers_that_stay_are_told(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	standin_start(&standin, "linger", "2");
	standin.config.ready_timeout_ns = 300 * MS;
	standin_apply_ok(&standin, "3", &ready);
	assert_int_equal(ready.workers, 5);
	assert_int_equal(ready.old_workers, 2);
	sz_target_stop(standin.target, NULL);
	standin_end(&standin);
}

static void nothing_changed(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready = {.ready_ns = 42};
	struct sz_err err = {0};
	standin_start(&standin, "ignore", "2");
	standin.config.ready_timeout_ns = 300 * MS;
	assert_int_equal(standin_apply(&standin, "3", &err), 0);
	assert_int_equal(sz_target_wait_ready(standin.target, &ready, &err), -1);
	assert_int_equal(ready.ready_ns, 42);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "changed nothing");
	assert_contains(err.message, "the same 2 worker");
	assert_contains(err.hint, "{workers}");
	sz_target_stop(standin.target, NULL);
	standin_end(&standin);
}

/* A restart below another pid, with a number that was not asked for. */
static void restarted_with_another_count(void **state)
{
	(void)state;
	struct standin standin, successor;
	struct sz_ready ready;
	struct sz_err err = {0};
	standin_start(&standin, "scale", "1");
	standin.config.apply = "true {workers}";
	assert_int_equal(standin_apply(&standin, "3", &err), 0);
	kill(-standin.pid, SIGKILL);
	waitpid(standin.pid, NULL, 0);
	successor = standin;
	standin_write(&successor, "workers", "2");
	char port[16];
	snprintf(port, sizeof(port), "%u", standin.port);
	while (!port_is_free(standin.port))
		sleep_ms(5);
	standin_spawn(&successor,
		      (const char *const[]){"/usr/bin/python3", "-IS", "-c", standin_script, port,
					    standin.dir, "scale", NULL});
	assert_int_equal(sz_target_wait_ready(standin.target, &ready, &err), 0);
	assert_int_equal(ready.workers, 2);
	assert_int_equal(ready.old_workers, 0);
	assert_int_equal(sz_target_pid(standin.target), successor.pid);
	sz_target_stop(standin.target, NULL);
	standin_end(&successor);
}

static void does_not_come_back(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	struct sz_err err = {0};
	char apply[160];
	standin_start(&standin, "die", "1");
	snprintf(apply, sizeof(apply), "echo restarting; kill -9 -%d", (int)standin.pid);
	standin.config.apply = apply;
	standin.config.ready_timeout_ns = 200 * MS;
	assert_int_equal(standin_apply(&standin, "2", &err), 0);
	assert_int_equal(sz_target_wait_ready(standin.target, &ready, &err), -1);
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "not ready after 0.2 s");
	assert_contains(err.message, "its last output:\n  restarting");
	assert_contains(err.hint, "--apply");
	/* Told by the wait; its death was not seen. */
	assert_true(sz_target_alive(standin.target, NULL));
	sz_target_stop(standin.target, NULL);
	standin_end(&standin);
}

static void dies_while_measured(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	struct sz_err err = {0};
	standin_start(&standin, "scale", "1");
	standin_apply_ok(&standin, "2", &ready);
	kill(-standin.pid, SIGKILL);
	waitpid(standin.pid, NULL, 0);
	assert_false(sz_target_alive(standin.target, &err));
	assert_contains(err.message, "the service ended: python3 (pid ");
	struct sz_tree tree = {0};
	assert_int_equal(sz_target_tree(standin.target, &tree), -ESRCH);
	assert_int_equal(tree.count, 0);
	sz_tree_fini(&tree);
	sz_target_stop(standin.target, NULL);
	standin.pid = -1;
	standin_end(&standin);
}

/* Only what it used since: the supervisor burnt before the change. */
static void cpu_counts_from_the_change(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready = {0};
	struct sz_tree tree = {0};
	standin_start(&standin, "scale", "1");
	assert_int_equal(sz_tree_read(&standin.os, standin.pid, &tree), 0);
	uint64_t before_ns = sz_tree_cpu_ns(&tree);
	standin_apply_ok(&standin, "2", &ready);
	assert_int_equal(sz_target_tree(standin.target, &tree), 0);
	assert_true(ready.start_cpu_ns <= sz_tree_cpu_ns(&tree) - before_ns);
	sz_tree_fini(&tree);
	sz_target_stop(standin.target, NULL);
	standin_end(&standin);
}

static void apply_fails_and_is_undone(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_ready ready;
	struct sz_err err = {0};
	char undo[256];
	standin_start(&standin, "scale", "1");
	standin_apply_ok(&standin, "2", &ready);
	sz_target_stop(standin.target, NULL);
	standin.target = NULL;

	standin.config.apply = "echo out of order; exit 9";
	assert_int_equal(standin_apply(&standin, "3", &err), -1);
	assert_null(standin.target);
	assert_contains(err.message, "the --apply command exited with status 9");
	assert_contains(err.message, "out of order");

	snprintf(undo, sizeof(undo), "echo 1 >%s/workers; kill -HUP %d; echo {port} >%s/undone",
		 standin.dir, (int)standin.pid, standin.dir);
	standin.config.undo = undo;
	assert_int_equal(sz_target_undo(&standin.os, &standin.config, standin.bindings, 2, &err),
			 0);
	char path[64];
	snprintf(path, sizeof(path), "%s/undone", standin.dir);
	assert_int_equal(access(path, F_OK), 0);

	standin.config.undo = "echo cannot; exit 4";
	assert_int_equal(sz_target_undo(&standin.os, &standin.config, standin.bindings, 2, &err),
			 -1);
	assert_contains(err.message, "the --undo command exited with status 4");
	standin.config.undo = NULL;
	assert_int_equal(sz_target_undo(&standin.os, &standin.config, standin.bindings, 2, &err),
			 0);
	assert_true(standin_lives(&standin));
	standin_end(&standin);
}

/* --- nginx, as it comes --- */

static const char nginx_conf[] =
	"daemon off;\npid nginx.pid;\nworker_processes 1;\nerror_log error.log;\n"
	"events { worker_connections 64; }\n"
	"http {\n"
	"  access_log off;\n"
	"  client_body_temp_path tmp; proxy_temp_path tmp;\n"
	"  fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;\n"
	"  server { listen 127.0.0.1:%u%s; location / { return 204; } }\n"
	"}\n";

#define NGINX_APPLY                                                                                \
	"cd %s && sed -i 's/^worker_processes .*/worker_processes {workers};/' nginx.conf && "     \
	"nginx -p . -c nginx.conf -e error.log -s reload"

static void start_nginx(struct standin *standin, const char *listen_options)
{
	char conf[1024];
	standin_init(standin);
	snprintf(conf, sizeof(conf), nginx_conf, standin->port, listen_options);
	standin_write(standin, "nginx.conf", conf);
	snprintf(standin->apply, sizeof(standin->apply), NGINX_APPLY, standin->dir);
	snprintf(standin->pid_file, sizeof(standin->pid_file), "%s/nginx.pid", standin->dir);
	standin_spawn(standin, (const char *const[]){"nginx", "-p", standin->dir, "-c",
						     "nginx.conf", "-e", "error.log", NULL});
}

static void expect_nginx_settings(struct standin *standin)
{
	struct sz_ready ready;
	static const char *const settings[] = {"2", "4", "1"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(settings); i++) {
		standin_apply_ok(standin, settings[i], &ready);
		assert_int_equal(ready.workers, settings[i][0] - '0');
		assert_int_equal(count_workers(standin), settings[i][0] - '0');
		assert_int_equal(sz_target_pid(standin->target), standin->pid);
		sz_target_stop(standin->target, NULL);
	}
	assert_true(standin_lives(standin));
}

static void nginx_by_port(void **state)
{
	(void)state;
	struct standin standin;
	start_nginx(&standin, "");
	expect_nginx_settings(&standin);
	standin_end(&standin);
}

static void nginx_with_a_socket_per_worker_by_pid_file(void **state)
{
	(void)state;
	struct standin standin;
	start_nginx(&standin, " reuseport");
	standin.config.pid_file = standin.pid_file;
	expect_nginx_settings(&standin);
	standin_end(&standin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scaled_in_place),
		cmocka_unit_test(reloaded_gracefully),
		cmocka_unit_test(old_workers_that_stay_are_told),
		cmocka_unit_test(nothing_changed),
		cmocka_unit_test(restarted_with_another_count),
		cmocka_unit_test(does_not_come_back),
		cmocka_unit_test(dies_while_measured),
		cmocka_unit_test(cpu_counts_from_the_change),
		cmocka_unit_test(apply_fails_and_is_undone),
		cmocka_unit_test(nginx_by_port),
		cmocka_unit_test(nginx_with_a_socket_per_worker_by_pid_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
