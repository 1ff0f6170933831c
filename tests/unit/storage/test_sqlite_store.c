#include "tests/unit/storage/whole_store.h"

static const struct made_row two_rows[] = {
	{ "main;work", { 3, 30 }, 0 },
	{ "main", { 4, 40 }, 0 },
};

static struct made cpu_profile(int64_t time)
{
	return (struct made){
		.service = "shop",
		.types = { "samples", "cpu" },
		.time = time,
		.rows = two_rows,
		.row_count = 2,
	};
}

static void what_was_answered_is_read_back(void **state)
{
	struct store *store = store_open_plain(*state);
	const struct made made = cpu_profile(NOON);

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main 40 | 0 main;work 30");
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"),
	                    "0 main 4 | 0 main;work 3");
	assert_string_equal(scan_all(store, "{}"), "shop/cpu +0h 70 | shop/samples +0h 7");
	assert_string_equal(ask(store, ASK_SERIES, &(struct asked){ .start = INT64_MIN }),
	                    "shop/cpu | shop/samples");
	store_close(store);
}

static void equal_stacks_of_many_profiles_add_up(void **state)
{
	struct store *store = store_open_plain(*state);

	for (int i = 0; i < 100; i++) {
		const struct made made = cpu_profile(NOON + i);

		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main 4000 | 0 main;work 3000");
	store_close(store);
}

static void values_without_a_stack_count_in_totals_only(void **state)
{
	static const struct made_row rows[] = { { "", { 5 }, 0 }, { "main", { 1 }, 0 } };
	struct store *store = store_open_plain(*state);
	const struct made made = { "s", { "cpu" }, NOON, rows, 2, 0, 0 };

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{}"), "0 main 1");
	assert_string_equal(scan_all(store, "{}"), "s/cpu +0h 6");
	store_close(store);
}

static void ranges_include_both_ends(void **state)
{
	static const struct {
		int64_t start;
		int64_t end;
		const char *expected;
	} cases[] = {
		{ NOON, NOON, "0 main 4 | 0 main;work 3" },
		{ NOON - 5, NOON, "0 main 4 | 0 main;work 3" },
		{ NOON + 1, NOON + 5, "" },
		{ NOON - 5, NOON - 1, "" },
		{ NOON + 5, NOON - 5, "" },
		{ INT64_MIN, INT64_MAX, "0 main 4 | 0 main;work 3" },
	};
	struct store *store = store_open_plain(*state);
	const struct made made = cpu_profile(NOON);

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(
			ask(store, ASK_MERGE,
		            &(struct asked){ .selector = "{__profile_type__=\"samples\"}",
		                             .start = cases[i].start,
		                             .end = cases[i].end }),
			cases[i].expected);
	store_close(store);
}

static void a_query_spans_days_and_times_far_away(void **state)
{
	static const int64_t times[] = {
		-DAY_NS - 1, -1, 0, NOON, NOON + DAY_NS, INT64_C(4102444800) * 1000000000
	};
	struct store *store = store_open_plain(*state);

	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		const struct made made = cpu_profile(times[i]);

		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	/* sums come window by window */
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"),
	                    "0 main 4 | 0 main 4 | 0 main 4 | 0 main 4 | 0 main 4 | 0 main 4 | "
	                    "0 main;work 3 | 0 main;work 3 | 0 main;work 3 | 0 main;work 3 | "
	                    "0 main;work 3 | 0 main;work 3");
	assert_true(file_is_there(*state, "tenants/t/1969-12-30.db"));
	assert_true(file_is_there(*state, "tenants/t/1969-12-31.db"));
	assert_true(file_is_there(*state, "tenants/t/1970-01-01.db"));
	assert_true(file_is_there(*state, "tenants/t/2024-10-04.db"));
	assert_true(file_is_there(*state, "tenants/t/2024-10-05.db"));
	assert_true(file_is_there(*state, "tenants/t/2100-01-01.db"));
	/* one series, one number, over all windows */
	assert_string_equal(ask(store, ASK_SERIES,
	                        &(struct asked){ .selector = "{__profile_type__=\"cpu\"}",
	                                         .start = INT64_MIN }),
	                    "shop/cpu");
	store_close(store);
}

