#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/label_set.h"

#define LABEL(name, value)                         \
	{                                          \
		{ (name), sizeof(name) - 1 },      \
		{                                  \
			(value), sizeof(value) - 1 \
		}                                  \
	}

static void labels_are_sorted_by_bytes_and_equal_names_keep_their_order(void **state)
{
	struct label labels[] = { LABEL("zone", "z"), LABEL("b", "2"), LABEL("Alpha", "A"),
		                  LABEL("b", "1"),    LABEL("a", "x"), LABEL("", "e") };
	static const char *const values[] = { "e", "A", "x", "2", "1", "z" };
	struct label_set set = { labels, ARRAY_LENGTH(labels) };

	(void)state;
	label_set_sort(&set);
	for (size_t i = 0; i < set.count; i++)
		assert_true(str_equals(set.labels[i].value, values[i]));
}

/* More labels than are sorted by insertion: names fall, each is there three times. */
static void many_labels_are_sorted_the_same_way(void **state)
{
	enum {
		COUNT = 999
	};
	static struct label labels[COUNT];
	static char names[COUNT][8];
	static char values[COUNT][8];
	struct label_set set = { labels, COUNT };

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%03d", (COUNT - 1 - i) % 333);
		(void)snprintf(values[i], sizeof(values[i]), "%03d", i);
		labels[i] = (struct label){ str_of(names[i]), str_of(values[i]) };
	}
	label_set_sort(&set);
	for (size_t i = 1; i < COUNT; i++) {
		const int order = str_compare(labels[i - 1].name, labels[i].name);

		assert_true(order <= 0);
		if (order == 0)
			assert_true(str_compare(labels[i - 1].value, labels[i].value) < 0);
	}
	assert_true(str_equals(labels[0].name, "n000"));
	assert_true(str_equals(labels[0].value, "332"));
}

static void a_label_is_found_by_its_name(void **state)
{
	struct label labels[] = { LABEL("a", "1"), LABEL("ab", "2"), LABEL("b", "3") };
	const struct label_set set = { labels, ARRAY_LENGTH(labels) };
	const struct label_set empty = { NULL, 0 };

	(void)state;
	assert_true(str_equals(*label_set_find(&set, STR("a")), "1"));
	assert_true(str_equals(*label_set_find(&set, STR("ab")), "2"));
	assert_true(str_equals(*label_set_find(&set, STR("b")), "3"));
	assert_null(label_set_find(&set, STR("aa")));
	assert_null(label_set_find(&set, STR("c")));
	assert_null(label_set_find(&set, STR("")));
	assert_null(label_set_find(&empty, STR("a")));
}

static void sets_are_ordered_by_name_then_value_then_length(void **state)
{
	struct label a1[] = { LABEL("a", "1") };
	struct label a2[] = { LABEL("a", "2") };
	struct label b1[] = { LABEL("b", "1") };
	struct label a1b1[] = { LABEL("a", "1"), LABEL("b", "1") };
	const struct label_set sets[] = { { a1, 1 }, { a1b1, 2 }, { a2, 1 }, { b1, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(sets); j++) {
			const int order = label_set_compare(&sets[i], &sets[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void fingerprints_tell_names_from_values_and_depend_on_the_key(void **state)
{
	struct label left[] = { LABEL("ab", "c") };
	struct label right[] = { LABEL("a", "bc") };
	struct label swapped[] = { LABEL("c", "ab") };
	char name[] = "ab";
	struct label copied[] = { { str_of(name), STR("c") } };
	const struct hash128 print = label_set_fingerprint(&(struct label_set){ left, 1 }, 1);

	(void)state;
	assert_true(
		hash128_equal(print, label_set_fingerprint(&(struct label_set){ copied, 1 }, 1)));
	assert_false(
		hash128_equal(print, label_set_fingerprint(&(struct label_set){ right, 1 }, 1)));
	assert_false(
		hash128_equal(print, label_set_fingerprint(&(struct label_set){ swapped, 1 }, 1)));
	assert_false(
		hash128_equal(print, label_set_fingerprint(&(struct label_set){ left, 1 }, 2)));
}

static void a_copy_does_not_need_the_original(void **state)
{
	char name[] = "name";
	char value[] = "v\0lue";
	struct label labels[] = { { str_of(name), { value, 5 } } };
	const struct label_set set = { labels, 1 };
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct label_set copy;

	(void)state;
	assert_true(label_set_copy(&set, arena, &copy));
	name[0] = value[0] = 'x';
	labels[0] = (struct label){ 0 };
	assert_int_equal(copy.count, 1);
	assert_true(str_equals(copy.labels[0].name, "name"));
	assert_true(str_equal(copy.labels[0].value, str_make("v\0lue", 5)));
}

static void values_are_quoted_as_go_does(void **state)
{
	struct label labels[] = { LABEL("a", "1"), LABEL("b", "x \"y\" \\ \n\t\x01\x7f"),
		                  LABEL("c", "gr\xc3\xb6\xc3\x9f"),
		                  LABEL("d", "\xff\xc2\x80\xe2\x80\xa8") };
	const struct label_set set = { labels, ARRAY_LENGTH(labels) };
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 1000);
	label_set_format(&set, &out);
	assert_string_equal(out.data, "{a=\"1\", b=\"x \\\"y\\\" \\\\ \\n\\t\\x01\\x7f\", "
	                              "c=\"gr\xc3\xb6\xc3\x9f\", d=\"\\xff\\u0080\\u2028\"}");
	strbuf_reset(&out);
	label_set_format(&(struct label_set){ NULL, 0 }, &out);
	assert_string_equal(out.data, "{}");
	strbuf_fini(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_sorted_by_bytes_and_equal_names_keep_their_order),
		cmocka_unit_test(many_labels_are_sorted_the_same_way),
		cmocka_unit_test(a_label_is_found_by_its_name),
		cmocka_unit_test(sets_are_ordered_by_name_then_value_then_length),
		cmocka_unit_test(fingerprints_tell_names_from_values_and_depend_on_the_key),
		cmocka_unit_test(a_copy_does_not_need_the_original),
		cmocka_unit_test(values_are_quoted_as_go_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
