/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: cleanup attributes and a growing array. Header only.
 *
 *	sz_autofree char *text = NULL;       freed at the end of the scope
 *	sz_autoclose int fd = -1;            closed at the end of the scope
 */
#ifndef SZ_BASE_MEM_H
#define SZ_BASE_MEM_H

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define SZ_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

static inline void sz_free_at(void *pointer)
{
	free(*(void **)pointer);
}

static inline void sz_close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define sz_autofree __attribute__((cleanup(sz_free_at)))
#define sz_autoclose __attribute__((cleanup(sz_close_at)))

/* Hand a value out of a scope that would free or close it. */
#define sz_steal(pointer)                                                                          \
	({                                                                                         \
		typeof(pointer) stolen_ = (pointer);                                               \
		(pointer) = NULL;                                                                  \
		stolen_;                                                                           \
	})

static inline int sz_steal_fd(int *fd)
{
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

/* Make room for `need` items of item_size bytes in *array; *cap counts items.
 * Doubles, so appending is linear in total. 0, or -1 when memory is out
 * (*array is then unchanged and still owned by the caller). */
static inline int sz_grow(void *array, size_t *cap, size_t need, size_t item_size)
{
	if (need <= *cap)
		return 0;
	size_t want = *cap ? *cap * 2 : 8;
	if (want < need)
		want = need;
	void *grown = reallocarray(*(void **)array, want, item_size);
	if (!grown)
		return -1;
	*(void **)array = grown;
	*cap = want;
	return 0;
}

#endif
