/* Perf maps that grow, overlap, lie, and are very large. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/elf/perf_map.h"

struct written {
	int descriptor;
	struct perf_map *map;
};

static struct written make_map(void)
{
	const int descriptor = memfd_create("perf-1.map", MFD_CLOEXEC);

	assert_true(descriptor >= 0);
	return (struct written){ descriptor, perf_map_new(descriptor) };
}

static void add_text(const struct written *written, const char *text)
{
	assert_int_equal(write(written->descriptor, text, strlen(text)), strlen(text));
}

static int refresh(const struct written *written)
{
	struct error err;

	return perf_map_refresh(written->map, &err);
}

static void assert_name(const struct written *written, uint64_t address, const char *expected)
{
	char text[PERF_MAP_NAME_MAX + 1];
	uint64_t start;
	const struct str name = perf_map_find(written->map, address, text, &start);

	assert_int_equal(name.length, strlen(expected));
	if (name.length > 0)
		assert_string_equal(name.data, expected);
}

static void lines_are_found_as_they_come(void **state)
{
	const struct written written = make_map();

	(void)state;
	assert_int_equal(refresh(&written), 0);
	assert_name(&written, 0x1000, "");
	add_text(&written, "1000 20 py::inner:/x y.py\n0x3000 0x10 second\n2000 8 ha");
	assert_int_equal(refresh(&written), 0);
	assert_int_equal(perf_map_lines(written.map), 2);
	assert_name(&written, 0xfff, "");
	assert_name(&written, 0x1000, "py::inner:/x y.py");
	assert_name(&written, 0x101f, "py::inner:/x y.py");
	assert_name(&written, 0x1020, "");
	assert_name(&written, 0x2000, ""); /* its line has no end yet */
	add_text(&written, "lf\n");
	assert_int_equal(refresh(&written), 0);
	assert_name(&written, 0x2007, "half");
	assert_name(&written, 0x300f, "second");
	perf_map_free(written.map);
}

static void later_lines_win(void **state)
{
	const struct written written = make_map();

	(void)state;
	add_text(&written, "1000 100 old\n1000 100 new\n1040 10 inside\n0fc0 50 before\n");
	assert_int_equal(refresh(&written), 0);
	assert_int_equal(perf_map_lines(written.map), 3);
	assert_name(&written, 0x1000, "before");
	assert_name(&written, 0x1010, "new");
	assert_name(&written, 0x1045, "inside");
	add_text(&written, "1000 100 newest\n");
	assert_int_equal(refresh(&written), 0);
	assert_name(&written, 0x1045, "newest");
	perf_map_free(written.map);
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
	const struct written written = make_map();

	(void)state;
	add_text(&written,
	         "\n\n1000\n1000 \nx 10 a\n1000 0 empty\n1000 10 \nffffffffffffffff 10 w\n"
	         "11112222333344445 1 long\n1000 100000000 huge\n 1000 10 blank\n"
	         "4000 10 good\n");
	assert_int_equal(refresh(&written), 0);
	assert_int_equal(perf_map_lines(written.map), 1);
	assert_name(&written, 0x4000, "good");
	perf_map_free(written.map);
}

static void a_map_that_begins_anew_is_read_anew(void **state)
{
	const struct written written = make_map();

	(void)state;
	add_text(&written, "1000 10 one\n2000 10 two\n");
	assert_int_equal(refresh(&written), 0);
	assert_int_equal(ftruncate(written.descriptor, 0), 0);
	assert_int_equal(lseek(written.descriptor, 0, SEEK_SET), 0);
	add_text(&written, "5000 10 anew\n");
	assert_int_equal(refresh(&written), 0);
	assert_name(&written, 0x1000, "");
	assert_name(&written, 0x5000, "anew");
	perf_map_free(written.map);
}

static void a_map_of_a_gigabyte_takes_what_is_allowed(void **state)
{
	const struct written written = make_map();
	struct error err = { 0 };
	size_t steps = 0;

	(void)state;
	add_text(&written, "1000 10 first\n");
	assert_int_equal(ftruncate(written.descriptor, (off_t)1 << 30), 0); /* zeros: no line */
	while (perf_map_refresh(written.map, &err) == 0)
		assert_true(++steps <= PERF_MAP_BYTES_MAX / PERF_MAP_REFRESH_MAX + 1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_name(&written, 0x1000, "first");
	perf_map_free(written.map);
}

static void a_map_of_too_many_lines_keeps_the_first(void **state)
{
	const struct written written = make_map();
	FILE *file = fdopen(dup(written.descriptor), "w");
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < PERF_MAP_LINES_MAX + 1000; i++)
		(void)fprintf(file, "%zx 10 f%zu\n", 0x100000 + 16 * i, i);
	(void)fclose(file);
	while (perf_map_refresh(written.map, &err) == 0)
		continue;
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(perf_map_lines(written.map), PERF_MAP_LINES_MAX);
	assert_name(&written, 0x100000, "f0");
	perf_map_free(written.map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found_as_they_come),
		cmocka_unit_test(later_lines_win),
		cmocka_unit_test(lines_that_make_no_sense_are_left_out),
		cmocka_unit_test(a_map_that_begins_anew_is_read_anew),
		cmocka_unit_test(a_map_of_a_gigabyte_takes_what_is_allowed),
		cmocka_unit_test(a_map_of_too_many_lines_keeps_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
