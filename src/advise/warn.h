/* SPDX-License-Identifier: Apache-2.0
 *
 * What to beware of: each check looks at the whole sweep and adds at most two
 * warnings, each with its remedy.
 */
#ifndef SZ_ADVISE_WARN_H
#define SZ_ADVISE_WARN_H

#include "advise/inside.h"

/* A warning with its text; the remedy follows. NULL when there is no room. */
struct sz_warning *sz_warn(struct sz_advice *advice, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What to do about it; of NULL: nothing. */
void sz_remedy(struct sz_warning *warning, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void sz_warn_service(struct sz_sweep *sweep);
void sz_warn_trust(struct sz_sweep *sweep);
void sz_warn_range(struct sz_sweep *sweep);

#endif
