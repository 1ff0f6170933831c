#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "profile/time_series.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define T0          INT64_C(1767225600000)

#define GRID(start, end, step) .start_ms = (start), .end_ms = (end), .step_ms = (step)

/* A profile: time in seconds after T0, value, and the region of its series ("": none). */
struct input {
	double seconds;
	int64_t value;
	const char *region;
};

/* P1 to P4 of the specification's worked examples, 6.1. */
static const struct input shop[] = {
	{ 1, 35, "eu" },
	{ 16, 10, "us" },
	{ 31, 5, "eu" },
	{ 121, 40, "eu" },
};

/*
 * Profiles on and beside edges, each with a bit of its own, as recorded from a live
 * server.
 */
static const struct input edges[] = {
	{ -15, 1, "" },    { -14.5, 2, "" },  { -7, 4, "" },    { 0, 8, "" },
	{ 0.5, 16, "" },   { 15, 32, "" },    { 15.5, 64, "" }, { 30, 128, "" },
	{ 45.5, 256, "" }, { 59.5, 512, "" }, { 60, 1024, "" }, { 60.0004, 2048, "" },
	{ 61, 4096, "" },
};

static struct uuid id_of(size_t number)
{
	struct uuid id = { { 0 } };

	memcpy(id.bytes, &number, sizeof(number));
	return id;
}

/* The number of a region's series; it is added when it is new. */
static uint32_t series_of(struct time_series *series, const char *region)
{
	static const char *const regions[] = { "", "eu", "us", "ap" };
	uint32_t number = 0;
	struct label labels[] = {
		{ STR("host"), STR("h") },
		{ STR("region"), str_of(region) },
		{ STR("service_name"), STR("shop") },
	};
	struct label_set set = { labels, ARRAY_LENGTH(labels) };
	struct error err;

	while (strcmp(regions[number], region) != 0)
		number++;
	if (*region == '\0') {
		labels[1] = labels[2];
		set.count = 2;
	}
	assert_int_equal(time_series_add_series(series, number, 0, &set, &err), 0);
	return number;
}

/* What the store hands over for a query: profiles from one step before the range on. */
static struct time_series_result run(struct arena *arena, const struct time_series_options *options,
                                     const struct input *inputs, size_t count)
{
	struct time_series *series = NULL;
	struct time_series_result result = { 0 };
	struct error err = { 0 };

	assert_int_equal(time_series_new(options, arena, &series, &err), 0);
	for (size_t i = 0; i < count; i++) {
		const int64_t time_ns =
			T0 * NS_PER_MS + (int64_t)(inputs[i].seconds * (double)NS_PER_S);
		const struct uuid id = id_of(i);

		if (time_ns < (options->start_ms - options->step_ms) * NS_PER_MS ||
		    time_ns > options->end_ms * NS_PER_MS)
			continue;
		assert_int_equal(time_series_add(series, series_of(series, inputs[i].region),
		                                 time_ns, inputs[i].value, &id, &err),
		                 0);
	}
	assert_int_equal(time_series_finish(series, &result, &err), 0);
	return result;
}

/* "region=eu:15=35,45=5|...": groups, with points in seconds after T0. */
static void assert_result(const struct time_series_result *result, const char *expected)
{
	struct strbuf text;

	strbuf_init(&text, 1 << 16);
	for (size_t i = 0; i < result->count; i++) {
		const struct time_series_group *group = &result->groups[i];

		strbuf_add_text(&text, i > 0 ? "|" : "");
		for (size_t j = 0; j < group->labels.count; j++)
			strbuf_printf(&text, "%s%.*s=%.*s", j > 0 ? "," : "",
			              STR_ARGS(group->labels.labels[j].name),
			              STR_ARGS(group->labels.labels[j].value));
		strbuf_add_byte(&text, ':');
		for (size_t j = 0; j < group->point_count; j++)
			strbuf_printf(&text, "%s%g=%g", j > 0 ? "," : "",
			              (double)(group->points[j].time_ms - T0) / 1000,
			              group->points[j].value);
	}
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
}

