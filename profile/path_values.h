/*
 * A value for each of some paths of a path_table: what a query adds up.
 *
 * Shape    values in chunks of PATH_VALUES_CHUNK paths that are made when one of them is
 *          needed, since the paths of one program lie side by side; a mark for each path
 *          that has a value, be it 0. Paths are visited through their marks.
 * Errors   false or NULL when the arena is full.
 * Threads  none.
 */
#pragma once

#include "base/arena.h"
#include "profile/path_table.h"

#define PATH_VALUES_BITS  12
#define PATH_VALUES_CHUNK (UINT32_C(1) << PATH_VALUES_BITS)

struct path_values_chunk {
	uint64_t marks[PATH_VALUES_CHUNK / 64];
	int64_t values[PATH_VALUES_CHUNK];
};

struct path_values {
	struct arena *arena;
	struct path_values_chunk **chunks; /* NULL where no path has a value */
	size_t capacity;
};

/* Zeroed but for its arena, it has none. Room for paths below `count`. */
bool path_values_reserve(struct path_values *values, uint32_t count);

/* A copy of all of them. */
bool path_values_copy(struct path_values *values, const struct path_values *from);

/* No path has a value; memory is kept. */
void path_values_clear(struct path_values *values);

struct path_values_chunk *path_values_make_chunk(struct path_values *values, uint32_t path);

/* The place of a path's value, marked; 0 when it had none. The path is below the count. */
static inline int64_t *path_values_at(struct path_values *values, uint32_t path)
{
	const uint32_t place = path & (PATH_VALUES_CHUNK - 1);
	struct path_values_chunk *chunk = values->chunks[path >> PATH_VALUES_BITS];

	if (!chunk && !(chunk = path_values_make_chunk(values, path)))
		return NULL;
	chunk->marks[place >> 6] |= UINT64_C(1) << (place & 63);
	return &chunk->values[place];
}

/* The value of a path that has one, else NULL. */
static inline int64_t *path_values_find(const struct path_values *values, uint32_t path)
{
	const uint32_t place = path & (PATH_VALUES_CHUNK - 1);
	struct path_values_chunk *chunk = path >> PATH_VALUES_BITS < values->capacity
	                                          ? values->chunks[path >> PATH_VALUES_BITS]
	                                          : NULL;

	if (!chunk || !(chunk->marks[place >> 6] >> (place & 63) & 1))
		return NULL;
	return &chunk->values[place];
}

/* It has none any more. */
static inline void path_values_drop(const struct path_values *values, uint32_t path)
{
	const uint32_t place = path & (PATH_VALUES_CHUNK - 1);
	struct path_values_chunk *chunk = values->chunks[path >> PATH_VALUES_BITS];

	chunk->marks[place >> 6] &= ~(UINT64_C(1) << (place & 63));
	chunk->values[place] = 0;
}

/* The next path with a value behind `path`, the last one before it; PATH_NONE: no more. */
uint32_t path_values_next(const struct path_values *values, uint32_t path);
uint32_t path_values_previous(const struct path_values *values, uint32_t path);

/* How many there are. */
size_t path_values_count(const struct path_values *values);

/* Sums wrap. */
static inline int64_t path_values_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}
