/* SPDX-License-Identifier: Apache-2.0
 *
 * What a record must not hold. Replaced by "***":
 *
 * - the value of NAME=VALUE, of a header "NAME: VALUE", of "NAME": VALUE in JSON,
 *   and the word after --NAME, where NAME contains PASS, SECRET, TOKEN, KEY,
 *   CREDENTIAL, AUTHORIZATION or COOKIE in any case;
 * - what stands before the @ of a URL.
 *
 * When in doubt more is replaced, not less. A secret that is told by nothing
 * but its place (`-p hunter2`) is not seen.
 */
#ifndef SZ_RECORD_REDACT_H
#define SZ_RECORD_REDACT_H

#include <jansson.h>

#include "base/buf.h"

/* Append a word of a command, an environment entry or a text. At the start of
 * it, NAME=VALUE or NAME: VALUE takes up the whole of it; further on VALUE ends as in a shell
 * or in the query of a URL. */
void sz_redact(const char *word, struct sz_buf *out);

/* A copy with every string in it redacted, arrays taken as lists of words; a
 * new reference, NULL when memory is out. */
json_t *sz_redact_json(json_t *value);

#endif
