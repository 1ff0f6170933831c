#include "storage/block_index.h"

#include "base/mem.h"
#include "storage/block_values.h"

void block_index_encode(const uint32_t *numbers, uint32_t count, struct strbuf *out)
{
	CLEANUP(mem_freep) int64_t *wide = mem_zalloc((size_t)count + 1, 2 * sizeof(*wide));

	for (uint32_t i = 0; i < count; i++)
		wide[i] = numbers[i];
	block_values_encode_one(wide, count, wide + count + 1, out);
}

void block_index_encode_sizes(const uint32_t *firsts, uint32_t count, struct strbuf *out)
{
	CLEANUP(mem_freep) uint32_t *sizes = mem_zalloc((size_t)count + 1, sizeof(*sizes));

	for (uint32_t i = 0; i < count; i++)
		sizes[i] = firsts[i + 1] - firsts[i];
	block_index_encode(sizes, count, out);
}

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "an index of a block is damaged: %s", what);
}

int block_index_decode(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                       uint32_t **out, struct error *err)
{
	uint32_t *numbers;
	int64_t *wide;

	numbers = arena_array_raw(arena, count, sizeof(*numbers));
	if (!numbers)
		return arena_error(arena, err);
	if (block_values_decode_one(cursor, count, arena, &wide, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (wide[i] < 0 || wide[i] > UINT32_MAX)
			return damaged(err, "a number is no 32-bit one");
		numbers[i] = (uint32_t)wide[i];
	}
	*out = numbers;
	return 0;
}

int block_index_decode_ids(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                           uint32_t **out, struct error *err)
{
	uint32_t *ids;

	if (block_index_decode(cursor, count, arena, &ids, err) < 0)
		return -1;
	for (uint32_t i = 1; i < count; i++)
		if (ids[i] <= ids[i - 1])
			return damaged(err, "ids do not ascend");
	*out = ids;
	return 0;
}

int block_index_decode_firsts(struct byte_cursor *cursor, uint32_t count, uint32_t total,
                              struct arena *arena, uint32_t **out, struct error *err)
{
	uint32_t *firsts = arena_array_raw(arena, (size_t)count + 1, sizeof(*firsts));
	uint32_t *sizes;
	uint64_t sum = 0;

	if (!firsts)
		return arena_error(arena, err);
	if (block_index_decode(cursor, count, arena, &sizes, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		firsts[i] = (uint32_t)sum;
		sum += sizes[i];
	}
	if (sum != total)
		return damaged(err, "sizes do not add up");
	firsts[count] = total;
	*out = firsts;
	return 0;
}
