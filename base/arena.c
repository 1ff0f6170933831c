#include "base/arena.h"

#undef arena_error /* the function itself */

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chunk_cache.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define ONE_BY_ONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_BY_ONE 1
#endif
#endif
#ifndef ONE_BY_ONE
#define ONE_BY_ONE 0
#endif

#define ALIGNMENT   alignof(max_align_t)
#define FIRST_CHUNK ((size_t)16 << 10) /* most requests without a body fit */
#define LAST_CHUNK  ((size_t)1 << 20)  /* chunks double up to this */

struct chunk {
	struct chunk *before;
	size_t size; /* bytes behind this head */
	size_t used;
	max_align_t bytes[];
};

struct arena {
	size_t limit;
	size_t taken;        /* bytes of all chunks and branches, heads included */
	size_t used;         /* bytes handed out */
	struct arena *trunk; /* of a branch: where its bytes count too; or NULL */
	struct budget *budget;
	struct chunk_cache *cache; /* or NULL */
	struct chunk *last;
	bool overflowed;
	bool starved; /* the budget, not the limit, said no */
};

struct arena *arena_new(size_t limit_bytes, struct budget *budget)
{
	struct arena *arena = mem_zalloc(1, sizeof(*arena));

	arena->limit = limit_bytes;
	arena->budget = budget;
	return arena;
}

void arena_use_cache(struct arena *arena, struct chunk_cache *cache)
{
	assert(!arena->last);
	arena->cache = cache;
}

struct arena *arena_branch(struct arena *trunk)
{
	struct arena *arena = arena_new(trunk->limit, trunk->budget);

	arena->trunk = trunk;
	arena->cache = trunk->cache;
	return arena;
}

/* Bytes that it may still take, as part of what it is a branch of. */
static size_t bytes_left(const struct arena *arena)
{
	while (arena->trunk)
		arena = arena->trunk;
	return arena->limit - arena->taken;
}

static void count_taken(struct arena *arena, size_t bytes)
{
	for (; arena; arena = arena->trunk)
		arena->taken += bytes;
}

static void count_given(struct arena *arena, size_t bytes)
{
	for (; arena; arena = arena->trunk)
		arena->taken -= bytes;
}

static bool is_cached(const struct arena *arena, size_t bytes)
{
	return arena->cache && !ONE_BY_ONE && bytes == CHUNK_CACHE_BYTES;
}

static void free_chunk(struct arena *arena, struct chunk *chunk)
{
	const size_t bytes = sizeof(*chunk) + chunk->size;

	count_given(arena, bytes);
	if (arena->budget)
		budget_give(arena->budget, bytes);
	if (is_cached(arena, bytes))
		chunk_cache_give(arena->cache, chunk);
	else
		free(chunk);
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	while (arena->last) {
		struct chunk *chunk = arena->last;

		arena->last = chunk->before;
		free_chunk(arena, chunk);
	}
	free(arena);
}

void arena_reset(struct arena *arena)
{
	while (arena->last && (ONE_BY_ONE || arena->last->before)) {
		struct chunk *chunk = arena->last;

		arena->last = chunk->before;
		free_chunk(arena, chunk);
	}
	if (arena->last)
		arena->last->used = 0;
	arena->used = 0;
	arena->overflowed = arena->starved = false;
}

static struct chunk *add_chunk(struct arena *arena, size_t size)
{
	const size_t bytes = sizeof(struct chunk) + size;
	struct chunk *chunk;

	if (bytes < size || bytes > bytes_left(arena)) {
		arena->overflowed = true;
		return NULL;
	}
	if (arena->budget && !budget_take(arena->budget, bytes)) {
		arena->overflowed = arena->starved = true;
		return NULL;
	}
	chunk = is_cached(arena, bytes) ? chunk_cache_take(arena->cache) : malloc(bytes);
	if (!chunk) {
		if (arena->budget)
			budget_give(arena->budget, bytes);
		arena->overflowed = arena->starved = true;
		return NULL;
	}
	chunk->before = arena->last;
	chunk->size = size;
	chunk->used = 0;
	count_taken(arena, bytes);
	arena->last = chunk;
	return chunk;
}

/* A size for the next chunk that holds `size` bytes and does not pass the limit. */
static size_t next_chunk_size(const struct arena *arena, size_t size)
{
	const size_t left = bytes_left(arena);
	size_t wanted = arena->last ? arena->last->size * 2 : FIRST_CHUNK;

	if (arena->cache && arena->last)
		wanted = CHUNK_CACHE_BYTES - sizeof(struct chunk);
	if (wanted > LAST_CHUNK)
		wanted = LAST_CHUNK;
	if (left > sizeof(struct chunk) && wanted > left - sizeof(struct chunk))
		wanted = (left - sizeof(struct chunk)) & ~(ALIGNMENT - 1);
	return ONE_BY_ONE || wanted < size ? size : wanted;
}

