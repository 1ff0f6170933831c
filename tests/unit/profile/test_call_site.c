#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/call_site.h"
#include "tests/unit/profile/symbols_fixture.h"

#define ARENA_BYTES ((size_t)1 << 20)

static void stacks_that_begin_with_the_list_are_kept(void **state)
{
	static const struct {
		const char *call_site; /* "" is the function without a name; NULL: no list */
		int64_t sum;           /* of the powers of two below */
	} cases[] = {
		{ NULL, 63 },
		{ "main", 1 + 2 + 4 },
		{ "main;work", 1 + 2 },
		{ "main;work;compute", 1 },
		{ "main;work;compute;deeper", 0 },
		{ "work", 0 },
		{ "gc", 8 },
		{ "libc.so!0x123", 16 },
		{ "outer;inner", 32 },
		{ "outer", 32 },
		{ "inner", 0 },
		{ "nope", 0 },
		{ "", 0 },
	};
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t lib = fixture_mapping(f, 0, 0x1000, "/lib/libc.so", "");
	const struct symbol_line lines[] = {
		{ 2, fixture_function(f, STR("inner"), ""), 0 },
		{ 1, fixture_function(f, STR("outer"), ""), 0 },
	};
	const uint32_t stacks[] = {
		fixture_path(f, "main;work;compute"),
		fixture_path(f, "main;work"),
		fixture_path(f, "main"),
		fixture_path(f, "gc"),
		fixture_stack(f, 0, fixture_location(f, lib, 0x123, NULL, 0)),
		fixture_stack(f, 0, fixture_location(f, lib, 16, lines, 2)),
	};
	const struct stack_sums in = { &f->symbols, 7, stacks, (int64_t[]){ 1, 2, 4, 8, 16, 32 },
		                       6 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct str rest = str_of(cases[i].call_site ? cases[i].call_site : "");
		struct stack_sums out = { 0 };
		struct error err = { 0 };
		struct str names[8];
		size_t count = 0;
		int64_t sum = 0;

		while (cases[i].call_site && str_split(&rest, ';', &names[count]))
			count++;
		assert_int_equal(call_site_filter(&in, names, count, arena, &out, &err), 0);
		for (size_t j = 0; j < out.count; j++)
			sum += out.sums[j];
		assert_int_equal(sum, cases[i].sum);
		assert_int_equal(out.part, 7);
	}
}

static void full_arena_is_an_error(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(8, NULL);
	const uint32_t stack = fixture_path(f, "a;b");
	const struct stack_sums in = { &f->symbols, 0, &stack, (int64_t[]){ 1 }, 1 };
	const struct str name = STR("a");
	struct stack_sums out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(call_site_filter(&in, &name, 1, arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_begin_with_the_list_are_kept),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
