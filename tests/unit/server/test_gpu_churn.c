/*
 * GPU memory of a node on which processes come and go by the thousand, in a real store:
 * what a question costs is bounded by what it asks for, not by who else was there.
 */
#include "server/query/gpu_growth.h"
#include "server/query/gpu_processes.h"
#include "server/query/gpu_timeline.h"
#include "tests/unit/storage/store_fixture.h"

#define PROCESSES    10000
#define TICKS        20 /* 500 processes at each */
#define INTERVAL_NS  (15 * NS_PER_S)
#define START_NS     NOON
#define LAST_NS      (START_NS + (TICKS - 1) * INTERVAL_NS)
#define KEEPER_TICKS 400 /* the one that stays: from before the others came, 100 minutes */

/* Of 40,000 series. Two dozen reads that keep 100 bytes of each would need more. */
#define LIMIT ((size_t)40 << 20)

static const char *const types[SERIES_MAX] = {
	"memory:alloc_objects:count:space:bytes",
	"memory:alloc_space:bytes:space:bytes",
	"memory:inuse_objects:count:space:bytes",
	"memory:inuse_space:bytes:space:bytes",
};

static struct label_set labels_of(struct arena *arena, const char *type, int pid,
                                  const char *service)
{
	struct label made[] = {
		{ STR("__profile_type__"), str_of(type) },
		{ STR("cuda_class"), STR("device") },
		{ STR("gpu"), STR("0") },
		{ STR("hostname"), STR("n") },
		{ STR("pid"), arena_printf(arena, "%d", pid) },
		{ STR("service_name"), str_of(service) },
	};
	struct label_set set;

	assert_true(label_set_copy(&(struct label_set){ made, ARRAY_LENGTH(made) }, arena, &set));
	return set;
}

/* One tick of one process that holds 100 bytes by one call. */
static struct series_profile tick_of(struct arena *arena, int pid, const char *service,
                                     int64_t time_ns)
{
	static const struct made_row row = { "main;cuMemAlloc_v2", { 1, 100, 1, 100 }, 0 };
	struct made made = { .time = time_ns, .rows = &row, .row_count = 1, .service = service };
	struct series_profile profile;

	memcpy(made.types, types, sizeof(made.types));
	profile = made_profile(arena, &made);
	for (size_t i = 0; i < SERIES_MAX; i++)
		profile.series[i].labels = labels_of(arena, types[i], pid, service);
	return profile;
}

static void append_tick(struct store *store, int tick)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct series_profile profiles[PROCESSES / TICKS];

	for (int i = 0; i < PROCESSES / TICKS; i++)
		profiles[i] = tick_of(arena, 1000 + tick * (PROCESSES / TICKS) + i, "batch",
		                      START_NS + tick * INTERVAL_NS);
	assert_int_equal(append_profiles(store, "t", profiles, ARRAY_LENGTH(profiles)), ERROR_NONE);
}

static void append_keeper(struct store *store)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)256 << 20, NULL);
	struct series_profile profiles[KEEPER_TICKS];

	for (int i = 0; i < KEEPER_TICKS; i++)
		profiles[i] = tick_of(arena, 7, "keeper", LAST_NS - i * INTERVAL_NS);
	assert_int_equal(append_profiles(store, "t", profiles, ARRAY_LENGTH(profiles)), ERROR_NONE);
}

struct churn {
	char *path;
	struct store *store;
};

static int make_churn(void **state)
{
	static struct churn churn;

	churn.path = folder_make();
	churn.store = store_open_plain(churn.path);
	append_keeper(churn.store);
	for (int tick = 0; tick < TICKS; tick++)
		append_tick(churn.store, tick);
	*state = &churn;
	return 0;
}

static int drop_churn(void **state)
{
	struct churn *churn = *state;

	store_close(churn->store);
	folder_drop(churn->path);
	return 0;
}

/* A question about the last `seconds` before the last tick. */
static void question_begin(struct gpu_question *question, const struct churn *churn,
                           const char *selector, int64_t seconds, struct arena *arena)
{
	const struct read_query_context context = {
		.store = churn->store,
		.tenant = STR("t"),
		.arena = arena,
		.now_unix_ns = LAST_NS,
	};
	struct error err = { 0 };

	gpu_question_init(question, &context);
	if (gpu_question_set_range(question, LAST_NS / NS_PER_MS - seconds * 1000,
	                           LAST_NS / NS_PER_MS, &err) < 0 ||
	    gpu_question_set_selector(question, str_of(selector), &err) < 0)
		fail_msg("%s", err.message);
}

static struct gpu_process_list list(const struct churn *churn, const char *selector,
                                    int64_t seconds, enum gpu_process_order order,
                                    struct arena *arena)
{
	CLEANUP(gpu_question_fini) struct gpu_question question;
	struct gpu_process_list list = { 0 };
	struct error err = { 0 };

