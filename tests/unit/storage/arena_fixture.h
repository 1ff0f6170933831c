/*
 * One arena for each test, and what an encoder writes as bytes in it.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/strbuf.h"

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_new((size_t)64 << 20, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* Moves what was written into the arena. */
static inline struct str arena_take_written(struct strbuf *written)
{
	const struct str bytes = arena_copy(arena, strbuf_view(written));

	strbuf_fini(written);
	return bytes;
}

/* `expected` is an array of the bytes. */
#define assert_bytes(found, expected)                                              \
	do {                                                                       \
		const struct str bytes_found = (found);                            \
                                                                                   \
		assert_int_equal(bytes_found.length, sizeof(expected));            \
		assert_memory_equal(bytes_found.data, expected, sizeof(expected)); \
	} while (0)

/* Likewise a text, whose last NUL is none of them. */
#define assert_text(found, expected)                                                  \
	do {                                                                          \
		const struct str text_found = (found);                                \
                                                                                      \
		assert_int_equal(text_found.length, sizeof(expected) - 1);            \
		assert_memory_equal(text_found.data, expected, sizeof(expected) - 1); \
	} while (0)
