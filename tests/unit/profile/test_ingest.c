#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profile/ingest_fixture.h"

#define SAMPLES(...)                   \
	(const struct ingest_sample[]) \
	{                              \
		__VA_ARGS__            \
	}
#define COUNT(...) (sizeof(SAMPLES(__VA_ARGS__)) / sizeof(struct ingest_sample))
#define MAKE(fixture, types, ...) \
	ingest_make((fixture), (types), SAMPLES(__VA_ARGS__), COUNT(__VA_ARGS__))

/* The two labels that most tests need. */
static void usual_labels(struct ingest_fixture *fixture)
{
	ingest_label(fixture, "service_name", "shop");
	ingest_label(fixture, "__name__", "process_cpu");
}

static void assert_refused(struct ingest_fixture *fixture, const char *reason, const char *part)
{
	assert_int_equal(ingest_go(fixture), -1);
	assert_int_equal(fixture->err.code, ERROR_INVALID);
	if (!strstr(fixture->err.message, part))
		print_error("%s\n", fixture->err.message);
	assert_non_null(strstr(fixture->err.message, part));
	assert_string_equal(fixture->result.reason, reason);
	assert_int_equal(fixture->result.count, 0);
}

static void the_vector_becomes_two_groups_of_two_types(void **state)
{
	struct ingest_fixture *fixture = *state;
	const struct series_profile *stored;

	ingest_label(fixture, "service_name", "svc-a");
	ingest_label(fixture, "pyroscope_spy", "gospy");
	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "__delta__", "false");
	ingest_label(fixture, "env", "dev");
	pprof_put_hex(&fixture->bytes, pprof_vector);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(
		ingest_show(fixture),
		"process_cpu:samples:count:cpu:nanoseconds process_cpu:cpu:nanoseconds:cpu:nanoseconds "
		"env=dev pyroscope_spy=gospy service_name=svc-a vm=work \n"
		"main;work 3 30000000\n"
		"process_cpu:samples:count:cpu:nanoseconds process_cpu:cpu:nanoseconds:cpu:nanoseconds "
		"env=dev pyroscope_spy=gospy service_name=svc-a \n"
		"main 1 10000000\n");
	stored = fixture->result.profiles;
	assert_true(stored[0].time_unix_ns == INT64_C(1700000000000000000));
	assert_true(stored[0].duration_ns == INT64_C(10000000000));
	assert_int_equal(stored[0].series[1].total, 30000000);
	assert_memory_not_equal(&stored[0].id, &stored[1].id, sizeof(stored[0].id));
	assert_false(hash128_equal(stored[0].origin, stored[1].origin));
}

static void a_series_has_the_labels_of_its_type(void **state)
{
	struct ingest_fixture *fixture = *state;
	struct strbuf *out = &fixture->text;

	usual_labels(fixture);
	ingest_label(fixture, "zone", "z");
	ingest_label(fixture, "Alpha", "A");
	ingest_label(fixture, "empty", "");
	ingest_label(fixture, "__order__", "1");
	ingest_label(fixture, "__delta__", "false");
	ingest_label(fixture, "__session_id__", "0123456789abcdef");
	ingest_label(fixture, "__unit__", "mine");
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_type(fixture, 11, "wall/seconds");
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	label_set_format(&fixture->result.profiles[0].series[0].labels, out);
	assert_string_equal(
		out->data, "{Alpha=\"A\", __name__=\"process_cpu\", __period_type__=\"wall\", "
			   "__period_unit__=\"seconds\", "
			   "__profile_type__=\"process_cpu:cpu:nanoseconds:wall:seconds\", "
			   "__service_name__=\"shop\", __type__=\"cpu\", __unit__=\"nanoseconds\", "
			   "service_name=\"shop\", zone=\"z\"}");
}

static void without_a_period_type_two_parts_are_empty(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:nanoseconds:: service_name=shop \na 1\n");
	assert_null(label_set_find(&fixture->result.profiles[0].series[0].labels,
	                           STR("__period_type__")));
}

