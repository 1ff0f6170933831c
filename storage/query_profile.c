#include "storage/query_profile.h"

#include "storage/page.h"
#include "storage/sample_page.h"

static bool filters_rows(const struct query *query)
{
	return sample_filter_needs_rows(query->asked->filter);
}

/* Which rows pass the filter, in scratch; NULL when all do. */
static int filter_rows(struct query *query, uint32_t row_count, const uint64_t *span_ids,
                       const uint8_t (*trace_ids)[TRACE_ID_SIZE], const bool **out,
                       struct error *err)
{
	static const uint8_t none[TRACE_ID_SIZE];
	bool *passes;

	*out = NULL;
	if (!filters_rows(query))
		return 0;
	passes = arena_array_raw(query->scratch, row_count, sizeof(*passes));
	if (!passes)
		return arena_error(query->scratch, err);
	for (uint32_t i = 0; i < row_count; i++)
		passes[i] = sample_filter_has_row(query->asked->filter, span_ids ? span_ids[i] : 0,
		                                  trace_ids ? trace_ids[i] : none);
	*out = passes;
	return 0;
}

/* ---- fresh ---- */

/* Ascending: the last stack is the largest. */
static int check_stacks(const struct query_window *window, const struct reader_row *row,
                        const struct sample_page *page, struct error *err)
{
	if (page->row_count == 0 ||
	    page->stacks[page->row_count - 1] < symbol_table_stack_count(window->tables->symbols))
		return 0;
	return error_set(err, ERROR_CORRUPT, "samples %lld name stack %u, which is not there",
	                 (long long)row->sample, page->stacks[page->row_count - 1]);
}

static int decode_spans(struct query *query, const struct sample_page *page,
                        struct query_profile *profile, struct error *err)
{
	uint64_t *span_ids = NULL;
	uint8_t(*trace_ids)[TRACE_ID_SIZE] = NULL;

	if (sample_page_spans(page, query->scratch, &span_ids, err) < 0 ||
	    sample_page_traces(page, query->scratch, &trace_ids, err) < 0)
		return -1;
	profile->span_ids = span_ids;
	profile->trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])trace_ids;
	return 0;
}

static int decode_values(struct query *query, const struct query_window *window,
                         const struct sample_page *page, struct query_profile *profile,
                         struct error *err)
{
	const size_t first = window->firsts[profile->run];
	const size_t count = window->firsts[profile->run + 1] - first;
	int64_t **values = arena_array_raw(query->scratch, count, sizeof(*values));

	if (!values)
		return arena_error(query->scratch, err);
	for (size_t i = 0; i < count; i++)
		if (sample_page_values(page, window->columns[first + i].column, query->scratch,
		                       &values[i], err) < 0)
			return -1;
	profile->values = (const int64_t *const *)values;
	return 0;
}

static int visit_fresh(struct query *query, struct query_window *window,
                       const struct reader_row *row, void *context, struct error *err)
{
	const struct query_visit *visit = context;
	struct query_profile profile = {
		.run = row->run,
		.time_unix_ns = row->time_unix_ns,
		.id = row->id,
	};
	struct sample_page page;
	struct str raw;

	arena_reset(query->scratch);
	if (page_open(row->body, query->scratch, &raw, err) < 0 ||
	    sample_page_decode(raw, query->scratch, &page, err) < 0 ||
	    check_stacks(window, row, &page, err) < 0)
		return -1;
	profile.row_count = page.row_count;
	profile.stacks = page.stacks;
	if ((visit->spans == QUERY_SPANS || filters_rows(query)) &&
	    decode_spans(query, &page, &profile, err) < 0)
		return -1;
	if (filter_rows(query, page.row_count, profile.span_ids, profile.trace_ids, &profile.passes,
	                err) < 0 ||
	    decode_values(query, window, &page, &profile, err) < 0)
		return -1;
	return visit->visit(query, window, &profile, visit->context, err);
}

int query_fresh_profiles(struct query *query, struct query_window *window, struct query_range range,
                         const struct query_visit *visit, struct error *err)
{
	struct query_visit copy = *visit;

	range.want = READER_SAMPLES;
	return query_rows(query, window, range, visit_fresh, &copy, err);
}

/* ---- in blocks ---- */

/* A block's rows while its profiles are visited. */
struct block_visit {
	const struct query_block *block;
	const struct query_block_rows *rows;
	const bool *passes; /* of all rows, or NULL */
	const int64_t **values;
};

static void view_profile(const struct query_window *window, const struct block_visit *at,
                         uint32_t index, struct query_profile *profile)
{
	const struct block_rows *rows = &at->rows->rows;
	const uint32_t place = at->rows->places[index];
	const uint32_t first = rows->firsts[place];
	const size_t column = window->firsts[profile->run];

	profile->time_unix_ns = at->block->heads->times[index];
	profile->id = block_heads_id(at->block->heads, index);
	profile->row_count = rows->firsts[place + 1] - first;
	profile->stacks = rows->stacks + first;
	profile->passes = at->passes ? at->passes + first : NULL;
	profile->span_ids = rows->span_ids ? rows->span_ids + first : NULL;
	profile->trace_ids = rows->trace_ids ? rows->trace_ids + first : NULL;
	for (size_t i = column; i < window->firsts[profile->run + 1]; i++)
		at->values[i - column] =
			rows->values[at->rows->columns[window->columns[i].column]] + first;
	profile->values = at->values;
}

static size_t most_columns(const struct query_window *window, const struct query_block *block)
{
	size_t most = 0;

	for (size_t i = 0; i < block->pick_count; i++) {
		const size_t run = block->picks[i].run;

		if (window->firsts[run + 1] - window->firsts[run] > most)
			most = window->firsts[run + 1] - window->firsts[run];
	}
	return most;
}

int query_block_profiles(struct query *query, struct query_window *window,
                         struct query_block *block, const struct query_visit *visit,
                         struct error *err)
{
	struct block_visit at = {
		.block = block,
		.values = arena_array_raw(query->scratch, most_columns(window, block),
		                          sizeof(*at.values)),
	};

	if (!at.values)
		return arena_error(query->scratch, err);
	if (block->pick_count == 0)
		return 0;
	if (query_block_rows(query, window, block, &at.rows, err) < 0 ||
	    filter_rows(query, at.rows->rows.firsts[at.rows->rows.profile_count],
	                at.rows->rows.span_ids, at.rows->rows.trace_ids, &at.passes, err) < 0)
		return -1;
	for (size_t i = 0; i < block->pick_count; i++) {
		const struct query_pick *pick = &block->picks[i];
		struct query_profile profile = { .run = pick->run };

		if (query_check(query, err) < 0)
			return -1;
		for (uint32_t j = pick->profiles.first; j < pick->profiles.end; j++) {
			view_profile(window, &at, j, &profile);
			if (visit->visit(query, window, &profile, visit->context, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int visit_block(struct query *query, struct query_window *window, struct query_block *block,
                       void *context, struct error *err)
{
	if (query_block_heads(query, window, block, err) < 0)
		return -1;
	return query_block_profiles(query, window, block, context, err);
}

int query_profiles(struct query *query, struct query_window *window,
                   const struct query_visit *visit, struct error *err)
{
	const struct query_range all = { 0, window->run_count, READER_SAMPLES };
	struct query_visit copy = *visit;

	if (query_fresh_profiles(query, window, all, visit, err) < 0)
		return -1;
	return query_blocks(query, window, all, visit_block, &copy, err);
}
