#include "storage/symbol_pages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/varint.h"
#include "storage/byte_cursor.h"

const struct symbol_page_kind symbol_page_kinds[SYMBOL_PAGE_KINDS] = {
	{ PAGE_STRINGS, SYMBOL_STRING, 1 },   { PAGE_FUNCTIONS, SYMBOL_FUNCTION, 0 },
	{ PAGE_MAPPINGS, SYMBOL_MAPPING, 0 }, { PAGE_LOCATIONS, SYMBOL_LOCATION, 0 },
	{ PAGE_STACKS, SYMBOL_STACK, 1 },
};

/* ---- encoding ---- */

/* Writes into room that was reserved for the whole page. */
struct page_writer {
	uint8_t *at;
};

static void put(struct page_writer *out, uint64_t number)
{
	out->at += varint_write(out->at, number);
}

/* The difference to the last one, which wraps. */
static void put_step(struct page_writer *out, uint64_t number, uint64_t *last)
{
	put(out, zigzag_encode((int64_t)(number - *last)));
	*last = number;
}

static void encode_strings(const struct symbol_table *table, uint32_t first, uint32_t end,
                           struct page_writer *out)
{
	for (uint32_t id = first; id < end; id++)
		put(out, symbol_table_string(table, id)->length);
	for (uint32_t id = first; id < end; id++) {
		const struct str *string = symbol_table_string(table, id);

		if (string->length > 0)
			memcpy(out->at, string->data, string->length);
		out->at += string->length;
	}
}

static void encode_functions(const struct symbol_table *table, uint32_t first, uint32_t end,
                             struct page_writer *out)
{
	uint64_t name = 0;
	uint64_t file = 0;
	uint64_t line = 0;

	for (uint32_t id = first; id < end; id++)
		put_step(out, symbol_table_function(table, id)->name, &name);
	for (uint32_t id = first; id < end; id++) {
		const struct symbol_function *function = symbol_table_function(table, id);
		uint64_t from = function->name; /* most often they are the same */

		put_step(out, function->system_name, &from);
	}
	for (uint32_t id = first; id < end; id++)
		put_step(out, symbol_table_function(table, id)->file, &file);
	for (uint32_t id = first; id < end; id++)
		put_step(out, (uint64_t)symbol_table_function(table, id)->start_line, &line);
	for (uint32_t id = first; id < end; id++)
		put(out, symbol_table_function(table, id)->kind);
}

static void encode_mappings(const struct symbol_table *table, uint32_t first, uint32_t end,
                            struct page_writer *out)
{
	for (uint32_t id = first; id < end; id++) {
		const struct symbol_mapping *mapping = symbol_table_mapping(table, id);

		put(out, mapping->start);
		put(out, mapping->limit);
		put(out, mapping->offset);
		put(out, mapping->file);
		put(out, mapping->build_id);
		put(out, mapping->flags);
	}
}

static void encode_locations(const struct symbol_table *table, uint32_t first, uint32_t end,
                             struct page_writer *out)
{
	uint64_t mapping = 0;
	uint64_t address = 0;
	uint64_t function = 0;
	uint64_t line = 0;

	for (uint32_t id = first; id < end; id++) {
		const uint32_t own = symbol_table_location(table, id)->mapping;

		put_step(out, own == PROFILE_NONE ? 0 : (uint64_t)own + 1, &mapping);
	}
	for (uint32_t id = first; id < end; id++)
		put_step(out, symbol_table_location(table, id)->address, &address);
	for (uint32_t id = first; id < end; id++)
		put(out, symbol_table_location(table, id)->line_count);
	for (uint32_t id = first; id < end; id++) {
		const struct symbol_location *location = symbol_table_location(table, id);

		for (uint32_t i = 0; i < location->line_count; i++) {
			const struct symbol_line *at =
				symbol_table_line(table, location->first_line + i);

			put_step(out, at->function, &function);
			put_step(out, (uint64_t)at->line, &line);
		}
	}
}

