#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/zstd.h"
#include "collector/replay/recording.h"

#define PATH_BYTES 64
#define MIB        ((size_t)1 << 20)

static char folder[] = "/tmp/test_recording.XXXXXX";
static char path[PATH_BYTES];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/recording", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static struct recording_writer *create(void)
{
	struct recording_writer *writer;
	struct error err;

	assert_int_equal(recording_create(path, &writer, &err), 0);
	return writer;
}

static void append(struct recording_writer *writer, uint32_t tgid, struct str bytes)
{
	struct error err;

	assert_int_equal(recording_append(writer,
	                                  &(struct recording_record){ .kind = RECORDING_EVENT,
	                                                              .tgid = tgid,
	                                                              .time_ns = -(int64_t)tgid },
	                                  &bytes, 1, &err),
	                 0);
}

static void finish(struct recording_writer *writer)
{
	struct error err;

	assert_int_equal(recording_close(writer, &err), 0);
}

static struct recording_reader *reopen(void)
{
	struct recording_reader *reader;
	struct error err;

	assert_int_equal(recording_open(path, &reader, &err), 0);
	return reader;
}

static void records_come_back_in_their_order(void **state)
{
	const struct str parts[] = { STR("begin "), STR(""), STR("end") };
	struct recording_writer *writer = create();
	struct recording_record record;
	struct error err;

	(void)state;
	assert_int_equal(
		recording_append(writer,
	                         &(struct recording_record){ .kind = RECORDING_MAPS, .tgid = 7 },
	                         parts, 3, &err),
		0);
	append(writer, 8, STR(""));
	append(writer, 9, str_make("a\0b", 3));
	finish(writer);

	CLEANUP(recording_reader_freep) struct recording_reader *reader = reopen();

	assert_int_equal(recording_next(reader, &record, &err), 1);
	assert_int_equal(record.kind, RECORDING_MAPS);
	assert_int_equal(record.tgid, 7);
	assert_true(str_equals(record.bytes, "begin end"));
	assert_int_equal(recording_next(reader, &record, &err), 1);
	assert_int_equal(record.kind, RECORDING_EVENT);
	assert_int_equal(record.bytes.length, 0);
	assert_int_equal(recording_next(reader, &record, &err), 1);
	assert_int_equal(record.time_ns, -9);
	assert_true(str_equal(record.bytes, str_make("a\0b", 3)));
	assert_int_equal(recording_next(reader, &record, &err), 0);
	assert_int_equal(recording_next(reader, &record, &err), 0);
}

/* A block holds a mebibyte; a larger record has a block of its own. */
static void large_and_many_records_come_back(void **state)
{
	CLEANUP(mem_freep) char *large = mem_zalloc(3 * MIB, 1);
	struct recording_writer *writer = create();
	struct recording_record record;
	struct error err;

	(void)state;
	memset(large, 'x', 3 * MIB);
	append(writer, 1, str_make(large, 3 * MIB));
	for (uint32_t i = 2; i <= 40; i++)
		append(writer, i, str_make(large, 100000));
	finish(writer);

	CLEANUP(recording_reader_freep) struct recording_reader *reader = reopen();

	for (uint32_t i = 1; i <= 40; i++) {
		assert_int_equal(recording_next(reader, &record, &err), 1);
		assert_int_equal(record.tgid, i);
		assert_int_equal(record.bytes.length, i == 1 ? 3 * MIB : 100000);
		assert_memory_equal(record.bytes.data, large, record.bytes.length);
	}
	assert_int_equal(recording_next(reader, &record, &err), 0);
}

static void only_its_owner_may_read_it(void **state)
{
	struct stat stat_of;

	(void)state;
	unlink(path);
	finish(create());
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 0777, 0600);
}

static void a_pipe_is_refused_at_once(void **state)
{
	struct recording_writer *writer = NULL;
	struct recording_reader *reader = NULL;
	struct error err;

	(void)state;
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(recording_create(path, &writer, &err), -1);
	assert_int_equal(recording_open(path, &reader, &err), -1);
	assert_null(writer);
	assert_null(reader);
	assert_int_equal(unlink(path), 0);
}

