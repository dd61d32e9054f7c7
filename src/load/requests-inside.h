/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the readers of requests; nobody else includes this.
 *
 *	requests.c    the set: what its requests have in common, its end
 *	request.c     one request: from parts to bytes
 *	header.c      headers of users and files; which are refused or secret
 *	origin.c      URLs, and where they go
 *	status-set.c  expected statuses
 *	list.c        lists of URLs
 *	message.c     one request as a text
 *	har.c         HAR files
 *	access-log.c  access logs
 *	moment.c      the time stamps of the two
 *	input.c       files, and what of them may be shown
 */
#ifndef SZ_LOAD_REQUESTS_INSIDE_H
#define SZ_LOAD_REQUESTS_INSIDE_H

#include <sys/types.h>

#include "load/requests.h"

/* requests.c */

/* Check the limit of bodies, and copy one. */
int sz_requests_keep_body(struct sz_requests *requests, const char *bytes, size_t len,
			  const char **body, struct sz_err *err);

/* request.c */

bool sz_method_is_sound(const char *method);

/* header.c */

bool sz_is_token(const char *text, size_t len);

/* Those that say how a message is framed or concern one connection: why nobody
 * but the load sets them. NULL for all others. */
const char *sz_header_reserved(const char *name);

bool sz_header_is_secret(const char *name);

/* Can it be sent as it is? */
int sz_header_check(const char *name, const char *value, struct sz_err *err);

/* Add a header to those of the set. */
int sz_headers_add(struct sz_requests *requests, const char *name, const char *value,
		   struct sz_err *err);

/* The same from "Name: value". */
int sz_headers_add_line(struct sz_requests *requests, const char *line, size_t len,
			struct sz_err *err);

/* The same from a text with one per line. */
int sz_headers_add_lines(struct sz_requests *requests, const char *name, const char *text,
			 size_t len, struct sz_err *err);

/* origin.c */

/* Starts "http://" or "https://". */
bool sz_url_is_http(const char *text);

/* *target points into text, or to "/". */
int sz_origin_parse(const char *text, struct sz_origin *origin, const char **target,
		    struct sz_err *err);

bool sz_origin_is_same(const struct sz_origin *a, const struct sz_origin *b);

/* The index of an origin in the set, which it is added to when new. */
int sz_requests_find_origin(struct sz_requests *requests, const struct sz_origin *origin,
			    size_t *index, struct sz_err *err);

/* moment.c: since 1970, UTC. False: not such a time stamp. */

#define SZ_MOMENT_LOG_BYTES 26

/* "10/Oct/2000:13:55:36 -0700": SZ_MOMENT_LOG_BYTES of them. */
bool sz_moment_from_log(const char *text, int64_t *s);

/* "2009-07-24T19:20:30.45+01:00", ISO 8601 as HAR files have it. */
bool sz_moment_from_iso(const char *text, int64_t *ns);

/* input.c */

/* Append a regular file of at most so many bytes; mode may be NULL. */
int sz_input_read(const char *path, size_t most_bytes, struct sz_buf *out, mode_t *mode,
		  struct sz_err *err);

/* The start of a text that others wrote, printable on one line. */
#define SZ_INPUT_QUOTE 128
const char *sz_input_quote(const char *text, size_t len, char quote[SZ_INPUT_QUOTE]);

/* Bytes of a byte order mark at the beginning, which some editors and browsers write. */
size_t sz_input_mark(const char *text, size_t len);

/* The next line of text[*at..len): its start and, without the line's end, its
 * length; *at moves behind it. NULL at the end. */
const char *sz_input_line(const char *text, size_t len, size_t *at, size_t *line_len);

#endif
