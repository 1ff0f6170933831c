#include "storage/block_sums.h"

#include <assert.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/block_index.h"
#include "storage/sample_page.h"

/*
 * Payload: groups, series, stacks, entries; then columns: stacks, entries of each group;
 * which stacks each group has; the sums of each series, by group and stack.
 */

/* ---- encoding ---- */

void block_sums_encode(const struct block_sums_columns *columns, struct strbuf *out)
{
	const uint32_t count = columns->firsts[columns->group_count];
	const uint32_t most = count > columns->stack_count ? count : columns->stack_count;
	CLEANUP(mem_freep) int64_t *spare = mem_zalloc((size_t)most + 1, sizeof(*spare));
	const struct block_columns sums = {
		.row_count = count,
		.series_count = columns->series_count,
		.key_count = columns->stack_count,
		.run_count = count,
		.keys = columns->entries,
		.values = columns->sums,
	};

	wire_put_varint(out, columns->group_count);
	wire_put_varint(out, columns->series_count);
	wire_put_varint(out, columns->stack_count);
	wire_put_varint(out, count);
	block_index_encode(columns->stacks, columns->stack_count, out);
	block_index_encode_sizes(columns->firsts, columns->group_count, out);
	block_presence_encode(columns->stack_count, columns->group_count, columns->firsts,
	                      columns->entries, out);
	block_values_encode(&sums, spare, out);
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "sums of a block are damaged: %s", what);
}

static int decode_columns(struct byte_cursor *cursor, uint32_t entries, struct arena *arena,
                          struct block_sums *sums, struct error *err)
{
	const struct block_shape shape = { entries, sums->series_count, sums->stack_count,
		                           entries };
	uint32_t *stacks;
	uint32_t *firsts;

	if (block_index_decode_ids(cursor, sums->stack_count, arena, &stacks, err) < 0 ||
	    block_index_decode_firsts(cursor, sums->group_count, entries, arena, &firsts, err) <
	            0 ||
	    block_presence_decode(cursor, sums->stack_count, sums->group_count, firsts, arena,
	                          &sums->presence, err) < 0 ||
	    block_values_decode(cursor, &shape, arena, &sums->values, err) < 0)
		return -1;
	sums->stacks = stacks;
	sums->firsts = firsts;
	sums->largest_stack = sums->stack_count > 0 ? stacks[sums->stack_count - 1] : 0;
	return 0;
}

int block_sums_decode(struct str payload, struct arena *arena, struct block_sums *out,
                      struct error *err)
{
	struct byte_cursor cursor = byte_cursor(payload);
	const uint64_t groups = byte_cursor_number(&cursor);
	const uint64_t series = byte_cursor_number(&cursor);
	const uint64_t stacks = byte_cursor_number(&cursor);
	const uint64_t entries = byte_cursor_number(&cursor);
	struct block_sums sums = {
		.group_count = (uint32_t)groups,
		.series_count = (uint32_t)series,
		.stack_count = (uint32_t)stacks,
	};

	if (cursor.failed || groups > BLOCK_PROFILES_MAX || series > SAMPLE_SERIES_MAX ||
	    stacks > entries || !block_may_have_rows(entries, payload.length))
		return damaged(err, "counts");
	if (decode_columns(&cursor, (uint32_t)entries, arena, &sums, err) < 0)
		return -1;
	if (!byte_cursor_done(&cursor))
		return damaged(err, "bytes behind the columns");
	*out = sums;
	return 0;
}

/* ---- adding ---- */

#define AHEAD 16 /* steps; a guess */

/* The sums of one series over some groups, by index into the block's stacks. */
struct addition {
	uint64_t *sums;
	int64_t *values; /* of the group that is added: room for the largest */
	const struct block_numbers *numbers;
	const struct block_numbers *by_entry; /* factors, or NULL */
	int64_t *factors;                     /* room for those of the group */
	const int64_t *by_stack;              /* factors, or NULL */
	uint64_t factor;                      /* when there are none */
};

static void add_bitmap(const struct addition *addition, const uint8_t *bitmap, size_t size)
{
	const int64_t *values = addition->values;

	for (size_t word = 0; word * 8 < size; word++) {
		uint64_t *sums = addition->sums + word * 64;
		uint64_t bits = block_bitmap_word(bitmap, size, word);

		if (bits == UINT64_MAX) {
			for (int i = 0; i < 64; i++)
				sums[i] += (uint64_t)values[i];
			values += 64;
			continue;
		}
		for (; bits != 0; bits &= bits - 1)
			sums[__builtin_ctzll(bits)] += (uint64_t)*values++;
	}
}