static void encode_stacks(const struct symbol_table *table, uint32_t first, uint32_t end,
                          struct page_writer *out)
{
	uint64_t location = 0;

	for (uint32_t id = first; id < end; id++)
		put(out, id - symbol_table_stack(table, id)->parent);
	for (uint32_t id = first; id < end; id++)
		put_step(out, symbol_table_stack(table, id)->location, &location);
}

/* The most bytes that the entries can take. */
static size_t room_for(const struct symbol_table *table, enum page_kind kind, uint32_t first,
                       uint32_t end)
{
	static const size_t numbers[] = {
		[PAGE_STRINGS] = 1,   [PAGE_FUNCTIONS] = 5, [PAGE_MAPPINGS] = 6,
		[PAGE_LOCATIONS] = 3, [PAGE_STACKS] = 2,
	};
	size_t bytes = numbers[kind] * VARINT_MAX * (end - first);

	for (uint32_t id = first; kind == PAGE_STRINGS && id < end; id++)
		bytes += symbol_table_string(table, id)->length;
	for (uint32_t id = first; kind == PAGE_LOCATIONS && id < end; id++)
		bytes += 2 * VARINT_MAX * (size_t)symbol_table_location(table, id)->line_count;
	return bytes;
}

static void encode(const struct symbol_table *table, enum page_kind kind, uint32_t first,
                   uint32_t end, struct page_writer *out)
{
	switch (kind) {
	case PAGE_STRINGS:
		encode_strings(table, first, end, out);
		return;
	case PAGE_FUNCTIONS:
		encode_functions(table, first, end, out);
		return;
	case PAGE_MAPPINGS:
		encode_mappings(table, first, end, out);
		return;
	case PAGE_LOCATIONS:
		encode_locations(table, first, end, out);
		return;
	case PAGE_STACKS:
		encode_stacks(table, first, end, out);
		return;
	}
}

void symbol_page_encode(const struct symbol_table *table, enum page_kind kind, uint32_t first,
                        uint32_t end, struct strbuf *out)
{
	char *room = strbuf_reserve(out, room_for(table, kind, first, end));
	struct page_writer writer = { (uint8_t *)room };

	if (!room)
		return;
	encode(table, kind, first, end, &writer);
	strbuf_advance(out, (size_t)((char *)writer.at - room));
}

/* ---- decoding ---- */

/*
 * Entries are decoded whole into an array of the page's own, checked against what the
 * table has, and only then added: a damaged page leaves the table as it was.
 */
struct page_reader {
	struct symbol_table *table;
	struct byte_cursor cursor;
	uint32_t first;
	uint32_t count;
	uint32_t skip; /* entries that the table has already */
};

static uint64_t take_step(struct byte_cursor *cursor, uint64_t *last)
{
	*last += (uint64_t)byte_cursor_signed(cursor);
	return *last;
}

/* A reference: what is not below `count` is a failure. */
static uint32_t take_id(struct byte_cursor *cursor, uint64_t *last, uint64_t count)
{
	if (take_step(cursor, last) >= count) {
		cursor->failed = true;
		return 0;
	}
	return (uint32_t)*last;
}

static uint32_t check_id(struct byte_cursor *cursor, uint64_t id, uint64_t count)
{
	if (id >= count) {
		cursor->failed = true;
		return 0;
	}
	return (uint32_t)id;
}

static uint32_t take_parent(struct byte_cursor *cursor, uint32_t id)
{
	const uint64_t distance = byte_cursor_number(cursor);

	if (distance == 0 || distance > id) {
		cursor->failed = true;
		return 0;
	}
	return id - (uint32_t)distance;
}

