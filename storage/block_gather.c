#include "storage/block_gather.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "storage/block_detail.h"

void block_gather_init(struct block_gather *gather, uint32_t series_count, struct budget *budget)
{
	*gather = (struct block_gather){
		.budget = budget,
		.series_count = series_count,
		.values = mem_zalloc((size_t)series_count + 1, sizeof(*gather->values)),
	};
}

void block_gather_fini(struct block_gather *gather)
{
	for (uint32_t i = 0; gather->values && i < gather->series_count; i++)
		free(gather->values[i]);
	free(gather->values);
	free(gather->profiles);
	free(gather->totals);
	free(gather->stacks);
	free(gather->span_ids);
	free(gather->trace_ids);
	if (gather->budget)
		budget_give(gather->budget, gather->bytes);
	*gather = (struct block_gather){ 0 };
}

/* ---- room ---- */

static int take(struct block_gather *gather, size_t bytes, struct error *err)
{
	if (gather->budget && !budget_take(gather->budget, bytes))
		return error_set(err, ERROR_UNAVAILABLE,
		                 "memory limit: no room for %zu bytes of a block", bytes);
	gather->bytes += bytes;
	return 0;
}

static size_t grown(size_t capacity, size_t needed)
{
	const size_t half_more = capacity + capacity / 2;

	return half_more > needed ? half_more : needed;
}

static int need_profile(struct block_gather *gather, struct error *err)
{
	const size_t each =
		sizeof(*gather->profiles) + gather->series_count * sizeof(*gather->totals);
	const size_t capacity = grown(gather->profile_capacity, gather->profile_count + 64);

	if (gather->profile_count < gather->profile_capacity)
		return 0;
	if (take(gather, (capacity - gather->profile_capacity) * each, err) < 0)
		return -1;
	gather->profiles = mem_resize(gather->profiles, capacity, sizeof(*gather->profiles));
	gather->totals = mem_resize(gather->totals, capacity * gather->series_count + 1,
	                            sizeof(*gather->totals));
	gather->profile_capacity = capacity;
	return 0;
}

static int need_rows(struct block_gather *gather, size_t more, struct error *err)
{
	const size_t each = sizeof(*gather->stacks) + gather->series_count * sizeof(int64_t) +
	                    (gather->span_ids ? sizeof(*gather->span_ids) : 0) +
	                    (gather->trace_ids ? sizeof(*gather->trace_ids) : 0);
	const size_t capacity = grown(gather->row_capacity, gather->row_count + more);

	if (gather->row_capacity - gather->row_count >= more)
		return 0;
	if (take(gather, (capacity - gather->row_capacity) * each, err) < 0)
		return -1;
	gather->stacks = mem_resize(gather->stacks, capacity, sizeof(*gather->stacks));
	for (uint32_t i = 0; i < gather->series_count; i++)
		gather->values[i] = mem_resize(gather->values[i], capacity, sizeof(int64_t));
	if (gather->span_ids)
		gather->span_ids =
			mem_resize(gather->span_ids, capacity, sizeof(*gather->span_ids));
	if (gather->trace_ids)
		gather->trace_ids =
			mem_resize(gather->trace_ids, capacity, sizeof(*gather->trace_ids));
	gather->row_capacity = capacity;
	return 0;
}

/* ---- adding ---- */

static bool comes_after(const struct block_profile *a, const struct block_profile *b)
{
	if (a->group != b->group)
		return a->group > b->group;
	if (a->time_unix_ns != b->time_unix_ns)
		return a->time_unix_ns > b->time_unix_ns;
	return a->seq > b->seq;
}

static int add_values(struct block_gather *gather, const struct sample_page *samples,
                      struct arena *scratch, struct error *err)
{
	for (uint32_t i = 0; i < gather->series_count; i++) {
		int64_t *values;

		if (sample_page_values(samples, i, scratch, &values, err) < 0)
			return -1;
		if (samples->row_count > 0)
			memcpy(gather->values[i] + gather->row_count, values,
			       samples->row_count * sizeof(*values));
	}
	return 0;
}