static void add_group(const struct block_sums *sums, uint32_t group,
                      const struct addition *addition)
{
	const struct block_list *list = &sums->presence.lists[group];
	const uint32_t count = block_presence_count(&sums->presence, group);

	block_numbers_read(addition->numbers, sums->firsts[group], count, addition->values);
	if (addition->by_entry) {
		block_numbers_read(addition->by_entry, sums->firsts[group], count,
		                   addition->factors);
		for (uint32_t i = 0; i < count; i++)
			addition->values[i] = (int64_t)((uint64_t)addition->values[i] *
			                                (uint64_t)addition->factors[i]);
	}
	if (list->bitmap) {
		add_bitmap(addition, list->bitmap, block_bitmap_size(sums->stack_count));
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		addition->sums[list->members[i]] += (uint64_t)addition->values[i];
}

/*
 * What a stack has in all groups is multiplied once. A block has few of the window's stacks,
 * far apart: their places are asked for some steps before they are needed.
 */
static void hand_over(const struct block_sums *sums, const struct addition *addition,
                      struct accumulator *accumulator)
{
	for (uint32_t i = 0; i < sums->stack_count; i++) {
		const uint64_t factor = addition->by_stack ? (uint64_t)addition->by_stack[i]
		                                           : addition->factor;

		if (i + AHEAD < sums->stack_count)
			accumulator_prefetch(accumulator, sums->stacks[i + AHEAD]);
		if (addition->sums[i] != 0)
			accumulator_add(accumulator, sums->stacks[i],
			                (int64_t)(addition->sums[i] * factor));
	}
}

/* Factors by entry are read where they are needed: each group has but some of them. */
static int open_series(const struct block_values *values, uint32_t series, struct arena *arena,
                       struct addition *addition, struct error *err)
{
	const struct block_column *column;
	struct block_series opened;

	if (series >= values->shape.series_count)
		return damaged(err, "a series that is not there");
	column = &values->columns[series];
	addition->numbers = &column->numbers;
	addition->factor = 1;
	if (column->coding == BLOCK_CODING_MULTIPLE_BY_RUN) {
		addition->by_entry = &column->numbers;
		addition->numbers = &values->columns[column->base].numbers;
	} else if (column->coding == BLOCK_CODING_MULTIPLE) {
		if (block_values_open(values, series, arena, &opened, err) < 0)
			return -1;
		addition->by_stack = opened.by_key;
		addition->factor = opened.factor;
		addition->numbers = &values->columns[column->base].numbers;
	}
	return 0;
}

/* Room for the sums, and for what the largest of the groups has. */
static int take_room(const struct block_sums *sums, const struct block_group_list *groups,
                     struct arena *arena, struct addition *addition, struct error *err)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < groups->count; i++) {
		uint32_t count;

		if (groups->indexes[i] >= sums->group_count)
			return damaged(err, "a group that is not there");
		count = block_presence_count(&sums->presence, groups->indexes[i]);
		largest = count > largest ? count : largest;
	}
	addition->sums = arena_array(arena, sums->stack_count, sizeof(*addition->sums));
	addition->values = arena_array_raw(arena, largest, sizeof(*addition->values));
	addition->factors = arena_array_raw(arena, addition->by_entry ? largest : 0,
	                                    sizeof(*addition->factors));
	return addition->sums && addition->values && addition->factors ? 0
	                                                               : arena_error(arena, err);
}

int block_sums_add(const struct block_sums *sums, const struct block_group_list *groups,
                   uint32_t series, struct arena *arena, struct accumulator *accumulator,
                   struct error *err)
{
	struct addition addition = { 0 };

	assert(sums->stack_count == 0 || accumulator->capacity > sums->largest_stack);
	if (open_series(&sums->values, series, arena, &addition, err) < 0 ||
	    take_room(sums, groups, arena, &addition, err) < 0)
		return -1;
	for (size_t i = 0; i < groups->count; i++)
		add_group(sums, groups->indexes[i], &addition);
	hand_over(sums, &addition, accumulator);
	return 0;
}
