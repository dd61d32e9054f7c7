/* SPDX-License-Identifier: Apache-2.0
 *
 * What messages may show of what somebody wrote.
 */
#ifndef SZ_BASE_QUOTE_H
#define SZ_BASE_QUOTE_H

/* The beginning of a text that is a URL, or may be meant as one, without what stands
 * before its last '@': that may be a password, which can hold any character. Returns
 * quote. */
#define SZ_URL_QUOTE 200
const char *sz_url_quote(const char *text, char quote[SZ_URL_QUOTE]);

#endif
