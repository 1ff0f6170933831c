/*
 * Columns of 32-bit numbers by which the parts of a block are found: ids, and sizes.
 *
 * Shape    as one run of storage/block_values.h. Sizes are decoded to where each part
 *          begins.
 * Errors   ERROR_CORRUPT for numbers that are no such column; arena_error() when the
 *          arena is full.
 * Threads  none.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "storage/byte_cursor.h"

/* Appends any numbers. */
void block_index_encode(const uint32_t *numbers, uint32_t count, struct strbuf *out);

/* Appends the sizes of parts: firsts has count + 1. */
void block_index_encode_sizes(const uint32_t *firsts, uint32_t count, struct strbuf *out);

int block_index_decode(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                       uint32_t **out, struct error *err);

/* Ids, each larger than the one before. */
int block_index_decode_ids(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                           uint32_t **out, struct error *err);

/* Fills count + 1 firsts from sizes whose sum is `total`. */
int block_index_decode_firsts(struct byte_cursor *cursor, uint32_t count, uint32_t total,
                              struct arena *arena, uint32_t **out, struct error *err);
