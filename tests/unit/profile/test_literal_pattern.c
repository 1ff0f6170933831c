#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/regex.h"
#include "profile/literal_pattern.h"

#define TEXTS_MAX 4

static void a_choice_of_texts_is_read(void **state)
{
	static const struct {
		struct str pattern;
		size_t count;
		struct str texts[TEXTS_MAX];
	} cases[] = {
		{ STR("a"), 1, { STR("a") } },
		{ STR(""), 1, { STR("") } },
		{ STR("cart|checkout|pay"), 3, { STR("cart"), STR("checkout"), STR("pay") } },
		{ STR("a|"), 2, { STR("a"), STR("") } },
		{ STR("|"), 2, { STR(""), STR("") } },
		{ STR("(a|b)"), 2, { STR("a"), STR("b") } },
		{ STR("(?:a|b)"), 2, { STR("a"), STR("b") } },
		{ STR("10\\.0\\.0\\.1:80|x\\|y"), 2, { STR("10.0.0.1:80"), STR("x|y") } },
		{ STR("(a|b\\))"), 2, { STR("a"), STR("b)") } },
		{ STR("\xc3\xa4 b-c/d"), 1, { STR("\xc3\xa4 b-c/d") } },
		{ STR("()"), 1, { STR("") } },
	};
	struct arena *arena = arena_new(100000, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str *texts;
		size_t count;

		assert_true(literal_pattern_read(cases[i].pattern, arena, &texts, &count));
		assert_int_equal(count, cases[i].count);
		for (size_t j = 0; j < count; j++)
			assert_true(str_equal(texts[j], cases[i].texts[j]));
	}
	arena_free(arena);
}

static void other_patterns_stay_patterns(void **state)
{
	static const struct str cases[] = {
		STR("a.*"),      STR("a.b"),   STR("a?"),      STR("^a"),     STR("a$"),
		STR("(?i)a"),    STR("[ab]"),  STR("a{2}"),    STR("\\d"),    STR("\\Qa\\E"),
		STR("(a)|(b)"),  STR("a(b)"),  STR("((a|b))"), STR("(?i:a)"), STR("\\n"),
		STR("(?P<n>a)"), STR("a|(b)"), STR("(a|b))"),  STR("("),      STR("a\\"),
	};
	struct arena *arena = arena_new(100000, NULL);
	struct str *texts;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_false(literal_pattern_read(cases[i], arena, &texts, &count));
	arena_free(arena);
}

static void a_full_arena_leaves_the_pattern(void **state)
{
	struct arena *arena = arena_new(1, NULL);
	struct str *texts;
	size_t count;

	(void)state;
	assert_false(literal_pattern_read(STR("a|b"), arena, &texts, &count));
	arena_free(arena);
}

static bool is_one_of(const struct str *texts, size_t count, struct str text)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(texts[i], text))
			return true;
	return false;
}

/* Every text of up to three letters is matched by RE2 exactly when it is in the list. */
static void compare_with_re2(const struct regex *regex, const struct str *texts, size_t count)
{
	static const char letters[] = "ab|\\.()?:";
	const size_t n = sizeof(letters) - 1;

	for (size_t number = 0; number < (n + 1) * (n + 1) * (n + 1); number++) {
		char text[3];
		size_t length = 0;

		for (size_t rest = number; rest > 0; rest /= n + 1)
			if (rest % (n + 1) > 0)
				text[length++] = letters[rest % (n + 1) - 1];
		assert_int_equal(regex_matches(regex, str_make(text, length)),
		                 is_one_of(texts, count, str_make(text, length)));
	}
}

static void re2_says_the_same(void **state)
{
	static const char letters[] = "aab|\\.()?:";
	unsigned seed = 7;
	unsigned listed = 0;

	(void)state;
	for (int round = 0; round < 30000; round++) {
		struct arena *arena = arena_new(100000, NULL);
		struct regex *regex = NULL;
		struct error err;
		struct str *texts;
		size_t count;
		char pattern[6];
		size_t length = 0;

		for (; length < 1 + (size_t)rand_r(&seed) % sizeof(pattern); length++)
			pattern[length] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		if (literal_pattern_read(str_make(pattern, length), arena, &texts, &count) &&
		    regex_compile(str_make(pattern, length), &regex, &err) == 0) {
			compare_with_re2(regex, texts, count);
			listed++;
		}
		regex_free(regex);
		arena_free(arena);
	}
	assert_true(listed > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_choice_of_texts_is_read),
		cmocka_unit_test(other_patterns_stay_patterns),
		cmocka_unit_test(a_full_arena_leaves_the_pattern),
		cmocka_unit_test(re2_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
