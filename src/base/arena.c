/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 * 1024)
#define ALIGNMENT _Alignof(max_align_t)

struct sz_arena_block {
	struct sz_arena_block *older;
	size_t used, size; /* of bytes[] */
	_Alignas(max_align_t) char bytes[];
};

void sz_arena_fini(struct sz_arena *arena)
{
	while (arena->newest) {
		struct sz_arena_block *block = arena->newest;
		arena->newest = block->older;
		free(block);
	}
}

static struct sz_arena_block *add_block(struct sz_arena *arena, size_t size)
{
	struct sz_arena_block *block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	block->older = arena->newest;
	block->used = 0;
	block->size = size;
	arena->newest = block;
	return block;
}

void *sz_arena_alloc(struct sz_arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	size_t need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct sz_arena_block *block = arena->newest;
	if (!block || block->size - block->used < need)
		block = add_block(arena, need > BLOCK_BYTES ? need : BLOCK_BYTES);
	if (!block)
		return NULL;
	void *taken = block->bytes + block->used;
	block->used += need;
	return taken;
}

char *sz_arena_copy(struct sz_arena *arena, const char *bytes, size_t len)
{
	char *copy = sz_arena_alloc(arena, len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}
