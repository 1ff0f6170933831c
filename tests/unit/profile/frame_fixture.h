/*
 * Trees of frames made of text, for tests: "main;work" and what it has on each side.
 */
#pragma once

#include <stdio.h>

#include "profile/frame_totals.h"
#include "tests/unit/profile/symbols_fixture.h"

#define FRAME_FIXTURE_SUMS 64

struct frame_path {
	const char *path;
	int64_t left;
	int64_t right;
};

/* A finished tree, its order and its table. */
struct frame_fixture {
	struct symbols_fixture *symbols;
	struct frame_set *frames;
	struct frame_tree *tree;
	uint32_t *ranks;
	struct frame_totals table;
};

static inline void frame_fixture_must(int status, const struct error *err)
{
	if (status < 0) {
		(void)fprintf(stderr, "%s\n", err->message);
		abort();
	}
}

static inline void frame_fixture_begin(struct frame_fixture *fixture, struct arena *arena,
                                       enum frame_detail detail)
{
	struct error err;

	fixture->symbols = fixture_new();
	frame_fixture_must(frame_set_new(arena, detail, &fixture->frames, &err), &err);
	frame_fixture_must(frame_tree_new(fixture->frames, &fixture->tree, &err), &err);
}

/* Sums of single stacks of the fixture's window. */
static inline void frame_fixture_add(struct frame_fixture *fixture, uint32_t stack, int64_t value,
                                     enum frame_side side)
{
	const struct stack_sums sums = {
		.symbols = &fixture->symbols->symbols,
		.stacks = &stack,
		.sums = &value,
		.count = 1,
	};
	struct error err;

	frame_fixture_must(frame_tree_add_sums(fixture->tree, &sums, side, &err), &err);
}

static inline void frame_fixture_finish(struct frame_fixture *fixture)
{
	struct error err;

	frame_fixture_must(frame_set_choose_lines(fixture->frames, &err), &err);
	frame_fixture_must(
		frame_set_rank(fixture->frames, fixture->tree->arena, &fixture->ranks, &err), &err);
	frame_fixture_must(frame_tree_finish(fixture->tree, fixture->ranks, &err), &err);
	frame_fixture_must(frame_totals_make(fixture->tree, fixture->ranks, &fixture->table, &err),
	                   &err);
}

static inline void frame_fixture_of(struct frame_fixture *fixture, struct arena *arena,
                                    const struct frame_path *paths, size_t count)
{
	frame_fixture_begin(fixture, arena, FRAME_BY_FUNCTION);
	for (size_t i = 0; i < count; i++) {
		const uint32_t stack = fixture_path(fixture->symbols, paths[i].path);

		frame_fixture_add(fixture, stack, paths[i].left, FRAME_LEFT);
		frame_fixture_add(fixture, stack, paths[i].right, FRAME_RIGHT);
	}
	frame_fixture_finish(fixture);
}

static inline void frame_fixture_free(struct frame_fixture *fixture)
{
	symbols_fixture_free(fixture->symbols);
}

/* The node of "main;work", or FRAME_NONE. */
static inline uint32_t frame_fixture_find(const struct frame_tree *tree, const char *path)
{
	struct str rest = str_of(path);
	struct str name;
	uint32_t node = 0;

	while (node != FRAME_NONE && str_split(&rest, ';', &name)) {
		node = tree->nodes[node].first_child;
		while (node != FRAME_NONE &&
		       !str_equal(tree->frames->frames[tree->nodes[node].frame].name, name))
			node = tree->nodes[node].next_sibling;
	}
	return node;
}

/* A row as "name self/total self/total". */
static inline const char *frame_fixture_row(const struct frame_fixture *fixture, size_t row,
                                            char text[static 128])
{
	const struct frame_row *at = &fixture->table.rows[row];

	(void)snprintf(text, 128, "%.*s %lld/%lld %lld/%lld",
	               STR_ARGS(fixture->frames->frames[at->frame].name),
	               (long long)at->sides[0].self, (long long)at->sides[0].total,
	               (long long)at->sides[1].self, (long long)at->sides[1].total);
	return text;
}
