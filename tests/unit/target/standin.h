/* SPDX-License-Identifier: Apache-2.0
 *
 * A service that somebody else runs: a supervisor with workers, which reads
 * their number from a file when it gets SIGHUP. Included once per program.
 */
#ifndef SZ_TESTS_TARGET_STANDIN_H
#define SZ_TESTS_TARGET_STANDIN_H

#include "service.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* How it takes a new number: "scale" adds or ends workers one by one;
 * "replace" starts new ones and ends the old ones 300 ms later; "linger" never
 * ends the old ones; "ignore" does nothing; "die" is what it says. Workers end
 * when their supervisor has. */
static const char standin_script[] =
	"import os, signal, socket, sys\n"
	"port, folder, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]\n"
	"workers, old = [], []\n"
	"s = socket.create_server(('127.0.0.1', port))\n"
	"def work():\n"
	"    signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
	"    supervisor = os.getppid()\n"
	"    s.settimeout(0.2)\n"
	"    while os.getppid() == supervisor:\n"
	"        try: c, _ = s.accept()\n"
	"        except TimeoutError: continue\n"
	"        c.recv(4096)\n"
	"        c.sendall(b'HTTP/1.1 200 X\\r\\nContent-Length: 0\\r\\n'\n"
	"                  b'Connection: close\\r\\n\\r\\n')\n"
	"        c.close()\n"
	"    os._exit(0)\n"
	"def start():\n"
	"    pid = os.fork()\n"
	"    if not pid: work()\n"
	"    workers.append(pid)\n"
	"def end_old(*_):\n"
	"    while old: os.kill(old.pop(), signal.SIGKILL)\n"
	"def change(*_):\n"
	"    want = int(open(folder + '/workers').read())\n"
	"    if how == 'die': os._exit(0)\n"
	"    if how == 'ignore' and workers: return\n"
	"    if how in ('replace', 'linger'):\n"
	"        old.extend(workers)\n"
	"        workers.clear()\n"
	"        if how == 'replace': signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
	"    while len(workers) < want: start()\n"
	"    while len(workers) > want: os.kill(workers.pop(), signal.SIGKILL)\n"
	"signal.signal(signal.SIGHUP, change)\n"
	"signal.signal(signal.SIGALRM, end_old)\n"
	"if how == 'die':\n"
	"    start()\n"
	"else:\n"
	"    change()\n"
	"open(folder + '/pid.new', 'w').write(str(os.getpid()) + '\\n')\n"
	"os.rename(folder + '/pid.new', folder + '/pid')\n"
	"while True: os.waitpid(-1, 0)\n";

struct standin {
	struct sz_os os;
	struct sz_attached_config config;
	struct sz_binding bindings[2]; /* workers, port */
	struct sz_target *target;
	uint16_t port;
	pid_t pid;
	char dir[32], pid_file[64], apply[256];
};

/* What the apply command of most tests does. */
#define TELL "echo {workers} >%s/workers; kill -HUP $(cat %s/pid)"

static inline void standin_configure(struct standin *standin)
{
	char url[64];
	snprintf(standin->pid_file, sizeof(standin->pid_file), "%s/pid", standin->dir);
	snprintf(standin->apply, sizeof(standin->apply), TELL, standin->dir, standin->dir);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", standin->port);
	struct sz_attached_config *config = &standin->config;
	*config = (struct sz_attached_config){
		.apply = standin->apply,
		.hook_timeout_ns = 30 * SZ_NS_PER_S,
		.ready_timeout_ns = 30 * SZ_NS_PER_S,
	};
	assert_int_equal(sz_url_parse(url, &config->ready_url, NULL), 0);
	assert_int_equal(sz_url_resolve(&config->ready_url, &config->addr, NULL), 0);
	standin->bindings[0].name = "workers";
	standin->bindings[1].name = "port";
	snprintf(standin->bindings[1].value, sizeof(standin->bindings[1].value), "%u",
		 standin->port);
}

static inline void standin_init(struct standin *standin)
{
	*standin = (struct standin){.dir = "/tmp/sizeup-standin-XXXXXX", .pid = -1};
	assert_int_equal(sz_os_init(&standin->os, NULL, NULL), 0);
	standin->port = sz_free_port(NULL);
	assert_int_not_equal(standin->port, 0);
	assert_non_null(mkdtemp(standin->dir));
	chmod(standin->dir, 0755);
	standin_configure(standin);
}

static inline void standin_write(const struct standin *standin, const char *name, const char *text)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", standin->dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Run a program of the test's own in a process group that standin_end() ends. */
static inline void standin_spawn(struct standin *standin, const char *const *argv)
{
	const char *copy[8];
	char *const *exec_argv = copy_strings(copy, argv);
	standin->pid = fork();
	assert_true(standin->pid >= 0);
	if (standin->pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(exec_argv[0], exec_argv);
		_exit(127);
	}
	int status;
	while (sz_get(&standin->config.ready_url, &standin->config.addr, NULL,
		      sz_now_ns() + SZ_NS_PER_S, &status, NULL) < 0) {
		assert_int_equal(waitpid(standin->pid, NULL, WNOHANG), 0);
		sleep_ms(5);
	}
}

static inline void standin_start(struct standin *standin, const char *how, const char *workers)
{
	char port[16];
	standin_init(standin);
	standin_write(standin, "workers", workers);
	snprintf(port, sizeof(port), "%u", standin->port);
	standin_spawn(standin,
		      (const char *const[]){"/usr/bin/python3", "-IS", "-c", standin_script, port,
					    standin->dir, how, NULL});
	while (access(standin->pid_file, F_OK) < 0)
		sleep_ms(5);
}

static inline bool standin_lives(const struct standin *standin)
{
	return waitpid(standin->pid, NULL, WNOHANG) == 0;
}

static inline void standin_end(struct standin *standin)
{
	char command[64];
	if (standin->pid > 0) {
		kill(-standin->pid, SIGKILL);
		waitpid(standin->pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", standin->dir);
	assert_int_equal(system(command), 0);
}

static inline int standin_apply(struct standin *standin, const char *workers, struct sz_err *err)
{
	snprintf(standin->bindings[0].value, sizeof(standin->bindings[0].value), "%s", workers);
	return sz_target_apply(&standin->os, &standin->config, standin->bindings, 2,
			       &standin->target, err);
}

static inline void standin_apply_ok(struct standin *standin, const char *workers,
				    struct sz_ready *ready)
{
	struct sz_err err = {0};
	if (standin_apply(standin, workers, &err) < 0 ||
	    sz_target_wait_ready(standin->target, ready, &err) < 0)
		fail_msg("%s", err.message);
}

#endif