static void a_cut_file_is_good_up_to_the_last_whole_block(void **state)
{
	CLEANUP(mem_freep) char *block = mem_zalloc(MIB, 1);
	struct recording_writer *writer = create();
	struct recording_record record;
	struct stat stat_of;
	struct error err;

	(void)state;
	append(writer, 1, str_make(block, MIB));
	append(writer, 2, str_make(block, MIB));
	finish(writer);
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(truncate(path, stat_of.st_size - 1), 0);

	CLEANUP(recording_reader_freep) struct recording_reader *reader = reopen();

	assert_int_equal(recording_next(reader, &record, &err), 1);
	assert_int_equal(record.tgid, 1);
	assert_int_equal(recording_next(reader, &record, &err), 0);
}

/* What docs/formats/recording.md says of the bytes. */
static void put_block(struct strbuf *out, struct str records)
{
	struct strbuf packed;
	uint32_t lengths[2];

	strbuf_init(&packed, MIB);
	zstd_pack(records, 1, &packed);
	lengths[0] = (uint32_t)records.length;
	lengths[1] = (uint32_t)packed.length;
	strbuf_add(out, lengths, sizeof(lengths));
	strbuf_add_str(out, strbuf_view(&packed));
	strbuf_fini(&packed);
}

static int read_to_end(struct str bytes, struct recording_record *out, struct error *err)
{
	CLEANUP(recording_reader_freep) struct recording_reader *reader = NULL;
	int more;

	if (recording_open_bytes(bytes, &reader, err) < 0)
		return -1;
	while ((more = recording_next(reader, out, err)) == 1)
		continue;
	return more;
}

static void the_documented_bytes_are_read(void **state)
{
	static const char records[] = "\x02\0\0\0" /* an event */
				      "\x02\0\0\0" /* of two bytes */
				      "\x05\0\0\0" /* of process 5 */
				      "\0\0\0\0"
				      "\xff\0\0\0\0\0\0\0" /* at 255 ns */
				      "ab";
	CLEANUP(recording_reader_freep) struct recording_reader *reader = NULL;
	struct recording_record record;
	struct strbuf file;
	struct error err;

	(void)state;
	strbuf_init(&file, MIB);
	strbuf_add_text(&file, "vramrec\x01");
	put_block(&file, str_make(records, sizeof(records) - 1));
	assert_int_equal(recording_open_bytes(strbuf_view(&file), &reader, &err), 0);
	assert_int_equal(recording_next(reader, &record, &err), 1);
	assert_int_equal(record.kind, RECORDING_EVENT);
	assert_int_equal(record.tgid, 5);
	assert_int_equal(record.time_ns, 255);
	assert_true(str_equals(record.bytes, "ab"));
	strbuf_fini(&file);
}

static void what_is_no_recording_is_refused(void **state)
{
	static const char unknown_kind[24] = { 99 };
	static const char too_long[24] = { 1, 0, 0, 0, 1 };
	const struct str blocks[] = { str_make(unknown_kind, 24), str_make(too_long, 24),
		                      STR("short") };
	struct recording_record record;
	struct strbuf file;
	struct error err;

	(void)state;
	strbuf_init(&file, MIB);
	for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++) {
		strbuf_reset(&file);
		strbuf_add_text(&file, "vramrec\x01");
		put_block(&file, blocks[i]);
		assert_int_equal(read_to_end(strbuf_view(&file), &record, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
	assert_int_equal(read_to_end(STR("vramrec\x02"), &record, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(read_to_end(str_make("vramrec\x01\xff\xff\xff\xff\1\0\0\0x", 17), &record,
	                             &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	strbuf_fini(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_in_their_order),
		cmocka_unit_test(large_and_many_records_come_back),
		cmocka_unit_test(only_its_owner_may_read_it),
		cmocka_unit_test(a_pipe_is_refused_at_once),
		cmocka_unit_test(a_cut_file_is_good_up_to_the_last_whole_block),
		cmocka_unit_test(the_documented_bytes_are_read),
		cmocka_unit_test(what_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
