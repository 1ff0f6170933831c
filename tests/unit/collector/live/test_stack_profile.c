#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/stack_profile.h"
#include "profile/pprof.h"
#include "tests/unit/collector/live/live_fixture.h"

static const struct stack_profile_kind kind = {
	.metric = "memory",
	.types = { { "alloc_space", "bytes" }, { "inuse_space", "bytes" } },
	.type_count = 2,
	.period = { "space", "bytes" },
};

/* Name of frame `index` of a sample, leaf first. */
static struct str name_of(const struct profile *profile, size_t sample, size_t index)
{
	const uint32_t location = profile->stacks[profile->samples[sample].first_frame + index];
	const struct profile_line *line = &profile->lines[profile->locations[location].first_line];

	return profile_string(profile, profile->functions[line->function].name);
}

static void a_profile_reads_back_as_pprof(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	const uint32_t first = STACK_OF(table, "grow", "main");
	const uint32_t second = STACK_OF(table, "fill", "main");
	struct stack_profile maker;
	struct pprof_input input;
	const struct profile *read = &input.profile;
	const struct profile *made;
	struct strbuf bytes;
	struct error err = { 0 };

	(void)state;
	stack_profile_init(&maker, table);
	assert_true(
		stack_profile_begin(&maker, &kind, (struct stack_profile_time){ 1000, 15 }, arena));
	assert_true(stack_profile_add(&maker, first, (const int64_t[]){ 10, 20 }));
	assert_true(stack_profile_add(&maker, second, (const int64_t[]){ 30, 40 }));
	made = stack_profile_finish(&maker);
	strbuf_init(&bytes, 1 << 20);
	pprof_write(made, &bytes);
	assert_int_equal(pprof_read(strbuf_view(&bytes), &(struct pprof_options){ 0 }, arena,
	                            &input, &err),
	                 0);
	assert_int_equal(input.faults, 0);
	assert_int_equal(read->sample_count, 2);
	assert_int_equal(read->time_unix_ns, 1000);
	assert_int_equal(read->duration_ns, 15);
	assert_int_equal(read->sample_type_count, 2);
	assert_true(str_equals(profile_string(read, read->sample_types[1].type), "inuse_space"));
	assert_true(str_equals(profile_string(read, read->period_type.type), "space"));
	assert_int_equal(read->samples[0].depth, 3);
	assert_true(str_equals(name_of(read, 0, 0), "cuMemAlloc_v2"));
	assert_true(str_equals(name_of(read, 0, 1), "grow"));
	assert_true(str_equals(name_of(read, 1, 2), "main"));
	assert_int_equal(read->values[3], 40);
	/* the driver and main are there once; two modules */
	assert_int_equal(read->location_count, 4);
	assert_int_equal(read->mapping_count, 2);
	strbuf_fini(&bytes);
	stack_profile_fini(&maker);
}

static void the_next_profile_knows_nothing_of_the_last(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 20, NULL);
	const uint32_t first = STACK_OF(table, "grow", "main");
	struct stack_profile maker;
	const struct profile *profile;
	uint32_t second;

	(void)state;
	stack_profile_init(&maker, table);
	assert_true(stack_profile_begin(&maker, &kind, (struct stack_profile_time){ 1, 1 }, arena));
	assert_true(stack_profile_add(&maker, first, (const int64_t[]){ 1, 2 }));
	(void)stack_profile_finish(&maker);
	second = STACK_OF(table, "later", "main"); /* the table has grown */
	assert_true(stack_profile_begin(&maker, &kind, (struct stack_profile_time){ 1, 1 }, arena));
	assert_true(stack_profile_add(&maker, second, (const int64_t[]){ 1, 2 }));
	profile = stack_profile_finish(&maker);
	assert_int_equal(profile->sample_count, 1);
	assert_int_equal(profile->location_count, 3);
	assert_true(str_equals(name_of(profile, 0, 1), "later"));
	stack_profile_fini(&maker);
}

static void the_estimate_is_on_the_safe_side(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(64 << 20);
	CLEANUP(arena_freep) struct arena *arena = arena_new(64 << 20, NULL);
	struct stack_profile maker;
	struct strbuf bytes;
	int64_t count = 0;

	(void)state;
	stack_profile_init(&maker, table);
	assert_true(stack_profile_begin(&maker, &kind, (struct stack_profile_time){ 1, 1 }, arena));
	while (!stack_profile_is_full(&maker)) {
		char name[400];
		int length = snprintf(name, sizeof(name), "function%lld", (long long)count++);

		memset(name + length, 'x', 300);
		name[length + 300] = '\0';
		assert_true(stack_profile_add(&maker, STACK_OF(table, name, "main"),
		                              (const int64_t[]){ INT64_MAX, INT64_MAX }));
	}
	assert_true(count > 1000);
	strbuf_init(&bytes, 64 << 20);
	pprof_write(stack_profile_finish(&maker), &bytes);
	assert_in_range(bytes.length, STACK_PROFILE_BYTES_MAX / 2, STACK_PROFILE_BYTES_MAX + 1000);
	strbuf_fini(&bytes);
	stack_profile_fini(&maker);
}

static void a_full_arena_is_said(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	CLEANUP(arena_freep) struct arena *arena = arena_new(20 << 10, NULL);
	struct stack_profile maker;
	char name[32];
	int count = 0;

	(void)state;
	stack_profile_init(&maker, table);
	assert_true(stack_profile_begin(&maker, &kind, (struct stack_profile_time){ 1, 1 }, arena));
	do
		(void)snprintf(name, sizeof(name), "function%d", count++);
	while (stack_profile_add(&maker, STACK_OF(table, name), (const int64_t[]){ 1, 2 }) &&
	       count < 10000);
	assert_true(count < 10000);
	stack_profile_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_reads_back_as_pprof),
		cmocka_unit_test(the_next_profile_knows_nothing_of_the_last),
		cmocka_unit_test(the_estimate_is_on_the_safe_side),
		cmocka_unit_test(a_full_arena_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
