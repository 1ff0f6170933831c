#include "storage/query_block.h"

#define HELD_MAX ((size_t)64 << 20) /* bytes kept for the next part; a guess */

bool query_filters_profiles(const struct query *query)
{
	const struct sample_filter *filter = query->asked->filter;

	return filter && filter->profile_id_count > 0;
}

/* Whether what is decoded is kept for the next part: as long as there is room. */
static bool is_kept(const struct query *query, const struct query_block *block)
{
	return block->opened && arena_used(query->held) < HELD_MAX;
}

static int read_heads(struct query *query, struct query_window *window, struct query_block *block,
                      struct error *err)
{
	const bool keep = is_kept(query, block);
	struct arena *home = keep ? query->held : query->scratch;
	struct block_heads *heads = arena_alloc(home, sizeof(*heads));

	if (!heads)
		return arena_error(home, err);
	if (block_table_heads(reader_blocks(window->reader), block->row, home, heads, err) < 0)
		return -1;
	block->heads = heads;
	if (keep)
		block->opened->heads = heads;
	return 0;
}

/* Adds what of [first, end) has an id that is wanted. */
static void pick_by_id(const struct query *query, const struct block_heads *heads,
                       const struct query_pick *pick, struct query_pick *picks, size_t *count)
{
	for (uint32_t i = pick->profiles.first; i < pick->profiles.end; i++) {
		const struct uuid id = block_heads_id(heads, i);

		if (!sample_filter_has_profile(query->asked->filter, &id))
			continue;
		picks[*count] = *pick;
		picks[(*count)++].profiles = (struct block_span){ i, i + 1 };
	}
}

static int narrow_picks(struct query *query, const struct query_window *window,
                        struct query_block *block, struct error *err)
{
	const struct block_heads *heads = block->heads;
	const size_t most = query_filters_profiles(query) ? heads->profile_count
	                                                  : block->pick_count;
	struct query_pick *picks = arena_array_raw(query->scratch, most, sizeof(*picks));
	size_t count = 0;

	if (!picks)
		return arena_error(query->scratch, err);
	for (size_t i = 0; i < block->pick_count; i++) {
		struct query_pick pick = block->picks[i];
		const struct reader_run *run = &window->runs[pick.run];

		pick.profiles =
			block_heads_within(heads, pick.group, run->start_unix_ns, run->end_unix_ns);
		if (query_filters_profiles(query))
			pick_by_id(query, heads, &pick, picks, &count);
		else if (pick.profiles.first < pick.profiles.end)
			picks[count++] = pick;
	}
	block->picks = picks;
	block->pick_count = count;
	return 0;
}

int query_block_heads(struct query *query, struct query_window *window, struct query_block *block,
                      struct error *err)
{
	if (block->opened && block->opened->heads)
		block->heads = block->opened->heads;
	else if (read_heads(query, window, block, err) < 0)
		return -1;
	return narrow_picks(query, window, block, err);
}

/* Ids beyond what is published are damage: a row's symbols are there before the row. */
static int check_stacks(const struct query_window *window, const struct query_block *block,
                        uint32_t largest, struct error *err)
{
	if (largest < symbol_table_stack_count(window->tables->symbols))
		return 0;
	return block_row_damaged(block->row, "it names a stack that is not there", err);
}

/* Columns are those of the groups: a body that has fewer is not theirs. */
static int check_columns(const struct query_window *window, const struct query_block *block,
                         uint32_t series_count, struct error *err)
{
	for (size_t i = 0; i < block->pick_count; i++) {
		const uint32_t group = window->runs[block->picks[i].run].group;

		if (series_view_group(&window->series, group)->count != series_count)
			return block_row_damaged(block->row, "it has other series than its groups",
			                         err);
	}
	return 0;
}

int query_block_sums(struct query *query, struct query_window *window, struct query_block *block,
                     const struct block_sums **out, struct error *err)
{
	const bool keep = is_kept(query, block);
	struct arena *home = keep ? query->held : query->scratch;
	struct block_sums *sums;

	if (block->opened && block->opened->sums) {
		*out = block->opened->sums;
		return check_columns(window, block, (*out)->series_count, err);
	}
	sums = arena_alloc(home, sizeof(*sums));
	if (!sums)
		return arena_error(home, err);
	if (block_table_sums(reader_blocks(window->reader), block->row, home, sums, err) < 0 ||
	    check_stacks(window, block, sums->largest_stack, err) < 0 ||
	    check_columns(window, block, sums->series_count, err) < 0)
		return -1;
	if (keep)
		block->opened->sums = sums;
	*out = sums;
	return 0;
}

static int read_detail(struct query_window *window, const struct query_block *block,
                       struct arena *arena, struct block_detail *out, struct error *err)
{
	if (block_table_detail(reader_blocks(window->reader), block->row, arena, out, err) < 0)
		return -1;
	return check_stacks(window, block, out->largest_stack, err);
}

