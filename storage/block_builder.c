#include "storage/block_builder.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/block_detail.h"
#include "storage/block_gather.h"
#include "storage/block_heads.h"
#include "storage/block_sums.h"
#include "storage/page.h"

/*
 * Of zstd. What is left to pack are bytes of low entropy: level 6 takes 1.6 times the CPU
 * time of building and finds one byte in a hundred, level 3 finds less than level 1.
 */
#define BLOCK_LEVEL 1
#define ARENA_MAX   (8 * PAGE_RAW_MAX) /* the budget is what bounds it */

struct block_builder {
	struct block_gather gather;
	struct arena *arena; /* of what finishing needs */
	struct strbuf raw;
};

int block_builder_new(size_t series_count, struct budget *budget, struct block_builder **out,
                      struct error *err)
{
	struct block_builder *builder;

	if (series_count > SAMPLE_SERIES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "a block of %zu series, more than %d",
		                 series_count, SAMPLE_SERIES_MAX);
	builder = mem_zalloc(1, sizeof(*builder));
	block_gather_init(&builder->gather, (uint32_t)series_count, budget);
	builder->arena = arena_new(ARENA_MAX, budget);
	strbuf_init(&builder->raw, PAGE_RAW_MAX);
	*out = builder;
	return 0;
}

void block_builder_free(struct block_builder *builder)
{
	if (!builder)
		return;
	block_gather_fini(&builder->gather);
	arena_free(builder->arena);
	strbuf_fini(&builder->raw);
	free(builder);
}

void block_bodies_fini(struct block_bodies *bodies)
{
	strbuf_fini(&bodies->heads);
	strbuf_fini(&bodies->origins);
	strbuf_fini(&bodies->sums);
	strbuf_fini(&bodies->detail);
}

size_t block_builder_profiles(const struct block_builder *builder)
{
	return builder->gather.profile_count;
}

size_t block_builder_rows(const struct block_builder *builder)
{
	return builder->gather.row_count;
}

bool block_builder_fits(const struct block_builder *builder, size_t rows)
{
	const struct block_gather *gather = &builder->gather;
	const uint64_t all = (uint64_t)gather->row_count + rows;

	if (gather->profile_count == 0)
		return true;
	return gather->profile_count < BLOCK_PROFILES_MAX && all <= BLOCK_ROWS_MAX &&
	       all * gather->series_count <= BLOCK_VALUES_MAX;
}

int block_builder_add(struct block_builder *builder, const struct block_profile *profile,
                      const struct sample_page *samples, struct arena *scratch, struct error *err)
{
	if (!block_builder_fits(builder, samples->row_count))
		return error_set(err, ERROR_TOO_LARGE,
		                 "a block has no room for %u rows besides %u of %u profiles",
		                 samples->row_count, builder->gather.row_count,
		                 builder->gather.profile_count);
	return block_gather_add(&builder->gather, profile, samples, scratch, err);
}

/* ---- heads and origins ---- */

/* Columns of what was gathered by profile. */
struct head_columns {
	int64_t *times;
	int64_t *seqs;
	int64_t *durations;
	int64_t *received;
	struct uuid *ids;
	struct hash128 *origins;
	uint32_t *groups;
	uint32_t *firsts;
	int64_t **totals;
};

static int make_columns(const struct block_gather *gather, struct arena *arena,
                        struct head_columns *out, struct error *err)
{
	const size_t count = gather->profile_count;

	out->times = arena_array_raw(arena, count, sizeof(int64_t));
	out->seqs = arena_array_raw(arena, count, sizeof(int64_t));
	out->durations = arena_array_raw(arena, count, sizeof(int64_t));
	out->received = arena_array_raw(arena, count, sizeof(int64_t));
	out->ids = arena_array_raw(arena, count, sizeof(*out->ids));
	out->origins = arena_array_raw(arena, count, sizeof(*out->origins));
	out->groups = arena_array_raw(arena, gather->group_count, sizeof(*out->groups));
	out->firsts = arena_array_raw(arena, (size_t)gather->group_count + 1, sizeof(*out->firsts));
	out->totals = arena_array(arena, gather->series_count, sizeof(*out->totals));
	for (uint32_t i = 0; out->totals && i < gather->series_count; i++)
		out->totals[i] = arena_array_raw(arena, count, sizeof(int64_t));
	return arena_overflowed(arena) ? arena_error(arena, err) : 0;
}

