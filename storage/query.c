#include "storage/query.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/page.h"
#include "storage/sqlite_store_parts.h"

#define UNUSED_NS \
	(600 * NS_PER_S) /* tables that nobody asked for so long are given back; a guess */
#define CHECK_ROWS 256

void query_begin(struct query *query, struct sqlite_store *store, const struct store_query *asked,
                 const struct store_parts *parts)
{
	*query = (struct query){ .store = store, .asked = asked, .parts = parts };
	query->scratch = arena_new(2 * PAGE_RAW_MAX, store->budget);
	tenant_folder_format(asked->tenant, query->folder);
}

void query_end(struct query *query)
{
	arena_free(query->scratch);
	id_map_fini(&query->numbers);
	window_set_trim(&query->store->windows, clock_mono_ns() - UNUSED_NS);
}

int query_check(const struct query *query, struct error *err)
{
	const struct store_cancel *cancel = query->asked->cancel;

	if (!cancel)
		return 0;
	if (cancel->gone && atomic_load_explicit(cancel->gone, memory_order_relaxed))
		return error_set(err, ERROR_CANCELLED, "nobody waits for the answer");
	if (cancel->deadline_mono_ns > 0 && clock_mono_ns() > cancel->deadline_mono_ns)
		return error_set(err, ERROR_TIMED_OUT, "the query took too long");
	return 0;
}

const struct label_set *query_labels(const struct query_window *window,
                                     const struct query_column *column)
{
	return &series_view_series(&window->series, column->series)->labels;
}

/* ---- series ---- */

/* The part of each series of the window, or STORE_SKIP. */
static uint32_t *match_series(struct query *query, const struct query_window *window)
{
	const struct store_query *asked = query->asked;
	uint32_t *parts =
		arena_array_raw(asked->arena, window->series.series_count, sizeof(*parts));

	for (uint32_t id = 0; parts && id < window->series.series_count; id++) {
		const struct label_set *labels = &series_view_series(&window->series, id)->labels;

		parts[id] = STORE_SKIP;
		if (asked->selector && !selector_matches(asked->selector, labels))
			continue;
		parts[id] = query->parts && query->parts->part_of
		                    ? query->parts->part_of(query->parts->context, labels)
		                    : 0;
		if (query->parts && parts[id] >= query->parts->count)
			parts[id] = STORE_SKIP;
	}
	return parts;
}

static int by_part(const void *left, const void *right)
{
	const struct query_column *a = left;
	const struct query_column *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->column > b->column) - (a->column < b->column);
}

/* The columns that are wanted, by part, group and column. */
static int find_columns(struct query *query, struct query_window *window, struct error *err)
{
	struct arena *arena = query->asked->arena;
	const uint32_t *parts = match_series(query, window);
	size_t capacity = 0;

	if (!parts)
		return arena_error(arena, err);
	for (uint32_t id = 0; id < window->series.group_count; id++) {
		const struct series_group *group = series_view_group(&window->series, id);

		for (uint32_t i = 0; i < group->count; i++) {
			const uint32_t series = group->series[i];
			struct query_column column = { id, i, series, 0, parts[series] };
			bool is_new;

			if (parts[series] == STORE_SKIP)
				continue;
			column.number = id_map_add(
				&query->numbers,
				series_view_series(&window->series, series)->fingerprint, &is_new);
			if (!ARENA_GROW(arena, window->columns, window->column_count, capacity))
				return arena_error(arena, err);
			window->columns[window->column_count++] = column;
		}
	}
	if (query->parts && window->column_count > 1)
		qsort(window->columns, window->column_count, sizeof(*window->columns), by_part);
	return 0;
}

/* The times of a part: the query's, narrowed. */
static struct reader_run run_of(const struct query *query, const struct query_column *column)
{
	struct reader_run run = {
		.group = column->group,
		.start_unix_ns = query->asked->range.start_unix_ns,
		.end_unix_ns = query->asked->range.end_unix_ns,
	};

	if (query->parts && query->parts->ranges) {
		const struct store_range *range = &query->parts->ranges[column->part];

		if (range->start_unix_ns > run.start_unix_ns)
			run.start_unix_ns = range->start_unix_ns;
		if (range->end_unix_ns < run.end_unix_ns)
			run.end_unix_ns = range->end_unix_ns;
	}
	return run;
}

/* Columns of one group and part share their rows. */
static int make_runs(struct query *query, struct query_window *window, struct error *err)
{
	struct arena *arena = query->asked->arena;

	window->runs = arena_array(arena, window->column_count, sizeof(*window->runs));
	window->firsts = arena_array(arena, window->column_count + 1, sizeof(*window->firsts));
	if (!window->runs || !window->firsts)
		return arena_error(arena, err);
	for (size_t i = 0; i < window->column_count; i++) {
		const struct query_column *column = &window->columns[i];

		if (i > 0 && column->group == column[-1].group && column->part == column[-1].part)
			continue;
		window->firsts[window->run_count] = i;
		window->runs[window->run_count++] = run_of(query, column);
	}
	window->firsts[window->run_count] = window->column_count;
	return 0;
}

/* ---- windows ---- */

