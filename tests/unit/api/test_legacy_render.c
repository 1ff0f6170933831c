#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/legacy_render.h"

#define LIMIT ((size_t)1 << 20)
#define T0    INT64_C(1767225600000)
#define HOUR  INT64_C(3600000)
#define DAY   (24 * HOUR)

static void steps_follow_the_table(void **state)
{
	static const struct {
		int64_t range_ms;
		int64_t step_s;
	} cases[] = {
		{ 0, 15 },
		{ HOUR, 15 },
		{ 6 * HOUR + 15 * 60000, 15 },
		{ 26250000, 15 }, /* 1500 times 17.5 s */
		{ 26250001, 20 },
		{ DAY, 60 },
		{ 7 * DAY, 300 },
		{ 30 * DAY, 1800 },
		{ 1500 * 9 * HOUR, 21600 },
		{ 1500 * 7 * DAY, 86400 },
		{ 1500 * 21 * DAY, 604800 },
		{ 1500 * 42 * DAY - 1, 2592000 },
		{ 1500 * 42 * DAY, 31536000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(legacy_timeline_step_s(T0, T0 + cases[i].range_ms),
		                 cases[i].step_s);
	assert_int_equal(legacy_timeline_step_s(T0 + 1, T0), 15);
}

/* Compares the timeline of some points with `samples`, written in decimal. */
static void timeline_is(int64_t start_ms, int64_t end_ms, struct time_series_point *points,
                        size_t count, int64_t start_s, const char *samples)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct time_series_group series = { .points = points, .point_count = count };
	struct legacy_timeline timeline;
	struct strbuf text;
	struct error err;

	assert_int_equal(legacy_timeline_make(&(struct legacy_grid){ start_ms, end_ms, 15 },
	                                      &series, arena, &timeline, &err),
	                 0);
	strbuf_init(&text, LIMIT);
	for (size_t i = 0; i < timeline.count; i++)
		strbuf_printf(&text, "%s%llu", i ? "," : "",
		              (unsigned long long)timeline.samples[i]);
	assert_string_equal(text.data, samples);
	assert_int_equal(timeline.start_s, start_s);
	assert_int_equal(timeline.step_s, 15);
	strbuf_fini(&text);
}

static void points_stand_one_step_late(void **state)
{
	struct time_series_point points[] = {
		{ .time_ms = T0 + 15000, .value = 35 },
		{ .time_ms = T0 + 30000, .value = 10.9 },
		{ .time_ms = T0 + 45000, .value = 5 },
		{ .time_ms = T0 + 60000, .value = 99 }, /* at the end: cut */
	};

	(void)state;
	timeline_is(T0, T0 + 60000, points, 4, T0 / 1000, "0,35,10,5");
	timeline_is(T0, T0 + 60000, points, 0, T0 / 1000, "0,0,0,0");
	timeline_is(T0, T0, points, 4, T0 / 1000, "");
}

static void the_range_is_cut_to_whole_steps_of_the_epoch(void **state)
{
	struct time_series_point points[] = {
		{ .time_ms = T0 + 7000, .value = 1 },
		{ .time_ms = T0 + 22000, .value = 2 },
		{ .time_ms = T0 + 52000, .value = 3 },
	};

	(void)state;
	/*
	 * steps anchored at start: the first goes to cell 0, the others follow at their
	 * distance
	 */
	timeline_is(T0 + 7000, T0 + 67000, points, 3, T0 / 1000, "1,2,0,3");
}

static void points_never_leave_the_timeline(void **state)
{
	struct time_series_point points[] = {
		{ .time_ms = T0 + 14000, .value = 1 }, { .time_ms = T0 + 14001, .value = 2 },
		{ .time_ms = T0 + 14002, .value = 3 }, { .time_ms = T0 + 14003, .value = 4 },
		{ .time_ms = -T0, .value = 5 },
	};

	(void)state;
	timeline_is(T0, T0 + 30000, points, 5, T0 / 1000, "1,2");
}

static void values_become_whole_and_positive(void **state)
{
	struct time_series_point points[] = {
		{ .time_ms = T0, .value = -5 },
		{ .time_ms = T0 + 15000, .value = 1e30 },
		{ .time_ms = T0 + 30000, .value = __builtin_nan("") },
	};

	(void)state;
	timeline_is(T0, T0 + 45000, points, 3, T0 / 1000, "0,18446744073709551615,0");
}

static void times_before_1970_are_rounded_down(void **state)
{
	(void)state;
	timeline_is(-20000, -1, NULL, 0, -30, "0");
}

/* The document of the read specification, 6.6, without its graph. */
static void a_document_is_written_as_in_the_specification(void **state)
{
	int64_t level[] = { 0, 50, 0, 0 };
	struct str names[] = { { "total", 5 } };
	struct flame_level levels[] = { { level, 4 } };
	const struct flame_graph graph = { .names = names,
		                           .name_count = 1,
		                           .levels = levels,
		                           .level_count = 1,
		                           .total = 50,
		                           .max_self = 30 };
	uint64_t samples[] = { 0, 35, 10, 5 };
	const struct legacy_timeline timeline = { T0 / 1000, 15, samples, 4 };
	const struct legacy_group group = { .name = { "e<", 2 }, .timeline = timeline };
	struct profile_type type;
	struct legacy_document document = { &graph, &type, &timeline, NULL, 0 };
	struct strbuf out;
	struct error err;

	(void)state;
	assert_int_equal(profile_type_parse(STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"),
	                                    &type, &err),
	                 0);
	strbuf_init(&out, LIMIT);
	legacy_document_write(&document, &out);
	assert_string_equal(
		out.data,
		"{\"version\":1,\"flamebearer\":{\"names\":[\"total\"],\"levels\":[[0,50,0,0]],"
		"\"numTicks\":50,\"maxSelf\":30},\"metadata\":{\"format\":\"single\",\"spyName\":\"\","
		"\"sampleRate\":1000000000,\"units\":\"samples\",\"name\":\"cpu\"},\"timeline\":{"
		"\"startTime\":1767225600,\"samples\":[0,35,10,5],\"durationDelta\":15,"
		"\"watermarks\":null},\"groups\":null,\"heatmap\":null}\n");
	document.groups = &group;
	document.group_count = 1;
	strbuf_reset(&out);
	legacy_document_write(&document, &out);
	assert_non_null(strstr(out.data, "\"groups\":{\"e\\u003c\":{\"startTime\":1767225600,"));
	document.group_count = 0;
	strbuf_reset(&out);
	legacy_document_write(&document, &out);
	assert_non_null(strstr(out.data, "\"groups\":{},\"heatmap\":null}\n"));
	strbuf_fini(&out);
}

static void a_comparison_has_ticks_and_no_timeline(void **state)
{
	struct str names[] = { { "total", 5 } };
	const struct flame_graph graph = { .names = names,
		                           .name_count = 1,
		                           .total = 90,
		                           .is_diff = true,
		                           .left_ticks = 50,
		                           .right_ticks = 40 };
	struct profile_type type;
	const struct legacy_document document = { .graph = &graph, .type = &type };
	struct strbuf out;
	struct error err;

	(void)state;
	assert_int_equal(
		profile_type_parse(STR("memory:inuse_objects:count:space:bytes"), &type, &err), 0);
	strbuf_init(&out, LIMIT);
	legacy_document_write(&document, &out);
	assert_string_equal(
		out.data,
		"{\"version\":1,\"flamebearer\":{\"names\":[\"total\"],\"levels\":[],\"numTicks\":90,"
		"\"maxSelf\":0},\"metadata\":{\"format\":\"double\",\"spyName\":\"\",\"sampleRate\":100,"
		"\"units\":\"objects\",\"name\":\"inuse_objects\"},\"timeline\":null,\"groups\":null,"
		"\"heatmap\":null,\"leftTicks\":50,\"rightTicks\":40}\n");
	strbuf_fini(&out);
}

static void units_follow_the_table(void **state)
{
	static const struct {
		const char *id;
		const char *expected;
	} cases[] = {
		{ "memory:inuse_space:bytes:space:bytes",
		  "\"sampleRate\":100,\"units\":\"bytes\",\"name\":\"inuse_space\"" },
		{ "process_cpu:samples:count:cpu:nanoseconds",
		  "\"sampleRate\":100,\"units\":\"objects\",\"name\":\"samples\"" },
		{ "goroutine:goroutine:count:goroutine:count",
		  "\"sampleRate\":100,\"units\":\"objects\",\"name\":\"goroutine\"" },
		{ "mutex:delay:nanoseconds:contentions:count",
		  "\"sampleRate\":100,\"units\":\"nanoseconds\",\"name\":\"delay\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct flame_graph graph = { 0 };
		struct profile_type type;
		const struct legacy_document document = { .graph = &graph, .type = &type };
		struct strbuf out;
		struct error err;

		assert_int_equal(profile_type_parse(str_of(cases[i].id), &type, &err), 0);
		strbuf_init(&out, LIMIT);
		legacy_document_write(&document, &out);
		assert_non_null(strstr(out.data, cases[i].expected));
		strbuf_fini(&out);
	}
}

static void groups_are_named_by_the_first_label_and_the_last_of_a_name_stays(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct label eu[] = { { { "region", 6 }, { "eu", 2 } }, { { "zone", 4 }, { "a", 1 } } };
	struct label zone[] = { { { "zone", 4 }, { "b", 1 } } };
	struct time_series_point one[] = { { .time_ms = T0, .value = 1 } };
	struct time_series_point two[] = { { .time_ms = T0, .value = 2 } };
	struct time_series_point three[] = { { .time_ms = T0, .value = 3 } };
	struct time_series_group series[] = {
		{ .labels = { eu, 2 }, .points = one, .point_count = 1 },
		{ .labels = { zone, 1 }, .points = two, .point_count = 1 },
		{ .labels = { eu, 1 }, .points = three, .point_count = 1 },
	};
	const struct time_series_result result = { series, 3 };
	struct legacy_group *groups;
	struct error err;
	size_t count;

	(void)state;
	assert_int_equal(legacy_groups_make(&(struct legacy_grid){ T0, T0 + 15000, 15 }, &result,
	                                    STR("region"), arena, &groups, &count, &err),
	                 0);
	assert_int_equal(count, 2);
	assert_true(str_equals(groups[0].name, "*"));
	assert_int_equal(groups[0].timeline.samples[0], 2);
	assert_true(str_equals(groups[1].name, "eu"));
	assert_int_equal(groups[1].timeline.samples[0], 3);
}

static void a_timeline_larger_than_the_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(1000, NULL);
	struct legacy_timeline timeline;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(legacy_timeline_make(&(struct legacy_grid){ INT64_MIN / 1000000,
	                                                             INT64_MAX / 1000000,
	                                                             31536000 },
	                                      NULL, arena, &timeline, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_follow_the_table),
		cmocka_unit_test(points_stand_one_step_late),
		cmocka_unit_test(the_range_is_cut_to_whole_steps_of_the_epoch),
		cmocka_unit_test(points_never_leave_the_timeline),
		cmocka_unit_test(values_become_whole_and_positive),
		cmocka_unit_test(times_before_1970_are_rounded_down),
		cmocka_unit_test(a_document_is_written_as_in_the_specification),
		cmocka_unit_test(a_comparison_has_ticks_and_no_timeline),
		cmocka_unit_test(units_follow_the_table),
		cmocka_unit_test(groups_are_named_by_the_first_label_and_the_last_of_a_name_stays),
		cmocka_unit_test(a_timeline_larger_than_the_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
