/* SPDX-License-Identifier: Apache-2.0 */
#include "advise/warn.h"

#include <stdarg.h>
#include <stdio.h>

struct sz_warning *sz_warn(struct sz_advice *advice, const char *code, const char *fmt, ...)
{
	if (advice->warning_count == SZ_WARNINGS_MAX)
		return NULL;
	struct sz_warning *warning = &advice->warnings[advice->warning_count++];
	warning->code = code;
	va_list args;
	va_start(args, fmt);
	vsnprintf(warning->text, sizeof(warning->text), fmt, args);
	va_end(args);
	return warning;
}

void sz_remedy(struct sz_warning *warning, const char *fmt, ...)
{
	if (!warning)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(warning->remedy, sizeof(warning->remedy), fmt, args);
	va_end(args);
}

void sz_warn_all(struct sz_sweep *sweep)
{
	sz_warn_service(sweep);
	sz_warn_trust(sweep);
	sz_warn_range(sweep);
}
