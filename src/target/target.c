/* SPDX-License-Identifier: Apache-2.0
 *
 * A service of ours, started through a guard; and what both kinds of target
 * share.
 */
#include "target/inside.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/listener.h"
#include "os/sock.h"

/* --- while it runs --- */

static void guard_lost(const struct sz_target *target, struct sz_err *err)
{
	sz_err_set(err, SZ_MACHINE, 0,
		   "the guard of the service (pid %d) was killed from outside: "
		   "the command ended with it, and its own children may be left",
		   (int)target->guarded.guard_pid);
	sz_err_hint(err, "start again; if the kernel was out of memory (see dmesg), ask for fewer "
			 "workers");
}

static void hint_end(const struct sz_target *target, int wait_status, struct sz_err *err)
{
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL) {
		sz_err_hint(err,
			    "if nobody killed it, the kernel was out of memory: see dmesg, and ask "
			    "for fewer workers");
		return;
	}
	if (wait_status == 0) {
		sz_err_hint(err, "give the command that serves, not one that has it started "
				 "elsewhere");
		return;
	}
	sz_autobuf struct sz_buf command = {0};
	sz_command_text(&target->command, &command);
	sz_err_hint(err, "run it alone to see why: %s", sz_buf_text(&command));
}

static void describe_end(const struct sz_target *target, const struct sz_guard_report *report,
			 struct sz_err *err)
{
	sz_autobuf struct sz_buf end = {0};
	sz_guarded_describe_end(&target->guarded, report, &end);
	sz_err_set(err, SZ_MACHINE, 0, "the service %s", sz_buf_text(&end));
	hint_end(target, report->wait_status, err);
}

static bool own_alive(struct sz_target *target, struct sz_err *err)
{
	struct sz_guard_report report;
	if (sz_guarded_report(&target->guarded, &report) < 0) {
		guard_lost(target, err);
		return false;
	}
	bool in_background = report.wait_status == 0 && !report.empty;
	if (report.command_runs || in_background)
		return true;
	describe_end(target, &report, err);
	return false;
}

/* There is but one setting that a fresh start can have. */
static int own_look(struct sz_target *target, bool answered, struct sz_err *err)
{
	(void)answered;
	return own_alive(target, err) ? 1 : -1;
}

static void own_last_output(const struct sz_target *target, struct sz_buf *excerpt)
{
	struct sz_guard_report report;
	if (sz_guarded_report(&target->guarded, &report) == 0)
		sz_output_excerpt(report.output, report.output_len, excerpt);
}

static int own_tree(const struct sz_target *target, struct sz_tree *tree)
{
	return sz_tree_read(&target->os, target->guarded.guard_pid, tree);
}

/* --- stopping --- */

static void own_free(struct sz_target *target)
{
	sz_command_fini(&target->command);
	free(target);
}

static void own_end(struct sz_target *target, struct sz_stopped *stopped)
{
	const struct sz_guard_ask ask = {
		.verb = SZ_GUARD_STOP,
		.budget_ns = target->stop_timeout_ns,
	};
	struct sz_guard_report report;
	sz_guarded_end(&target->guarded, &ask, &report);
	*stopped = (struct sz_stopped){
		.exit_ns = report.exit_ns,
		.killed = report.killed,
		.wait_status = report.wait_status,
	};
	own_free(target);
}

static const struct sz_target_kind own_kind = {
	.look = own_look,
	.last_output = own_last_output,
	.refused_hint =
		"does the command listen on that port? Write {port} where its port belongs; "
		"--ready-timeout waits longer",
	.alive = own_alive,
	.tree = own_tree,
	.end = own_end,
};

/* --- starting --- */

static int port_busy(const struct sz_os *os, uint16_t port, struct sz_err *err)
{
	pid_t pid;
	char comm[32];
	if (sz_port_owner(os, port, &pid, comm) == 0)
		sz_err_set(err, SZ_MACHINE, 0, "port %u is busy: %s (pid %d) listens on it", port,
			   comm, (int)pid);
	else
		sz_err_set(err, SZ_MACHINE, 0, "port %u is busy", port);
	return sz_err_hint(err, "stop the program that has it, or choose another port with --port");
}

/* Any other failure to listen is the service's own to report, or none: the
 * address may belong to another network namespace. */
static int check_port_free(const struct sz_os *os, const struct sz_addr *addr, uint16_t port,
			   struct sz_err *err)
{
	char host[NI_MAXHOST];
	if (getnameinfo((const struct sockaddr *)&addr->storage, addr->len, host, sizeof(host),
			NULL, 0, NI_NUMERICHOST) != 0)
		return 0;
	struct sz_err why = {0};
	int fd = sz_listen(&(struct sz_listen_options){.host = host, .port = port, .backlog = 1},
			   &why);
	if (fd >= 0)
		close(fd);
	return fd < 0 && why.errnum == EADDRINUSE ? port_busy(os, port, err) : 0;
}

static int run_reset(const struct sz_os *os, const struct sz_target_config *config,
		     const struct sz_binding *bindings, size_t binding_count, struct sz_err *err)
{
	const struct sz_hook reset = {
		.option = "--reset",
		.text = config->reset,
		.timeout_ns = config->hook_timeout_ns,
	};
	if (!config->reset)
		return 0;
	return sz_hook_run(os, &reset, bindings, binding_count, NULL, err);
}

int sz_target_start(const struct sz_os *os, const struct sz_target_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err)
{
	struct sz_target *started = malloc(sizeof(*started));
	if (!started)
		return sz_err_nomem(err);
	*started = (struct sz_target){
		.kind = &own_kind,
		.os = *os,
		.ready_url = config->ready_url,
		.addr = config->addr,
		.tls = config->tls,
		.ready_timeout_ns = config->ready_timeout_ns,
		.stop_timeout_ns = config->stop_timeout_ns,
	};
	if (sz_command_expand(config, bindings, binding_count, &started->command, err) < 0 ||
	    run_reset(os, config, bindings, binding_count, err) < 0 ||
	    check_port_free(os, &config->addr, config->ready_url.port, err) < 0 ||
	    sz_guarded_start(os, &started->command, &started->guarded, err) < 0) {
		own_free(started);
		return -1;
	}
	started->start_ns = started->guarded.start_ns;
	started->ready_deadline_ns = started->start_ns + started->ready_timeout_ns;
	started->pid = started->guarded.command_pid;
	*target = started;
	return 0;
}

/* --- both kinds --- */

pid_t sz_target_guard_pid(const struct sz_target *target)
{
	return target->guarded.guard_pid;
}

/* A command that went into the background left somebody else to look at. */
pid_t sz_target_pid(const struct sz_target *target)
{
	pid_t pid = target->pid;
	struct sz_tree tree = {0};
	if (kill(pid, 0) == 0 || target->kind->tree(target, &tree) < 0)
		return pid;
	for (size_t i = 0; i < tree.count; i++) {
		if (tree.procs[i].pid == sz_target_guard_pid(target) || tree.procs[i].state == 'Z')
			continue;
		pid = tree.procs[i].pid;
		break;
	}
	sz_tree_fini(&tree);
	return pid;
}

int sz_target_tree(const struct sz_target *target, struct sz_tree *tree)
{
	return target->kind->tree(target, tree);
}

bool sz_target_alive(struct sz_target *target, struct sz_err *err)
{
	return target->kind->alive(target, err);
}

void sz_target_stop(struct sz_target *target, struct sz_stopped *stopped)
{
	struct sz_stopped unused;
	if (target)
		target->kind->end(target, stopped ? stopped : &unused);
}
