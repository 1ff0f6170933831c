#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/profile/pprof_fixture.h"

#define ARENA_BYTES ((size_t)16 << 20)

static const char *const strings[] = { "", "cpu", "nanoseconds", "main", "work" };

struct fixture {
	struct arena *arena;
	struct strbuf bytes;
	struct pprof_input input;
	struct error err;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->arena = arena_new(ARENA_BYTES, NULL);
	strbuf_init(&fixture->bytes, 1 << 20);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	arena_free(fixture->arena);
	strbuf_fini(&fixture->bytes);
	free(fixture);
	return 0;
}

static int read_with(struct fixture *fixture, const struct pprof_options *options)
{
	return pprof_read(strbuf_view(&fixture->bytes), options, fixture->arena, &fixture->input,
	                  &fixture->err);
}

static const struct profile *read_good(struct fixture *fixture)
{
	assert_int_equal(read_with(fixture, &(struct pprof_options){ 0 }), 0);
	return &fixture->input.profile;
}

static void assert_string(const struct profile *profile, uint32_t index, const char *text)
{
	assert_true(index < profile->string_count);
	assert_true(str_equals(profile_string(profile, index), text));
}

/* The name of frame `at` of sample `index`. */
static const char *frame(const struct profile *profile, size_t index, uint32_t at)
{
	static char name[64];
	const uint32_t location = profile->stacks[profile->samples[index].first_frame + at];
	const struct profile_line *line = &profile->lines[profile->locations[location].first_line];
	const struct str text = profile_string(profile, profile->functions[line->function].name);

	memcpy(name, text.data, text.length);
	name[text.length] = '\0';
	return name;
}

static void the_vector_of_the_specification_is_read_whole(void **state)
{
	struct fixture *fixture = *state;
	const struct profile *profile;

	pprof_put_hex(&fixture->bytes, pprof_vector);
	assert_int_equal(fixture->bytes.length, 181);
	profile = read_good(fixture);
	assert_int_equal(fixture->input.faults, 0);
	assert_int_equal(fixture->input.encoded_bytes, 181);
	assert_int_equal(fixture->input.samples_sent, 2);
	assert_int_equal(fixture->input.most_labels, 1);
	assert_int_equal(profile->sample_type_count, 2);
	assert_string(profile, profile->sample_types[1].type, "cpu");
	assert_string(profile, profile->sample_types[1].unit, "nanoseconds");
	assert_int_equal(profile->sample_count, 2);
	assert_int_equal(profile->samples[0].depth, 2);
	assert_string_equal(frame(profile, 0, 0), "work");
	assert_string_equal(frame(profile, 0, 1), "main");
	assert_string_equal(frame(profile, 1, 0), "main");
	assert_int_equal(profile->values[0], 3);
	assert_int_equal(profile->values[1], 30000000);
	assert_int_equal(profile->values[2], 1);
	assert_int_equal(profile->values[3], 10000000);
	assert_int_equal(profile->samples[0].label_count, 1);
	assert_string(profile, profile->labels[0].key, "vm");
	assert_string(profile, profile->labels[0].value, "work");
	assert_int_equal(profile->mapping_count, 1);
	assert_int_equal(profile->mappings[0].flags, PROFILE_HAS_FUNCTIONS);
	assert_int_equal(profile->lines[0].line, 10);
	assert_int_equal(profile->lines[1].line, 20);
	assert_string(profile, profile->functions[0].file, "main.go");
	assert_true(profile->time_unix_ns == INT64_C(1700000000000000000));
	assert_true(profile->duration_ns == INT64_C(10000000000));
	assert_true(profile->has_period_type);
	assert_string(profile, profile->period_type.type, "cpu");
	assert_int_equal(profile->period, 10000000);
}

static void an_empty_message_is_an_empty_profile(void **state)
{
	struct fixture *fixture = *state;
	const struct profile *profile = read_good(fixture);

	assert_int_equal(profile->sample_type_count, 0);
	assert_int_equal(profile->string_count, 1);
	assert_int_equal(fixture->input.faults, PPROF_STRING_ZERO);
}

