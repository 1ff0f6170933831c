#include "storage/block_presence.h"

#include "base/mem.h"
#include "base/wire.h"

/*
 * Flags, a bit a list: 1, it is a bitmap. Then all bitmaps, then all gaps. A bitmap has a
 * bit a member, low bits first. The first gap counts from -1, so that only a member that
 * is there again has 0.
 */

static uint64_t gap_before(const uint32_t *members, uint32_t first, uint32_t i)
{
	return i == first ? (uint64_t)members[i] + 1 : members[i] - members[i - 1];
}

/* Whether a list has no member twice and is shorter as a bitmap than as gaps. */
static bool is_bitmap(uint32_t universe, const uint32_t *members, uint32_t first, uint32_t end)
{
	size_t length = 0;

	for (uint32_t i = first; i < end; i++) {
		const uint64_t gap = gap_before(members, first, i);

		if (gap == 0)
			return false;
		length += varint_length(gap);
	}
	return block_bitmap_size(universe) < length;
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

static void put_gaps(const uint32_t *members, uint32_t first, uint32_t end, struct strbuf *out)
{
	for (uint32_t i = first; i < end; i++)
		wire_put_varint(out, gap_before(members, first, i));
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
	for (uint32_t i = 0; i < list_count; i++)
		if (!is_flagged(flags, i))
			put_gaps(members, firsts[i], firsts[i + 1], out);
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

/* Whether `count` gaps follow that stay within the universe. */
static bool check_gaps(struct byte_cursor *cursor, uint32_t universe, uint32_t count)
{
	uint64_t end = 0; /* one past the last member */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t gap;

		if (!varint_read(&cursor->at, cursor->end, &gap) || gap > universe - end ||
		    (gap == 0 && i == 0))
			return false;
		end += gap;
	}
	return true;
}

static int decode_lists(struct byte_cursor *cursor, const struct block_presence *presence,
                        const uint8_t *flags, struct block_list *lists, struct error *err)
{
	const size_t size = block_bitmap_size(presence->universe);

	for (uint32_t i = 0; i < presence->list_count; i++) {
		struct str bitmap;

		if (!is_flagged(flags, i))
			continue;
		bitmap = byte_cursor_run(cursor, size);
		if (cursor->failed || size == 0 ||
		    !check_bitmap(bitmap, presence->universe, block_presence_count(presence, i)))
			return damaged(err, "a bitmap");
		lists[i] = (struct block_list){ (const uint8_t *)bitmap.data, NULL };
	}
	for (uint32_t i = 0; i < presence->list_count; i++) {
		if (is_flagged(flags, i))
			continue;
		lists[i] = (struct block_list){ NULL, cursor->at };
		if (!check_gaps(cursor, presence->universe, block_presence_count(presence, i)))
			return damaged(err, "gaps");
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
	if (decode_lists(cursor, &presence, (const uint8_t *)flags.data, lists, err) < 0)
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
	const uint8_t *at = presence->lists[list].gaps;
	const uint32_t count = block_presence_count(presence, list);
	uint32_t end = 0;

	if (presence->lists[list].bitmap) {
		bitmap_members(presence->lists[list].bitmap, presence->universe, out);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		end += block_gap_read(&at);
		out[i] = end - 1;
	}
}
