#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/nearest.h"

static void distances_count_edits_and_swaps(void **state)
{
	static const struct {
		struct str a;
		struct str b;
		size_t distance;
	} cases[] = {
		{ STR(""), STR(""), 0 },
		{ STR(""), STR("abc"), 3 },
		{ STR("kitten"), STR("sitting"), 3 },
		{ STR("port"), STR("prot"), 1 },
		{ STR("storage-path"), STR("storage.path"), 0 },
		{ STR("storage_path"), STR("STORAGE.PATH"), 0 },
		{ STR("abcdef"), STR("abcde"), 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		assert_int_equal(nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void the_nearest_name_within_a_third_wins(void **state)
{
	struct nearest nearest;

	(void)state;
	nearest_init(&nearest, STR("storrage.path"));
	nearest_add(&nearest, "storage.sync");
	nearest_add(&nearest, "storage.path");
	nearest_add(&nearest, "log.level");
	assert_string_equal(nearest.name, "storage.path");

	nearest_init(&nearest, STR("zzz"));
	nearest_add(&nearest, "storage.path");
	assert_null(nearest.name);
}

static void names_that_are_too_long_have_no_neighbours(void **state)
{
	static const char long_text[NEAREST_NAME_MAX + 1] = { 0 };

	(void)state;
	assert_true(nearest_distance((struct str){ long_text, sizeof(long_text) }, STR("a")) ==
	            SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_count_edits_and_swaps),
		cmocka_unit_test(the_nearest_name_within_a_third_wins),
		cmocka_unit_test(names_that_are_too_long_have_no_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
