#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/query/gpu_place.h"

static void a_cursor_is_the_place_that_it_was_made_of(void **state)
{
	static const struct gpu_place places[] = {
		{ 0, 0 },
		{ 1767225600123456789, UINT64_C(0x0123456789abcdef) },
		{ INT64_MAX, UINT64_MAX },
	};
	struct arena *arena = arena_new(1 << 16, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		struct gpu_place read = { 0 };
		struct error err = { 0 };

		assert_int_equal(gpu_place_parse(gpu_place_format(&places[i], arena), &read, &err),
		                 0);
		assert_int_equal(gpu_place_compare(&read, &places[i]), 0);
	}
	arena_free(arena);
}

static void what_is_no_cursor_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"-",
		"5",
		"5-",
		"-5-0123456789abcdef",
		"5-0123456789abcde",
		"5-0123456789abcdef0",
		"5-0123456789ABCDEF",
		"5-0123456789abcde-",
		" 5-0123456789abcdef",
		"9223372036854775808-0123456789abcdef",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct gpu_place read = { 7, 7 };
		struct error err = { 0 };

		assert_int_equal(gpu_place_parse(str_of(texts[i]), &read, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_true(read.time_ns == 7 && read.hash == 7);
	}
}

static void newer_ones_stand_in_front(void **state)
{
	static const struct gpu_place order[] = { { 3, 0 }, { 2, 9 }, { 2, 8 }, { 1, 100 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(order); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(order); j++)
			assert_int_equal(gpu_place_compare(&order[i], &order[j]),
			                 (i > j) - (i < j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cursor_is_the_place_that_it_was_made_of),
		cmocka_unit_test(what_is_no_cursor_is_refused),
		cmocka_unit_test(newer_ones_stand_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
