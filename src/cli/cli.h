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
#include "report/report.h"
#include "study/study.h"

struct sz_cli_command {
	struct sz_command spec;
	/* argv without program and command name. The exit status, or -1 with
	 * err, whose code then is the exit status. */
	int (*run)(const struct sz_command *spec, char **argv, struct sz_err *err);
};

extern const struct sz_cli_command sz_cmd_demo, sz_cmd_sweep, sz_cmd_load, sz_cmd_merge,
	sz_cmd_serve;

/* How this program was called: what a shell needs to call it again. */
extern const char *sz_cli_program;

/* Parse into options; when --help was asked for, print it. 1: help was
 * printed, be done; 0: go on; -1: err. */
int sz_cli_parse(const struct sz_command *spec, char **argv, void *options,
		 struct sz_parsed *parsed, struct sz_err *err);

/* Write a finished view to stdout. 0 or -1. */
int sz_cli_print(const struct sz_buf *view, struct sz_err *err);

/* Refuse a target that is neither loopback, at all of its addresses, nor vouched for.
 * 0 or -1. */
int sz_cli_check_target(const struct sz_url *url, const struct sz_addrs *addrs, bool owned,
			struct sz_err *err);

/* Which requests a load sends, how they are made, and to where. */
struct sz_cli_request {
	const char *method, *body, *bearer_file, *basic_file, *cookie_file, *expect_status;
	const char *list, *har, *log, *setup, *unix_socket, *ca, *cert, *key;
	struct sz_texts headers;
	int http; /* enum sz_http */
	uint64_t streams, sources;
	bool streamed, keep_secrets, insecure, full_handshakes, owned;
};

/* Their rows, shared by the tables of commands whose options begin with them. */
#define SZ_CLI_REQUEST_OPTIONS 22
extern const struct sz_opt sz_cli_request_options[SZ_CLI_REQUEST_OPTIONS];

/* What a load's configuration borrows; starts out zeroed. */
struct sz_cli_asked {
	struct sz_requests *requests, *setup;
	struct sz_tls *tls;
	struct sz_tls *ready_tls; /* for what is asked over HTTP/1.1 in any case */
	struct sz_addrs addrs;
};

/* Fill config's url, addresses, requests, log-in and TLS; with a file there may be no URL.
 * Says on stderr what a file holds that is not asked for. 0 or -1; asked is the caller's
 * to sz_cli_asked_fini() in any case. */
int sz_cli_ask(const struct sz_cli_request *options, char *const *urls, size_t url_count,
	       struct sz_cli_asked *asked, struct sz_load_config *config, struct sz_err *err);
void sz_cli_asked_fini(struct sz_cli_asked *asked);

#define sz_autoasked __attribute__((cleanup(sz_cli_asked_fini)))

/* Of a page (--har): its calls and, unless they are given, the connections of a
 * user. config's requests are filled. */
void sz_cli_fill_page(const struct sz_cli_request *options, unsigned *connections,
		      struct sz_load_config *config);

/* Refuse users where there are no bursts. 0 or -1. */
int sz_cli_no_users(uint64_t users, struct sz_err *err);

/* So many users with so many connections each. 0 or -1. */
int sz_cli_fill_users(uint64_t connections, uint64_t users, struct sz_load_config *config,
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
	const struct sz_cli_request *request;
	struct sz_cli_asked *asked; /* the caller's; filled even on failure */
};

/* Check the command, the environment and the hooks that are already in config
 * (templates, what must be there, what excludes what) and fill its URLs and
 * address. */
int sz_cli_fill_service(const struct sz_cli_service *service, struct sz_sweep_config *config,
			struct sz_err *err);

/* What a sweep would do, in a line. */
void sz_cli_plan(const struct sz_sweep_config *config, struct sz_buf *out);

/* Exit status of a finished load. */
int sz_cli_load_exit(const struct sz_load_report *report);

/* Exit status of a finished sweep. */
int sz_cli_sweep_exit(const struct sz_sweep *sweep);

#endif
