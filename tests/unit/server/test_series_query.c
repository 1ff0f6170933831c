#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_store.h"
#include "server/series_query.h"

#define LIMIT   ((size_t)4 << 20)
#define T0      INT64_C(1767225600000) /* ms */
#define NS(sec) ((T0 + (sec)*1000) * NS_PER_MS)

#define GAUGE "memory:inuse_space:bytes:space:bytes"
#define DELTA "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

/* Two series of a gauge: three and one profiles of one step. */
static const struct fake_profile gauges[] = {
	{ "__profile_type__=" GAUGE ",pid=1", NS(1), 90, "f" },
	{ "__profile_type__=" GAUGE ",pid=1", NS(16), 100, "f" },
	{ "__profile_type__=" GAUGE ",pid=1", NS(31), 110, "f" },
	{ "__profile_type__=" GAUGE ",pid=2", NS(16), 7, "f" },
};

static const struct fake_profile deltas[] = {
	{ "__profile_type__=" DELTA ",pid=1", NS(1), 10, "f" },
	{ "__profile_type__=" DELTA ",pid=1", NS(16), 20, "f" },
};

/* The one point of a minute. */
static double point_of(const struct fake_profile *profiles, size_t count, const char *type,
                       enum profile_merge instant, enum series_aggregation aggregation)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	CLEANUP(read_query_fini) struct read_query query;
	const struct time_series_options options = { .step_ms = 60000 };
	struct fake_store fake;
	const struct read_query_context context = {
		.store = &fake.store,
		.arena = arena,
		.instant = instant,
	};
	struct time_series_result result;
	struct error err = { 0 };

	fake_store_init(&fake, profiles, count);
	read_query_init(&query, &context);
	if (read_query_set_range(&query, T0, T0 + 60000, &err) < 0 ||
	    read_query_set_type(&query, str_of(type), &err) < 0 ||
	    read_query_set_selector(&query, STR("{}"), &err) < 0 ||
	    read_query_run_series(&query, &options, aggregation, &result, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(result.count, 1);
	assert_int_equal(result.groups[0].point_count, 1);
	assert_int_equal(result.groups[0].points[0].time_ms, T0 + 60000);
	return result.groups[0].points[0].value;
}

#define POINT_OF(profiles, ...) point_of(profiles, ARRAY_LENGTH(profiles), __VA_ARGS__)

static void gauges_are_averaged_by_series_and_then_summed(void **state)
{
	(void)state;
	assert_true(POINT_OF(gauges, GAUGE, PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) == 107);
	assert_true(POINT_OF(gauges, GAUGE, PROFILE_MERGE_LAST, SERIES_AGGREGATION_UNSAID) == 107);
}

static void the_reference_sums_gauges(void **state)
{
	(void)state;
	assert_true(POINT_OF(gauges, GAUGE, PROFILE_MERGE_SUM, SERIES_AGGREGATION_UNSAID) == 307);
}

static void an_aggregation_that_was_asked_for_is_obeyed(void **state)
{
	(void)state;
	assert_true(POINT_OF(gauges, GAUGE, PROFILE_MERGE_MEAN, SERIES_AGGREGATION_SUM) == 307);
	assert_true(POINT_OF(gauges, GAUGE, PROFILE_MERGE_MEAN, SERIES_AGGREGATION_AVERAGE) ==
	            307.0 / 4);
	assert_true(POINT_OF(deltas, DELTA, PROFILE_MERGE_MEAN, SERIES_AGGREGATION_AVERAGE) == 15);
}

static void deltas_are_summed(void **state)
{
	(void)state;
	assert_true(POINT_OF(deltas, DELTA, PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) == 30);
}

static void steps_are_whole_milliseconds(void **state)
{
	static const struct {
		double step_s;
		bool valid;
		int64_t step_ms;
	} cases[] = {
		{ 15, true, 15000 },  { 0.001, true, 1 },
		{ 0.0019, true, 1 },  { 3600.000001, true, 3600000 },
		{ 0.0009, false, 0 }, { 0, false, 0 },
		{ -1, false, 0 },     { 1e300, true, 0 },
	};
	int64_t step_ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		step_ms = 0;
		assert_int_equal(series_step_ms(cases[i].step_s, &step_ms), cases[i].valid);
		assert_int_equal(step_ms, cases[i].step_ms);
	}
	assert_true(series_step_ms((double)__builtin_nan(""), &step_ms));
	assert_int_equal(step_ms, 0);
	assert_true(series_step_ms(__builtin_inf(), &step_ms));
	assert_int_equal(step_ms, 0);
	assert_false(series_step_ms(-__builtin_inf(), &step_ms));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gauges_are_averaged_by_series_and_then_summed),
		cmocka_unit_test(the_reference_sums_gauges),
		cmocka_unit_test(an_aggregation_that_was_asked_for_is_obeyed),
		cmocka_unit_test(deltas_are_summed),
		cmocka_unit_test(steps_are_whole_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