static bool decode_strings(struct page_reader *page)
{
	CLEANUP(mem_freep) uint64_t *lengths = mem_zalloc(page->count, sizeof(*lengths));
	struct byte_cursor at;

	for (uint32_t i = 0; i < page->count; i++)
		lengths[i] = byte_cursor_number(&page->cursor);
	at = page->cursor;
	for (uint32_t i = 0; i < page->count; i++)
		(void)byte_cursor_run(&at, lengths[i]);
	if (!byte_cursor_done(&at))
		return false;
	for (uint32_t i = 0; i < page->count; i++) {
		const struct str string = byte_cursor_run(&page->cursor, lengths[i]);

		if (i >= page->skip)
			(void)symbol_table_add_string(page->table, string);
	}
	return true;
}

static bool decode_functions(struct page_reader *page)
{
	CLEANUP(mem_freep)
	struct symbol_function *functions = mem_zalloc(page->count, sizeof(*functions));
	const uint32_t strings = page->table->counts[SYMBOL_STRING];
	struct byte_cursor *cursor = &page->cursor;
	uint64_t name = 0;
	uint64_t file = 0;
	uint64_t line = 0;

	for (uint32_t i = 0; i < page->count; i++)
		functions[i].name = take_id(cursor, &name, strings);
	for (uint32_t i = 0; i < page->count; i++) {
		uint64_t from = functions[i].name;

		functions[i].system_name = take_id(cursor, &from, strings);
	}
	for (uint32_t i = 0; i < page->count; i++)
		functions[i].file = take_id(cursor, &file, strings);
	for (uint32_t i = 0; i < page->count; i++)
		functions[i].start_line = (int64_t)take_step(cursor, &line);
	for (uint32_t i = 0; i < page->count; i++)
		functions[i].kind = check_id(cursor, byte_cursor_number(cursor), UINT32_MAX);
	if (!byte_cursor_done(cursor))
		return false;
	for (uint32_t i = page->skip; i < page->count; i++)
		(void)symbol_table_add_function(page->table, &functions[i]);
	return true;
}

static bool decode_mappings(struct page_reader *page)
{
	CLEANUP(mem_freep)
	struct symbol_mapping *mappings = mem_zalloc(page->count, sizeof(*mappings));
	const uint32_t strings = page->table->counts[SYMBOL_STRING];
	struct byte_cursor *cursor = &page->cursor;

	for (uint32_t i = 0; i < page->count; i++) {
		mappings[i].start = byte_cursor_number(cursor);
		mappings[i].limit = byte_cursor_number(cursor);
		mappings[i].offset = byte_cursor_number(cursor);
		mappings[i].file = check_id(cursor, byte_cursor_number(cursor), strings);
		mappings[i].build_id = check_id(cursor, byte_cursor_number(cursor), strings);
		mappings[i].flags = check_id(cursor, byte_cursor_number(cursor), UINT32_MAX);
	}
	if (!byte_cursor_done(cursor))
		return false;
	for (uint32_t i = page->skip; i < page->count; i++)
		(void)symbol_table_add_mapping(page->table, &mappings[i]);
	return true;
}

/*
 * Reads the locations without their lines. Gives the sum of line counts, or UINT64_MAX.
 */
static uint64_t decode_bare_locations(struct page_reader *page, struct symbol_location *locations)
{
	const uint64_t mappings = (uint64_t)page->table->counts[SYMBOL_MAPPING] + 1;
	struct byte_cursor *cursor = &page->cursor;
	uint64_t mapping = 0;
	uint64_t address = 0;
	uint64_t lines = 0;

	for (uint32_t i = 0; i < page->count; i++) {
		const uint32_t number = take_id(cursor, &mapping, mappings);

		locations[i].mapping = number == 0 ? PROFILE_NONE : number - 1;
	}
	for (uint32_t i = 0; i < page->count; i++)
		locations[i].address = take_step(cursor, &address);
	for (uint32_t i = 0; i < page->count; i++) {
		/* a line takes two bytes at least */
		locations[i].line_count =
			check_id(cursor, byte_cursor_number(cursor), byte_cursor_left(cursor) + 1);
		lines += locations[i].line_count;
	}
	return cursor->failed || lines > byte_cursor_left(cursor) / 2 ? UINT64_MAX : lines;
}

