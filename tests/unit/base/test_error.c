#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"

static void a_message_is_one_line(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set(&err, ERROR_INVALID, "line %d\nline\t%d\r", 1, 2), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.message, "line 1 line 2 ");
}

static void a_long_message_is_cut_and_ends_with_a_nul(void **state)
{
	char text[2 * ERROR_MESSAGE_SIZE];
	struct error err;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(&err, 0xff, sizeof(err));
	(void)error_set(&err, ERROR_IO, "%s", text);
	assert_int_equal(strlen(err.message), ERROR_MESSAGE_SIZE - 1);
	(void)error_context(&err, "%s", text);
	assert_int_equal(strlen(err.message), ERROR_MESSAGE_SIZE - 1);
	(void)error_set_errno(&err, EIO, "%s", text);
	assert_int_equal(strlen(err.message), ERROR_MESSAGE_SIZE - 1);
}

static void context_comes_first_and_keeps_the_code(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)error_set(&err, ERROR_CORRUPT, "page %d is damaged", 7);
	assert_int_equal(error_context(&err, "window %s", "2026-01-02"), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_string_equal(err.message, "window 2026-01-02: page 7 is damaged");
}

static void a_full_disk_has_a_code_of_its_own(void **state)
{
	static const struct {
		int number;
		enum error_code code;
		const char *message;
	} cases[] = {
		{ ENOENT, ERROR_IO, "open: No such file or directory" },
		{ EACCES, ERROR_IO, "open: Permission denied" },
		{ ENOSPC, ERROR_NO_SPACE, "open: No space left on device" },
		{ EDQUOT, ERROR_NO_SPACE, "open: Disk quota exceeded" },
		{ 99999, ERROR_IO, "open: unknown error" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };

		assert_int_equal(error_set_errno(&err, cases[i].number, "open"), -1);
		assert_int_equal(err.code, cases[i].code);
		assert_string_equal(err.message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_one_line),
		cmocka_unit_test(a_long_message_is_cut_and_ends_with_a_nul),
		cmocka_unit_test(context_comes_first_and_keeps_the_code),
		cmocka_unit_test(a_full_disk_has_a_code_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
