#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_store.h"
#include "server/app.h"
#include "server/query/read_query.h"

#define LIMIT   ((size_t)4 << 20)
#define T0      INT64_C(1767225600000) /* ms */
#define NS(sec) ((T0 + (sec)*1000) * NS_PER_MS)

#define GAUGE "memory:inuse_space:bytes:space:bytes"
#define DELTA "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define PEAK  "gpu_memory_peak:peak_space:bytes:space:bytes"
#define CUDA  "process_cuda:malloc:bytes::"
#define CPU   "process_cpu:malloc:bytes::"

/* A question to a fake store. */
struct asking {
	struct arena *arena;
	struct fake_store fake;
	struct read_query query;
};

static void ask(struct asking *asking, const struct fake_profile *profiles, size_t count,
                const char *type, const char *selector, enum profile_merge instant)
{
	const struct read_query_context context = {
		.store = &asking->fake.store,
		.tenant = STR("anonymous"),
		.arena = asking->arena = arena_new(LIMIT, NULL),
		.instant = instant,
		.aliases = STR(CPU " = " CUDA),
		.now_unix_ns = NS(3600),
	};
	struct error err = { 0 };

	fake_store_init(&asking->fake, profiles, count);
	read_query_init(&asking->query, &context);
	if (read_query_set_range(&asking->query, T0, T0 + 3600000, &err) < 0 ||
	    read_query_set_type(&asking->query, str_of(type), &err) < 0 ||
	    read_query_set_selector(&asking->query, str_of(selector), &err) < 0)
		fail_msg("%s", err.message);
}

static void end(struct asking *asking)
{
	read_query_fini(&asking->query);
	arena_free(asking->arena);
}

/* The self value of a root's child, or 0. */
static int64_t self_of(const struct function_tree *tree, const char *name)
{
	const uint32_t number = function_tree_find_name(tree, str_of(name));

	for (size_t i = 1; i < tree->node_count; i++)
		if (number != FUNCTION_TREE_NONE && tree->nodes[i].name == number &&
		    tree->nodes[i].parent == 0)
			return tree->nodes[i].self;
	return 0;
}

/* Runs one question and compares the value of one frame. */
static void value_is(const struct fake_profile *profiles, size_t count, const char *type,
                     const char *selector, enum profile_merge instant, const char *frame,
                     int64_t value)
{
	struct asking asking;
	struct function_tree *tree;
	struct error err = { 0 };

	ask(&asking, profiles, count, type, selector, instant);
	if (read_query_run_tree(&asking.query, 0, &tree, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(self_of(tree, frame), value);
	end(&asking);
}

#define VALUE_IS(profiles, ...) value_is(profiles, ARRAY_LENGTH(profiles), __VA_ARGS__)

#define NODE_A "__profile_type__=" GAUGE ",service_name=train,node=a"
#define NODE_B "__profile_type__=" GAUGE ",service_name=train,node=b"

static void a_delta_type_is_summed_whatever_is_asked(void **state)
{
	static const struct fake_profile profiles[] = {
		{ "__profile_type__=" DELTA ",service_name=train", NS(0), 10, "f" },
		{ "__profile_type__=" DELTA ",service_name=train", NS(15), 10, "f" },
	};

	(void)state;
	VALUE_IS(profiles, DELTA, "{}", PROFILE_MERGE_MEAN, "f", 20);
	VALUE_IS(profiles, DELTA, "{}", PROFILE_MERGE_LAST, "f", 20);
	VALUE_IS(profiles, DELTA, "{}", PROFILE_MERGE_MAX, "f", 20);
}

static void a_constant_gauge_reads_the_same_over_any_range(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A, NS(0), 10000000000, "f" },
		{ NODE_A, NS(15), 10000000000, "f" },
		{ NODE_A, NS(30), 10000000000, "f" },
		{ NODE_A, NS(45), 10000000000, "f" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "f", 10000000000);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_SUM, "f", 40000000000);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_LAST, "f", 10000000000);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MAX, "f", 10000000000);
}

static void a_process_that_lived_a_quarter_of_the_range_counts_a_quarter(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A ",pid=1", NS(0), 100, "f" },  { NODE_A ",pid=1", NS(15), 100, "f" },
		{ NODE_A ",pid=1", NS(30), 100, "f" }, { NODE_A ",pid=1", NS(45), 100, "f" },
		{ NODE_A ",pid=2", NS(30), 80, "g" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "f", 100);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "g", 20);
	/* the other process' ticks count too when only this one is asked for */
	VALUE_IS(profiles, GAUGE, "{pid=\"2\"}", PROFILE_MERGE_MEAN, "g", 20);
}

