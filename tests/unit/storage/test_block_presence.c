#include "storage/block_presence.h"
#include "tests/unit/storage/arena_fixture.h"

static struct str encode(uint32_t universe, uint32_t lists, const uint32_t *firsts,
                         const uint32_t *members)
{
	struct strbuf out;

	strbuf_init(&out, (size_t)1 << 20);
	block_presence_encode(universe, lists, firsts, members, &out);
	return arena_take_written(&out);
}

static int decode(struct str bytes, uint32_t universe, uint32_t lists, const uint32_t *firsts,
                  struct block_presence *out, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(bytes);

	if (block_presence_decode(&cursor, universe, lists, firsts, arena, out, err) < 0)
		return -1;
	assert_true(byte_cursor_done(&cursor));
	return 0;
}

/* Of 300 profiles: 3 and 299; all from 0 to 99; none; 5 three times. */
static const uint32_t firsts[] = { 0, 2, 102, 102, 105 };
static uint32_t members[105] = { 3, 299, [102] = 5, 5, 5 };
#define UNIVERSE 300
#define LISTS    4

static void fill_members(void)
{
	for (uint32_t i = 0; i < 100; i++)
		members[2 + i] = i;
}

static void lists_stand_as_the_format_says(void **state)
{
	uint8_t bytes[1 + 38 + 7] = { 0x02 }; /* the second list is a bitmap of 300 bits */
	/* 3 + 1, 296; 5 + 1, 0, 0: least 0, a byte each, scale 2, three bytes */
	static const uint8_t gaps[] = { 0, 1, 2, 3, 2, 148, 3 };
	struct str encoded;

	(void)state;
	fill_members();
	memset(bytes + 1, 0xff, 12);
	bytes[13] = 0x0f; /* 96 to 99 */
	memcpy(bytes + 39, gaps, sizeof(gaps));
	encoded = encode(UNIVERSE, LISTS, firsts, members);
	assert_bytes(encoded, bytes);
}

static void lists_read_back(void **state)
{
	struct block_presence presence;
	struct error err = { 0 };
	uint32_t back[105];

	(void)state;
	fill_members();
	assert_int_equal(decode(encode(UNIVERSE, LISTS, firsts, members), UNIVERSE, LISTS, firsts,
	                        &presence, &err),
	                 0);
	assert_null(presence.lists[0].bitmap);
	assert_non_null(presence.lists[1].bitmap);
	for (uint32_t i = 0; i < LISTS; i++)
		block_presence_members(&presence, i, back + firsts[i]);
	assert_memory_equal(back, members, sizeof(members));
}

static void cut_lists_are_corrupt(void **state)
{
	struct str whole;

	(void)state;
	fill_members();
	whole = encode(UNIVERSE, LISTS, firsts, members);
	for (size_t length = 0; length < whole.length; length++) {
		struct block_presence presence;
		struct error err = { 0 };

		assert_int_equal(decode(str_first(whole, length), UNIVERSE, LISTS, firsts,
		                        &presence, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void members_that_cannot_be_are_corrupt(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		uint32_t universe;
		uint32_t count;
	} cases[] = {
		{ "\x01\x03", 2, 9, 2 },                     /* a bitmap of 9 has two bytes */
		{ "\x01\x03\x00", 3, 9, 3 },                 /* two members, not three */
		{ "\x01\x01\x02", 3, 9, 2 },                 /* member 9 of 9 */
		{ "\x01", 1, 0, 0 },                         /* a bitmap of nothing */
		{ "\x00\x02\x01\x08\x02\x00\x01", 7, 9, 2 }, /* gaps 1 and 9: member 9 */
		{ "\x00\x00\x00", 3, 9, 1 },                 /* gap 0: member -1 */
		{ "\x00\x00\x00", 3, 9, 2 },                 /* twice */
		{ "\x00\x00\x01\x01\x02\x01", 6, 9, 2 },     /* one is missing */
		{ "\x00\x01\x01\x04\x01\x01", 6, 9, 2 },     /* gaps 3 and -1 */
		/* gaps 1 and 2^32 */
		{ "\x00\x02\x01\xff\xff\xff\xff\x0f\x02\x00\x01", 11, 9, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const uint32_t ends[] = { 0, cases[i].count };
		struct block_presence presence;
		struct error err = { 0 };

		assert_int_equal(decode(str_make(cases[i].bytes, cases[i].length),
		                        cases[i].universe, 1, ends, &presence, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void bits_are_counted(void **state)
{
	(void)state;
	assert_int_equal(block_bits(0), 0);
	assert_int_equal(block_bits(UINT64_MAX), 64);
	assert_int_equal(block_bits(UINT64_C(0x8000000000000001)), 2);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(block_bits((UINT64_C(1) << i) - 1), i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_stand_as_the_format_says),
		cmocka_unit_test(lists_read_back),
		cmocka_unit_test(cut_lists_are_corrupt),
		cmocka_unit_test(members_that_cannot_be_are_corrupt),
		cmocka_unit_test(bits_are_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
