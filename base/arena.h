/*
 * Memory that lives exactly as long as one request, query or collection round.
 *
 * Shape    a bump allocator in growing chunks, freed in one call. Under a sanitizer
 *          every allocation is a malloc of its own, so that overruns are seen.
 * Units    bytes.
 * Errors   NULL once the arena's own limit or the shared budget is reached. That is
 *          remembered: arena_overflowed() can be asked once, at the end.
 * Threads  none: one thread at a time; hand it over, do not share it.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct arena;
struct chunk_cache;

/* An arena of at most limit_bytes, whose chunks also count in `budget` (or NULL). */
struct arena *arena_new(size_t limit_bytes, struct budget *budget) __attribute__((returns_nonnull));
void arena_free(struct arena *arena);
DEFINE_FREEP(arena)

/*
 * Takes its chunks but for the first from `cache`, and gives them back there. Before the
 * first allocation; the cache lives longer than the arena.
 */
void arena_use_cache(struct arena *arena, struct chunk_cache *cache);

/*
 * An arena for one step of what `trunk` is for: what it takes counts as the trunk's, under
 * the same limit and budget, until arena_free() gives it back. The trunk outlives it.
 */
struct arena *arena_branch(struct arena *trunk) __attribute__((returns_nonnull));

/* Empty again; the first chunk is kept for the next user. */
void arena_reset(struct arena *arena);

/* `size` zeroed bytes, aligned for any type, or NULL once the limit is reached. */
void *arena_alloc(struct arena *arena, size_t size);

/* The same, not zeroed: for what is written whole at once. */
void *arena_alloc_raw(struct arena *arena, size_t size);

/* count * size zeroed bytes; an overflow of the product counts as over the limit. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* The same, not zeroed. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/*
 * `old` of old_size bytes with room for new_size: in place when it was the last
 * allocation, else moved. What is new is not zeroed. Smaller stays where it is; the
 * last allocation gives back what it no longer has.
 */
void *arena_resize(struct arena *arena, void *old, size_t old_size, size_t new_size);

/* Gives the newest allocation back, for a try that was too small. Others: no effect. */
void arena_undo(struct arena *arena, void *newest, size_t size);

/* A copy of the bytes, with a NUL behind them. {NULL, 0} when it did not fit. */
struct str arena_copy(struct arena *arena, struct str bytes);
struct str arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

bool arena_overflowed(const struct arena *arena);
size_t arena_used(const struct arena *arena);

/* What its chunks take, with what is not used yet: as its budget has it. */
size_t arena_taken(const struct arena *arena);

/*
 * Fills *err for an allocation that failed: ERROR_UNAVAILABLE when the budget that
 * all share is used up, ERROR_TOO_LARGE when the request was too large by itself.
 * Returns -1.
 */
int arena_error(const struct arena *arena, struct error *err);
#ifdef __clang_analyzer__ /* which does not look into arena.c */
#define arena_error(...) ((void)(arena_error)(__VA_ARGS__), -1)
#endif

/*
 * Makes room for one more element at the end of an array in an arena: doubles
 * *capacity when `count` has reached it. False when it did not fit.
 *
 *	if (!ARENA_GROW(arena, items, count, capacity))
 *		return arena_error(arena, err);
 *	items[count++] = item;
 */
#define ARENA_GROW(arena, array, count, capacity) \
	((count) < (capacity) ||                  \
	 arena_grow((arena), (void **)&(array), sizeof(*(array)), &(capacity)))

bool arena_grow(struct arena *arena, void **array, size_t element_size, size_t *capacity);

/*
 * Room for `more` elements behind `count`, at once: what grows in leaps. It grows by half,
 * or to what is asked for.
 */
#define ARENA_RESERVE(arena, array, count, more, capacity)                            \
	((capacity) - (count) >= (more) ||                                            \
	 arena_reserve((arena), (void **)&(array), sizeof(*(array)), (count), (more), \
	               &(capacity)))

bool arena_reserve(struct arena *arena, void **array, size_t element_size, size_t count,
                   size_t more, size_t *capacity);
