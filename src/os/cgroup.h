/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the cgroup of a process is mounted, for this room only. Pure functions
 * on the text of /proc/PID/cgroup and /proc/self/mountinfo: the paths in both
 * are relative to the cgroup namespace of the reader, so they fit together
 * whatever namespace the process is in.
 */
#ifndef SZ_OS_CGROUP_H
#define SZ_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define SZ_CGROUP_PATH_MAX 2048

struct sz_cgroup {
	int version;                  /* 1 or 2 */
	char dir[SZ_CGROUP_PATH_MAX]; /* "/sys/fs/cgroup/app" */
	size_t top_len;               /* of the mount point within dir */
};

/* The directory that limits `controller` ("cpu") for the process. A controller
 * bound to a v1 hierarchy is looked for there and nowhere else: the kernel
 * binds it to one only. 0, or -1 with the reason for people in why: "" when
 * the kernel has no such controller, so that nothing limits it. */
int sz_cgroup_find(const char *cgroups, const char *mounts, const char *controller,
		   struct sz_cgroup *cgroup, char why[256]);

/* Go to the parent; false, and nothing done, at the mount point. */
bool sz_cgroup_up(struct sz_cgroup *cgroup);

#endif
