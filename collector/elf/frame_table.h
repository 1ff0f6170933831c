/*
 * From an address to the entry of .eh_frame that describes its code.
 *
 * Shape    the file's own sorted table (.eh_frame_hdr) is searched where it lies, by some
 *          twenty reads of eight bytes; where a file has none, one is made from .eh_frame.
 * Units    addresses are the file's own; offsets count from the first byte of .eh_frame.
 * Errors   none: what cannot be read has no entries.
 * Threads  none.
 * Source   Linux Standard Base 5, 10.6.2
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/elf/frame_entry.h"

#define FRAME_INDEX_MAX ((size_t)1 << 18) /* entries of a table that is made here: 2 MiB */

struct frame_index_entry {
	uint32_t begin; /* behind the image's base */
	uint32_t offset;
};

struct frame_table {
	const struct elf_image *image;
	uint64_t table_offset; /* in the file; entries of {begin, entry}, four bytes each */
	uint64_t table_count;  /* 0: index counts */
	struct frame_index_entry *index;
	size_t index_count;
	bool has_index; /* made, be it empty: only when the first row is asked for */
};

/* Finds the file's table. Fills in the place of .eh_frame where no section says it. */
void frame_table_init(struct frame_table *table, struct elf_image *image);
void frame_table_fini(struct frame_table *table);

/* The entry whose code `address` is in. */
bool frame_table_find(struct frame_table *table, uint64_t address, struct frame_buffers *buffers,
                      struct frame_entry *out);

size_t frame_table_bytes(const struct frame_table *table);
