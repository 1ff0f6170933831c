#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "storage/label_index.h"

#define VALUES 5000 /* tables grow some times */

static struct label_index *index_new(struct arena **out_arena)
{
	struct label_index *index;

	*out_arena = arena_new(SIZE_MAX, NULL);
	index = arena_alloc(*out_arena, sizeof(*index));
	label_index_init(index, 77, *out_arena);
	return index;
}

static void index_drop(struct label_index *index, struct arena *arena)
{
	label_index_fini(index);
	arena_free(arena);
}

static struct str number_text(char *text, size_t size, uint32_t number)
{
	return str_make(text, (size_t)snprintf(text, size, "value-%u", number));
}

static void a_text_stands_once_and_is_found(void **state)
{
	struct arena *arena;
	struct label_index *index = index_new(&arena);
	char text[32];

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < VALUES; i++)
			assert_int_equal(label_index_add(index, STR("pod"),
			                                 number_text(text, sizeof(text), i)),
			                 i);
	assert_int_equal(label_index_value_count(index), VALUES);
	label_index_check(index);
	for (uint32_t i = 0; i < VALUES; i++)
		assert_int_equal(label_index_find(index, label_index_find_name(index, STR("pod")),
		                                  number_text(text, sizeof(text), i)),
		                 i);
	assert_int_equal(label_index_find(index, 0, STR("value")), LABEL_NONE);
	assert_int_equal(label_index_find_name(index, STR("po")), LABEL_NONE);
	index_drop(index, arena);
}

static void a_value_belongs_to_its_name(void **state)
{
	struct arena *arena;
	struct label_index *index = index_new(&arena);
	const uint32_t a = label_index_add(index, STR("a"), STR("x"));
	const uint32_t b = label_index_add(index, STR("b"), STR("x"));
	const uint32_t empty = label_index_add(index, STR("a"), STR(""));
	const uint32_t nul = label_index_add(index, STR("a"), STR("x\0y"));
	const uint32_t name = label_index_find_name(index, STR("a"));

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(label_index_find(index, name, STR("x")), a);
	assert_int_equal(label_index_find(index, name, STR("")), empty);
	assert_int_equal(label_index_find(index, name, STR("x\0y")), nul);
	assert_int_equal(label_index_find(index, label_index_find_name(index, STR("b")), STR("")),
	                 LABEL_NONE);
	/* newest first */
	assert_int_equal(label_name_newest(label_index_name(index, name)), nul);
	assert_int_equal(label_value_previous(label_index_value(index, nul)), empty);
	assert_int_equal(label_value_previous(label_index_value(index, empty)), a);
	assert_int_equal(label_value_previous(label_index_value(index, a)), LABEL_NONE);
	assert_int_equal(label_name_value_count(label_index_name(index, name)), 3);
	label_index_check(index);
	index_drop(index, arena);
}

static void a_value_knows_its_series(void **state)
{
	struct arena *arena;
	struct label_index *index = index_new(&arena);
	const uint32_t even = label_index_add(index, STR("parity"), STR("even"));
	const uint32_t odd = label_index_add(index, STR("parity"), STR("odd"));
	struct postings_cursor cursor;
	const uint32_t *ids;
	uint32_t run;
	uint32_t next = 1;

	(void)state;
	for (uint32_t series = 0; series < 1000; series++)
		label_index_add_series(index, series % 2 ? odd : even, series);
	for (cursor = postings_read(&label_index_value(index, odd)->series);
	     postings_next(&cursor, &ids, &run);)
		for (uint32_t i = 0; i < run; i++, next += 2)
			assert_int_equal(ids[i], next);
	assert_int_equal(next, 1001);
	label_index_check(index);
	index_drop(index, arena);
}

static void an_empty_index_has_nothing(void **state)
{
	struct label_index index;
	struct arena *arena = arena_new(SIZE_MAX, NULL);

	(void)state;
	label_index_init(&index, 1, arena);
	assert_int_equal(label_index_find_name(&index, STR("a")), LABEL_NONE);
	assert_int_equal(label_index_value_count(&index), 0);
	label_index_check(&index);
	label_index_fini(&index);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_stands_once_and_is_found),
		cmocka_unit_test(a_value_belongs_to_its_name),
		cmocka_unit_test(a_value_knows_its_series),
		cmocka_unit_test(an_empty_index_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
