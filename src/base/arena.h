/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of many small things that end together: taken piece by piece, given
 * back in one call. Zero-initialise.
 */
#ifndef SZ_BASE_ARENA_H
#define SZ_BASE_ARENA_H

#include <stddef.h>

struct sz_arena {
	struct sz_arena_block *newest;
};

void sz_arena_fini(struct sz_arena *arena);

/* Aligned for any type, not initialised; NULL when memory is out. */
void *sz_arena_alloc(struct sz_arena *arena, size_t bytes);

/* A copy with a NUL behind it; NULL when memory is out. */
char *sz_arena_copy(struct sz_arena *arena, const char *bytes, size_t len);

#endif
