/* SPDX-License-Identifier: Apache-2.0
 *
 * The roots of a service that is not ours: by its port, its pid file or its
 * cgroup.
 */
#include "target/inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/sock.h"

/* A chain of parents is finite, but pids may be reused while it is walked. */
#define ANCESTORS_MAX 64

/* Processes in any order; a tree only in that it is freed like one. */
static bool contains(const struct sz_tree *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->procs[i].pid == pid)
			return true;
	return false;
}

static int append(struct sz_tree *list, const struct sz_proc *proc, struct sz_err *err)
{
	if (sz_grow(&list->procs, &list->cap, list->count + 1, sizeof(*proc)) < 0)
		return sz_err_nomem(err);
	list->procs[list->count++] = *proc;
	return 0;
}

/* One that is gone, or about to be, is no member. */
static int append_pid(const struct sz_os *os, struct sz_tree *list, pid_t pid, struct sz_err *err)
{
	struct sz_proc proc;
	if (contains(list, pid) || sz_proc_read(os, pid, &proc) < 0 || proc.state == 'Z')
		return 0;
	return append(list, &proc, err);
}

/* --- by port --- */

/* Programs that pass connections on: the service is elsewhere. */
static const char *const forwarders[] = {"docker-proxy", "rootlessport", "slirp4netns", "pasta",
					 "pasta.avx2",   "kubectl",      "ssh",         "conmon"};

static int not_found_by_port(uint16_t port, const struct sz_port_view *view, struct sz_err *err)
{
	if (view->listeners == 0) {
		sz_err_set(err, SZ_MACHINE, 0, "nobody listens on port %u here", port);
		return sz_err_hint(err, "a service in a container is found by --cgroup");
	}
	sz_err_set(err, SZ_MACHINE, 0, "port %u belongs to a process that we may not look into",
		   port);
	return sz_err_hint(err, "run sizeup as root or as the user of the service, or name the "
				"service with --pid-file or --cgroup");
}

static bool is_forwarder(const char *comm)
{
	for (size_t i = 0; i < SZ_ARRAY_LEN(forwarders); i++)
		if (strcmp(comm, forwarders[i]) == 0)
			return true;
	return false;
}

static int refuse_forwarders(const struct sz_tree *holders, uint16_t port, struct sz_err *err)
{
	for (size_t i = 0; i < holders->count; i++) {
		const struct sz_proc *proc = &holders->procs[i];
		if (!is_forwarder(proc->comm))
			continue;
		sz_err_set(err, SZ_USAGE, 0,
			   "port %u belongs to %s (pid %d), which only passes connections on to "
			   "the service",
			   port, proc->comm, (int)proc->pid);
		return sz_err_hint(err, "name the service with --cgroup or --pid-file");
	}
	return 0;
}

/* Ourselves first: classify() takes the network namespace of the first. Who
 * holds a listener does not depend on the order, as the roles do. */
static int read_everybody(const struct sz_os *os, struct sz_tree *all, struct sz_err *err)
{
	sz_autofree pid_t *pids = NULL;
	size_t count = 0;
	int rc = sz_os_pids(os, &pids, &count);
	if (rc < 0)
		return sz_err_set(err, SZ_MACHINE, -rc, "cannot list the processes");
	if (sz_grow(&all->procs, &all->cap, count + 1, sizeof(*all->procs)) < 0)
		return sz_err_nomem(err);
	pid_t self = getpid();
	if (sz_proc_read(os, self, &all->procs[0]) == 0)
		all->count = 1;
	for (size_t i = 0; i < count; i++)
		if (pids[i] != self && sz_proc_read(os, pids[i], &all->procs[all->count]) == 0)
			all->count++;
	return 0;
}

static int find_holders(const struct sz_os *os, uint16_t port, struct sz_tree *holders,
			struct sz_err *err)
{
	__attribute__((cleanup(sz_tree_fini))) struct sz_tree all = {0};
	struct sz_port_view view;
	if (read_everybody(os, &all, err) < 0)
		return -1;
	int rc = sz_tree_classify(os, &all, port, &view);
	if (rc < 0)
		return sz_err_set(err, SZ_MACHINE, -rc, "cannot read who listens on port %u", port);
	for (size_t i = 0; i < all.count; i++)
		if (all.procs[i].holds_listener && append(holders, &all.procs[i], err) < 0)
			return -1;
	return holders->count ? 0 : not_found_by_port(port, &view, err);
}

/* Two processes with one command line are one program that forked. */
static bool is_same_program(const struct sz_os *os, pid_t a, pid_t b)
{
	sz_autofree char *line_a = NULL, *line_b = NULL;
	ssize_t len_a = sz_os_read_all(os, &line_a, "proc/%d/cmdline", a);
	ssize_t len_b = sz_os_read_all(os, &line_b, "proc/%d/cmdline", b);
	return len_a > 0 && len_a == len_b && memcmp(line_a, line_b, (size_t)len_a) == 0;
}

