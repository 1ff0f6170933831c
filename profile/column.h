/*
 * A column that grows and never moves: entries in chunks of SYMBOLS_CHUNK.
 *
 * Shape    a directory of chunk pointers. A full directory is replaced by one of twice
 *          the size; the old one is kept until the end, since a reader may hold it.
 *          Chunks are mapped memory: what was never written costs nothing.
 * Threads  one adds; others read entries below a count that was published with release
 *          order after they were written (and the directory as it stood then, or a later
 *          one).
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/symbols.h"

struct column_directory;

struct column {
	size_t entry_size;
	_Atomic(void **) chunks;
	struct column_directory *directories; /* the newest first */
	uint32_t chunk_count;
};

void column_init(struct column *column, size_t entry_size);
void column_fini(struct column *column);

/*
 * The place of entry `id`, whose chunk is made when it is not there yet: ids come without
 * gaps.
 */
void *column_add(struct column *column, uint32_t id);

/* Bytes that `count` entries take. */
static inline size_t column_bytes(const struct column *column, uint32_t count)
{
	return column->entry_size * count;
}

/* The chunks, for a reader. */
static inline void *column_chunks(const struct column *column)
{
	return (void *)atomic_load_explicit(&column->chunks, memory_order_acquire);
}

/* An entry that is there, for the thread that adds. */
#define COLUMN_AT(column, type, id)      \
	(&((type *)atomic_load_explicit( \
		&(column)->chunks,       \
		memory_order_relaxed)[(id) >> SYMBOLS_CHUNK_BITS])[(id) & (SYMBOLS_CHUNK - 1)])
