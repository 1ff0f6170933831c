#include "storage/block_detail.h"

#include <assert.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/block_ids.h"
#include "storage/block_index.h"
#include "storage/row_order.h"

/*
 * Payload: profiles, groups, series, stacks, runs, rows, flags; then columns: profiles of
 * each group; stacks, rows of each stack; and in the order of block_detail_order(): which
 * profiles each stack has; the values of each series; spans and traces when the flags say
 * so, with their length in front.
 */
enum {
	HAS_SPANS = 1 << 0,
	HAS_TRACES = 1 << 1,
};

/*
 * Few rows first would be the order of the sort: its keys are what is missing to the
 * most.
 */
void block_detail_order(const uint32_t *row_counts, uint32_t stack_count, uint32_t *order,
                        uint32_t *firsts)
{
	CLEANUP(mem_freep)
	struct row_key *keys = mem_zalloc((size_t)stack_count + 1, 2 * sizeof(*keys));
	uint32_t first = 0;

	for (uint32_t i = 0; i < stack_count; i++)
		keys[i] = (struct row_key){ UINT32_MAX - row_counts[i], i };
	row_order_sort(keys, keys + stack_count, stack_count);
	for (uint32_t i = 0; i < stack_count; i++) {
		order[i] = keys[i].row;
		firsts[i] = first;
		first += row_counts[order[i]];
	}
	firsts[stack_count] = first;
}

/* ---- encoding ---- */

static void put_ids(const void *ids, size_t size, uint32_t row_count, int64_t *spare,
                    struct strbuf *out)
{
	struct strbuf column;

	strbuf_init(&column, out->limit);
	block_ids_encode(ids, size, row_count, spare, &column);
	wire_put_varint(out, column.length);
	strbuf_add_str(out, strbuf_view(&column));
	if (strbuf_overflowed(&column))
		(void)strbuf_reserve(out, SIZE_MAX); /* let the buffer know */
	strbuf_fini(&column);
}

static void put_values(const struct block_detail_columns *columns, const struct block_runs *runs,
                       const uint32_t *keys, int64_t *spare, struct strbuf *out)
{
	const struct block_columns values = {
		.row_count = columns->row_count,
		.series_count = columns->series_count,
		.key_count = columns->stack_count,
		.run_count = runs->count,
		.firsts = runs->firsts,
		.keys = keys,
		.values = columns->values,
	};

	block_values_encode(&values, spare, out);
	if (columns->span_ids)
		put_ids(columns->span_ids, sizeof(*columns->span_ids), columns->row_count, spare,
		        out);
	if (columns->trace_ids)
		put_ids(columns->trace_ids, TRACE_ID_SIZE, columns->row_count, spare, out);
}

/* The stack of each run. */
static uint32_t *keys_of(const struct block_runs *runs, const uint32_t *order, uint32_t stack_count,
                         struct arena *arena)
{
	uint32_t *keys = arena_array_raw(arena, runs->count, sizeof(*keys));

	for (uint32_t place = 0; keys && place < stack_count; place++)
		for (uint32_t i = runs->of_lists[place]; i < runs->of_lists[place + 1]; i++)
			keys[i] = order[place];
	return keys;
}

static void put_head(const struct block_detail_columns *columns, uint32_t run_count,
                     struct strbuf *out)
{
	const uint64_t head[] = {
		columns->groups.firsts[columns->groups.count],
		columns->groups.count,
		columns->series_count,
		columns->stack_count,
		run_count,
		columns->row_count,
		(columns->span_ids ? HAS_SPANS : 0) | (columns->trace_ids ? HAS_TRACES : 0),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(head); i++)
		wire_put_varint(out, head[i]);
	block_index_encode_sizes(columns->groups.firsts, columns->groups.count, out);
	block_index_encode(columns->stacks, columns->stack_count, out);
	block_index_encode(columns->row_counts, columns->stack_count, out);
}

