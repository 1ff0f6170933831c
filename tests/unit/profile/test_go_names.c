#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/go_names.h"
#include "tests/unit/profile/ingest_fixture.h"

static void shapes_are_cut_and_other_brackets_stay(void **state)
{
	static const struct {
		const char *before;
		const char *after;
	} cases[] = {
		{ "pkg.(*T[go.shape.struct { F []uint8 }]).M", "pkg.(*T).M" },
		{ "pkg.F[int]", "pkg.F[int]" },
		{ "pkg.F[go.shape.int]", "pkg.F" },
		{ "pkg.Two[go.shape.int,go.shape.int].f", "pkg.Two.f" },
		{ "a[go.shape.x]b[go.shape.y[]]c", "abc" },
		{ "a[x[go.shape.y]]", "a[x]" },
		{ "a[go.shape.x]b[go.shape.[", "ab[go.shape.[" },
		{ "[go.shape.x]", "" },
		{ "a[go.shape.", "a[go.shape." },
		{ "a[", "a[" },
		{ "", "" },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct str string = str_of(cases[i].before);
		struct profile profile = { .arena = arena, .strings = &string, .string_count = 1 };

		assert_true(go_names_cut(&profile));
		assert_true(str_equals(string, cases[i].after));
	}
}

static void the_language_is_told_by_the_spy_or_the_first_telling_string(void **state)
{
	static const struct {
		const char *spy;
		const char *strings[3];
		bool go;
	} cases[] = {
		{ "gospy", { "", "main.py", "" }, true },
		{ "pyroscope-rs", { "", "main.go", "" }, false },
		{ "grafana-agent.java", { "", "main.go", "" }, false },
		{ "unknown", { "", "main.go", "" }, true },
		{ "", { "", "main.go", "x.py" }, true },
		{ "", { "", "x.py", "main.go" }, false },
		{ "", { "", "/usr/local/go/src/x", "" }, true },
		{ "", { "", "java/lang/String", "main.go" }, false },
		{ "", { "", "System.Threading", "main.go" }, false },
		{ "", { "", "main.rs", "main.go" }, false },
		{ "", { "", "main", "work" }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct label label = { STR("pyroscope_spy"), str_of(cases[i].spy) };
		const struct label_set labels = { &label, cases[i].spy[0] ? 1 : 0 };
		struct str strings[3] = { str_of(cases[i].strings[0]), str_of(cases[i].strings[1]),
			                  str_of(cases[i].strings[2]) };
		const struct profile profile = { .strings = strings, .string_count = 3 };

		assert_int_equal(go_names_apply(&profile, &labels), cases[i].go);
	}
}

static void stacks_that_became_equal_merge(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "main.main;pkg.Map[go.shape.int]", { 1 }, "" },
		{ "main.main;pkg.Map[go.shape.string]", { 2 }, "" },
		{ "main.main;pkg.Map", { 4 }, "" },
		{ "main.main;pkg.Keep[int]", { 8 }, "" },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "pyroscope_spy", "gospy");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(
		ingest_show(fixture),
		"process_cpu:cpu:ns:: pyroscope_spy=gospy service_name=unknown_service \n"
		"main.main;pkg.Map 7\nmain.main;pkg.Keep[int] 8\n");
}

static void names_of_other_languages_stay(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "main;f[go.shape.int]", { 1 }, "" },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "pyroscope_spy", "pyroscope-rs");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_non_null(strstr(ingest_show(fixture), "main;f[go.shape.int] 1\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_set_up, ingest_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(shapes_are_cut_and_other_brackets_stay),
		TEST(the_language_is_told_by_the_spy_or_the_first_telling_string),
		TEST(stacks_that_became_equal_merge),
		TEST(names_of_other_languages_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
