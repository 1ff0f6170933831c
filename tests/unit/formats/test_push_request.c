#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/push_request.h"
#include "vectors.h"

#define ARENA_BYTES ((size_t)1 << 20)

static void assert_str(struct str text, const char *expected)
{
	assert_int_equal(text.length, strlen(expected));
	assert_memory_equal(text.data, expected, text.length);
}

static void assert_label(const struct push_series *series, size_t index, const char *name,
                         const char *value)
{
	assert_true(index < series->labels.count);
	assert_str(series->labels.labels[index].name, name);
	assert_str(series->labels.labels[index].value, value);
}

/* The request of 8.6, however it was sent. */
static void assert_vector(struct arena *arena, const struct push_request *request)
{
	const struct str pprof = vector_unhex(arena, VECTOR_PPROF_HEX);
	const struct push_series *series = request->series;

	assert_int_equal(request->series_count, 1);
	assert_int_equal(request->sample_count, 1);
	assert_int_equal(series->labels.count, 3);
	assert_label(series, 0, "__name__", "process_cpu");
	assert_label(series, 1, "service_name", "svc-a");
	assert_label(series, 2, "env", "dev");
	assert_int_equal(series->sample_count, 1);
	assert_str(series->samples[0].id, VECTOR_ID);
	assert_true(str_equal(series->samples[0].raw_profile, pprof));
}

static void the_specifications_protobuf_request_is_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str message = vector_unhex(arena, VECTOR_PUSH_HEX);
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(message.length, 288);
	assert_int_equal(push_request_decode(message, arena, &request, &err), 0);
	assert_vector(arena, &request);
}

static void protobuf_is_not_copied(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str message = vector_unhex(arena, VECTOR_PUSH_HEX);
	struct push_request request;
	struct error err = { 0 };
	const char *raw;

	(void)state;
	assert_int_equal(push_request_decode(message, arena, &request, &err), 0);
	raw = request.series[0].samples[0].raw_profile.data;
	assert_true(raw > message.data && raw < message.data + message.length);
}

static void the_specifications_json_request_is_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(push_request_parse(STR(VECTOR_PUSH_JSON), arena, &request, &err), 0);
	assert_vector(arena, &request);
}

static void an_empty_message_is_an_empty_request(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct push_request request = { .series_count = 9 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(push_request_decode(STR(""), arena, &request, &err), 0);
	assert_int_equal(request.series_count, 0);
	assert_int_equal(push_request_parse(STR("{}"), arena, &request, &err), 0);
	assert_int_equal(request.series_count, 0);
}

static void unknown_fields_and_annotations_are_skipped(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	/* series{ annotations, field 9, samples{ "x", "y", fixed64 field 7 } }, field 5 */
	const struct str message = vector_unhex(arena, "0a17"
	                                               "1a020a00"
	                                               "4805"
	                                               "120f"
	                                               "0a0178"
	                                               "39"
	                                               "0102030405060708"
	                                               "120179"
	                                               "2801");
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(push_request_decode(message, arena, &request, &err), 0);
	assert_int_equal(request.sample_count, 1);
	assert_str(request.series[0].samples[0].raw_profile, "x");
	assert_str(request.series[0].samples[0].id, "y");
}

static void broken_protobuf_is_refused(void **state)
{
	static const char *const cases[] = {
		"0a", /* no length */
		"0a05"
		"0a",   /* shorter than it says */
		"0801", /* series is a number */
		"0a02"
		"0801", /* labels is a number */
		"0a04"
		"0a02"
		"0801", /* a name is a number */
		"0a06"
		"1204"
		"0a08"
		"0101",                   /* a raw profile is cut */
		"0affffffffffffffffff01", /* a length of 2^64 - 1 */
		"0b",                     /* a group */
		"00",                     /* field 0 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct push_request request;
		struct error err = { 0 };

		assert_int_equal(push_request_decode(vector_unhex(arena, cases[i]), arena, &request,
		                                     &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void many_series_fit(void **state)
{
	enum {
		COUNT = 1000
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&message, 1 << 20);
	for (int i = 0; i < COUNT; i++)
		strbuf_add(&message, "\x0a\x04\x12\x02\x0a\x00", 6); /* one empty sample */
	assert_int_equal(push_request_decode(strbuf_view(&message), arena, &request, &err), 0);
	assert_int_equal(request.series_count, COUNT);
	assert_int_equal(request.sample_count, COUNT);
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(64, NULL);
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		push_request_decode(STR("\x0a\x04\x12\x02\x0a\x00"), arena, &request, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void json_takes_both_styles_null_and_unknown_fields(void **state)
{
	static const char *const cases[] = {
		"{\"series\":[{\"samples\":[{\"raw_profile\":\"aGk=\",\"ID\":\"y\"}]}]}",
		"{\"series\":[{\"samples\":[{\"rawProfile\":\"aGk\",\"ID\":\"y\"}]}]}",
		("{\"series\":[{\"labels\":null,\"samples\":[{\"rawProfile\":\"aGk=\",\"ID\":\"y\","
		 "\"more\":[1]}],\"annotations\":[{\"key\":\"k\"}]}],\"x\":{}}"),
		" {\"series\" : [ {\"samples\":[{\"rawProfile\":\"aGk=\",\"ID\":\"y\"}]}]} ",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct push_request request;
		struct error err = { 0 };

		assert_int_equal(push_request_parse(str_of(cases[i]), arena, &request, &err), 0);
		assert_int_equal(request.sample_count, 1);
		assert_int_equal(request.series[0].labels.count, 0);
		assert_str(request.series[0].samples[0].raw_profile, "hi");
		assert_str(request.series[0].samples[0].id, "y");
	}
}

static void broken_json_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"[]",
		"null",
		"{",
		"{\"series\":{}}",
		"{\"series\":[null]}",
		"{\"series\":[1]}",
		"{\"series\":[{\"labels\":\"x\"}]}",
		"{\"series\":[{\"labels\":[{\"name\":1}]}]}",
		"{\"series\":[],\"series\":[]}",
		"{\"series\":[{\"samples\":[{\"rawProfile\":\"\",\"raw_profile\":\"\"}]}]}",
		"{\"series\":[{\"samples\":[{\"rawProfile\":\"a!\"}]}]}",
		"{\"series\":[{\"samples\":[{\"rawProfile\":5}]}]}",
		"{\"series\":[{\"samples\":[{\"ID\":5}]}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct push_request request;
		struct error err = { 0 };

		assert_int_equal(push_request_parse(str_of(cases[i]), arena, &request, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_specifications_protobuf_request_is_read),
		cmocka_unit_test(protobuf_is_not_copied),
		cmocka_unit_test(the_specifications_json_request_is_read),
		cmocka_unit_test(an_empty_message_is_an_empty_request),
		cmocka_unit_test(unknown_fields_and_annotations_are_skipped),
		cmocka_unit_test(broken_protobuf_is_refused),
		cmocka_unit_test(many_series_fit),
		cmocka_unit_test(a_full_arena_is_an_error),
		cmocka_unit_test(json_takes_both_styles_null_and_unknown_fields),
		cmocka_unit_test(broken_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
