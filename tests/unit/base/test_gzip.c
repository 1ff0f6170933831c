#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/gzip.h"

#define MIB ((size_t)1 << 20)

/* Written by Python's gzip and zlib. */
static const unsigned char hello[] = { 0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
	                               0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0xc8, 0x40, 0xa2,
	                               0xb8, 0x00, 0xe7, 0x42, 0x6e, 0x52, 0x14, 0x00, 0x00, 0x00 };

/* With an extra field, a name, a comment and a checksum of the head. */
static const unsigned char hello_with_everything[] = {
	0x1f, 0x8b, 0x08, 0x1e, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x04, 0x00, 0x61,
	0x62, 0x00, 0x00, 0x6e, 0x61, 0x6d, 0x65, 0x00, 0x63, 0x6f, 0x6d, 0x6d, 0x65,
	0x6e, 0x74, 0x00, 0x37, 0x66, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0xc8,
	0x40, 0xa2, 0xb8, 0x00, 0xe7, 0x42, 0x6e, 0x52, 0x14, 0x00, 0x00, 0x00
};

static const unsigned char nothing[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
	0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
};

#define HELLO       STR("hello, hello, hello\n")
#define VIEW(array) str_make((array), sizeof(array))

static int inflate(struct str bytes, size_t limit, struct str *out, struct error *err,
                   struct arena *arena)
{
	*err = (struct error){ 0 };
	return gzip_inflate(bytes, limit, arena, out, err);
}

static void foreign_members_are_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct error err;
	struct str out;

	(void)state;
	assert_int_equal(inflate(VIEW(hello), MIB, &out, &err, arena), 0);
	assert_true(str_equal(out, HELLO));
	assert_int_equal(inflate(VIEW(hello_with_everything), MIB, &out, &err, arena), 0);
	assert_true(str_equal(out, HELLO));
	assert_int_equal(inflate(VIEW(nothing), MIB, &out, &err, arena), 0);
	assert_int_equal(out.length, 0);
	assert_int_equal(inflate(VIEW(nothing), 0, &out, &err, arena), 0);
}

