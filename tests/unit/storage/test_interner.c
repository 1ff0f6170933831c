#include "storage/interner.h"
#include "storage/symbol_pages.h"
#include "tests/unit/storage/store_fixture.h"

#define KEY UINT64_C(0x1234)

static const struct made_row rows[] = {
	{ "main;work;leaf", { 1 }, 0 },  { "main;work", { 1 }, 0 }, { "main", { 1 }, 0 },
	{ "main;other;leaf", { 1 }, 0 }, { "", { 1 }, 0 },
};
#define ROWS ARRAY_LENGTH(rows)

static struct series_profile a_profile(struct arena *arena)
{
	const struct made made = { "s", { "cpu" }, NOON, rows, ROWS, 0, 0 };

	return made_profile(arena, &made);
}

static void intern(struct interner *interner, const struct series_profile *profile,
                   uint32_t *stacks)
{
	struct write_hashes *hashes = write_hashes_new(profile, 1, KEY);
	const struct profile_hashes own = write_hashes_of(hashes, 0);
	struct error err = { 0 };

	assert_int_equal(interner_add(interner, profile, &own, stacks, &err), 0);
	write_hashes_free(hashes);
}

static struct interner *over(struct symbol_table *table)
{
	struct interner *interner = NULL;
	struct error err = { 0 };

	assert_int_equal(interner_new(table, KEY, &interner, &err), 0);
	return interner;
}

static void check_stacks(struct symbol_table *table, const uint32_t *stacks)
{
	struct symbols symbols;

	symbol_table_publish(table);
	symbol_table_view(table, &symbols);
	for (size_t i = 0; i < ROWS; i++) {
		char text[100];

		stack_text(&symbols, stacks[i], text, sizeof(text));
		assert_string_equal(text, rows[i].stack);
	}
	for (uint32_t id = 1; id < symbols.stack_count; id++)
		assert_true(SYMBOLS_AT(symbols.stacks, id)->parent < id);
}

static void equal_stacks_get_equal_ids_and_prefixes_are_shared(void **state)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct symbol_table *table = symbol_table_new();
	struct interner *interner = over(table);
	const struct series_profile profile = a_profile(arena);
	uint32_t first[ROWS];
	uint32_t again[ROWS];

	(void)state;
	intern(interner, &profile, first);
	check_stacks(table, first);
	assert_int_equal(first[4], 0); /* the empty one is the root */
	/* main, work, leaf below work, other, leaf below other, and the root */
	assert_int_equal(table->counts[SYMBOL_STACK], 6);
	assert_int_equal(table->counts[SYMBOL_FUNCTION], 4);
	assert_int_equal(table->counts[SYMBOL_STRING], 6); /* "", app.c and four names */
	intern(interner, &profile, again);
	assert_memory_equal(first, again, sizeof(first));
	assert_int_equal(table->counts[SYMBOL_STACK], 6);
	interner_free(interner);
	symbol_table_free(table);
	arena_free(arena);
}

/* Writes all kinds in pages of `step` entries into `to`. */
static int copy_by_pages(const struct symbol_table *from, struct symbol_table *to, uint32_t step,
                         struct error *err)
{
	for (size_t i = 0; i < SYMBOL_PAGE_KINDS; i++) {
		const struct symbol_page_kind kind = symbol_page_kinds[i];
		const uint32_t count = from->counts[kind.symbol];

		for (uint32_t first = to->counts[kind.symbol]; first < count;) {
			const uint32_t end = first + step < count ? first + step : count;
			struct strbuf page;
			int result;

			strbuf_init(&page, (size_t)1 << 20);
			symbol_page_encode(from, kind.page, first, end, &page);
			result = symbol_page_decode(to, kind.page, first, end - first,
			                            strbuf_view(&page), err);
			strbuf_fini(&page);
			if (result < 0)
				return -1;
			first = end;
		}
	}
	return 0;
}

