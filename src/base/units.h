/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities as people write them: "250ms", "512MiB", "5k", "1,2,4", "1..16".
 *
 * Parsers take the whole string or fail with SZ_USAGE and a message that
 * quotes it; nothing is clamped, and outputs stay untouched on failure.
 */
#ifndef SZ_BASE_UNITS_H
#define SZ_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A whole number, optionally with k or M (powers of 1000): "50", "5k". */
int sz_parse_count(const char *text, uint64_t *count, struct sz_err *err);

/* A time: number and one of ns us ms s m h; a bare number is seconds. */
int sz_parse_duration_ns(const char *text, uint64_t *ns, struct sz_err *err);

/* A size: number and one of B kB MB GB KiB MiB GiB; a bare number is bytes. */
int sz_parse_bytes(const char *text, uint64_t *bytes, struct sz_err *err);

/* How many values a list of settings may hold, and the largest value. */
#define SZ_SETTINGS_MAX 32
#define SZ_SETTING_VALUE_MAX 4096

struct sz_settings {
	unsigned value[SZ_SETTINGS_MAX]; /* ascending, no value twice, all >= 1 */
	size_t count;
};

/* "1,2,4" or "1..16" (a range is walked by doubling and ends at its last
 * value: 1..6 is 1,2,4,6) or both mixed. */
int sz_parse_settings(const char *text, struct sz_settings *settings, struct sz_err *err);

/* Short forms for people, three significant digits: "1.20 ms", "143 MiB". The
 * text fits any buffer of SZ_UNIT_TEXT bytes. */
#define SZ_UNIT_TEXT 32
const char *sz_format_duration(char text[SZ_UNIT_TEXT], double ns);
const char *sz_format_bytes(char text[SZ_UNIT_TEXT], double bytes);

#endif