static void points_are_those_of_the_worked_example(void **state)
{
	static const struct {
		const char *group_by[3];
		int64_t limit;
		const char *expected;
	} cases[] = {
		{ { NULL }, 0, ":15=35,30=10,45=5" },
		{ { "region" }, 0, "region=eu:15=35,45=5|region=us:30=10" },
		{ { "region" }, 1, "region=eu:15=35,45=5" },
		{ { "region" }, 2, "region=eu:15=35,45=5|region=us:30=10" },
		{ { "region" }, -1, "region=eu:15=35,45=5|region=us:30=10" },
		{ { "none" }, 0, ":15=35,30=10,45=5" },
		{ { "service_name", "region" },
		  0,
		  "service_name=shop,region=eu:15=35,45=5|service_name=shop,region=us:30=10" },
		{ { "region", "region" },
		  0,
		  "region=eu,region=eu:15=35,45=5|region=us,region=us:30=10" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct str group_by[3];
		struct time_series_options options = { GRID(T0, T0 + 60000, 15000),
			                               .group_by = group_by, .group_by_count = 0,
			                               .limit = cases[i].limit };
		struct time_series_result result;

		for (; options.group_by_count < 3 && cases[i].group_by[options.group_by_count];
		     options.group_by_count++)
			group_by[options.group_by_count] =
				str_of(cases[i].group_by[options.group_by_count]);
		result = run(arena, &options, shop, ARRAY_LENGTH(shop));
		assert_result(&result, cases[i].expected);
	}
}

static void a_profile_belongs_to_the_step_that_ends_at_or_after_it(void **state)
{
	static const struct {
		int64_t start_ms;
		int64_t end_ms;
		int64_t step_ms;
		const char *expected;
	} cases[] = {
		{ 0, 60000, 15000, ":0=15,15=48,30=192,60=1792" },
		{ 7000, 67000, 15000, ":7=28,22=96,37=128,52=256,67=7680" },
		{ 3000, 63000, 10000, ":3=28,23=96,33=128,53=256,63=7680" },
		{ 0, 60000, 25000, ":0=15,25=112,50=384" },
		{ 0, 60000, 40000, ":0=15,40=240" },
		{ 0, 60000, 61000, ":0=15" },
		{ 0, 60000, 3600000, ":0=15" },
		{ 0, 60000, 7500, ":0=12,7.5=16,15=32,22.5=64,30=128,52.5=256,60=1536" },
		{ 0, 60000, 500, ":0=8,0.5=16,15=32,15.5=64,30=128,45.5=256,59.5=512,60=1024" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct time_series_options options = { GRID(
			T0 + cases[i].start_ms, T0 + cases[i].end_ms, cases[i].step_ms) };
		const struct time_series_result result =
			run(arena, &options, edges, ARRAY_LENGTH(edges));

		assert_result(&result, cases[i].expected);
	}
}

static void groups_are_ordered_by_their_sum_then_by_their_labels(void **state)
{
	static const struct input inputs[] = { { 1, 2, "us" }, { 1, 2, "eu" }, { 1, 3, "" },
		                               { 2, 1, "eu" }, { 2, 1, "us" }, { 2, 9, "ap" } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str region = STR("region");
	const struct time_series_options options = { GRID(T0, T0 + 60000, 60000),
		                                     .group_by = &region, .group_by_count = 1 };
	const struct time_series_result result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));

	(void)state;
	assert_result(&result, "region=ap:60=9|:60=3|region=eu:60=3|region=us:60=3");
	assert_true(result.groups[0].sum == 9);
}

static void means_are_over_profiles_or_over_ticks(void **state)
{
	/* one source, whose ticks are at 1, 2 and 16 seconds */
	static const struct input inputs[] = {
		{ 1, 10, "eu" }, { 2, 20, "eu" }, { 2, 31, "us" }, { 16, 7, "us" }
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct time_series_options options = { GRID(T0, T0 + 60000, 15000) };
	struct time_series_result result;

	(void)state;
	options.mean = TIME_SERIES_AVERAGE;
	result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	assert_result(&result, ":15=20.3333,30=7");
	options.mean = TIME_SERIES_MEAN_TICKS;
	result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	assert_result(&result, ":15=30.5,30=7"); /* (10 + 20 + 31) / 2 */
	assert_true(result.groups[0].sum == 37.5);
	options.mean = TIME_SERIES_MAX_SERIES;
	result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	assert_result(&result, ":15=51,30=7"); /* 20 of eu and 31 of us */
}

static void exemplar_is_the_highest_profile_of_its_point(void **state)
{
	static const struct input inputs[] = {
		{ 1, 10, "eu" }, { 2.5, 11, "eu" }, { 3, 160, "us" }, { 40, 1, "eu" }
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct time_series_options options = { GRID(T0, T0 + 60000, 30000),
		                                     .exemplars = true };
	const struct time_series_result result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
	const struct time_series_exemplar *first = result.groups[0].points[0].exemplar;
	const struct time_series_exemplar *second = result.groups[0].points[1].exemplar;
	const struct uuid ids[] = { id_of(2), id_of(3) };

	(void)state;
	assert_result(&result, ":30=181,60=1");
	assert_int_equal(first->time_ms, T0 + 3000);
	assert_int_equal(first->value, 160);
	assert_memory_equal(&first->profile_id, &ids[0], sizeof(ids[0]));
	assert_int_equal(first->labels.count, 3);
	assert_int_equal(second->time_ms, T0 + 40000);
	assert_int_equal(second->value, 1);
	assert_memory_equal(&second->profile_id, &ids[1], sizeof(ids[1]));
}

static void exemplar_leaves_out_the_labels_grouped_by(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str region = STR("region");
	const struct time_series_options options = { GRID(T0, T0 + 60000, 60000),
		                                     .group_by = &region, .group_by_count = 1,
		                                     .exemplars = true };
	const struct time_series_result result = run(arena, &options, shop, ARRAY_LENGTH(shop));
	const struct time_series_exemplar *exemplar = result.groups[0].points[0].exemplar;

	(void)state;
	assert_int_equal(exemplar->value, 35);
	assert_int_equal(exemplar->labels.count, 2);
	assert_null(label_set_find(&exemplar->labels, STR("region")));
	assert_non_null(label_set_find(&exemplar->labels, STR("host")));
}

static void series_of_one_profile_count_as_one_exemplar(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct time_series_options options = { GRID(T0, T0 + 60000, 60000),
		                                     .exemplars = true };
	const struct uuid shared = id_of(1);
	const struct uuid alone = id_of(2);
	struct time_series *series = NULL;
	struct time_series_result result = { 0 };
	const struct time_series_exemplar *exemplar;
	struct error err;
	const int64_t at = (T0 + 1000) * NS_PER_MS;

	(void)state;
	assert_int_equal(time_series_new(&options, arena, &series, &err), 0);
	assert_int_equal(time_series_add(series, series_of(series, "eu"), at, 60, &shared, &err),
	                 0);
	assert_int_equal(time_series_add(series, series_of(series, "us"), at, 50, &shared, &err),
	                 0);
	assert_int_equal(time_series_add(series, series_of(series, "us"), at, 100, &alone, &err),
	                 0);
	assert_int_equal(time_series_finish(series, &result, &err), 0);
	exemplar = result.groups[0].points[0].exemplar;
	assert_int_equal(exemplar->value, 110);
	assert_memory_equal(&exemplar->profile_id, &shared, sizeof(shared));
	assert_int_equal(exemplar->labels.count, 2); /* they differ in their region */
	assert_null(label_set_find(&exemplar->labels, STR("region")));
}

static void nothing_gives_no_groups(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct time_series_options options = { GRID(T0, T0 + 60000, 15000),
		                                     .exemplars = true };
	const struct time_series_result result = run(arena, &options, NULL, 0);

	(void)state;
	assert_int_equal(result.count, 0);
}

static void extreme_ranges_and_values_do_no_harm(void **state)
{
	static const int64_t bounds[] = { INT64_MIN, -1, 0, 1, INT64_MAX };
	const struct uuid id = id_of(1);

	(void)state;
	for (size_t i = 0; i < 125; i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct time_series_options options = { GRID(bounds[i % 5], bounds[i / 5 % 5],
			                                          i / 25 % 2 ? 1 : INT64_MAX) };
		struct time_series *series = NULL;
		struct time_series_result result = { 0 };
		struct error err;

		assert_int_equal(time_series_new(&options, arena, &series, &err), 0);
		for (size_t j = 0; j < 25; j++)
			assert_int_equal(time_series_add(series, series_of(series, "eu"),
			                                 bounds[j % 5], bounds[j / 5], &id, &err),
			                 0);
		assert_int_equal(time_series_finish(series, &result, &err), 0);
	}
}

static void points_add_up_when_the_range_is_a_multiple_of_the_step(void **state)
{
	(void)state;
	srand(5);
	for (int round = 0; round < 100; round++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const int64_t step_ms = 1 + rand() % 20000;
		const struct str region = STR("region");
		const struct time_series_options options = {
			GRID(T0, T0 + step_ms * (1 + rand() % 20), step_ms), .group_by = &region,
			.group_by_count = 1, .exemplars = rand() % 2 == 0
		};
		static const char *const regions[] = { "", "eu", "us", "ap" };
		struct input inputs[50];
		struct time_series_result result;
		int64_t sum = 0;
		double points = 0;

		for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
			const int64_t span = options.end_ms - options.start_ms;

			inputs[i] = (struct input){ (double)(rand() % (span + 1)) / 1000,
				                    rand() % 1000, regions[rand() % 4] };
			sum += inputs[i].value;
		}
		result = run(arena, &options, inputs, ARRAY_LENGTH(inputs));
		for (size_t i = 0; i < result.count; i++)
			for (size_t j = 0; j < result.groups[i].point_count; j++) {
				points += result.groups[i].points[j].value;
				if (j > 0)
					assert_true(result.groups[i].points[j].time_ms >
					            result.groups[i].points[j - 1].time_ms);
				assert_int_equal(result.groups[i].points[j].exemplar != NULL,
				                 options.exemplars);
			}
		assert_int_equal((int64_t)points, sum);
	}
}

static void full_arena_is_an_error(void **state)
{
	const struct time_series_options options = { GRID(T0, T0 + 60000, 15000),
		                                     .exemplars = true };
	const struct uuid id = id_of(1);
	struct label label = { STR("a"), STR("b") };
	const struct label_set set = { &label, 1 };

	(void)state;
	for (size_t limit = 0; limit < 8192; limit += 64) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct time_series *series = NULL;
		struct time_series_result result = { 0 };
		struct error err = { 0 };

		if (time_series_new(&options, arena, &series, &err) < 0 ||
		    time_series_add_series(series, 0, 0, &set, &err) < 0 ||
		    time_series_add(series, 0, T0 * NS_PER_MS, 1, &id, &err) < 0 ||
		    time_series_finish(series, &result, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(result.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_those_of_the_worked_example),
		cmocka_unit_test(a_profile_belongs_to_the_step_that_ends_at_or_after_it),
		cmocka_unit_test(groups_are_ordered_by_their_sum_then_by_their_labels),
		cmocka_unit_test(means_are_over_profiles_or_over_ticks),
		cmocka_unit_test(exemplar_is_the_highest_profile_of_its_point),
		cmocka_unit_test(exemplar_leaves_out_the_labels_grouped_by),
		cmocka_unit_test(series_of_one_profile_count_as_one_exemplar),
		cmocka_unit_test(nothing_gives_no_groups),
		cmocka_unit_test(extreme_ranges_and_values_do_no_harm),
		cmocka_unit_test(points_add_up_when_the_range_is_a_multiple_of_the_step),
		cmocka_unit_test(full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
