#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/query/gpu_markers.h"

#define LIMIT ((size_t)8 << 20)

static void add(struct gpu_marker_list *list, struct arena *arena, int64_t time_ms,
                enum gpu_marker_kind kind, int64_t bytes)
{
	const struct gpu_marker marker = { .time_ms = time_ms, .kind = kind, .bytes = bytes };
	struct error err = { 0 };

	assert_int_equal(gpu_marker_list_add(list, arena, &marker, &err), 0);
}

static void they_are_ordered_by_time(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_marker_list list = { 0 };

	(void)state;
	add(&list, arena, 30, GPU_MARKER_EXIT, 1);
	add(&list, arena, 10, GPU_MARKER_START, 2);
	add(&list, arena, 30, GPU_MARKER_OOM, 3);
	gpu_marker_list_finish(&list);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.items[0].bytes, 2);
	assert_int_equal(list.items[1].bytes, 3);
	assert_int_equal(list.items[2].bytes, 1);
}

static void of_too_many_those_stay_that_tell_most(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_marker_list list = { 0 };

	(void)state;
	for (int64_t i = 0; i < 3000; i++)
		add(&list, arena, i, GPU_MARKER_START, i);
	add(&list, arena, 1, GPU_MARKER_OOM, 0);
	gpu_marker_list_finish(&list);
	assert_int_equal(list.count, GPU_MARKERS_MAX);
	assert_int_equal(list.items[0].kind, GPU_MARKER_OOM);
	/* the 999 largest are 2001 to 2999 */
	for (size_t i = 1; i < list.count; i++)
		assert_int_equal(list.items[i].bytes, 2000 + (int64_t)i);
}

static void kinds_have_the_names_of_the_specification(void **state)
{
	(void)state;
	assert_string_equal(gpu_marker_kind_name(GPU_MARKER_OOM), "oom");
	assert_string_equal(gpu_marker_kind_name(GPU_MARKER_START), "start");
	assert_string_equal(gpu_marker_kind_name(GPU_MARKER_EXIT), "exit");
	assert_string_equal(gpu_marker_kind_name(GPU_MARKER_PEAK), "peak");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_ordered_by_time),
		cmocka_unit_test(of_too_many_those_stay_that_tell_most),
		cmocka_unit_test(kinds_have_the_names_of_the_specification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