static void each_source_has_ticks_of_its_own(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A, NS(0), 100, "f" },
		{ NODE_A, NS(15), 100, "f" },
		{ NODE_B, NS(7), 10, "f" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "f", 110);
	VALUE_IS(profiles, GAUGE, "{node=\"b\"}", PROFILE_MERGE_MEAN, "f", 10);
}

static void an_empty_profile_is_a_tick(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A, NS(0), 100, "f" },
		{ NODE_A, NS(15), 0, "f" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "f", 50);
}

static void services_on_one_node_are_sources_of_their_own(void **state)
{
	static const struct fake_profile profiles[] = {
		{ "__profile_type__=" GAUGE ",service_name=x,node=a", NS(0), 100, "f" },
		{ "__profile_type__=" GAUGE ",service_name=x,node=a", NS(15), 100, "f" },
		{ "__profile_type__=" GAUGE ",service_name=y,node=a", NS(30), 7, "f" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MEAN, "f", 107);
}

static void the_first_place_label_that_is_there_tells_sources_apart(void **state)
{
	static const struct fake_profile profiles[] = {
		/* hostname goes before pod: one source with two ticks */
		{ "__profile_type__=" GAUGE ",service_name=x,hostname=h,pod=1", NS(0), 100, "f" },
		{ "__profile_type__=" GAUGE ",service_name=x,hostname=h,pod=2", NS(1), 100, "f" },
		/* pods alone: two sources with a tick each */
		{ "__profile_type__=" GAUGE ",service_name=y,pod=1", NS(0), 10, "g" },
		{ "__profile_type__=" GAUGE ",service_name=y,pod=2", NS(1), 10, "g" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{service_name=\"x\"}", PROFILE_MERGE_MEAN, "f", 100);
	VALUE_IS(profiles, GAUGE, "{service_name=\"y\"}", PROFILE_MERGE_MEAN, "g", 20);
}

static void last_is_the_newest_tick_of_each_source(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A ",pid=1", NS(0), 100, "f" },
		{ NODE_A ",pid=2", NS(0), 50, "g" },
		{ NODE_A ",pid=1", NS(15), 90, "f" },
		{ NODE_B ",pid=3", NS(5), 7, "h" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_LAST, "f", 90);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_LAST, "g", 0);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_LAST, "h", 7);
	/* a process that ended before the newest tick holds nothing now */
	VALUE_IS(profiles, GAUGE, "{pid=\"2\"}", PROFILE_MERGE_LAST, "g", 0);
}

static void max_is_the_largest_profile_of_each_series(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A ",pid=1", NS(0), 100, "f" },  { NODE_A ",pid=1", NS(15), 300, "g" },
		{ NODE_A ",pid=1", NS(30), 200, "f" }, { NODE_A ",pid=2", NS(15), 5, "h" },
		{ NODE_A ",pid=2", NS(30), 9, "h" },
	};

	(void)state;
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MAX, "f", 0);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MAX, "g", 300);
	VALUE_IS(profiles, GAUGE, "{}", PROFILE_MERGE_MAX, "h", 9);
}

static void peaks_are_never_averaged(void **state)
{
	static const struct fake_profile profiles[] = {
		{ "__profile_type__=gpu_memory_peak:inuse_space:bytes:space:bytes,service_name=x",
		  NS(0), 100, "f" },
		{ "__profile_type__=gpu_memory_peak:inuse_space:bytes:space:bytes,service_name=x",
		  NS(15), 40, "f" },
	};

	(void)state;
	VALUE_IS(profiles, "gpu_memory_peak:inuse_space:bytes:space:bytes", "{}",
	         PROFILE_MERGE_MEAN, "f", 100);
}

/* What it held when memory was short is no second process, and may be the highest. */
static void what_was_live_at_an_oom_is_a_peak_of_the_same_process(void **state)
{
#define OF_PEAKS "__profile_type__=gpu_memory_peak:peak_space:bytes:space:bytes,service_name=x,pid="
	static const struct fake_profile profiles[] = {
		{ OF_PEAKS "1", NS(0), 100, "f" },
		{ OF_PEAKS "1,reason=oom", NS(15), 90, "g" },
		{ OF_PEAKS "2", NS(15), 10, "f" },
		{ OF_PEAKS "2,reason=oom", NS(15), 30, "h" },
	};

	(void)state;
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "f", 100);
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "g", 0);
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "h", 30);
	VALUE_IS(profiles, PEAK, "{reason=\"oom\"}", PROFILE_MERGE_MEAN, "g", 90);
	VALUE_IS(profiles, PEAK, "{reason=\"\"}", PROFILE_MERGE_MEAN, "f", 110);
}

