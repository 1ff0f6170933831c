/*
 * Series, points, samples and spans: what is read without summing up stacks.
 */
#include "storage/byte_cursor.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"

/* ---- points ---- */

struct scan {
	store_point_visitor visit;
	void *context;
};

static int visit_point(struct query *query, const struct query_window *window,
                       struct query_column *column, const struct reader_row *row, int64_t total,
                       struct scan *scan, struct error *err)
{
	struct store_point point = {
		.series = column->number,
		.time_unix_ns = row->time_unix_ns,
		.total = total,
		.profile_id = &row->id,
	};

	if (query_labels(query, window, column, &point.labels, err) < 0)
		return -1;
	return scan->visit(scan->context, &point, err);
}

static int scan_totals(struct query *query, struct query_window *window,
                       const struct reader_row *row, void *context, struct error *err)
{
	struct byte_cursor totals = byte_cursor(row->totals);
	uint32_t read = 0;
	uint64_t total = 0;

	/* columns of a run ascend */
	for (size_t i = window->firsts[row->run]; i < window->firsts[row->run + 1]; i++) {
		while (read <= window->columns[i].column) {
			total = byte_cursor_number(&totals);
			read++;
		}
		if (totals.failed)
			return error_set(err, ERROR_CORRUPT, "totals of a profile are cut");
		if (visit_point(query, window, &window->columns[i], row, (int64_t)total, context,
		                err) < 0)
			return -1;
	}
	return 0;
}

/* The sum of the rows that pass. False when none does. */
static bool sum_passing(const struct query_samples *samples, const int64_t *values,
                        int64_t *out_total)
{
	uint64_t total = 0;
	bool any = false;

	for (uint32_t i = 0; i < samples->page.row_count; i++) {
		if (samples->passes && !samples->passes[i])
			continue;
		total += (uint64_t)values[i];
		any = true;
	}
	*out_total = (int64_t)total;
	return any;
}

static int scan_rows(struct query *query, struct query_window *window, const struct reader_row *row,
                     void *context, struct error *err)
{
	struct query_samples samples;

	if (query_samples(query, window, row, QUERY_SPANS_IF_FILTERED, &samples, err) < 0)
		return -1;
	for (size_t i = window->firsts[row->run]; i < window->firsts[row->run + 1]; i++) {
		int64_t *values;
		int64_t total;

		if (sample_page_values(&samples.page, window->columns[i].column, query->scratch,
		                       &values, err) < 0)
			return -1;
		if (sum_passing(&samples, values, &total) &&
		    visit_point(query, window, &window->columns[i], row, total, context, err) < 0)
			return -1;
	}
	return 0;
}

static int scan_window(struct query *query, struct query_window *window, void *context,
                       struct error *err)
{
	if (sample_filter_needs_rows(query->asked->filter))
		return query_rows(query, window,
		                  (struct query_range){ 0, window->run_count, READER_SAMPLES },
		                  scan_rows, context, err);
	return query_rows(query, window,
	                  (struct query_range){ 0, window->run_count, READER_TOTALS }, scan_totals,
	                  context, err);
}

int sqlite_store_scan(struct store *store, const struct store_query *asked,
                      store_point_visitor visit, void *context, struct error *err)
{
	struct scan scan = { visit, context };
	struct query query;
	int result;

	query_begin(&query, sqlite_store_of(store), asked, NULL);
	result = query_windows(&query, scan_window, &scan, err);
	query_end(&query);
	return result;
}

/* ---- samples ---- */

struct sample_scan {
	store_samples_visitor visit;
	void *context;
	uint32_t windows; /* so far */
};

/* Those that pass stand in front, in arrays of their own. */
static int keep_passing(struct query *query, const struct query_samples *samples,
                        struct store_samples *out, struct error *err)
{
	const size_t rows = samples->page.row_count;
	uint32_t *stacks = arena_array_raw(query->scratch, rows, sizeof(*stacks));
	int64_t *values = arena_array_raw(query->scratch, rows, sizeof(*values));

