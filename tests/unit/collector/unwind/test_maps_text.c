/* Lines of maps, good and bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/unwind/maps_text.h"

static void lines_say_what_the_kernel_wrote(void **state)
{
	struct str rest =
		STR("00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
	            "e03000-e24000 rw-p 00000000 00:00 0           [heap]\n"
	            "35b1800000-35b1820000 r-xp 00002000 fe:1f 135522  /lib/a b (deleted)\n"
	            "7ffff7fc9000-7ffff7fcb000 r-xp 00000000 00:00 0 \n"
	            "7fffffffe000-7ffffffff000 --xp 00000000 00:00 0");
	struct maps_line line;

	(void)state;
	assert_true(maps_text_next(&rest, &line));
	assert_int_equal(line.start, 0x400000);
	assert_int_equal(line.end, 0x452000);
	assert_int_equal(line.device_major, 8);
	assert_int_equal(line.device_minor, 2);
	assert_int_equal(line.inode, 173521);
	assert_true(line.is_executable);
	assert_true(str_equals(line.path, "/usr/bin/dbus-daemon"));
	assert_true(maps_text_next(&rest, &line));
	assert_false(line.is_executable);
	assert_true(str_equals(line.path, "[heap]"));
	assert_true(maps_text_next(&rest, &line));
	assert_int_equal(line.offset, 0x2000);
	assert_int_equal(line.device_major, 0xfe);
	assert_int_equal(line.device_minor, 0x1f);
	assert_true(str_equals(line.path, "/lib/a b (deleted)"));
	assert_true(maps_text_next(&rest, &line));
	assert_int_equal(line.path.length, 0);
	assert_true(maps_text_next(&rest, &line));
	assert_int_equal(line.start, UINT64_C(0x7fffffffe000));
	assert_false(maps_text_next(&rest, &line));
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n",
		"00400000",
		"00400000-00401000",
		"00400000-00401000 r-xp",
		"00400000-00401000 r-xp 0 08:02",
		"00400000-00401000 r-xp 0 08:02 x /a",
		"00401000-00400000 r-xp 0 08:02 1 /a",
		"00400000-00400000 r-xp 0 08:02 1 /a",
		"11112222333344445-2 r-xp 0 08:02 1 /a",
		"00400000-00401000 r-xp 0 fffffffff:02 1 /a",
		"g-h r-xp 0 08:02 1 /a",
	};
	struct maps_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct str rest = str_of(bad[i]);

		assert_false(maps_text_next(&rest, &line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_say_what_the_kernel_wrote),
		cmocka_unit_test(lines_that_make_no_sense_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
