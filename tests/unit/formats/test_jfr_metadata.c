#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_metadata.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)64 << 20)

static int read_types(const char *types, struct arena *arena, struct strbuf *recording,
                      struct jfr_metadata *out, struct error *err)
{
	struct jfr_writer writer;
	struct jfr_chunk chunk;
	struct str rest;

	jfr_writer_init(&writer, types);
	jfr_writer_chunk(&writer, recording);
	jfr_writer_fini(&writer);
	rest = strbuf_view(recording);
	assert_int_equal(jfr_chunk_next(&rest, &chunk, err), 1);
	return jfr_metadata_read(&chunk, arena, out, err);
}

static void classes_are_found_by_their_numbers(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_metadata metadata;
	const struct jfr_class *trace;
	const struct jfr_field *frames;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	assert_int_equal(read_types(JFR_WRITER_TYPES, arena, &recording, &metadata, &err), 0);
	trace = &metadata.classes[jfr_metadata_find(&metadata, 27)];
	assert_true(str_equals(trace->name, "jdk.types.StackTrace"));
	assert_int_equal(trace->field_count, 2);
	frames = &metadata.fields[trace->first_field + 1];
	assert_true(str_equals(frames->name, "frames"));
	assert_true(frames->is_array);
	assert_false(frames->is_pooled);
	assert_int_equal(frames->class, jfr_metadata_find(&metadata, 26));
	assert_true(metadata.fields[metadata.classes[frames->class].first_field].is_pooled);
	assert_int_equal(jfr_metadata_find(&metadata, 3), PROFILE_NONE);
	assert_int_equal(jfr_metadata_find(&metadata, UINT64_C(1) << 32 | 27), PROFILE_NONE);
}

static void the_last_class_of_a_number_counts(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_metadata metadata;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	assert_int_equal(read_types("4 A\n4 B\n4000000000 C\n", arena, &recording, &metadata, &err),
	                 0);
	assert_true(str_equals(metadata.classes[jfr_metadata_find(&metadata, 4)].name, "B"));
	assert_true(
		str_equals(metadata.classes[jfr_metadata_find(&metadata, 4000000000)].name, "C"));
}

static void what_does_not_fit_together_is_refused(void **state)
{
	static const struct {
		const char *types;
		enum error_code code;
		const char *message;
	} cases[] = {
		{ "x A\n", ERROR_INVALID, "a class has the id \"x\"" },
		{ "-4 A\n", ERROR_INVALID, "a class has the id \"-4\"" },
		{ "99999999999999999999 A\n", ERROR_INVALID, "a class has the id" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf recording;
		struct jfr_metadata metadata;
		struct error err = { 0 };

		strbuf_init(&recording, JFR_WRITER_LIMIT);
		assert_int_equal(read_types(cases[i].types, arena, &recording, &metadata, &err),
		                 -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void types_have_limits(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf types;
	struct jfr_metadata metadata;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&types, JFR_WRITER_LIMIT);
	for (int i = 0; i < 8193; i++)
		strbuf_printf(&types, "%d A\n", i);
	assert_int_equal(read_types(types.data, arena, &recording, &metadata, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.message, "more than 8192 classes"));
	/* a class has five strings of its own in what the test writes */
	for (int i = 8193; i < 14000; i++)
		strbuf_printf(&types, "%d A\n", i);
	strbuf_reset(&recording);
	assert_int_equal(read_types(types.data, arena, &recording, &metadata, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.message, "more than 65536 strings"));
}

/* A chunk whose metadata record has this behind its four numbers. */
static int read_record(struct str body, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct jfr_metadata metadata;
	struct jfr_chunk chunk;

	strbuf_init(&bytes, 10000);
	for (int i = 0; i < JFR_WRITER_HEAD; i++)
		strbuf_add_byte(&bytes, 0);
	jfr_writer_compressed(&bytes, body.length + 5);
	strbuf_add(&bytes, "\0\0\0\0", 4);
	strbuf_add_str(&bytes, body);
	chunk = (struct jfr_chunk){
		.bytes = (const uint8_t *)bytes.data,
		.size = (uint32_t)bytes.length,
		.metadata_at = JFR_WRITER_HEAD,
	};
	return jfr_metadata_read(&chunk, arena, &metadata, err);
}

static void elements_have_a_depth_and_a_place(void **state)
{
	static const struct {
		struct str body;
		const char *message;
	} cases[] = {
		/* one string "x"; 40 elements in each other */
		{ STR("\x01\x03\x01x"
		      "\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1"
		      "\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1"
		      "\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1"
		      "\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\1\0\0\0"),
		  "more than 32 elements deep" },
		/* a field that stands in no class */
		{ STR("\x01\x03\x05"
		      "field"
		      "\0\0\0"),
		  "a field belongs to no class" },
		/* a name that is no string, children that are not there, no element */
		{ STR("\x01\x03\x01x"
		      "\1\0\0"),
		  "cut or broken" },
		{ STR("\x01\x03\x01x"
		      "\0\0\1"),
		  "cut or broken" },
		{ STR("\x01\x03\x01x"
		      "\0\1\0"),
		  "cut or broken" },
		{ STR("\x00"), "cut or broken" },
		{ STR("\x7f\x00"), "cut or broken" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };

		assert_int_equal(read_record(cases[i].body, &err), -1);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%zu: %s", i, err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_found_by_their_numbers),
		cmocka_unit_test(the_last_class_of_a_number_counts),
		cmocka_unit_test(what_does_not_fit_together_is_refused),
		cmocka_unit_test(types_have_limits),
		cmocka_unit_test(elements_have_a_depth_and_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