int block_detail_encode(const struct block_detail_columns *columns, struct arena *scratch,
                        struct strbuf *out, struct error *err)
{
	const uint32_t stacks = columns->stack_count;
	uint32_t *order = arena_array_raw(scratch, stacks, sizeof(*order));
	uint32_t *firsts = arena_array_raw(scratch, (size_t)stacks + 1, sizeof(*firsts));
	int64_t *spare = arena_array_raw(scratch, columns->row_count, sizeof(*spare));
	struct block_runs runs;
	uint32_t *keys;

	if (!order || !firsts || !spare)
		return arena_error(scratch, err);
	block_detail_order(columns->row_counts, stacks, order, firsts);
	if (block_runs_make(&columns->groups, stacks, firsts, columns->profiles, scratch, &runs,
	                    err) < 0)
		return -1;
	keys = keys_of(&runs, order, stacks, scratch);
	if (!keys)
		return arena_error(scratch, err);
	put_head(columns, runs.count, out);
	block_presence_encode(columns->groups.firsts[columns->groups.count], stacks, firsts,
	                      columns->profiles, out);
	put_values(columns, &runs, keys, spare, out);
	return 0;
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "detail of a block is damaged: %s", what);
}

/* Stacks, how many rows each has, and so where its rows stand. */
static int decode_stacks(struct byte_cursor *cursor, struct arena *arena,
                         struct block_detail *detail, struct error *err)
{
	const uint32_t count = detail->stack_count;
	uint32_t *order = arena_array_raw(arena, count, sizeof(*order));
	uint32_t *firsts = arena_array_raw(arena, (size_t)count + 1, sizeof(*firsts));
	uint32_t *row_counts;
	uint32_t *stacks;
	uint64_t rows = 0;

	if (!order || !firsts)
		return arena_error(arena, err);
	if (block_index_decode_ids(cursor, count, arena, &stacks, err) < 0 ||
	    block_index_decode(cursor, count, arena, &row_counts, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (row_counts[i] == 0)
			return damaged(err, "a stack without rows");
		rows += row_counts[i];
	}
	if (rows != detail->row_count)
		return damaged(err, "rows of stacks do not add up");
	block_detail_order(row_counts, count, order, firsts);
	detail->stacks = stacks;
	detail->order = order;
	detail->firsts = firsts;
	detail->largest_stack = count > 0 ? stacks[count - 1] : 0;
	return 0;
}

/* Steps and factors of runs need to know where runs begin. */
static bool needs_runs(const struct block_values *values)
{
	for (uint32_t i = 0; i < values->shape.series_count; i++)
		if (values->columns[i].coding != BLOCK_CODING_NUMBERS &&
		    values->columns[i].coding != BLOCK_CODING_MULTIPLE)
			return true;
	return false;
}

static int decode_rows(struct byte_cursor *cursor, uint32_t run_count, uint64_t flags,
                       struct arena *arena, struct block_detail *detail, struct error *err)
{
	const struct block_shape shape = { detail->row_count, detail->series_count,
		                           detail->stack_count, run_count };

