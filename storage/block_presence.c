#include "storage/block_presence.h"

#include "base/mem.h"
#include "storage/block_numbers.h"

#define SOME_GAPS 256 /* that are read at once */

/*
 * Flags, a bit a list: 1, it is a bitmap. Then all bitmaps, then all gaps. A bitmap has a
 * bit a member, low bits first. The first gap of a list counts from -1, so that only a
 * member that is there again has 0.
 */

static int64_t gap_before(const uint32_t *members, uint32_t first, uint32_t i)
{
	return i == first ? (int64_t)members[i] + 1 : members[i] - members[i - 1];
}

/* Whether a list has no member twice and is shorter as a bitmap than as bytes of gaps. */
static bool is_bitmap(uint32_t universe, const uint32_t *members, uint32_t first, uint32_t end)
{
	if (end - first <= block_bitmap_size(universe))
		return false;
	for (uint32_t i = first + 1; i < end; i++)
		if (members[i] == members[i - 1])
			return false;
	return true;
}

static bool is_flagged(const uint8_t *flags, uint32_t list)
{
	return flags[list / 8] >> list % 8 & 1;
}

static void put_bitmap(uint32_t universe, const uint32_t *members, uint32_t first, uint32_t end,
                       struct strbuf *out)
{
	const size_t size = block_bitmap_size(universe);
	uint8_t *bitmap = (uint8_t *)strbuf_reserve(out, size);

	if (!bitmap)
		return;
	memset(bitmap, 0, size);
	for (uint32_t i = first; i < end; i++)
		bitmap[members[i] / 8] |= (uint8_t)(1 << members[i] % 8);
	strbuf_advance(out, size);
}

/* Fills the gaps of lists that are no bitmaps. */
static void make_gaps(uint32_t list_count, const uint8_t *flags, const uint32_t *firsts,
                      const uint32_t *members, int64_t *gaps)
{
	size_t count = 0;

	for (uint32_t i = 0; i < list_count; i++)
		for (uint32_t j = firsts[i]; !is_flagged(flags, i) && j < firsts[i + 1]; j++)
			gaps[count++] = gap_before(members, firsts[i], j);
}

static void put_gaps(uint32_t list_count, const uint8_t *flags, const uint32_t *firsts,
                     const uint32_t *members, struct strbuf *out)
{
	CLEANUP(mem_freep) int64_t *gaps = NULL;
	struct block_numbers_plan plan;
	size_t count = 0;

	for (uint32_t i = 0; i < list_count; i++)
		count += is_flagged(flags, i) ? 0 : firsts[i + 1] - firsts[i];
	gaps = mem_resize(NULL, count + 1, sizeof(*gaps));
	make_gaps(list_count, flags, firsts, members, gaps);
	plan = block_numbers_measure(gaps, count);
	block_numbers_encode(gaps, count, &plan, out);
}

void block_presence_encode(uint32_t universe, uint32_t list_count, const uint32_t *firsts,
                           const uint32_t *members, struct strbuf *out)
{
	const size_t size = block_bitmap_size(list_count);
	CLEANUP(mem_freep) uint8_t *flags = mem_zalloc(size + 1, 1);

	for (uint32_t i = 0; i < list_count; i++)
		if (is_bitmap(universe, members, firsts[i], firsts[i + 1]))
			flags[i / 8] |= (uint8_t)(1 << i % 8);
	strbuf_add(out, flags, size);
	for (uint32_t i = 0; i < list_count; i++)
		if (is_flagged(flags, i))
			put_bitmap(universe, members, firsts[i], firsts[i + 1], out);
	put_gaps(list_count, flags, firsts, members, out);
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "presence of a block is damaged: %s", what);
}

/* Whether a bitmap has `count` members, and none past the universe. */
static bool check_bitmap(struct str bitmap, uint32_t universe, uint32_t count)
{
	const uint8_t *bytes = (const uint8_t *)bitmap.data;
	uint32_t found = 0;

	for (size_t word = 0; word * 8 < bitmap.length; word++)
		found += block_bits(block_bitmap_word(bytes, bitmap.length, word));
	return found == count && (universe % 8 == 0 || bytes[universe / 8] >> universe % 8 == 0);
}

