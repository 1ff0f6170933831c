#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/query/gpu_ticks.h"

#define LIMIT ((size_t)1 << 20)
#define S     NS_PER_S

/* Ticks of node 0 at these seconds; they are finished. */
static struct gpu_ticks ticks_of(struct arena *arena, const int64_t *seconds, size_t count)
{
	struct gpu_ticks ticks = { .arena = arena };
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++)
		assert_int_equal(gpu_ticks_add(&ticks, 0, seconds[i] * S, &err), 0);
	assert_int_equal(gpu_ticks_finish(&ticks, &err), 0);
	return ticks;
}

static void the_interval_is_the_usual_distance(void **state)
{
	static const struct {
		int64_t seconds[8];
		size_t count;
		int64_t interval_s;
	} cases[] = {
		{ { 0 }, 0, 15 },
		{ { 100 }, 1, 15 },
		{ { 0, 60 }, 2, 60 },
		{ { 45, 0, 30, 15 }, 4, 15 },
		/* most often there, now and then missing */
		{ { 0, 15, 30, 90, 105 }, 5, 15 },
		/* what lies between two looks at a long range is no distance */
		{ { 0, 60, 86400 }, 3, 60 },
		/* the same tick of many profiles is one */
		{ { 10, 10, 20, 10, 30, 20 }, 6, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		const struct gpu_ticks ticks = ticks_of(arena, cases[i].seconds, cases[i].count);

		assert_int_equal(gpu_ticks_interval_ns(&ticks, 0), cases[i].interval_s * S);
	}
}

static void a_tick_holds_for_two_intervals(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const int64_t seconds[] = { 130, 100, 110, 120, 200 };
	const struct gpu_ticks ticks = ticks_of(arena, seconds, ARRAY_LENGTH(seconds));
	int64_t tick_ns = -1;

	(void)state;
	assert_false(gpu_ticks_at(&ticks, 0, 100 * S - 1, &tick_ns));
	assert_int_equal(tick_ns, -1);
	assert_true(gpu_ticks_at(&ticks, 0, 100 * S, &tick_ns));
	assert_int_equal(tick_ns, 100 * S);
	assert_true(gpu_ticks_at(&ticks, 0, 120 * S - 1, &tick_ns));
	assert_int_equal(tick_ns, 110 * S);
	assert_true(gpu_ticks_at(&ticks, 0, 150 * S, &tick_ns));
	assert_int_equal(tick_ns, 130 * S);
	assert_false(gpu_ticks_at(&ticks, 0, 150 * S + 1, &tick_ns));
	assert_true(gpu_ticks_at(&ticks, 0, 201 * S, &tick_ns));
	assert_int_equal(tick_ns, 200 * S);
}

static void nodes_have_clocks_of_their_own(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_ticks ticks = { .arena = arena };
	struct error err = { 0 };
	int64_t tick_ns = 0;

	(void)state;
	for (int64_t i = 0; i < 10; i++) {
		assert_int_equal(gpu_ticks_add(&ticks, 2, i * 60 * S, &err), 0);
		assert_int_equal(gpu_ticks_add(&ticks, 0, i * 15 * S + 7, &err), 0);
	}
	assert_int_equal(gpu_ticks_finish(&ticks, &err), 0);
	assert_int_equal(gpu_ticks_interval_ns(&ticks, 2), 60 * S);
	assert_int_equal(gpu_ticks_interval_ns(&ticks, 0), 15 * S);
	assert_true(gpu_ticks_at(&ticks, 2, 640 * S, &tick_ns));
	assert_int_equal(tick_ns, 540 * S);
	assert_false(gpu_ticks_at(&ticks, 0, 640 * S, &tick_ns));
	/* nodes that never ticked */
	assert_false(gpu_ticks_at(&ticks, 1, 640 * S, &tick_ns));
	assert_false(gpu_ticks_at(&ticks, 9, 640 * S, &tick_ns));
	assert_int_equal(gpu_ticks_interval_ns(&ticks, 9), GPU_INTERVAL_DEFAULT_NS);
}

static void moments_are_sampled_as_they_are_asked_one_by_one(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const int64_t seconds[] = { 15, 30, 45, 90, 105, 120, 400 };
	const struct gpu_ticks ticks = ticks_of(arena, seconds, ARRAY_LENGTH(seconds));
	const struct gpu_moment_range moments = { 0, 7 * S, 70 };
	int64_t sampled[70];

	(void)state;
	gpu_ticks_sample(&ticks, 0, moments, -1, sampled);
	for (int64_t i = 0; i < 70; i++) {
		int64_t tick_ns = -1;

		(void)gpu_ticks_at(&ticks, 0, i * 7 * S, &tick_ns);
		assert_int_equal(sampled[i], tick_ns);
	}
	gpu_ticks_sample(&ticks, 5, moments, -1, sampled);
	for (size_t i = 0; i < 70; i++)
		assert_int_equal(sampled[i], -1);
}

static void a_full_arena_is_said(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(4096, NULL);
	struct gpu_ticks ticks = { .arena = arena };
	struct error err = { 0 };
	int64_t i = 0;

	(void)state;
	while (i < 100000 && gpu_ticks_add(&ticks, 0, i * S, &err) == 0)
		i++;
	assert_true(i < 100000);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_is_the_usual_distance),
		cmocka_unit_test(a_tick_holds_for_two_intervals),
		cmocka_unit_test(nodes_have_clocks_of_their_own),
		cmocka_unit_test(moments_are_sampled_as_they_are_asked_one_by_one),
		cmocka_unit_test(a_full_arena_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
