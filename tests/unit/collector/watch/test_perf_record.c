/*
 * Records as linux/perf_event.h describes them, put together here field by field.
 */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/watch/perf_record.h"

#define RECORD_BYTES 512

/* A record in the making. */
struct bytes {
	char data[RECORD_BYTES];
	size_t length;
};

static void put(struct bytes *to, const void *data, size_t length)
{
	assert_true(to->length + length <= RECORD_BYTES);
	memcpy(to->data + to->length, data, length);
	to->length += length;
}

static void put32(struct bytes *to, uint32_t number)
{
	put(to, &number, sizeof(number));
}

static void put64(struct bytes *to, uint64_t number)
{
	put(to, &number, sizeof(number));
}

/* With its NUL, filled up to eight bytes. */
static void put_text(struct bytes *to, const char *text)
{
	put(to, text, strlen(text) + 1);
	while (to->length % 8 != 0)
		put(to, "", 1);
}

static void begin(struct bytes *to, uint32_t type, uint16_t misc)
{
	const struct perf_event_header header = { .type = type, .misc = misc };

	to->length = 0;
	put(to, &header, sizeof(header));
}

/* The trailer, and the size in the header. */
static struct str end(struct bytes *to, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	uint16_t size;

	put32(to, tgid);
	put32(to, tid);
	put64(to, time_ns);
	size = (uint16_t)to->length;
	memcpy(to->data + offsetof(struct perf_event_header, size), &size, sizeof(size));
	return str_make(to->data, to->length);
}