	if (!stacks || !values)
		return arena_error(query->scratch, err);
	out->count = 0;
	for (size_t i = 0; i < rows; i++) {
		if (!samples->passes[i])
			continue;
		stacks[out->count] = out->stacks[i];
		values[out->count++] = out->values[i];
	}
	out->stacks = stacks;
	out->values = values;
	return 0;
}

static int sample_row(struct query *query, struct query_window *window,
                      const struct reader_row *row, void *context, struct error *err)
{
	struct sample_scan *scan = context;
	struct query_samples samples;
	struct symbols symbols;

	if (query_samples(query, window, row, QUERY_SPANS_IF_FILTERED, &samples, err) < 0)
		return -1;
	symbol_table_view(window->tables->symbols, &symbols);
	for (size_t i = window->firsts[row->run]; i < window->firsts[row->run + 1]; i++) {
		struct query_column *column = &window->columns[i];
		struct store_samples found = {
			.series = column->number,
			.time_unix_ns = row->time_unix_ns,
			.window = scan->windows,
			.symbols = &symbols,
			.stacks = samples.page.stacks,
			.count = samples.page.row_count,
		};
		int64_t *values;

		if (query_labels(query, window, column, &found.labels, err) < 0 ||
		    sample_page_values(&samples.page, column->column, query->scratch, &values,
		                       err) < 0)
			return -1;
		found.values = values;
		if (samples.passes && keep_passing(query, &samples, &found, err) < 0)
			return -1;
		if (scan->visit(scan->context, &found, err) < 0)
			return -1;
	}
	return 0;
}

static int sample_window(struct query *query, struct query_window *window, void *context,
                         struct error *err)
{
	struct sample_scan *scan = context;
	const int status = query_rows(query, window,
	                              (struct query_range){ 0, window->run_count, READER_SAMPLES },
	                              sample_row, scan, err);

	scan->windows++;
	return status;
}

int sqlite_store_scan_samples(struct store *store, const struct store_query *asked,
                              store_samples_visitor visit, void *context, struct error *err)
{
	struct sample_scan scan = { visit, context, 0 };
	struct query query;
	int result;

	query_begin(&query, sqlite_store_of(store), asked, NULL);
	result = query_windows(&query, sample_window, &scan, err);
	query_end(&query);
	return result;
}

/* ---- series ---- */

struct series_scan {
	store_series_visitor visit;
	void *context;
	struct arena *arena;
	bool *seen; /* by the query's number */
	size_t seen_count;
};

/* Makes the marks reach `count` numbers. */
static int need_seen(struct series_scan *scan, size_t count, struct error *err)
{
	bool *seen;

	if (count <= scan->seen_count)
		return 0;
	seen = arena_array(scan->arena, 2 * count, sizeof(*seen));
	if (!seen)
		return arena_error(scan->arena, err);
	if (scan->seen_count > 0)
		memcpy(seen, scan->seen, scan->seen_count * sizeof(*seen));
	scan->seen = seen;
	scan->seen_count = 2 * count;
	return 0;
}

static int visit_series(struct query *query, const struct query_window *window,
                        const struct query_column *column, struct series_scan *scan,
                        struct error *err)
{
	struct label_set labels;

	if (scan->seen[column->number])
		return 0;
	scan->seen[column->number] = true;
	/* once each: not worth keeping */
	arena_reset(query->scratch);
	if (series_view_labels(&window->series, column->series, query->scratch, &labels, err) < 0)
		return -1;
	return scan->visit(scan->context, &labels, err);
}

static bool all_seen(const struct series_scan *scan, const struct query_window *window, size_t run)
{
	for (size_t i = window->firsts[run]; i < window->firsts[run + 1]; i++)
		if (!scan->seen[window->columns[i].number])
			return false;
	return true;
}

/* Leaves out the runs whose series are known: another window has told them. */
static void drop_seen_runs(const struct series_scan *scan, struct query_window *window,
                           size_t *kept_runs, size_t *out_count)
{
	size_t count = 0;

	for (size_t run = 0; run < window->run_count; run++) {
		if (all_seen(scan, window, run))
			continue;
		window->runs[count] = window->runs[run];
		kept_runs[count++] = run;
	}
	*out_count = count;
}