	if (block_presence_decode(cursor, detail->profile_count, detail->stack_count,
	                          detail->firsts, arena, &detail->presence, err) < 0 ||
	    block_values_decode(cursor, &shape, arena, &detail->values, err) < 0)
		return -1;
	if (needs_runs(&detail->values) &&
	    block_runs_find(&detail->groups, &detail->presence, run_count, arena, &detail->runs,
	                    err) < 0)
		return -1;
	if (flags & HAS_SPANS)
		detail->spans = byte_cursor_text(cursor);
	if (flags & HAS_TRACES)
		detail->traces = byte_cursor_text(cursor);
	return byte_cursor_done(cursor) ? 0 : damaged(err, "bytes behind the columns");
}

static int decode_groups(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                         struct block_detail *detail, struct error *err)
{
	uint32_t *firsts;

	if (block_index_decode_firsts(cursor, count, detail->profile_count, arena, &firsts, err) <
	    0)
		return -1;
	detail->groups = (struct block_groups){ count, firsts };
	return 0;
}

int block_detail_decode(struct str payload, struct arena *arena, struct block_detail *out,
                        struct error *err)
{
	struct byte_cursor cursor = byte_cursor(payload);
	const uint64_t profiles = byte_cursor_number(&cursor);
	const uint64_t groups = byte_cursor_number(&cursor);
	const uint64_t series = byte_cursor_number(&cursor);
	const uint64_t stacks = byte_cursor_number(&cursor);
	const uint64_t runs = byte_cursor_number(&cursor);
	const uint64_t rows = byte_cursor_number(&cursor);
	const uint64_t flags = byte_cursor_number(&cursor);
	struct block_detail detail = {
		.profile_count = (uint32_t)profiles,
		.series_count = (uint32_t)series,
		.stack_count = (uint32_t)stacks,
		.row_count = (uint32_t)rows,
	};

