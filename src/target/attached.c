/* SPDX-License-Identifier: Apache-2.0
 *
 * A service that is not our child: changed by the user's command, found again
 * after each change, left as it is.
 */
#include "target/inside.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "os/sock.h"

/* How long processes must stay the same to be taken for the new ones though
 * their number does not prove it: another worker may yet come or go. */
#define UNPROVEN_PATIENCE_NS (1500 * SZ_NS_PER_MS)

/* --- the crew --- */

static void crew_fini(struct sz_crew *crew)
{
	sz_tree_fini(&crew->roots);
	sz_tree_fini(&crew->tree);
	*crew = (struct sz_crew){0};
}

static const struct sz_proc *find_proc(const struct sz_tree *tree, const struct sz_proc *proc)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->procs[i].pid == proc->pid &&
		    tree->procs[i].start_ticks == proc->start_ticks)
			return &tree->procs[i];
	return NULL;
}

/* Workers are who counts; all are when the port does not tell who they are. */
static bool counts(const struct sz_crew *crew, const struct sz_proc *proc)
{
	if (proc->state == 'Z')
		return false;
	return crew->workers == 0 || proc->role == SZ_ROLE_WORKER;
}

/* How many that count in `crew` are in `other` too. */
static unsigned count_in(const struct sz_crew *crew, const struct sz_crew *other)
{
	unsigned count = 0;
	for (size_t i = 0; i < crew->tree.count; i++) {
		const struct sz_proc *proc = &crew->tree.procs[i];
		count += counts(crew, proc) && find_proc(&other->tree, proc);
	}
	return count;
}

static bool is_same_crew(const struct sz_crew *a, const struct sz_crew *b)
{
	unsigned in_a = count_in(a, a);
	return in_a == count_in(b, b) && in_a == count_in(a, b);
}

/* Of the roots too, whose roles say later which of them must live. */
static void note_roles(struct sz_crew *crew)
{
	for (size_t i = 0; i < crew->tree.count; i++)
		crew->workers += crew->tree.procs[i].role == SZ_ROLE_WORKER;
	for (size_t i = 0; i < crew->roots.count; i++) {
		const struct sz_proc *proc = find_proc(&crew->tree, &crew->roots.procs[i]);
		if (proc)
			crew->roots.procs[i].role = proc->role;
	}
}

/* A service whose sockets lie in another network namespace under another port,
 * or may not be looked at, has no workers that we know of. */
static int read_crew(const struct sz_target *target, struct sz_crew *crew, struct sz_err *err)
{
	struct sz_crew seen = {0};
	struct sz_port_view view;
	if (sz_find_roots(&target->os, &target->config, &seen.roots, err) < 0)
		return -1;
	int rc = sz_read_roots(&target->os, &seen.roots, &seen.tree);
	if (rc < 0) {
		crew_fini(&seen);
		return sz_err_set(err, SZ_MACHINE, -rc, "cannot read the processes of the service");
	}
	if (sz_tree_classify(&target->os, &seen.tree, target->ready_url.port, &view) == 0)
		note_roles(&seen);
	*crew = seen;
	return 0;
}

/* --- waiting until the change is through --- */

/* Several workers of before may stay (one was added), so equal numbers prove
 * the setting; and none may (a restart), so that any number is a new one. */
static bool is_changed(const struct sz_target *target, unsigned old, uint64_t now_ns)
{
	bool at_rest = now_ns >= target->same_since_ns + UNPROVEN_PATIENCE_NS;
	if (target->asked_workers)
		return target->now.workers == target->asked_workers || (old == 0 && at_rest);
	/* Whatever else was set need not show in processes. */
	return old == 0 || at_rest;
}

/* The time is over: what has changed at all is taken as it is. */
static bool is_taken_late(const struct sz_target *target, uint64_t now_ns)
{
	return now_ns >= target->ready_deadline_ns && !is_same_crew(&target->before, &target->now);
}

static void take_crew(struct sz_target *target, struct sz_crew *seen, uint64_t now_ns)
{
	if (!target->now.tree.count || !is_same_crew(&target->now, seen))
		target->same_since_ns = now_ns;
	crew_fini(&target->now);
	target->now = *seen;
	bool root_stayed = find_proc(&target->before.roots, &seen->roots.procs[0]) != NULL;
	target->base_cpu_ns = root_stayed ? sz_tree_cpu_ns(&target->before.tree) : 0;
}

/* The first root that serves. */
static pid_t main_pid(const struct sz_crew *crew)
{
	for (size_t i = 0; i < crew->roots.count; i++)
		if (crew->roots.procs[i].role != SZ_ROLE_HELPER)
			return crew->roots.procs[i].pid;
	return crew->roots.procs[0].pid;
}

/* Looking is not cheap on a machine with many processes, and says nothing
 * before the service answers. */
static int attached_look(struct sz_target *target, bool answered, struct sz_err *err)
{
	struct sz_crew seen;
	struct sz_err why = {0};
	if (!answered)
		return 0;
	if (read_crew(target, &seen, &why) < 0) {
		target->why_unseen = why;
		crew_fini(&target->now);
		if (why.code != SZ_USAGE)
			return 0;
		if (err)
			*err = why;
		return -1;
	}
	uint64_t now_ns = sz_now_ns();
	take_crew(target, &seen, now_ns);
	target->pid = main_pid(&target->now);
	unsigned old = count_in(&target->before, &target->now);
	return is_changed(target, old, now_ns) || is_taken_late(target, now_ns);
}

