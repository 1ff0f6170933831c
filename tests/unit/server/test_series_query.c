#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_store.h"
#include "server/query/series_query.h"

#define LIMIT   ((size_t)4 << 20)
#define T0      INT64_C(1767225600000) /* ms */
#define NS(sec) ((T0 + (sec)*1000) * NS_PER_MS)

#define GAUGE "memory:inuse_space:bytes:space:bytes"
#define DELTA "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

/* Two processes of one node: one is there at three ticks of a minute, one at the second. */
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

/* What is asked of a minute. */
struct asked {
	const char *type;
	const char *selector;
	enum profile_merge instant;
	enum series_aggregation aggregation;
};

/* The one point of a minute. */
static double point_of(const struct fake_profile *profiles, size_t count, const struct asked *asked)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	CLEANUP(read_query_fini) struct read_query query;
	const struct time_series_options options = { .step_ms = 60000 };
	struct fake_store fake;
	const struct read_query_context context = {
		.store = &fake.store,
		.arena = arena,
		.instant = asked->instant,
	};
	struct time_series_result result;
	struct error err = { 0 };

	fake_store_init(&fake, profiles, count);
	read_query_init(&query, &context);
	if (read_query_set_range(&query, T0, T0 + 60000, &err) < 0 ||
	    read_query_set_type(&query, str_of(asked->type), &err) < 0 ||
	    read_query_set_selector(&query, str_of(asked->selector), &err) < 0 ||
	    read_query_run_series(&query, &options, asked->aggregation, &result, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(result.count, 1);
	assert_int_equal(result.groups[0].point_count, 1);
	assert_int_equal(result.groups[0].points[0].time_ms, T0 + 60000);
	return result.groups[0].points[0].value;
}

#define POINT_OF(profiles, ...) \
	point_of(profiles, ARRAY_LENGTH(profiles), &(const struct asked){ __VA_ARGS__ })

static void gauges_are_averaged_over_ticks_as_flame_graphs_are(void **state)
{
	(void)state;
	/* 90 + 100 + 110 and 7 over three ticks */
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) ==
	            307.0 / 3);
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_LAST, SERIES_AGGREGATION_UNSAID) ==
	            307.0 / 3);
	/* the other process' ticks count when only one is asked for */
	assert_true(POINT_OF(gauges, GAUGE, "{pid=\"2\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 7.0 / 3);
	assert_true(POINT_OF(gauges, GAUGE, "{pid=\"1\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 100);
}

#define NODE_A "__profile_type__=" GAUGE ",service_name=x,node=a"
#define NODE_B "__profile_type__=" GAUGE ",service_name=x,node=b"
#define TEN_GB 10000000000

static void a_constant_gauge_reads_the_same_whoever_holds_it(void **state)
{
	/* a process hands 10 GB over to its successor; another node has other ticks */
	static const struct fake_profile profiles[] = {
		{ NODE_A ",pid=1", NS(1), TEN_GB, "f" },  { NODE_A ",pid=1", NS(16), TEN_GB, "f" },
		{ NODE_A ",pid=2", NS(31), TEN_GB, "f" }, { NODE_A ",pid=2", NS(46), TEN_GB, "f" },
		{ NODE_B ",pid=3", NS(7), TEN_GB, "f" },  { NODE_B ",pid=3", NS(37), TEN_GB, "f" },
	};

	(void)state;
	assert_true(POINT_OF(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 20e9);
	assert_true(POINT_OF(profiles, GAUGE, "{node=\"a\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 10e9);
	assert_true(POINT_OF(profiles, GAUGE, "{pid=\"2\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 5e9);
	assert_true(POINT_OF(profiles, GAUGE, "{pid=\"3\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 10e9);
}

static void the_largest_of_each_series_is_the_point_of_a_peak(void **state)
{
	static const char peak[] = "gpu_memory_peak:peak_space:bytes:space:bytes";
	static const struct fake_profile peaks[] = {
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1", NS(1), 90,
		  "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1", NS(16), 70,
		  "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=2", NS(31), 5,
		  "f" },
	};

	(void)state;
	assert_true(POINT_OF(peaks, peak, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) ==
	            95);
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_MAX, SERIES_AGGREGATION_UNSAID) ==
	            117);
}

static void what_was_live_at_an_oom_is_one_with_the_peaks_of_its_process(void **state)
{
	static const char peak[] = "gpu_memory_peak:peak_space:bytes:space:bytes";
	static const struct fake_profile peaks[] = {
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1,reason=oom",
		  NS(16), 70, "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1", NS(1), 90,
		  "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=2,reason=oom",
		  NS(31), 5, "f" },
	};

	(void)state;
	assert_true(POINT_OF(peaks, peak, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) ==
	            95);
	assert_true(POINT_OF(peaks, peak, "{reason=\"oom\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 75);
}

static void a_peak_on_several_devices_is_one_point(void **state)
{
	static const char peak[] = "gpu_memory_peak:peak_space:bytes:space:bytes";
	static const struct fake_profile peaks[] = {
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1,gpu=a",
		  NS(1), 90, "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1,gpu=b",
		  NS(1), 10, "f" },
		{ "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,pid=1,gpu=b",
		  NS(16), 95, "f" },
	};

	(void)state;
	assert_true(POINT_OF(peaks, peak, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) ==
	            100);
	assert_true(POINT_OF(peaks, peak, "{gpu=\"b\"}", PROFILE_MERGE_MEAN,
	                     SERIES_AGGREGATION_UNSAID) == 95);
}

static void the_reference_sums_gauges(void **state)
{
	(void)state;
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_SUM, SERIES_AGGREGATION_UNSAID) ==
	            307);
}

static void an_aggregation_that_was_asked_for_is_obeyed(void **state)
{
	(void)state;
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_SUM) ==
	            307);
	assert_true(POINT_OF(gauges, GAUGE, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_AVERAGE) ==
	            307.0 / 4);
	assert_true(POINT_OF(deltas, DELTA, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_AVERAGE) ==
	            15);
}

static void deltas_are_summed(void **state)
{
	(void)state;
	assert_true(POINT_OF(deltas, DELTA, "{}", PROFILE_MERGE_MEAN, SERIES_AGGREGATION_UNSAID) ==
	            30);
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
		cmocka_unit_test(gauges_are_averaged_over_ticks_as_flame_graphs_are),
		cmocka_unit_test(a_constant_gauge_reads_the_same_whoever_holds_it),
		cmocka_unit_test(the_largest_of_each_series_is_the_point_of_a_peak),
		cmocka_unit_test(what_was_live_at_an_oom_is_one_with_the_peaks_of_its_process),
		cmocka_unit_test(a_peak_on_several_devices_is_one_point),
		cmocka_unit_test(the_reference_sums_gauges),
		cmocka_unit_test(an_aggregation_that_was_asked_for_is_obeyed),
		cmocka_unit_test(deltas_are_summed),
		cmocka_unit_test(steps_are_whole_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