static void equal_stacks_add_up_and_what_says_nothing_is_dropped(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "samples/count cpu/nanoseconds", { "a;b", { 1, 10 }, "" },
	     { "a;b", { 2, 20 }, "" }, { "a;neg", { 1, -1 }, "" }, { "a;zero", { 0, 0 }, "" },
	     { "a;half", { 0, 5 }, "" }, { "", { 7, 7 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:samples:count:: process_cpu:cpu:nanoseconds:: "
	                    "service_name=shop \n"
	                    "a;b 3 30\na;half 0 5\n 7 7\n");
	assert_int_equal(fixture->result.profiles[0].series[1].total, 42);
}

static void a_type_without_a_positive_value_does_not_exist(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "t0/count t1/count t2/count", { "a", { 1, 0, 2 }, "" },
	     { "b", { 0, 0, 4 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(
		ingest_show(fixture),
		"process_cpu:t0:count:: process_cpu:t2:count:: service_name=shop \na 1 2\nb 0 4\n");
}

static void a_type_that_is_there_twice_is_one_series(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/ns x/ns cpu/ns", { "a", { 1, 2, 4 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:ns:: process_cpu:x:ns:: service_name=shop \na 5 2\n");
}

static void nothing_left_is_a_success(void **state)
{
	struct ingest_fixture *fixture = *state;

	/* no metric name either: labels are looked at with samples only */
	MAKE(fixture, "cpu/nanoseconds", { "a", { 0 }, "" }, { "b", { -1 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_int_equal(fixture->result.count, 0);
}

/* Collectors say so that an idle machine is watched: it is no gap, but nothing. */
static void a_gauge_without_samples_is_a_tick(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "memory");
	ingest_label(fixture, "service_name", "shop");
	ingest_make(fixture, "inuse_space/bytes inuse_objects/count", NULL, 0);
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "memory:inuse_space:bytes:: memory:inuse_objects:count:: "
	                    "service_name=shop \n 0 0\n");
	assert_int_equal(fixture->result.profiles[0].series[0].total, 0);
}

static void without_samples_only_gauges_say_something(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "memory");
	ingest_label(fixture, "service_name", "shop");
	ingest_make(fixture, "alloc_space/bytes inuse_space/bytes", NULL, 0);
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_int_equal(fixture->result.count, 0);
}

/* As the reference has it: a profile whose values are all zero is no profile. */
static void a_gauge_of_zeros_is_dropped(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "memory");
	ingest_label(fixture, "service_name", "shop");
	MAKE(fixture, "inuse_space/bytes", { "a", { 0 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_int_equal(fixture->result.count, 0);
}

static void sums_wrap_and_values_that_wrapped_below_zero_do_not_count(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { INT64_MAX }, "" }, { "a", { 1 }, "" },
	     { "b", { INT64_MAX }, "" }, { "b", { INT64_MAX }, "" }, { "b", { 12 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:nanoseconds:: service_name=shop \nb 10\n");
}

static void samples_with_broken_references_are_dropped(void **state)
{
	const uint64_t stacks[][2] = { { 1, 1 }, { 9, 1 }, { 1, 2 }, { 3, 1 }, { 4, 1 }, { 5, 5 } };
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	ingest_make(fixture, "cpu/nanoseconds", NULL, 0);
	(void)ingest_string(fixture, STR("main"));
	for (size_t i = 0; i < ARRAY_LENGTH(stacks); i++)
		pprof_put_sample(&fixture->bytes, stacks[i], 2, 1 << i);
	pprof_put_location(&fixture->bytes, 1, 0, 0, 1);
	pprof_put_location(&fixture->bytes, 2, 0, 0, 0);  /* no line, no address */
	pprof_put_location(&fixture->bytes, 3, 5, 0, 1);  /* no such mapping */
	pprof_put_location(&fixture->bytes, 4, 0, 0, 44); /* no such function */
	pprof_put_location(&fixture->bytes, 5, 0, 0xabc, 0);
	pprof_put_function(&fixture->bytes, 1, 3);
	for (size_t i = 0; i < fixture->string_count; i++)
		wire_put_bytes(&fixture->bytes, 6, fixture->strings[i]);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:nanoseconds:: service_name=shop \n"
	                    "main;main 1\n0xabc;0xabc 32\n");
}

static void addresses_go_where_functions_are_known(void **state)
{
	const uint64_t stack[] = { 1, 2 };
	struct ingest_fixture *fixture = *state;
	const struct profile *profile;
	size_t mapping;

	usual_labels(fixture);
	ingest_make(fixture, "cpu/nanoseconds", NULL, 0);
	pprof_put_sample(&fixture->bytes, stack, 2, 1);
	for (uint64_t i = 1; i <= 2; i++) {
		mapping = wire_begin(&fixture->bytes, 3);
		wire_put_uint(&fixture->bytes, 1, i);
		wire_put_uint(&fixture->bytes, 2, 0x1000);
		wire_put_uint(&fixture->bytes, 3, 0x2000);
		wire_put_uint(&fixture->bytes, 4, 0x10);
		wire_put_uint(&fixture->bytes, 7, i == 1);
		wire_end(&fixture->bytes, mapping);
		pprof_put_location(&fixture->bytes, i, i, 0x1234, 1);
	}
	pprof_put_function(&fixture->bytes, 1, 1);
	for (size_t i = 0; i < fixture->string_count; i++)
		wire_put_bytes(&fixture->bytes, 6, fixture->strings[i]);
	assert_int_equal(ingest_go(fixture), 0);
	profile = fixture->result.profiles[0].profile;
	assert_int_equal(profile->locations[0].address, 0);
	assert_int_equal(profile->mappings[0].start, 0);
	assert_int_equal(profile->mappings[0].limit, 0);
	assert_int_equal(profile->mappings[0].offset, 0);
	assert_int_equal(profile->locations[1].address, 0x1234);
	assert_int_equal(profile->mappings[1].start, 0x1000);
}

static void sources_are_written_into_build_ids(void **state)
{
	static const char build_id[] = "{\"repository\":\"https://git.example/\\\"shop\\\"\","
				       "\"git_ref\":\"main\",\"build_id\":\"cpu\"}";
	static const char bare[] = "{\"repository\":\"https://git.example/\\\"shop\\\"\","
				   "\"git_ref\":\"main\"}";
	const uint64_t stack[] = { 1, 2 };
	struct ingest_fixture *fixture = *state;
	const struct profile *profile;
	size_t mapping;

	usual_labels(fixture);
	ingest_label(fixture, "service_repository", "https://git.example/\"shop\"");
	ingest_label(fixture, "service_git_ref", "main");
	ingest_make(fixture, "cpu/nanoseconds", NULL, 0);
	pprof_put_sample(&fixture->bytes, stack, 2, 1);
	mapping = wire_begin(&fixture->bytes, 3);
	wire_put_uint(&fixture->bytes, 1, 1);
	wire_put_uint(&fixture->bytes, 6, 1); /* "cpu" */
	wire_end(&fixture->bytes, mapping);
	pprof_put_location(&fixture->bytes, 1, 1, 9, 0);
	pprof_put_location(&fixture->bytes, 2, 0, 9, 0);
	for (size_t i = 0; i < fixture->string_count; i++)
		wire_put_bytes(&fixture->bytes, 6, fixture->strings[i]);
	assert_int_equal(ingest_go(fixture), 0);
	profile = fixture->result.profiles[0].profile;
	assert_int_equal(profile->mapping_count, 2);
	assert_true(str_equals(profile_string(profile, profile->mappings[0].build_id), build_id));
	assert_int_equal(profile->locations[1].mapping, 1);
	assert_true(str_equals(profile_string(profile, profile->mappings[1].build_id), bare));
}

static void deep_stacks_keep_their_root_side(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	fixture->limits.max_depth = 2;
	MAKE(fixture, "cpu/nanoseconds", { "root;f;leaf", { 1 }, "" }, { "root;f", { 2 }, "" },
	     { "root", { 4 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:nanoseconds:: service_name=shop \n"
	                    "root;f 3\nroot 4\n");
}

static void long_strings_keep_their_ends(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	fixture->limits.max_string_length = 11; /* of "nanoseconds" */
	MAKE(fixture, "cpu/nanoseconds", { "start_of_a_name", { 1 }, "" });
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:nanoseconds:: service_name=shop \n"
	                    "t_of_a_name 1\n");
}

static void a_cut_may_break_a_character(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	fixture->limits.max_string_length = 11;
	MAKE(fixture, "cpu/nanoseconds", { "\xc3\xa4 ten bytes", { 1 }, "" });
	ingest_put_tables(fixture);
	assert_refused(fixture, "malformed_profile",
	               "invalid utf8 string hex: a42074656e206279746573");
}

static void the_time_must_lie_in_the_window(void **state)
{
	static const struct {
		int64_t time_unix_ns;
		bool good;
	} cases[] = {
		{ INGEST_NOW_NS, true },
		{ INGEST_NOW_NS - 3599 * NS_PER_S, true },
		{ INGEST_NOW_NS - 3600 * NS_PER_S + NS_PER_MS, true },
		{ INGEST_NOW_NS - 3600 * NS_PER_S + NS_PER_MS - 1, false },
		{ INGEST_NOW_NS - 3600 * NS_PER_S, false },
		{ INGEST_NOW_NS + 600 * NS_PER_S - 1, true },
		{ INGEST_NOW_NS + 600 * NS_PER_S, false },
		{ INGEST_NOW_NS / NS_PER_MS, false }, /* milliseconds by mistake */
		{ 1, false },
		{ INT64_MAX, false },
	};
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_tables(fixture);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		wire_put_uint(&fixture->bytes, 9, (uint64_t)cases[i].time_unix_ns);
		if (!cases[i].good) {
			assert_refused(fixture, "not_in_ingestion_window",
			               "is outside of ingestion window (profile timestamp: ");
			continue;
		}
		assert_int_equal(ingest_go(fixture), 0);
		assert_true(fixture->result.profiles[0].time_unix_ns == cases[i].time_unix_ns);
	}
	wire_put_uint(&fixture->bytes, 9, UINT64_C(1676632334500000000));
	assert_refused(
		fixture, "not_in_ingestion_window",
		"profile with labels '{__name__=\"process_cpu\", service_name=\"shop\"}' is "
		"outside of ingestion window (profile timestamp: 2023-02-17 11:12:14.5 +0000 "
		"UTC, the ingestion window starts at 2023-11-14 21:13:20 +0000 UTC and ends "
		"at 2023-11-14 22:23:20 +0000 UTC)");
	fixture->limits.reject_older_than_ns = 0;
	assert_int_equal(ingest_go(fixture), 0);
}

static void without_a_time_it_is_now_and_of_no_origin(void **state)
{
	static const int64_t times[] = { 0, -1, INT64_MIN };
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_tables(fixture);
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		wire_put_uint(&fixture->bytes, 9, (uint64_t)times[i]);
		wire_put_uint(&fixture->bytes, 10, (uint64_t)INT64_C(-5));
		assert_int_equal(ingest_go(fixture), 0);
		assert_true(fixture->result.profiles[0].time_unix_ns == INGEST_NOW_NS);
		assert_true(fixture->result.profiles[0].duration_ns == 0);
		assert_true(hash128_is_zero(fixture->result.profiles[0].origin));
	}
}

static struct hash128 origin_now(struct ingest_fixture *fixture)
{
	assert_int_equal(ingest_go(fixture), 0);
	return fixture->result.profiles[0].origin;
}

static void a_retry_has_the_origin_of_the_first_try(void **state)
{
	struct ingest_fixture *fixture = *state;
	struct hash128 first;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_tables(fixture);
	wire_put_uint(&fixture->bytes, 9, INGEST_NOW_NS);
	first = origin_now(fixture);
	assert_false(hash128_is_zero(first));
	assert_true(hash128_equal(first, origin_now(fixture)));
	fixture->profile.sender_id = STR("x");
	assert_false(hash128_equal(first, origin_now(fixture)));
	fixture->profile.sender_id = STR("");
	wire_put_uint(&fixture->bytes, 12, 1); /* another payload */
	assert_false(hash128_equal(first, origin_now(fixture)));
	ingest_label(fixture, "x", "y");
	assert_false(hash128_equal(first, origin_now(fixture)));
}

static void limits_are_checked_in_their_order(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "k=a l=b m=c" }, { "b", { 1 }, "" });
	ingest_put_tables(fixture);
	fixture->limits.max_sample_labels = 2;
	assert_refused(fixture, "sample_labels_limit", "actual: 3, limit: 2");
	fixture->limits.max_samples = 1;
	assert_refused(fixture, "samples_limit", "actual: 2, limit: 1");
	fixture->limits.max_profile_size_bytes = 100;
	assert_refused(fixture, "profile_size_limit",
	               "exceeds the size limit (max_profile_size_byte, actual: ");
	wire_put_uint(&fixture->bytes, 9, 1);
	assert_refused(fixture, "not_in_ingestion_window", "outside of ingestion window");
	fixture->limits = (struct ingest_limits){ .max_label_name_length = 99,
		                                  .max_label_value_length = 99,
		                                  .max_label_names_per_series = 99 };
	assert_int_equal(ingest_go(fixture), 0); /* 0 is off */
}

static void faults_are_reported_in_the_order_of_the_specification(void **state)
{
	static const struct {
		unsigned fault;
		const char *message;
	} table[] = {
		{ PPROF_LOCATION_ID_ZERO, "location id is 0" },
		{ PPROF_FUNCTION_ID_ZERO, "function id is 0" },
		{ PPROF_VALUE_COUNT, "sample value length mismatch" },
		{ PPROF_STRING_ZERO, "string 0 should be empty string" },
		{ PPROF_SAMPLE_TYPE_STRING, "sample type type string index out of range" },
		{ PPROF_LABEL_STRING, "sample label string index out of range" },
		{ PPROF_FUNCTION_NAME_STRING, "function name string index out of range" },
		{ PPROF_SYSTEM_NAME_STRING, "function system name index string out of range" },
		{ PPROF_FUNCTION_FILE_STRING, "function file name string index out of range" },
		{ PPROF_MAPPING_FILE_STRING, "mapping file name string index out of range" },
		{ PPROF_BUILD_ID_STRING, "mapping build id string index out of range" },
	};
	struct ingest_fixture *fixture = *state;
	unsigned faults = 0;

	usual_labels(fixture);
	MAKE(fixture, "c-pu/nanoseconds", { "a\xff", { 1 }, "" });
	ingest_put_tables(fixture);
	assert_refused(fixture, "malformed_profile", "sample type contains -");
	for (size_t i = ARRAY_LENGTH(table); i-- > 0;) {
		faults |= table[i].fault;
		fixture->input.faults = faults;
		assert_int_equal(ingest_profile(&fixture->profile, &fixture->limits, INGEST_NOW_NS,
		                                &fixture->result, &fixture->err),
		                 -1);
		assert_string_equal(fixture->err.message, table[i].message);
		assert_string_equal(fixture->result.reason, "malformed_profile");
	}
}

static void a_profile_without_types_is_empty(void **state)
{
	struct ingest_fixture *fixture = *state;

	wire_put_uint(&fixture->bytes, 9, 1);
	assert_refused(fixture, "malformed_profile", "empty profile");
}

static void every_string_must_be_utf8_and_may_hold_nul(void **state)
{
	struct ingest_fixture *fixture = *state;

	usual_labels(fixture);
	MAKE(fixture, "cpu/nanoseconds", { "a", { 1 }, "" });
	ingest_put_tables(fixture);
	wire_put_bytes(&fixture->bytes, 6, STR("a\0b"));
	assert_int_equal(ingest_go(fixture), 0);
	wire_put_bytes(&fixture->bytes, 6, STR("o\xff"));
	assert_refused(fixture, "malformed_profile", "invalid utf8 string hex: 6fff");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_set_up, ingest_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_vector_becomes_two_groups_of_two_types),
		TEST(a_series_has_the_labels_of_its_type),
		TEST(without_a_period_type_two_parts_are_empty),
		TEST(equal_stacks_add_up_and_what_says_nothing_is_dropped),
		TEST(a_type_without_a_positive_value_does_not_exist),
		TEST(a_type_that_is_there_twice_is_one_series),
		TEST(nothing_left_is_a_success),
		TEST(a_gauge_without_samples_is_a_tick),
		TEST(without_samples_only_gauges_say_something),
		TEST(a_gauge_of_zeros_is_dropped),
		TEST(sums_wrap_and_values_that_wrapped_below_zero_do_not_count),
		TEST(samples_with_broken_references_are_dropped),
		TEST(addresses_go_where_functions_are_known),
		TEST(sources_are_written_into_build_ids),
		TEST(deep_stacks_keep_their_root_side),
		TEST(long_strings_keep_their_ends),
		TEST(a_cut_may_break_a_character),
		TEST(the_time_must_lie_in_the_window),
		TEST(without_a_time_it_is_now_and_of_no_origin),
		TEST(a_retry_has_the_origin_of_the_first_try),
		TEST(limits_are_checked_in_their_order),
		TEST(faults_are_reported_in_the_order_of_the_specification),
		TEST(a_profile_without_types_is_empty),
		TEST(every_string_must_be_utf8_and_may_hold_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
