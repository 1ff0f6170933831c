#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/zstd.h"

#define MIB ((size_t)1 << 20)

/* Written by the zstd program. */
static const unsigned char hello[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x24, 0x14, 0x75, 0x00, 0x00,
	                               0x40, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20, 0x0a,
	                               0x01, 0x00, 0xe2, 0x8a, 0x11, 0x21, 0x69, 0x9d, 0x87 };

/* The same from a pipe: without its size, as senders that stream write frames. */
static const unsigned char streamed[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x75, 0x00, 0x00,
	                                  0x40, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20, 0x0a,
	                                  0x01, 0x00, 0xe2, 0x8a, 0x11, 0x21, 0x69, 0x9d, 0x87 };

#define HELLO STR("hello, hello, hello\n")

static int unpack(struct str frame, size_t limit, struct str *out, struct error *err,
                  struct arena *arena)
{
	*err = (struct error){ 0 };
	return zstd_unpack(frame, limit, arena, out, err);
}

static void a_foreign_frame_is_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct error err;
	struct str out;

	(void)state;
	assert_int_equal(unpack(str_make(hello, sizeof(hello)), HELLO.length, &out, &err, arena),
	                 0);
	assert_true(str_equal(out, HELLO));
}

static void what_is_packed_reads_back_at_every_level(void **state)
{
	static const int levels[] = { 1, 3, 9, 19 };
	static char bytes[100000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * i >> 7);
	for (size_t i = 0; i < ARRAY_LENGTH(levels); i++)
		for (size_t length = 0; length <= sizeof(bytes); length = length * 10 + 1) {
			CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
			struct strbuf frame;
			struct error err;
			struct str out;

			strbuf_init(&frame, MIB);
			strbuf_add_text(&frame, "head");
			zstd_pack(str_make(bytes, length), levels[i], &frame);
			assert_int_equal(unpack(str_skip(strbuf_view(&frame), 4), length, &out,
			                        &err, arena),
			                 0);
			assert_true(str_equal(out, str_make(bytes, length)));
			strbuf_fini(&frame);
		}
}

static void every_cut_and_every_flipped_bit_is_noticed(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(16 * MIB, NULL);
	struct strbuf frame;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&frame, MIB);
	zstd_pack(HELLO, 3, &frame);
	for (size_t length = 0; length < frame.length; length++) {
		assert_int_equal(unpack(str_make(frame.data, length), MIB, &out, &err, arena), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
	for (size_t bit = 0; bit < 8 * frame.length; bit++) {
		frame.data[bit / 8] = (char)(frame.data[bit / 8] ^ 1 << bit % 8);
		if (unpack(strbuf_view(&frame), MIB, &out, &err, arena) == 0)
			assert_true(str_equal(out, HELLO)); /* a bit that means nothing */
		else
			assert_int_equal(err.code, ERROR_CORRUPT);
		frame.data[bit / 8] = (char)(frame.data[bit / 8] ^ 1 << bit % 8);
	}
	strbuf_fini(&frame);
}

static void a_frame_past_the_limit_is_refused_before_any_work(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct strbuf frame;
	struct error err;
	struct str out;
	char *zeros = calloc(2, MIB);

	(void)state;
	strbuf_init(&frame, MIB);
	zstd_pack(str_make(zeros, 2 * MIB), 1, &frame);
	assert_int_equal(unpack(strbuf_view(&frame), 2 * MIB - 1, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(arena_used(arena), 0);
	assert_int_equal(unpack(strbuf_view(&frame), 2 * MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	strbuf_fini(&frame);
	free(zeros);
}

static void a_frame_without_its_size_is_refused(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct error err;
	struct str out;

	(void)state;
	/* "hello", streamed by the zstd program: a frame that does not say its size */
	assert_int_equal(unpack(STR("\x28\xb5\x2f\xfd\x00\x58\x29\x00\x00hello"), MIB, &out, &err,
	                        arena),
	                 -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(unpack(STR("no frame at all"), MIB, &out, &err, arena), -1);
	assert_int_equal(unpack((struct str){ NULL, 0 }, MIB, &out, &err, arena), -1);
}

static void a_buffer_that_is_too_small_is_told(void **state)
{
	struct strbuf frame;

	(void)state;
	strbuf_init(&frame, 8);
	zstd_pack(HELLO, 1, &frame);
	assert_true(strbuf_overflowed(&frame));
	assert_int_equal(frame.length, 0);
	strbuf_fini(&frame);
}

static int inflate(const struct strbuf *bytes, size_t limit, struct arena *arena, struct str *out,
                   struct error *err)
{
	*err = (struct error){ 0 };
	return zstd_inflate(strbuf_view(bytes), limit, arena, out, err);
}

static void frames_of_any_kind_are_one_stream(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&bytes, MIB);
	strbuf_add(&bytes, streamed, sizeof(streamed));
	assert_int_equal(inflate(&bytes, HELLO.length, arena, &out, &err), 0);
	assert_true(str_equal(out, HELLO));
	strbuf_add(&bytes, hello, sizeof(hello));
	assert_int_equal(inflate(&bytes, MIB, arena, &out, &err), 0);
	assert_true(str_equal(out, STR("hello, hello, hello\nhello, hello, hello\n")));
}

static void no_more_is_inflated_than_the_limit(void **state)
{
	static const char zeros[(size_t)8 << 20];
	CLEANUP(arena_freep) struct arena *arena = arena_new(64 * MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&bytes, MIB);
	zstd_pack(str_make(zeros, sizeof(zeros)), 3, &bytes);
	assert_int_equal(inflate(&bytes, sizeof(zeros) - 1, arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_true(arena_used(arena) < sizeof(zeros) + MIB);
	assert_int_equal(inflate(&bytes, sizeof(zeros), arena, &out, &err), 0);
	assert_true(str_equal(out, str_make(zeros, sizeof(zeros))));
}

static void a_size_that_is_only_claimed_takes_no_memory(void **state)
{
	/* one segment, content of 2^40 bytes, and nothing behind the head */
	static const unsigned char lie[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0 };
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&bytes, MIB);
	strbuf_add(&bytes, lie, sizeof(lie));
	assert_int_equal(inflate(&bytes, (size_t)1 << 41, arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_true(arena_used(arena) < MIB / 4);
}

static void what_is_no_stream_is_invalid(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf bytes;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&bytes, MIB);
	for (size_t length = 0; length < sizeof(streamed); length++) {
		strbuf_reset(&bytes);
		strbuf_add(&bytes, streamed, length);
		assert_int_equal(inflate(&bytes, MIB, arena, &out, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
	strbuf_reset(&bytes);
	strbuf_add(&bytes, streamed, sizeof(streamed));
	strbuf_add_text(&bytes, "and more");
	assert_int_equal(inflate(&bytes, MIB, arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_foreign_frame_is_read),
		cmocka_unit_test(what_is_packed_reads_back_at_every_level),
		cmocka_unit_test(every_cut_and_every_flipped_bit_is_noticed),
		cmocka_unit_test(a_frame_past_the_limit_is_refused_before_any_work),
		cmocka_unit_test(a_frame_without_its_size_is_refused),
		cmocka_unit_test(a_buffer_that_is_too_small_is_told),
		cmocka_unit_test(frames_of_any_kind_are_one_stream),
		cmocka_unit_test(no_more_is_inflated_than_the_limit),
		cmocka_unit_test(a_size_that_is_only_claimed_takes_no_memory),
		cmocka_unit_test(what_is_no_stream_is_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