/* A process on two devices tells one moment by two series; its maximum is a moment of both. */
static void a_peak_on_several_devices_is_one_moment(void **state)
{
	static const struct fake_profile profiles[] = {
		{ OF_PEAKS "1,gpu=a", NS(0), 100, "f" },
		{ OF_PEAKS "1,gpu=b", NS(0), 20, "f" },
		{ OF_PEAKS "1,gpu=a", NS(15), 50, "g" },
		{ OF_PEAKS "1,gpu=b", NS(15), 90, "g" },
		{ OF_PEAKS "1,gpu=b,reason=oom", NS(15), 95,
		  "h" }, /* at the same time, of b alone */
		{ OF_PEAKS "2,gpu=b", NS(15), 7, "f" },
	};

	(void)state;
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "g", 140);
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "f", 7);
	VALUE_IS(profiles, PEAK, "{}", PROFILE_MERGE_MEAN, "h", 0);
	VALUE_IS(profiles, PEAK, "{gpu=\"a\"}", PROFILE_MERGE_MEAN, "f", 100);
}

static void a_profile_divides_as_a_tree_does(void **state)
{
	static const struct fake_profile profiles[] = {
		{ NODE_A, NS(0), 100, "f" },
		{ NODE_A, NS(15), 50, "f" },
	};
	struct asking asking;
	struct profile profile;
	struct error err = { 0 };
	int64_t total = 0;

	(void)state;
	ask(&asking, profiles, ARRAY_LENGTH(profiles), GAUGE, "{}", PROFILE_MERGE_MEAN);
	assert_int_equal(read_query_run_profile(&asking.query, 0, NULL, &profile, &err), 0);
	for (size_t i = 0; i < profile.sample_count; i++)
		total += profile.values[i];
	assert_int_equal(total, 75);
	assert_int_equal(profile.time_unix_ns, NS(3600));
	end(&asking);
}

static void nothing_matches_is_an_empty_tree_without_a_merge(void **state)
{
	static const struct fake_profile profiles[] = { { NODE_A, NS(0), 100, "f" } };
	struct asking asking;
	struct function_tree *tree;
	struct error err = { 0 };

	(void)state;
	ask(&asking, profiles, 1, GAUGE, "{service_name=\"none\"}", PROFILE_MERGE_MEAN);
	assert_int_equal(read_query_run_tree(&asking.query, 0, &tree, &err), 0);
	assert_int_equal(tree->node_count, 1);
	assert_int_equal(asking.fake.merges, 0);
	end(&asking);
}

static void a_type_without_data_gives_way_to_its_alias(void **state)
{
	static const struct fake_profile cuda[] = {
		{ "__profile_type__=" CUDA ",service_name=x", NS(0), 5, "f" },
	};
	static const struct fake_profile both[] = {
		{ "__profile_type__=" CUDA ",service_name=x", NS(0), 5, "f" },
		{ "__profile_type__=" CPU ",service_name=x", NS(0), 3, "f" },
	};

	(void)state;
	VALUE_IS(cuda, CPU, "{}", PROFILE_MERGE_MEAN, "f", 5);
	VALUE_IS(cuda, CUDA, "{}", PROFILE_MERGE_MEAN, "f", 5);
	VALUE_IS(both, CPU, "{}", PROFILE_MERGE_MEAN, "f", 3);
	VALUE_IS(both, CUDA, "{}", PROFILE_MERGE_MEAN, "f", 5);
	VALUE_IS(cuda, CPU, "{service_name=\"y\"}", PROFILE_MERGE_MEAN, "f", 0);
	VALUE_IS(cuda, DELTA, "{}", PROFILE_MERGE_MEAN, "f", 0);
}

