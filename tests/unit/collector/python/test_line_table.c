#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/python/line_table.h"
#include "tests/unit/collector/python/pythons.h"
#include "tests/unit/skip.h"

static struct line_table table_of(uint32_t version, uint32_t first_line, struct str bytes)
{
	return (struct line_table){
		.bytes = bytes, .version = version, .first_line = first_line, .length = bytes.length
	};
}

static void pairs_move_address_and_line(void **state)
{
	/* 6 bytes of line 10, 4 of line 12, the rest of line 11 */
	const struct line_table table = table_of(0x0309, 10, STR("\x06\x02\x04\xff"));

	(void)state;
	assert_int_equal(line_table_find(&table, -1), 10);
	assert_int_equal(line_table_find(&table, 0), 10);
	assert_int_equal(line_table_find(&table, 4), 10);
	assert_int_equal(line_table_find(&table, 6), 12);
	assert_int_equal(line_table_find(&table, 9), 12);
	assert_int_equal(line_table_find(&table, 10), 11);
	assert_int_equal(line_table_find(&table, 5000), 11);
}

static void ranges_may_have_no_line(void **state)
{
	/* 4 bytes of line 21, 2 of none, 6 of line 18 */
	const struct line_table table = table_of(0x030a, 20, STR("\x04\x01\x02\x80\x06\xfd"));

	(void)state;
	assert_int_equal(line_table_find(&table, -1), 20);
	assert_int_equal(line_table_find(&table, 0), 21);
	assert_int_equal(line_table_find(&table, 4), 0);
	assert_int_equal(line_table_find(&table, 6), 18);
	assert_int_equal(line_table_find(&table, 10), 18);
	assert_int_equal(line_table_find(&table, 12), 0);
}

static void locations_of_each_code(void **state)
{
	/*
	 * 2 units: code 0; 1: code 11 (line + 1); 3: code 13, -3; 1: code 15; 2: code 14,
	 * +70 (140 = 12 + 2 * 64) and three columns, one of two groups.
	 */
	const struct line_table table = table_of(0x030c, 100,
	                                         STR("\x81\x00"
	                                             "\xd8\x01\x02"
	                                             "\xea\x07"
	                                             "\xf8"
	                                             "\xf1\x4c\x02\x01\x45\x01\x03"));

	(void)state;
	assert_int_equal(line_table_find(&table, 0), 100);
	assert_int_equal(line_table_find(&table, 1), 100);
	assert_int_equal(line_table_find(&table, 2), 101);
	assert_int_equal(line_table_find(&table, 3), 98);
	assert_int_equal(line_table_find(&table, 5), 98);
	assert_int_equal(line_table_find(&table, 6), 0);
	assert_int_equal(line_table_find(&table, 7), 168);
	assert_int_equal(line_table_find(&table, 8), 168);
	assert_int_equal(line_table_find(&table, 9), 0);
}

static void a_cut_table_knows_its_beginning_only(void **state)
{
	struct line_table pairs = table_of(0x0308, 1, STR("\x06\x02\x04\x01"));
	struct line_table locations = table_of(0x030d, 1, STR("\x81\x00\x81\x00"));

	(void)state;
	pairs.length = 5000;
	assert_int_equal(line_table_find(&pairs, 6), 3);
	assert_int_equal(line_table_find(&pairs, 10), 0);
	locations.length = 5000;
	assert_int_equal(line_table_find(&locations, 0), 1);
	assert_int_equal(line_table_find(&locations, 3), 0);
}

static void an_absurd_line_is_none(void **state)
{
	const struct line_table below = table_of(0x030b, 1, STR("\xe8\x05")); /* 1 - 2 */
	const struct line_table above = table_of(0x030b, 0x7fffffff, STR("\xe8\x02"));

	(void)state;
	assert_int_equal(line_table_find(&below, 0), 0);
	assert_int_equal(line_table_find(&above, 0), 0);
}

static void *read_exactly(FILE *pipe, size_t size)
{
	void *bytes = mem_zalloc(size + 1, 1);

	assert_int_equal(fread(bytes, 1, size, pipe), size);
	return bytes;
}

/* Every instruction of one code object; false at the end of the pipe. */
static int compare_code(FILE *pipe, size_t *instructions)
{
	uint32_t head[4];
	struct line_table table;

	if (fread(head, sizeof(head), 1, pipe) != 1)
		return 0;
	assert_true(head[2] < (1 << 24) && head[3] < (1 << 24));

	CLEANUP(mem_freep) char *bytes = read_exactly(pipe, head[2]);
	CLEANUP(mem_freep) int32_t *pairs = read_exactly(pipe, head[3] * 2 * sizeof(int32_t));

	table = (struct line_table){ .bytes = str_make(bytes, head[2]),
		                     .version = head[0],
		                     .first_line = head[1],
		                     .length = head[2] };
	for (size_t i = 0; i < head[3]; i++)
		if (line_table_find(&table, pairs[2 * i]) != pairs[2 * i + 1])
			fail_msg("%x, first line %u, position %d: %lld instead of %d", head[0],
			         head[1], pairs[2 * i],
			         (long long)line_table_find(&table, pairs[2 * i]),
			         pairs[2 * i + 1]);
	*instructions += head[3];
	return 1;
}

static void lines_are_those_that_interpreters_say(void **state)
{
	struct python pythons[PYTHONS_MAX];
	const size_t count = pythons_find(pythons);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		size_t instructions = 0;
		char command[1200];
		FILE *pipe;

		(void)snprintf(command, sizeof(command), "'%s' -B '%s' 2>/dev/null",
		               pythons[i].path, LINE_ORACLE);
		pipe = popen(command, "r");
		assert_non_null(pipe);
		while (compare_code(pipe, &instructions))
			;
		assert_int_equal(pclose(pipe), 0);
		assert_true(instructions > 10000);
		print_message("%s: %zu instructions\n", pythons[i].text, instructions);
	}
	if (count == 0)
		SKIP_BECAUSE("no python3.8 to python3.14");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_move_address_and_line),
		cmocka_unit_test(ranges_may_have_no_line),
		cmocka_unit_test(locations_of_each_code),
		cmocka_unit_test(a_cut_table_knows_its_beginning_only),
		cmocka_unit_test(an_absurd_line_is_none),
		cmocka_unit_test(lines_are_those_that_interpreters_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
