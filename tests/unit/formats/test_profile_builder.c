#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/profile_builder.h"

#define ARENA_BYTES ((size_t)4 << 20)

static const struct profile_builder_limits no_limits = { 0 };
static const struct profile_builder_type count = { .type = "t", .unit = "count", .scale = 1 };

static void add(struct profile_builder *builder, const char *path, uint64_t value)
{
	struct error err = { 0 };

	assert_int_equal(profile_builder_push_path(builder, str_of(path), &err), 0);
	assert_int_equal(profile_builder_add(builder, value, &err), 0);
}

static void equal_stacks_add_up_and_frames_are_kept_once(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;
	struct pprof_input input;
	const struct profile *profile = &input.profile;
	struct error err = { 0 };

	(void)state;
	profile_builder_init(&builder, arena, &no_limits);
	assert_true(profile_builder_is_empty(&builder));
	add(&builder, "main;work", 1);
	add(&builder, "main", 2);
	add(&builder, "main;work", 3);
	add(&builder, "work;main", 4);
	add(&builder, "", 5);
	assert_int_equal(profile_builder_finish(&builder, &count, &input, &err), 0);

	assert_int_equal(profile->sample_count, 4);
	assert_int_equal(profile->values[0], 4);
	assert_int_equal(profile->values[1], 2);
	assert_int_equal(profile->values[2], 4);
	assert_int_equal(profile->values[3], 5);
	assert_int_equal(profile->samples[3].depth, 0);
	assert_int_equal(profile->function_count, 2);
	assert_int_equal(profile->location_count, 2);
	assert_int_equal(profile->mapping_count, 1);
	assert_int_equal(profile->mappings[0].flags, 0);
}

static void stacks_are_written_leaf_first(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;
	struct pprof_input input;
	const struct profile *profile = &input.profile;
	struct error err = { 0 };

	(void)state;
	profile_builder_init(&builder, arena, &no_limits);
	add(&builder, "root;middle;leaf", 1);
	assert_int_equal(profile_builder_finish(&builder, &count, &input, &err), 0);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const names[] = { "leaf", "middle", "root" };
		const struct profile_location *location = &profile->locations[profile->stacks[i]];
		const struct profile_function *function =
			&profile->functions[profile->lines[location->first_line].function];

		assert_int_equal(location->line_count, 1);
		assert_int_equal(location->mapping, 0);
		assert_int_equal(function->file, 0);
		assert_int_equal(function->system_name, function->name);
		assert_true(str_equals(profile_string(profile, function->name), names[i]));
	}
}

static void values_wrap_and_are_scaled(void **state)
{
	static const struct profile_builder_type timed = {
		.type = "cpu",
		.unit = "nanoseconds",
		.period_type = "cpu",
		.period_unit = "nanoseconds",
		.period = 10,
		.scale = 10,
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;
	struct pprof_input input;
	struct error err = { 0 };

	(void)state;
	profile_builder_init(&builder, arena, &no_limits);
	add(&builder, "a", UINT64_MAX);
	add(&builder, "a", 3);
	add(&builder, "b", (uint64_t)-7);
	assert_int_equal(profile_builder_finish(&builder, &timed, &input, &err), 0);
	assert_int_equal(input.profile.values[0], 20);
	assert_int_equal(input.profile.values[1], -70);
	assert_int_equal(input.profile.period, 10);
	assert_true(input.profile.has_period_type);
}

static void the_encoded_size_is_what_pprof_would_need(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf encoded;
	CLEANUP(strbuf_fini) struct strbuf path;
	struct profile_builder builder;
	struct pprof_input input;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&encoded, ARENA_BYTES);
	strbuf_init(&path, ARENA_BYTES);
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&path, "function_%d;", i);
	profile_builder_init(&builder, arena, &no_limits);
	add(&builder, path.data, 123456);
	assert_int_equal(profile_builder_finish(&builder, &count, &input, &err), 0);
	pprof_write(&input.profile, &encoded);
	assert_in_range(input.encoded_bytes, encoded.length * 9 / 10, encoded.length * 11 / 10);
}

static void broken_utf8_is_seen(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;

	(void)state;
	profile_builder_init(&builder, arena, &no_limits);
	add(&builder,
	    "gr\xc3\xb6\xc3\x9f"
	    "e;x",
	    1);
	assert_true(profile_builder_is_utf8(&builder));
	add(&builder, "x;\xc3", 1);
	assert_false(profile_builder_is_utf8(&builder));
}

static void the_first_stack_past_the_limit_is_counted_and_ends_the_collecting(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;
	struct pprof_input input;
	struct error err = { 0 };

	(void)state;
	profile_builder_init(&builder, arena, &(struct profile_builder_limits){ .max_stacks = 2 });
	add(&builder, "a", 1);
	add(&builder, "b", 1);
	add(&builder, "a", 1);
	add(&builder, "c;d", 1);
	add(&builder, "e;f;g", 1);
	add(&builder, "a", 1);
	assert_int_equal(profile_builder_finish(&builder, &count, &input, &err), 0);
	assert_int_equal(input.samples_sent, 3);
	assert_int_equal(input.profile.sample_count, 2);
	assert_int_equal(input.profile.values[0], 2);
	assert_int_equal(input.profile.values[1], 1);
	assert_int_equal(input.profile.stack_length, 2);
}

static void deep_stacks_keep_their_roots(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct profile_builder builder;
	struct pprof_input input;
	struct error err = { 0 };

	(void)state;
	profile_builder_init(&builder, arena, &(struct profile_builder_limits){ .max_depth = 2 });
	add(&builder, "a;b", 1);
	add(&builder, "a;b;c", 2);
	add(&builder, "a;b;d;e", 4);
	assert_int_equal(profile_builder_finish(&builder, &count, &input, &err), 0);
	assert_int_equal(input.profile.sample_count, 1);
	assert_int_equal(input.profile.samples[0].depth, 2);
	assert_int_equal(input.profile.values[0], 7);
	assert_int_equal(input.profile.function_count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_add_up_and_frames_are_kept_once),
		cmocka_unit_test(stacks_are_written_leaf_first),
		cmocka_unit_test(values_wrap_and_are_scaled),
		cmocka_unit_test(the_encoded_size_is_what_pprof_would_need),
		cmocka_unit_test(broken_utf8_is_seen),
		cmocka_unit_test(the_first_stack_past_the_limit_is_counted_and_ends_the_collecting),
		cmocka_unit_test(deep_stacks_keep_their_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