static void pages_bring_the_same_ids_back(void **state)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct symbol_table *table = symbol_table_new();
	struct interner *interner = over(table);
	const struct series_profile profile = a_profile(arena);
	uint32_t before[ROWS];

	(void)state;
	intern(interner, &profile, before);
	for (uint32_t step = 1; step < 8; step++) {
		struct symbol_table *copy = symbol_table_new();
		struct error err = { 0 };
		struct interner *second;
		uint32_t after[ROWS];

		assert_int_equal(copy_by_pages(table, copy, step, &err), 0);
		for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
			assert_int_equal(copy->counts[kind], table->counts[kind]);
		second = over(copy);
		intern(second, &profile, after);
		assert_memory_equal(before, after, sizeof(before));
		assert_int_equal(copy->counts[SYMBOL_STACK], table->counts[SYMBOL_STACK]);
		check_stacks(copy, after);
		interner_free(second);
		symbol_table_free(copy);
	}
	interner_free(interner);
	symbol_table_free(table);
	arena_free(arena);
}

static void locations_keep_mappings_lines_and_bare_addresses(void **state)
{
	struct str strings[] = { STR(""),    STR("inlined"),  STR("outer"),
		                 STR("a.c"), STR("/bin/app"), STR("0123") };
	struct profile_function functions[] = { { 1, 1, 3, 5 }, { 2, 1, 3, -9 } };
	struct profile_mapping mappings[] = { { 0x400000, UINT64_MAX, 0x1000, 4, 5,
		                                PROFILE_HAS_FUNCTIONS } };
	struct profile_line lines[] = { { 0, INT64_MIN }, { 1, INT64_MAX } };
	struct profile_location locations[] = { { UINT64_MAX, 0, 0, 2 },
		                                { 0xdead, PROFILE_NONE, 0, 0 } };
	uint32_t frames[] = { 0, 1 };
	struct profile profile = {
		.strings = strings,
		.functions = functions,
		.mappings = mappings,
		.lines = lines,
		.locations = locations,
		.stacks = frames,
		.string_count = 6,
		.function_count = 2,
		.mapping_count = 1,
		.line_count = 2,
		.location_count = 2,
		.stack_length = 2,
	};
	struct stored_row row = { 0, 2 };
	const struct series_profile stored = { .profile = &profile, .rows = &row, .row_count = 1 };
	struct symbol_table *table = symbol_table_new();
	struct symbol_table *copy = symbol_table_new();
	struct interner *interner = over(table);
	struct error err = { 0 };
	const struct symbol_location *location;
	struct symbols symbols;
	uint32_t id;
	char text[100];

	(void)state;
	intern(interner, &stored, &id);
	assert_int_equal(copy_by_pages(table, copy, 100, &err), 0);
	symbol_table_publish(copy);
	symbol_table_view(copy, &symbols);
	stack_text(&symbols, id, text, sizeof(text));
	assert_string_equal(text, "0xdead;outer;inlined");
	location = SYMBOLS_AT(symbols.locations, SYMBOLS_AT(symbols.stacks, id)->location);
	assert_true(location->address == UINT64_MAX);
	assert_true(SYMBOLS_AT(symbols.lines, location->first_line)->line == INT64_MIN);
	assert_true(SYMBOLS_AT(symbols.lines, location->first_line + 1)->line == INT64_MAX);
	assert_true(SYMBOLS_AT(symbols.mappings, location->mapping)->limit == UINT64_MAX);
	assert_int_equal(symbols.stack_count, 3); /* root, bare, outer with inlined */
	interner_free(interner);
	symbol_table_free(copy);
	symbol_table_free(table);
}

/* The symbol pages of docs/formats/store.md. */
static void the_documented_example_reads_as_it_says(void **state)
{
	static const struct {
		enum page_kind kind;
		uint32_t first;
		uint32_t count;
		struct str payload;
	} pages[] = {
		{ PAGE_STRINGS, 1, 3,
		  STR("\x04\x05\x04"
		      "mainapp.cwork") },
		{ PAGE_FUNCTIONS, 0, 2, STR("\x02\x04\0\0\x04\0\x02\0\x01\x01") },
		{ PAGE_LOCATIONS, 0, 2, STR("\0\0\x80\x40\x20\x01\x01\0\x0e\x02\0") },
		{ PAGE_STACKS, 1, 2, STR("\x01\x01\0\x02") },
	};
	struct symbol_table *table = symbol_table_new();
	struct symbols symbols;
	struct error err = { 0 };
	char text[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(pages); i++)
		assert_int_equal(symbol_page_decode(table, pages[i].kind, pages[i].first,
		                                    pages[i].count, pages[i].payload, &err),
		                 0);
	symbol_table_publish(table);
	symbol_table_view(table, &symbols);
	stack_text(&symbols, 2, text, sizeof(text));
	assert_string_equal(text, "main;work");
	assert_int_equal(SYMBOLS_AT(symbols.functions, 1)->kind, FUNCTION_NATIVE);
	assert_int_equal(SYMBOLS_AT(symbols.functions, 1)->start_line, 1);
	assert_int_equal(SYMBOLS_AT(symbols.locations, 1)->address, 0x1010);
	assert_int_equal(SYMBOLS_AT(symbols.lines, 1)->line, 7);
	symbol_table_free(table);
}

