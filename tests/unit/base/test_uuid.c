#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/uuid.h"

/* The example of RFC 4122. */
static const uint8_t bytes_of_example[16] = { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0,
	                                      0xa7, 0x65, 0x00, 0xa0, 0xc9, 0x1e, 0x6b, 0xf6 };

static void every_spelling_is_read(void **state)
{
	static const struct str cases[] = {
		STR("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
		STR("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"),
		STR("f81d4fae7dec11d0a76500a0c91e6bf6"),
		STR("{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"),
		STR("urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
		STR("URN:UUID:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct uuid uuid = { { 0 } };
		char text[UUID_TEXT_LENGTH + 1];

		assert_true(uuid_parse(cases[i], &uuid));
		assert_memory_equal(uuid.bytes, bytes_of_example, 16);
		uuid_format(&uuid, text);
		assert_string_equal(text, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
	}
}

static void anything_else_is_refused(void **state)
{
	static const struct str cases[] = {
		STR(""),
		STR("f81d4fae-7dec-11d0-a765-00a0c91e6bf"),
		STR("f81d4fae-7dec-11d0-a765-00a0c91e6bf66"),
		STR("f81d4fae-7dec-11d0-a765-00a0c91e6bfg"),
		STR("f81d4fae-7dec-11d0-a76500-a0c91e6bf6"),
		STR("f81d4fae07dec011d00a765000a0c91e6bf6"),
		STR("(f81d4fae-7dec-11d0-a765-00a0c91e6bf6)"),
		STR("{f81d4fae-7dec-11d0-a765-00a0c91e6bf6-"),
		STR("urn:guid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
		STR("f81d4fae7dec11d0a76500a0c91e6bf"),
		STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct uuid uuid = { { 7 } };

		assert_false(uuid_parse(cases[i], &uuid));
		assert_int_equal(uuid.bytes[0], 7);
	}
}

static void random_ones_differ_and_say_version_4(void **state)
{
	static struct uuid uuids[1000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(uuids); i++) {
		uuids[i] = uuid_random();
		assert_int_equal(uuids[i].bytes[6] >> 4, 4);
		assert_int_equal(uuids[i].bytes[8] >> 6, 2);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(&uuids[i], &uuids[j], sizeof(uuids[i]));
	}
}

static void a_child_goes_its_own_way(void **state)
{
	struct uuid of_child;
	struct uuid of_parent;
	int ends[2];
	int status;
	pid_t child;

	(void)state;
	(void)uuid_random();
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		of_child = uuid_random();
		_exit(write(ends[1], &of_child, sizeof(of_child)) == sizeof(of_child) ? 0 : 1);
	}
	assert_true(child > 0);
	of_parent = uuid_random();
	assert_int_equal(read(ends[0], &of_child, sizeof(of_child)), sizeof(of_child));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_memory_not_equal(&of_child, &of_parent, sizeof(of_child));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void hex_goes_both_ways(void **state)
{
	uint8_t bytes[4] = { 0 };
	char text[9];

	(void)state;
	assert_true(hex_decode(STR("00fFA5b1"), bytes, 4));
	assert_memory_equal(bytes, "\x00\xff\xa5\xb1", 4);
	hex_encode(bytes, 4, text);
	assert_string_equal(text, "00ffa5b1");
	assert_false(hex_decode(STR("00ffa5b"), bytes, 4));
	assert_false(hex_decode(STR("00ffa5b"), bytes, 3));
	assert_false(hex_decode(STR("00ffa5bx"), bytes, 4));
	assert_false(hex_decode(STR("00ffa5b1c"), bytes, 4));
	assert_true(hex_decode(STR(""), bytes, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_is_read),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(random_ones_differ_and_say_version_4),
		cmocka_unit_test(a_child_goes_its_own_way),
		cmocka_unit_test(hex_goes_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
