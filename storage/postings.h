/*
 * A list of ascending ids that only grows: which series have a value of a label.
 *
 * Shape    the first id stands in the list itself, the others in chunks that double in
 *          size and never move; a value that one series has takes no chunk.
 * Threads  one adds; any may read at the same time, and sees ids that were added before
 *          it asked for a cursor. What was added later than a reader's view of the series
 *          lies at or above the view's count: readers stop there.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct postings_chunk;

/* Zeroed, it is empty. */
struct postings {
	uint32_t first;
	_Atomic uint32_t count;
	struct postings_chunk *chunks; /* behind the first id */
	struct postings_chunk *last;   /* of the thread that adds */
};

/* Adds an id that is larger than all that are there. False when the arena is full. */
bool postings_add(struct postings *list, uint32_t id, struct arena *arena);

static inline uint32_t postings_count(const struct postings *list)
{
	return atomic_load_explicit(&list->count, memory_order_acquire);
}

/* Where a reader stands; made by postings_read(). */
struct postings_cursor {
	const struct postings *list; /* NULL behind the first id */
	const struct postings_chunk *chunk;
	uint32_t left;
};

struct postings_cursor postings_read(const struct postings *list);

/* The next run of ids, in order. False at the end. */
bool postings_next(struct postings_cursor *cursor, const uint32_t **out_ids, uint32_t *out_count);

/* Asserts that ids ascend, and that there are as many as is said. */
void postings_check(const struct postings *list);
