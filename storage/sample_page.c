#include "storage/sample_page.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/byte_cursor.h"
#include "storage/row_order.h"

/*
 * Payload: rows, series, flags; then columns, each with its length in front: stacks;
 * values of each series; spans and traces when the flags say so.
 */
enum {
	HAS_SPANS = 1 << 0,
	HAS_TRACES = 1 << 1,
};

/* The first byte of a column of values. */
enum coding {
	CODING_PLAIN = 0,    /* a varint a row */
	CODING_CONSTANT = 1, /* one varint for all */
	CODING_MULTIPLE = 2, /* an earlier series' number and a factor */
};

/* ---- encoding ---- */

struct encoder {
	const struct sample_columns *columns;
	struct row_key *keys; /* in order */
	struct strbuf *out;
	uint8_t *scratch; /* room for a column of numbers */
};

static void put_column(struct encoder *encoder, const uint8_t *end)
{
	const size_t length = (size_t)(end - encoder->scratch);

	wire_put_varint(encoder->out, length);
	strbuf_add(encoder->out, encoder->scratch, length);
}

static void put_stacks(struct encoder *encoder)
{
	uint8_t *to = encoder->scratch;
	uint32_t last = 0;

	for (size_t i = 0; i < encoder->columns->row_count; i++) {
		to += varint_write(to, encoder->keys[i].stack - last);
		last = encoder->keys[i].stack;
	}
	put_column(encoder, to);
}

static bool is_constant(const int64_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (values[i] != values[0])
			return false;
	return count > 0;
}

/*
 * Whether `values` are those of `base` times *out_factor, as the decoder will multiply.
 */
static bool is_multiple(const int64_t *values, const int64_t *base, size_t count,
                        uint64_t *out_factor)
{
	uint64_t factor;
	size_t first = 0;

	while (first < count && base[first] == 0)
		first++;
	if (first == count || base[first] < 0 || values[first] < 0 ||
	    values[first] % base[first] != 0)
		return false;
	factor = (uint64_t)(values[first] / base[first]);
	for (size_t i = 0; i < count; i++)
		if ((uint64_t)base[i] * factor != (uint64_t)values[i])
			return false;
	*out_factor = factor;
	return true;
}

static void put_values(struct encoder *encoder, size_t series)
{
	const struct sample_columns *columns = encoder->columns;
	const int64_t *values = columns->values[series];
	uint8_t *to = encoder->scratch;
	uint64_t factor = 0;

	if (is_constant(values, columns->row_count)) {
		*to++ = CODING_CONSTANT;
		put_column(encoder, to + varint_write(to, (uint64_t)values[0]));
		return;
	}
	for (size_t base = 0; base < series; base++) {
		if (!is_multiple(values, columns->values[base], columns->row_count, &factor))
			continue;
		*to++ = CODING_MULTIPLE;
		to += varint_write(to, base);
		put_column(encoder, to + varint_write(to, factor));
		return;
	}
	*to++ = CODING_PLAIN;
	for (size_t i = 0; i < columns->row_count; i++)
		to += varint_write(to, (uint64_t)values[encoder->keys[i].row]);
	put_column(encoder, to);
}

/*
 * Ids that repeat in runs and are random otherwise: each new one stands as it is, its
 * number after that. A row is 0 (none), 1 (a new one, which takes the next number) or 2 +
 * how far back its number is from the newest.
 */
static void put_ids(struct encoder *encoder, const uint8_t *ids, size_t size)
{
	const size_t rows = encoder->columns->row_count;
	CLEANUP(mem_freep) uint32_t *seen = mem_zalloc(rows ? rows : 1, sizeof(*seen));
	static const uint8_t none[TRACE_ID_SIZE];
	uint8_t *to = encoder->scratch;
	size_t count = 0;

	for (size_t i = 0; i < rows; i++) {
		const uint8_t *id = ids + encoder->keys[i].row * size;
		size_t back = 0;

		if (memcmp(id, none, size) == 0) {
			*to++ = 0;
			continue;
		}
		/* a look at the newest few finds runs; what is older is written again */
		while (back < count && back < 64 &&
		       memcmp(ids + seen[count - 1 - back] * size, id, size) != 0)
			back++;
		if (back < count && back < 64) {
			*to++ = (uint8_t)(2 + back);
			continue;
		}
		*to++ = 1;
		memcpy(to, id, size);
		to += size;
		seen[count++] = encoder->keys[i].row;
	}
	put_column(encoder, to);
}

