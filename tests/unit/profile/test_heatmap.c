#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "profile/heatmap.h"

#define ARENA_BYTES ((size_t)16 << 20)
#define T0          INT64_C(1767225600000)

/* A point: seconds after T0, value, and the region of its series. */
struct input {
	int seconds;
	int64_t value;
	const char *region;
	uint64_t span;
};

/* Profiles as recorded from a live server; 175 is 100 + 50 + 25. */
static const struct input profiles[] = {
	{ 1, 175, "eu", 0 }, { 2, 10, "eu", 0 },  { 16, 60, "us", 0 },
	{ -3, 70, "us", 0 }, { 50, 80, "us", 0 },
};

static const char y_wide[] = "10 18 26 34 43 51 59 67 76 84 92 100 109 117 125 133 142 150 158 166";

static uint32_t series_of(struct heatmap *heatmap, const char *region)
{
	const uint32_t number = strcmp(region, "eu") == 0 ? 0 : 3;
	struct label labels[] = { { STR("host"), STR("h") }, { STR("region"), str_of(region) } };
	const struct label_set set = { labels, 2 };
	struct error err;

	assert_int_equal(heatmap_add_series(heatmap, number, &set, &err), 0);
	return number;
}

static struct heatmap_result run(struct arena *arena, const struct heatmap_options *options,
                                 const struct input *inputs, size_t count)
{
	struct heatmap *heatmap = NULL;
	struct heatmap_result result = { 0 };
	struct error err = { 0 };

	assert_int_equal(heatmap_new(options, arena, &heatmap, &err), 0);
	for (size_t i = 0; i < count; i++) {
		struct heatmap_point point = {
			.series = series_of(heatmap, inputs[i].region),
			.time_unix_ns = (T0 + inputs[i].seconds * INT64_C(1000)) * NS_PER_MS,
			.value = inputs[i].value,
			.span_id = inputs[i].span,
		};

		point.profile_id.bytes[0] = (uint8_t)(i + 1);
		assert_int_equal(heatmap_add(heatmap, &point, &err), 0);
	}
	assert_int_equal(heatmap_finish(heatmap, &result, &err), 0);
	return result;
}

/* "eu@15[0:1 19:1]@30[...]|us@...": groups, slots in seconds, counts that are not 0. */
static void assert_result(const struct heatmap_result *result, const char *y_min,
                          const char *expected)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 16);
	for (size_t i = 0; i < result->count; i++) {
		const struct heatmap_group *group = &result->groups[i];

		strbuf_printf(&text, "%s%.*s", i > 0 ? "|" : "",
		              group->labels.count ? (int)group->labels.labels[0].value.length : 0,
		              group->labels.count ? group->labels.labels[0].value.data : "");
		for (size_t j = 0; j < group->slot_count; j++) {
			const char *between = "";

			strbuf_printf(&text, "@%g[", (double)(group->slots[j].time_ms - T0) / 1000);
			for (int k = 0; k < HEATMAP_BUCKETS; k++) {
				if (group->slots[j].counts[k] == 0)
					continue;
				strbuf_printf(&text, "%s%d:%d", between, k,
				              group->slots[j].counts[k]);
				between = " ";
			}
			strbuf_add_byte(&text, ']');
		}
	}
	assert_string_equal(text.data, expected);
	strbuf_reset(&text);
	for (int k = 0; k < HEATMAP_BUCKETS; k++)
		strbuf_printf(&text, "%s%g", k > 0 ? " " : "", result->groups[0].slots[0].y_min[k]);
	assert_string_equal(text.data, y_min);
	strbuf_fini(&text);
}

static void cells_are_those_of_the_worked_example(void **state)
{
	static const struct input inputs[] = { { 1, 35, "eu", 0 },
		                               { 16, 10, "us", 0 },
		                               { 31, 5, "eu", 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct heatmap_options options = { .start_ms = T0,
		                                 .end_ms = T0 + 60000,
		                                 .step_ms = 15000 };
	const struct heatmap_result result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));

	(void)state;
	assert_result(&result, "5 6 8 9 11 12 14 15 17 18 20 21 23 24 26 27 29 30 32 33",
	              "@15[19:1]@30[3:1]@45[0:1]");
}

