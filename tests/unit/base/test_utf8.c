#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

/* The edges of table 3-7 of the Unicode standard, "Well-Formed UTF-8 Byte Sequences". */
static const struct {
	struct str text;
	uint32_t rune;
} good[] = {
	{ STR("\x00"), 0 },
	{ STR("\x7f"), 0x7f },
	{ STR("\xc2\x80"), 0x80 },
	{ STR("\xdf\xbf"), 0x7ff },
	{ STR("\xe0\xa0\x80"), 0x800 },
	{ STR("\xed\x9f\xbf"), 0xd7ff },
	{ STR("\xee\x80\x80"), 0xe000 },
	{ STR("\xef\xbf\xbf"), 0xffff },
	{ STR("\xf0\x90\x80\x80"), 0x10000 },
	{ STR("\xf4\x8f\xbf\xbf"), 0x10ffff },
};

static const struct str bad[] = {
	STR("\x80"),
	STR("\xbf"),
	STR("\xc0\x80"), /* overlong NUL */
	STR("\xc1\xbf"),
	STR("\xc2"), /* cut */
	STR("\xc2\x41"),
	STR("\xe0\x9f\xbf"), /* overlong */
	STR("\xe1\x80"),
	STR("\xe1\x80\x41"),
	STR("\xed\xa0\x80"), /* a surrogate */
	STR("\xed\xbf\xbf"),
	STR("\xf0\x8f\xbf\xbf"), /* overlong */
	STR("\xf1\x80\x80"),
	STR("\xf1\x80\x80\x41"),
	STR("\xf4\x90\x80\x80"), /* past U+10FFFF */
	STR("\xf5\x80\x80\x80"),
	STR("\xff"),
};

/* The text at every place in a longer one of ASCII: every fast step meets it. */
static void check_everywhere(struct str text, bool valid)
{
	char long_text[100];

	for (size_t length = text.length; length <= sizeof(long_text); length++)
		for (size_t at = 0; at + text.length <= length; at++) {
			memset(long_text, 'a', sizeof(long_text));
			memcpy(long_text + at, text.data, text.length);
			assert_int_equal(utf8_is_valid(str_make(long_text, length)), valid);
		}
}

static void well_formed_characters_are_valid_anywhere(void **state)
{
	(void)state;
	assert_true(utf8_is_valid(STR("")));
	assert_true(utf8_is_valid((struct str){ NULL, 0 }));
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
		check_everywhere(good[i].text, true);
}

static void ill_formed_bytes_are_invalid_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		check_everywhere(bad[i], false);
}

static void characters_are_read_and_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		char text[4];
		uint32_t rune;

		assert_int_equal(utf8_next(good[i].text, &rune), good[i].text.length);
		assert_int_equal(rune, good[i].rune);
		assert_int_equal(utf8_put(text, rune), good[i].text.length);
		assert_memory_equal(text, good[i].text.data, good[i].text.length);
	}
}

static void what_is_no_character_is_the_replacement(void **state)
{
	static const uint32_t runes[] = { 0xd800, 0xdfff, 0x110000, UINT32_MAX };
	uint32_t rune;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		assert_int_equal(utf8_next(bad[i], &rune), -1);
		assert_int_equal(rune, 0xfffd);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(runes); i++) {
		char text[4];

		assert_int_equal(utf8_put(text, runes[i]), 3);
		assert_memory_equal(text, "\xef\xbf\xbd", 3);
	}
	assert_int_equal(utf8_next(STR(""), &rune), 0);
}

static void each_bad_byte_is_replaced(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	static const struct {
		struct str text;
		struct str repaired;
	} cases[] = {
		{ STR("\xff"), STR("\xef\xbf\xbd") },
		{ STR("a\xff\xfe"
		      "b"),
		  STR("a\xef\xbf\xbd\xef\xbf\xbd"
		      "b") },
		{ STR("\xe2\x82"
		      "x"),
		  STR("\xef\xbf\xbd\xef\xbf\xbdx") },
		{ STR("\xc3\xa4\xc3"), STR("\xc3\xa4\xef\xbf\xbd") },
		{ STR("\0\xff\0"), STR("\0\xef\xbf\xbd\0") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct str repaired = utf8_repair(arena, cases[i].text);

		assert_true(str_equal(repaired, cases[i].repaired));
		assert_int_equal(repaired.data[repaired.length], '\0');
	}
}

static void valid_text_is_not_copied(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	const struct str text = STR("na\xc3\xafve");

	(void)state;
	assert_ptr_equal(utf8_repair(arena, text).data, text.data);
	assert_non_null(utf8_repair(arena, (struct str){ NULL, 0 }).data);
	assert_int_equal(arena_used(arena), 0);
}

static void a_full_arena_gives_nothing(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(64, NULL);
	char bytes[200];

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	assert_null(utf8_repair(arena, str_make(bytes, sizeof(bytes))).data);
	assert_true(arena_overflowed(arena));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_characters_are_valid_anywhere),
		cmocka_unit_test(ill_formed_bytes_are_invalid_anywhere),
		cmocka_unit_test(characters_are_read_and_written),
		cmocka_unit_test(what_is_no_character_is_the_replacement),
		cmocka_unit_test(each_bad_byte_is_replaced),
		cmocka_unit_test(valid_text_is_not_copied),
		cmocka_unit_test(a_full_arena_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
