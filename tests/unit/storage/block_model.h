/*
 * For tests of blocks: profiles of many kinds, drawn from a seed, and their samples as
 * pages.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/block_builder.h"

#define SERIES_MOST 5
#define STACKS_MOST 4000
#define ARENA_BYTES ((size_t)1 << 30)

/* How the values of a series are drawn. */
enum kind {
	KIND_ANY,      /* all of int64 */
	KIND_SMALL,    /* 1 to 4 */
	KIND_CONSTANT, /* 7 */
	KIND_TENFOLD,  /* the first series, times 10,000,000 */
	KIND_BY_STACK, /* the first series, times a power of two of the stack */
	KIND_BY_GROUP, /* the same, of the stack and the group */
	KIND_GAUGE,    /* of the stack, plus a little */
};

struct scenario {
	const char *name;
	uint32_t groups;
	uint32_t profiles; /* of each group */
	uint32_t stacks;   /* that there are */
	uint32_t rows;     /* at most, of a profile */
	uint32_t series;
	enum kind kinds[SERIES_MOST];
	uint32_t spans; /* at most, that share a stack; 0: no ids */
	bool wild_times;
};

struct row {
	uint32_t stack;
	uint64_t span;
	uint8_t trace[TRACE_ID_SIZE];
	int64_t values[SERIES_MOST];
};

struct profile_model {
	struct block_profile head;
	int64_t totals[SERIES_MOST];
	uint32_t group_index;
	uint32_t row_count;
	struct row *rows;
};

struct model {
	const struct scenario *scenario;
	uint64_t seed;
	uint32_t group; /* of the profile that is being drawn */
	uint32_t profile_count;
	struct profile_model *profiles;
	struct arena *arena;
};

