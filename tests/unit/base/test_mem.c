#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"

static void new_memory_is_zeroed_and_never_null(void **state)
{
	CLEANUP(mem_freep) unsigned char *bytes = mem_zalloc(3, 5);
	CLEANUP(mem_freep) void *nothing = mem_zalloc(0, 8);

	(void)state;
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(bytes[i], 0);
	assert_non_null(nothing);
}

static void resizing_keeps_what_was_there(void **state)
{
	CLEANUP(mem_freep) char *text = mem_strdup("abc");

	(void)state;
	text = mem_resize(text, 1000, 1);
	assert_string_equal(text, "abc");
	text = mem_resize(text, 0, 1);
	assert_non_null(text);
}

static void a_cut_copy_ends_with_a_nul(void **state)
{
	CLEANUP(mem_freep) char *text = mem_strndup("abcdef", 3);
	CLEANUP(mem_freep) char *empty = mem_strndup("", 0);

	(void)state;
	assert_string_equal(text, "abc");
	assert_string_equal(empty, "");
}

static void a_freed_pointer_becomes_null(void **state)
{
	char *text = mem_strdup("abc");
	char *taken = TAKE(text);

	(void)state;
	assert_null(text);
	assert_string_equal(taken, "abc");
	mem_freep(&taken);
	assert_null(taken);
	mem_freep(&taken);
}

/* From the heap to mapped memory, and mapped memory that grows. */
static void a_table_that_grows_keeps_its_entries(void **state)
{
	static const size_t counts[] = { 3, 1000, 300000, 300001, 900000 };
	uint64_t *table = mem_table(1, sizeof(*table));
	size_t count = 1;

	(void)state;
	table[0] = 1;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		table = mem_table_grow(table, count, counts[i], sizeof(*table));
		for (size_t k = 0; k < count; k++)
			assert_int_equal(table[k], k + 1);
		for (size_t k = count; k < counts[i]; k++) {
			assert_int_equal(table[k], 0);
			table[k] = k + 1;
		}
		count = counts[i];
	}
	mem_table_free(table, count, sizeof(*table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_memory_is_zeroed_and_never_null),
		cmocka_unit_test(resizing_keeps_what_was_there),
		cmocka_unit_test(a_cut_copy_ends_with_a_nul),
		cmocka_unit_test(a_freed_pointer_becomes_null),
		cmocka_unit_test(a_table_that_grows_keeps_its_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
