#include "otlp_made.h"

/* ---- the specification's vectors ---- */

static void one_profile_is_the_same_in_every_layout(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(vectors); i++) {
		const struct str message = vector_unhex(arena, vectors[i].hex);
		struct otlp_request request;
		struct error err;

		assert_int_equal(message.length, vectors[i].length);
		assert_decodes(message, vectors[i].revision,
		               "process_cuda:malloc:bytes:process_cuda:bytes" VECTOR_LABELS);
		assert_int_equal(decode(message, arena, &request, &err), 0);
		assert_int_equal(request.profiles[0].input->profile.time_unix_ns, VECTOR_TIME);
		assert_int_equal(request.times_replaced, 0);
	}
}

/* Without period and its type, as 8.7 says: eight bytes less in three messages. */
static struct str without_period(struct arena *arena, const char *hex)
{
	struct str message = vector_unhex(arena, hex);
	const struct str type = vector_unhex(arena, "2a0408031002");
	const struct str period = vector_unhex(arena, "3001");
	const ptrdiff_t at = str_find(message, type);
	char *bytes = arena_alloc(arena, message.length);

	assert_true(at > 0 && str_starts_with(str_skip(message, (size_t)at + 6), period));
	memcpy(bytes, message.data, (size_t)at);
	memcpy(bytes + at, message.data + at + 8, message.length - (size_t)at - 8);
	for (ptrdiff_t i = 0; i < at; i++)
		if (bytes[i] == 0x6f && i == 1)
			bytes[i] = 0x67;
		else if (bytes[i] == 0x47 && bytes[i - 1] == 0x12)
			bytes[i] = 0x3f;
		else if (bytes[i] == 0x28 && bytes[i - 1] == 0x12 && bytes[i + 1] == 0x0a)
			bytes[i] = 0x20;
	return str_make(bytes, message.length - 8);
}

static void without_a_period_type_it_is_a_process(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct str message = without_period(arena, vectors[i].hex);

		assert_int_equal(message.length, 222);
		assert_decodes(message, vectors[i].revision,
		               "process_cpu:malloc:bytes::" VECTOR_LABELS);
	}
}

/* ---- requests made here ---- */

static void samples_tell_their_layout(void **state)
{
	(void)state;
	/* 8.7: field 2 = [1] beside two timestamps is an attribute, field 3 so was one before */
	assert_request(&(struct sent){ CPU, .samples = { "0801120101" TIMES_2 } }, "1.10",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN
	               "\na; 100000000 thread.name=worker");
	assert_request(&(struct sent){ CPU, .samples = { "08011a0101" TIMES_2 } }, "1.9",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN
	               "\na; 100000000 thread.name=worker");
	/* field 2 without timestamps: values, whatever they could mean */
	assert_request(&(struct sent){ MALLOC, .samples = { "0801120101" } }, "1.9",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 1");
	/* values that are no attributes */
	assert_request(&(struct sent){ CPU, .samples = { "08011202d20f"
	                                                 "2a0800002a36fe9c9717" } },
	               "1.9",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN "\na; 100100000000");
	/* a link in field 3, and in field 4 beside values */
	assert_request(&(struct sent){ MALLOC, .samples = { "08011801220107" } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN
	               "\na; 7 span_id=b7ad6b7169203331 trace_id=0102030405060708090a0b0c0d0e0f10");
	assert_request(&(struct sent){ MALLOC, .samples = { "08011201072001" } }, "1.9",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN
	               "\na; 7 span_id=b7ad6b7169203331 trace_id=0102030405060708090a0b0c0d0e0f10");
}

static void numbers_that_are_not_packed_are_read(void **state)
{
	(void)state;
	/* the Java agent: stack and one value, as single numbers */
	assert_request(&(struct sent){ MALLOC, .samples = { "08012080ade204", "080220808080"
	                                                                      "8000" } },
	               "1.10", "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 10000000\na;b; 0");
	/* a number that could be a link, but then there were no value */
	assert_request(&(struct sent){ MALLOC, .samples = { "08012001" } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 1");
}

static void both_layouts_in_one_request_are_refused(void **state)
{
	(void)state;
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "0801220101", "080112010120"
	                                                                          "01" } },
	                       "mixed profile encodings");
}

static void timestamps_and_values_become_one_value(void **state)
{
	(void)state;
	/* 8.8 */
	assert_request(&(struct sent){ CPU, .samples = { "0801" TIMES_3 } }, "1.10",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN "\na; 150000000");
	assert_request(&(struct sent){ .type = "off_cpu",
	                               .unit = "nanoseconds",
	                               .samples = { "080122020507" TIMES_2 } },
	               "1.10", "off_cpu:off_cpu:nanoseconds::" UNKNOWN "\na; 12");
	/* a value for each timestamp */
	assert_request(&(struct sent){ MALLOC, .samples = { "080122020507" TIMES_2 } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 12");
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "080122020507" } },
	                       "sample values length mismatch 2 1");
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "0801220101", "0801" } },
	                       "sample value is required");
}

