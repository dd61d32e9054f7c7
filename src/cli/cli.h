/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line: one file per command, each a table of options and a
 * function that turns them into one call and one view. The only room that
 * prints.
 *
 * stdout carries the result, stderr everything else.
 */
#ifndef SZ_CLI_CLI_H
#define SZ_CLI_CLI_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "net/url.h"
#include "record/record.h"
#include "study/study.h"

struct sz_cli_command {
	struct sz_command spec;
	/* argv without program and command name. The exit status, or -1 with
	 * err, whose code then is the exit status. */
	int (*run)(const struct sz_command *spec, char **argv, struct sz_err *err);
};

extern const struct sz_cli_command sz_cmd_demo, sz_cmd_sweep, sz_cmd_load, sz_cmd_serve;

/* How this program was called: what a shell needs to call it again. */
extern const char *sz_cli_program;

/* Parse into options; when --help was asked for, print it. 1: help was
 * printed, be done; 0: go on; -1: err. */
int sz_cli_parse(const struct sz_command *spec, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err);

/* Write a finished view to stdout. 0 or -1. */
int sz_cli_print(const struct sz_buf *view, struct sz_err *err);

/* Refuse a target that is neither loopback nor vouched for. 0 or -1. */
int sz_cli_check_target(const struct sz_url *url, const struct sz_addr *addr, bool owned,
			struct sz_err *err);

/* What --expect-body asks for; NULL: nothing. 0 or -1. */
int sz_cli_fill_expected(const char *text, struct sz_load_config *config, struct sz_err *err);

/* sz_sweep_run() with its plan and progress on stderr: one line per finished
 * setting, and on a terminal a live line of what goes on now. */
int sz_cli_sweep(const struct sz_sweep_config *config, struct sz_sweep *sweep, struct sz_err *err);

/* What the command line says of the record. */
struct sz_record_options {
	const char *db; /* NULL: the user's own */
	bool no_record, resume;
};

/* A new run in the store, or the one to resume, for a sweep that is described;
 * says on stderr which, or why there is no record. -1 only when a run was to
 * be resumed and cannot be. `options` are the values of the command's table. */
int sz_cli_record_begin(const struct sz_record_options *record, const struct sz_command *spec,
			const void *options, struct sz_sweep_config *config, struct sz_sweep *sweep,
			struct sz_err *err);

/* The run is over; status is that of sz_cli_sweep(). */
void sz_cli_record_end(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
		       int status);

/* Which service a sweep is about, as the user says it. */
struct sz_cli_service {
	const char *url, *ready; /* ready may be NULL */
	uint16_t port;           /* 0: choose a free one */
	bool owned;              /* --i-own-this-target */
};

/* Check the command, the environment and the hooks that are already in config
 * (templates, what must be there, what excludes what) and fill its URLs and
 * address. */
int sz_cli_fill_service(const struct sz_cli_service *service, struct sz_sweep_config *config,
			struct sz_err *err);

/* What a sweep would do, in a line. */
void sz_cli_plan(const struct sz_sweep_config *config, struct sz_buf *out);

/* Exit status of a finished sweep. */
int sz_cli_sweep_exit(const struct sz_sweep *sweep);

#endif