static void tenants_do_not_see_each_other(void **state)
{
	static const char *const tenants[] = { "a", "b", "..", "a/b", "A b\n", "" };
	struct store *store = store_open_plain(*state);

	for (size_t i = 0; i < ARRAY_LENGTH(tenants); i++) {
		struct made made = cpu_profile(NOON);

		made.service = tenants[i][0] ? tenants[i] : "none";
		assert_int_equal(append_made(store, tenants[i], &made), ERROR_NONE);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(tenants); i++) {
		char expected[64];

		(void)snprintf(expected, sizeof(expected), "%s/cpu",
		               tenants[i][0] ? tenants[i] : "none");
		assert_string_equal(ask(store, ASK_SERIES,
		                        &(struct asked){ .tenant = tenants[i],
		                                         .selector = "{__profile_type__=\"cpu\"}",
		                                         .start = INT64_MIN }),
		                    expected);
	}
	assert_string_equal(ask(store, ASK_MERGE,
	                        &(struct asked){ .tenant = "nobody", .start = INT64_MIN }),
	                    "");
	store_close(store);
}

static void a_store_that_was_closed_has_all_of_it(void **state)
{
	struct store *store = store_open_plain(*state);

	for (int i = 0; i < 200; i++) {
		char stack[32];
		const struct made_row row = { stack, { i + 1 }, 0 };
		const struct made made = { "s", { "cpu" }, NOON + i, &row, 1, 0, 0 };

		(void)snprintf(stack, sizeof(stack), "main;f%d", i % 10);
		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	store_close(store);
	store = store_open_plain(*state);
	/* f0 has 1, 11, ..., 191: 20 values of mean 96; f9 has 10, ..., 200 */
	assert_string_equal(merge_all(store, "{}"),
	                    "0 main;f0 1920 | 0 main;f1 1940 | 0 main;f2 1960 | 0 main;f3 1980 | "
	                    "0 main;f4 2000 | 0 main;f5 2020 | 0 main;f6 2040 | 0 main;f7 2060 | "
	                    "0 main;f8 2080 | 0 main;f9 2100");
	/* and goes on with the same symbols */
	{
		const struct made_row row = { "main;f0", { 80 }, 0 };
		const struct made made = { "s", { "cpu" }, NOON, &row, 1, 0, 0 };

		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	assert_memory_equal(merge_all(store, "{}"), "0 main;f0 2000 |", 16);
	store_close(store);
}

static void a_profile_that_is_sent_again_is_stored_once(void **state)
{
	struct store *store = store_open_plain(*state);
	struct made made = cpu_profile(NOON);
	struct store_usage usage;

	made.origin = 77;
	for (int i = 0; i < 3; i++)
		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"),
	                    "0 main 4 | 0 main;work 3");
	store_usage(store, &usage);
	assert_int_equal(usage.profiles_appended, 1);
	assert_int_equal(usage.profiles_deduplicated, 2);
	/* also after a restart */
	store_close(store);
	store = store_open_plain(*state);
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(scan_all(store, "{__profile_type__=\"cpu\"}"), "shop/cpu +0h 70");
	store_close(store);
}

static void different_profiles_of_equal_series_and_time_are_kept(void **state)
{
	struct store *store = store_open_plain(*state);
	struct made made = cpu_profile(NOON);

	made.origin = 1;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	made.origin = 2;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	made.origin = 0;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"),
	                    "0 main 16 | 0 main;work 12");
	store_close(store);
}

static uint32_t part_by_service(void *context, const struct label_set *labels)
{
	const struct str *service = label_set_find(labels, STR("service_name"));

	(void)context;
	return service->data[0] == 'x' ? STORE_SKIP : (uint32_t)(service->data[0] - 'a');
}

