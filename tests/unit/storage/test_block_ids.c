#include "storage/block_ids.h"
#include "tests/unit/storage/arena_fixture.h"

#define ROWS 5
#define SIZE 8

/* A, none, B, A, B */
static const uint8_t ids[ROWS][SIZE] = { "aaaaaaaa", { 0 }, "bbbbbbbb", "aaaaaaaa", "bbbbbbbb" };

static struct str encode(void)
{
	int64_t spare[ROWS];
	struct strbuf out;

	strbuf_init(&out, 1024);
	block_ids_encode(ids, SIZE, ROWS, spare, &out);
	return arena_take_written(&out);
}

static void ids_stand_once_and_rows_name_them(void **state)
{
	/* two ids; codes, least 0, a byte each: new, none, new, one back, the newest */
	static const char bytes[] = "\x02"
				    "aaaaaaaabbbbbbbb"
				    "\x00\x01\x01\x05\x01\x00\x01\x03\x02";
	const struct str encoded = encode();
	struct error err = { 0 };
	uint8_t *back;

	(void)state;
	assert_text(encoded, bytes);
	assert_int_equal(block_ids_decode(encoded, SIZE, ROWS, arena, &back, &err), 0);
	assert_memory_equal(back, ids, sizeof(ids));
}

static void ids_that_lead_nowhere_are_corrupt(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "\x01"
		  "aaaaaaaa\x00\x01\x01\x05\x02\x01\x00\x00\x00",
		  18 }, /* the newest before there is one */
		{ "\x01"
		  "aaaaaaaa\x00\x01\x01\x05\x01\x03\x00\x00\x00",
		  18 }, /* two back */
		{ "\x01"
		  "aaaaaaaa\x00\x01\x01\x05\x01\x01\x00\x00\x00",
		  18 }, /* two new ones of one */
		{ "\x01"
		  "aaaaaaaa\x00\x00",
		  11 }, /* one that no row has */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00", 12 }, /* more than there is */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };
		uint8_t *back;

		assert_int_equal(block_ids_decode(str_make(cases[i].bytes, cases[i].length), SIZE,
		                                  ROWS, arena, &back, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void cut_ids_are_corrupt(void **state)
{
	const struct str whole = encode();

	(void)state;
	for (size_t length = 0; length < whole.length; length++) {
		struct error err = { 0 };
		uint8_t *back;

		assert_int_equal(block_ids_decode(str_first(whole, length), SIZE, ROWS, arena,
		                                  &back, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_stand_once_and_rows_name_them),
		cmocka_unit_test(ids_that_lead_nowhere_are_corrupt),
		cmocka_unit_test(cut_ids_are_corrupt),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
