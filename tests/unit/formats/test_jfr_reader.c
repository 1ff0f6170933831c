#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_reader.h"

#define ARENA_BYTES ((size_t)1 << 20)

static struct jfr_reader reader_of(struct str bytes, bool fixed)
{
	return (struct jfr_reader){
		.at = (const uint8_t *)bytes.data,
		.end = (const uint8_t *)bytes.data + bytes.length,
		.fixed = fixed,
	};
}

static void compressed_numbers_have_nine_bytes_at_most(void **state)
{
	static const struct {
		struct str bytes;
		uint64_t number;
	} cases[] = {
		{ STR("\x00"), 0 },
		{ STR("\x7f"), 127 },
		{ STR("\x80\x01"), 128 },
		{ STR("\x8c\x80\x80\x00"), 12 },
		{ STR("\xff\xff\xff\xff\x0f"), UINT32_MAX },
		{ STR("\x80\x80\x80\x80\x80\x80\x80\x80\x01"), UINT64_C(1) << 56 },
		/* the ninth has eight bits, and ends the number whatever it is */
		{ STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), UINT64_MAX },
		{ STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80"), UINT64_C(1) << 63 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jfr_reader reader = reader_of(cases[i].bytes, false);
		struct jfr_reader skipped = reader;
		uint64_t number;

		assert_true(jfr_read_long(&reader, &number));
		assert_int_equal(number, cases[i].number);
		assert_int_equal(jfr_left(&reader), 0);
		assert_true(jfr_skip_compressed(&skipped, 1));
		assert_ptr_equal(skipped.at, reader.at);
		for (size_t cut = 0; cut < cases[i].bytes.length; cut++) {
			reader = reader_of(str_first(cases[i].bytes, cut), false);
			assert_false(jfr_read_long(&reader, &number));
			assert_false(jfr_skip_compressed(&reader, 1));
		}
	}
}

static void fixed_numbers_have_their_width(void **state)
{
	struct jfr_reader reader =
		reader_of(STR("\x00\x00\x01\x02\xff\xff\xff\xff\xff\xff\xff\xfe"), true);
	uint64_t number;

	(void)state;
	assert_true(jfr_read_int(&reader, &number));
	assert_int_equal(number, 258);
	assert_true(jfr_read_long(&reader, &number));
	assert_int_equal((int64_t)number, -2);
	assert_false(jfr_read_int(&reader, &number));
}

static void counts_are_no_more_than_could_be_there(void **state)
{
	struct jfr_reader reader = reader_of(STR("\x03"
	                                         "abc"),
	                                     false);
	uint64_t count;

	(void)state;
	assert_true(jfr_read_count(&reader, 1, &count));
	assert_int_equal(count, 3);
	reader = reader_of(STR("\x03"
	                       "abc"),
	                   false);
	assert_false(jfr_read_count(&reader, 2, &count));
	reader = reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false);
	assert_false(jfr_read_count(&reader, 1, &count));
}

static void strings_of_every_encoding_become_utf8(void **state)
{
	static const struct {
		struct str bytes;
		struct str text;
		bool fixed;
	} cases[] = {
		{ STR("\x00"), STR(""), false },
		{ STR("\x01"), STR(""), false },
		{ STR("\x03\x04main"), STR("main"), false },
		{ STR("\x03\x03"
		      "a\x00"
		      "b"),
		  STR("a\x00"
		      "b"),
		  false },
		{ STR("\x05\x04main"), STR("main"), false },
		/* u with two dots is fc in Latin-1 */
		{ STR("\x05\x03"
		      "f\xfcr"),
		  STR("f\xc3\xbcr"), false },
		/* 'a', the euro sign U+20AC, and U+1F600 in two halves */
		{ STR("\x04\x04"
		      "a\xac\x41\xbd\xb0\x03\x80\xbc\x03"),
		  STR("a\xe2\x82\xac\xf0\x9f\x98\x80"), false },
		/* a half alone, before another character and at the end */
		{ STR("\x04\x03\xbd\xb0\x03"
		      "a\xbd\xb0\x03"),
		  STR("\xef\xbf\xbd"
		      "a\xef\xbf\xbd"),
		  false },
		{ STR("\x04\x00\x00\x00\x02\x00"
		      "a\x20\xac"),
		  STR("a\xe2\x82\xac"), true },
		{ STR("\x03\x00\x00\x00\x02"
		      "ab"),
		  STR("ab"), true },
		/* Java's own: U+1F600 in six bytes, a zero in two */
		{ STR("\x03\x07"
		      "a\xed\xa0\xbd\xed\xb8\x80"),
		  STR("a\xf0\x9f\x98\x80"), false },
		{ STR("\x03\x03"
		      "a\xc0\x80"),
		  STR("a\x00"), false },
		/* what is broken stays, for the pipeline to say so */
		{ STR("\x03\x03"
		      "a\xff\xc0"),
		  STR("a\xff\xc0"), false },
		{ STR("\x03\x04"
		      "a\xed\xa0\xbd"),
		  STR("a\xed\xa0\xbd"), false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct jfr_reader reader = reader_of(cases[i].bytes, cases[i].fixed);
		struct jfr_text text;
		struct str decoded;

		assert_true(jfr_read_text(&reader, &text));
		assert_int_equal(jfr_left(&reader), 0);
		assert_true(jfr_text_decode(&text, arena, &decoded));
		assert_true(str_equal(decoded, cases[i].text));
		for (size_t cut = 0; cut < cases[i].bytes.length; cut++) {
			reader = reader_of(str_first(cases[i].bytes, cut), cases[i].fixed);
			assert_false(jfr_read_text(&reader, &text));
		}
	}
}

static void a_key_and_an_unknown_encoding_are_told(void **state)
{
	struct jfr_reader reader = reader_of(STR("\x02\x80\x01"), false);
	struct jfr_text text;

	(void)state;
	assert_true(jfr_read_text(&reader, &text));
	assert_int_equal(text.encoding, JFR_POOLED);
	assert_int_equal(text.key, 128);
	reader = reader_of(STR("\x06\x00"), false);
	assert_false(jfr_read_text(&reader, &text));
}

static void a_plain_string_is_not_copied(void **state)
{
	static const char bytes[] = "\x03\x04main";
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct jfr_reader reader = reader_of(str_make(bytes, 6), false);
	struct jfr_text text;
	struct str decoded;

	(void)state;
	assert_true(jfr_read_text(&reader, &text));
	assert_true(jfr_text_decode(&text, arena, &decoded));
	assert_ptr_equal(decoded.data, bytes + 2);
	assert_int_equal(arena_used(arena), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressed_numbers_have_nine_bytes_at_most),
		cmocka_unit_test(fixed_numbers_have_their_width),
		cmocka_unit_test(counts_are_no_more_than_could_be_there),
		cmocka_unit_test(strings_of_every_encoding_become_utf8),
		cmocka_unit_test(a_key_and_an_unknown_encoding_are_told),
		cmocka_unit_test(a_plain_string_is_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
