#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/query/gpu_tick_spans.h"

#define NODES     3
#define TICKS_MAX 500
#define ROUNDS    300
#define START_S   INT64_C(1767225600)

static const int64_t lookback_ns[GPU_LOOKBACKS_MAX] = {
	60 * NS_PER_S,
	600 * NS_PER_S,
	1200 * NS_PER_S,
	3600 * NS_PER_S,
};

struct world {
	struct arena *arena;
	struct gpu_ticks ticks;
	struct gpu_tick_spans spans;
	struct store_range range;
	size_t told[NODES][TICKS_MAX]; /* in how many pieces */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_world(struct world *world, uint64_t *random)
{
	struct error err = { 0 };
	const int64_t span_s = 10000;
	int64_t a;
	int64_t b;

	*world = (struct world){ .arena = arena_new(8 << 20, NULL) };
	world->ticks.arena = world->arena;
	for (uint32_t node = 0; node < NODES; node++) {
		const int64_t interval_s = 1 + (int64_t)(next_random(random) % 30);
		int64_t at_s = START_S + (int64_t)(next_random(random) % 5000);

		for (size_t i = 0; i < TICKS_MAX; i++, at_s += interval_s)
			if (next_random(random) % 8 > 0)
				assert_int_equal(gpu_ticks_add(&world->ticks, node, at_s * NS_PER_S,
				                               &err),
				                 0);
	}
	assert_int_equal(gpu_ticks_finish(&world->ticks, &err), 0);
	a = START_S + (int64_t)(next_random(random) % (uint64_t)span_s);
	b = START_S + (int64_t)(next_random(random) % (uint64_t)span_s);
	world->range =
		(struct store_range){ (a < b ? a : b) * NS_PER_S, (a < b ? b : a) * NS_PER_S };
	assert_int_equal(gpu_tick_spans_init(&world->spans, &world->ticks, world->range,
	                                     lookback_ns, &err),
	                 0);
}

/* A piece: its ticks, and nothing else, are found in it. */
static void look_at_piece(struct world *world, struct store_range piece)
{
	for (uint32_t node = 0; node < world->spans.node_count; node++) {
		const struct gpu_tick_span *span = &world->spans.nodes[node];
		const struct gpu_tick_list *list = &world->ticks.nodes[node];

		assert_in_range(span->past - span->first, 0, GPU_PIECE_TICKS);
		for (size_t i = 0; i < list->count; i++) {
			const bool is_in = i >= span->first && i < span->past;

			assert_int_equal(gpu_tick_spans_find(&world->spans, node, list->times[i]),
			                 is_in ? (ptrdiff_t)(i - span->first) : -1);
			assert_int_equal(
				gpu_tick_spans_find(&world->spans, node, list->times[i] + 1), -1);
			if (!is_in)
				continue;
			world->told[node][i]++;
			assert_true(list->times[i] >= piece.start_unix_ns &&
			            list->times[i] <= piece.end_unix_ns);
		}
	}
}

/* Whether a tick tells of the range: by the definitions alone. */
static bool tells(const struct world *world, uint32_t node, size_t tick)
{
	const struct gpu_tick_list *list = &world->ticks.nodes[node];
	const int64_t end_ns = world->range.end_unix_ns;
	const int64_t longest_ns = lookback_ns[GPU_LOOKBACKS_MAX - 1];
	int64_t holds_ns;

	if (gpu_ticks_at(&world->ticks, node, world->range.start_unix_ns, &holds_ns) &&
	    list->times[tick] == holds_ns)
		return true;
	if (gpu_ticks_at(&world->ticks, node, end_ns - longest_ns, &holds_ns) &&
	    list->times[tick] == holds_ns)
		return true;
	return list->times[tick] > end_ns - longest_ns && list->times[tick] <= end_ns;
}

static void each_tick_that_tells_is_in_one_piece(void **state)
{
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct store_range piece;
		struct world world;

		make_world(&world, &random);
		while (gpu_tick_spans_next(&world.spans, &piece))
			look_at_piece(&world, piece);
		for (uint32_t node = 0; node < world.spans.node_count; node++)
			for (size_t i = 0; i < world.ticks.nodes[node].count; i++)
				assert_int_equal(world.told[node][i], tells(&world, node, i));
		arena_free(world.arena);
	}
}

static void without_ticks_there_is_no_piece(void **state)
{
	struct arena *arena = arena_new(1 << 16, NULL);
	struct gpu_ticks ticks = { .arena = arena };
	struct gpu_tick_spans spans;
	struct store_range piece;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gpu_ticks_finish(&ticks, &err), 0);
	assert_int_equal(gpu_tick_spans_init(&spans, &ticks, (struct store_range){ 1, 2 },
	                                     lookback_ns, &err),
	                 0);
	assert_false(gpu_tick_spans_next(&spans, &piece));
	assert_int_equal(gpu_tick_spans_find(&spans, 0, 1), -1);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_tick_that_tells_is_in_one_piece),
		cmocka_unit_test(without_ticks_there_is_no_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
