/*
 * The bytes of one file of code, wherever they lie: a descriptor, memory, or the parts
 * that a skeleton kept.
 *
 * Shape    a descriptor is read by pread() through a cache of blocks, never mapped: a file
 *          that its owner cuts while we read ends early and does no more. Memory is a list
 *          of ranges; between them the file reads as zeros.
 * Units    bytes.
 * Errors   none: a read says how much there was.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define CODE_BLOCK_BYTES 4096
#define CODE_BLOCK_COUNT 128 /* of one cache: half a MiB */

struct code_blocks;

struct code_blocks *code_blocks_new(void) __attribute__((returns_nonnull));
void code_blocks_free(struct code_blocks *blocks);
DEFINE_FREEP(code_blocks)

/* One part of a file that lies in memory. */
struct code_range {
	uint64_t offset;
	uint64_t length;
	const uint8_t *data;
};

struct code_bytes {
	uint64_t size;              /* of the whole file */
	int descriptor;             /* -1: the ranges are all there is */
	uint32_t number;            /* of the file in the cache of blocks */
	struct code_blocks *blocks; /* NULL for memory */
	struct code_range *ranges;  /* ascending, apart */
	size_t range_count;
	void *storage; /* what the ranges point into, freed with them; or NULL */
};

/* Takes the descriptor. */
void code_bytes_init_file(struct code_bytes *bytes, struct code_blocks *blocks, int descriptor,
                          uint64_t size);

/* Takes `storage`, an allocation that begins with all `length` bytes of the file. */
void code_bytes_init_memory(struct code_bytes *bytes, void *storage, size_t length);

/* Takes the array `ranges` and what they point into. */
void code_bytes_init_ranges(struct code_bytes *bytes, uint64_t size, struct code_range *ranges,
                            size_t range_count, void *storage);

/* Also for a zeroed one. */
void code_bytes_fini(struct code_bytes *bytes);

/* Reads up to `length` bytes; returns how many there were. */
size_t code_bytes_read(const struct code_bytes *bytes, uint64_t offset, void *to, size_t length);

/* All `length` bytes, or false. */
static inline bool code_bytes_get(const struct code_bytes *bytes, uint64_t offset, void *to,
                                  size_t length)
{
	return code_bytes_read(bytes, offset, to, length) == length;
}

/*
 * The text before a NUL, at most `capacity` - 1 bytes of it, with a NUL behind it in `to`.
 * Nothing is read at or behind `end`.
 */
struct str code_bytes_text(const struct code_bytes *bytes, uint64_t offset, uint64_t end, char *to,
                           size_t capacity);