static int climb(const struct sz_os *os, const struct sz_tree *holders, struct sz_tree *tops,
		 struct sz_err *err)
{
	for (size_t i = 0; i < holders->count; i++) {
		struct sz_proc top = holders->procs[i], parent;
		while (top.ppid > 0 && sz_proc_read(os, top.ppid, &parent) == 0 &&
		       is_same_program(os, top.pid, parent.pid))
			top = parent;
		if (append_pid(os, tops, top.pid, err) < 0)
			return -1;
	}
	return 0;
}

static int find_by_port(const struct sz_os *os, const struct sz_attached_config *config,
			struct sz_tree *found, struct sz_err *err)
{
	__attribute__((cleanup(sz_tree_fini))) struct sz_tree holders = {0};
	uint16_t port = config->ready_url.port;
	if (find_holders(os, port, &holders, err) < 0 || refuse_forwarders(&holders, port, err) < 0)
		return -1;
	return climb(os, &holders, found, err);
}

/* --- by pid file --- */

static int no_pid_in_file(const char *path, const char *text, struct sz_err *err)
{
	size_t len = strcspn(text, "\r\n");
	if (text[0] == '\0') /* being written, perhaps */
		return sz_err_set(err, SZ_MACHINE, 0, "the pid file %.200s is empty", path);
	sz_err_set(err, SZ_USAGE, 0, "the pid file %.200s begins with '%.*s', which is no pid",
		   path, (int)(len < 40 ? len : 40), text);
	return sz_err_hint(err, "--pid-file takes a file that begins with the number of the "
				"process");
}

static int parse_pid(const char *path, const char *text, pid_t *pid, struct sz_err *err)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || value <= 0 || value > INT32_MAX || !strchr(" \t\r\n", *end))
		return no_pid_in_file(path, text, err);
	*pid = (pid_t)value;
	return 0;
}

static int read_pid_file(const char *path, pid_t *pid, struct sz_err *err)
{
	char text[64] = "";
	FILE *file = fopen(path, "re");
	if (!file) {
		sz_err_set(err, SZ_MACHINE, errno, "cannot open the pid file %.200s", path);
		return sz_err_hint(err, "check the path of --pid-file, and that the service writes "
					"it");
	}
	errno = 0;
	bool read_ok = fgets(text, sizeof(text), file) || !ferror(file);
	int errnum = errno;
	fclose(file);
	if (!read_ok)
		return sz_err_set(err, SZ_MACHINE, errnum, "cannot read the pid file %.200s", path);
	return parse_pid(path, text, pid, err);
}

static int find_by_pid_file(const struct sz_os *os, const struct sz_attached_config *config,
			    struct sz_tree *found, struct sz_err *err)
{
	pid_t pid;
	if (read_pid_file(config->pid_file, &pid, err) < 0 || append_pid(os, found, pid, err) < 0)
		return -1;
	if (found->count)
		return 0;
	sz_err_set(err, SZ_MACHINE, 0, "the pid file %.200s names process %d, which does not run",
		   config->pid_file, (int)pid);
	return sz_err_hint(err, "is the service running? Remove the file if it is an old one");
}

/* --- by cgroup --- */

#define CGROUP_DIR "/sys/fs/cgroup/"

/* Where the cgroups of a path may be mounted. */
static const char *const hierarchies[] = {"", "unified/", "systemd/", "cpu/", "memory/", "pids/"};

static int append_members(const struct sz_os *os, const char *dir, struct sz_tree *found,
			  struct sz_err *err)
{
	sz_autofree char *text = NULL;
	/* A threaded cgroup refuses with EOPNOTSUPP: the one above lists its
	 * processes. Any other may just have been removed. */
	if (sz_os_read_all(os, &text, "%s/cgroup.procs", dir) < 0)
		return 0;
	for (char *at = text, *end; *at; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			break;
		/* 0 stands for a process outside of our pid namespace. */
		if (pid > 0 && append_pid(os, found, (pid_t)pid, err) < 0)
			return -1;
		end += strspn(end, "\n");
	}
	return 0;
}

static int append_cgroup(const struct sz_os *os, const char *dir, struct sz_tree *found,
			 struct sz_err *err)
{
	char path[SZ_OS_PATH_MAX];
	if (append_members(os, dir, found, err) < 0)
		return -1;
	DIR *entries = sz_os_path(os, path, "%s", dir) == 0 ? opendir(path) : NULL;
	int status = 0;
	for (struct dirent *entry; entries && status == 0 && (entry = readdir(entries));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		status = append_cgroup(os, path, found, err);
	}
	if (entries)
		closedir(entries);
	return status;
}

static bool is_cgroup(const struct sz_os *os, const char *dir)
{
	char path[SZ_OS_PATH_MAX];
	return sz_os_path(os, path, "%s/cgroup.procs", dir) == 0 && access(path, F_OK) == 0;
}

