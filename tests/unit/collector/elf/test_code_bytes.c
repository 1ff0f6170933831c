/* Bytes of files by descriptor, of memory, and of parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/elf/code_bytes.h"

#define SIZE 20000

static uint8_t expected_at(size_t offset)
{
	return (uint8_t)(offset * 7 + offset / 256);
}

static void assert_reads(const struct code_bytes *bytes, uint64_t offset, size_t length)
{
	uint8_t got[SIZE + 100];
	size_t there = offset < SIZE ? SIZE - offset : 0;

	if (there > length)
		there = length;
	assert_int_equal(code_bytes_read(bytes, offset, got, length), there);
	for (size_t i = 0; i < there; i++)
		assert_int_equal(got[i], expected_at(offset + i));
}

static void assert_all_reads(const struct code_bytes *bytes)
{
	static const size_t lengths[] = { 0, 1, 8, 255, 4095, 4096, 4097, SIZE, SIZE + 100 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (uint64_t offset = 0; offset < SIZE + 200; offset += 119)
			assert_reads(bytes, offset, lengths[i]);
	assert_reads(bytes, UINT64_MAX, 8);
	assert_reads(bytes, UINT64_MAX - 3, 8);
}

static uint8_t *make_storage(void)
{
	uint8_t *storage = mem_zalloc(1, SIZE);

	for (size_t i = 0; i < SIZE; i++)
		storage[i] = expected_at(i);
	return storage;
}

static void files_and_memory_read_alike(void **state)
{
	CLEANUP(code_blocks_freep) struct code_blocks *blocks = code_blocks_new();
	const int descriptor = memfd_create("bytes", MFD_CLOEXEC);
	struct code_bytes file;
	struct code_bytes memory;

	(void)state;
	code_bytes_init_memory(&memory, make_storage(), SIZE);
	assert_int_equal(write(descriptor, memory.storage, SIZE), SIZE);
	code_bytes_init_file(&file, blocks, descriptor, SIZE);
	assert_all_reads(&file);
	assert_all_reads(&memory);
	assert_int_equal(ftruncate(descriptor, 5000), 0);
	code_bytes_init_file(&file, blocks, descriptor, SIZE); /* another number: nothing cached */
	assert_false(code_bytes_get(&file, 4990, (uint8_t[16]){ 0 }, 16));
	assert_true(code_bytes_get(&file, 4984, (uint8_t[16]){ 0 }, 16));
	code_bytes_fini(&file);
	code_bytes_fini(&memory);
	code_bytes_fini(&memory);
}

static void parts_read_as_zeros_between(void **state)
{
	struct code_range *ranges = mem_zalloc(2, sizeof(*ranges));
	uint8_t *storage = (uint8_t *)mem_strdup("abcdefgh");
	struct code_bytes bytes;
	char text[16];

	(void)state;
	ranges[0] = (struct code_range){ 2, 3, storage };
	ranges[1] = (struct code_range){ 7, 5, storage + 3 };
	code_bytes_init_ranges(&bytes, 14, ranges, 2, storage);
	assert_int_equal(code_bytes_read(&bytes, 0, text, 16), 14);
	assert_memory_equal(text, "\0\0abc\0\0defgh\0\0", 14);
	assert_int_equal(code_bytes_read(&bytes, 4, text, 4), 4);
	assert_memory_equal(text, "c\0\0d", 4);
	assert_int_equal(code_bytes_read(&bytes, 13, text, 4), 1);
	code_bytes_fini(&bytes);
}

static void texts_end_at_their_nul_or_their_table(void **state)
{
	struct code_bytes bytes;
	char to[8];

	(void)state;
	code_bytes_init_memory(&bytes, memcpy(mem_zalloc(1, 16), "\0name\0longer name", 16), 16);
	assert_string_equal(code_bytes_text(&bytes, 1, 16, to, sizeof(to)).data, "name");
	assert_string_equal(code_bytes_text(&bytes, 0, 16, to, sizeof(to)).data, "");
	assert_string_equal(code_bytes_text(&bytes, 6, 16, to, sizeof(to)).data, "longer ");
	assert_string_equal(code_bytes_text(&bytes, 1, 3, to, sizeof(to)).data, "na");
	assert_string_equal(code_bytes_text(&bytes, 9, 3, to, sizeof(to)).data, "");
	assert_string_equal(code_bytes_text(&bytes, 99, 200, to, sizeof(to)).data, "");
	code_bytes_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_memory_read_alike),
		cmocka_unit_test(parts_read_as_zeros_between),
		cmocka_unit_test(texts_end_at_their_nul_or_their_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