static void fill_columns(const struct block_gather *gather, struct head_columns *columns)
{
	const uint32_t series = gather->series_count;

	for (uint32_t i = gather->profile_count; i-- > 0;) {
		const struct block_gathered_profile *profile = &gather->profiles[i];

		columns->times[i] = profile->head.time_unix_ns;
		columns->seqs[i] = profile->head.seq;
		columns->durations[i] = profile->head.duration_ns;
		columns->received[i] = profile->head.received_s;
		columns->ids[i] = profile->head.id;
		columns->origins[i] = profile->head.origin;
		columns->groups[profile->group_index] = profile->head.group;
		columns->firsts[profile->group_index] = i; /* the first one writes last */
		for (uint32_t j = 0; j < series; j++)
			columns->totals[j][i] = gather->totals[(size_t)i * series + j];
	}
	columns->firsts[gather->group_count] = gather->profile_count;
}

static int seal(struct block_builder *builder, const char *what, struct strbuf *out,
                struct error *err)
{
	page_seal(strbuf_view(&builder->raw), BLOCK_LEVEL, out);
	if (strbuf_overflowed(&builder->raw) || strbuf_overflowed(out))
		return error_set(err, ERROR_TOO_LARGE, "%s of %u profiles are over %zu bytes", what,
		                 builder->gather.profile_count, PAGE_RAW_MAX);
	strbuf_reset(&builder->raw);
	return 0;
}

static bool has_origins(const struct block_gather *gather)
{
	for (uint32_t i = 0; i < gather->profile_count; i++)
		if (!hash128_is_zero(gather->profiles[i].head.origin))
			return true;
	return false;
}

static int build_heads(struct block_builder *builder, struct block_bodies *out, struct error *err)
{
	const struct block_gather *gather = &builder->gather;
	struct head_columns columns;
	struct block_heads_columns heads;

	if (make_columns(gather, builder->arena, &columns, err) < 0)
		return -1;
	fill_columns(gather, &columns);
	heads = (struct block_heads_columns){
		.group_count = gather->group_count,
		.groups = columns.groups,
		.firsts = columns.firsts,
		.series_count = gather->series_count,
		.times = columns.times,
		.seqs = columns.seqs,
		.durations = columns.durations,
		.received = columns.received,
		.totals = (const int64_t *const *)columns.totals,
		.ids = columns.ids,
	};
	block_heads_encode(&heads, &builder->raw);
	if (seal(builder, "heads", &out->heads, err) < 0)
		return -1;
	if (!has_origins(gather))
		return 0;
	block_origins_encode(columns.origins, gather->profile_count, &builder->raw);
	return seal(builder, "origins", &out->origins, err);
}

/* ---- sums ---- */

/* Entries group by group; within a group stacks ascend. */
struct entries {
	uint32_t *firsts; /* group_count + 2: see count_entries() */
	uint32_t *stacks; /* their indexes */
	int64_t **sums;   /* by series */
};

/* The place of each stack in the order of the detail. */
static uint32_t *find_places(const struct block_gathered_stacks *stacks, struct arena *arena)
{
	uint32_t *places = arena_array_raw(arena, stacks->count, sizeof(*places));

	for (uint32_t i = 0; places && i < stacks->count; i++)
		places[stacks->order[i]] = i;
	return places;
}

static uint32_t group_of(const struct block_gather *gather, uint32_t row)
{
	return gather->profiles[gather->stacks[row]].group_index;
}

/* Whether a row is the first that its stack has in its group: rows are by profile. */
static bool begins_entry(const struct block_gather *gather, uint32_t first, uint32_t row)
{
	return row == first || group_of(gather, row) != group_of(gather, row - 1);
}

/*
 * Fills firsts so that firsts[i + 1] is where group i begins; filling moves it to where
 * the next one begins, and firsts is right then.
 */
static int count_entries(const struct block_gather *gather,
                         const struct block_gathered_stacks *stacks, struct arena *arena,
                         struct entries *entries, struct error *err)
{
	uint32_t *firsts = arena_array(arena, (size_t)gather->group_count + 2, sizeof(*firsts));

	if (!firsts)
		return arena_error(arena, err);
	for (uint32_t place = 0; place < stacks->count; place++)
		for (uint32_t row = stacks->firsts[place]; row < stacks->firsts[place + 1]; row++)
			if (begins_entry(gather, stacks->firsts[place], row))
				firsts[group_of(gather, row) + 2]++;
	for (uint32_t i = 0; i < gather->group_count; i++)
		firsts[i + 2] += firsts[i + 1];
	entries->firsts = firsts;
	return 0;
}

static int make_entries(const struct block_gather *gather, struct arena *arena,
                        struct entries *entries, struct error *err)
{
	const size_t count = entries->firsts[gather->group_count + 1];

