/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are replaced as a whole, by rename: whoever reads one finds the old
 * text or the new, never a part. Links are followed: what they lead to is replaced.
 *
 * What it is not: a way to write to a pipe or a device. A rename would put a file
 * in its place, so whatever is not a regular file is refused.
 */
#ifndef SZ_BASE_REPLACE_H
#define SZ_BASE_REPLACE_H

#include "base/buf.h"
#include "base/err.h"

/* Whether sz_replace() could write to path, to be found out before the work whose
 * result is to go there. 0, or -1: SZ_USAGE. */
int sz_replace_check(const char *path, struct sz_err *err);

/* Check, then write text, to the disk, with the permissions of what was there; what is
 * new is its owner's alone. A failure (SZ_MACHINE, unless the check fails) leaves
 * what was there. */
int sz_replace(const char *path, const struct sz_buf *text, struct sz_err *err);

#endif
