#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "profile/profile_merger.h"
#include "tests/unit/profile/symbols_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)

static const struct profile_type cpu_type = {
	{ "process_cpu", 11 }, { "cpu", 3 },          { "nanoseconds", 11 },
	{ "cpu", 3 },          { "nanoseconds", 11 },
};

static struct profile_merger *merger_new(struct arena *arena)
{
	struct profile_merger *merger = NULL;
	struct error err;

	assert_int_equal(profile_merger_new(arena, &merger, &err), 0);
	return merger;
}

static void add_path(struct profile_merger *merger, const char *path, int64_t value)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, path);
	const struct stack_sums sums = { &f->symbols, 0, &stack, &value, 1 };
	struct error err;

	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 1, &err), 0);
}

/*
 * Window A of the specification's worked examples, 6.1, each stack from a window of
 * its own.
 */
static struct profile_merger *merger_a(struct arena *arena)
{
	struct profile_merger *merger = merger_new(arena);

	add_path(merger, "main;work;compute", 20);
	add_path(merger, "main;idle", 5);
	add_path(merger, "main;work;io", 10);
	add_path(merger, "gc", 5);
	add_path(merger, "main;work;compute", 10);
	return merger;
}

static struct profile finish(struct profile_merger *merger, int64_t max_nodes,
                             const struct go_pgo_options *go_pgo)
{
	struct profile profile = { 0 };
	struct error err;

	assert_int_equal(profile_merger_finish(merger,
	                                       &(struct profile_merge_options){
						       .type = &cpu_type,
						       .end_unix_ns = 1767225660000000000,
						       .max_nodes = max_nodes,
						       .go_pgo = go_pgo,
					       },
	                                       &profile, &err),
	                 0);
	return profile;
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/*
 * "main;work 3": root first, NAME:LINE of lines that have a number, 0xADDRESS@FILE of
 * bare ones.
 */
static char *sample_text(const struct profile *profile, size_t index)
{
	const struct profile_sample *sample = &profile->samples[index];
	struct strbuf text;
	size_t length;

	strbuf_init(&text, 4096);
	for (uint32_t i = sample->depth; i > 0; i--) {
		const struct profile_location *location =
			&profile->locations[profile->stacks[sample->first_frame + i - 1]];
		const char *between = i < sample->depth ? ";" : "";

		if (location->line_count == 0)
			strbuf_printf(&text, "%s0x%llx@%.*s", between,
			              (unsigned long long)location->address,
			              STR_ARGS(profile->strings[profile->mappings[location->mapping]
			                                                .file]));
		for (uint32_t j = location->line_count; j > 0; j--) {
			const struct profile_line *line =
				&profile->lines[location->first_line + j - 1];

			strbuf_printf(
				&text, "%s%.*s", between,
				STR_ARGS(
					profile->strings[profile->functions[line->function].name]));
			if (line->line)
				strbuf_printf(&text, ":%lld", (long long)line->line);
			between = ";";
		}
	}
	strbuf_printf(&text, " %lld", (long long)profile->values[index]);
	return strbuf_detach(&text, &length);
}

/* All samples, sorted, one a line. */
static void assert_samples(const struct profile *profile, const char *expected)
{
	char *lines[64];
	struct strbuf text;

	assert_true(profile->sample_count < 64);
	for (size_t i = 0; i < profile->sample_count; i++)
		lines[i] = sample_text(profile, i);
	qsort(lines, profile->sample_count, sizeof(lines[0]), compare_lines);
	strbuf_init(&text, 1 << 16);
	for (size_t i = 0; i < profile->sample_count; i++) {
		strbuf_printf(&text, "%s%s", i > 0 ? "\n" : "", lines[i]);
		free(lines[i]);
	}
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
}

/* Nothing in the tables that no sample leads to. */
static void assert_all_referenced(const struct profile *profile)
{
	size_t line_count = 0;
	bool *functions = mem_zalloc(profile->function_count + 1, 1);
	bool *mappings = mem_zalloc(profile->mapping_count + 1, 1);
	bool *locations = mem_zalloc(profile->location_count + 1, 1);

	for (size_t i = 0; i < profile->stack_length; i++)
		locations[profile->stacks[i]] = true;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];

		assert_true(locations[i]);
		line_count += location->line_count;
		if (location->mapping != PROFILE_NONE)
			mappings[location->mapping] = true;
	}
	assert_int_equal(line_count, profile->line_count);
	for (size_t i = 0; i < profile->line_count; i++)
		functions[profile->lines[i].function] = true;
	for (size_t i = 0; i < profile->function_count; i++)
		assert_true(functions[i]);
	for (size_t i = 0; i < profile->mapping_count; i++)
		assert_true(mappings[i]);
	free(functions);
	free(mappings);
	free(locations);
}