static void attached_explain_wait(const struct sz_target *target, struct sz_err *err)
{
	double waited_s = sz_ns_to_s(target->ready_timeout_ns);
	if (!target->now.tree.count) {
		sz_err_set(err, SZ_MACHINE, target->why_unseen.errnum,
			   "the service answers, but cannot be found: %.300s",
			   target->why_unseen.message);
		sz_err_hint(err, "%s", target->why_unseen.hint);
		return;
	}
	sz_err_set(err, SZ_MACHINE, 0,
		   "the --apply command changed nothing within %.1f s: the service has the same %u "
		   "%s as before",
		   waited_s, count_in(&target->now, &target->now),
		   target->now.workers ? "worker(s)" : "process(es)");
	sz_err_hint(err, "let the command restart or reload the service, so that it has {workers} "
			 "workers; --ready-timeout waits longer");
}

static void attached_last_output(const struct sz_target *target, struct sz_buf *excerpt)
{
	sz_buf_puts(excerpt, sz_buf_text(&target->apply_output));
}

static void attached_fill_ready(const struct sz_target *target, struct sz_ready *ready)
{
	ready->workers = target->now.workers;
	if (target->asked_workers && target->now.workers != target->asked_workers)
		ready->old_workers = count_in(&target->before, &target->now);
}

/* --- while it is measured --- */

static bool lives(const struct sz_os *os, const struct sz_proc *root)
{
	struct sz_proc now;
	return sz_proc_read(os, root->pid, &now) == 0 && now.start_ticks == root->start_ticks &&
	       now.state != 'Z';
}

static bool attached_alive(struct sz_target *target, struct sz_err *err)
{
	const struct sz_tree *roots = &target->now.roots;
	const struct sz_proc *gone = NULL;
	size_t living = 0;
	for (size_t i = 0; i < roots->count; i++) {
		bool is_living = lives(&target->os, &roots->procs[i]);
		living += is_living;
		if (!is_living && (!gone || roots->procs[i].role != SZ_ROLE_HELPER))
			gone = &roots->procs[i];
	}
	if (!gone || (living && gone->role == SZ_ROLE_HELPER))
		return true;
	sz_err_set(err, SZ_MACHINE, 0, "the service ended: %s (pid %d) does not run any longer",
		   gone->comm, (int)gone->pid);
	sz_err_hint(err, "see its own log; if the kernel was out of memory (see dmesg), ask for "
			 "fewer workers");
	return false;
}

static int attached_tree(const struct sz_target *target, struct sz_tree *tree)
{
	return sz_read_roots(&target->os, &target->now.roots, tree);
}

static void attached_end(struct sz_target *target, struct sz_stopped *stopped)
{
	*stopped = (struct sz_stopped){0};
	crew_fini(&target->before);
	crew_fini(&target->now);
	sz_buf_fini(&target->apply_output);
	free(target);
}

static const struct sz_target_kind attached_kind = {
	.look = attached_look,
	.explain_wait = attached_explain_wait,
	.last_output = attached_last_output,
	.fill_ready = attached_fill_ready,
	.refused_hint = "does the service listen there again after the --apply command? "
			"--ready-timeout waits longer",
	.alive = attached_alive,
	.tree = attached_tree,
	.end = attached_end,
};

/* --- the user's commands --- */

/* What {workers} stands for, where the command uses it. */
static unsigned asked_workers(const struct sz_attached_config *config,
			      const struct sz_binding *bindings, size_t binding_count)
{
	if (!sz_template_uses(config->apply, "workers"))
		return 0;
	for (size_t i = 0; i < binding_count; i++)
		if (strcmp(bindings[i].name, "workers") == 0)
			return (unsigned)strtoul(bindings[i].value, NULL, 10);
	return 0;
}

static int apply(struct sz_target *target, const struct sz_binding *bindings, size_t binding_count,
		 struct sz_err *err)
{
	const struct sz_hook hook = {
		.option = "--apply",
		.text = target->config.apply,
		.timeout_ns = target->config.hook_timeout_ns,
	};
	/* It need not run yet: the command may start it. */
	struct sz_err why = {0};
	if (read_crew(target, &target->before, &why) < 0 && why.code == SZ_USAGE) {
		if (err)
			*err = why;
		return -1;
	}
	target->start_ns = sz_now_ns();
	if (sz_hook_run(&target->os, &hook, bindings, binding_count, &target->apply_output, err) <
	    0)
		return -1;
	target->ready_deadline_ns = sz_now_ns() + target->ready_timeout_ns;
	return 0;
}

int sz_target_apply(const struct sz_os *os, const struct sz_attached_config *config,
		    const struct sz_binding *bindings, size_t binding_count,
		    struct sz_target **target, struct sz_err *err)
{
	struct sz_target *changed = malloc(sizeof(*changed));
	if (!changed)
		return sz_err_nomem(err);
	*changed = (struct sz_target){
		.kind = &attached_kind,
		.os = *os,
		.ready_url = config->ready_url,
		.addr = config->addr,
		.tls = config->tls,
		.ready_timeout_ns = config->ready_timeout_ns,
		.config = *config,
		.asked_workers = asked_workers(config, bindings, binding_count),
	};
	if (apply(changed, bindings, binding_count, err) < 0) {
		sz_target_stop(changed, NULL);
		return -1;
	}
	*target = changed;
	return 0;
}

int sz_target_undo(const struct sz_os *os, const struct sz_attached_config *config,
		   const struct sz_binding *bindings, size_t binding_count, struct sz_err *err)
{
	const struct sz_hook hook = {
		.option = "--undo",
		.text = config->undo,
		.timeout_ns = config->hook_timeout_ns,
		.despite_stop = true,
	};
	if (!config->undo)
		return 0;
	return sz_hook_run(os, &hook, bindings, binding_count, NULL, err);
}
