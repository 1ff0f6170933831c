/*
 * Sums per stack over a range: one dense pass over each window and part. Of a block that
 * the range covers only its sums are read, of one that it cuts the rows, of a profile that
 * is in no block yet its samples. Windows are shared out among threads; what they have is
 * handed over in their order, one at a time, so that answers do not depend on it.
 */
#include "storage/query_profile.h"
#include "storage/sqlite_store_parts.h"

#define HELPERS_MAX 31 /* of one merge; a guess */

struct merge;

/* Hands what a window has on to the visitor, when its turn has come. */
typedef int (*merge_handover)(struct query *query, struct query_window *window,
                              const struct merge *merge, const struct stack_sums *sums,
                              struct error *err);

struct merge {
	struct accumulator accumulator;
	merge_handover hand_over;
	store_sums_visitor visit;
	store_paths_visitor visit_paths;
	struct path_table *table; /* of visit_paths */
	void *context;
};

/* ---- profiles ---- */

static void add_values(struct accumulator *accumulator, const struct query_profile *profile,
                       const int64_t *values)
{
	if (!profile->passes) {
		for (uint32_t i = 0; i < profile->row_count; i++)
			accumulator_add(accumulator, profile->stacks[i], values[i]);
		return;
	}
	for (uint32_t i = 0; i < profile->row_count; i++)
		if (profile->passes[i])
			accumulator_add(accumulator, profile->stacks[i], values[i]);
}

static int merge_profile(struct query *query, struct query_window *window,
                         const struct query_profile *profile, void *context, struct error *err)
{
	struct merge *merge = context;
	const size_t columns = window->firsts[profile->run + 1] - window->firsts[profile->run];

	(void)query;
	if (profile->row_count == 0)
		return 0;
	if (accumulator_reserve(&merge->accumulator, profile->stacks[profile->row_count - 1] + 1,
	                        err) < 0)
		return -1;
	for (size_t i = 0; i < columns; i++)
		add_values(&merge->accumulator, profile, profile->values[i]);
	return 0;
}

/* ---- blocks ---- */

static bool wants_column(const struct query_window *window, size_t run, uint32_t column)
{
	for (size_t i = window->firsts[run]; i < window->firsts[run + 1]; i++)
		if (window->columns[i].column == column)
			return true;
	return false;
}

/* What is wanted of a column is added up over all groups at once. */
static int add_sums(struct query *query, struct query_window *window, struct query_block *block,
                    struct merge *merge, struct error *err)
{
	const struct block_sums *sums;
	uint32_t *groups = arena_array_raw(query->scratch, block->pick_count, sizeof(*groups));

	if (!groups)
		return arena_error(query->scratch, err);
	if (query_block_sums(query, window, block, &sums, err) < 0 ||
	    accumulator_reserve(&merge->accumulator, sums->largest_stack + 1, err) < 0)
		return -1;
	for (uint32_t column = 0; column < sums->series_count; column++) {
		struct block_group_list wanted = { .indexes = groups };

		for (size_t i = 0; i < block->pick_count; i++)
			if (wants_column(window, block->picks[i].run, column))
				groups[wanted.count++] = block->picks[i].group;
		if (wanted.count > 0 && block_sums_add(sums, &wanted, column, query->scratch,
		                                       &merge->accumulator, err) < 0)
			return -1;
	}
	return 0;
}

/* A column of the family, and the profiles of which it is wanted. */
struct column_spans {
	struct block_span *spans;
	size_t count;
};

/* Picks ascend: so do their profiles. */
static void find_spans(const struct query_window *window, const struct query_block *block,
                       uint32_t column, struct column_spans *out)
{
	out->count = 0;
	for (size_t i = 0; i < block->pick_count; i++)
		if (wants_column(window, block->picks[i].run, column))
			out->spans[out->count++] = block->picks[i].profiles;
}

/* One pass over the block's rows for each column that some pick wants. */
static int add_detail(struct query *query, struct query_window *window, struct query_block *block,
                      struct merge *merge, struct error *err)
{
	struct column_spans wanted = {
		.spans = arena_array_raw(query->scratch, block->pick_count, sizeof(*wanted.spans)),
	};
	struct block_detail detail;

	if (!wanted.spans)
		return arena_error(query->scratch, err);
	if (query_block_detail(query, window, block, &detail, err) < 0 ||
	    accumulator_reserve(&merge->accumulator, detail.largest_stack + 1, err) < 0)
		return -1;
	for (uint32_t column = 0; column < detail.series_count; column++) {
		find_spans(window, block, column, &wanted);
		if (wanted.count > 0 &&
		    block_detail_add(&detail, column, wanted.spans, wanted.count, query->scratch,
		                     &merge->accumulator, err) < 0)
			return -1;
	}
	return 0;
}

static int merge_block(struct query *query, struct query_window *window, struct query_block *block,
                       void *context, struct error *err)
{
	if (!block->is_cut)
		return add_sums(query, window, block, context, err);
	if (query_block_heads(query, window, block, err) < 0)
		return -1;
	/* row by row: some do not pass, or other parts want the same rows */
	if (block->opened || sample_filter_needs_rows(query->asked->filter))
		return query_block_profiles(
			query, window, block,
			&(struct query_visit){ .visit = merge_profile, .context = context }, err);
	return block->pick_count > 0 ? add_detail(query, window, block, context, err) : 0;
}