static struct str mapping_with_inode(struct bytes *to, const char *path)
{
	begin(to, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put32(to, 70);
	put32(to, 71);
	put64(to, 0x7f0000001000);
	put64(to, 0x5000);
	put64(to, 0x3000);
	put32(to, 8);
	put32(to, 1);
	put64(to, 123456);
	put64(to, 9);
	put32(to, 5);
	put32(to, 2);
	put_text(to, path);
	return end(to, 70, 71, 555);
}

static void a_mapping_has_place_and_file(void **state)
{
	struct bytes bytes;
	const struct str text = mapping_with_inode(&bytes, "/usr/lib/libcuda.so.1");
	struct perf_record record;

	(void)state;
	assert_int_equal(perf_record_decode(text, &record), text.length);
	assert_int_equal(record.kind, PERF_RECORD_KIND_MAPPED);
	assert_int_equal(record.tgid, 70);
	assert_int_equal(record.tid, 71);
	assert_int_equal(record.time_ns, 555);
	assert_int_equal(record.address, 0x7f0000001000);
	assert_int_equal(record.length, 0x5000);
	assert_int_equal(record.offset, 0x3000);
	assert_int_equal(record.inode, 123456);
	assert_int_equal(record.build_id_length, 0);
	assert_true(str_equals(record.path, "/usr/lib/libcuda.so.1"));
}

static void a_mapping_has_a_build_id_instead_of_an_inode(void **state)
{
	static const uint8_t id[20] = { 0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct bytes bytes;
	struct perf_record record;
	struct str text;

	(void)state;
	begin(&bytes, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	put32(&bytes, 70);
	put32(&bytes, 70);
	put64(&bytes, 0x1000);
	put64(&bytes, 0x1000);
	put64(&bytes, 0);
	put(&bytes, &(uint8_t[4]){ 20 }, 4);
	put(&bytes, id, sizeof(id));
	put32(&bytes, 5);
	put32(&bytes, 2);
	put_text(&bytes, "/a");
	text = end(&bytes, 70, 70, 1);
	assert_int_equal(perf_record_decode(text, &record), text.length);
	assert_int_equal(record.kind, PERF_RECORD_KIND_MAPPED);
	assert_int_equal(record.inode, 0);
	assert_int_equal(record.build_id_length, 20);
	assert_memory_equal(record.build_id, id, sizeof(id));

	bytes.data[sizeof(struct perf_event_header) + 32] = 21; /* more than there can be */
	assert_int_equal(perf_record_decode(text, &record), text.length);
	assert_int_equal(record.kind, PERF_RECORD_KIND_OTHER);
}

static void names_tell_whether_by_exec(void **state)
{
	static const struct {
		uint16_t misc;
		enum perf_record_kind kind;
	} cases[] = {
		{ PERF_RECORD_MISC_USER, PERF_RECORD_KIND_NAMED },
		{ PERF_RECORD_MISC_USER | PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_KIND_EXEC },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bytes;
		struct perf_record record;
		struct str text;

		begin(&bytes, PERF_RECORD_COMM, cases[i].misc);
		put32(&bytes, 80);
		put32(&bytes, 81);
		put_text(&bytes, "python3");
		text = end(&bytes, 80, 81, 6);
		assert_int_equal(perf_record_decode(text, &record), text.length);
		assert_int_equal(record.kind, cases[i].kind);
		assert_int_equal(record.tgid, 80);
		assert_int_equal(record.tid, 81);
		assert_true(str_equals(record.name, "python3"));
	}
}

static void tasks_come_and_go(void **state)
{
	static const struct {
		uint32_t type;
		enum perf_record_kind kind;
	} cases[] = {
		{ PERF_RECORD_FORK, PERF_RECORD_KIND_FORK },
		{ PERF_RECORD_EXIT, PERF_RECORD_KIND_EXIT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bytes bytes;
		struct perf_record record;
		struct str text;

		begin(&bytes, cases[i].type, 0);
		put32(&bytes, 91);
		put32(&bytes, 90);
		put32(&bytes, 92);
		put32(&bytes, 93);
		put64(&bytes, 1000);
		text = end(&bytes, 1, 2, 7);
		assert_int_equal(perf_record_decode(text, &record), text.length);
		assert_int_equal(record.kind, cases[i].kind);
		assert_int_equal(record.tgid, 91);
		assert_int_equal(record.parent_tgid, 90);
		assert_int_equal(record.tid, 92);
		assert_int_equal(record.time_ns, 7);
	}
}

static void lost_records_are_told(void **state)
{
	struct bytes bytes;
	struct perf_record record;
	struct str text;

	(void)state;
	begin(&bytes, PERF_RECORD_LOST, 0);
	put64(&bytes, 3);
	put64(&bytes, 17);
	text = end(&bytes, 0, 0, 8);
	assert_int_equal(perf_record_decode(text, &record), text.length);
	assert_int_equal(record.kind, PERF_RECORD_KIND_LOST);
	assert_int_equal(record.lost, 17);
}

static void what_is_cut_is_no_record(void **state)
{
	struct bytes bytes;
	const struct str text = mapping_with_inode(&bytes, "/x");
	struct perf_record record;

	(void)state;
	for (size_t length = 0; length < text.length; length++)
		assert_int_equal(perf_record_decode(str_first(text, length), &record), 0);
}

/* Whatever its size says, a body that is too short for its type is passed over. */
static void a_short_body_is_passed_over(void **state)
{
	static const uint32_t types[] = { PERF_RECORD_MMAP2, PERF_RECORD_COMM, PERF_RECORD_FORK,
		                          PERF_RECORD_EXIT,  PERF_RECORD_LOST, 9999 };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct bytes bytes;
		struct perf_record record;
		struct str text;

		begin(&bytes, types[i], 0);
		put32(&bytes, 1);
		put32(&bytes, 2);
		text = end(&bytes, 0, 0, 0);
		assert_int_equal(perf_record_decode(text, &record), text.length);
		assert_int_equal(record.kind, PERF_RECORD_KIND_OTHER);
	}
}

static void a_path_without_end_is_passed_over(void **state)
{
	struct bytes bytes;
	const struct str text = mapping_with_inode(&bytes, "/sevens");
	struct perf_record record;

	(void)state;
	bytes.data[text.length - 17] = 'x'; /* in place of its NUL */
	assert_int_equal(perf_record_decode(text, &record), text.length);
	assert_int_equal(record.kind, PERF_RECORD_KIND_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_has_place_and_file),
		cmocka_unit_test(a_mapping_has_a_build_id_instead_of_an_inode),
		cmocka_unit_test(names_tell_whether_by_exec),
		cmocka_unit_test(tasks_come_and_go),
		cmocka_unit_test(lost_records_are_told),
		cmocka_unit_test(what_is_cut_is_no_record),
		cmocka_unit_test(a_short_body_is_passed_over),
		cmocka_unit_test(a_path_without_end_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