void *arena_alloc_raw(struct arena *arena, size_t size)
{
	const size_t room = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	struct chunk *chunk = arena->last;
	void *bytes;

	if (room < size || room > arena->limit) {
		arena->overflowed = true;
		return NULL;
	}
	if (ONE_BY_ONE || !chunk || chunk->size - chunk->used < room) {
		/*
		 * exactly `size` when one by one, so that the byte behind it is poisoned
		 */
		chunk = add_chunk(arena, ONE_BY_ONE ? size : next_chunk_size(arena, room));
		if (!chunk)
			return NULL;
	}
	bytes = (char *)chunk->bytes + chunk->used;
	chunk->used += ONE_BY_ONE ? size : room;
	arena->used += room;
	return bytes;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	void *bytes = arena_alloc_raw(arena, size);

	if (bytes && size > 0)
		memset(bytes, 0, size);
	return bytes;
}

void *arena_array_raw(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		arena->overflowed = true;
		return NULL;
	}
	return arena_alloc_raw(arena, bytes);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	void *bytes = arena_array_raw(arena, count, size);

	if (bytes)
		memset(bytes, 0, count * size);
	return bytes;
}

static size_t room_for(size_t size)
{
	return ONE_BY_ONE ? size : (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* Whether the `size` bytes at `bytes` are what was handed out last. */
static bool is_newest(const struct arena *arena, const void *bytes, size_t size)
{
	const struct chunk *chunk = arena->last;

	return chunk && chunk->used >= room_for(size) &&
	       (const char *)bytes == (const char *)chunk->bytes + (chunk->used - room_for(size));
}

/* Grows or shrinks the newest allocation where it stands. */
static bool resize_in_place(struct arena *arena, const void *old, size_t old_size, size_t new_size)
{
	const size_t old_room = room_for(old_size);
	const size_t new_room = room_for(new_size);
	struct chunk *chunk = arena->last;

	if (ONE_BY_ONE || new_room < new_size || !is_newest(arena, old, old_size) ||
	    (new_room > old_room && new_room - old_room > chunk->size - chunk->used))
		return false;
	chunk->used = chunk->used - old_room + new_room;
	arena->used = arena->used - old_room + new_room;
	return true;
}

void *arena_resize(struct arena *arena, void *old, size_t old_size, size_t new_size)
{
	void *bytes;

	if (old && (resize_in_place(arena, old, old_size, new_size) || new_size <= old_size))
		return old;
	bytes = arena_alloc_raw(arena, new_size);
	if (bytes && old && old_size > 0)
		memcpy(bytes, old, old_size);
	return bytes;
}

void arena_undo(struct arena *arena, void *newest, size_t size)
{
	struct chunk *chunk = arena->last;

	if (!newest || !is_newest(arena, newest, size))
		return;
	chunk->used -= room_for(size);
	arena->used -= (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	/* the first chunk stays, for arena_reset() */
	if (chunk->used == 0 && (ONE_BY_ONE || chunk->before)) {
		arena->last = chunk->before;
		free_chunk(arena, chunk);
	}
}

struct str arena_copy(struct arena *arena, struct str bytes)
{
	char *copy;

	if (bytes.length == SIZE_MAX)
		return (struct str){ NULL, 0 };
	copy = arena_alloc_raw(arena, bytes.length + 1);
	if (!copy)
		return (struct str){ NULL, 0 };
	if (bytes.length > 0)
		memcpy(copy, bytes.data, bytes.length);
	copy[bytes.length] = '\0';
	return (struct str){ copy, bytes.length };
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	int length;
	char *text;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = length < 0 ? NULL : arena_alloc_raw(arena, (size_t)length + 1);
	if (!text)
		return (struct str){ NULL, 0 };
	va_start(args, format);
	(void)vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return (struct str){ text, (size_t)length };
}

bool arena_grow(struct arena *arena, void **array, size_t element_size, size_t *capacity)
{
	const size_t wanted = *capacity ? *capacity * 2 : 16;
	size_t bytes;
	void *grown;

	if (wanted < *capacity || __builtin_mul_overflow(wanted, element_size, &bytes)) {
		arena->overflowed = true;
		return false;
	}
	grown = arena_resize(arena, *array, *capacity * element_size, bytes);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

bool arena_reserve(struct arena *arena, void **array, size_t element_size, size_t count,
                   size_t more, size_t *capacity)
{
	size_t wanted = *capacity + *capacity / 2;
	size_t least;
	size_t bytes;
	void *grown;

	if (__builtin_add_overflow(count, more, &least)) {
		arena->overflowed = true;
		return false;
	}
	if (wanted < least)
		wanted = least;
	if (__builtin_mul_overflow(wanted, element_size, &bytes)) {
		arena->overflowed = true;
		return false;
	}
	grown = arena_resize(arena, *array, *capacity * element_size, bytes);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

bool arena_overflowed(const struct arena *arena)
{
	return arena->overflowed;
}

size_t arena_used(const struct arena *arena)
{
	return arena->used;
}

size_t arena_taken(const struct arena *arena)
{
	return arena->taken;
}

int arena_error(const struct arena *arena, struct error *err)
{
	if (arena->starved)
		return error_set(err, ERROR_UNAVAILABLE,
		                 "memory.limit is used up by other requests; try again");
	return error_set(err, ERROR_TOO_LARGE,
	                 "the request needs more than the %zu bytes of memory that one may take "
	                 "(half of memory.limit): ask for less, or a shorter time",
	                 arena->limit);
}
