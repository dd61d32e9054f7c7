/* SPDX-License-Identifier: Apache-2.0
 *
 * The roots of a service that is not ours: by port, pid file and cgroup.
 */
#include "standin.h"

#include <grp.h>

#include "target/inside.h"

static int find(const struct standin *standin, struct sz_tree *roots, struct sz_err *err)
{
	return sz_find_roots(&standin->os, &standin->config, roots, err);
}

static void expect_failure(const struct standin *standin, enum sz_code code, const char *message)
{
	struct sz_tree roots = {.cap = 42};
	struct sz_err err = {0};
	assert_int_equal(find(standin, &roots, &err), -1);
	assert_int_equal(roots.cap, 42);
	assert_int_equal(err.code, code);
	assert_contains(err.message, message);
}

static void expect_one_root(const struct standin *standin, pid_t pid)
{
	struct sz_tree roots = {0};
	struct sz_err err = {0};
	if (find(standin, &roots, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(roots.count, 1);
	assert_int_equal(roots.procs[0].pid, pid);
	sz_tree_fini(&roots);
}

/* --- by port --- */

static void port_of_nobody(void **state)
{
	(void)state;
	struct standin standin;
	standin_init(&standin);
	expect_failure(&standin, SZ_MACHINE, "nobody listens on port");
	standin_end(&standin);
}

static void supervisor_and_workers_are_one_root(void **state)
{
	(void)state;
	struct standin standin;
	standin_start(&standin, "scale", "3");
	expect_one_root(&standin, standin.pid);
	standin_end(&standin);
}

/* SO_REUSEPORT; `supervisor` is Python that the parent runs in the end. */
#define SHARED_PORT                                                                                \
	"import os, socket, sys, time\n"                                                           \
	"port = int(sys.argv[1])\n"                                                                \
	"for i in range(3):\n"                                                                     \
	"    if os.fork(): continue\n"                                                             \
	"    s = socket.socket()\n"                                                                \
	"    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"                            \
	"    s.bind(('127.0.0.1', port)); s.listen()\n"                                            \
	"    while True:\n"                                                                        \
	"        c, _ = s.accept(); c.recv(4096)\n"                                                \
	"        c.sendall(b'HTTP/1.1 200 X\\r\\nContent-Length: 0\\r\\n\\r\\n'); c.close()\n"

static void start_shared_port(struct standin *standin, const char *script)
{
	char port[16];
	standin_init(standin);
	snprintf(port, sizeof(port), "%u", standin->port);
	standin_spawn(standin,
		      (const char *const[]){"/usr/bin/python3", "-IS", "-c", script, port, NULL});
}

/* All three listen only some time after the first answers. */
static void await_roots(const struct standin *standin, size_t count, struct sz_tree *roots)
{
	do {
		sleep_ms(5);
		sz_tree_fini(roots);
		assert_int_equal(find(standin, roots, NULL), 0);
	} while (roots->count < count);
}

static void supervisor_without_the_sockets_is_the_root(void **state)
{
	(void)state;
	struct standin standin;
	start_shared_port(&standin, SHARED_PORT "time.sleep(60)\n");
	expect_one_root(&standin, standin.pid);
	standin_end(&standin);
}

static void independent_processes_are_several_roots(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_tree roots = {0}, tree = {0};
	start_shared_port(&standin, SHARED_PORT "os.execlp('sleep', 'sleep', '60')\n");
	await_roots(&standin, 3, &roots);
	assert_int_equal(roots.count, 3);
	for (size_t i = 0; i < roots.count; i++)
		assert_int_equal(roots.procs[i].ppid, standin.pid);
	assert_int_equal(sz_read_roots(&standin.os, &roots, &tree), 0);
	assert_int_equal(tree.count, 3);
	assert_true(sz_tree_cpu_ns(&tree) > 0);

	/* A root that ended is left out; none at all is ESRCH. */
	roots.procs[0].start_ticks++;
	assert_int_equal(sz_read_roots(&standin.os, &roots, &tree), 0);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.procs[0].pid, roots.procs[1].pid);
	standin_end(&standin);
	while (sz_read_roots(&standin.os, &roots, &tree) == 0)
		sleep_ms(5);
	assert_int_equal(tree.count, 0);
	sz_tree_fini(&tree);
	sz_tree_fini(&roots);
}

static void forwarder_is_refused(void **state)
{
	(void)state;
	struct standin standin;
	start_shared_port(&standin, "open('/proc/self/comm', 'w').write('docker-proxy')\n"
				    "import os; os.fork = lambda: 0\n" SHARED_PORT);
	expect_failure(&standin, SZ_USAGE, "docker-proxy");
	standin_end(&standin);
}

/* The service of root, looked at by somebody else. */
static void port_of_another_user(void **state)
{
	(void)state;
	struct standin standin;
	struct sz_err err = {0};
	int say[2];
	if (geteuid() != 0)
		skip();
	standin_start(&standin, "scale", "1");
	assert_int_equal(pipe(say), 0);
	pid_t other = fork();
	if (other == 0) {
		struct sz_tree roots = {0};
		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(2);
		int found = find(&standin, &roots, &err);
		_exit(found == -1 && write(say[1], &err, sizeof(err)) > 0 ? 0 : 1);
	}
	int wait_status;
	assert_int_equal(waitpid(other, &wait_status, 0), other);
	assert_int_equal(wait_status, 0);
	assert_int_equal(read(say[0], &err, sizeof(err)), sizeof(err));
	assert_int_equal(err.code, SZ_MACHINE);
	assert_contains(err.message, "may not look into");
	assert_contains(err.hint, "--pid-file");
	close(say[0]);
	close(say[1]);
	standin_end(&standin);
}

/* --- by pid file --- */

static void pid_file(void **state)
{
	(void)state;
	struct standin standin;
	static const struct {
		const char *text;
		enum sz_code code;
		const char *message;
	} bad[] = {
		{"", SZ_MACHINE, "is empty"},
		{"\n", SZ_USAGE, "begins with ''"},
		{"nginx\n", SZ_USAGE, "begins with 'nginx'"},
		{"12x\n", SZ_USAGE, "'12x', which is no pid"},
		{"-1\n", SZ_USAGE, "no pid"},
		{"0\n", SZ_USAGE, "no pid"},
		{"99999999999999999999\n", SZ_USAGE, "no pid"},
		{"2147483647\n", SZ_MACHINE, "names process 2147483647, which does not run"},
	};
	standin_start(&standin, "scale", "2");
	standin.config.pid_file = standin.pid_file;
	expect_one_root(&standin, standin.pid);
	for (size_t i = 0; i < SZ_ARRAY_LEN(bad); i++) {
		standin_write(&standin, "pid", bad[i].text);
		expect_failure(&standin, bad[i].code, bad[i].message);
	}
	/* As PostgreSQL writes it. */
	char text[64];
	snprintf(text, sizeof(text), " %d\n/var/lib/data\n", (int)standin.pid);
	standin_write(&standin, "pid", text);
	expect_one_root(&standin, standin.pid);
	unlink(standin.pid_file);
	expect_failure(&standin, SZ_MACHINE, "No such file or directory");
	snprintf(text, sizeof(text), "%d\n", (int)getppid());
	standin_write(&standin, "pid", text);
	expect_failure(&standin, SZ_USAGE, "sizeup itself");
	standin_end(&standin);
}

/* --- by cgroup --- */

static void capture_dir(const struct standin *standin, const char *path)
{
	char command[160];
	snprintf(command, sizeof(command), "mkdir -p '%s/%s'", standin->dir, path);
	assert_int_equal(system(command), 0);
}

static void capture_proc(const struct standin *standin, int pid, int ppid, char state)
{
	char path[64], text[160];
	snprintf(path, sizeof(path), "proc/%d", pid);
	capture_dir(standin, path);
	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (app) %c %d 0 0 0 0 0 0 0 0 0 5 5 0 0 20 0 1 0 77 0 0 0 0 0 0 0 0 0\n", pid,
		 state, ppid);
	standin_write(standin, path, text);
}