static void samples_are_those_of_the_worked_example(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = finish(merger_a(arena), 0, NULL);

	(void)state;
	assert_samples(&profile, "gc 5\nmain;idle 5\nmain;work;compute 30\nmain;work;io 10");
	assert_all_referenced(&profile);
	assert_int_equal(profile.location_count, 6);
	assert_int_equal(profile.function_count, 6);
	assert_int_equal(profile.mapping_count, 0);
	assert_int_equal(profile.sample_type_count, 1);
	assert_true(str_equals(profile.strings[0], ""));
	assert_true(str_equals(profile.strings[profile.sample_types[0].type], "cpu"));
	assert_true(str_equals(profile.strings[profile.sample_types[0].unit], "nanoseconds"));
	assert_true(profile.has_period_type);
	assert_true(str_equals(profile.strings[profile.period_type.type], "cpu"));
	assert_true(str_equals(profile.strings[profile.period_type.unit], "nanoseconds"));
	assert_true(str_equals(profile.strings[profile.default_sample_type], "cpu"));
	assert_int_equal(profile.period, 1000000000);
	assert_int_equal(profile.time_unix_ns, 1767225660000000000);
	assert_int_equal(profile.duration_ns, 0);
}

static void period_comes_from_the_type_s_name(void **state)
{
	static const struct {
		const char *name;
		int64_t period;
	} cases[] = { { "process_cpu", 1000000000 }, { "memory", 524288 }, { "mutex", 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct profile_type type = cpu_type;
		struct profile profile = { 0 };
		struct error err;

		type.name = str_of(cases[i].name);
		assert_int_equal(
			profile_merger_finish(merger_a(arena),
		                              &(struct profile_merge_options){ .type = &type },
		                              &profile, &err),
			0);
		assert_int_equal(profile.period, cases[i].period);
	}
}

static void nothing_added_gives_no_samples(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct profile profile = finish(merger_new(arena), 16, NULL);

	(void)state;
	assert_int_equal(profile.sample_count, 0);
	assert_int_equal(profile.location_count, 0);
}

static void small_stacks_end_with_other(void **state)
{
	static const struct {
		int64_t max_nodes;
		const char *samples;
	} cases[] = {
		{ 1, "main;other 45\nother 5" },
		{ 2, "main;other 5\nmain;work;other 40\nother 5" },
		{ 3, "main;other 5\nmain;work;compute 30\nmain;work;other 10\nother 5" },
		{ 4, "main;other 5\nmain;work;compute 30\nmain;work;io 10\nother 5" },
		{ 5, "gc 5\nmain;idle 5\nmain;work;compute 30\nmain;work;io 10" },
		{ 6, "gc 5\nmain;idle 5\nmain;work;compute 30\nmain;work;io 10" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct profile profile = finish(merger_a(arena), cases[i].max_nodes, NULL);

		assert_samples(&profile, cases[i].samples);
		assert_all_referenced(&profile);
	}
}

static void go_pgo_keeps_the_leaf_side(void **state)
{
	static const struct {
		uint32_t keep;
		const char *samples;
	} cases[] = {
		{ 0, "gc 5\nmain;idle 5\nmain;work;compute 30\nmain;work;io 10" },
		{ 1, "compute 30\ngc 5\nidle 5\nio 10" },
		{ 2, "gc 5\nmain;idle 5\nwork;compute 30\nwork;io 10" },
		{ 9, "gc 5\nmain;idle 5\nmain;work;compute 30\nmain;work;io 10" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct go_pgo_options options = { .keep_locations = cases[i].keep };
		const struct profile profile = finish(merger_a(arena), 1, &options);

		assert_samples(&profile, cases[i].samples);
		assert_all_referenced(&profile);
	}
}

static void go_pgo_merges_lines_of_one_callee(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	const struct go_pgo_options options = { .aggregate_callees = true };
	const uint32_t function = fixture_function(f, STR("f"), "f.c");
	const uint32_t at[] = {
		fixture_location(f, PROFILE_NONE, 0, &(struct symbol_line){ 10, function, 0 }, 1),
		fixture_location(f, PROFILE_NONE, 0, &(struct symbol_line){ 20, function, 0 }, 1),
	};
	const uint32_t first = fixture_stack(f, 0, at[0]);
	const uint32_t stacks[] = { first, fixture_stack(f, first, at[0]),
		                    fixture_stack(f, first, at[1]) };
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 1, 2, 4 }, 3 };
	struct profile profile;
	struct error err;

	(void)state;
	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 1, &err), 0);
	profile = finish(merger, 0, &options);
	assert_samples(&profile, "f 1\nf:10;f 6");
}

