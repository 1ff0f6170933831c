#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "storage/group_times.h"
#include "storage/window_name.h"

#define DAY   20000
#define START (DAY * NS_PER_DAY)
#define END   (START + NS_PER_DAY - 1)

static struct group_bounds exactly(int64_t oldest, int64_t newest)
{
	return (struct group_bounds){ oldest, oldest, newest, newest };
}

static void nothing_is_known_at_first(void **state)
{
	struct group_times *times = group_times_new(DAY);

	(void)state;
	assert_int_equal(group_times_ask(times, 7, INT64_MIN, INT64_MAX), GROUP_UNKNOWN);
	assert_int_equal(group_times_ask(times, 7, START, END), GROUP_UNKNOWN);
	/* but what is of another day is not here */
	assert_int_equal(group_times_ask(times, 7, INT64_MIN, START - 1), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 7, END + 1, INT64_MAX), GROUP_ABSENT);
	group_times_free(times);
}

static void what_was_seen_is_known(void **state)
{
	const struct group_bounds seen = exactly(START + 100, START + 200);
	struct group_times *times = group_times_new(DAY);

	(void)state;
	group_times_learn(times, group_times_epoch(times), 3, &seen);
	group_times_learn(times, group_times_epoch(times), 4, &GROUP_BOUNDS_NONE);
	assert_int_equal(group_times_ask(times, 3, START, END), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 3, START, START + 99), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 3, START + 201, END), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 3, START + 100, START + 100), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 3, START + 101, START + 200), GROUP_PRESENT);
	/* between them there may be more, or not */
	assert_int_equal(group_times_ask(times, 3, START + 101, START + 199), GROUP_UNSURE);
	assert_int_equal(group_times_ask(times, 4, INT64_MIN, INT64_MAX), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 2, START, END), GROUP_UNKNOWN);
	assert_int_equal(group_times_ask(times, 5, START, END), GROUP_UNKNOWN);
	group_times_free(times);
}

static void what_is_committed_widens_it(void **state)
{
	const struct group_bounds seen = exactly(START + 100, START + 200);
	struct group_times *times = group_times_new(DAY);

	(void)state;
	group_times_learn(times, group_times_epoch(times), 0, &seen);
	group_times_learn(times, group_times_epoch(times), 1, &GROUP_BOUNDS_NONE);
	group_times_add(times, 0, START + 50);
	group_times_add(times, 0, START + 300);
	group_times_add(times, 1, START + 70);
	assert_int_equal(group_times_ask(times, 0, START, START + 50), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 0, START, START + 49), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 0, START + 300, END), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 0, START + 301, END), GROUP_ABSENT);
	assert_int_equal(group_times_ask(times, 1, START + 70, START + 70), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 1, START + 71, END), GROUP_ABSENT);
	/* one that nobody has looked at has one at least; what else it has is not known */
	group_times_add(times, 2, START + 10);
	assert_int_equal(group_times_ask(times, 2, START, END), GROUP_PRESENT);
	assert_int_equal(group_times_ask(times, 2, START + 11, END), GROUP_UNKNOWN);
	group_times_free(times);
}

static void what_is_removed_is_unknown(void **state)
{
	const struct group_bounds seen = exactly(START + 100, START + 200);
	struct group_times *times = group_times_new(DAY);
	const uint64_t before = group_times_epoch(times);

	(void)state;
	group_times_learn(times, before, 0, &seen);
	group_times_learn(times, before, 1, &seen);
	group_times_forget_all(times);
	assert_int_equal(group_times_ask(times, 0, START, END), GROUP_UNKNOWN);
	assert_int_equal(group_times_ask(times, 1, START, END), GROUP_UNKNOWN);
	/* a look that began before the removal says nothing any more */
	group_times_learn(times, before, 0, &seen);
	assert_int_equal(group_times_ask(times, 0, START, END), GROUP_UNKNOWN);
	group_times_learn(times, group_times_epoch(times), 0, &seen);
	assert_int_equal(group_times_ask(times, 0, START, END), GROUP_PRESENT);
	group_times_free(times);
}

static void outermost_days_end_with_the_scale(void **state)
{
	struct group_times *first = group_times_new(day_of(INT64_MIN));
	struct group_times *last = group_times_new(day_of(INT64_MAX));

	(void)state;
	assert_true(day_start_ns(day_of(INT64_MIN)) == INT64_MIN);
	assert_true(day_end_ns(day_of(INT64_MAX)) == INT64_MAX);
	assert_true(day_start_ns(-1) == -NS_PER_DAY && day_end_ns(-1) == -1);
	group_times_add(first, 0, INT64_MIN);
	group_times_add(last, 0, INT64_MAX - 1);
	assert_int_equal(group_times_ask(first, 0, INT64_MIN, 0), GROUP_PRESENT);
	assert_int_equal(group_times_ask(last, 0, 0, INT64_MAX), GROUP_PRESENT);
	group_times_free(first);
	group_times_free(last);
}

