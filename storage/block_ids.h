/*
 * Ids of spans or traces, one a row: random bytes that many rows share.
 *
 * Shape    a dictionary of the ids in the order of their first rows, then a code a row: 0
 *          none, 1 the next of the dictionary, 2 + n the n-th newest of those that were
 *          met already.
 * Errors   ERROR_CORRUPT for bytes that are no such column; arena_error() when the arena
 *          is full.
 * Threads  none.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

/* Appends ids of `size` bytes each; all bytes zero: none. `spare` has room for the rows. */
void block_ids_encode(const void *ids, size_t size, uint32_t row_count, int64_t *spare,
                      struct strbuf *out);

/* Fills *out with row_count * size bytes in the arena. */
int block_ids_decode(struct str column, size_t size, uint32_t row_count, struct arena *arena,
                     uint8_t **out, struct error *err);
