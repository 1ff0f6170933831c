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
