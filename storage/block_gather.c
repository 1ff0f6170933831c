#include "storage/block_gather.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "storage/block_detail.h"
#include "storage/row_order.h"

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

/* Counts the rows of each stack in sorted keys. */
static int find_stacks(const struct row_key *keys, uint32_t count, struct arena *arena,
                       struct block_gathered_stacks *out, struct error *err)
{
	uint32_t stacks = 0;

	for (uint32_t i = 0; i < count; i++)
		stacks += i == 0 || keys[i].stack != keys[i - 1].stack;
	out->stacks = arena_array_raw(arena, stacks, sizeof(*out->stacks));
	out->row_counts = arena_array(arena, stacks, sizeof(*out->row_counts));
	out->order = arena_array_raw(arena, stacks, sizeof(*out->order));
	out->firsts = arena_array_raw(arena, (size_t)stacks + 1, sizeof(*out->firsts));
	if (!out->stacks || !out->row_counts || !out->order || !out->firsts)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < count; i++) {
		if (i == 0 || keys[i].stack != keys[i - 1].stack)
			out->stacks[out->count++] = keys[i].stack;
		out->row_counts[out->count - 1]++;
	}
	block_detail_order(out->row_counts, out->count, out->order, out->firsts);
	return 0;
}

/* Which row comes where: keys are by stack, sources by the order of stacks. */
static int find_sources(const struct row_key *keys, const struct block_gathered_stacks *stacks,
                        struct arena *arena, uint32_t *sources, struct error *err)
{
	uint32_t *starts = arena_array_raw(arena, stacks->count, sizeof(*starts));
	uint32_t start = 0;

	if (!starts)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < stacks->count; i++) {
		starts[i] = start;
		start += stacks->row_counts[i];
	}
	for (uint32_t place = 0; place < stacks->count; place++) {
		const struct row_key *from = &keys[starts[stacks->order[place]]];

		for (uint32_t i = stacks->firsts[place]; i < stacks->firsts[place + 1]; i++)
			sources[i] = (from++)->row;
	}
	return 0;
}

/* Gathers a column into *spare, which is the column then; the old one is spare. */
static void permute(int64_t **column, const uint32_t *sources, uint32_t count, int64_t **spare)
{
	int64_t *from = *column;
	int64_t *to = *spare;

	for (uint32_t i = 0; i < count; i++)
		to[i] = from[sources[i]];
	*column = to;
	*spare = from;
}

static void permute_traces(struct block_gather *gather, const uint32_t *sources)
{
	const uint32_t count = gather->row_count;
	uint8_t(*to)[TRACE_ID_SIZE] = mem_zalloc((size_t)count + 1, sizeof(*to));

	for (uint32_t i = 0; i < count; i++)
		memcpy(to[i], gather->trace_ids[sources[i]], sizeof(*to));
	free(gather->trace_ids);
	gather->trace_ids = to;
}

/* Makes the stacks of rows, which are known by now, the profiles of rows. */
static void permute_profiles(struct block_gather *gather, const uint32_t *sources, int64_t *spare)
{
	uint32_t *numbers = (uint32_t *)(void *)spare;
	uint32_t row = 0;

	for (uint32_t i = 0; i < gather->profile_count; i++)
		for (; row < gather->profiles[i].row_end; row++)
			numbers[row] = i;
	for (uint32_t i = 0; i < gather->row_count; i++)
		gather->stacks[i] = numbers[sources[i]];
}

static void permute_all(struct block_gather *gather, const uint32_t *sources, int64_t **spare)
{
	permute_profiles(gather, sources, *spare);
	for (uint32_t i = 0; i < gather->series_count; i++)
		permute(&gather->values[i], sources, gather->row_count, spare);
	if (gather->span_ids)
		permute((int64_t **)(void *)&gather->span_ids, sources, gather->row_count, spare);
	if (gather->trace_ids)
		permute_traces(gather, sources);
}

int block_gather_sort(struct block_gather *gather, struct arena *arena,
                      struct block_gathered_stacks *out, struct error *err)
{
	const size_t rows = (size_t)gather->row_count + 1;
	CLEANUP(mem_freep) struct row_key *keys = NULL;
	CLEANUP(mem_freep) int64_t *spare = NULL;
	CLEANUP(mem_freep) uint32_t *sources = NULL;
	struct block_gathered_stacks stacks = { 0 };

	/* given back with the rest: what follows needs as much again as is freed here */
	if (take(gather, rows * (sizeof(*keys) + sizeof(*spare) + sizeof(*sources)), err) < 0)
		return -1;
	keys = mem_resize(NULL, rows, sizeof(*keys));
	spare = mem_resize(NULL, rows, sizeof(*spare));
	sources = mem_resize(NULL, rows, sizeof(*sources));
	for (uint32_t i = 0; i < gather->row_count; i++)
		keys[i] = (struct row_key){ gather->stacks[i], i };
	row_order_sort(keys, (struct row_key *)(void *)spare, gather->row_count);
	if (find_stacks(keys, gather->row_count, arena, &stacks, err) < 0 ||
	    find_sources(keys, &stacks, arena, sources, err) < 0)
		return -1;
	free(TAKE(keys));
	permute_all(gather, sources, &spare);
	*out = stacks;
	return 0;
}
