#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_chunk.h"
#include "jfr_decoded.h"

static void chunks_follow_one_another(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_chunk chunk;
	struct error err = { 0 };
	struct str rest;
	size_t first;

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_decoded_one(&recording, false);
	first = recording.length;
	jfr_decoded_one(&recording, true);
	rest = strbuf_view(&recording);
	assert_true(jfr_is(rest));
	assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), 1);
	assert_int_equal(chunk.size, first);
	assert_false(chunk.fixed);
	assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), 1);
	assert_true(chunk.fixed);
	assert_ptr_equal(chunk.bytes, recording.data + first);
	assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), 0);
}

static void a_header_that_does_not_fit_is_refused(void **state)
{
	static const struct {
		size_t at; /* a byte that is changed */
		char byte;
		const char *message;
	} cases[] = {
		{ 0, 'G', "begins with 47 4c 52 00" },
		{ 5, 1, "version 1.1" },
		{ 5, 3, "version 3.1" },
		{ 8, 1, "a chunk says that it has" },
		{ 15, 0, "a chunk says that it has" },
		{ 16, 1, "the constants of a chunk" },
		{ 24, 1, "the types of a chunk" },
	};
	CLEANUP(strbuf_fini) struct strbuf recording;

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_decoded_one(&recording, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char changed[JFR_CHUNK_HEADER + 200];
		struct str rest = { changed, sizeof(changed) };
		struct jfr_chunk chunk;
		struct error err = { 0 };

		/* The size as it would be for so many bytes. */
		memcpy(changed, recording.data, sizeof(changed));
		memset(changed + 8, 0, 24);
		changed[15] = (char)200;
		changed[23] = changed[31] = JFR_CHUNK_HEADER;
		assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), 1);
		rest = str_make(changed, sizeof(changed));
		changed[cases[i].at] = cases[i].byte;
		assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void places_of_zero_are_refused(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	for (size_t at = 16; at <= 24; at += 8) {
		struct jfr_chunk chunk;
		struct error err = { 0 };
		struct str rest;

		strbuf_reset(&recording);
		jfr_decoded_one(&recording, false);
		memset(recording.data + at, 0, 8);
		rest = strbuf_view(&recording);
		assert_int_equal(jfr_chunk_next(&rest, &chunk, &err), -1);
		assert_non_null(strstr(err.message, "stand at byte 0"));
	}
}

static void records_must_move_on(void **state)
{
	static const struct {
		struct str bytes;
		int status;
	} cases[] = {
		{ STR("\x03\x05"
		      "a"),
		  1 },
		{ STR("\x83\x80\x80\x00\x05"), -1 }, /* four bytes of size in three of all */
		{ STR("\x00\x05"
		      "a"),
		  -1 },
		{ STR("\x01\x05"
		      "a"),
		  -1 }, /* no room for the type */
		{ STR("\x04\x05"
		      "a"),
		  -1 }, /* longer than what is left */
		{ STR("\x80"), -1 },
		{ STR(""), 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jfr_reader reader = {
			.at = (const uint8_t *)cases[i].bytes.data,
			.end = (const uint8_t *)cases[i].bytes.data + cases[i].bytes.length,
		};
		struct jfr_reader body;
		uint64_t type;

		assert_int_equal(jfr_record_next(&reader, &type, &body), cases[i].status);
		if (cases[i].status < 1)
			continue;
		assert_int_equal(type, 5);
		assert_int_equal(jfr_left(&body), 1);
		assert_int_equal(jfr_left(&reader), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_follow_one_another),
		cmocka_unit_test(a_header_that_does_not_fit_is_refused),
		cmocka_unit_test(places_of_zero_are_refused),
		cmocka_unit_test(records_must_move_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
