#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "fake_store.h"
#include "server/query/gpu_held.h"

static const struct fake_profile profiles[] = {
	{ "pid=1", 1, 10, "load" },        { "pid=1", 2, 5, "step" }, { "pid=2", 3, 7, "load" },
	{ "pid=3", 4, INT64_MAX, "step" }, { "pid=4", 5, 0, "none" },
};

static int add(void *context, const struct store_samples *samples, struct error *err)
{
	return gpu_held_add(context, samples, err);
}

static void hold(struct gpu_held *held, int64_t start_ns, int64_t end_ns)
{
	const struct selector all = { 0 };
	struct fake_store fake;
	const struct store_query query = {
		.selector = &all,
		.range = { start_ns, end_ns },
		.arena = held->stacks->arena,
	};
	struct error err = { 0 };

	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	gpu_stacks_begin_scan(held->stacks);
	assert_int_equal(store_scan_samples(&fake.store, &query, add, held, &err), 0);
}

static void row_is(const struct gpu_held_top *top, size_t at, const char *name, int64_t bytes)
{
	assert_true(at < top->count);
	assert_int_equal(top->rows[at].bytes, bytes);
	assert_int_equal(top->rows[at].stack.count, 1);
	assert_true(str_equals(top->rows[at].stack.names[0], name));
}

static void stacks_of_one_name_are_one_and_the_largest_is_first(void **state)
{
	struct arena *arena = arena_new(1 << 20, NULL);
	struct gpu_stacks stacks;
	struct gpu_held held = { .stacks = &stacks };
	struct gpu_held_top top;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_stacks_init(&stacks, arena, &err), 0);
	hold(&held, 1, 3);
	assert_int_equal(held.total, 22);
	assert_int_equal(gpu_held_take_top(&held, 10, &top, &err), 0);
	assert_int_equal(top.count, 2);
	row_is(&top, 0, "load", 17);
	row_is(&top, 1, "step", 5);

	/* emptied, it counts anew, over other windows too; what is too much stays at its end */
	gpu_held_clear(&held);
	hold(&held, 2, 5);
	assert_int_equal(held.total, INT64_MAX);
	assert_int_equal(gpu_held_take_top(&held, 1, &top, &err), 0);
	assert_int_equal(top.count, 1);
	row_is(&top, 0, "step", INT64_MAX);
	gpu_held_clear(&held);
	assert_int_equal(gpu_held_take_top(&held, 1, &top, &err), 0);
	assert_int_equal(top.count, 0);
	arena_free(arena);
}

static void without_room_it_says_so(void **state)
{
	struct arena *arena = arena_new(4096, NULL);
	struct gpu_stacks stacks;
	struct gpu_held held = { .stacks = &stacks };
	struct error err = { 0 };
	int status = gpu_stacks_init(&stacks, arena, &err);

	(void)state;
	for (uint32_t i = 0; status == 0 && i < 1000; i++) {
		struct symbol_stack *const *none = NULL;
		const struct symbols symbols = { .stacks = none };
		const uint32_t stack = 0; /* values without a stack */
		const int64_t value = 1;
		const struct store_samples samples = { .window = i,
			                               .symbols = &symbols,
			                               .stacks = &stack,
			                               .values = &value,
			                               .count = 1 };
		struct gpu_held_top top;

		status = gpu_held_add(&held, &samples, &err);
		if (status == 0)
			status = gpu_held_take_top(&held, 1, &top, &err);
	}
	assert_int_equal(status, -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_one_name_are_one_and_the_largest_is_first),
		cmocka_unit_test(without_room_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
