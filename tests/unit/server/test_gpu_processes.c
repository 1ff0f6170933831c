#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gpu_model.h"
#include "server/query/gpu_processes.h"

#define LIMIT  ((size_t)16 << 20)
#define ROUNDS 300
#define DAY    INT64_C(86400)

static struct gpu_process_list ask(struct fake_store *fake, int64_t start_s, int64_t end_s,
                                   struct arena *arena)
{
	CLEANUP(gpu_question_fini) struct gpu_question question;
	const struct read_query_context context = { .store = &fake->store, .arena = arena };
	struct gpu_process_list list = { 0 };
	struct error err = { 0 };

	gpu_question_init(&question, &context);
	if (gpu_question_set_range(&question, start_s * 1000, end_s * 1000, &err) < 0 ||
	    gpu_processes_list(&question, GPU_PROCESS_BY_LIVE, 100, &list, &err) < 0)
		fail_msg("%s", err.message);
	return list;
}

static const struct gpu_process_row *row_of(const struct gpu_process_list *list, int process)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct str *pid = label_set_find(&list->rows[i].labels, STR("pid"));

		if (pid->data[2] - '0' == process)
			return &list->rows[i];
	}
	return NULL;
}

/* What the model says of a process at a time; NULL where it lists none. */
static void check_process(const struct gpu_model *model, const struct gpu_process_row *row,
                          int process, int64_t at_s)
{
	const int64_t live = gpu_model_live(model, process, at_s);
	int64_t peak = 0;
	int last = -1;
	int newest = -1;

	for (int tick = 0; tick < MODEL_TICKS; tick++) {
		int64_t held = 0;

		if (MODEL_START_S + tick * MODEL_INTERVAL_S > at_s)
			break;
		if (gpu_model_has_node(model, gpu_model_node(process), tick))
			newest = tick;
		if (gpu_model_has_process(model, process, tick))
			last = tick;
		for (int i = 0; i + 1 < MODEL_CLASSES; i++)
			if (model->bytes[tick][process][i] > 0)
				held += model->bytes[tick][process][i];
		peak = held > peak ? held : peak;
	}
	if (last < 0) {
		assert_null(row);
		return;
	}
	assert_non_null(row);
	assert_int_equal(row->last_ms, (MODEL_START_S + last * MODEL_INTERVAL_S) * 1000);
	assert_int_equal(row->peak_bytes, peak);
	assert_int_equal(row->state, last < newest ? GPU_PROCESS_EXITED
	                             : live < 0    ? GPU_PROCESS_UNSEEN
	                                           : GPU_PROCESS_RUNNING);
	if (live >= 0)
		assert_int_equal(row->live_bytes, live);
}

static void a_list_is_the_state_at_its_time(void **state)
{
	uint64_t random = 11;
	int rounds = 0;

	(void)state;
	while (rounds < ROUNDS) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		struct gpu_process_list list;
		struct gpu_model model;
		struct fake_store fake;
		/* behind all ticks: earlier ones would see fewer, and perhaps another interval */
		const int64_t at_s =
			MODEL_START_S + (MODEL_TICKS - 1) * MODEL_INTERVAL_S + rounds % 60;

		if (!gpu_model_make(&model, &random))
			continue;
		rounds++;
		fake_store_init(&fake, model.profiles, model.profile_count);
		list = ask(&fake, MODEL_START_S, at_s, arena);
		for (int i = 0; i < MODEL_PROCESSES; i++)
			check_process(&model, row_of(&list, i), i, at_s);
		for (size_t i = 0; i + 1 < list.count; i++)
			assert_true(list.rows[i].live_bytes >= list.rows[i + 1].live_bytes);
		assert_int_equal(fake.merges, 0);
	}
}

#define LIVE  "__profile_type__=memory:inuse_space:bytes:space:bytes,hostname=n,cuda_class=device"
#define ALLOC "__profile_type__=memory:alloc_space:bytes:space:bytes,hostname=n,cuda_class=device"

static int64_t ns(int64_t day, int64_t second)
{
	return (MODEL_START_S + day * DAY + second) * NS_PER_S;
}