static void indices_outside_of_their_tables_are_named(void **state)
{
	static const struct {
		const char *sample;
		const char *expected;
	} cases[] = {
		{ "0863220101", "invalid stack index: 99" },
		{ "08ffffffffffffffffff01220101", "invalid stack index: -1" },
		{ "0801120163220101", "invalid attribute index: 99" },
		{ "08011863220101", "invalid link index: 99" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_request_refused(&(struct sent){ MALLOC, .samples = { cases[i].sample } },
		                       cases[i].expected);
}

static void attributes_of_the_resource_are_labels(void **state)
{
	(void)state;
	/*
	 * k=v; k=other; pid=-7; flag=true; list=["x"]; lists=["x","y"]; by string indices
	 * service.name=shop
	 */
	assert_request(&(struct sent){ MALLOC,
	                               .resource = "0a080a016b12030a0176"
	                                           "0a0c0a016b12070a056f74686572"
	                                           "0a120a03706964120b18f9ffffffffffffffff01"
	                                           "0a0a0a04666c616712021001"
	                                           "0a0f0a046c69737412072a050a030a0178"
	                                           "0a150a056c69737473120c2a0a0a030a01780a030a0179"
	                                           "0a061809"
	                                           "1202400a",
	                               .samples = { "0801220101" } },
	               "1.10",
	               "gpu:malloc:bytes:gpu:bytes k=v pid=-7 list=x service.name=shop "
	               "service_name=shop\na; 1");
}

static void impossible_times_become_now_and_are_counted(void **state)
{
	static const struct {
		uint64_t time;
		int64_t expected;
	} cases[] = {
		{ 1, 0 },
		{ UINT64_C(1700000000000000), 0 }, /* microseconds: in 1970 */
		{ UINT64_C(31535999999999999), 0 },
		{ UINT64_C(31536000000000000), INT64_C(31536000000000000) }, /* 1971 */
		{ UINT64_C(1) << 63, 0 },
		{ INT64_MAX, INT64_MAX },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf message;
		struct otlp_request request;
		struct error err;

		assert_int_equal(decode(make_request(&(struct sent){ MALLOC, .time = cases[i].time,
		                                                     .samples = { "0801220101" } },
		                                     &message, arena),
		                        arena, &request, &err),
		                 0);
		assert_int_equal(request.profiles[0].input->profile.time_unix_ns,
		                 cases[i].expected);
		assert_int_equal(request.times_replaced, cases[i].expected == 0);
	}
}

/* ---- services ---- */

static void samples_of_services_are_profiles_of_their_own(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	size_t dictionary;

	(void)state;
	/* attribute 2 of the table: service.name = shop */
	(void)make_request(&(struct sent){ MALLOC, .samples = { "0801120102220101", "0802220102",
	                                                        "0802120102220104" } },
	                   &message, arena);
	dictionary = wire_begin(&message, 2);
	put_hex(&message, arena, 6, "08091202400a");
	wire_end(&message, dictionary);
	assert_decodes(strbuf_view(&message), "1.10",
	               "gpu:malloc:bytes:gpu:bytes service_name=shop\na; 1\na;b; 4\n"
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na;b; 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_profile_is_the_same_in_every_layout),
		cmocka_unit_test(without_a_period_type_it_is_a_process),
		cmocka_unit_test(samples_tell_their_layout),
		cmocka_unit_test(numbers_that_are_not_packed_are_read),
		cmocka_unit_test(both_layouts_in_one_request_are_refused),
		cmocka_unit_test(timestamps_and_values_become_one_value),
		cmocka_unit_test(indices_outside_of_their_tables_are_named),
		cmocka_unit_test(attributes_of_the_resource_are_labels),
		cmocka_unit_test(impossible_times_become_now_and_are_counted),
		cmocka_unit_test(samples_of_services_are_profiles_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