/* Counts what reading the window took; makes room by giving back what nobody uses. */
static int charge(struct query *query, struct window *window, struct error *err)
{
	struct window_set *set = &query->store->windows;

	if (window_set_charge(set, window))
		return 0;
	window_set_trim(set, INT64_MAX);
	if (window_set_charge(set, window))
		return 0;
	return error_set(err, ERROR_UNAVAILABLE,
	                 "memory limit: no room for the symbols of a day (%zu bytes)",
	                 atomic_load(&window->table_bytes));
}

static int visit_window(struct query *query, struct query_window *window,
                        query_window_visitor visit, void *context, struct error *err)
{
	if (reader_tables(window->reader, &window->tables, err) < 0 ||
	    charge(query, window->window, err) < 0)
		return -1;
	series_index_view(window->tables->series, &window->series);
	if (find_columns(query, window, err) < 0)
		return -1;
	if (window->column_count == 0)
		return 0;
	if (make_runs(query, window, err) < 0)
		return -1;
	return visit(query, window, context, err);
}

static int open_window(struct query *query, struct window *held, query_window_visitor visit,
                       void *context, struct error *err)
{
	struct query_window window = { .window = held };
	int result;

	if (query_check(query, err) < 0)
		return -1;
	if (window_take_reader(held, &window.reader, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 }; /* retention was faster */
		return 0;
	}
	result = visit_window(query, &window, visit, context, err);
	if (result < 0)
		reader_close(window.reader);
	else
		window_give_reader(held, window.reader);
	return result;
}

int query_windows(struct query *query, query_window_visitor visit, void *context, struct error *err)
{
	const struct store_range *range = &query->asked->range;
	struct window_set *set = &query->store->windows;
	const int32_t last_day = day_of(range->end_unix_ns);
	struct window_place place = { day_of(range->start_unix_ns), 0 };
	struct window *window;

	if (range->start_unix_ns > range->end_unix_ns)
		return 0;
	if (set->follows && window_set_follow(set, query->folder, err) < 0)
		return -1;
	while ((window = window_set_next(set, query->folder, place, last_day))) {
		const int result = open_window(query, window, visit, context, err);

		place = (struct window_place){ window->day, window->number + 1 };
		if (result < 0 && err->code == ERROR_CORRUPT)
			sqlite_store_set_aside(query->store, window, err);
		window_set_release(set, window);
		if (result < 0)
			return -1;
	}
	return 0;
}

/* ---- rows ---- */

int query_rows(struct query *query, struct query_window *window, struct query_range range,
               query_row_visitor visit, void *context, struct error *err)
{
	struct reader_cursor cursor = {
		.runs = window->runs,
		.run_count = range.end,
		.want = range.want,
		.run = range.first,
	};
	const struct sample_filter *filter = query->asked->filter;

	for (;;) {
		const struct reader_row *rows;
		size_t count;

		if (query_check(query, err) < 0 ||
		    reader_next(window->reader, &cursor, &rows, &count, err) < 0)
			return -1;
		if (count == 0)
			return 0;
		for (size_t i = 0; i < count; i++) {
			if (i % CHECK_ROWS == CHECK_ROWS - 1 && query_check(query, err) < 0)
				return -1;
			if (filter && !sample_filter_has_profile(filter, &rows[i].id))
				continue;
			if (visit(query, window, &rows[i], context, err) < 0)
				return -1;
		}
	}
}

static int filter_rows(struct query *query, struct query_samples *samples, struct error *err)
{
	static const uint8_t none[TRACE_ID_SIZE];
	const struct sample_filter *filter = query->asked->filter;
	bool *passes;

	if (!sample_filter_needs_rows(filter))
		return 0;
	passes = arena_array_raw(query->scratch, samples->page.row_count, sizeof(*passes));
	if (!passes)
		return arena_error(query->scratch, err);
	for (uint32_t i = 0; i < samples->page.row_count; i++)
		passes[i] =
			sample_filter_has_row(filter, samples->span_ids ? samples->span_ids[i] : 0,
		                              samples->trace_ids ? samples->trace_ids[i] : none);
	samples->passes = passes;
	return 0;
}

int query_samples(struct query *query, struct query_window *window, const struct reader_row *row,
                  enum query_spans spans, struct query_samples *out, struct error *err)
{
	struct query_samples samples = { 0 };
	const struct sample_page *page = &samples.page;
	const bool with_spans = spans == QUERY_SPANS ||
	                        sample_filter_needs_rows(query->asked->filter);
	uint64_t *span_ids = NULL;
	uint8_t(*trace_ids)[TRACE_ID_SIZE] = NULL;
	struct str raw;

	arena_reset(query->scratch);
	if (page_open(row->body, query->scratch, &raw, err) < 0 ||
	    sample_page_decode(raw, query->scratch, &samples.page, err) < 0)
		return -1;
	/* ascending: the last one is the largest */
	if (page->row_count > 0 &&
	    page->stacks[page->row_count - 1] >= symbol_table_stack_count(window->tables->symbols))
		return error_set(err, ERROR_CORRUPT,
		                 "samples %lld name stack %u, which is not there",
		                 (long long)row->sample, page->stacks[page->row_count - 1]);
	if (with_spans) {
		if (sample_page_spans(page, query->scratch, &span_ids, err) < 0 ||
		    sample_page_traces(page, query->scratch, &trace_ids, err) < 0)
			return -1;
		samples.span_ids = span_ids;
		samples.trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])trace_ids;
	}
	if (filter_rows(query, &samples, err) < 0)
		return -1;
	*out = samples;
	return 0;
}
