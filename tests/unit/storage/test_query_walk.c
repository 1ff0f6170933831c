/*
 * Merges whose windows several threads share: whoever visits them, what they have comes in
 * their order, one at a time, and ends where the first one fails.
 */
#include <stdatomic.h>

#include "profile/selector.h"
#include "tests/unit/storage/care_fixture.h"

#define WINDOWS 12
#define ROUNDS  50

/* What a merge handed over: day i has the value i. */
struct told {
	_Atomic int visitors;
	int64_t values[WINDOWS];
	size_t count;
	int64_t refused; /* a value with which the visitor ends the merge; 0: none */
};

static int tell(struct told *told, int64_t value, struct error *err)
{
	assert_int_equal(atomic_fetch_add(&told->visitors, 1), 0);
	assert_true(told->count < WINDOWS);
	told->values[told->count++] = value;
	atomic_fetch_sub(&told->visitors, 1);
	return value == told->refused ? error_set(err, ERROR_TOO_LARGE, "enough") : 0;
}

static int tell_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	assert_int_equal(sums->count, 1);
	return tell(context, sums->sums[0], err);
}

static int tell_paths(void *context, const struct path_sums *sums, struct error *err)
{
	assert_int_equal(sums->count, 1);
	return tell(context, sums->sums[0], err);
}

enum kind {
	STACKS,
	PATHS
};

static enum error_code merge_days(struct store *store, enum kind kind, struct told *told)
{
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	struct selector selector;
	struct error err = { 0 };
	struct store_query query = {
		.tenant = STR("t"),
		.range = { 0, INT64_MAX },
		.arena = arena,
	};

	selector_init(&selector, arena);
	assert_int_equal(selector_parse(&selector, STR("{}"), &err), 0);
	query.selector = &selector;
	if (kind == STACKS)
		(void)store_merge(store, &query, NULL, tell_sums, told, &err);
	else
		(void)store_merge_paths(store, &query, NULL, tell_paths, told, &err);
	selector_fini(&selector);
	arena_free(arena);
	return err.code;
}

static void expect_first(const struct told *told, size_t count)
{
	assert_int_equal(told->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(told->values[i], i + 1);
}

static struct store *open_with(const char *folder, size_t threads)
{
	return store_open_at(&(struct sqlite_store_options){ .path = folder, .threads = threads });
}

static void fill(const char *folder)
{
	struct store *store = open_with(folder, 1);

	for (int day = 0; day < WINDOWS; day++) {
		const struct made_row row = { "main;work", { day + 1 }, 0 };
		struct made made = a_profile("s", NOON + day * DAY_NS);

		made.rows = &row;
		assert_int_equal(append_made(store, "t", &made), ERROR_NONE);
	}
	store_close(store);
}

static void windows_come_in_their_order(void **state)
{
	fill(*state);
	for (size_t threads = 1; threads <= 4; threads++) {
		struct store *store = open_with(*state, threads);

		for (int i = 0; i < ROUNDS; i++) {
			struct told told = { 0 };

			assert_int_equal(merge_days(store, i % 2 ? PATHS : STACKS, &told),
			                 ERROR_NONE);
			expect_first(&told, WINDOWS);
		}
		store_close(store);
	}
}

static void a_visitor_that_has_enough_ends_it(void **state)
{
	struct store *store;

	fill(*state);
	store = open_with(*state, 4);
	for (int i = 0; i < ROUNDS; i++) {
		struct told told = { .refused = 1 + i % WINDOWS };

		assert_int_equal(merge_days(store, STACKS, &told), ERROR_TOO_LARGE);
		expect_first(&told, (size_t)told.refused);
	}
	store_close(store);
}

static void the_first_window_that_is_damaged_ends_it(void **state)
{
	fill(*state);
	for (size_t threads = 1; threads <= 4; threads++) {
		struct told told = { 0 };
		struct store *store;
		char name[64];

		(void)snprintf(name, sizeof(name), "tenants/t/2024-10-%02zu.db", 4 + 10 - threads);
		overwrite(*state, name, 0, "not a database, ");
		store = open_with(*state, threads);
		assert_int_equal(merge_days(store, STACKS, &told), ERROR_CORRUPT);
		expect_first(&told, 10 - threads);
		told = (struct told){ 0 };
		assert_int_equal(merge_days(store, STACKS, &told), ERROR_NONE);
		assert_int_equal(told.count, WINDOWS - threads);
		store_close(store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(windows_come_in_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_visitor_that_has_enough_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_window_that_is_damaged_ends_it, setup,
		                                teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