/* Ids of the new rows: a column begins, with none for all rows before, when one has any. */
static int add_ids(struct block_gather *gather, const struct sample_page *samples, const void *ids,
                   size_t size, void **column, struct error *err)
{
	uint8_t *to;

	if (!ids && !*column)
		return 0;
	if (!*column) {
		if (take(gather, gather->row_capacity * size, err) < 0)
			return -1;
		*column = mem_zalloc(gather->row_capacity, size);
	}
	to = (uint8_t *)*column + gather->row_count * size;
	if (ids)
		memcpy(to, ids, samples->row_count * size);
	else
		memset(to, 0, samples->row_count * size);
	return 0;
}

static int add_rows(struct block_gather *gather, const struct sample_page *samples,
                    struct arena *scratch, struct error *err)
{
	const size_t size = samples->row_count * sizeof(*samples->stacks);
	uint64_t *spans;
	uint8_t(*traces)[TRACE_ID_SIZE];

	if (samples->row_count == 0)
		return 0;
	if (samples->stacks[samples->row_count - 1] >= BLOCK_STACKS_MAX)
		return error_set(err, ERROR_TOO_LARGE,
		                 "stack %u: a block is of a window of at most %u",
		                 samples->stacks[samples->row_count - 1], BLOCK_STACKS_MAX);
	if (need_rows(gather, samples->row_count, err) < 0 ||
	    add_values(gather, samples, scratch, err) < 0 ||
	    sample_page_spans(samples, scratch, &spans, err) < 0 ||
	    sample_page_traces(samples, scratch, &traces, err) < 0 ||
	    add_ids(gather, samples, spans, sizeof(*spans), (void **)&gather->span_ids, err) < 0 ||
	    add_ids(gather, samples, traces, sizeof(*traces), (void **)&gather->trace_ids, err) < 0)
		return -1;
	memcpy(gather->stacks + gather->row_count, samples->stacks, size);
	gather->row_count += samples->row_count;
	return 0;
}

int block_gather_add(struct block_gather *gather, const struct block_profile *profile,
                     const struct sample_page *samples, struct arena *scratch, struct error *err)
{
	struct block_gathered_profile *added;
	const struct block_profile *last =
		gather->profile_count > 0 ? &gather->profiles[gather->profile_count - 1].head
					  : NULL;
	bool is_new_group;

	assert(!last || comes_after(profile, last));
	is_new_group = !last || last->group != profile->group;
	if (samples->series_count != gather->series_count)
		return error_set(err, ERROR_CORRUPT, "samples of %u series where there are %u",
		                 samples->series_count, gather->series_count);
	if (need_profile(gather, err) < 0 || add_rows(gather, samples, scratch, err) < 0)
		return -1;
	memcpy(gather->totals + (size_t)gather->profile_count * gather->series_count,
	       profile->totals, gather->series_count * sizeof(*gather->totals));
	gather->group_count += is_new_group;
	added = &gather->profiles[gather->profile_count++];
	*added = (struct block_gathered_profile){ *profile, gather->group_count - 1,
		                                  gather->row_count };
	added->head.totals = NULL;
	return 0;
}

/* ---- sorting ---- */

/* By stack id: how many rows it has, then where its next one goes. */
struct places {
	uint32_t *next;
	uint32_t end; /* of ids */
};

static uint32_t stacks_end(const struct block_gather *gather)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < gather->row_count; i++)
		if (gather->stacks[i] > largest)
			largest = gather->stacks[i];
	return largest + 1;
}

static int count_rows(struct block_gather *gather, struct arena *arena, struct places *out,
                      struct error *err)
{
	out->end = stacks_end(gather);
	out->next = arena_array(arena, out->end, sizeof(*out->next));
	if (!out->next)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < gather->row_count; i++)
		out->next[gather->stacks[i]]++;
	return 0;
}

static int find_stacks(const struct places *places, struct arena *arena,
                       struct block_gathered_stacks *out, struct error *err)
{
	size_t count = 0;