int query_block_detail(struct query *query, struct query_window *window, struct query_block *block,
                       struct block_detail *out, struct error *err)
{
	if (read_detail(window, block, query->scratch, out, err) < 0)
		return -1;
	return check_columns(window, block, out->series_count, err);
}

/* ---- rows ---- */

/* Which columns the runs [first, end) of the block's family want: their places. */
struct wanted {
	uint32_t *series; /* ascending */
	size_t count;
	uint32_t *places; /* by column */
};

static int find_wanted(const struct query_window *window, const struct query_block *block,
                       uint32_t series_count, struct query_range range, struct arena *arena,
                       struct wanted *out, struct error *err)
{
	out->places = arena_array(arena, series_count, sizeof(*out->places));
	out->series = arena_array_raw(arena, series_count, sizeof(*out->series));
	if (!out->places || !out->series)
		return arena_error(arena, err);
	for (size_t run = range.first; run < range.end; run++) {
		const uint32_t group = window->runs[run].group;

		if (series_view_group(&window->series, group)->family != block->row->key.family)
			continue;
		for (size_t i = window->firsts[run]; i < window->firsts[run + 1]; i++) {
			if (window->columns[i].column >= series_count)
				return block_row_damaged(
					block->row, "it has other series than its groups", err);
			out->places[window->columns[i].column] = 1;
		}
	}
	for (uint32_t i = 0; i < series_count; i++) {
		if (out->places[i] == 0)
			continue;
		out->places[i] = (uint32_t)out->count;
		out->series[out->count++] = i;
	}
	return 0;
}

/* Profiles of the block whose rows are read. */
struct spans {
	struct block_span *spans;
	size_t count;
};

static int span_picks(const struct query_block *block, struct arena *arena, struct spans *out,
                      struct error *err)
{
	out->spans = arena_array_raw(arena, block->pick_count, sizeof(*out->spans));
	out->count = block->pick_count;
	if (!out->spans)
		return arena_error(arena, err);
	for (size_t i = 0; i < block->pick_count; i++)
		out->spans[i] = block->picks[i].profiles;
	return 0;
}

static int number_places(const struct query_block *block, const struct spans *spans,
                         struct arena *arena, const uint32_t **out, struct error *err)
{
	uint32_t *places = arena_array_raw(arena, block->row->profile_count, sizeof(*places));
	uint32_t place = 0;

	if (!places)
		return arena_error(arena, err);
	for (size_t i = 0; i < spans->count; i++)
		for (uint32_t at = spans->spans[i].first; at < spans->spans[i].end; at++)
			places[at] = place++;
	*out = places;
	return 0;
}

/* Rows of the spans, with the columns that the runs want. */
static int read_rows(struct query_window *window, const struct query_block *block,
                     const struct spans *spans, struct query_range runs, struct arena *home,
                     struct query_block_rows *out, struct error *err)
{
	struct wanted wanted = { 0 };
	struct block_detail detail;

	if (read_detail(window, block, home, &detail, err) < 0 ||
	    find_wanted(window, block, detail.series_count, runs, home, &wanted, err) < 0 ||
	    number_places(block, spans, home, &out->places, err) < 0)
		return -1;
	out->columns = wanted.places;
	return block_detail_rows(&detail, spans->spans, spans->count, wanted.series, wanted.count,
	                         home, &out->rows, err);
}

/* What is kept is read whole: the next part wants other profiles and columns. */
static int read_whole(struct query *query, struct query_window *window,
                      const struct query_block *block, struct query_block_rows *out,
                      struct error *err)
{
	struct block_span all = { 0, block->row->profile_count };
	const struct spans spans = { &all, 1 };
	const struct query_range runs = { 0, window->run_count, READER_SAMPLES };

	return read_rows(window, block, &spans, runs, query->held, out, err);
}

static int read_picks(struct query *query, struct query_window *window,
                      const struct query_block *block, struct query_block_rows *out,
                      struct error *err)
{
	const struct query_range runs = { block->picks[0].run,
		                          block->picks[block->pick_count - 1].run + 1,
		                          READER_SAMPLES };
	struct spans spans;

	if (span_picks(block, query->scratch, &spans, err) < 0)
		return -1;
	return read_rows(window, block, &spans, runs, query->scratch, out, err);
}

int query_block_rows(struct query *query, struct query_window *window, struct query_block *block,
                     const struct query_block_rows **out, struct error *err)
{
	const bool keep = is_kept(query, block);
	struct arena *home = keep ? query->held : query->scratch;
	struct query_block_rows *rows;

	if (block->opened && block->opened->rows) {
		*out = block->opened->rows;
		return 0;
	}
	rows = arena_alloc(home, sizeof(*rows));
	if (!rows)
		return arena_error(home, err);
	if (keep) {
		if (read_whole(query, window, block, rows, err) < 0)
			return -1;
		block->opened->rows = rows;
	} else if (read_picks(query, window, block, rows, err) < 0) {
		return -1;
	}
	*out = rows;
	return 0;
}