/* ---- against a plain model ---- */

#define PROFILES 200
#define SPREAD   40 /* times, so that ranges meet bounds often */

struct model {
	unsigned seed;
	struct group_times *times;
	int64_t committed[PROFILES];
	size_t count;
};

static int64_t draw(struct model *model, int64_t below)
{
	return rand_r(&model->seed) % below;
}

/* A look at what was there when the first `count` were; blocks tell intervals only. */
static struct group_bounds look(struct model *model, size_t count, int64_t slack)
{
	struct group_bounds bounds = GROUP_BOUNDS_NONE;

	for (size_t i = 0; i < count; i++) {
		const int64_t time = model->committed[i];

		if (time < bounds.oldest_low)
			bounds.oldest_low = time;
		if (time > bounds.newest_high)
			bounds.newest_high = time;
	}
	if (count == 0)
		return bounds;
	bounds.oldest_high = bounds.oldest_low + draw(model, slack + 1);
	bounds.newest_low = bounds.newest_high - draw(model, slack + 1);
	bounds.oldest_low -= draw(model, slack + 1);
	bounds.newest_high += draw(model, slack + 1);
	return bounds;
}

static bool has_any(const struct model *model, int64_t start, int64_t end)
{
	for (size_t i = 0; i < model->count; i++)
		if (model->committed[i] >= start && model->committed[i] <= end)
			return true;
	return false;
}

static void compare(struct model *model)
{
	for (int i = 0; i < 30; i++) {
		const int64_t start = START + 100 + draw(model, SPREAD) - 5;
		const int64_t end = start + draw(model, SPREAD);
		const enum group_presence found = group_times_ask(model->times, 0, start, end);

		if (found == GROUP_PRESENT || found == GROUP_ABSENT)
			assert_int_equal(found == GROUP_PRESENT, has_any(model, start, end));
	}
}

static void step(struct model *model)
{
	const size_t before = model->count;
	const uint64_t epoch = group_times_epoch(model->times);
	const struct group_bounds seen = look(model, before, draw(model, 3) ? 0 : 4);

	/* commits come between a look and what is learnt of it */
	while (draw(model, 3) && model->count < PROFILES) {
		const int64_t time = START + 100 + draw(model, SPREAD);

		model->committed[model->count++] = time;
		group_times_add(model->times, 0, time);
	}
	if (draw(model, 8) == 0) {
		group_times_forget_all(model->times);
		model->count = 0;
	}
	compare(model);
	group_times_learn(model->times, epoch, 0, &seen);
	compare(model);
}

static void what_is_said_is_true(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct model model = { .seed = seed, .times = group_times_new(DAY) };

		for (int i = 0; i < 100; i++)
			step(&model);
		group_times_free(model.times);
	}
}

/* After one look everything but the inside is known, whatever is committed. */
static void after_a_look_ends_are_exact(void **state)
{
	struct model model = { .seed = 1, .times = group_times_new(DAY) };

	(void)state;
	group_times_learn(model.times, 0, 0, &GROUP_BOUNDS_NONE);
	while (model.count < PROFILES) {
		const int64_t time = START + 100 + draw(&model, SPREAD);
		struct group_bounds seen;

		model.committed[model.count++] = time;
		group_times_add(model.times, 0, time);
		seen = look(&model, model.count, 0);
		assert_int_equal(group_times_ask(model.times, 0, START, seen.oldest_low),
		                 GROUP_PRESENT);
		assert_int_equal(group_times_ask(model.times, 0, START, seen.oldest_low - 1),
		                 GROUP_ABSENT);
		assert_int_equal(group_times_ask(model.times, 0, seen.newest_high, END),
		                 GROUP_PRESENT);
		assert_int_equal(group_times_ask(model.times, 0, seen.newest_high + 1, END),
		                 GROUP_ABSENT);
	}
	group_times_free(model.times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(what_was_seen_is_known),
		cmocka_unit_test(what_is_committed_widens_it),
		cmocka_unit_test(what_is_removed_is_unknown),
		cmocka_unit_test(outermost_days_end_with_the_scale),
		cmocka_unit_test(what_is_said_is_true),
		cmocka_unit_test(after_a_look_ends_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
