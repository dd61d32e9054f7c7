/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree below a process, read from parents to children, for this room only.
 *
 * The files /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN) cost what the
 * tree is worth; a pass over /proc costs what else runs on the machine. They
 * promise little: a child is left out when a sibling is waited for, or the
 * thread that forked it ends, while the list is read. So every list is read
 * twice, before and after the processes on it, and must be the same.
 */
#ifndef SZ_OS_WALK_H
#define SZ_OS_WALK_H

#include "os/proc.h"

/* As sz_tree_read(), and -EAGAIN when all of /proc must be read: there are no
 * such files, the tree changed meanwhile, or it has so many threads that it
 * would cost more. */
int sz_tree_walk(const struct sz_os *os, pid_t root_pid, struct sz_tree *tree);

#endif
