#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "formats/pprof_bytes.h"

#define ARENA_BYTES ((size_t)1 << 20)

static void plain_bytes_stay_where_they_are(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str raw = STR("0123456789");
	struct str plain;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(pprof_bytes_unpack(raw, 10, arena, &plain, &err), 0);
	assert_ptr_equal(plain.data, raw.data);
	assert_int_equal(plain.length, 10);
	assert_int_equal(pprof_bytes_unpack(raw, 9, arena, &plain, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void several_gzip_members_are_one_profile(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf packed;
	struct str plain;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&packed, 10000);
	gzip_deflate(STR("one "), &packed);
	gzip_deflate(STR("two"), &packed);
	assert_int_equal(pprof_bytes_unpack(strbuf_view(&packed), 0, arena, &plain, &err), 0);
	assert_true(str_equals(plain, "one two"));
	assert_int_equal(pprof_bytes_unpack(strbuf_view(&packed), 6, arena, &plain, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	strbuf_add_text(&packed, "garbage behind");
	assert_int_equal(pprof_bytes_unpack(strbuf_view(&packed), 0, arena, &plain, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void what_is_too_short_is_refused(void **state)
{
	static const char *const cases[] = { "", "x", "123456789", "\x1f\x8b",
		                             "\x1f\x8b\x08\x01\x01" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct str plain;
		struct error err = { 0 };

		assert_int_equal(pprof_bytes_unpack(str_of(cases[i]), 0, arena, &plain, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void a_bomb_costs_no_more_than_the_limit(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)32 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf packed;
	const size_t length = (size_t)16 << 20;
	struct str plain;
	struct error err = { 0 };
	size_t before;

	(void)state;
	strbuf_init(&packed, length);
	gzip_deflate((struct str){ arena_alloc(arena, length), length }, &packed);
	before = arena_used(arena);
	assert_int_equal(pprof_bytes_unpack(strbuf_view(&packed), 100000, arena, &plain, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_true(arena_used(arena) - before < (size_t)1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_bytes_stay_where_they_are),
		cmocka_unit_test(several_gzip_members_are_one_profile),
		cmocka_unit_test(what_is_too_short_is_refused),
		cmocka_unit_test(a_bomb_costs_no_more_than_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
