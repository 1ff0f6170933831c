#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/postings.h"

static void ids_come_back_in_order(void **state)
{
	/* the list's own id, chunks of 4 to 1024, and many of those */
	static const uint32_t counts[] = { 0, 1, 2, 5, 6, 13, 100, 2045, 2046, 20000 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct arena *arena = arena_new((size_t)1 << 20, NULL);
		struct postings list = { 0 };
		struct postings_cursor cursor;
		const uint32_t *ids;
		uint32_t run;
		uint32_t seen = 0;

		for (uint32_t id = 0; id < counts[i]; id++)
			assert_true(postings_add(&list, 3 * id + 1, arena));
		postings_check(&list);
		assert_int_equal(postings_count(&list), counts[i]);
		for (cursor = postings_read(&list); postings_next(&cursor, &ids, &run);)
			for (uint32_t j = 0; j < run; j++)
				assert_int_equal(ids[j], 3 * seen++ + 1);
		assert_int_equal(seen, counts[i]);
		arena_free(arena);
	}
}

static void a_cursor_sees_what_was_there(void **state)
{
	struct arena *arena = arena_new((size_t)1 << 20, NULL);
	struct postings list = { 0 };
	struct postings_cursor cursor;
	const uint32_t *ids;
	uint32_t run;
	uint32_t seen = 0;

	(void)state;
	for (uint32_t id = 0; id < 7; id++)
		assert_true(postings_add(&list, id, arena));
	cursor = postings_read(&list);
	for (uint32_t id = 7; id < 500; id++)
		assert_true(postings_add(&list, id, arena));
	while (postings_next(&cursor, &ids, &run))
		seen += run;
	assert_int_equal(seen, 7);
	arena_free(arena);
}

static void a_full_arena_is_told_and_changes_nothing(void **state)
{
	struct arena *arena = arena_new(1, NULL);
	struct postings list = { 0 };

	(void)state;
	assert_true(postings_add(&list, 9, arena)); /* no memory is needed for one */
	assert_false(postings_add(&list, 10, arena));
	assert_int_equal(postings_count(&list), 1);
	postings_check(&list);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_come_back_in_order),
		cmocka_unit_test(a_cursor_sees_what_was_there),
		cmocka_unit_test(a_full_arena_is_told_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
