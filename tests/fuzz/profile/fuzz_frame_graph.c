/*
 * Stacks of any shape as a tree of frames: its table, its graph at any cut and its sandwiches
 * add up.
 *
 * Shape    a byte for the cut, then samples: a byte with side and number of frames, a byte for
 *          each frame (its function and line), a byte for the value.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "profile/frame_graph.h"
#include "profile/frame_sandwich.h"
#include "tests/unit/profile/frame_fixture.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define FUNCTIONS   8
#define DEPTH_MAX   16
#define SAMPLES_MAX 16 /* what the fixture has room for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[FUNCTIONS] = {
	"a", "b", "c", "other", "total", "", "long name", "z"
};

/* Inlined into itself, when its byte says so. */
static uint32_t location_of(struct symbols_fixture *symbols, uint8_t byte)
{
	const uint32_t function =
		fixture_function(symbols, str_of(names[byte % FUNCTIONS]), byte & 32 ? "f.py" : "");
	const struct symbol_line lines[] = { { .line = byte >> 6, .function = function },
		                             { .line = 9, .function = function } };

	return fixture_location(symbols, PROFILE_NONE, byte, lines, byte & 16 ? 2 : 1);
}

static void read_samples(struct frame_fixture *fixture, const uint8_t *data, size_t size)
{
	for (int samples = 0; size >= 2 && samples < SAMPLES_MAX; samples++) {
		const uint8_t head = *data++;
		uint32_t stack = 0;

		size--;
		for (int depth = head % DEPTH_MAX; depth > 0 && size > 1; depth--, size--)
			stack = fixture_stack(fixture->symbols, stack,
			                      location_of(fixture->symbols, *data++));
		/* what has no stack is no sum: profile/symbols.h */
		if (stack != 0)
			frame_fixture_add(fixture, stack, *data,
			                  head & 128 ? FRAME_RIGHT : FRAME_LEFT);
		data++;
		size--;
	}
}

static void check_table(const struct frame_fixture *fixture)
{
	struct frame_value sums[FRAME_SIDES] = { { 0, 0 } };

	for (size_t i = 0; i < fixture->table.count; i++)
		for (size_t s = 0; s < FRAME_SIDES; s++) {
			const struct frame_value *value = &fixture->table.rows[i].sides[s];

			assert(value->self <= value->total);
			assert(value->total <= fixture->tree->nodes[0].sides[s].total);
			sums[s].self += value->self;
		}
	for (size_t s = 0; s < FRAME_SIDES; s++)
		assert(sums[s].self == fixture->tree->nodes[0].sides[s].total);
}

/* Every level lies in the one above, and no more nodes are drawn than asked for. */
static void check_graph(const struct frame_fixture *fixture, size_t max_nodes)
{
	const struct frame_graph_options options = {
		.side_count = FRAME_SIDES,
		.max_nodes = max_nodes,
		.numbers = fixture->table.numbers,
		.folded_number = (uint32_t)fixture->table.count + 1,
	};
	struct frame_graph graph;
	struct error err;
	int64_t above[FRAME_SIDES] = { INT64_MAX, INT64_MAX };
	size_t drawn = 0;

	frame_fixture_must(frame_graph_make(fixture->tree, 0, &options, &graph, &err), &err);
	for (size_t i = 0; i < graph.level_count; i++) {
		int64_t sums[FRAME_SIDES] = { 0 };

		for (size_t j = 0; j < graph.levels[i].count; j += 7) {
			const int64_t *node = &graph.levels[i].values[j];

			drawn += node[6] != options.folded_number;
			for (size_t s = 0; s < FRAME_SIDES; s++) {
				assert(node[3 * s] >= 0);
				sums[s] += node[3 * s + 1];
			}
		}
		for (size_t s = 0; s < FRAME_SIDES; s++) {
			assert(sums[s] <= above[s]);
			above[s] = sums[s];
		}
	}
	assert(max_nodes == 0 || drawn <= max_nodes + 1); /* the root is not counted */
	assert(drawn + graph.folded_nodes == fixture->tree->node_count);
}

static void check_sandwich(const struct frame_fixture *fixture, const char *name)
{
	struct frame_sandwich sandwich;
	struct error err;
	struct frame_value sums[FRAME_SIDES] = { { 0, 0 } };

	frame_fixture_must(frame_sandwich_make(fixture->tree, &fixture->table, fixture->ranks,
	                                       str_of(name), &sandwich, &err),
	                   &err);
	for (size_t i = 0; i < fixture->table.count; i++)
		if (str_equals(fixture->frames->frames[fixture->table.rows[i].frame].name, name))
			for (size_t s = 0; s < FRAME_SIDES; s++)
				sums[s].self += fixture->table.rows[i].sides[s].self;
	for (size_t s = 0; s < FRAME_SIDES && sandwich.is_found; s++) {
		assert(sandwich.sides[s].self == sums[s].self);
		assert(sandwich.sides[s].total ==
		       sandwich.callers->nodes[FRAME_SANDWICH_TOP].sides[s].total);
		assert(sandwich.sides[s].total <= fixture->tree->nodes[0].sides[s].total);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct frame_fixture fixture;

	if (size == 0)
		return 0;
	frame_fixture_begin(&fixture, arena, data[0] & 1 ? FRAME_BY_LINE : FRAME_BY_FUNCTION);
	read_samples(&fixture, data + 1, size - 1);
	frame_fixture_finish(&fixture);
	check_table(&fixture);
	check_graph(&fixture, data[0] >> 1);
	for (size_t i = 0; i < FUNCTIONS; i++)
		check_sandwich(&fixture, names[i]);
	frame_fixture_free(&fixture);
	return 0;
}
