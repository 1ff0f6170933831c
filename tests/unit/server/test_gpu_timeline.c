#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu_model.h"
#include "server/query/gpu_timeline.h"

#define LIMIT  ((size_t)16 << 20)
#define ROUNDS 300

struct asked {
	const char *selector;
	int64_t start_ms;
	int64_t end_ms;
	struct gpu_timeline_options options;
};

static int ask(struct fake_store *fake, const struct asked *asked, struct arena *arena,
               struct gpu_timeline *out, struct error *err)
{
	CLEANUP(gpu_question_fini) struct gpu_question question;
	const struct read_query_context context = { .store = &fake->store, .arena = arena };

	gpu_question_init(&question, &context);
	if (gpu_question_set_range(&question, asked->start_ms, asked->end_ms, err) < 0 ||
	    gpu_question_set_selector(&question, str_of(asked->selector), err) < 0)
		return -1;
	return gpu_timeline_make(&question, &asked->options, out, err);
}

/* The line of a process, or NULL when it is among the others. */
static const struct gpu_line *line_of(const struct gpu_timeline *timeline, int process)
{
	const char pid[] = { '1', '0', (char)('0' + process), '\0' };

	for (size_t i = 0; i < timeline->lines.count; i++)
		if (str_equals(*label_set_find(&timeline->lines.items[i].labels, STR("pid")), pid))
			return &timeline->lines.items[i];
	return NULL;
}

static void check_step(const struct gpu_model *model, const struct gpu_timeline *timeline,
                       size_t step)
{
	const int64_t at_s = timeline->start_ms / 1000 + (int64_t)step * timeline->step_ms / 1000;
	const bool heard[] = { gpu_model_tick(model, 0, at_s) >= 0,
		               gpu_model_tick(model, 1, at_s) >= 0 };
	int64_t total = 0;
	int64_t other = 0;

	for (int i = 0; i < MODEL_PROCESSES; i++) {
		const int64_t live = gpu_model_live(model, i, at_s);
		const struct gpu_line *line = line_of(timeline, i);

		total += live > 0 ? live : 0;
		if (line)
			assert_int_equal(line->values[step], live < 0 ? GPU_GAP : live);
		else
			other += live > 0 ? live : 0;
	}
	assert_int_equal(timeline->lines.total[step], heard[0] || heard[1] ? total : GPU_GAP);
	assert_int_equal(timeline->lines.other[step], heard[0] || heard[1] ? other : GPU_GAP);
}

static void values_are_what_was_live_at_their_steps(void **state)
{
	uint64_t random = 7;
	int rounds = 0;

	(void)state;
	while (rounds < ROUNDS) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		static const int64_t steps_ms[] = { 4000, 15000, 20000, 45000 };
		struct gpu_timeline timeline;
		struct gpu_model model;
		struct fake_store fake;
		struct error err = { 0 };
		const struct asked asked = {
			.selector = "{}",
			.start_ms = MODEL_START_S * 1000 + rounds % 40 * 1000,
			.end_ms = (MODEL_START_S + 240) * 1000,
			.options = { STR("process"), steps_ms[rounds % 4], 1 + (size_t)rounds % 3 },
		};

		if (!gpu_model_make(&model, &random))
			continue;
		rounds++;
		fake_store_init(&fake, model.profiles, model.profile_count);
		if (ask(&fake, &asked, arena, &timeline, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(timeline.step_count > 0);
		assert_int_equal(timeline.start_ms % asked.options.step_ms, 0);
		assert_true(timeline.lines.count <= asked.options.top);
		for (size_t step = 0; step < timeline.step_count; step++)
			check_step(&model, &timeline, step);
		/* totals are enough: samples are never read */
		assert_int_equal(fake.merges, 0);
	}
}

static void starts_and_exits_are_first_and_last_ticks(void **state)
{
	uint64_t random = 3;
	int rounds = 0;

	(void)state;
	while (rounds < ROUNDS) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		int64_t ms[2][MODEL_PROCESSES] = { 0 }; /* start, exit */
		const struct asked asked = {
			.selector = "{}",
			.start_ms = MODEL_START_S * 1000,
			.end_ms = (MODEL_START_S + 3600) * 1000,
			.options = { STR("process"), 60000, 10 },
		};
		struct gpu_timeline timeline;
		struct gpu_model model;
		struct fake_store fake;
		struct error err = { 0 };

		if (!gpu_model_make(&model, &random))
			continue;
		rounds++;
		fake_store_init(&fake, model.profiles, model.profile_count);
		if (ask(&fake, &asked, arena, &timeline, &err) < 0)
			fail_msg("%s", err.message);
		for (size_t i = 0; i < timeline.markers.count; i++) {
			const struct gpu_marker *marker = &timeline.markers.items[i];
			const char *pid = strstr(marker->process.data, ":10") + 3;

			if (marker->kind == GPU_MARKER_START || marker->kind == GPU_MARKER_EXIT)
				ms[marker->kind == GPU_MARKER_EXIT][*pid - '0'] = marker->time_ms;
		}
		for (int i = 0; i < MODEL_PROCESSES; i++) {
			int first = -1;
			int last = -1;
			int newest = -1;

			for (int tick = 0; tick < MODEL_TICKS; tick++) {
				if (gpu_model_has_node(&model, gpu_model_node(i), tick))
					newest = tick;
				if (!gpu_model_has_process(&model, i, tick))
					continue;
				first = first < 0 ? tick : first;
				last = tick;
			}
			if (first < 0)
				continue;
			assert_int_equal(ms[0][i],
			                 (MODEL_START_S + first * MODEL_INTERVAL_S) * 1000);
			assert_int_equal(ms[1][i],
			                 last < newest
			                         ? (MODEL_START_S + last * MODEL_INTERVAL_S) * 1000
			                         : 0);
		}
	}
}

static void too_many_steps_are_refused(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct asked asked = {
		.selector = "",
		.start_ms = 1,
		.end_ms = INT64_MAX,
		.options = { STR("process"), 1, 1 },
	};
	struct gpu_timeline timeline;
	struct fake_store fake;
	struct error err = { 0 };

	(void)state;
	fake_store_init(&fake, NULL, 0);
	assert_int_equal(ask(&fake, &asked, arena, &timeline, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(fake.scans, 0);
	asked.end_ms = GPU_STEPS_MAX;
	assert_int_equal(ask(&fake, &asked, arena, &timeline, &err), 0);
	assert_int_equal(timeline.step_count, GPU_STEPS_MAX);
	for (size_t i = 0; i < timeline.step_count; i++)
		assert_int_equal(timeline.lines.total[i], GPU_GAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_what_was_live_at_their_steps),
		cmocka_unit_test(starts_and_exits_are_first_and_last_ticks),
		cmocka_unit_test(too_many_steps_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