static bool decode_locations(struct page_reader *page)
{
	CLEANUP(mem_freep)
	struct symbol_location *locations = mem_zalloc(page->count, sizeof(*locations));
	CLEANUP(mem_freep) struct symbol_line *lines = NULL;
	const uint32_t functions = page->table->counts[SYMBOL_FUNCTION];
	const uint64_t line_count = decode_bare_locations(page, locations);
	const struct symbol_line *from;
	uint64_t function = 0;
	uint64_t line = 0;

	if (line_count >= SYMBOL_COUNT_MAX - page->table->counts[SYMBOL_LINE])
		return false;
	lines = mem_zalloc(line_count ? line_count : 1, sizeof(*lines));
	for (uint64_t i = 0; i < line_count; i++) {
		lines[i].function = take_id(&page->cursor, &function, functions);
		lines[i].line = (int64_t)take_step(&page->cursor, &line);
	}
	if (!byte_cursor_done(&page->cursor))
		return false;
	from = lines;
	for (uint32_t i = 0; i < page->count; i++) {
		if (i >= page->skip)
			(void)symbol_table_add_location(page->table, locations[i].mapping,
			                                locations[i].address, from,
			                                locations[i].line_count);
		from += locations[i].line_count;
	}
	return true;
}

static bool decode_stacks(struct page_reader *page)
{
	CLEANUP(mem_freep) struct symbol_stack *stacks = mem_zalloc(page->count, sizeof(*stacks));
	const uint32_t locations = page->table->counts[SYMBOL_LOCATION];
	struct byte_cursor *cursor = &page->cursor;
	uint64_t location = 0;

	for (uint32_t i = 0; i < page->count; i++)
		stacks[i].parent = take_parent(cursor, page->first + i);
	for (uint32_t i = 0; i < page->count; i++)
		stacks[i].location = take_id(cursor, &location, locations);
	if (!byte_cursor_done(cursor))
		return false;
	for (uint32_t i = page->skip; i < page->count; i++)
		(void)symbol_table_add_stack(page->table, stacks[i].parent, stacks[i].location);
	return true;
}

/* The kind of the table's entries, or SYMBOL_KIND_COUNT for a page of another kind. */
static enum symbol_kind symbol_kind_of(enum page_kind kind)
{
	for (size_t i = 0; i < SYMBOL_PAGE_KINDS; i++)
		if (symbol_page_kinds[i].page == kind)
			return symbol_page_kinds[i].symbol;
	return SYMBOL_KIND_COUNT;
}

static bool decode(struct page_reader *page, enum page_kind kind)
{
	switch (kind) {
	case PAGE_STRINGS:
		return decode_strings(page);
	case PAGE_FUNCTIONS:
		return decode_functions(page);
	case PAGE_MAPPINGS:
		return decode_mappings(page);
	case PAGE_LOCATIONS:
		return decode_locations(page);
	case PAGE_STACKS:
		return decode_stacks(page);
	}
	return false;
}

int symbol_page_decode(struct symbol_table *table, enum page_kind kind, uint32_t first,
                       uint32_t count, struct str payload, struct error *err)
{
	const enum symbol_kind symbol = symbol_kind_of(kind);
	struct page_reader page = {
		.table = table,
		.cursor = byte_cursor(payload),
		.first = first,
		.count = count,
	};

	/*
	 * every entry takes a byte at least: what is allocated is bounded by what is
	 * there
	 */
	if (symbol == SYMBOL_KIND_COUNT || count == 0 || count > payload.length ||
	    first > table->counts[symbol] || first >= SYMBOL_COUNT_MAX - count)
		return error_set(err, ERROR_CORRUPT, "page %d/%u of %u entries does not fit in",
		                 (int)kind, first, count);
	page.skip = table->counts[symbol] - first;
	if (page.skip >= count)
		return 0;
	if (!decode(&page, kind))
		return error_set(err, ERROR_CORRUPT, "page %d/%u of %u entries is damaged",
		                 (int)kind, first, count);
	return 0;
}