/* 10 -> 11 -> 12 and 20 -> 21 in the cgroup or below it; 1 and 15 outside of
 * it; 15 is between 10 and 16. */
static void capture_machine(struct standin *standin, const char *hierarchy)
{
	static const int parents[][2] = {{1, 0},   {10, 1},  {11, 10}, {12, 11},
					 {15, 10}, {16, 15}, {20, 1},  {21, 20}};
	char path[96];
	standin_init(standin);
	for (size_t i = 0; i < SZ_ARRAY_LEN(parents); i++)
		capture_proc(standin, parents[i][0], parents[i][1], 'S');
	capture_proc(standin, 30, 1, 'Z');
	snprintf(path, sizeof(path), "sys/fs/cgroup/%sapp.slice/web/one", hierarchy);
	capture_dir(standin, path);
	snprintf(path, sizeof(path), "sys/fs/cgroup/%sapp.slice/web/cgroup.procs", hierarchy);
	standin_write(standin, path, "16\n12\n0\n11\n11\n30\n99\n");
	snprintf(path, sizeof(path), "sys/fs/cgroup/%sapp.slice/web/one/cgroup.procs", hierarchy);
	standin_write(standin, path, "21\n20\n10\n");
	snprintf(path, sizeof(path), "sys/fs/cgroup/%sapp.slice/cgroup.procs", hierarchy);
	standin_write(standin, path, "");
	assert_int_equal(sz_os_init(&standin->os, standin->dir, NULL), 0);
}

