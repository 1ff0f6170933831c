/*
 * Which members of a universe each of many lists has: stacks of groups, profiles of stacks.
 *
 * Shape    a list is a bitmap of the universe where every eighth is a member, else the
 *          gaps between its members. Bitmaps stand together; the gaps of all other lists
 *          are one column of numbers, which decoding turns into members at once: gaps of
 *          one and of two bytes alternate where they are long, and a branch for each
 *          would cost more than all else. A member that is there again (a row of another
 *          span) has gap 0.
 * Errors   ERROR_CORRUPT for bytes that are no such lists; arena_error() when the arena
 *          is full. After decoding nothing can fail: every member was checked.
 * Threads  none; what was decoded may be read by many.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "storage/block.h"
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
	const uint32_t *members;
};

struct block_presence {
	uint32_t universe;
	uint32_t list_count;
	const uint32_t *firsts; /* list_count + 1 */
	const struct block_list *lists;
};

/* `firsts` says how many members each list has. It is borrowed. */
int block_presence_decode(struct byte_cursor *cursor, uint32_t universe, uint32_t list_count,
                          const uint32_t *firsts, struct arena *arena, struct block_presence *out,
                          struct error *err);

/* Most members of a list that has any. */
static inline uint32_t block_presence_count(const struct block_presence *presence, uint32_t list)
{
	return presence->firsts[list + 1] - presence->firsts[list];
}

/* The members of a list, as many as it has. */
void block_presence_members(const struct block_presence *presence, uint32_t list, uint32_t *out);

/* ---- bitmaps ---- */

static inline size_t block_bitmap_size(uint32_t universe)
{
	return ((size_t)universe + 7) / 8;
}

/* Members [64 * word, 64 * word + 64) of a bitmap as bits, the lowest first. */
static inline uint64_t block_bitmap_word(const uint8_t *bitmap, size_t size, size_t word)
{
	const size_t left = size - word * 8;
	uint64_t bits = 0;

	memcpy(&bits, bitmap + word * 8, left < 8 ? left : 8);
	return bits;
}

/* The number of bits that are set; plain C, since the oldest machines have no such order. */
static inline uint32_t block_bits(uint64_t bits)
{
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* How many members of a bitmap of at most BLOCK_PROFILES_MAX are below a place. */
struct block_ranks {
	const uint8_t *bitmap;
	size_t size;
	uint32_t before[BLOCK_PROFILES_MAX / 64 + 1]; /* below each word */
};

void block_ranks_init(struct block_ranks *ranks, const uint8_t *bitmap, uint32_t universe);

static inline uint32_t block_ranks_below(const struct block_ranks *ranks, uint32_t place)
{
	const uint64_t below = (UINT64_C(1) << place % 64) - 1;

	if (below == 0)
		return ranks->before[place / 64];
	return ranks->before[place / 64] +
	       block_bits(block_bitmap_word(ranks->bitmap, ranks->size, place / 64) & below);
}