static void inlined_lines_stay_in_one_location(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	const struct symbol_line lines[] = {
		{ 3, fixture_function(f, STR("in2"), ""), 0 },
		{ 2, fixture_function(f, STR("in1"), ""), 0 },
		{ 1, fixture_function(f, STR("outer"), ""), 0 },
	};
	const uint32_t stack = fixture_stack(f, fixture_path(f, "main"),
	                                     fixture_location(f, PROFILE_NONE, 16, lines, 3));
	const struct stack_sums sums = { &f->symbols, 0, &stack, (int64_t[]){ 8 }, 1 };
	struct profile profile;
	struct error err;

	(void)state;
	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 1, &err), 0);
	profile = finish(merger, 0, NULL);
	assert_samples(&profile, "main;outer:1;in1:2;in2:3 8");
	assert_int_equal(profile.location_count, 2);
}

/* One window: a bare address and a function in a mapping of this start and size. */
static void add_mapped(struct profile_merger *merger, uint64_t start, uint64_t size,
                       const char *file, const char *build_id)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t mapping = fixture_mapping(f, start, start + size, file, build_id);
	const struct symbol_line line = { 7, fixture_function(f, STR("f"), "f.c"), 0 };
	const uint32_t stacks[] = {
		fixture_stack(f, 0, fixture_location(f, mapping, start + 16, NULL, 0)),
		fixture_stack(f, 0, fixture_location(f, mapping, 0, &line, 1)),
	};
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 1, 1 }, 2 };
	struct error err;

	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 1, &err), 0);
}

static void mappings_merge_by_size_offset_and_build(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	struct profile profile;

	(void)state;
	add_mapped(merger, 0x1000, 0x2000, "/lib/a.so", "");
	add_mapped(merger, 0x1000, 0x1801, "/lib/a.so", ""); /* as many pages */
	add_mapped(merger, 0x1000, 0x2000, "/lib/b.so",
	           "id"); /* the build id counts, not the file */
	add_mapped(merger, 0x1000, 0x2000, "/lib/c.so", "id");
	add_mapped(merger, 0x1000, 0x3000, "/lib/c.so", "id");
	profile = finish(merger, 0, NULL);
	assert_int_equal(profile.mapping_count, 3);
	assert_samples(&profile, "0x1010@/lib/a.so 2\n0x1010@/lib/b.so 2\n0x1010@/lib/c.so 1\n"
	                         "f:7 1\nf:7 2\nf:7 2");
	assert_all_referenced(&profile);
}

