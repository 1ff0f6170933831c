#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/utf8.h"
#include "collector/python/python_text.h"

#define CAPACITY 16

/* What comes out of `length` characters of `kind`; `bytes` are what was sent. */
static void expect(uint32_t kind, uint32_t length, struct str bytes, const char *expected)
{
	const struct code_string head = { kind, length };
	uint8_t sent[CAPACITY] = { 0 };
	char text[PYTHON_TEXT_MAX(CAPACITY)];
	struct str got;

	assert_true(bytes.length <= sizeof(sent));
	memcpy(sent, bytes.data, bytes.length);
	got = str_make(text, python_text_put(&head, sent, sizeof(sent), text));
	if (!str_equals(got, expected))
		fail_msg("%.*s instead of %s", STR_ARGS(got), expected);
	assert_true(utf8_is_valid(got));
}

static void characters_of_each_width(void **state)
{
	(void)state;
	expect(CODE_STRING_LATIN1, 4, STR("main"), "main");
	expect(CODE_STRING_LATIN1, 5,
	       STR("gr\xf6\xdf"
	           "e"),
	       "gr\xc3\xb6\xc3\x9f"
	       "e");
	expect(CODE_STRING_UCS2, 2, STR("\x2c\x6e\x66\x8a"), "\xe6\xb8\xac\xe8\xa9\xa6");
	expect(CODE_STRING_UCS4, 2, STR("f\0\0\0\0\0\2\0"), "f\xf0\xa0\x80\x80");
	expect(CODE_STRING_UTF8, 3,
	       STR("\xc3\x9c"
	           "b"),
	       "\xc3\x9c"
	       "b");
	expect(CODE_STRING_LATIN1, 0, STR(""), "");
}

static void what_is_no_character_is_shown_as_such(void **state)
{
	(void)state;
	expect(CODE_STRING_LATIN1, 3, STR("a\nb"),
	       "a\xef\xbf\xbd"
	       "b");
	expect(CODE_STRING_LATIN1, 2, STR("\x9b\x7f"), "\xef\xbf\xbd\xef\xbf\xbd");
	expect(CODE_STRING_UCS2, 1, STR("\x80\xdc"), "\xef\xbf\xbd"); /* half of a pair */
	expect(CODE_STRING_UCS4, 1, STR("\0\0\x11\0"), "\xef\xbf\xbd");
	expect(CODE_STRING_UTF8, 2,
	       STR("\xff"
	           "a"),
	       "\xef\xbf\xbd"
	       "a");
	expect(CODE_STRING_UNREAD, 5, STR("hello"), "");
	expect(3, 5, STR("hello"), "");
}

static void what_was_cut_ends_with_an_ellipsis(void **state)
{
	(void)state;
	expect(CODE_STRING_LATIN1, 16, STR("0123456789abcdef"), "0123456789abcdef");
	expect(CODE_STRING_LATIN1, 17, STR("0123456789abcdef"), "0123456789abcdef\xe2\x80\xa6");
	expect(CODE_STRING_UCS2, UINT32_MAX, STR("a\0b\0c\0d\0e\0f\0g\0h\0"),
	       "abcdefgh\xe2\x80\xa6");
	expect(CODE_STRING_UCS4, 5, STR("a\0\0\0b\0\0\0c\0\0\0d\0\0\0"), "abcd\xe2\x80\xa6");
	/* A C string is read up to its place's last byte but one: so long, it was cut. */
	expect(CODE_STRING_UTF8, 14, STR("0123456789abcd"), "0123456789abcd");
	expect(CODE_STRING_UTF8, 15, STR("0123456789abcde"), "0123456789abcde\xe2\x80\xa6");
	expect(CODE_STRING_UTF8, 15, STR("0123456789abc\xe6\xb8"), "0123456789abc\xe2\x80\xa6");
	expect(CODE_STRING_UTF8, 15, STR("0123456789ab\xe6\xb8\xac"),
	       "0123456789ab\xe6\xb8\xac\xe2\x80\xa6");
	expect(CODE_STRING_UTF8, UINT32_MAX, STR("\x80\x80\x80\x80\x80\x80\x80"), /* and NULs */
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	       "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xe2\x80\xa6");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_of_each_width),
		cmocka_unit_test(what_is_no_character_is_shown_as_such),
		cmocka_unit_test(what_was_cut_ends_with_an_ellipsis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