static void days_without_a_tick_end_the_search_for_the_first(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct fake_profile profiles[] = {
		/* a whole day is missing behind these */
		{ LIVE ",pid=100,service_name=a", ns(0, 5000), 1, "f" },
		{ LIVE ",pid=100,service_name=a", ns(2, 7215), 1, "f" },
		{ LIVE ",pid=100,service_name=a", ns(2, 7200), 1, "f" },
		{ LIVE ",pid=100,service_name=a", ns(2, 80000), 1, "f" },
		{ LIVE ",pid=100,service_name=a", ns(3, 100), 1, "f" },
		{ LIVE ",pid=100,service_name=a", ns(4, 50000), 1, "f" },
		/* another service that had the pid */
		{ LIVE ",pid=100,service_name=b", ns(2, 10), 1, "f" },
		/* one that began a moment ago, and one on the first day */
		{ LIVE ",pid=101,service_name=a", ns(4, 50000), 1, "f" },
		{ LIVE ",pid=102,service_name=a", ns(3, 86399), 1, "f" },
		{ LIVE ",pid=102,service_name=a", ns(4, 50000), 1, "f" },
	};
	struct fake_store fake;
	struct gpu_process_list list;

	(void)state;
	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	list = ask(&fake, MODEL_START_S + 4 * DAY + 49000, MODEL_START_S + 4 * DAY + 50001, arena);
	assert_int_equal(list.count, 3);
	assert_int_equal(row_of(&list, 0)->first_ms, ns(2, 7200) / NS_PER_MS);
	assert_int_equal(row_of(&list, 1)->first_ms, ns(4, 50000) / NS_PER_MS);
	assert_int_equal(row_of(&list, 2)->first_ms, ns(3, 86399) / NS_PER_MS);
}

static void sums_past_an_int64_stay_at_its_end(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct fake_profile profiles[] = {
		{ LIVE ",pid=100,service_name=a,gpu=0", ns(0, 0), INT64_MAX, "f" },
		{ LIVE ",pid=100,service_name=a,gpu=1", ns(0, 0), INT64_MAX, "f" },
		{ ALLOC ",pid=100,service_name=a,gpu=0", ns(0, 0), INT64_MAX, "f" },
		{ ALLOC ",pid=100,service_name=a,gpu=0", ns(0, 15), INT64_MAX, "f" },
		{ LIVE ",pid=101,service_name=a,gpu=0", ns(0, 15), 1, "f" },
	};
	struct fake_store fake;
	struct gpu_process_list list;

	(void)state;
	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	list = ask(&fake, MODEL_START_S - 100, MODEL_START_S, arena);
	assert_int_equal(row_of(&list, 0)->live_bytes, INT64_MAX);
	assert_int_equal(row_of(&list, 0)->by_class.items[0].bytes, INT64_MAX);
	list = ask(&fake, MODEL_START_S - 100, MODEL_START_S + 15, arena);
	assert_int_equal(row_of(&list, 0)->alloc_bytes, INT64_MAX);
	/* it has profiles at the newest tick, only nothing is live any more */
	assert_int_equal(row_of(&list, 0)->state, GPU_PROCESS_RUNNING);
	assert_int_equal(row_of(&list, 0)->live_bytes, 0);
	assert_int_equal(row_of(&list, 0)->freed_bytes, INT64_MAX);
}

static void names_apart_are_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	static char labels[300][160];
	struct fake_profile profiles[300];
	struct fake_store fake;
	struct gpu_process_list list;
	int64_t sum = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		(void)snprintf(labels[i], sizeof(labels[i]), LIVE ",pid=100,service_name=a,gpu=%d",
		               i);
		profiles[i] = (struct fake_profile){ labels[i], ns(0, 0), i, "f" };
	}
	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	list = ask(&fake, MODEL_START_S - 100, MODEL_START_S, arena);
	for (size_t i = 0; i < list.rows[0].by_gpu.count; i++)
		sum += list.rows[0].by_gpu.items[i].bytes;
	/* 256 of their own, and one for the rest: numbers 256 to 299 */
	assert_int_equal(list.rows[0].by_gpu.count, 257);
	assert_true(str_equals(list.rows[0].by_gpu.items[256].name, "other"));
	assert_int_equal(list.rows[0].by_gpu.items[256].bytes, 44 * (256 + 299) / 2);
	assert_int_equal(sum, 300 * 299 / 2);
	assert_int_equal(list.rows[0].live_bytes, sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_the_state_at_its_time),
		cmocka_unit_test(days_without_a_tick_end_the_search_for_the_first),
		cmocka_unit_test(sums_past_an_int64_stay_at_its_end),
		cmocka_unit_test(names_apart_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
