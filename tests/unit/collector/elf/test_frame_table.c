/* Entries of .eh_frame without the file's own table, and without sections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/elf/frame_table.h"
#include "tests/unit/collector/elf/elf_files.h"

struct subject {
	struct code_blocks *blocks;
	struct code_bytes bytes;
	struct elf_image image;
	struct frame_table table;
	struct frame_buffers buffers;
};

static void open_subject(struct subject *subject)
{
	struct error err;

	*subject = (struct subject){ .blocks = code_blocks_new() };
	code_bytes_init_file(&subject->bytes, subject->blocks,
	                     open(own_path(), O_RDONLY | O_CLOEXEC), (uint64_t)16 << 20);
	assert_int_equal(elf_image_init(&subject->image, &subject->bytes, &err), 0);
}

static void close_subject(struct subject *subject)
{
	frame_table_fini(&subject->table);
	frame_buffers_fini(&subject->buffers);
	code_bytes_fini(&subject->bytes);
	code_blocks_free(subject->blocks);
}

/* Every address has the entry that it has with the file's table. */
static void compare(struct subject *with, struct subject *without)
{
	size_t found = 0;

	for (uint64_t at = 0; at < 200000; at += 3) {
		const uint64_t address = with->image.base + at;
		struct frame_entry entries[2];
		const bool expected =
			frame_table_find(&with->table, address, &with->buffers, &entries[0]);

		assert_int_equal(frame_table_find(&without->table, address, &without->buffers,
		                                  &entries[1]),
		                 expected);
		if (!expected)
			continue;
		assert_int_equal(entries[0].begin, entries[1].begin);
		assert_int_equal(entries[0].program.offset, entries[1].program.offset);
		found++;
	}
	assert_true(found > 1000);
}

static void a_table_is_made_where_there_is_none(void **state)
{
	struct subject with;
	struct subject without;

	(void)state;
	open_subject(&with);
	open_subject(&without);
	frame_table_init(&with.table, &with.image);
	assert_true(with.table.table_count > 0);
	without.image.eh_frame_header.size = 0;
	frame_table_init(&without.table, &without.image);
	assert_int_equal(without.table.table_count, 0);
	compare(&with, &without);
	assert_true(frame_table_bytes(&without.table) > 0);
	assert_int_equal(frame_table_bytes(&with.table), 0);
	close_subject(&with);
	close_subject(&without);
}

static void the_header_says_where_eh_frame_is(void **state)
{
	struct subject with;
	struct subject without;

	(void)state;
	open_subject(&with);
	open_subject(&without);
	frame_table_init(&with.table, &with.image);
	without.image.eh_frame = (struct elf_section){ 0 };
	frame_table_init(&without.table, &without.image);
	assert_int_equal(without.image.eh_frame.offset, with.image.eh_frame.offset);
	assert_int_equal(without.image.eh_frame.address, with.image.eh_frame.address);
	compare(&with, &without);
	close_subject(&with);
	close_subject(&without);
}

static void nothing_is_found_without_eh_frame(void **state)
{
	struct subject subject;
	struct frame_entry entry;

	(void)state;
	open_subject(&subject);
	subject.image.eh_frame = (struct elf_section){ 0 };
	subject.image.eh_frame_header = (struct elf_section){ 0 };
	frame_table_init(&subject.table, &subject.image);
	for (uint64_t at = 0; at < 10000; at++)
		assert_false(frame_table_find(&subject.table, subject.image.base + at,
		                              &subject.buffers, &entry));
	close_subject(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_made_where_there_is_none),
		cmocka_unit_test(the_header_says_where_eh_frame_is),
		cmocka_unit_test(nothing_is_found_without_eh_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
