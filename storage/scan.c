/*
 * Points, samples and spans: what is read without summing up stacks.
 */
#include "storage/byte_cursor.h"
#include "storage/query_profile.h"
#include "storage/sqlite_store_parts.h"

/* ---- points ---- */

struct scan {
	store_point_visitor visit;
	void *context;
};

/* One profile of one column. */
struct scanned {
	struct query_column *column;
	int64_t time_unix_ns;
	int64_t total;
	struct uuid id;
};

static int visit_point(struct query *query, const struct query_window *window,
                       const struct scanned *scanned, const struct scan *scan, struct error *err)
{
	struct store_point point = {
		.series = scanned->column->number,
		.time_unix_ns = scanned->time_unix_ns,
		.total = scanned->total,
		.profile_id = &scanned->id,
	};

	if (query_labels(query, window, scanned->column, &point.labels, err) < 0)
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
		if (visit_point(query, window,
		                &(struct scanned){ &window->columns[i], row->time_unix_ns,
		                                   (int64_t)total, row->id },
		                context, err) < 0)
			return -1;
	}
	return 0;
}

/* The totals of the columns of a block that some pick wants, each read once. */
struct block_totals {
	int64_t **columns;
	uint32_t count;
};

static int find_totals(struct query *query, const struct query_block *block,
                       struct block_totals *totals, uint32_t column, const int64_t **out,
                       struct error *err)
{
	if (column >= totals->count)
		return error_set(err, ERROR_CORRUPT, "a block has %u series, its groups more",
		                 totals->count);
	if (!totals->columns[column] && block_heads_totals(block->heads, column, query->scratch,
	                                                   &totals->columns[column], err) < 0)
		return -1;
	*out = totals->columns[column];
	return 0;
}