static void parts_are_kept_apart_and_have_ranges_of_their_own(void **state)
{
	static const char *const services[] = { "b", "a", "x", "a" };
	static const struct store_range ranges[] = { { NOON, NOON + 2 }, { NOON, INT64_MAX } };
	const struct store_parts parts = { part_by_service, NULL, 2, ranges };
	const struct store_parts whole = { part_by_service, NULL, 2, NULL };
	struct store *store = store_open_plain(*state);

	for (int i = 0; i < 4; i++) {
		struct made made = cpu_profile(NOON + i);

		made.service = services[i];
		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	assert_string_equal(ask(store, ASK_MERGE,
	                        &(struct asked){ .selector = "{__profile_type__=\"samples\"}",
	                                         .start = INT64_MIN,
	                                         .parts = &whole }),
	                    "0 main 8 | 0 main;work 6 | 1 main 4 | 1 main;work 3");
	assert_string_equal(ask(store, ASK_MERGE,
	                        &(struct asked){ .selector = "{__profile_type__=\"samples\"}",
	                                         .start = INT64_MIN,
	                                         .parts = &parts }),
	                    "0 main 4 | 0 main;work 3 | 1 main 4 | 1 main;work 3");
	store_close(store);
}

static void filters_choose_profiles_and_rows(void **state)
{
	static const struct made_row rows[] = {
		{ "main;a", { 1 }, 0xaaaa },
		{ "main;b", { 2 }, 0xbbbb },
		{ "main;b", { 4 }, 0 },
	};
	struct store *store = store_open_plain(*state);
	struct made made = { "s", { "cpu" }, NOON, rows, 3, 0, 5 };
	struct uuid id = { { 5 } };
	uint64_t span = 0xbbbb;
	const struct sample_filter by_profile = { .profile_ids = &id, .profile_id_count = 1 };
	const struct sample_filter by_span = { .span_ids = &span, .span_id_count = 1 };

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	made.id = 6;
	made.time = NOON + HOUR_NS;
	made.row_count = 1;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_string_equal(merge_all(store, "{}"), "0 main;a 2 | 0 main;b 6");
	assert_string_equal(ask(store, ASK_MERGE,
	                        &(struct asked){ .start = INT64_MIN, .filter = &by_profile }),
	                    "0 main;a 1 | 0 main;b 6");
	assert_string_equal(ask(store, ASK_MERGE,
	                        &(struct asked){ .start = INT64_MIN, .filter = &by_span }),
	                    "0 main;b 2");
	assert_string_equal(ask(store, ASK_SCAN,
	                        &(struct asked){ .start = INT64_MIN, .filter = &by_span }),
	                    "s/cpu +0h 2");
	assert_string_equal(ask(store, ASK_SERIES,
	                        &(struct asked){ .start = INT64_MIN, .filter = &by_span }),
	                    "s/cpu");
	store_close(store);
}

static int add_samples(void *context, const struct store_samples *samples, struct error *err)
{
	const struct str *type = label_set_find(samples->labels, STR("__profile_type__"));

	(void)err;
	for (size_t i = 0; i < samples->count; i++) {
		char stack[100];
		char line[200];

		stack_text(samples->symbols, samples->stacks[i], stack, sizeof(stack));
		(void)snprintf(line, sizeof(line), "%.*s %+lldh %u %s %lld", STR_ARGS(*type),
		               (long long)((samples->time_unix_ns - NOON) / HOUR_NS),
		               samples->window, stack, (long long)samples->values[i]);
		answer_add(context, line);
	}
	return 0;
}

static void samples_are_told_profile_by_profile(void **state)
{
	static const struct made_row rows[] = {
		{ "main;a", { 1, 10 }, 0xaaaa },
		{ "main;b", { 2, 20 }, 0xbbbb },
	};
	uint64_t span = 0xbbbb;
	const struct sample_filter by_span = { .span_ids = &span, .span_id_count = 1 };
	struct store *store = store_open_plain(*state);
	struct made made = { "s", { "cpu", "wall" }, NOON, rows, 2, 0, 5 };
	struct arena *arena = arena_new((size_t)1 << 20, NULL);
	struct store_query query = {
		.tenant = STR("t"),
		.range = { 0, NOON + HOUR_NS },
		.arena = arena,
	};
	struct answer answer = { 0 };
	struct error err = { 0 };

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	made.time = NOON + 24 * HOUR_NS; /* another window; and out of the range */
	made.id = 6;
	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_int_equal(store_scan_samples(store, &query, add_samples, &answer, &err), 0);
	assert_string_equal(answer_text(&answer), "cpu +0h 0 main;a 1 | cpu +0h 0 main;b 2 | "
	                                          "wall +0h 0 main;a 10 | wall +0h 0 main;b 20");
	answer = (struct answer){ 0 };
	query.range.end_unix_ns = INT64_MAX;
	query.filter = &by_span;
	assert_int_equal(store_scan_samples(store, &query, add_samples, &answer, &err), 0);
	assert_string_equal(answer_text(&answer), "cpu +0h 0 main;b 2 | cpu +24h 1 main;b 2 | "
	                                          "wall +0h 0 main;b 20 | wall +24h 1 main;b 20");
	arena_free(arena);
	store_close(store);
}

static int add_span(void *context, const struct store_span *span, struct error *err)
{
	char line[64];

	(void)err;
	(void)snprintf(line, sizeof(line), "%llx %lld", (unsigned long long)span->span_id,
	               (long long)span->value);
	answer_add(context, line);
	return 0;
}

static void spans_are_listed_row_by_row(void **state)
{
	static const struct made_row rows[] = {
		{ "main;a", { 1 }, 0xaaaa },
		{ "main;b", { 2 }, 0xbbbb },
		{ "main;b", { 4 }, 0 },
	};
	struct store *store = store_open_plain(*state);
	const struct made made = { "s", { "cpu" }, NOON, rows, 3, 0, 5 };
	struct arena *arena = arena_new((size_t)1 << 20, NULL);
	const struct store_query query = {
		.tenant = STR("t"),
		.range = { 0, INT64_MAX },
		.arena = arena,
	};
	struct answer answer = { 0 };
	struct error err = { 0 };

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	assert_int_equal(store_scan_spans(store, &query, add_span, &answer, &err), 0);
	assert_string_equal(answer_text(&answer), "aaaa 1 | bbbb 2");
	arena_free(arena);
	store_close(store);
}

static void a_query_whose_caller_is_gone_ends(void **state)
{
	_Atomic bool gone = true;
	const struct store_cancel cancels[] = { { .gone = &gone }, { .deadline_mono_ns = 1 } };
	static const enum error_code codes[] = { ERROR_CANCELLED, ERROR_TIMED_OUT };
	struct store *store = store_open_plain(*state);
	const struct made made = cpu_profile(NOON);

	assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	for (size_t i = 0; i < 2; i++) {
		struct arena *arena = arena_new((size_t)1 << 20, NULL);
		const struct store_query query = {
			.tenant = STR("t"),
			.range = { 0, INT64_MAX },
			.cancel = &cancels[i],
			.arena = arena,
		};
		struct answer answer = { 0 };
		struct error err = { 0 };

		assert_int_equal(store_merge(store, &query, NULL, add_sums, &answer, &err), -1);
		assert_int_equal(err.code, codes[i]);
		arena_free(arena);
	}
	store_close(store);
}

static void stats_tell_the_oldest_and_the_newest(void **state)
{
	static const int64_t times[] = { NOON + 5, NOON - 3 * DAY_NS, NOON + DAY_NS, NOON };
	struct store *store = store_open_plain(*state);
	struct store_stats stats;
	struct error err = { 0 };

	assert_int_equal(store_stats(store, STR("t"), &stats, &err), 0);
	assert_false(stats.any);
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		const struct made made = cpu_profile(times[i]);

		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	assert_int_equal(store_stats(store, STR("t"), &stats, &err), 0);
	assert_true(stats.any);
	assert_int_equal(stats.oldest_unix_ns, NOON - 3 * DAY_NS);
	assert_int_equal(stats.newest_unix_ns, NOON + DAY_NS);
	store_close(store);
}

static void one_write_may_span_windows_and_profiles(void **state)
{
	struct store *store = store_open_plain(*state);
	struct arena *arena = arena_new((size_t)1 << 24, NULL);
	struct series_profile profiles[50];

	for (int i = 0; i < 50; i++) {
		const struct made made = cpu_profile(NOON + i % 3 * DAY_NS + i);

		profiles[i] = made_profile(arena, &made);
	}
	assert_int_equal(append_profiles(store, "t", profiles, 50), ERROR_NONE);
	/* 17 of the first two days, 16 of the third */
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"),
	                    "0 main 64 | 0 main 68 | 0 main 68 | "
	                    "0 main;work 48 | 0 main;work 51 | 0 main;work 51");
	arena_free(arena);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_answered_is_read_back, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_stacks_of_many_profiles_add_up, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(values_without_a_stack_count_in_totals_only, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(ranges_include_both_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(a_query_spans_days_and_times_far_away, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(tenants_do_not_see_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_was_closed_has_all_of_it, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(a_profile_that_is_sent_again_is_stored_once, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(
			different_profiles_of_equal_series_and_time_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_are_kept_apart_and_have_ranges_of_their_own,
		                                setup, teardown),
		cmocka_unit_test_setup_teardown(filters_choose_profiles_and_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(samples_are_told_profile_by_profile, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(spans_are_listed_row_by_row, setup, teardown),
		cmocka_unit_test_setup_teardown(a_query_whose_caller_is_gone_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(stats_tell_the_oldest_and_the_newest, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(one_write_may_span_windows_and_profiles, setup,
		                                teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
