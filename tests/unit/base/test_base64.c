#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"

/* The test vectors of RFC 4648, section 10, and bytes that need both special characters. */
static const struct {
	struct str bytes;
	struct str text;
} vectors[] = {
	{ STR(""), STR("") },
	{ STR("f"), STR("Zg==") },
	{ STR("fo"), STR("Zm8=") },
	{ STR("foo"), STR("Zm9v") },
	{ STR("foob"), STR("Zm9vYg==") },
	{ STR("fooba"), STR("Zm9vYmE=") },
	{ STR("foobar"), STR("Zm9vYmFy") },
	{ STR("\xfb\xff\xbf"), STR("+/+/") },
	{ STR("\0\0"), STR("AAA=") },
};

static void check(struct str text, struct str bytes)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	struct error err = { 0 };
	struct str out;

	assert_int_equal(base64_decode(text, arena, &out, &err), 0);
	assert_true(str_equal(out, bytes));
}

static void the_known_vectors_go_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(vectors); i++) {
		struct strbuf text;

		strbuf_init(&text, 100);
		base64_encode(vectors[i].bytes, &text);
		assert_true(str_equal(strbuf_view(&text), vectors[i].text));
		strbuf_fini(&text);
		check(vectors[i].text, vectors[i].bytes);
	}
}

static void padding_may_be_missing_and_the_alphabet_the_urls(void **state)
{
	(void)state;
	check(STR("Zg"), STR("f"));
	check(STR("Zm8"), STR("fo"));
	check(STR("-_-_"), STR("\xfb\xff\xbf"));
	check((struct str){ NULL, 0 }, STR(""));
}

static void other_characters_and_lengths_are_refused(void **state)
{
	static const struct str cases[] = {
		STR("Z"),     STR("Zm9vY"),  STR("Zm9*"),  STR("Zg="),
		STR("Zg==="), STR("===="),   STR("Z==="),  STR("Zg==Zg=="),
		STR("Zm 9v"), STR("Zm9v\n"), STR("Zm9\0"), STR("Zm9\xff"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
		struct error err = { 0 };
		struct str out;

		assert_int_equal(base64_decode(cases[i], arena, &out, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(100, NULL);
	struct error err = { 0 };
	char text[1000];
	struct str out;

	(void)state;
	memset(text, 'A', sizeof(text));
	assert_int_equal(base64_decode(str_make(text, sizeof(text)), arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_known_vectors_go_both_ways),
		cmocka_unit_test(padding_may_be_missing_and_the_alphabet_the_urls),
		cmocka_unit_test(other_characters_and_lengths_are_refused),
		cmocka_unit_test(a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
