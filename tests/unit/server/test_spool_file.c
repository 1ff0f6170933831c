#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/push/spool_file.h"

/*
 * A file of docs/formats/spool.md, byte by byte: number 0x0102, the time 1700000000 s,
 * "hello". Its check is what Python's package xxhash says: xxh3_64 of "hello", its seed
 * xxh3_64 of the first 32 bytes.
 */
#define REQUEST "hello"

static const struct spool_head head = { .sequence = 0x0102,
	                                .time_unix_ns = INT64_C(1700000000000000000) };

static size_t make(char out[static SPOOL_HEAD_BYTES + sizeof(REQUEST)])
{
	spool_head_encode(&head, STR(REQUEST), (uint8_t *)out);
	memcpy(out + SPOOL_HEAD_BYTES, REQUEST, sizeof(REQUEST));
	return SPOOL_HEAD_BYTES + strlen(REQUEST);
}

static void the_bytes_are_those_of_the_format(void **state)
{
	static const uint8_t expected[] = {
		'v',  'r',  'a',  'm',  'p',  's',  'h',  1,    /* magic, version */
		0x02, 0x01, 0,    0,    0,    0,    0,    0,    /* number */
		0x00, 0x00, 0x2a, 0x36, 0xfe, 0x9c, 0x97, 0x17, /* 1700000000 s in ns */
		5,    0,    0,    0,    0,    0,    0,    0,    /* length */
		0x16, 0x40, 0xfb, 0x18, 0xb4, 0x51, 0xf1, 0x15, /* check */
	};
	char bytes[SPOOL_HEAD_BYTES + sizeof(REQUEST)];
	const size_t length = make(bytes);

	(void)state;
	assert_int_equal(length, 45);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_memory_equal(bytes + 40, "hello", 5);
}

static void what_was_written_reads_back(void **state)
{
	char bytes[SPOOL_HEAD_BYTES + sizeof(REQUEST)];
	const size_t length = make(bytes);
	struct spool_head found;
	struct str request;
	struct error err;

	(void)state;
	assert_int_equal(spool_file_decode(str_make(bytes, length), &found, &request, &err), 0);
	assert_int_equal(found.sequence, head.sequence);
	assert_int_equal(found.time_unix_ns, head.time_unix_ns);
	assert_true(str_equals(request, REQUEST));
}

static void a_bit_that_changed_is_found(void **state)
{
	char bytes[SPOOL_HEAD_BYTES + sizeof(REQUEST)];
	const size_t length = make(bytes);
	struct spool_head found;
	struct str request;
	struct error err;

	(void)state;
	for (size_t bit = 0; bit < length * 8; bit++) {
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(spool_file_decode(str_make(bytes, length), &found, &request, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
		bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
	}
}

static void a_file_of_another_length_is_found(void **state)
{
	char bytes[SPOOL_HEAD_BYTES + sizeof(REQUEST) + 1] = { 0 };
	const size_t length = make(bytes);
	struct spool_head found;
	struct str request;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (i == length)
			continue;
		assert_int_equal(spool_file_decode(str_make(bytes, i), &found, &request, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void names_are_numbers(void **state)
{
	static const struct {
		const char *name;
		enum spool_name kind;
		uint64_t sequence;
	} cases[] = {
		{ "0000000000000000.push", SPOOL_NAME_PUSH, 0 },
		{ "00000000deadbeef.push", SPOOL_NAME_PUSH, 0xdeadbeef },
		{ "00000000deadbeef.part", SPOOL_NAME_PART, 0xdeadbeef },
		{ "3fffffffffffffff.push", SPOOL_NAME_PUSH, UINT64_C(0x3fffffffffffffff) },
		{ "4000000000000000.push", SPOOL_NAME_OTHER, 7 },
		{ "ffffffffffffffff.push", SPOOL_NAME_OTHER, 7 },
		{ "00000000DEADBEEF.push", SPOOL_NAME_OTHER, 7 },
		{ "00000000deadbeef", SPOOL_NAME_OTHER, 7 },
		{ "00000000deadbeef.push~", SPOOL_NAME_OTHER, 7 },
		{ "00000000deadbeef.pus", SPOOL_NAME_OTHER, 7 },
		{ "0000000deadbeef.push", SPOOL_NAME_OTHER, 7 },
		{ "00000000 eadbeef.push", SPOOL_NAME_OTHER, 7 },
		{ "", SPOOL_NAME_OTHER, 7 },
		{ ".", SPOOL_NAME_OTHER, 7 },
		{ "lock", SPOOL_NAME_OTHER, 7 },
	};
	char name[SPOOL_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t sequence = 7;

		assert_int_equal(spool_name_parse(cases[i].name, &sequence), cases[i].kind);
		assert_int_equal(sequence, cases[i].sequence);
		if (cases[i].kind == SPOOL_NAME_OTHER)
			continue;
		spool_name_format(sequence, cases[i].kind, name);
		assert_string_equal(name, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_those_of_the_format),
		cmocka_unit_test(what_was_written_reads_back),
		cmocka_unit_test(a_bit_that_changed_is_found),
		cmocka_unit_test(a_file_of_another_length_is_found),
		cmocka_unit_test(names_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