static void bad_ranges_are_named(void **state)
{
	static const struct {
		int64_t start_ms;
		int64_t end_ms;
		const char *message;
	} cases[] = {
		{ 0, 0, "missing time range in the query" },
		{ 0, T0, "missing time range in the query" },
		{ T0, 0, "missing time range in the query" },
		{ T0 + 1, T0, "query start time is after end time" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct read_query query = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			read_query_set_range(&query, cases[i].start_ms, cases[i].end_ms, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void ranges_past_the_scale_end_at_its_ends(void **state)
{
	struct read_query query = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(read_query_set_range(&query, -5, T0, &err), 0);
	assert_int_equal(query.range.start_unix_ns, -5 * NS_PER_MS);
	assert_int_equal(read_query_set_range(&query, INT64_MIN, INT64_MAX, &err), 0);
	assert_int_equal(query.range.start_unix_ns, INT64_MIN);
	assert_int_equal(query.range.end_unix_ns, INT64_MAX);
	read_query_extend_range(&query, INT64_MAX);
	assert_int_equal(query.range.start_unix_ns, INT64_MIN);
}

static void limits_cut_and_refuse_ranges(void **state)
{
	const int64_t hour = 3600 * NS_PER_S;
	const struct limits limits = {
		.max_query_length_ns = 24 * hour,
		.max_query_lookback_ns = 7 * 24 * hour,
	};
	const int64_t now_ms = T0;
	const int64_t day_ms = 86400000;
	struct read_query query = { .context = { .limits = &limits,
		                                 .now_unix_ns = T0 * NS_PER_MS } };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(read_query_set_range(&query, now_ms - day_ms, now_ms, &err), 0);
	assert_false(query.nothing);
	assert_int_equal(read_query_set_range(&query, now_ms - 2 * day_ms, now_ms, &err), -1);
	assert_string_equal(err.message, "the query time range exceeds the limit "
	                                 "(max_query_length, actual: 48h0m0s, limit: 1d)");
	/* the lookback shortens first */
	assert_int_equal(
		read_query_set_range(&query, now_ms - 9 * day_ms, now_ms - 6 * day_ms, &err), 0);
	assert_int_equal(query.start_ms, now_ms - 7 * day_ms);
	assert_int_equal(
		read_query_set_range(&query, now_ms - 9 * day_ms, now_ms - 8 * day_ms, &err), 0);
	assert_true(query.nothing);
}

static void nodes_are_checked_as_in_the_table(void **state)
{
	const struct limits limits = { .flamegraph_nodes_default = 8192,
		                       .flamegraph_nodes_max = 1048576 };
	const struct limits unlimited = { .flamegraph_nodes_default = 0 };
	struct error err = { 0 };
	int64_t nodes = 0;

	(void)state;
	assert_int_equal(read_query_max_nodes(&limits, 0, &nodes, &err), 0);
	assert_int_equal(nodes, 8192);
	assert_int_equal(read_query_max_nodes(&limits, 1048576, &nodes, &err), 0);
	assert_int_equal(nodes, 1048576);
	assert_int_equal(read_query_max_nodes(&limits, 1048577, &nodes, &err), -1);
	assert_string_equal(err.message, "max flamegraph nodes limit 1048577 is greater than "
	                                 "allowed 1048576");
	assert_int_equal(read_query_max_nodes(&limits, -1, &nodes, &err), -1);
	assert_string_equal(err.message,
	                    "max flamegraph nodes limit must be set (max allowed 1048576)");
	assert_int_equal(read_query_max_nodes(&unlimited, -1, &nodes, &err), 0);
	assert_int_equal(nodes, -1);
	assert_int_equal(read_query_max_nodes(&unlimited, 0, &nodes, &err), 0);
	assert_int_equal(nodes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delta_type_is_summed_whatever_is_asked),
		cmocka_unit_test(a_constant_gauge_reads_the_same_over_any_range),
		cmocka_unit_test(a_process_that_lived_a_quarter_of_the_range_counts_a_quarter),
		cmocka_unit_test(each_source_has_ticks_of_its_own),
		cmocka_unit_test(an_empty_profile_is_a_tick),
		cmocka_unit_test(services_on_one_node_are_sources_of_their_own),
		cmocka_unit_test(the_first_place_label_that_is_there_tells_sources_apart),
		cmocka_unit_test(last_is_the_newest_tick_of_each_source),
		cmocka_unit_test(max_is_the_largest_profile_of_each_series),
		cmocka_unit_test(peaks_are_never_averaged),
		cmocka_unit_test(what_was_live_at_an_oom_is_a_peak_of_the_same_process),
		cmocka_unit_test(a_peak_on_several_devices_is_one_moment),
		cmocka_unit_test(a_profile_divides_as_a_tree_does),
		cmocka_unit_test(nothing_matches_is_an_empty_tree_without_a_merge),
		cmocka_unit_test(a_type_without_data_gives_way_to_its_alias),
		cmocka_unit_test(bad_ranges_are_named),
		cmocka_unit_test(ranges_past_the_scale_end_at_its_ends),
		cmocka_unit_test(limits_cut_and_refuse_ranges),
		cmocka_unit_test(nodes_are_checked_as_in_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
