/*
 * Which members of a universe each of many lists has: stacks of groups, profiles of stacks.
 *
 * Shape    a list is a bitmap of the universe or the gaps between its members, whichever
 *          is shorter. Bitmaps stand together, gaps behind them: they pack better apart. A
 *          member that is there twice (rows of two spans) has gap 0 then.
 * Errors   ERROR_CORRUPT for bytes that are no such lists; arena_error() when the arena
 *          is full. After decoding nothing can fail: every member was checked.
 * Threads  none; what was decoded may be read by many.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "storage/byte_cursor.h"

/*
 * Appends the lists. List i has members[firsts[i], firsts[i + 1]), ascending, perhaps
 * repeated, all below `universe`.
 */
void block_presence_encode(uint32_t universe, uint32_t list_count, const uint32_t *firsts,
                           const uint32_t *members, struct strbuf *out);

/* One of both. */
struct block_list {
	const uint8_t *bitmap; /* or NULL */
	const uint8_t *gaps;
};

struct block_presence {
	uint32_t universe;
	uint32_t list_count;
	const uint32_t *firsts;
	const struct block_list *lists;
};

/* `firsts` (list_count + 1) says how many members each list has. It is borrowed. */
int block_presence_decode(struct byte_cursor *cursor, uint32_t universe, uint32_t list_count,
                          const uint32_t *firsts, struct arena *arena, struct block_presence *out,
                          struct error *err);

/* The members of a list, as many as it has. */
void block_presence_members(const struct block_presence *presence, uint32_t list, uint32_t *out);
