/*
 * Sums per stack over a range: one dense pass over the samples of each window and part.
 */
#include "storage/accumulator.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"

struct merge {
	struct accumulator accumulator;
	store_sums_visitor visit;
	void *context;
};

static void add_values(struct accumulator *accumulator, const struct query_samples *samples,
                       const int64_t *values)
{
	const struct sample_page *page = &samples->page;

	if (!samples->passes) {
		for (uint32_t i = 0; i < page->row_count; i++)
			accumulator_add(accumulator, page->stacks[i], values[i]);
		return;
	}
	for (uint32_t i = 0; i < page->row_count; i++)
		if (samples->passes[i])
			accumulator_add(accumulator, page->stacks[i], values[i]);
}

static int merge_row(struct query *query, struct query_window *window, const struct reader_row *row,
                     void *context, struct error *err)
{
	struct merge *merge = context;
	struct query_samples samples;

	if (query_samples(query, window, row, QUERY_SPANS_IF_FILTERED, &samples, err) < 0)
		return -1;
	if (samples.page.row_count == 0)
		return 0;
	if (accumulator_reserve(&merge->accumulator,
	                        samples.page.stacks[samples.page.row_count - 1] + 1, err) < 0)
		return -1;
	for (size_t i = window->firsts[row->run]; i < window->firsts[row->run + 1]; i++) {
		int64_t *values;

		if (sample_page_values(&samples.page, window->columns[i].column, query->scratch,
		                       &values, err) < 0)
			return -1;
		add_values(&merge->accumulator, &samples, values);
	}
	return 0;
}

static int hand_over(struct query *query, struct query_window *window, struct merge *merge,
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
	return merge->visit(merge->context, &sums, err);
}

static int merge_window(struct query *query, struct query_window *window, void *context,
                        struct error *err)
{
	struct merge *merge = context;
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
		if (query_rows(query, window, range, merge_row, merge, err) < 0 ||
		    hand_over(query, window, merge, part, err) < 0)
			return -1;
	}
	return 0;
}

int sqlite_store_merge(struct store *store, const struct store_query *asked,
                       const struct store_parts *parts, store_sums_visitor visit, void *context,
                       struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct merge merge = {
		.accumulator = { .budget = own->budget },
		.visit = visit,
		.context = context,
	};
	struct query query;
	int result;

	query_begin(&query, own, asked, parts);
	result = query_windows(&query, merge_window, &merge, err);
	accumulator_fini(&merge.accumulator);
	query_end(&query);
	return result;
}