static void bare_addresses_stay_true_to_their_mapping(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	struct profile profile;

	(void)state;
	add_mapped(merger, 0x1000, 0x2000, "/lib/a.so", "");
	add_mapped(merger, 0x9000, 0x2000, "/lib/a.so", "");
	profile = finish(merger, 0, NULL);
	assert_samples(&profile, "0x1010@/lib/a.so 1\n0x9010@/lib/a.so 1\nf:7 2");
	for (size_t i = 0; i < profile.location_count; i++) {
		const struct profile_location *location = &profile.locations[i];

		if (location->line_count == 0)
			assert_int_equal(location->address,
			                 profile.mappings[location->mapping].start + 16);
	}
	assert_all_referenced(&profile);
}

static void sums_are_scaled_and_rounded_half_up(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	const uint32_t stacks[] = { fixture_path(f, "a"), fixture_path(f, "b"),
		                    fixture_path(f, "c"), fixture_path(f, "d") };
	const struct stack_sums sums = { &f->symbols, 0, stacks, (int64_t[]){ 10, 1, -40, 9 }, 4 };
	struct profile profile;
	struct error err;

	(void)state;
	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, 4, &err), 0);
	profile = finish(merger, 0, NULL);
	assert_samples(&profile, "a 3\nd 2");
}

/* One window's sums of one stack, times 1 / denominator. */
static void add_share(struct profile_merger *merger, const char *path, int64_t value,
                      int64_t denominator)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, path);
	const struct stack_sums sums = { &f->symbols, 0, &stack, &value, 1 };
	struct error err;

	assert_int_equal(profile_merger_add_sums(merger, &sums, 1, denominator, &err), 0);
}

static void windows_are_rounded_together(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_merger *merger = merger_new(arena);
	struct profile profile;

	(void)state;
	for (int window = 0; window < 4; window++) {
		add_share(merger, "quarter", 1, 4); /* 4 / 4, where each alone is 0 */
		add_share(merger, "third", 10, 12); /* 40 / 12 = 3.3, where each alone is 1 */
		add_share(merger, "mixed", 3, 2);   /* 12 / 2 and 4 * 5 undivided */
		add_share(merger, "mixed", 5, 1);
		add_share(merger, "mixed", 1, 8);      /* 4 / 8, half up */
		add_share(merger, "nothing", 1, 1000); /* 4 / 1000 */
	}
	profile = finish(merger, 0, NULL);
	assert_samples(&profile, "mixed 27\nquarter 1\nthird 3");
	assert_all_referenced(&profile);
}

static void full_arena_is_an_error(void **state)
{
	CLEANUP(symbols_fixture_freep) struct symbols_fixture *f = fixture_new();
	const uint32_t stack = fixture_path(f, "a;b;c;d");
	const struct stack_sums sums = { &f->symbols, 0, &stack, (int64_t[]){ 1 }, 1 };

	(void)state;
	for (size_t limit = 0; limit < 40000; limit += 256) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct profile_merger *merger = NULL;
		struct profile profile = { 0 };
		struct error err = { 0 };

		if (profile_merger_new(arena, &merger, &err) < 0 ||
		    profile_merger_add_sums(merger, &sums, 1, 1, &err) < 0 ||
		    profile_merger_finish(merger,
		                          &(struct profile_merge_options){ .type = &cpu_type,
		                                                           .max_nodes = 1 },
		                          &profile, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(profile.sample_count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_those_of_the_worked_example),
		cmocka_unit_test(period_comes_from_the_type_s_name),
		cmocka_unit_test(nothing_added_gives_no_samples),
		cmocka_unit_test(small_stacks_end_with_other),
		cmocka_unit_test(go_pgo_keeps_the_leaf_side),
		cmocka_unit_test(go_pgo_merges_lines_of_one_callee),
		cmocka_unit_test(inlined_lines_stay_in_one_location),
		cmocka_unit_test(mappings_merge_by_size_offset_and_build),
		cmocka_unit_test(bare_addresses_stay_true_to_their_mapping),
		cmocka_unit_test(sums_are_scaled_and_rounded_half_up),
		cmocka_unit_test(windows_are_rounded_together),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