/* Packed and not in one sample, unknown fields of all types, padded varints. */
static void odd_forms_of_the_wire_mean_the_same(void **state)
{
	struct fixture *fixture = *state;
	const struct profile *profile;

	pprof_put_type(&fixture->bytes, 1, 1, 2);
	pprof_put_hex(&fixture->bytes, "12"
	                               "15"
	                               "0801"         /* location_id 1 */
	                               "0a0101"       /* packed: 1 */
	                               "08818000"     /* 1 in three bytes */
	                               "9a0601aa"     /* field 99, bytes */
	                               "1005"         /* value 5 */
	                               "9d0601020304" /* field 99, fixed32 */
	);
	pprof_put_hex(&fixture->bytes, "a10601020304050607089806"
	                               "05");
	pprof_put_location(&fixture->bytes, 1, 0, 0, 1);
	pprof_put_function(&fixture->bytes, 1, 3);
	pprof_put_strings(&fixture->bytes, strings, 5);
	profile = read_good(fixture);
	assert_int_equal(fixture->input.faults, 0);
	assert_int_equal(profile->samples[0].depth, 3);
	assert_int_equal(profile->values[0], 5);
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(frame(profile, 0, i), "main");
}

static void malformed_messages_are_refused(void **state)
{
	static const char *const cases[] = {
		"67",                   /* "g": no such wire type */
		"0a",                   /* no length */
		"0a05",                 /* a length past the end */
		"0aff",                 /* a cut length */
		"0affffffffffffffff7f", /* 2^63 - 1 */
		"0affffffffffffffffffff01",
		"4880",                   /* a cut number */
		"48ffffffffffffffffff02", /* a 65th bit */
		"00",                     /* field 0 */
		"0b0c",                   /* a group */
		"4a0101",                 /* time_nanos as bytes */
		"0801",                   /* sample_type as a number */
		"1202080",                /* a cut sample */
		"12020880",               /* a cut id inside a sample */
		"12030a0180",             /* a cut packed id */
		"120312018f",             /* a cut packed value */
		"12021a05",               /* a label past its sample */
		"12051a030a0100",         /* a label's key as bytes */
		"22030a0101",             /* a location's id as bytes */
		"2204220208",             /* a line past its location */
		"2204220208ff",           /* a cut function id */
		"2a0209",                 /* a function's id as fixed64, cut */
		"1a020a00",               /* a mapping's id as bytes */
		"5a020a00",               /* a type's name as bytes */
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };
		struct pprof_input input;

		strbuf_reset(&fixture->bytes);
		pprof_put_hex(&fixture->bytes, cases[i]);
		assert_int_equal(pprof_read(strbuf_view(&fixture->bytes),
		                            &(struct pprof_options){ 0 }, fixture->arena, &input,
		                            &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void every_cut_of_a_good_message_is_read_or_refused(void **state)
{
	struct fixture *fixture = *state;
	size_t refused = 0;

	pprof_put_hex(&fixture->bytes, pprof_vector);
	for (size_t length = 0; length < 181; length++) {
		struct str bytes =
			arena_copy(fixture->arena, str_first(strbuf_view(&fixture->bytes), length));

		refused += pprof_read(bytes, &(struct pprof_options){ 0 }, fixture->arena,
		                      &fixture->input, &fixture->err) < 0;
	}
	assert_true(refused > 140);
}

/* References by ids of one profile with two functions; `odd` is the second thing's id. */
static void put_two(struct strbuf *bytes, uint64_t odd)
{
	const uint64_t stack[] = { odd, 1 };

	pprof_put_type(bytes, 1, 1, 2);
	pprof_put_sample(bytes, stack, 2, 5);
	pprof_put_mapping(bytes, 1, 0);
	pprof_put_mapping(bytes, odd, 0);
	pprof_put_location(bytes, 1, 1, 0, 1);
	pprof_put_location(bytes, odd, odd, 0, odd);
	pprof_put_function(bytes, odd, 4);
	pprof_put_function(bytes, 1, 3);
	pprof_put_strings(bytes, strings, 5);
}

static void ids_may_be_any_numbers(void **state)
{
	static const uint64_t odd[] = { 2,
		                        3,
		                        1000,
		                        1000000,
		                        0x7fffffff,
		                        0x80000000,
		                        0x80000001,
		                        0xffffffff,
		                        UINT64_C(0x100000001),
		                        UINT64_C(1) << 63,
		                        UINT64_MAX };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(odd); i++) {
		const struct profile *profile;

		strbuf_reset(&fixture->bytes);
		put_two(&fixture->bytes, odd[i]);
		profile = read_good(fixture);
		assert_int_equal(fixture->input.faults, 0);
		assert_string_equal(frame(profile, 0, 0), "work");
		assert_string_equal(frame(profile, 0, 1), "main");
		assert_int_equal(profile->locations[1].mapping, 1);
	}
}

static void references_that_lead_nowhere_are_marked(void **state)
{
	static const uint64_t missing[] = {
		0, 2, 77, UINT64_C(1) << 31, UINT64_C(0x100000001), UINT64_C(1) << 63
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(missing); i++) {
		const uint64_t stack[] = { missing[i], 1 };
		const struct profile *profile;

		strbuf_reset(&fixture->bytes);
		pprof_put_type(&fixture->bytes, 1, 1, 2);
		pprof_put_sample(&fixture->bytes, stack, 2, 5);
		pprof_put_location(&fixture->bytes, 1, missing[i], 9, 1);
		pprof_put_location(&fixture->bytes, 3, 0, 9, missing[i]);
		pprof_put_function(&fixture->bytes, 1, 3);
		pprof_put_strings(&fixture->bytes, strings, 5);
		profile = read_good(fixture);
		assert_int_equal(fixture->input.faults, 0);
		assert_true(profile->stacks[0] == PROFILE_NONE);
		assert_int_equal(profile->stacks[1], 0);
		assert_true(profile->locations[0].mapping == PROFILE_NONE);
		assert_int_equal(profile->locations[0].line_count, missing[i] == 0 ? 1 : 0);
		assert_int_equal(profile->locations[0].address, missing[i] == 0 ? 9 : 0);
		if (missing[i] != 0)
			assert_true(profile->lines[profile->locations[1].first_line].function ==
			            PROFILE_NONE);
	}
}

static void of_equal_ids_the_last_one_counts(void **state)
{
	const uint64_t stack[] = { 1 };
	struct fixture *fixture = *state;
	const struct profile *profile;

	pprof_put_type(&fixture->bytes, 1, 1, 2);
	pprof_put_sample(&fixture->bytes, stack, 1, 5);
	pprof_put_location(&fixture->bytes, 1, 0, 0, 2);
	pprof_put_location(&fixture->bytes, 1, 0, 0, 1);
	pprof_put_function(&fixture->bytes, 1, 3);
	pprof_put_function(&fixture->bytes, 1, 4);
	pprof_put_strings(&fixture->bytes, strings, 5);
	profile = read_good(fixture);
	assert_string_equal(frame(profile, 0, 0), "work");
}

static void what_the_pipeline_refuses_is_noted(void **state)
{
	static const struct {
		const char *hex; /* fields before the strings "", "cpu", "nanoseconds" */
		unsigned faults;
	} cases[] = {
		{ "2200", PPROF_LOCATION_ID_ZERO },
		{ "2a00", PPROF_FUNCTION_ID_ZERO },
		{ "0a0408011002120412020506", PPROF_VALUE_COUNT },
		{ "0a04080110021200", PPROF_VALUE_COUNT },
		{ "0a0408011002120312010512041202"
		  "0506",
		  PPROF_VALUE_COUNT },
		{ "0a020803", PPROF_SAMPLE_TYPE_STRING },
		{ "0a0b08ffffffffffffffffff01", PPROF_SAMPLE_TYPE_STRING },
		{ "0a021003", 0 }, /* a unit: counts as 0 */
		{ "5a0408031003", 0 },
		{ "7003", 0 },
		{ "12041a020803", PPROF_LABEL_STRING },
		{ "12041a021003", PPROF_LABEL_STRING },
		{ "12061a0408031801", PPROF_LABEL_STRING }, /* a number's key */
		{ "12041a022003", 0 },                      /* a number's unit */
		{ "2a0408011003", PPROF_FUNCTION_NAME_STRING },
		{ "2a0408011803", PPROF_SYSTEM_NAME_STRING },
		{ "2a0408012003", PPROF_FUNCTION_FILE_STRING },
		{ "2a0d080110ffffffffffffffffff01", PPROF_FUNCTION_NAME_STRING },
		{ "1a0408012803", PPROF_MAPPING_FILE_STRING },
		{ "1a0408013003", PPROF_BUILD_ID_STRING },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		strbuf_reset(&fixture->bytes);
		pprof_put_hex(&fixture->bytes, cases[i].hex);
		pprof_put_strings(&fixture->bytes, strings, 3);
		(void)read_good(fixture);
		assert_int_equal(fixture->input.faults, cases[i].faults);
	}
	strbuf_reset(&fixture->bytes);
	pprof_put_strings(&fixture->bytes, strings + 1, 1);
	(void)read_good(fixture);
	assert_int_equal(fixture->input.faults, PPROF_STRING_ZERO);
}

static void what_is_at_fault_has_usable_indices(void **state)
{
	struct fixture *fixture = *state;
	const struct profile *profile;

	pprof_put_hex(&fixture->bytes,
	              "0a040863106312081a040863106310052a08080110631863206370635a0408631063");
	profile = read_good(fixture);
	assert_int_equal(profile->sample_types[0].type, 0);
	assert_int_equal(profile->sample_types[0].unit, 0);
	assert_int_equal(profile->labels[0].key, 0);
	assert_int_equal(profile->functions[0].name, 0);
	assert_int_equal(profile->period_type.unit, 0);
	assert_int_equal(profile->default_sample_type, 0);
}

static void functions_of_old_dotnet_clients_take_the_ids_of_locations(void **state)
{
	const uint64_t stack[] = { 7 };
	struct fixture *fixture = *state;

	pprof_put_type(&fixture->bytes, 1, 1, 2);
	pprof_put_sample(&fixture->bytes, stack, 1, 5);
	pprof_put_location(&fixture->bytes, 7, 0, 0, 7);
	pprof_put_function(&fixture->bytes, 0, 3);
	pprof_put_strings(&fixture->bytes, strings, 5);
	assert_int_equal(
		read_with(fixture, &(struct pprof_options){ .repair_zero_function_ids = true }), 0);
	assert_int_equal(fixture->input.faults, 0);
	assert_string_equal(frame(&fixture->input.profile, 0, 0), "main");
	assert_int_equal(read_with(fixture, &(struct pprof_options){ 0 }), 0);
	assert_int_equal(fixture->input.faults, PPROF_FUNCTION_ID_ZERO);
	/* one function more than locations */
	pprof_put_function(&fixture->bytes, 0, 4);
	assert_int_equal(
		read_with(fixture, &(struct pprof_options){ .repair_zero_function_ids = true }), 0);
	assert_int_equal(fixture->input.faults, PPROF_FUNCTION_ID_ZERO);
}

static void samples_past_the_limit_are_counted_and_not_kept(void **state)
{
	const uint64_t stack[] = { 1, 1, 1 };
	struct fixture *fixture = *state;

	pprof_put_type(&fixture->bytes, 1, 1, 2);
	pprof_put_location(&fixture->bytes, 1, 0, 9, 0);
	for (uint64_t i = 0; i < 10; i++)
		pprof_put_sample(&fixture->bytes, stack, 3, i);
	pprof_put_strings(&fixture->bytes, strings, 5);
	assert_int_equal(read_with(fixture, &(struct pprof_options){ .max_samples = 4 }), 0);
	assert_int_equal(fixture->input.samples_sent, 10);
	assert_int_equal(fixture->input.profile.sample_count, 4);
	assert_int_equal(fixture->input.profile.stack_length, 12);
	assert_int_equal(fixture->input.profile.values[3], 3);
	assert_int_equal(fixture->input.faults, 0);
}

static void a_full_arena_is_told_from_malformed_bytes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1000, NULL);
	struct fixture *fixture = *state;
	struct error err = { 0 };

	for (int i = 0; i < 100; i++)
		pprof_put_strings(&fixture->bytes, strings, 5);
	assert_int_equal(pprof_read(strbuf_view(&fixture->bytes), &(struct pprof_options){ 0 },
	                            arena, &fixture->input, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void what_was_read_is_written_back(void **state)
{
	struct fixture *fixture = *state;
	struct strbuf written;

	strbuf_init(&written, 1000);
	pprof_put_hex(&fixture->bytes, pprof_vector);
	pprof_write(read_good(fixture), &written);
	assert_true(str_equal(strbuf_view(&written), strbuf_view(&fixture->bytes)));
	strbuf_fini(&written);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_vector_of_the_specification_is_read_whole),
		TEST(an_empty_message_is_an_empty_profile),
		TEST(odd_forms_of_the_wire_mean_the_same),
		TEST(malformed_messages_are_refused),
		TEST(every_cut_of_a_good_message_is_read_or_refused),
		TEST(ids_may_be_any_numbers),
		TEST(references_that_lead_nowhere_are_marked),
		TEST(of_equal_ids_the_last_one_counts),
		TEST(what_the_pipeline_refuses_is_noted),
		TEST(what_is_at_fault_has_usable_indices),
		TEST(functions_of_old_dotnet_clients_take_the_ids_of_locations),
		TEST(samples_past_the_limit_are_counted_and_not_kept),
		TEST(a_full_arena_is_told_from_malformed_bytes),
		TEST(what_was_read_is_written_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