static void members_back_to_back_are_one_stream(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct strbuf bytes;
	struct error err;
	struct str out;

	(void)state;
	strbuf_init(&bytes, MIB);
	for (int i = 0; i < 1000; i++) {
		strbuf_add(&bytes, nothing, sizeof(nothing));
		strbuf_add(&bytes, hello, sizeof(hello));
	}
	strbuf_add(&bytes, nothing, sizeof(nothing));
	assert_int_equal(inflate(strbuf_view(&bytes), MIB, &out, &err, arena), 0);
	assert_int_equal(out.length, 1000 * HELLO.length);
	for (size_t i = 0; i < 1000; i++)
		assert_memory_equal(out.data + i * HELLO.length, HELLO.data, HELLO.length);
	assert_int_equal(inflate(strbuf_view(&bytes), 1000 * HELLO.length - 1, &out, &err, arena),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	strbuf_fini(&bytes);
}

static void the_limit_is_exact(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct error err;
	struct str out;

	(void)state;
	assert_int_equal(inflate(VIEW(hello), HELLO.length, &out, &err, arena), 0);
	for (size_t limit = 0; limit < HELLO.length; limit++) {
		assert_int_equal(inflate(VIEW(hello), limit, &out, &err, arena), -1);
		assert_int_equal(err.code, ERROR_TOO_LARGE);
	}
}

static void every_cut_is_noticed(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	struct error err;
	struct str out;

	(void)state;
	for (size_t length = 0; length < sizeof(hello); length++) {
		/* a copy of just that size, so that a sanitizer sees a byte too many */
		char *cut = malloc(length + 1);

		memcpy(cut, hello, length);
		assert_int_equal(inflate(str_make(cut, length), MIB, &out, &err, arena), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		free(cut);
	}
	assert_int_equal(inflate((struct str){ NULL, 0 }, MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void damage_and_bytes_behind_are_errors(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	unsigned char bytes[sizeof(hello) + 1];
	struct error err;
	struct str out;

	(void)state;
	memcpy(bytes, hello, sizeof(hello));
	bytes[sizeof(hello)] = 0;
	assert_int_equal(inflate(VIEW(bytes), MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	for (size_t i = 10; i < sizeof(hello); i++) {
		memcpy(bytes, hello, sizeof(hello));
		bytes[i] ^= 0x10;
		assert_int_equal(inflate(str_make(bytes, sizeof(hello)), MIB, &out, &err, arena),
		                 -1);
		assert_int_not_equal(err.code, ERROR_NONE);
	}
}

/* 64 MiB of zeros in 64 KiB. */
static void a_bomb_costs_no_more_than_the_limit(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(5 * MIB, NULL);
	struct strbuf bomb;
	struct error err;
	struct str out;
	char *zeros = calloc(64, MIB);

	(void)state;
	strbuf_init(&bomb, MIB);
	gzip_deflate(str_make(zeros, 64 * MIB), &bomb);
	assert_false(strbuf_overflowed(&bomb));
	assert_int_equal(inflate(strbuf_view(&bomb), 2 * MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_false(arena_overflowed(arena));
	assert_int_equal(inflate(strbuf_view(&bomb), 64 * MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_true(arena_overflowed(arena));
	/* a tail that declares little does not help it */
	memset(bomb.data + bomb.length - 4, 0, 4);
	arena_reset(arena);
	assert_int_equal(inflate(strbuf_view(&bomb), 2 * MIB, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	free(zeros);
	strbuf_fini(&bomb);
}

static void a_tail_that_declares_much_takes_no_memory(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	unsigned char bytes[sizeof(hello)];
	struct error err;
	struct str out;

	(void)state;
	memcpy(bytes, hello, sizeof(hello));
	memset(bytes + sizeof(bytes) - 4, 0xff, 4);
	assert_int_equal(inflate(VIEW(bytes), SIZE_MAX, &out, &err, arena), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void what_is_deflated_reads_back(void **state)
{
	static const size_t lengths[] = { 0, 1, 2, 1000, 65536, 1000003 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(4 * MIB, NULL);
		char *bytes = malloc(lengths[i] + 1);
		uint32_t random = 1;
		struct strbuf packed;
		struct error err;
		struct str out;

		for (size_t at = 0; at < lengths[i]; at++) {
			random = random * 1664525 + 1013904223;
			bytes[at] = (char)(random >> 24 & (at % 2 ? 0xff : 0x0f));
		}
		strbuf_init(&packed, 4 * MIB);
		gzip_deflate(str_make(bytes, lengths[i]), &packed);
		assert_true(gzip_is(strbuf_view(&packed)));
		assert_int_equal(inflate(strbuf_view(&packed), lengths[i], &out, &err, arena), 0);
		assert_true(str_equal(out, str_make(bytes, lengths[i])));
		/* one try, and what it had to spare is given back */
		assert_true(arena_used(arena) <= lengths[i] + 1024);
		strbuf_fini(&packed);
		free(bytes);
	}
}

static void a_buffer_that_is_too_small_is_told(void **state)
{
	struct strbuf packed;
	size_t length;

	(void)state;
	strbuf_init(&packed, MIB);
	gzip_deflate(HELLO, &packed);
	length = packed.length;
	strbuf_fini(&packed);
	strbuf_init(&packed, length);
	gzip_deflate(HELLO, &packed);
	assert_false(strbuf_overflowed(&packed));
	strbuf_fini(&packed);
	strbuf_init(&packed, length - 1);
	gzip_deflate(HELLO, &packed);
	assert_true(strbuf_overflowed(&packed));
	assert_int_equal(packed.length, 0);
	strbuf_fini(&packed);
}

static void *deflate_on_a_thread(void *context)
{
	struct strbuf *packed = context;

	gzip_deflate(HELLO, packed);
	return NULL;
}

static void each_thread_has_its_own_context(void **state)
{
	pthread_t threads[4];
	struct strbuf packed[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		strbuf_init(&packed[i], MIB);
		assert_int_equal(pthread_create(&threads[i], NULL, deflate_on_a_thread, &packed[i]),
		                 0);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(str_equal(strbuf_view(&packed[i]), strbuf_view(&packed[0])));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		strbuf_fini(&packed[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_members_are_read),
		cmocka_unit_test(members_back_to_back_are_one_stream),
		cmocka_unit_test(the_limit_is_exact),
		cmocka_unit_test(every_cut_is_noticed),
		cmocka_unit_test(damage_and_bytes_behind_are_errors),
		cmocka_unit_test(a_bomb_costs_no_more_than_the_limit),
		cmocka_unit_test(a_tail_that_declares_much_takes_no_memory),
		cmocka_unit_test(what_is_deflated_reads_back),
		cmocka_unit_test(a_buffer_that_is_too_small_is_told),
		cmocka_unit_test(each_thread_has_its_own_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
