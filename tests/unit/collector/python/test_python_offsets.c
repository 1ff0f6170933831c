#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/python/python_offsets.h"
#include "tests/unit/collector/python/pythons.h"

#define BLOCK_3_13 584 /* bytes of _Py_DebugOffsets there */

struct named_offset {
	const char *name;
	uint32_t offset;
	int is_seen;
};

/* The fields of a description by name. */
static size_t fields_of(const struct python_offsets *offsets, struct named_offset *out)
{
	size_t count = 0;

#define PYTHON_OFFSET(field, ...) out[count++] = (struct named_offset){ #field, offsets->field, 0 };
#include "collector/python/python_offsets.def"
#include "tests/unit/skip.h"
#undef PYTHON_OFFSET
	return count;
}

static uint32_t take_line(FILE *pipe, struct named_offset *fields, size_t count)
{
	char name[64];
	unsigned int offset;

	/* NOLINTNEXTLINE(cert-err34-c): what the oracle writes are numbers */
	if (fscanf(pipe, "%63s %u", name, &offset) != 2)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (fields[i].offset != offset)
			fail_msg("%s is %u, not %u", name, offset, fields[i].offset);
		fields[i].is_seen = 1;
		return 1;
	}
	fail_msg("no field %s", name);
	return 0;
}

/* Compiles the oracle against the headers of an interpreter; NULL where there are none. */
static FILE *ask_headers(const struct python *python)
{
	char command[2600];

	(void)snprintf(
		command, sizeof(command),
		"inc=$('%s' -c 'import sysconfig; print(sysconfig.get_path(\"include\"))') && "
		"test -f \"$inc/internal/pycore_interp.h\" -o -f "
		"\"$inc/internal/pycore_pystate.h\" && "
		"cc -w -I\"$inc\" -I\"$inc/internal\" '%s' -o '%s/offsets_oracle' "
		"2>/dev/null",
		python->path, OFFSETS_ORACLE, BUILD_FOLDER);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a test asks a compiler */
	if (system(command) != 0)
		return NULL;
	return popen(BUILD_FOLDER "/offsets_oracle", "r");
}

static void offsets_are_those_of_the_headers(void **state)
{
	struct python pythons[PYTHONS_MAX];
	const size_t count = pythons_find(pythons);
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct python_description description = { 0 };
		struct named_offset fields[128];
		struct error err = { 0 };
		size_t field_count;
		FILE *pipe = ask_headers(&pythons[i]);

		if (!pipe) {
			print_message("%s: skipped: no headers or no compiler\n", pythons[i].text);
			continue;
		}
		assert_int_equal(python_offsets_of_version(pythons[i].version, &description, &err),
		                 0);
		field_count = fields_of(&description.offsets, fields);
		while (take_line(pipe, fields, field_count))
			;
		assert_int_equal(pclose(pipe), 0);
		for (size_t j = 0; j < field_count; j++)
			if (!fields[j].is_seen && fields[j].offset != PYTHON_OFFSET_NONE)
				fail_msg("%s: no such field %s", pythons[i].text, fields[j].name);
		print_message("%s: %zu fields\n", pythons[i].text, field_count);
		compared++;
	}
	if (compared == 0)
		SKIP_BECAUSE("no interpreter with its headers");
}

static void versions_outside_are_refused(void **state)
{
	static const uint32_t versions[] = { 0, 0x0207, 0x0307, 0x030f, 0x0400 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		struct python_description description = { 0 };
		struct error err = { 0 };

		assert_int_equal(python_offsets_of_version(versions[i], &description, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void put(uint8_t *block, size_t place, uint64_t number)
{
	memcpy(block + place, &number, sizeof(number));
}

/* A block whose every number is 16 + its place, but for those of the head. */
static void fill_block(uint8_t *block, uint64_t version, uint64_t free_threaded)
{
	for (size_t place = 0; place < DEBUG_OFFSETS_BYTES; place += 8)
		put(block, place, 16 + place);
	memcpy(block, (const uint8_t[]){ 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' }, 8);
	put(block, 8, version);
	put(block, 16, free_threaded);
}

/* Positions from the specification's table (1.5), some of each structure. */
static void a_block_goes_before_the_tables(void **state)
{
	uint8_t block[DEBUG_OFFSETS_BYTES];
	struct python_description description = { 0 };
	const struct python_offsets *offsets = &description.offsets;
	struct error err = { 0 };

	(void)state;
	fill_block(block, 0x030d00f0, 0);
	assert_int_equal(python_offsets_of_block(block, BLOCK_3_13, &description, &err), 1);
	assert_int_equal(description.version, 0x030d);
	assert_int_equal(description.flags, 0);
	assert_int_equal(offsets->runtime_interpreters, 16 + 40);
	assert_int_equal(offsets->thread_frame, 16 + 184);
	assert_int_equal(offsets->frame_owner, 16 + 264);
	assert_int_equal(offsets->code_instructions, 16 + 344);
	assert_int_equal(offsets->type_name, 16 + 376);
	assert_int_equal(offsets->runtime_key, 2160);
	assert_int_equal(offsets->string_ascii, 40);
	assert_int_equal(offsets->code_copies, PYTHON_OFFSET_NONE);

	fill_block(block, 0x030e02f0, 0);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), 1);
	assert_int_equal(description.version, 0x030e);
	assert_int_equal(offsets->frame_owner, 16 + 288);
	assert_int_equal(offsets->code_copies, 16 + 392);
	assert_int_equal(offsets->tuple_items, 32);
}

/* The numbers of the specification's 3.2, as far as no block says them. */
static void headers_are_longer_without_the_gil(void **state)
{
	uint8_t block[DEBUG_OFFSETS_BYTES];
	struct python_description description = { 0 };
	struct error err = { 0 };

	(void)state;
	fill_block(block, 0x030e00f0, 1);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), 1);
	assert_int_equal(description.flags, PYTHON_FREE_THREADED);
	assert_int_equal(description.offsets.string_length, 32);
	assert_int_equal(description.offsets.string_state, 48);
	assert_int_equal(description.offsets.string_ascii, 56);
	assert_int_equal(description.offsets.string_wide, 72);
	assert_int_equal(description.offsets.bytes_data, 48);
	assert_int_equal(description.offsets.tuple_items, 48);
	assert_int_equal(description.offsets.type_flags, 184);
	assert_int_equal(description.string_kind_bit, 8);
	assert_int_equal(description.string_ascii_bit, 12);
	assert_int_equal(description.offsets.runtime_key, 2336);
	fill_block(block, 0x030d00f0, 1);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), 1);
	assert_int_equal(description.offsets.tuple_items, 40);
	assert_int_equal(description.string_kind_bit, 2);
}

static void blocks_that_lie_are_refused(void **state)
{
	uint8_t block[DEBUG_OFFSETS_BYTES];
	struct python_description description = { 0 };
	struct error err = { 0 };

	(void)state;
	fill_block(block, 0x030f0000, 0);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), -1);
	fill_block(block, 0x030c0000, 0);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), -1);
	fill_block(block, 0x030d0000, 0);
	assert_int_equal(python_offsets_of_block(block, 300, &description, &err), -1);
	put(block, 264, UINT64_MAX);
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	block[0] = 'X';
	assert_int_equal(python_offsets_of_block(block, sizeof(block), &description, &err), 0);
	assert_int_equal(python_offsets_of_block(block, 8, &description, &err), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_headers),
		cmocka_unit_test(versions_outside_are_refused),
		cmocka_unit_test(a_block_goes_before_the_tables),
		cmocka_unit_test(headers_are_longer_without_the_gil),
		cmocka_unit_test(blocks_that_lie_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