	question_begin(&question, churn, selector, seconds, arena);
	if (gpu_processes_list(&question, order, 100, &list, &err) < 0)
		fail_msg("%s", err.message);
	return list;
}

static void a_selector_that_matches_nothing_lists_nothing(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct gpu_process_list found =
		list(*state, "{service_name=\"nosuch\"}", 10, GPU_PROCESS_BY_LIVE, arena);

	assert_int_equal(found.count, 0);
	/* its node is heard of all the same */
	assert_true(found.any);
	assert_int_equal(found.tick_ms, LAST_NS / NS_PER_MS);
	assert_int_equal(found.interval_ms, 15000);
}

static void a_process_that_stays_has_its_first_tick(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct gpu_process_list found =
		list(*state, "{pid=\"7\"}", 10, GPU_PROCESS_BY_LIVE, arena);
	const int64_t first_ms = (LAST_NS - (KEEPER_TICKS - 1) * INTERVAL_NS) / NS_PER_MS;

	assert_int_equal(found.count, 1);
	assert_int_equal(found.rows[0].first_ms, first_ms);
	assert_int_equal(found.rows[0].last_ms, LAST_NS / NS_PER_MS);
	assert_int_equal(found.rows[0].live_bytes, 100);
	assert_int_equal(found.rows[0].state, GPU_PROCESS_RUNNING);
	assert_true(found.rows[0].knows_change);
	/* the tick at the range's end is the only one behind the one at its start */
	assert_int_equal(found.rows[0].alloc_bytes, 100);
	assert_int_equal(found.rows[0].growth_bytes, 0);
}

static void of_many_the_first_hundred_are_listed(void **state)
{
	static const enum gpu_process_order orders[] = { GPU_PROCESS_BY_LIVE,
		                                         GPU_PROCESS_BY_FIRST };

	for (size_t i = 0; i < ARRAY_LENGTH(orders); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		/* all of them were there within the last ten minutes */
		const struct gpu_process_list found = list(*state, "", 600, orders[i], arena);

		assert_int_equal(found.count, 100);
		for (size_t row = 0; row < found.count; row++)
			assert_int_equal(found.rows[row].live_bytes, 100);
		assert_int_equal(found.rows[0].first_ms, orders[i] == GPU_PROCESS_BY_FIRST
		                                                 ? LAST_NS / NS_PER_MS
		                                                 : found.rows[0].last_ms);
	}
}

static void what_is_sorted_by_its_last_tick_exits(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct gpu_process_list found =
		list(*state, "{pid=~\"1000|7\"}", 600, GPU_PROCESS_BY_LAST, arena);

	assert_int_equal(found.count, 2);
	assert_string_equal(found.rows[0].labels.labels[1].value.data, "7");
	assert_int_equal(found.rows[1].state, GPU_PROCESS_EXITED);
	assert_int_equal(found.rows[1].first_ms, START_NS / NS_PER_MS);
	assert_int_equal(found.rows[1].last_ms, START_NS / NS_PER_MS);
	assert_int_equal(found.rows[1].live_bytes, 0);
	assert_int_equal(found.rows[1].peak_bytes, 100);
}

static void a_timeline_of_one_has_its_line(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	CLEANUP(gpu_question_fini) struct gpu_question question;
	struct gpu_timeline timeline;
	struct error err = { 0 };

	question_begin(&question, *state, "{service_name=\"keeper\"}", 60, arena);
	if (gpu_timeline_make(&question,
	                      &(struct gpu_timeline_options){
				      .by = STR("process"), .step_ms = 15000, .top = 10 },
	                      &timeline, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(timeline.step_count, 5);
	assert_int_equal(timeline.lines.count, 1);
	for (size_t i = 0; i < timeline.step_count; i++)
		assert_int_equal(timeline.lines.items[0].values[i], 100);
}

static void growth_of_one_is_read_for_itself(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	CLEANUP(gpu_question_fini) struct gpu_question question;
	const int64_t first_ms = (LAST_NS - (KEEPER_TICKS - 1) * INTERVAL_NS) / NS_PER_MS;
	struct gpu_growth growth;
	struct error err = { 0 };

	question_begin(&question, *state, "", 60, arena);
	if (gpu_growth_list(&question, arena_printf(arena, "n:7:%lld", (long long)first_ms), 10,
	                    &growth, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(growth.count, 1);
	assert_int_equal(growth.rows[0].start_bytes, 100);
	assert_int_equal(growth.rows[0].end_bytes, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_that_matches_nothing_lists_nothing),
		cmocka_unit_test(a_process_that_stays_has_its_first_tick),
		cmocka_unit_test(of_many_the_first_hundred_are_listed),
		cmocka_unit_test(what_is_sorted_by_its_last_tick_exits),
		cmocka_unit_test(a_timeline_of_one_has_its_line),
		cmocka_unit_test(growth_of_one_is_read_for_itself),
	};

	return cmocka_run_group_tests(tests, make_churn, drop_churn);
}
