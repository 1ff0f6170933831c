#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/gpu_table.h"

#define LIMIT ((size_t)1 << 20)

static void an_answer_becomes_rows(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_table table;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		gpu_table_parse(
			STR("{\"tick_ms\":60000,\"interval_ms\":15000,\"processes\":[{\"id\":\"n:1:5\","
	                    "\"labels\":{\"hostname\":\"n\",\"pid\":\"1\",\"service_name\":\"s\"},"
	                    "\"state\":\"gap\",\"first_ms\":5,\"last_ms\":60000,\"live_bytes\":null,"
	                    "\"peak_bytes\":\"9007199254740993\",\"alloc_bytes\":7,\"failures\":2}]}"),
			arena, &table, &err),
		0);
	assert_int_equal(table.count, 1);
	assert_int_equal(table.tick_ms, 60000);
	assert_true(str_equals(table.rows[0].service, "s"));
	assert_int_equal(table.rows[0].command.length, 0);
	assert_int_equal(table.rows[0].live_bytes, GPU_UNKNOWN);
	assert_int_equal(table.rows[0].peak_bytes, 9007199254740993);
	assert_int_equal(table.rows[0].growth_bytes, GPU_UNKNOWN);
}

#define ROW(hostname, live) "{\"labels\":{\"hostname\":\"" hostname "\"},\"live_bytes\":" live "}"
#define DEVICE(hostname, used, total) \
	"{\"hostname\":\"" hostname "\",\"used_bytes\":" used ",\"total_bytes\":" total "}"

static struct gpu_table_sum sum_of(const char *json, struct arena *arena)
{
	struct gpu_table table;
	struct error err;

	assert_int_equal(gpu_table_parse(str_of(json), arena, &table, &err), 0);
	return gpu_table_sum_devices(&table);
}

static void devices_are_added_up_beside_what_is_live_on_their_nodes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_table_sum sum = sum_of(
		"{\"processes\":[" ROW("a", "5") "," ROW("b", "70") "," ROW("a", "7") "," ROW(
			"a",
			"null") "],\"devices\":[" DEVICE("a", "20",
	                                                 "100") "," DEVICE("a", "3",
	                                                                   "\"9007199254740993\"") "]}",
		arena);

	(void)state;
	assert_int_equal(sum.used_bytes, 23);
	assert_int_equal(sum.total_bytes, 9007199254740993 + 100);
	assert_int_equal(sum.live_bytes, 12);
	sum = sum_of("{\"processes\":[],\"devices\":[" DEVICE("a", "null", "100") "," DEVICE(
			     "a", "9223372036854775807", "9223372036854775807") "]}",
	             arena);
	assert_int_equal(sum.used_bytes, GPU_UNKNOWN);
	assert_int_equal(sum.total_bytes, INT64_MAX);
}

static void what_is_no_such_answer_is_refused(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"processes\":{}}", "<html>" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		struct gpu_table table;
		struct error err = { 0 };

		assert_int_equal(gpu_table_parse(str_of(texts[i]), arena, &table, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void rows_of_other_kinds_are_unknown(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_table table;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_table_parse(STR("{\"processes\":[1,null,{\"labels\":[],\"state\":7,"
	                                     "\"live_bytes\":1.5,\"peak_bytes\":\"x\"}]}"),
	                                 arena, &table, &err),
	                 0);
	assert_int_equal(table.count, 3);
	assert_int_equal(table.tick_ms, GPU_UNKNOWN);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(table.rows[i].live_bytes, GPU_UNKNOWN);
		assert_int_equal(table.rows[i].peak_bytes, GPU_UNKNOWN);
		assert_int_equal(gpu_table_rate(&table, &table.rows[i], 0), GPU_UNKNOWN);
	}
}

static void a_rate_is_of_the_ticks_in_the_range(void **state)
{
	static const struct {
		int64_t first_ms;
		int64_t last_ms;
		int64_t from_ms;
		int64_t rate;
	} cases[] = {
		/* ticks at 15, 30, 45 and 60 s are behind second 7: the first one began at 0 */
		{ 0, 60000, 7000, 100 },
		{ 0, 60000, 0, 100 },
		/* three ticks of it */
		{ 30000, 60000, 7000, 133 },
		/* one tick alone is one interval */
		{ 60000, 60000, 7000, 400 },
		{ 0, 15000, 20000, GPU_UNKNOWN },
	};
	const struct gpu_table table = { .tick_ms = 60000, .interval_ms = 15000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct gpu_table_row row = {
			.first_ms = cases[i].first_ms,
			.last_ms = cases[i].last_ms,
			.alloc_bytes = 6000,
		};

		assert_int_equal(gpu_table_rate(&table, &row, cases[i].from_ms), cases[i].rate);
	}
}

static void history_is_taken_by_id(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_table_row now[] = { { .id = STR("b"), .peak_bytes = 1 },
		                       { .id = STR("c"), .peak_bytes = 2, .failures = 3 } };
	struct gpu_table_row before[] = { { .id = STR("a"), .peak_bytes = 8 },
		                          { .id = STR("b"), .peak_bytes = 9, .failures = 7 } };
	struct gpu_table table = { .rows = now, .count = 2 };
	const struct gpu_table longer = { .rows = before, .count = 2 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_table_take_history(&table, &longer, arena, &err), 0);
	assert_int_equal(now[0].peak_bytes, 9);
	assert_int_equal(now[0].failures, 7);
	assert_int_equal(now[1].peak_bytes, 2);
	assert_int_equal(now[1].failures, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_becomes_rows),
		cmocka_unit_test(devices_are_added_up_beside_what_is_live_on_their_nodes),
		cmocka_unit_test(what_is_no_such_answer_is_refused),
		cmocka_unit_test(rows_of_other_kinds_are_unknown),
		cmocka_unit_test(a_rate_is_of_the_ticks_in_the_range),
		cmocka_unit_test(history_is_taken_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