void sample_page_encode(const struct sample_columns *columns, struct strbuf *out)
{
	const size_t rows = columns->row_count;
	CLEANUP(mem_freep) struct row_key *keys = mem_zalloc(rows + 1, 2 * sizeof(*keys));
	CLEANUP(mem_freep)
	uint8_t *scratch = mem_zalloc(rows + 2, TRACE_ID_SIZE + 1); /* the widest column */
	struct encoder encoder = { columns, keys, out, scratch };

	for (size_t i = 0; i < rows; i++)
		keys[i] = (struct row_key){ columns->stacks[i], (uint32_t)i };
	row_order_sort(keys, keys + rows, rows);
	wire_put_varint(out, rows);
	wire_put_varint(out, columns->series_count);
	wire_put_varint(out, (columns->span_ids ? HAS_SPANS : 0) |
	                             (columns->trace_ids ? HAS_TRACES : 0));
	put_stacks(&encoder);
	for (size_t i = 0; i < columns->series_count; i++)
		put_values(&encoder, i);
	if (columns->span_ids)
		put_ids(&encoder, (const uint8_t *)columns->span_ids, sizeof(uint64_t));
	if (columns->trace_ids)
		put_ids(&encoder, columns->trace_ids[0], TRACE_ID_SIZE);
}

/* ---- decoding ---- */

static int damaged(struct error *err, const char *what)
{
	return error_set(err, ERROR_CORRUPT, "samples are damaged: %s", what);
}

static int decode_stacks(struct str column, struct sample_page *page, struct arena *arena,
                         struct error *err)
{
	struct byte_cursor cursor = byte_cursor(column);
	uint32_t *stacks = arena_array_raw(arena, page->row_count, sizeof(*stacks));
	uint64_t last = 0;

	if (!stacks)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < page->row_count; i++) {
		uint64_t step;

		if (!varint_read(&cursor.at, cursor.end, &step) || step > UINT32_MAX - last)
			return damaged(err, "stacks");
		last += step;
		stacks[i] = (uint32_t)last;
	}
	if (!byte_cursor_done(&cursor))
		return damaged(err, "bytes behind the stacks");
	page->stacks = stacks;
	return 0;
}

int sample_page_decode(struct str payload, struct arena *arena, struct sample_page *out,
                       struct error *err)
{
	struct byte_cursor cursor = byte_cursor(payload);
	const uint64_t rows = byte_cursor_number(&cursor);
	const uint64_t series = byte_cursor_number(&cursor);
	const uint64_t flags = byte_cursor_number(&cursor);
	const struct str stacks = byte_cursor_text(&cursor);
	struct sample_page page = { (uint32_t)rows, (uint32_t)series, NULL, NULL, { 0 }, { 0 } };

	/*
	 * a row takes a byte of stacks, a series two of heads: what is allocated is
	 * bounded
	 */
	if (cursor.failed || rows > stacks.length || rows > UINT32_MAX ||
	    series > SAMPLE_SERIES_MAX || flags > (HAS_SPANS | HAS_TRACES))
		return damaged(err, "head");
	page.columns = arena_array_raw(arena, series, sizeof(*page.columns));
	if (!page.columns)
		return arena_error(arena, err);
	for (uint64_t i = 0; i < series; i++)
		page.columns[i] = byte_cursor_text(&cursor);
	if (flags & HAS_SPANS)
		page.spans = byte_cursor_text(&cursor);
	if (flags & HAS_TRACES)
		page.traces = byte_cursor_text(&cursor);
	if (!byte_cursor_done(&cursor))
		return damaged(err, "columns");
	if (decode_stacks(stacks, &page, arena, err) < 0)
		return -1;
	*out = page;
	return 0;
}

