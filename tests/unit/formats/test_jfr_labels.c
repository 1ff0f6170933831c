#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_labels.h"
#include "vectors.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* Ingest specification, 8.9: contexts{7: {1: 2}}, strings{1: thread_name, 2: worker-1}. */
#define LABELS_HEX                                                     \
	"0a0a080712060a0408011002120f0801120b7468726561645f6e616d6512" \
	"0c08021208776f726b65722d31"

static void read_hex(struct arena *arena, const char *hex, struct jfr_labels *out)
{
	struct error err = { 0 };

	assert_int_equal(jfr_labels_read(vector_unhex(arena, hex), arena, out, &err), 0);
}

static void assert_string(const struct jfr_labels *labels, uint64_t number, const char *text)
{
	const uint32_t string = jfr_labels_string(labels, number);

	assert_int_not_equal(string, NUMBER_MAP_NONE);
	assert_true(str_equals(labels->strings.items[string], text));
}

static void the_vector_names_the_thread_of_context_7(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct jfr_labels labels;
	struct wire_reader pairs;
	uint64_t key;
	uint64_t value;

	(void)state;
	read_hex(arena, LABELS_HEX, &labels);
	pairs = jfr_labels_context(&labels, 7);
	assert_true(jfr_labels_next(&pairs, &key, &value));
	assert_string(&labels, key, "thread_name");
	assert_string(&labels, value, "worker-1");
	assert_false(jfr_labels_next(&pairs, &key, &value));
	pairs = jfr_labels_context(&labels, 8);
	assert_false(jfr_labels_next(&pairs, &key, &value));
	assert_int_equal(jfr_labels_string(&labels, 3), NUMBER_MAP_NONE);
}

static void no_part_means_no_labels(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct jfr_labels labels;
	struct wire_reader pairs;
	uint64_t key;
	uint64_t value;

	(void)state;
	read_hex(arena, "", &labels);
	pairs = jfr_labels_context(&labels, 0);
	assert_false(jfr_labels_next(&pairs, &key, &value));
}

/* strings{1: a, 1: b, -1: c} and an unknown field. */
static void the_last_of_equal_numbers_counts(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct jfr_labels labels;

	(void)state;
	read_hex(arena, "12050801120161120508011201621801120e08ffffffffffffffffff01120163",
	         &labels);
	assert_string(&labels, 1, "b");
	assert_string(&labels, UINT64_MAX, "c");
}

static void what_is_no_snapshot_is_refused(void **state)
{
	static const char *const cases[] = {
		"0a0767617262616765",       /* a context that is the text "garbage" */
		"0801",                     /* contexts are messages */
		"1005",                     /* so are strings */
		"0a",                       /* cut */
		"12040a026162",             /* a number that is a text */
		"120408011001",             /* a text that is a number */
		"0a0408011001",             /* a context that is a number */
		"0a06080112020801",         /* labels of a context are messages */
		"0a0a080712060a0408010a02", /* the number of a text that is a text */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct jfr_labels labels;
		struct error err = { 0 };

		assert_int_equal(
			jfr_labels_read(vector_unhex(arena, cases[i]), arena, &labels, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vector_names_the_thread_of_context_7),
		cmocka_unit_test(no_part_means_no_labels),
		cmocka_unit_test(the_last_of_equal_numbers_counts),
		cmocka_unit_test(what_is_no_snapshot_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