	if (cursor.failed || profiles > BLOCK_PROFILES_MAX || groups > profiles ||
	    series > SAMPLE_SERIES_MAX || stacks > runs || runs > rows ||
	    !block_may_have_rows(rows, payload.length) || flags > (HAS_SPANS | HAS_TRACES))
		return damaged(err, "counts");
	if (decode_groups(&cursor, (uint32_t)groups, arena, &detail, err) < 0 ||
	    decode_stacks(&cursor, arena, &detail, err) < 0 ||
	    decode_rows(&cursor, (uint32_t)runs, flags, arena, &detail, err) < 0)
		return -1;
	*out = detail;
	return 0;
}

void block_detail_values(const struct block_detail *detail, const struct block_series *series,
                         uint32_t place, int64_t *out)
{
	const uint32_t first = detail->firsts[place];
	const uint32_t key = detail->order[place];

	if (block_series_is_plain(series)) {
		block_series_read(series, first, detail->firsts[place + 1] - first, key, 0, out);
		return;
	}
	for (uint32_t run = detail->runs.of_lists[place]; run < detail->runs.of_lists[place + 1];
	     run++) {
		const uint32_t from = detail->runs.firsts[run];

		block_series_read(series, from, detail->runs.firsts[run + 1] - from, key, run,
		                  out + (from - first));
	}
}

/* ---- adding ---- */

#define FEW_SPANS 16 /* whose ends are looked up in a bitmap rather than each member; a guess */

/* Some profiles of one series, and room for the rows of one stack. */
struct cut {
	const struct block_detail *detail;
	const struct block_series *series;
	const struct block_span *spans;
	size_t span_count;
	bool is_plain;   /* the series is */
	uint8_t *inside; /* of each profile: 0xff when a span has it, else 0 */
	uint8_t *mask;   /* of each row of a run */
	int64_t *values; /* likewise, when the column is not plain */
};

/* The sum of rows [from, end) of a stack. */
static uint64_t sum_range(const struct cut *cut, uint32_t first, uint32_t from, uint32_t end)
{
	uint64_t sum = 0;

	if (cut->is_plain)
		return block_numbers_sum(&cut->series->numbers, first + from, end - from);
	for (uint32_t i = from; i < end; i++)
		sum += (uint64_t)cut->values[i];
	return sum;
}

static uint64_t sum_ranges(const struct cut *cut, uint32_t first, const uint8_t *bitmap)
{
	struct block_ranks ranks;
	uint64_t sum = 0;

	block_ranks_init(&ranks, bitmap, cut->detail->profile_count);
	for (size_t i = 0; i < cut->span_count; i++)
		sum += sum_range(cut, first, block_ranks_below(&ranks, cut->spans[i].first),
		                 block_ranks_below(&ranks, cut->spans[i].end));
	return sum;
}

static void mask_bitmap(const struct cut *cut, const uint8_t *bitmap)
{
	const size_t size = block_bitmap_size(cut->detail->profile_count);
	uint8_t *mask = cut->mask;

	for (size_t word = 0; word * 8 < size; word++) {
		uint64_t bits = block_bitmap_word(bitmap, size, word);

		for (; bits != 0; bits &= bits - 1)
			*mask++ = cut->inside[word * 64 + (size_t)__builtin_ctzll(bits)];
	}
}

static uint64_t sum_masked(const struct cut *cut, uint32_t first, uint32_t count)
{
	uint64_t sum = 0;

	if (cut->is_plain)
		return block_numbers_sum_masked(&cut->series->numbers, first, count, cut->mask);
	for (uint32_t i = 0; i < count; i++)
		sum += (uint64_t)cut->values[i] & -(uint64_t)(cut->mask[i] & 1);
	return sum;
}

/* The sum of the rows that a stack has in the cut; of a plain one before its factor. */
static uint64_t sum_stack(const struct cut *cut, uint32_t place)
{
	const struct block_list *list = &cut->detail->presence.lists[place];
	const uint32_t first = cut->detail->firsts[place];
	const uint32_t count = cut->detail->firsts[place + 1] - first;

	if (!cut->is_plain)
		block_detail_values(cut->detail, cut->series, place, cut->values);
	if (list->bitmap && cut->span_count <= FEW_SPANS)
		return sum_ranges(cut, first, list->bitmap);
	if (!list->bitmap && cut->is_plain)
		return block_numbers_sum_members(&cut->series->numbers, first, count, list->members,
		                                 cut->inside);
	if (list->bitmap)
		mask_bitmap(cut, list->bitmap);
	for (uint32_t i = 0; !list->bitmap && i < count; i++)
		cut->mask[i] = cut->inside[list->members[i]];
	return sum_masked(cut, first, count);
}

/* Whether the spans are what they should be; marks their profiles. */
static bool mark_spans(const struct block_detail *detail, const struct block_span *spans,
                       size_t span_count, uint8_t *inside)
{
	uint32_t last = 0;

	for (size_t i = 0; i < span_count; i++) {
		if (spans[i].first < last || spans[i].end < spans[i].first ||
		    spans[i].end > detail->profile_count)
			return false;
		memset(inside + spans[i].first, 0xff, spans[i].end - spans[i].first);
		last = spans[i].end;
	}
	return true;
}

int block_detail_add(const struct block_detail *detail, uint32_t series,
                     const struct block_span *spans, size_t span_count, struct arena *arena,
                     struct accumulator *accumulator, struct error *err)
{
	const uint32_t longest = detail->stack_count > 0 ? detail->firsts[1] : 0;
	struct block_series opened;
	struct cut cut = {
		.detail = detail,
		.series = &opened,
		.spans = spans,
		.span_count = span_count,
		.inside = arena_array(arena, detail->profile_count, 1),
		.mask = arena_array_raw(arena, longest, 1),
		.values = arena_array_raw(arena, longest, sizeof(int64_t)),
	};

	assert(detail->stack_count == 0 || accumulator->capacity > detail->largest_stack);
	if (!cut.inside || !cut.mask || !cut.values)
		return arena_error(arena, err);
	if (!mark_spans(detail, spans, span_count, cut.inside))
		return damaged(err, "spans of profiles that are not there");
	if (block_values_open(&detail->values, series, arena, &opened, err) < 0)
		return -1;
	cut.is_plain = block_series_is_plain(&opened);
	for (uint32_t place = 0; place < detail->stack_count; place++) {
		const uint32_t index = detail->order[place];
		uint64_t sum = sum_stack(&cut, place);

		if (cut.is_plain)
			sum *= block_series_factor(&opened, index, 0);
		if (sum != 0)
			accumulator_add(accumulator, detail->stacks[index], (int64_t)sum);
	}
	return 0;
}