static int series_window(struct query *query, struct query_window *window, void *context,
                         struct error *err)
{
	struct series_scan *scan = context;
	size_t *kept = arena_array_raw(scan->arena, window->run_count, sizeof(*kept));
	bool *found = arena_array(scan->arena, window->run_count, sizeof(*found));
	size_t count;

	if (!kept || !found)
		return arena_error(scan->arena, err);
	if (need_seen(scan, query->numbers.count, err) < 0)
		return -1;
	drop_seen_runs(scan, window, kept, &count);
	if (reader_probe(window->reader, window->runs, count, found, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		for (size_t j = window->firsts[kept[i]];
		     found[i] && j < window->firsts[kept[i] + 1]; j++)
			if (visit_series(query, window, &window->columns[j], scan, err) < 0)
				return -1;
	return 0;
}

/* With a filter on profiles or rows, a series counts when one of its points passes. */
static int series_of_point(void *context, const struct store_point *point, struct error *err)
{
	struct series_scan *scan = context;

	if (need_seen(scan, (size_t)point->series + 1, err) < 0)
		return -1;
	if (scan->seen[point->series])
		return 0;
	scan->seen[point->series] = true;
	return scan->visit(scan->context, point->labels, err);
}

int sqlite_store_series(struct store *store, const struct store_query *asked,
                        store_series_visitor visit, void *context, struct error *err)
{
	struct series_scan scan = { .visit = visit, .context = context, .arena = asked->arena };
	const struct sample_filter *filter = asked->filter;
	struct query query;
	int result;

	if (filter && (filter->profile_id_count > 0 || sample_filter_needs_rows(filter)))
		return sqlite_store_scan(store, asked, series_of_point, &scan, err);
	query_begin(&query, sqlite_store_of(store), asked, NULL);
	result = query_windows(&query, series_window, &scan, err);
	query_end(&query);
	return result;
}

/* ---- spans ---- */

struct span_scan {
	store_span_visitor visit;
	void *context;
};

static int visit_spans(struct span_scan *scan, const struct query_column *column,
                       const struct reader_row *row, const struct query_samples *samples,
                       const int64_t *values, struct error *err)
{
	static const uint8_t none[TRACE_ID_SIZE];

	for (uint32_t i = 0; i < samples->page.row_count; i++) {
		const struct store_span span = {
			.series = column->number,
			.labels = &column->labels,
			.time_unix_ns = row->time_unix_ns,
			.value = values[i],
			.span_id = samples->span_ids[i],
			.trace_id = samples->trace_ids ? samples->trace_ids[i] : none,
		};

		if (span.span_id == 0 || (samples->passes && !samples->passes[i]))
			continue;
		if (scan->visit(scan->context, &span, err) < 0)
			return -1;
	}
	return 0;
}

static int span_row(struct query *query, struct query_window *window, const struct reader_row *row,
                    void *context, struct error *err)
{
	struct query_samples samples;

	if (query_samples(query, window, row, QUERY_SPANS, &samples, err) < 0)
		return -1;
	if (!samples.span_ids)
		return 0;
	for (size_t i = window->firsts[row->run]; i < window->firsts[row->run + 1]; i++) {
		struct query_column *column = &window->columns[i];
		const struct label_set *labels;
		int64_t *values;

		if (query_labels(query, window, column, &labels, err) < 0 ||
		    sample_page_values(&samples.page, column->column, query->scratch, &values,
		                       err) < 0 ||
		    visit_spans(context, column, row, &samples, values, err) < 0)
			return -1;
	}
	return 0;
}

static int span_window(struct query *query, struct query_window *window, void *context,
                       struct error *err)
{
	return query_rows(query, window,
	                  (struct query_range){ 0, window->run_count, READER_SAMPLES }, span_row,
	                  context, err);
}

int sqlite_store_scan_spans(struct store *store, const struct store_query *asked,
                            store_span_visitor visit, void *context, struct error *err)
{
	struct span_scan scan = { visit, context };
	struct query query;
	int result;

	query_begin(&query, sqlite_store_of(store), asked, NULL);
	result = query_windows(&query, span_window, &scan, err);
	query_end(&query);
	return result;
}