	for (uint32_t i = 0; i < places->end; i++)
		count += places->next[i] > 0;
	out->stacks = arena_array_raw(arena, count, sizeof(*out->stacks));
	out->row_counts = arena_array_raw(arena, count, sizeof(*out->row_counts));
	out->order = arena_array_raw(arena, count, sizeof(*out->order));
	out->firsts = arena_array_raw(arena, count + 1, sizeof(*out->firsts));
	if (!out->stacks || !out->row_counts || !out->order || !out->firsts)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < places->end; i++) {
		if (places->next[i] == 0)
			continue;
		out->stacks[out->count] = i;
		out->row_counts[out->count++] = places->next[i];
	}
	block_detail_order(out->row_counts, out->count, out->order, out->firsts);
	return 0;
}

/* The next row of each stack is its first one. */
static void rewind_places(const struct block_gathered_stacks *stacks, struct places *places)
{
	for (uint32_t place = 0; place < stacks->count; place++)
		places->next[stacks->stacks[stacks->order[place]]] = stacks->firsts[place];
}

/* Moves a column into *spare, which is the column then; the old one is spare. */
static void move(const struct block_gather *gather, struct places *places, int64_t **column,
                 int64_t **spare)
{
	int64_t *from = *column;
	int64_t *to = *spare;

	for (uint32_t i = 0; i < gather->row_count; i++)
		to[places->next[gather->stacks[i]]++] = from[i];
	*column = to;
	*spare = from;
}

static void move_traces(struct block_gather *gather, struct places *places)
{
	uint8_t(*to)[TRACE_ID_SIZE] = mem_zalloc((size_t)gather->row_count + 1, sizeof(*to));

	for (uint32_t i = 0; i < gather->row_count; i++)
		memcpy(to[places->next[gather->stacks[i]]++], gather->trace_ids[i], sizeof(*to));
	free(gather->trace_ids);
	gather->trace_ids = to;
}

/* Puts the profiles of rows in the place of their stacks, which nobody needs any more. */
static void move_profiles(struct block_gather *gather, struct places *places, int64_t *spare)
{
	uint32_t *profiles = (uint32_t *)(void *)spare;
	uint32_t row = 0;

	for (uint32_t i = 0; i < gather->profile_count; i++)
		for (; row < gather->profiles[i].row_end; row++)
			profiles[places->next[gather->stacks[row]]++] = i;
	if (gather->row_count > 0)
		memcpy(gather->stacks, profiles, gather->row_count * sizeof(*profiles));
}

/* Rows come by profile, so each stack's stay by profile. */
static void move_all(struct block_gather *gather, const struct block_gathered_stacks *stacks,
                     struct places *places, int64_t **spare)
{
	for (uint32_t i = 0; i < gather->series_count; i++) {
		rewind_places(stacks, places);
		move(gather, places, &gather->values[i], spare);
	}
	if (gather->span_ids) {
		rewind_places(stacks, places);
		move(gather, places, (int64_t **)(void *)&gather->span_ids, spare);
	}
	if (gather->trace_ids) {
		rewind_places(stacks, places);
		move_traces(gather, places);
	}
	rewind_places(stacks, places);
	move_profiles(gather, places, *spare);
}

int block_gather_sort(struct block_gather *gather, struct arena *arena,
                      struct block_gathered_stacks *out, struct error *err)
{
	const size_t rows = (size_t)gather->row_count + 1;
	CLEANUP(mem_freep) int64_t *spare = NULL;
	struct block_gathered_stacks stacks = { 0 };
	struct places places;

	if (take(gather, rows * sizeof(*spare), err) < 0)
		return -1;
	spare = mem_resize(NULL, rows, sizeof(*spare));
	if (count_rows(gather, arena, &places, err) < 0 ||
	    find_stacks(&places, arena, &stacks, err) < 0)
		return -1;
	move_all(gather, &stacks, &places, &spare);
	*out = stacks;
	return 0;
}
