#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/byte_size.h"

static void sizes_read_as_the_references_messages(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *decimal;
		const char *binary;
	} cases[] = {
		{ 0, "0 B", "0 B" },
		{ 999, "999 B", "999 B" },
		{ 1048576, "1.0 MB", "1.0 MiB" },
		{ 4194304, "4.2 MB", "4.0 MiB" },
		{ 268435456, "268 MB", "256 MiB" },
		{ 12345, "12 kB", "12 KiB" },
		{ UINT64_MAX, "18 EB", "16 EiB" },
	};
	char text[BYTE_SIZE_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		byte_size_decimal(cases[i].bytes, text);
		assert_string_equal(text, cases[i].decimal);
		byte_size_binary(cases[i].bytes, text);
		assert_string_equal(text, cases[i].binary);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_read_as_the_references_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