static void damaged_pages_leave_the_table_alone(void **state)
{
	static const struct {
		enum page_kind kind;
		uint32_t first;
		uint32_t count;
		const char *bytes;
		size_t length;
	} cases[] = {
		{ PAGE_STRINGS, 1, 1,
		  "\x05"
		  "abc",
		  4 }, /* cut */
		{ PAGE_STRINGS, 1, 1,
		  "\x03"
		  "abcd",
		  5 }, /* a byte behind it */
		{ PAGE_STRINGS, 2, 1,
		  "\x01"
		  "a",
		  2 }, /* a gap before it */
		{ PAGE_STRINGS, 1, 200,
		  "\x01"
		  "a",
		  2 },                                       /* more than its bytes */
		{ PAGE_STRINGS, 1, 0, "", 0 },               /* none */
		{ PAGE_FUNCTIONS, 0, 1, "\x02\0\0\0\0", 5 }, /* a name that is not there */
		{ PAGE_LOCATIONS, 0, 1, "\x02\0\0", 3 },     /* a mapping, likewise */
		{ PAGE_LOCATIONS, 0, 1, "\0\0\x01\0\0", 5 }, /* a function */
		{ PAGE_STACKS, 1, 1, "\x01\0", 2 },          /* a location */
		{ PAGE_STACKS, 1, 1, "\0\0", 2 },            /* its own parent */
		{ PAGE_STACKS, 1, 1, "\x02\0", 2 },          /* a parent before the root */
		{ (enum page_kind)9, 0, 1, "\0", 1 },
	};
	struct symbol_table *table = symbol_table_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };

		assert_int_equal(
			symbol_page_decode(table, cases[i].kind, cases[i].first, cases[i].count,
		                           str_make(cases[i].bytes, cases[i].length), &err),
			-1);
		assert_int_equal(err.code, ERROR_CORRUPT);
		assert_int_equal(table->counts[SYMBOL_STRING], 1);
		assert_int_equal(table->counts[SYMBOL_FUNCTION], 0);
		assert_int_equal(table->counts[SYMBOL_LOCATION], 0);
		assert_int_equal(table->counts[SYMBOL_STACK], 1);
	}
	symbol_table_free(table);
}

static void chunks_fill_up_and_never_move(void **state)
{
	struct symbol_table *table = symbol_table_new();
	struct symbols early;
	struct symbols late;

	(void)state;
	symbol_table_view(table, &early);
	for (uint32_t i = 1; i < SYMBOLS_CHUNK * 20; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "%u", i);
		assert_int_equal(symbol_table_add_string(table, str_of(text)), i);
	}
	symbol_table_publish(table);
	symbol_table_view(table, &late);
	assert_int_equal(early.string_count, 1);
	assert_ptr_equal(early.strings[0], late.strings[0]);
	assert_int_equal(late.string_count, SYMBOLS_CHUNK * 20);
	assert_true(str_equals(symbols_string(&late, SYMBOLS_CHUNK * 20 - 1), "327679"));
	symbol_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_get_equal_ids_and_prefixes_are_shared),
		cmocka_unit_test(pages_bring_the_same_ids_back),
		cmocka_unit_test(locations_keep_mappings_lines_and_bare_addresses),
		cmocka_unit_test(the_documented_example_reads_as_it_says),
		cmocka_unit_test(damaged_pages_leave_the_table_alone),
		cmocka_unit_test(chunks_fill_up_and_never_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