static void expect_both_roots(struct standin *standin, const char *cgroup)
{
	struct sz_tree roots = {0}, tree = {0};
	struct sz_err err = {0};
	standin->config.cgroup = cgroup;
	if (find(standin, &roots, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(roots.count, 2);
	assert_int_equal(roots.procs[0].pid + roots.procs[1].pid, 30);
	assert_int_equal(sz_read_roots(&standin->os, &roots, &tree), 0);
	assert_int_equal(tree.count, 7);
	sz_tree_fini(&tree);
	sz_tree_fini(&roots);
}

static void cgroup_of_version_2(void **state)
{
	(void)state;
	struct standin standin;
	capture_machine(&standin, "");
	expect_both_roots(&standin, "/sys/fs/cgroup/app.slice/web");
	expect_both_roots(&standin, "/app.slice/web");
	expect_both_roots(&standin, "app.slice/web/");
	expect_both_roots(&standin, "/app.slice");
	standin.config.cgroup = "/app.slice/we";
	expect_failure(&standin, SZ_MACHINE, "there is no cgroup '/app.slice/we'");
	static const char *const refused[] = {"", "/", "/sys/fs/cgroup/", "/app.slice/../web"};
	for (size_t i = 0; i < SZ_ARRAY_LEN(refused); i++) {
		standin.config.cgroup = refused[i];
		expect_failure(&standin, SZ_USAGE, "names no cgroup");
	}
	standin_write(&standin, "sys/fs/cgroup/app.slice/web/cgroup.procs", "99\n");
	standin_write(&standin, "sys/fs/cgroup/app.slice/web/one/cgroup.procs", "");
	standin.config.cgroup = "/app.slice/web";
	expect_failure(&standin, SZ_MACHINE, "no process is in cgroup");
	standin_end(&standin);
}

static void cgroup_of_version_1(void **state)
{
	(void)state;
	struct standin standin;
	capture_machine(&standin, "cpu/");
	expect_both_roots(&standin, "/sys/fs/cgroup/cpu/app.slice/web");
	expect_both_roots(&standin, "/app.slice/web");
	expect_both_roots(&standin, "cpu/app.slice/web");
	standin_end(&standin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_of_nobody),
		cmocka_unit_test(supervisor_and_workers_are_one_root),
		cmocka_unit_test(supervisor_without_the_sockets_is_the_root),
		cmocka_unit_test(independent_processes_are_several_roots),
		cmocka_unit_test(forwarder_is_refused),
		cmocka_unit_test(port_of_another_user),
		cmocka_unit_test(pid_file),
		cmocka_unit_test(cgroup_of_version_2),
		cmocka_unit_test(cgroup_of_version_1),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