static void cells_are_as_recorded(void **state)
{
	static const struct {
		int64_t step_ms;
		bool by_region;
		int64_t limit;
		const char *expected;
	} cases[] = {
		{ 15000, false, 0, "@0[7:1]@15[0:1 19:1]@30[6:1]@60[8:1]" },
		{ 60000, false, 0, "@0[7:1]@60[0:1 6:1 8:1 19:1]" },
		{ 15000, true, 0, "eu@15[0:1 19:1]|us@0[7:1]@30[6:1]@60[8:1]" },
		{ 15000, true, 2, "eu@15[0:1 19:1]|us@0[7:1]@30[6:1]@60[8:1]" },
		{ 15000, true, 1, "us@0[7:1]@30[6:1]@60[8:1]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct str region = STR("region");
		const struct heatmap_options options = {
			.start_ms = T0,
			.end_ms = T0 + 55000,
			.step_ms = cases[i].step_ms,
			.group_by = &region,
			.group_by_count = cases[i].by_region ? 1 : 0,
			.limit = cases[i].limit,
		};
		const struct heatmap_result result =
			run(arena, &options, profiles, ARRAY_LENGTH(profiles));

		assert_result(&result, y_wide, cases[i].expected);
	}
}

static void few_values_leave_buckets_empty(void **state)
{
	static const struct input equal[] = { { 1, 7, "eu", 0 }, { 2, 7, "eu", 0 } };
	static const struct input near[] = { { 1, 0, "eu", 0 },
		                             { 2, 2, "eu", 0 },
		                             { 3, 1, "eu", 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct heatmap_options options = { .start_ms = T0,
		                                 .end_ms = T0 + 60000,
		                                 .step_ms = 60000 };
	struct heatmap_result result = run(arena, &options, equal, ARRAY_LENGTH(equal));

	(void)state;
	assert_result(&result, "7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7", "@60[19:2]");
	result = run(arena, &options, near, ARRAY_LENGTH(near));
	/* w = 0.1: the starts are trunc(i / 10) */
	assert_result(&result, "0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1", "@60[9:1 19:2]");
}

static void exemplar_is_the_highest_point_of_its_cell(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	static const struct input inputs[] = {
		{ 1, 100, "eu", 0 }, { 3, 101, "us", 0 }, { 2, 101, "eu", 0 }, { 4, 0, "eu", 0 }
	};
	const struct str region = STR("region");
	struct heatmap_options options = {
		.start_ms = T0, .end_ms = T0 + 60000, .step_ms = 60000, .exemplars = true
	};
	struct heatmap_result result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	const struct heatmap_slot *slot = &result.groups[0].slots[0];

	(void)state;
	assert_int_equal(slot->exemplar_count, 2);
	assert_int_equal(slot->exemplars[0].value, 0);
	assert_int_equal(slot->exemplars[1].value, 101);
	assert_int_equal(slot->exemplars[1].time_ms, T0 + 2000); /* the earlier of two */
	assert_int_equal(slot->exemplars[1].profile_id.bytes[0], 3);
	assert_int_equal(slot->exemplars[1].labels.count, 2);

	options.group_by = &region;
	options.group_by_count = 1;
	result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	slot = &result.groups[0].slots[0];
	assert_int_equal(slot->exemplars[1].labels.count, 1);
	assert_true(str_equals(slot->exemplars[1].labels.labels[0].name, "host"));
}

static void spans_of_one_time_and_id_are_one_point(void **state)
{
	static const struct input inputs[] = { { 1, 100, "eu", 0xa1 },
		                               { 1, 50, "us", 0xa1 },
		                               { 1, 50, "eu", 0xa2 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct heatmap_options options = {
		.start_ms = T0, .end_ms = T0 + 55000, .step_ms = 15000, .exemplars = true
	};
	const struct heatmap_result result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	const struct heatmap_slot *slot = &result.groups[0].slots[0];

	(void)state;
	assert_result(&result,
	              "50 55 60 65 70 75 80 85 90 95 100 105 110 115 120 125 130 135 140 145",
	              "@15[0:1 19:1]");
	assert_int_equal(slot->exemplars[1].value, 150);
	assert_int_equal(slot->exemplars[1].span_id, 0xa1);
	assert_int_equal(slot->exemplars[1].labels.count, 1); /* the regions differ */
}

static void nothing_gives_no_groups(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct heatmap_options options = { .start_ms = T0, .end_ms = T0 + 1, .step_ms = 1 };
	const struct heatmap_result result = run(arena, &options, NULL, 0);

	(void)state;
	assert_int_equal(result.count, 0);
}

static void extreme_ranges_and_values_do_no_harm(void **state)
{
	static const int64_t bounds[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < 50; i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct heatmap_options options = {
			.start_ms = bounds[i % 5],
			.end_ms = bounds[i / 5 % 5],
			.step_ms = i >= 25 ? 1 : INT64_MAX,
			.exemplars = true,
		};
		struct heatmap *heatmap = NULL;
		struct heatmap_result result = { 0 };
		struct error err;
		uint64_t count = 0;

		assert_int_equal(heatmap_new(&options, arena, &heatmap, &err), 0);
		for (size_t j = 0; j < 25; j++) {
			struct heatmap_point point = { .series = series_of(heatmap, "eu"),
				                       .time_unix_ns = bounds[j % 5],
				                       .value = bounds[j / 5] };

			point.profile_id.bytes[0] = (uint8_t)j;
			assert_int_equal(heatmap_add(heatmap, &point, &err), 0);
		}
		assert_int_equal(heatmap_finish(heatmap, &result, &err), 0);
		for (size_t j = 0; j < result.groups[0].slot_count; j++)
			for (size_t k = 0; k < HEATMAP_BUCKETS; k++)
				count += (uint64_t)result.groups[0].slots[j].counts[k];
		assert_int_equal(count, 25);
	}
}

static void full_arena_is_an_error(void **state)
{
	const struct heatmap_options options = {
		.start_ms = T0, .end_ms = T0 + 60000, .step_ms = 15000, .exemplars = true
	};
	struct label label = { STR("a"), STR("b") };
	const struct label_set set = { &label, 1 };
	const struct heatmap_point point = { .time_unix_ns = T0 * NS_PER_MS, .value = 1 };

	(void)state;
	for (size_t limit = 0; limit < 8192; limit += 64) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct heatmap *heatmap = NULL;
		struct heatmap_result result = { 0 };
		struct error err = { 0 };

		if (heatmap_new(&options, arena, &heatmap, &err) < 0 ||
		    heatmap_add_series(heatmap, 0, &set, &err) < 0 ||
		    heatmap_add(heatmap, &point, &err) < 0 ||
		    heatmap_finish(heatmap, &result, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(result.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_those_of_the_worked_example),
		cmocka_unit_test(cells_are_as_recorded),
		cmocka_unit_test(few_values_leave_buckets_empty),
		cmocka_unit_test(exemplar_is_the_highest_point_of_its_cell),
		cmocka_unit_test(spans_of_one_time_and_id_are_one_point),
		cmocka_unit_test(nothing_gives_no_groups),
		cmocka_unit_test(extreme_ranges_and_values_do_no_harm),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
