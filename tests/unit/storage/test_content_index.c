#include "storage/content_index.h"
#include "tests/unit/storage/store_fixture.h"

#define KEY UINT64_C(0x1234)

/* Strings of the profile below. */
enum {
	EMPTY,
	WORK,
	FILE_C,
	APP,
	CUDA,
	STRINGS,
};

static struct str strings[STRINGS] = { [EMPTY] = STR(""),
	                               [WORK] = STR("work"),
	                               [FILE_C] = STR("a.c"),
	                               [APP] = STR("/bin/app"),
	                               [CUDA] = STR("/lib/libcuda.so.1") };
static struct profile_function functions[] = { { WORK, WORK, FILE_C, 7 } };
static struct profile_mapping mappings[] = { { 0, 0x1000, 0, APP, EMPTY, 0 },
	                                     { 0, 0x1000, 0, CUDA, EMPTY, 0 } };
static struct profile_line lines[] = { { 0, 1 }, { 0, 2 }, { 0, 2 }, { 0, 2 } };
/* Two lines of work() in the program, the second of them again, and one in a library. */
static struct profile_location locations[] = {
	{ 16, 0, 0, 1 }, { 16, 0, 1, 1 }, { 16, 0, 2, 1 }, { 16, 1, 3, 1 }
};
#define LOCATIONS ARRAY_LENGTH(locations)
static uint32_t frames[LOCATIONS] = { 0, 1, 2, 3 };
static struct stored_row row = { 0, LOCATIONS };

static struct profile profile = {
	.strings = strings,
	.functions = functions,
	.mappings = mappings,
	.lines = lines,
	.locations = locations,
	.stacks = frames,
	.string_count = STRINGS,
	.function_count = 1,
	.mapping_count = 2,
	.line_count = ARRAY_LENGTH(lines),
	.location_count = LOCATIONS,
	.stack_length = LOCATIONS,
};

/* The ids of all locations. */
static void add_all(struct content_index *index, uint32_t out[LOCATIONS])
{
	const struct series_profile stored = { .profile = &profile, .rows = &row, .row_count = 1 };
	struct write_hashes *hashes = write_hashes_new(&stored, 1, KEY);
	const struct profile_hashes own = write_hashes_of(hashes, 0);
	uint32_t list[LOCATIONS];
	size_t count = 0;

	content_index_begin(index, &profile, &own);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		count += content_index_list(index, i, &list[count]);
	assert_int_equal(content_index_list(index, 0, &list[0]), 0); /* it is listed */
	assert_int_equal(count, LOCATIONS);
	content_index_add(index, list, count);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		out[i] = content_index_location(index, i);
	write_hashes_free(hashes);
}

static void init(struct content_index *index, struct symbol_table *table)
{
	struct error err = { 0 };

	*index = (struct content_index){ 0 };
	assert_int_equal(content_index_init(index, table, KEY, &err), 0);
}

static void check_counts(const struct symbol_table *table)
{
	assert_int_equal(table->counts[SYMBOL_STRING], STRINGS);
	assert_int_equal(table->counts[SYMBOL_MAPPING], 2);
	assert_int_equal(table->counts[SYMBOL_LOCATION], 3);
	assert_int_equal(table->counts[SYMBOL_FUNCTION], 2);
	assert_int_equal(symbol_table_function(table, 0)->kind, FUNCTION_NATIVE);
	assert_int_equal(symbol_table_function(table, 1)->kind, FUNCTION_CUDA);
}

static void equal_contents_are_there_once(void **state)
{
	struct symbol_table *table = symbol_table_new();
	struct content_index index;
	uint32_t first[LOCATIONS];
	uint32_t again[LOCATIONS];

	(void)state;
	init(&index, table);
	add_all(&index, first);
	assert_int_equal(first[1], first[2]);
	assert_int_not_equal(first[0], first[1]);
	assert_int_not_equal(first[2], first[3]);
	check_counts(table);
	add_all(&index, again);
	assert_memory_equal(first, again, sizeof(first));
	check_counts(table);
	content_index_fini(&index);
	symbol_table_free(table);
}

static void an_index_of_a_table_finds_what_is_there(void **state)
{
	struct symbol_table *table = symbol_table_new();
	struct content_index index;
	uint32_t before[LOCATIONS];
	uint32_t after[LOCATIONS];

	(void)state;
	init(&index, table);
	add_all(&index, before);
	content_index_fini(&index);
	init(&index, table);
	add_all(&index, after);
	assert_memory_equal(before, after, sizeof(before));
	check_counts(table);
	content_index_fini(&index);
	symbol_table_free(table);
}

static void a_symbol_that_stands_twice_is_found(void **state)
{
	struct symbol_table *table = symbol_table_new();
	struct content_index index = { 0 };
	struct error err = { 0 };

	(void)state;
	(void)symbol_table_add_string(table, STR("a"));
	(void)symbol_table_add_string(table, STR("a"));
	assert_int_equal(content_index_init(&index, table, KEY, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	content_index_fini(&index);
	symbol_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_contents_are_there_once),
		cmocka_unit_test(an_index_of_a_table_finds_what_is_there),
		cmocka_unit_test(a_symbol_that_stands_twice_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
