/* SPDX-License-Identifier: Apache-2.0
 *
 * What fuzz targets share. A target is one file with LLVMFuzzerTestOneInput();
 * it is linked with libFuzzer to search, and with replay.c to run its corpus
 * as a plain test.
 */
#ifndef SZ_FUZZ_H
#define SZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant; unlike assert() it holds in every build. */
#define FUZZ_CHECK(condition)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The input as a string in memory of its exact size, so that a sanitizer sees
 * every read behind its end. free() it. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	FUZZ_CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
