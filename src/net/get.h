/* SPDX-License-Identifier: Apache-2.0
 *
 * One blocking GET with a deadline, for asking "are you ready?". Not for
 * load: that is load/.
 */
#ifndef SZ_NET_GET_H
#define SZ_NET_GET_H

#include <stdint.h>

#include "base/err.h"
#include "net/tls.h"
#include "net/url.h"

/* Send GET url->target to addr (over tls when the URL is https) and wait for the whole response, or
 * until deadline_ns, or until a stop is requested. 0 with *status, or -1 with err->errnum
 * (ECONNREFUSED, ETIMEDOUT, EPROTO, ECANCELED for a stop, …). */
int sz_get(const struct sz_url *url, const struct sz_addr *addr, struct sz_tls *tls,
	   uint64_t deadline_ns, int *status, struct sz_err *err);

#endif
