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

/* What every failing function returns. */
static inline int sz_failed(void)
{
	return -1;
}

/* Fill err. A non-zero errnum is appended as its text. Always -1. */
#define sz_err_set(...) (sz_err_fill(__VA_ARGS__), sz_failed())

/* Add the remedy. Always -1, so that `return sz_err_hint(...)` reads well. */
#define sz_err_hint(...) (sz_err_add_hint(__VA_ARGS__), sz_failed())

/* Put context before the message: "context: message". Always -1. */
#define sz_err_wrap(...) (sz_err_add_context(__VA_ARGS__), sz_failed())

/* The error every failed allocation reports. Always -1. */
#define sz_err_nomem(err) (sz_err_fill_nomem(err), sz_failed())

/* What the macros call: they are macros so that compilers and analysers see
 * the -1. */
void sz_err_fill(struct sz_err *err, enum sz_code code, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void sz_err_add_hint(struct sz_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sz_err_add_context(struct sz_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sz_err_fill_nomem(struct sz_err *err);

#endif