/* ---- windows ---- */

static int hand_over_stacks(struct query *query, struct query_window *window,
                            const struct merge *merge, const struct stack_sums *sums,
                            struct error *err)
{
	(void)window;
	return query_wait(query, err) < 0 ? -1 : merge->visit(merge->context, sums, err);
}

static void release_paths(struct stack_paths **paths)
{
	stack_paths_release(*paths);
}

static int find_paths(struct query *query, struct query_window *window, const struct merge *merge,
                      const struct stack_sums *sums, struct path_sums *out, struct error *err)
{
	CLEANUP(release_paths)
	struct stack_paths *paths = window_take_paths(window->window, merge->table);

	if (stack_paths_of_sums(paths, merge->table, sums, query->scratch, out, err) < 0)
		return -1;
	window_count_paths(window->window, paths);
	return query_charge(query, window->window, err);
}

static int hand_over_paths(struct query *query, struct query_window *window,
                           const struct merge *merge, const struct stack_sums *sums,
                           struct error *err)
{
	struct path_sums by_path;

	if (find_paths(query, window, merge, sums, &by_path, err) < 0 || query_wait(query, err) < 0)
		return -1;
	return merge->visit_paths(merge->context, &by_path, err);
}

static int take_sums(struct query *query, struct query_window *window, struct merge *merge,
                     uint32_t part, struct error *err)
{
	struct symbols symbols;
	struct stack_sums sums = { .symbols = &symbols, .part = part };

	arena_reset(query->scratch);
	if (accumulator_take(&merge->accumulator, query->scratch, &sums, err) < 0)
		return -1;
	if (sums.count == 0)
		return 0;
	/* taken last: it has every stack that a row named */
	symbol_table_view(window->tables->symbols, &symbols);
	return merge->hand_over(query, window, merge, &sums, err);
}

static int merge_window(struct query *query, struct query_window *window, void *context,
                        struct error *err)
{
	struct merge *merge = context;
	const struct query_visit fresh = { .visit = merge_profile, .context = merge };
	size_t end;

	if (accumulator_reserve(&merge->accumulator,
	                        symbol_table_stack_count(window->tables->symbols), err) < 0)
		return -1;
	for (size_t first = 0; first < window->run_count; first = end) {
		const uint32_t part = window->columns[window->firsts[first]].part;
		struct query_range range;

		for (end = first + 1;
		     end < window->run_count && window->columns[window->firsts[end]].part == part;)
			end++;
		range = (struct query_range){ first, end, READER_SAMPLES };
		if (query_fresh_profiles(query, window, range, &fresh, err) < 0 ||
		    query_blocks(query, window, range, merge_block, merge, err) < 0 ||
		    take_sums(query, window, merge, part, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- threads ---- */

/* A merge whose windows several threads share. */
struct shared_merge {
	struct sqlite_store *store;
	const struct store_query *asked;
	const struct store_parts *parts;
	const struct merge *merge; /* what each thread begins with */
	struct query_walk walk;
};

static void merge_some(void *context)
{
	struct shared_merge *shared = context;
	struct merge merge = *shared->merge;
	struct query query;

	merge.accumulator.budget = shared->store->budget;
	query_begin(&query, shared->store, shared->asked, shared->parts);
	query_shared_windows(&query, &shared->walk, merge_window, &merge);
	accumulator_fini(&merge.accumulator);
	query_end(&query);
}

/* One for each window but the caller's. What gives parts is the caller's, and asked by one. */
static size_t helpers_for(struct shared_merge *shared)
{
	size_t windows;

	if (shared->parts && shared->parts->part_of)
		return 0;
	windows = query_walk_ahead(&shared->walk, HELPERS_MAX + 1);
	return windows > 0 ? windows - 1 : 0;
}

static int merge_windows(struct sqlite_store *store, const struct store_query *asked,
                         const struct store_parts *parts, const struct merge *merge,
                         struct error *err)
{
	struct shared_merge shared = { store, asked, parts, merge, { 0 } };

	if (query_walk_begin(&shared.walk, &store->windows, asked, err) < 0)
		return -1;
	crew_share(store->crew, helpers_for(&shared), merge_some, &shared);
	return query_walk_end(&shared.walk, err);
}

int sqlite_store_merge(struct store *store, const struct store_query *asked,
                       const struct store_parts *parts, store_sums_visitor visit, void *context,
                       struct error *err)
{
	struct merge merge = {
		.hand_over = hand_over_stacks,
		.visit = visit,
		.context = context,
	};

	return merge_windows(sqlite_store_of(store), asked, parts, &merge, err);
}

int sqlite_store_merge_paths(struct store *store, const struct store_query *asked,
                             const struct store_parts *parts, store_paths_visitor visit,
                             void *context, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct merge merge = {
		.hand_over = hand_over_paths,
		.visit_paths = visit,
		.table = shared_paths_take(&own->windows.paths),
		.context = context,
	};
	const int result = merge_windows(own, asked, parts, &merge, err);

	path_table_release(merge.table);
	return result;
}