static int scan_pick(struct query *query, struct query_window *window,
                     const struct query_block *block, const struct query_pick *pick,
                     struct block_totals *totals, const struct scan *scan, struct error *err)
{
	for (size_t i = window->firsts[pick->run]; i < window->firsts[pick->run + 1]; i++) {
		struct scanned scanned = { .column = &window->columns[i] };
		const int64_t *column;

		if (find_totals(query, block, totals, scanned.column->column, &column, err) < 0)
			return -1;
		for (uint32_t at = pick->profiles.first; at < pick->profiles.end; at++) {
			scanned.time_unix_ns = block->heads->times[at];
			scanned.total = column[at];
			scanned.id = block_heads_id(block->heads, at);
			if (visit_point(query, window, &scanned, scan, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int scan_block(struct query *query, struct query_window *window, struct query_block *block,
                      void *context, struct error *err)
{
	struct block_totals totals;

	if (query_block_heads(query, window, block, err) < 0)
		return -1;
	totals.count = block->heads->series_count;
	totals.columns = arena_array(query->scratch, totals.count, sizeof(*totals.columns));
	if (!totals.columns)
		return arena_error(query->scratch, err);
	for (size_t i = 0; i < block->pick_count; i++)
		if (scan_pick(query, window, block, &block->picks[i], &totals, context, err) < 0)
			return -1;
	return 0;
}

/* The sum of the rows that pass. False when none does. */
static bool sum_passing(const struct query_profile *profile, const int64_t *values,
                        int64_t *out_total)
{
	uint64_t total = 0;
	bool any = false;

	for (uint32_t i = 0; i < profile->row_count; i++) {
		if (profile->passes && !profile->passes[i])
			continue;
		total += (uint64_t)values[i];
		any = true;
	}
	*out_total = (int64_t)total;
	return any;
}

static int scan_rows(struct query *query, struct query_window *window,
                     const struct query_profile *profile, void *context, struct error *err)
{
	struct query_column *first = &window->columns[window->firsts[profile->run]];
	struct query_column *end = &window->columns[window->firsts[profile->run + 1]];

	for (struct query_column *column = first; column < end; column++) {
		struct scanned scanned = { column, profile->time_unix_ns, 0, profile->id };

		if (sum_passing(profile, profile->values[column - first], &scanned.total) &&
		    visit_point(query, window, &scanned, context, err) < 0)
			return -1;
	}
	return 0;
}

static int scan_window(struct query *query, struct query_window *window, void *context,
                       struct error *err)
{
	const struct query_range all = { 0, window->run_count, READER_TOTALS };

	if (sample_filter_needs_rows(query->asked->filter))
		return query_profiles(
			query, window,
			&(struct query_visit){ .visit = scan_rows, .context = context }, err);
	if (query_rows(query, window, all, scan_totals, context, err) < 0)
		return -1;
	return query_blocks(query, window, all, scan_block, context, err);
}

int sqlite_store_scan(struct store *store, const struct store_query *asked,
                      store_point_visitor visit, void *context, struct error *err)
{
	struct scan scan = { visit, context };
	struct query query;
	int result;

	query_begin(&query, sqlite_store_of(store), asked, NULL);
	if (!sample_filter_needs_rows(asked->filter))
		query.part = WINDOW_TABLES_LABELS;
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
static int keep_passing(struct query *query, const struct query_profile *profile,
                        struct store_samples *out, struct error *err)
{
	const size_t rows = profile->row_count;
	uint32_t *stacks = arena_array_raw(query->scratch, rows, sizeof(*stacks));
	int64_t *values = arena_array_raw(query->scratch, rows, sizeof(*values));

	if (!stacks || !values)
		return arena_error(query->scratch, err);
	out->count = 0;
	for (size_t i = 0; i < rows; i++) {
		if (!profile->passes[i])
			continue;
		stacks[out->count] = out->stacks[i];
		values[out->count++] = out->values[i];
	}
	out->stacks = stacks;
	out->values = values;
	return 0;
}

static int sample_profile(struct query *query, struct query_window *window,
                          const struct query_profile *profile, void *context, struct error *err)
{
	struct query_column *first = &window->columns[window->firsts[profile->run]];
	struct query_column *end = &window->columns[window->firsts[profile->run + 1]];
	struct sample_scan *scan = context;
	struct symbols symbols;

	symbol_table_view(window->tables->symbols, &symbols);
	for (struct query_column *column = first; column < end; column++) {
		struct store_samples found = {
			.series = column->number,
			.time_unix_ns = profile->time_unix_ns,
			.window = scan->windows,
			.symbols = &symbols,
			.stacks = profile->stacks,
			.values = profile->values[column - first],
			.count = profile->row_count,
		};

		if (query_labels(query, window, column, &found.labels, err) < 0)
			return -1;
		if (profile->passes && keep_passing(query, profile, &found, err) < 0)
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
	const int status = query_profiles(
		query, window, &(struct query_visit){ .visit = sample_profile, .context = scan },
		err);

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

/* ---- spans ---- */

struct span_scan {
	store_span_visitor visit;
	void *context;
};

static int visit_spans(const struct span_scan *scan, const struct query_column *column,
                       const struct query_profile *profile, const int64_t *values,
                       struct error *err)
{
	static const uint8_t none[TRACE_ID_SIZE];

	for (uint32_t i = 0; i < profile->row_count; i++) {
		const struct store_span span = {
			.series = column->number,
			.labels = &column->labels,
			.time_unix_ns = profile->time_unix_ns,
			.value = values[i],
			.span_id = profile->span_ids[i],
			.trace_id = profile->trace_ids ? profile->trace_ids[i] : none,
		};

		if (span.span_id == 0 || (profile->passes && !profile->passes[i]))
			continue;
		if (scan->visit(scan->context, &span, err) < 0)
			return -1;
	}
	return 0;
}

static int span_profile(struct query *query, struct query_window *window,
                        const struct query_profile *profile, void *context, struct error *err)
{
	struct query_column *first = &window->columns[window->firsts[profile->run]];
	struct query_column *end = &window->columns[window->firsts[profile->run + 1]];

	if (!profile->span_ids)
		return 0;
	for (struct query_column *column = first; column < end; column++) {
		const struct label_set *labels;

		if (query_labels(query, window, column, &labels, err) < 0 ||
		    visit_spans(context, column, profile, profile->values[column - first], err) < 0)
			return -1;
	}
	return 0;
}

static int span_window(struct query *query, struct query_window *window, void *context,
                       struct error *err)
{
	return query_profiles(query, window,
	                      &(struct query_visit){ .spans = QUERY_SPANS,
	                                             .visit = span_profile,
	                                             .context = context },
	                      err);
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
