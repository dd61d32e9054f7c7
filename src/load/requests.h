/* SPDX-License-Identifier: Apache-2.0
 *
 * What a load asks for: requests, checked and written out ready to send, from
 * the command line, list files, a browser's HAR file or an access log.
 *
 * What it is not: it opens no connection and decides neither when nor how
 * often a request is sent.
 *
 *	sz_requests_new -> sz_requests_add, sz_requests_read… (any number)
 *	-> read the members -> sz_requests_free
 *
 * Ownership: everything is the set's and lives until sz_requests_free(). After
 * an add or a read that failed only that may follow. Once built a set is only
 * read, by any number of threads.
 *
 * Nothing that others wrote reaches the wire unchecked: methods and names of
 * headers are tokens (RFC 9110, 5.6.2), values hold no control characters,
 * targets are visible ASCII. How a message is framed, and what concerns one
 * connection, is said by nobody but the load: such headers are refused from
 * the user and dropped from a HAR file. Values of secret headers are in no
 * error message.
 */
#ifndef SZ_LOAD_REQUESTS_H
#define SZ_LOAD_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/url.h"

#define SZ_REQUESTS_MAX 10000
#define SZ_REQUESTS_BODIES_MAX_BYTES ((size_t)64 << 20) /* all of a set; a shared one once */
#define SZ_REQUESTS_FILE_MAX_BYTES ((size_t)256 << 20)  /* of a list, HAR file or log */
#define SZ_REQUEST_HEAD_MAX_BYTES ((size_t)64 * 1024)   /* request line and headers */
#define SZ_REQUEST_JOINED_MAX_BYTES ((size_t)4 * 1024)
#define SZ_REQUEST_TARGET_MAX_BYTES ((size_t)8 * 1024) /* path and query */
#define SZ_REQUEST_METHOD_MAX_BYTES ((size_t)32)
#define SZ_REQUEST_WEIGHT_MAX 1e6
#define SZ_ORIGINS_MAX 64

/* Final status codes, 200 to 599. */
struct sz_statuses {
	uint64_t bits[10];
};

static inline bool sz_statuses_has(const struct sz_statuses *set, int status)
{
	return status >= 0 && status < 640 && (set->bits[status / 64] >> (status % 64) & 1);
}

/* "2xx", "200,204", "200-299", and such joined by commas. */
int sz_statuses_parse(const char *text, struct sz_statuses *set, struct sz_err *err);

/* Where requests go. */
struct sz_origin {
	struct sz_url url;     /* its target is that of no request */
	const char *unix_path; /* of the socket to connect to; NULL: TCP */
};

struct sz_header {
	const char *name;
	const char *value;
	bool is_secret;
};

struct sz_request {
	const char *method;
	bool is_head;       /* its response has no body */
	bool is_idempotent; /* by its method (RFC 9110, 9.2.2): may be sent twice */
	size_t origin;      /* index into the origins */
	const char *target;
	const char *host;                /* the value of Host, or of :authority */
	const struct sz_header *headers; /* in order, without Host; Content-Length if it has one */
	size_t header_count;
	const char *head; /* for HTTP/1, from the method to the empty line; a body of at most
			   * SZ_REQUEST_JOINED_MAX_BYTES follows it in memory, too */
	size_t head_bytes;
	size_t joined_bytes; /* at head: it and perhaps the body, to be sent in one go */
	bool has_cookie;     /* among the headers, and then cookies of a client's own are added */
	size_t cookie_at;    /* behind its value; else behind that of the last header */
	const char *body;    /* NULL: none. Requests may share one */
	size_t body_bytes;
	double weight;  /* above 0; shares of the set are weight over the sum of weights */
	uint64_t at_ns; /* since the first of the page or the log; 0 for others */
	const struct sz_statuses *expected;
	const char *label; /* for reports: method and target */
};

/* What a HAR file or a log has and the set has not. */
enum sz_left_out {
	SZ_LEFT_OUT_ORIGIN,    /* HAR: goes elsewhere than the page itself */
	SZ_LEFT_OUT_SCHEME,    /* HAR: data:, blob:, ws: and such */
	SZ_LEFT_OUT_CACHED,    /* HAR: answered from the browser's cache, never sent */
	SZ_LEFT_OUT_BODY,      /* has a body that the file does not hold; in a log any method but
				* GET and HEAD may have one */
	SZ_LEFT_OUT_NOT_HTTP,  /* log: what the client sent was no HTTP/1 request for a path */
	SZ_LEFT_OUT_MALFORMED, /* log: a line of another format */
	SZ_LEFT_OUT_COUNT,
};

const char *sz_left_out_name(enum sz_left_out why); /* for people */

/* How a request tells where its body ends. */
enum sz_framing {
	SZ_FRAMED_BY_LENGTH,
	SZ_FRAMED_BY_CHUNKS, /* HTTP/1.1; the body of a request is then that of the wire */
	SZ_FRAMED_BY_END,    /* HTTP/2: of the stream */
};