/* "/sys/fs/cgroup/cpu/app", "cpu/app", "/app" and "app" are all the same. */
static int locate_cgroup(const struct sz_os *os, const char *given, char dir[SZ_OS_PATH_MAX],
			 struct sz_err *err)
{
	const char *path = given;
	if (strncmp(path, CGROUP_DIR, strlen(CGROUP_DIR)) == 0)
		path += strlen(CGROUP_DIR);
	path += strspn(path, "/");
	if (!*path || strstr(path, "..") || strlen(path) > 1000) {
		sz_err_set(err, SZ_USAGE, 0, "'%.200s' names no cgroup of a service", given);
		return sz_err_hint(err, "take the path from /proc/PID/cgroup, like "
					"--cgroup /system.slice/app.service");
	}
	for (size_t i = 0; i < SZ_ARRAY_LEN(hierarchies); i++) {
		snprintf(dir, SZ_OS_PATH_MAX, CGROUP_DIR "%s%s", hierarchies[i], path);
		if (is_cgroup(os, dir))
			return 0;
	}
	sz_err_set(err, SZ_MACHINE, 0, "there is no cgroup '%.200s' below " CGROUP_DIR, given);
	return sz_err_hint(err, "is the service running? Take the path from /proc/PID/cgroup");
}

static int find_by_cgroup(const struct sz_os *os, const struct sz_attached_config *config,
			  struct sz_tree *found, struct sz_err *err)
{
	char dir[SZ_OS_PATH_MAX];
	if (locate_cgroup(os, config->cgroup, dir, err) < 0 ||
	    append_cgroup(os, dir, found, err) < 0)
		return -1;
	if (found->count)
		return 0;
	sz_err_set(err, SZ_MACHINE, 0, "no process is in cgroup %.200s", dir);
	return sz_err_hint(err, "is the service running?");
}

/* --- the roots --- */

/* True when one of the list is above pid. */
static bool is_below(const struct sz_os *os, const struct sz_tree *list, pid_t pid)
{
	struct sz_proc proc;
	for (int i = 0; i < ANCESTORS_MAX && sz_proc_read(os, pid, &proc) == 0; i++) {
		pid = proc.ppid;
		if (contains(list, pid))
			return true;
	}
	return false;
}

/* Our own load is not the service's. */
static int refuse_ourselves(const struct sz_os *os, const struct sz_tree *found, struct sz_err *err)
{
	pid_t self = getpid();
	if (!contains(found, self) && !is_below(os, found, self))
		return 0;
	sz_err_set(err, SZ_USAGE, 0, "sizeup itself runs as a part of what it found there");
	return sz_err_hint(err, "name the service alone, or run sizeup outside of it");
}

static int keep_roots(const struct sz_os *os, const struct sz_tree *found, struct sz_tree *roots,
		      struct sz_err *err)
{
	for (size_t i = 0; i < found->count; i++)
		if (!is_below(os, found, found->procs[i].pid) &&
		    append(roots, &found->procs[i], err) < 0)
			return -1;
	if (roots->count)
		return 0;
	return sz_err_set(err, SZ_MACHINE, 0, "the service ended while it was looked for");
}

int sz_find_roots(const struct sz_os *os, const struct sz_attached_config *config,
		  struct sz_tree *roots, struct sz_err *err)
{
	__attribute__((cleanup(sz_tree_fini))) struct sz_tree found = {0};
	struct sz_tree kept = {0};
	int status = config->pid_file ? find_by_pid_file(os, config, &found, err)
		     : config->cgroup ? find_by_cgroup(os, config, &found, err)
				      : find_by_port(os, config, &found, err);
	if (status < 0 || refuse_ourselves(os, &found, err) < 0)
		return -1;
	if (keep_roots(os, &found, &kept, err) < 0) {
		sz_tree_fini(&kept);
		return -1;
	}
	*roots = kept;
	return 0;
}

/* The pid of a root that ended may belong to somebody else by now. */
static int read_root(const struct sz_os *os, const struct sz_proc *root, struct sz_tree *tree)
{
	int rc = sz_tree_read(os, root->pid, tree);
	if (rc < 0 || tree->procs[0].start_ticks == root->start_ticks)
		return rc;
	tree->count = 0;
	return -ESRCH;
}

static int append_root(const struct sz_os *os, const struct sz_proc *root, struct sz_tree *tree)
{
	__attribute__((cleanup(sz_tree_fini))) struct sz_tree below = {0};
	int rc = read_root(os, root, &below);
	if (rc < 0)
		return rc == -ESRCH ? 0 : rc;
	if (sz_grow(&tree->procs, &tree->cap, tree->count + below.count, sizeof(*tree->procs)) < 0)
		return -ENOMEM;
	memcpy(tree->procs + tree->count, below.procs, below.count * sizeof(*below.procs));
	tree->count += below.count;
	return 0;
}

int sz_read_roots(const struct sz_os *os, const struct sz_tree *roots, struct sz_tree *tree)
{
	if (roots->count == 1)
		return read_root(os, &roots->procs[0], tree);
	int rc = 0;
	tree->count = 0;
	for (size_t i = 0; i < roots->count && rc == 0; i++)
		rc = append_root(os, &roots->procs[i], tree);
	if (rc < 0)
		tree->count = 0;
	return rc == 0 && tree->count == 0 ? -ESRCH : rc;
}
