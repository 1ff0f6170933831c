#include "storage/query_blocks.h"

#include <stdlib.h>

struct query_window_blocks {
	struct block_listing list;
	struct query_opened *opened; /* one a block; NULL: the query has one part */
};

/* ---- listing ---- */

static int ascending(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The families of the runs in the range, ascending, each once. */
static int find_families(const struct query_window *window, struct query_range range,
                         struct arena *arena, uint32_t **out, size_t *out_count, struct error *err)
{
	uint32_t *families = arena_array_raw(arena, range.end - range.first, sizeof(*families));
	size_t count = 0;
	size_t kept = 0;

	if (!families)
		return arena_error(arena, err);
	for (size_t run = range.first; run < range.end; run++) {
		const uint32_t group = window->runs[run].group;
		const uint32_t family = series_view_group(&window->series, group)->family;

		if (count == 0 || families[count - 1] != family)
			families[count++] = family;
	}
	qsort(families, count, sizeof(*families), ascending);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || families[kept - 1] != families[i])
			families[kept++] = families[i];
	*out = families;
	*out_count = kept;
	return 0;
}

static bool has_many_parts(const struct query *query)
{
	return query->parts && query->parts->count > 1;
}

/* Blocks of all families that the window's runs belong to. */
static int list_blocks(struct query *query, struct query_window *window, struct error *err)
{
	const struct store_range *range = &query->asked->range;
	struct query_window_blocks *blocks = arena_alloc(query->held, sizeof(*blocks));
	const struct query_range all = { 0, window->run_count, READER_TOTALS };
	uint32_t *families = NULL;
	size_t count = 0;

	if (!blocks)
		return arena_error(query->held, err);
	if (reader_blocks(window->reader) &&
	    find_families(window, all, query->held, &families, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (block_table_list(reader_blocks(window->reader), families[i],
		                     block_hour_of(range->start_unix_ns),
		                     block_hour_of(range->end_unix_ns), query->held, &blocks->list,
		                     err) < 0)
			return -1;
	if (has_many_parts(query)) {
		blocks->opened =
			arena_array(query->held, blocks->list.count, sizeof(*blocks->opened));
		if (!blocks->opened)
			return arena_error(query->held, err);
	}
	window->blocks = blocks;
	return 0;
}

/* The first listed block of a family. */
static size_t find_first(const struct block_listing *list, uint32_t family)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list->rows[middle].key.family < family)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- picks ---- */

/* The run of a group, or NULL. Runs of one part ascend by group. */
static const struct reader_run *find_run(const struct query_window *window,
                                         struct query_range range, uint32_t group)
{
	size_t low = range.first;
	size_t high = range.end;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (window->runs[middle].group < group)
			low = middle + 1;
		else
			high = middle;
	}
	return low < range.end && window->runs[low].group == group ? &window->runs[low] : NULL;
}

static void add_pick(const struct query_window *window, const struct reader_run *run,
                     uint32_t group, struct query_block *block)
{
	const struct block_row *row = block->row;

	if (run->start_unix_ns > row->last_unix_ns || run->end_unix_ns < row->first_unix_ns)
		return;
	if (run->start_unix_ns > row->first_unix_ns || run->end_unix_ns < row->last_unix_ns)
		block->is_cut = true;
	block->picks[block->pick_count++] = (struct query_pick){
		.run = (size_t)(run - window->runs),
		.group = group,
	};
}

/* Goes through the runs or through the block's groups, whichever are fewer. */
static int find_picks(struct query *query, const struct query_window *window,
                      struct query_range range, struct query_block *block, struct error *err)
{
	const struct block_row *row = block->row;
	const size_t runs = range.end - range.first;
	const size_t most = runs < row->group_count ? runs : row->group_count;

	block->picks = arena_array_raw(query->scratch, most, sizeof(*block->picks));
	if (!block->picks)
		return arena_error(query->scratch, err);
	if (runs <= row->group_count) {
		for (size_t run = range.first; run < range.end; run++) {
			uint32_t group;

			if (block_row_find(row, window->runs[run].group, &group))
				add_pick(window, &window->runs[run], group, block);
		}
		return 0;
	}
	for (uint32_t group = 0; group < row->group_count; group++) {
		const struct reader_run *run = find_run(window, range, row->groups[group]);

		if (run)
			add_pick(window, run, group, block);
	}
	return 0;
}

static int visit_block(struct query *query, struct query_window *window, struct query_range range,
                       size_t index, query_block_visitor visit, void *context, struct error *err)
{
	struct query_opened *opened = window->blocks->opened;
	struct query_block block = {
		.row = &window->blocks->list.rows[index],
		.is_cut = query_filters_profiles(query) ||
		          sample_filter_needs_rows(query->asked->filter),
		.opened = opened ? &opened[index] : NULL,
	};

	if (query_check(query, err) < 0)
		return -1;
	arena_reset(query->scratch);
	if (find_picks(query, window, range, &block, err) < 0)
		return -1;
	return block.pick_count > 0 ? visit(query, window, &block, context, err) : 0;
}

int query_blocks(struct query *query, struct query_window *window, struct query_range range,
                 query_block_visitor visit, void *context, struct error *err)
{
	uint32_t *families;
	size_t count;

	if (!window->blocks && list_blocks(query, window, err) < 0)
		return -1;
	if (window->blocks->list.count == 0)
		return 0;
	if (find_families(window, range, query->held, &families, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct block_listing *list = &window->blocks->list;

		for (size_t at = find_first(list, families[i]);
		     at < list->count && list->rows[at].key.family == families[i]; at++)
			if (visit_block(query, window, range, at, visit, context, err) < 0)
				return -1;
	}
	return 0;
}