struct sz_requests {
	struct sz_request *items; /* those of a HAR file or a log in order of at_ns */
	size_t count;
	struct sz_origin *origins;
	size_t origin_count;

	uint64_t left_out[SZ_LEFT_OUT_COUNT];
	const char *first_malformed; /* "line 7: …", printable; NULL: none */
	uint64_t out_of_order;       /* lines of a log earlier than one before them */
	uint64_t secrets_dropped;    /* headers of a HAR file that keep_secrets would keep */
	unsigned concurrency;        /* HAR: most requests the browser had open at once; else 0 */
	const char *exposed_file;    /* a file of secrets that everybody may read, the first
				      * such; NULL: none */

	/* own */
	struct sz_arena arena;
	size_t cap, origin_cap;
	size_t body_bytes_total;
	struct sz_statuses expected;
	struct sz_header *shared; /* headers of every request */
	size_t shared_count, shared_cap;
	const char *host;   /* as asked for; NULL: the origin's */
	const char *method; /* as asked for; NULL: it follows from the body */
	const char *body;   /* of requests that may have one; NULL: none */
	size_t body_bytes;
	const char *unix_path;
	const struct sz_origin *base; /* NULL: none */
	bool keep_secrets, is_http10;
	enum sz_framing framing;
	/* The last body that was cut into chunks, and what became of it. */
	const char *whole_body, *chunked_body;
	size_t chunked_body_bytes;
};

/* What the requests of a set have in common. Texts are copied. */
struct sz_requests_config {
	const char *base;        /* URL without path: where paths alone, the requests of a log,
				  * and those of a HAR file to the page's own origin are
				  * sent. NULL: HAR files are sent where they went, the rest
				  * is refused */
	const char *unix_socket; /* connect to this path instead of host and port; may be NULL */
	const char *method;      /* of URLs given without; NULL: POST with a body, else GET */
	char *const *headers;    /* each 'Name: value' or @FILE, one such line per header;
				  * NULL-terminated, may be NULL */
	const char *body;        /* or @FILE; not for GET and HEAD of a list. NULL: none */
	const char *bearer_file; /* first line: a token. These three may be NULL */
	const char *basic_file;  /* first line: USER:PASSWORD */
	const char *cookie_file; /* first line: NAME=VALUE; … */
	const char *expected;    /* as sz_statuses_parse(); NULL: "2xx,3xx" */
	bool keep_secrets;       /* send a HAR file's cookies and other secret headers */
	bool is_http10;          /* heads are of HTTP/1.0 */
	enum sz_framing framing;
};

int sz_requests_new(const struct sz_requests_config *config, struct sz_requests **requests,
		    struct sz_err *err);
void sz_requests_free(struct sz_requests *requests); /* NULL is fine */

/* "[METHOD] URL [weight=N]"; a URL may be a path when there is a base. */
int sz_requests_add(struct sz_requests *requests, const char *text, struct sz_err *err);

/* Readers: add what a text holds. Pure but for memory. `name` is that of the
 * file, for messages. At least one request, or -1.
 *
 *	list  one sz_requests_add() a line; empty lines and #comments are skipped
 *	har   HTTP Archive 1.2, as browsers save it: requests in order of their
 *	      start, at_ns since the first. The page is the first document that
 *	      is no redirect; requests to other origins are left out unless asked
 *	      for. http://www.softwareishard.com/blog/har-12-spec/
 *	message  one request: what sz_requests_add() takes on the first line, headers,
 *	      an empty line, the body; a line's end behind it is none of it. The
 *	      file counts as one with secrets.
 *	log   Common or Combined Log Format, as nginx and Apache write it, also
 *	      with a virtual host in front or fields behind. Lines of one second
 *	      are spread evenly over it. What servers log is when a request ended.
 *	      More malformed lines than others is an error.
 */
typedef int sz_requests_reader(struct sz_requests *requests, const char *name, const char *text,
			       size_t len, struct sz_err *err);
sz_requests_reader sz_requests_read_list, sz_requests_read_har, sz_requests_read_log,
	sz_requests_read_message;

/* The same from a regular file. */
int sz_requests_read_file(struct sz_requests *requests, sz_requests_reader *reader,
			  const char *path, struct sz_err *err);

/* One request from its parts; the other functions end here. Copies all but the
 * body, which must live as long as the set. */
struct sz_request_parts {
	const char *method;
	size_t origin;
	const char *target;              /* starts with '/', or with '?' for a query to "/" */
	const struct sz_header *headers; /* before those of the set, which replace those of the
					  * same name; is_secret is found out */
	size_t header_count;
	const char *body; /* NULL: none */
	size_t body_bytes;
	double weight;
	uint64_t at_ns;
};

int sz_requests_push(struct sz_requests *requests, const struct sz_request_parts *parts,
		     struct sz_err *err);

#endif