	entries->stacks = arena_array_raw(arena, count, sizeof(*entries->stacks));
	entries->sums = arena_array_raw(arena, gather->series_count, sizeof(*entries->sums));
	for (uint32_t i = 0; entries->sums && i < gather->series_count; i++)
		entries->sums[i] = arena_array(arena, count, sizeof(int64_t));
	return arena_overflowed(arena) ? arena_error(arena, err) : 0;
}

/* Adds the rows of one stack, [first, end), to the entries of their groups. */
static void fill_entries(const struct block_gather *gather, uint32_t stack, uint32_t first,
                         uint32_t end, struct entries *entries)
{
	uint32_t entry = 0;

	for (uint32_t row = first; row < end; row++) {
		if (begins_entry(gather, first, row)) {
			entry = entries->firsts[group_of(gather, row) + 1]++;
			entries->stacks[entry] = stack;
		}
		for (uint32_t i = 0; i < gather->series_count; i++)
			entries->sums[i][entry] = (int64_t)((uint64_t)entries->sums[i][entry] +
			                                    (uint64_t)gather->values[i][row]);
	}
}

static int build_sums(struct block_builder *builder, const struct block_gathered_stacks *stacks,
                      struct block_bodies *out, struct error *err)
{
	const struct block_gather *gather = &builder->gather;
	const uint32_t *places = find_places(stacks, builder->arena);
	struct entries entries = { 0 };
	struct block_sums_columns sums;

	if (!places)
		return arena_error(builder->arena, err);
	if (count_entries(gather, stacks, builder->arena, &entries, err) < 0 ||
	    make_entries(gather, builder->arena, &entries, err) < 0)
		return -1;
	for (uint32_t i = 0; i < stacks->count; i++)
		fill_entries(gather, i, stacks->firsts[places[i]], stacks->firsts[places[i] + 1],
		             &entries);
	sums = (struct block_sums_columns){
		.group_count = gather->group_count,
		.series_count = gather->series_count,
		.stack_count = stacks->count,
		.stacks = stacks->stacks,
		.firsts = entries.firsts,
		.entries = entries.stacks,
		.sums = (const int64_t *const *)entries.sums,
	};
	block_sums_encode(&sums, &builder->raw);
	return seal(builder, "sums", &out->sums, err);
}

/* ---- detail ---- */

/* Where the profiles of each group begin. */
static uint32_t *find_groups(const struct block_gather *gather, struct arena *arena)
{
	uint32_t *firsts = arena_array_raw(arena, (size_t)gather->group_count + 1, sizeof(*firsts));

	if (!firsts)
		return NULL;
	for (uint32_t i = gather->profile_count; i-- > 0;)
		firsts[gather->profiles[i].group_index] = i; /* the first one writes last */
	firsts[gather->group_count] = gather->profile_count;
	return firsts;
}

static int build_detail(struct block_builder *builder, const struct block_gathered_stacks *stacks,
                        struct block_bodies *out, struct error *err)
{
	const struct block_gather *gather = &builder->gather;
	const uint32_t *group_firsts = find_groups(gather, builder->arena);
	const struct block_detail_columns detail = {
		.groups = { gather->group_count, group_firsts },
		.series_count = gather->series_count,
		.row_count = gather->row_count,
		.stack_count = stacks->count,
		.stacks = stacks->stacks,
		.row_counts = stacks->row_counts,
		.profiles = gather->stacks,
		.values = (const int64_t *const *)gather->values,
		.span_ids = gather->span_ids,
		.trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])gather->trace_ids,
	};

	if (!group_firsts)
		return arena_error(builder->arena, err);
	if (block_detail_encode(&detail, builder->arena, &builder->raw, err) < 0)
		return -1;
	return seal(builder, "rows", &out->detail, err);
}

static void block_bodies_finip(struct block_bodies *bodies)
{
	block_bodies_fini(bodies);
}

int block_builder_finish(struct block_builder *builder, struct block_bodies *out, struct error *err)
{
	CLEANUP(block_bodies_finip) struct block_bodies bodies = { 0 };
	struct block_gathered_stacks stacks;

	strbuf_init(&bodies.heads, PAGE_RAW_MAX);
	strbuf_init(&bodies.origins, PAGE_RAW_MAX);
	strbuf_init(&bodies.sums, PAGE_RAW_MAX);
	strbuf_init(&bodies.detail, PAGE_RAW_MAX);
	if (build_heads(builder, &bodies, err) < 0 ||
	    block_gather_sort(&builder->gather, builder->arena, &stacks, err) < 0 ||
	    build_sums(builder, &stacks, &bodies, err) < 0 ||
	    build_detail(builder, &stacks, &bodies, err) < 0)
		return -1;
	*out = bodies;
	bodies = (struct block_bodies){ 0 };
	return 0;
}
