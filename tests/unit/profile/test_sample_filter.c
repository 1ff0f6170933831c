#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/sample_filter.h"

static const uint8_t no_trace[TRACE_ID_SIZE];

static void an_empty_filter_lets_everything_pass(void **state)
{
	const struct sample_filter filter = { 0 };
	const struct uuid id = { { 1 } };

	(void)state;
	assert_true(sample_filter_has_profile(&filter, &id));
	assert_true(sample_filter_has_row(&filter, 0, no_trace));
	assert_false(sample_filter_needs_rows(&filter));
	assert_false(sample_filter_needs_rows(NULL));
}

static void profiles_are_found_by_any_text_of_their_id(void **state)
{
	static const struct str texts[] = {
		{ "{7C9E6679-7425-40DE-944B-E07FC1F90AE7}", 38 },
		{ "00000000000000000000000000000001", 32 },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 16, NULL);
	struct sample_filter filter = { 0 };
	struct error err;
	struct uuid id;

	(void)state;
	assert_int_equal(sample_filter_add_profile_ids(&filter, &texts[0], 1, arena, &err), 0);
	assert_int_equal(sample_filter_add_profile_ids(&filter, &texts[1], 1, arena, &err), 0);
	assert_true(uuid_parse(STR("7c9e6679-7425-40de-944b-e07fc1f90ae7"), &id));
	assert_true(sample_filter_has_profile(&filter, &id));
	id.bytes[0]++;
	assert_false(sample_filter_has_profile(&filter, &id));
	assert_false(sample_filter_needs_rows(&filter));
}

static void rows_pass_by_span_and_by_trace(void **state)
{
	static const struct str spans[] = { { "00000000000000AB", 16 },
		                            { "0102030405060708", 16 } };
	static const struct str traces[] = { { "000102030405060708090a0B0c0d0e0f", 32 } };
	static const uint8_t trace[TRACE_ID_SIZE] = { 0, 1, 2,  3,  4,  5,  6,  7,
		                                      8, 9, 10, 11, 12, 13, 14, 15 };
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 16, NULL);
	struct sample_filter filter = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(sample_filter_add_span_ids(&filter, spans, 2, arena, &err), 0);
	assert_true(sample_filter_needs_rows(&filter));
	assert_true(sample_filter_has_row(&filter, 0xab, no_trace));
	assert_true(sample_filter_has_row(&filter, UINT64_C(0x0102030405060708), no_trace));
	assert_false(sample_filter_has_row(&filter, 0, no_trace));
	assert_false(sample_filter_has_row(&filter, 0xac, no_trace));
	assert_int_equal(sample_filter_add_trace_ids(&filter, traces, 1, arena, &err), 0);
	assert_false(sample_filter_has_row(&filter, 0xab, no_trace));
	assert_true(sample_filter_has_row(&filter, 0xab, trace));
}

static void an_id_of_zeros_is_that_of_no_row(void **state)
{
	static const struct str span = { "0000000000000000", 16 };
	static const struct str trace = { "00000000000000000000000000000000", 32 };
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 16, NULL);
	struct sample_filter by_span = { 0 };
	struct sample_filter by_trace = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(sample_filter_add_span_ids(&by_span, &span, 1, arena, &err), 0);
	assert_int_equal(sample_filter_add_trace_ids(&by_trace, &trace, 1, arena, &err), 0);
	assert_false(sample_filter_has_row(&by_span, 0, no_trace));
	assert_false(sample_filter_has_row(&by_trace, 0, no_trace));
}

static void other_texts_are_refused_and_change_nothing(void **state)
{
	static const struct {
		int (*add)(struct sample_filter *filter, const struct str *texts, size_t count,
		           struct arena *arena, struct error *err);
		const char *text;
		const char *message;
	} cases[] = {
		{ sample_filter_add_span_ids, "xyz", "invalid span id length: \"xyz\"" },
		{ sample_filter_add_span_ids, "", "invalid span id length: \"\"" },
		{ sample_filter_add_span_ids, "00000000000000zz",
		  "invalid span id: \"00000000000000zz\"" },
		{ sample_filter_add_trace_ids, "0102030405060708",
		  "invalid trace id length: \"0102030405060708\"" },
		{ sample_filter_add_profile_ids, "nope", "invalid profile id: \"nope\"" },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 16, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct str text = str_of(cases[i].text);
		struct sample_filter filter = { 0 };
		struct error err = { 0 };

		assert_int_equal(cases[i].add(&filter, &text, 1, arena, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(filter.span_id_count, 0);
		assert_int_equal(filter.trace_id_count, 0);
		assert_int_equal(filter.profile_id_count, 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_filter_lets_everything_pass),
		cmocka_unit_test(profiles_are_found_by_any_text_of_their_id),
		cmocka_unit_test(rows_pass_by_span_and_by_trace),
		cmocka_unit_test(an_id_of_zeros_is_that_of_no_row),
		cmocka_unit_test(other_texts_are_refused_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