/* splitmix64 */
static inline uint64_t draw(struct model *model)
{
	uint64_t z = (model->seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint32_t draw_below(struct model *model, uint32_t end)
{
	return (uint32_t)(draw(model) % end);
}

/* Ids are spread, and the largest one is the largest that there is. */
static inline uint32_t stack_id(const struct scenario *scenario, uint32_t index)
{
	return index + 1 == scenario->stacks ? STACKS_MOST - 1 : index * 3 % (STACKS_MOST - 1);
}

static inline int64_t draw_value(struct model *model, enum kind kind, const struct row *row)
{
	switch (kind) {
	case KIND_ANY:
		return (int64_t)draw(model);
	case KIND_SMALL:
		return 1 + draw_below(model, 4);
	case KIND_CONSTANT:
		return 7;
	case KIND_TENFOLD:
		return (int64_t)((uint64_t)row->values[0] * 10000000);
	case KIND_BY_STACK:
		return (int64_t)((uint64_t)row->values[0] << row->stack % 20);
	case KIND_BY_GROUP:
		return (int64_t)((uint64_t)row->values[0] << (row->stack + model->group) % 20);
	case KIND_GAUGE:
		return row->stack * 1000 + draw_below(model, 3);
	}
	return 0;
}

static inline void draw_row(struct model *model, uint32_t stack, uint32_t nth, struct row *row)
{
	const struct scenario *scenario = model->scenario;

	memset(row, 0, sizeof(*row));
	row->stack = stack;
	if (nth > 0 || (scenario->spans > 0 && draw_below(model, 2))) {
		row->span = 1000 + draw_below(model, 50);
		memset(row->trace, (int)(1 + draw_below(model, 9)), sizeof(row->trace));
	}
	for (uint32_t i = 0; i < scenario->series; i++)
		row->values[i] = draw_value(model, scenario->kinds[i], row);
}

static inline int compare_ids(const void *a, const void *b)
{
	const uint32_t left = *(const uint32_t *)a;
	const uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Some of the stacks, ascending; popular ones (small indexes) are in most profiles. */
static inline uint32_t draw_stacks(struct model *model, uint32_t *stacks)
{
	const struct scenario *scenario = model->scenario;
	uint32_t count = 0;

	for (uint32_t i = 0; i < scenario->stacks && count < scenario->rows; i++)
		if (draw_below(model, 1 + i / 8) == 0)
			stacks[count++] = stack_id(scenario, i);
	qsort(stacks, count, sizeof(*stacks), compare_ids);
	return count;
}

static inline void draw_rows(struct model *model, struct profile_model *profile)
{
	const struct scenario *scenario = model->scenario;
	const uint32_t most = scenario->spans > 0 ? scenario->spans : 1;
	uint32_t stacks[STACKS_MOST];
	const uint32_t count = draw_below(model, 9) == 0 ? 0 : draw_stacks(model, stacks);

	profile->rows = arena_array(model->arena, (size_t)count * most, sizeof(*profile->rows));
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t same = 1 + draw_below(model, most);

		for (uint32_t j = 0; j < same; j++)
			draw_row(model, stacks[i], j, &profile->rows[profile->row_count++]);
	}
}

static inline void draw_profile(struct model *model, uint32_t group, uint32_t nth,
                                struct profile_model *profile)
{
	const struct scenario *scenario = model->scenario;
	struct block_profile *head = &profile->head;

	model->group = group;
	profile->group_index = group;
	head->group = group * 5;
	head->time_unix_ns = scenario->wild_times
	                             ? INT64_MIN + (int64_t)nth / 2 * INT64_C(0x123456789abcdef)
	                             : 15000000000 * (nth / 2);
	head->seq = nth % 2;
	head->duration_ns = 15000000000;
	head->received_s = 1700000000 + draw_below(model, 5);
	for (size_t i = 0; i < sizeof(head->id.bytes); i++)
		head->id.bytes[i] = (uint8_t)draw(model);
	if (draw_below(model, 2))
		head->origin = (struct hash128){ draw(model), draw(model) };
	draw_rows(model, profile);
	for (uint32_t i = 0; i < scenario->series; i++)
		for (uint32_t j = 0; j < profile->row_count; j++)
			profile->totals[i] = (int64_t)((uint64_t)profile->totals[i] +
			                               (uint64_t)profile->rows[j].values[i]);
	head->totals = profile->totals;
}

static inline struct model make_model(const struct scenario *scenario)
{
	struct model model = { .scenario = scenario, .seed = 1 };

	model.arena = arena_new(ARENA_BYTES, NULL);
	model.profile_count = scenario->groups * scenario->profiles;
	model.profiles = arena_array(model.arena, model.profile_count, sizeof(*model.profiles));
	for (uint32_t i = 0; i < model.profile_count; i++)
		draw_profile(&model, i / scenario->profiles, i % scenario->profiles,
		             &model.profiles[i]);
	return model;
}

static inline void read_samples(const struct model *model, const struct profile_model *profile,
                                struct arena *arena, struct sample_page *out)
{
	const uint32_t rows = profile->row_count;
	const uint32_t series = model->scenario->series;
	uint32_t *stacks = arena_array(arena, rows, sizeof(*stacks));
	uint64_t *spans = arena_array(arena, rows, sizeof(*spans));
	uint8_t(*traces)[TRACE_ID_SIZE] = arena_array(arena, rows, sizeof(*traces));
	int64_t *columns[SERIES_MOST];
	bool any = false;
	struct strbuf bytes;
	struct error err = { 0 };

	for (uint32_t i = 0; i < series; i++)
		columns[i] = arena_array(arena, rows, sizeof(int64_t));
	for (uint32_t i = 0; i < rows; i++) {
		const struct row *row = &profile->rows[i];

		stacks[i] = row->stack;
		spans[i] = row->span;
		memcpy(traces[i], row->trace, sizeof(*traces));
		any = any || row->span != 0;
		for (uint32_t j = 0; j < series; j++)
			columns[j][i] = row->values[j];
	}
	strbuf_init(&bytes, (size_t)1 << 24);
	sample_page_encode(
		&(struct sample_columns){ rows, series, stacks, (const int64_t *const *)columns,
	                                  any ? spans : NULL,
	                                  any ? (const uint8_t(*)[TRACE_ID_SIZE])traces : NULL },
		&bytes);
	assert_int_equal(
		sample_page_decode(arena_copy(arena, strbuf_view(&bytes)), arena, out, &err), 0);
	strbuf_fini(&bytes);
}
