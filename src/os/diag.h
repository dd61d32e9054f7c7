/* SPDX-License-Identifier: Apache-2.0
 *
 * Listeners by sock_diag(7), for this room only. The tables of /proc/net end
 * with a walk over the whole hash of connections, 262,144 buckets on a machine
 * of 24 GiB, even when it is empty; a dump of listeners does not.
 */
#ifndef SZ_OS_DIAG_H
#define SZ_OS_DIAG_H

#include <stdint.h>

/* Connections waiting on all listeners of the port, IPv4 and IPv6, in our own
 * network namespace; or -errno (-ENOENT: a kernel without inet_diag). */
int sz_diag_listen_queue(uint16_t port);

#endif