static bool read_plain(struct byte_cursor *cursor, int64_t *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value;

		if (!varint_read(&cursor->at, cursor->end, &value))
			return false;
		values[i] = (int64_t)value;
	}
	return true;
}

/*
 * Follows multiples to the column that has numbers: each step goes to an earlier series,
 * so there is an end. The factors multiply up.
 */
static bool find_base(const struct sample_page *page, uint32_t series, struct byte_cursor *cursor,
                      uint64_t *out_coding, uint64_t *out_factor)
{
	uint64_t factor = 1;

	for (;;) {
		uint64_t base;

		*cursor = byte_cursor(page->columns[series]);
		*out_coding = byte_cursor_number(cursor);
		if (*out_coding != CODING_MULTIPLE)
			break;
		base = byte_cursor_number(cursor);
		factor *= byte_cursor_number(cursor);
		if (!byte_cursor_done(cursor) || base >= series)
			return false;
		series = (uint32_t)base;
	}
	*out_factor = factor;
	return !cursor->failed;
}

int sample_page_values(const struct sample_page *page, uint32_t series, struct arena *arena,
                       int64_t **out, struct error *err)
{
	int64_t *values = arena_array_raw(arena, page->row_count, sizeof(*values));
	struct byte_cursor cursor;
	uint64_t coding;
	uint64_t factor;

	if (!values)
		return arena_error(arena, err);
	if (series >= page->series_count || !find_base(page, series, &cursor, &coding, &factor))
		return damaged(err, "values");
	if (coding == CODING_CONSTANT) {
		const uint64_t value = byte_cursor_number(&cursor);

		for (uint32_t i = 0; i < page->row_count; i++)
			values[i] = (int64_t)value;
	} else if (coding != CODING_PLAIN || !read_plain(&cursor, values, page->row_count)) {
		return damaged(err, "values");
	}
	if (!byte_cursor_done(&cursor))
		return damaged(err, "bytes behind the values");
	if (factor != 1)
		for (uint32_t i = 0; i < page->row_count; i++)
			values[i] = (int64_t)((uint64_t)values[i] * factor);
	*out = values;
	return 0;
}

/* Reads what put_ids() wrote into ids[row_count * size]. */
static int decode_ids(const struct sample_page *page, struct str column, size_t size,
                      struct arena *arena, uint8_t **out, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(column);
	uint8_t *ids = arena_array(arena, page->row_count, size);
	const uint8_t **seen = arena_array_raw(arena, page->row_count, sizeof(*seen));
	size_t count = 0;

	if (!ids || !seen)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < page->row_count; i++) {
		const uint64_t code = byte_cursor_number(&cursor);

		if (code == 1)
			seen[count++] = (const uint8_t *)byte_cursor_run(&cursor, size).data;
		if (cursor.failed || (code > 1 && code - 2 >= count))
			return damaged(err, "ids");
		if (code > 0)
			memcpy(ids + i * size,
			       code == 1 ? seen[count - 1] : seen[count - 1 - (code - 2)], size);
	}
	if (!byte_cursor_done(&cursor))
		return damaged(err, "bytes behind the ids");
	*out = ids;
	return 0;
}

int sample_page_spans(const struct sample_page *page, struct arena *arena, uint64_t **out,
                      struct error *err)
{
	uint8_t *ids = NULL;

	if (page->spans.data && decode_ids(page, page->spans, sizeof(**out), arena, &ids, err) < 0)
		return -1;
	*out = (uint64_t *)(void *)ids;
	return 0;
}

int sample_page_traces(const struct sample_page *page, struct arena *arena,
                       uint8_t (**out)[TRACE_ID_SIZE], struct error *err)
{
	uint8_t *ids = NULL;

	if (page->traces.data &&
	    decode_ids(page, page->traces, TRACE_ID_SIZE, arena, &ids, err) < 0)
		return -1;
	*out = (uint8_t(*)[TRACE_ID_SIZE])(void *)ids;
	return 0;
}