static int decode_bitmaps(struct byte_cursor *cursor, const struct block_presence *presence,
                          const uint8_t *flags, struct block_list *lists, struct error *err)
{
	const size_t size = block_bitmap_size(presence->universe);

	for (uint32_t i = 0; i < presence->list_count; i++) {
		struct str bitmap;

		lists[i] = (struct block_list){ 0 };
		if (!is_flagged(flags, i))
			continue;
		bitmap = byte_cursor_run(cursor, size);
		if (cursor->failed || size == 0 ||
		    !check_bitmap(bitmap, presence->universe, block_presence_count(presence, i)))
			return damaged(err, "a bitmap");
		lists[i].bitmap = (const uint8_t *)bitmap.data;
	}
	return 0;
}

/* Gaps one after the other, whichever list they are of. */
struct gap_reader {
	const struct block_numbers *gaps;
	size_t at;
	int64_t some[SOME_GAPS]; /* from `at` rounded down */
};

static inline uint64_t next_gap(struct gap_reader *reader)
{
	const size_t place = reader->at % SOME_GAPS;
	const size_t left = reader->gaps->count - reader->at;

	if (place == 0)
		block_numbers_read(reader->gaps, reader->at, left < SOME_GAPS ? left : SOME_GAPS,
		                   reader->some);
	reader->at++;
	return (uint64_t)reader->some[place];
}

/* The members of a list by their gaps. False when they leave the universe. */
static bool follow_gaps(struct gap_reader *reader, uint32_t count, uint32_t universe,
                        uint32_t *members)
{
	uint64_t end = 0; /* one past the last member */
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t gap = next_gap(reader);

		end += gap;
		wrong |= gap | (universe - end);
		members[i] = (uint32_t)end - 1;
	}
	/* gaps and what is left of the universe stay below 2^32, or a high bit shows */
	return wrong >> 32 == 0 && (count == 0 || members[0] != UINT32_MAX);
}

static int decode_gaps(struct byte_cursor *cursor, const struct block_presence *presence,
                       struct block_list *lists, struct arena *arena, struct error *err)
{
	struct block_numbers gaps;
	struct gap_reader reader = { .gaps = &gaps };
	size_t count = 0;
	uint32_t *members;

	for (uint32_t i = 0; i < presence->list_count; i++)
		count += lists[i].bitmap ? 0 : block_presence_count(presence, i);
	if (!block_numbers_decode(cursor, count, &gaps))
		return damaged(err, "gaps are cut");
	members = arena_array_raw(arena, count, sizeof(*members));
	if (!members)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < presence->list_count; i++) {
		const uint32_t own = block_presence_count(presence, i);

		if (lists[i].bitmap)
			continue;
		if (!follow_gaps(&reader, own, presence->universe, members))
			return damaged(err, "a gap");
		lists[i].members = members;
		members += own;
	}
	return 0;
}

int block_presence_decode(struct byte_cursor *cursor, uint32_t universe, uint32_t list_count,
                          const uint32_t *firsts, struct arena *arena, struct block_presence *out,
                          struct error *err)
{
	const struct str flags = byte_cursor_run(cursor, block_bitmap_size(list_count));
	struct block_presence presence = { universe, list_count, firsts, NULL };
	struct block_list *lists;

	if (cursor->failed)
		return damaged(err, "flags are cut");
	lists = arena_array_raw(arena, list_count, sizeof(*lists));
	if (!lists)
		return arena_error(arena, err);
	if (decode_bitmaps(cursor, &presence, (const uint8_t *)flags.data, lists, err) < 0 ||
	    decode_gaps(cursor, &presence, lists, arena, err) < 0)
		return -1;
	presence.lists = lists;
	*out = presence;
	return 0;
}

static void bitmap_members(const uint8_t *bitmap, uint32_t universe, uint32_t *out)
{
	const size_t size = block_bitmap_size(universe);

	for (size_t word = 0; word * 8 < size; word++) {
		uint64_t bits = block_bitmap_word(bitmap, size, word);

		for (; bits != 0; bits &= bits - 1)
			*out++ = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
	}
}

void block_presence_members(const struct block_presence *presence, uint32_t list, uint32_t *out)
{
	const struct block_list *own = &presence->lists[list];

	if (own->bitmap)
		bitmap_members(own->bitmap, presence->universe, out);
	else if (block_presence_count(presence, list) > 0)
		memcpy(out, own->members, block_presence_count(presence, list) * sizeof(*out));
}

void block_ranks_init(struct block_ranks *ranks, const uint8_t *bitmap, uint32_t universe)
{
	ranks->bitmap = bitmap;
	ranks->size = block_bitmap_size(universe);
	ranks->before[0] = 0;
	for (size_t word = 0; word * 8 < ranks->size; word++)
		ranks->before[word + 1] = ranks->before[word] +
		                          block_bits(block_bitmap_word(bitmap, ranks->size, word));
}
