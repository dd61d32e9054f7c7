/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: one object, filled where something fails, wrapped with context on
 * the way up, printed once in cli/.
 *
 * What it is not: a log. Nothing here prints, allocates or exits.
 *
 * Convention of the whole program: a function that can fail returns 0 or -1
 * and takes `struct sz_err *err` last. On failure its outputs are untouched
 * and *err is filled. err may be NULL when the caller does not care why.
 */
#ifndef SZ_BASE_ERR_H
#define SZ_BASE_ERR_H

/* The exit status of every command; see `sizeup --help`. */
enum sz_code {
	SZ_OK = 0,
	SZ_NO = 1,        /* answered, and the answer is "no" */
	SZ_USAGE = 2,     /* cured by changing the command line or a file */
	SZ_MACHINE = 3,   /* cured by changing the machine or the target */
	SZ_UNTRUSTED = 4, /* measured, but not trustworthy */
	SZ_INTERRUPTED = 130,
};

struct sz_err {
	enum sz_code code;
	int errnum;        /* errno of the failing call, 0 when none */
	char message[600]; /* what happened, with the likely cause */
	char hint[600];    /* the change or command that cures it; may be empty */
};

/* Fill err. A non-zero errnum is appended as its text. Always returns -1. */
__attribute__((format(printf, 4, 5))) int sz_err_set(struct sz_err *err, enum sz_code code,
						     int errnum, const char *fmt, ...);

/* Add the remedy. Always returns -1, so `return sz_err_hint(...)` reads well. */
__attribute__((format(printf, 2, 3))) int sz_err_hint(struct sz_err *err, const char *fmt, ...);

/* Put context before the message: "context: message". Always returns -1. */
__attribute__((format(printf, 2, 3))) int sz_err_wrap(struct sz_err *err, const char *fmt, ...);

/* The error every failed allocation reports. Always returns -1. */
int sz_err_nomem(struct sz_err *err);

#endif
