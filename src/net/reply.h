/* SPDX-License-Identifier: Apache-2.0
 *
 * What is kept of one response beside its outcome, where somebody wants it: the
 * cookies that it sets, and how its body begins. Pure; a codec (http1.h, http2.h)
 * tells it name, value and end of each field of the final head, and the body, in
 * pieces of any size.
 *
 * Cookies are taken as RFC 6265, 5.2 says, but for their attributes, which are not
 * looked at: one that is past its time is kept like others. What is no NAME=VALUE, or
 * holds a control character, is ignored, as browsers do. A later one of the same
 * name replaces the earlier.
 */
#ifndef SZ_NET_REPLY_H
#define SZ_NET_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#define SZ_REPLY_COOKIES_MAX 16
#define SZ_REPLY_COOKIES_BYTES ((size_t)4 * 1024) /* of all, as they are sent */
#define SZ_REPLY_BODY_BYTES 64

/* Zero-initialise. */
struct sz_reply {
	unsigned cookie_count;
	size_t cookies_bytes;
	const char *why; /* not all cookies could be kept: static text; NULL: all are */
	size_t body_bytes;
	char body[SZ_REPLY_BODY_BYTES];           /* its first bytes */
	char cookies[SZ_REPLY_COOKIES_BYTES + 1]; /* as a Cookie header has them: "a=1; b=2" */
	/* own */
	size_t name_matched; /* of "set-cookie"; SIZE_MAX: it is another field */
	bool is_attribute;   /* behind the first ';' of its value */
	size_t pending_bytes;
	char pending[SZ_REPLY_COOKIES_BYTES]; /* its value before that */
};

void sz_reply_name(struct sz_reply *reply, const char *bytes, size_t len);
void sz_reply_value(struct sz_reply *reply, const char *bytes, size_t len);
void sz_reply_end_field(struct sz_reply *reply);
void sz_reply_body(struct sz_reply *reply, const char *bytes, size_t len);

#endif
