/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Messages quote what others wrote: it must not steer the terminal. */
static void disarm(char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f)
			*text = '?';
	}
}

void sz_err_fill(struct sz_err *err, enum sz_code code, int errnum, const char *fmt, ...)
{
	if (!err)
		return;
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(err->message, sizeof(err->message), fmt, args);
	va_end(args);
	err->code = code;
	err->errnum = errnum;
	err->hint[0] = '\0';
	if (errnum && n >= 0 && (size_t)n < sizeof(err->message))
		snprintf(err->message + n, sizeof(err->message) - (size_t)n, ": %s",
			 strerrordesc_np(errnum) ? strerrordesc_np(errnum) : "unknown error");
	disarm(err->message);
}

void sz_err_add_hint(struct sz_err *err, const char *fmt, ...)
{
	if (!err)
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, args);
	va_end(args);
	disarm(err->hint);
}

void sz_err_add_context(struct sz_err *err, const char *fmt, ...)
{
	if (!err)
		return;
	char context[sizeof(err->message)];
	va_list args;
	va_start(args, fmt);
	vsnprintf(context, sizeof(context), fmt, args);
	va_end(args);

	char whole[2 * sizeof(err->message) + 2];
	snprintf(whole, sizeof(whole), "%s: %s", context, err->message);
	memcpy(err->message, whole, sizeof(err->message) - 1);
	err->message[sizeof(err->message) - 1] = '\0';
	disarm(err->message);
}

void sz_err_fill_nomem(struct sz_err *err)
{
	sz_err_fill(err, SZ_MACHINE, ENOMEM, "sizeup ran out of memory");
	sz_err_add_hint(err, "free some memory, or ask for fewer clients");
}
