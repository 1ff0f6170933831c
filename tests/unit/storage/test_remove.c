#include "tests/unit/storage/whole_store.h"

static const struct made_row rows[] = {
	{ "main;a", { 1, 10 }, 0xa },
	{ "main;b", { 0, 20 }, 0xb },
};

static void fill(struct store *store, int count)
{
	for (int i = 0; i < count; i++) {
		const struct made made = {
			.service = i % 2 ? "odd" : "even",
			.types = { "samples", "cpu" },
			.time = NOON + i,
			.rows = rows,
			.row_count = 2,
			.id = (uint64_t)i + 1,
		};

		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
}

static uint64_t remove_those(struct store *store, const char *text, int64_t start, int64_t end,
                             const struct sample_filter *filter, enum store_removal removal)
{
	struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct selector selector;
	struct error err = { 0 };
	uint64_t removed = 0;
	const struct store_query query = {
		.tenant = STR("t"),
		.selector = &selector,
		.range = { start, end },
		.filter = filter,
		.arena = arena,
	};

	selector_init(&selector, arena);
	assert_int_equal(selector_parse(&selector, str_of(text), &err), 0);
	if (store_remove(store, &query, removal, &removed, &err) < 0)
		fail_msg("%s", err.message);
	selector_fini(&selector);
	arena_free(arena);
	return removed;
}

static void whole_profiles_go_and_a_dry_run_only_counts(void **state)
{
	struct store *store = store_open_plain(*state);

	fill(store, 6);
	assert_int_equal(remove_those(store, "{service_name=\"odd\"}", 0, INT64_MAX, NULL,
	                              STORE_REMOVE_NOTHING),
	                 6);
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main;a 60 | 0 main;b 120");
	assert_int_equal(
		remove_those(store, "{service_name=\"odd\"}", 0, INT64_MAX, NULL, STORE_REMOVE), 6);
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main;a 30 | 0 main;b 60");
	assert_string_equal(ask(store, ASK_SERIES, &(struct asked){ .start = 0 }),
	                    "even/cpu | even/samples");
	store_close(store);
}

static void only_the_range_goes(void **state)
{
	struct store *store = store_open_plain(*state);

	fill(store, 6);
	assert_int_equal(remove_those(store, "{}", NOON + 2, NOON + 3, NULL, STORE_REMOVE), 4);
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main;a 40 | 0 main;b 80");
	store_close(store);
}

static void one_sample_type_goes_and_the_others_stay(void **state)
{
	struct store *store = store_open_plain(*state);

	fill(store, 4);
	assert_int_equal(remove_those(store, "{__profile_type__=\"cpu\"}", NOON, NOON + 1, NULL,
	                              STORE_REMOVE),
	                 2);
	assert_string_equal(scan_all(store, "{__profile_type__=\"cpu\"}"),
	                    "even/cpu +0h 30 | odd/cpu +0h 30");
	assert_string_equal(scan_all(store, "{__profile_type__=\"samples\"}"),
	                    "even/samples +0h 1 | even/samples +0h 1 | odd/samples +0h 1 | "
	                    "odd/samples +0h 1");
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"), "0 main;a 4");
	assert_string_equal(merge_all(store, "{__profile_type__=\"cpu\"}"),
	                    "0 main;a 20 | 0 main;b 40");
	store_close(store);
	store = store_open_plain(*state);
	assert_string_equal(merge_all(store, "{__profile_type__=\"samples\"}"), "0 main;a 4");
	store_close(store);
}

static void profiles_go_by_their_ids(void **state)
{
	struct uuid id = { { 3 } };
	const struct sample_filter filter = { .profile_ids = &id, .profile_id_count = 1 };
	struct store *store = store_open_plain(*state);

	fill(store, 4);
	assert_int_equal(remove_those(store, "{}", 0, INT64_MAX, &filter, STORE_REMOVE), 2);
	assert_string_equal(scan_all(store, "{__profile_type__=\"cpu\",service_name=\"even\"}"),
	                    "even/cpu +0h 30");
	store_close(store);
}

static void many_go_in_small_steps(void **state)
{
	struct store *store = store_open_plain(*state);

	fill(store, 1100);
	assert_int_equal(remove_those(store, "{__profile_type__=\"cpu\"}", 0, INT64_MAX, NULL,
	                              STORE_REMOVE),
	                 1100);
	assert_string_equal(merge_all(store, "{}"), "0 main;a 1100");
	store_close(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(whole_profiles_go_and_a_dry_run_only_counts),
		TEST(only_the_range_goes),
		TEST(one_sample_type_goes_and_the_others_stay),
		TEST(profiles_go_by_their_ids),
		TEST(many_go_in_small_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
