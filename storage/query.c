#include "storage/query.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/page.h"
#include "storage/series_match.h"
#include "storage/sqlite_store_parts.h"
#include "storage/window_memory.h"

#define UNUSED_NS \
	(600 * NS_PER_S) /* tables that nobody asked for so long are given back; a guess */
#define CHECK_ROWS 256

void query_begin(struct query *query, struct sqlite_store *store, const struct store_query *asked,
                 const struct store_parts *parts)
{
	*query = (struct query){ .store = store, .asked = asked, .parts = parts };
	query->scratch = arena_new(2 * PAGE_RAW_MAX, store->budget);
	query->held = arena_new(2 * PAGE_RAW_MAX, store->budget);
	arena_use_cache(query->scratch, store->chunks);
	arena_use_cache(query->held, store->chunks);
}

void query_end(struct query *query)
{
	arena_free(query->scratch);
	arena_free(query->held);
	id_map_fini(&query->numbers);
	window_set_trim(&query->store->windows, clock_mono_ns() - UNUSED_NS);
}

int query_check(const struct query *query, struct error *err)
{
	const struct store_cancel *cancel = query->asked->cancel;
	bool is_late = false;

	if (!cancel)
		return 0;
	for (; cancel; cancel = atomic_load_explicit(&cancel->also, memory_order_acquire)) {
		if (cancel->gone && atomic_load_explicit(cancel->gone, memory_order_relaxed))
			continue;
		if (cancel->deadline_mono_ns == 0 || clock_mono_ns() <= cancel->deadline_mono_ns)
			return 0;
		is_late = true;
	}
	return is_late ? error_set(err, ERROR_TIMED_OUT, "the query took too long")
	               : error_set(err, ERROR_CANCELLED, "nobody waits for the answer");
}

int query_labels(struct query *query, const struct query_window *window,
                 struct query_column *column, const struct label_set **out, struct error *err)
{
	if (!column->labels.labels &&
	    series_view_labels(&window->series, column->series, query->asked->arena,
	                       &column->labels, err) < 0)
		return -1;
	*out = &column->labels;
	return 0;
}

/* ---- series ---- */

/* The part of a series, or STORE_SKIP. */
static int find_part(struct query *query, const struct query_window *window, uint32_t series,
                     uint32_t *out, struct error *err)
{
	const struct store_parts *parts = query->parts;
	struct label_set labels;

	*out = 0;
	if (!parts)
		return 0;
	if (parts->part_of) {
		arena_reset(query->scratch);
		if (series_view_labels(&window->series, series, query->scratch, &labels, err) < 0)
			return -1;
		*out = parts->part_of(parts->context, &labels);
	}
	if (*out >= parts->count)
		*out = STORE_SKIP;
	return 0;
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

/* Columns being found. */
struct column_list {
	struct query_column *columns;
	size_t count;
	size_t capacity;
	bool is_sorted; /* by part, group and column */
};

/* The columns of a series in all groups that have it. */
static int add_columns(struct query *query, const struct query_window *window, uint32_t series,
                       uint32_t part, struct column_list *list, struct error *err)
{
	const struct series_view *view = &window->series;
	const struct series_place *place = series_view_newest(view, series);
	struct query_column column = { .series = series, .part = part };
	bool is_new;

	if (!place)
		return 0;
	column.number =
		id_map_add(&query->numbers, series_view_series(view, series)->fingerprint, &is_new);
	for (; place; place = series_view_previous(view, place)) {
		if (!ARENA_GROW(query->held, list->columns, list->count, list->capacity))
			return arena_error(query->held, err);
		column.group = place->group;
		column.column = place->column;
		list->columns[list->count] = column;
		list->is_sorted =
			list->is_sorted &&
			(list->count == 0 || by_part(&list->columns[list->count - 1], &column) < 0);
		list->count++;
	}
	return 0;
}

/* The columns that are wanted, by part, group and column. */
static int find_columns(struct query *query, struct query_window *window, struct error *err)
{
	struct column_list list = { .is_sorted = true };
	struct series_ids ids;

	if (series_match(&window->series, query->asked->selector, query->held, &ids, err) < 0)
		return -1;
	for (uint32_t i = 0; i < ids.count; i++) {
		uint32_t part;

		if (find_part(query, window, ids.ids[i], &part, err) < 0 ||
		    (part != STORE_SKIP &&
		     add_columns(query, window, ids.ids[i], part, &list, err) < 0))
			return -1;
	}
	if (!list.is_sorted)
		qsort(list.columns, list.count, sizeof(*list.columns), by_part);
	window->columns = list.columns;
	window->column_count = list.count;
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
	struct arena *arena = query->held;

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

int query_charge(struct query *query, struct window *window, struct error *err)
{
	return window_set_make_room(&query->store->windows, window, err);
}

static int begin_window(struct query *query, struct query_window *window, struct error *err)
{
	window->times_epoch = group_times_epoch(window->window->times);
	if (reader_begin(window->reader, query->part, &window->tables, err) < 0 ||
	    query_charge(query, window->window, err) < 0)
		return -1;
	series_index_view(window->tables->series, &window->series);
	return 0;
}

/*
 * Whether another file has taken the place of the window's own before the visit began: then
 * what was opened by its name may be that file, of which the window's tables know nothing.
 */
static bool was_replaced(const struct query *query, const struct window *held)
{
	struct window_set *set = &query->store->windows;

	return !set->follows && !window_set_is_listed(set, held);
}

/* True in *out_again: the window is not what it was; the place is to be looked at again. */
static int open_window(struct query *query, struct window *held, query_window_visitor visit,
                       void *context, bool *out_again, struct error *err)
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
	arena_reset(query->held);
	result = begin_window(query, &window, err);
	*out_again = was_replaced(query, held);
	if (*out_again) {
		*err = (struct error){ 0 };
		reader_close(window.reader);
		return 0;
	}
	if (result == 0)
		result = visit(query, &window, context, err);
	reader_end(window.reader);
	if (result < 0)
		reader_close(window.reader);
	else
		window_give_reader(held, window.reader);
	return result;
}

/* The window, or what takes its place meanwhile; lets go of it. */
static int visit_window(struct query *query, struct window *window, query_window_visitor visit,
                        void *context, struct error *err)
{
	struct window_set *set = &query->store->windows;
	bool again = false;
	int result = open_window(query, window, visit, context, &again, err);

	while (again) {
		again = false;
		window = query_walk_again(query->walk, window);
		if (!window)
			return 0;
		result = open_window(query, window, visit, context, &again, err);
	}
	if (result < 0 && err->code == ERROR_CORRUPT)
		sqlite_store_set_aside(query->store, window, err);
	window_set_release(set, window);
	return result;
}

static void visit_walk(struct query *query, struct query_walk *walk, query_window_visitor visit,
                       void *context)
{
	struct window *window;

	query->walk = walk;
	while ((window = query_walk_next(walk, &query->window))) {
		struct error err = { 0 };
		const int result = visit_window(query, window, visit, context, &err);

		query_walk_pass(walk, query->window, result, &err);
	}
}

int query_wait(const struct query *query, struct error *err)
{
	return query_walk_wait(query->walk, query->window, err);
}

int query_all_windows(struct query *query, query_window_visitor visit, void *context,
                      struct error *err)
{
	struct query_walk walk;

	if (query_walk_begin(&walk, &query->store->windows, query->asked, err) < 0)
		return -1;
	visit_walk(query, &walk, visit, context);
	return query_walk_end(&walk, err);
}

/* A visitor of windows with matching series. */
struct matching {
	query_window_visitor visit;
	void *context;
};

static int visit_matching(struct query *query, struct query_window *window, void *context,
                          struct error *err)
{
	const struct matching *matching = context;

	if (find_columns(query, window, err) < 0)
		return -1;
	if (window->column_count == 0)
		return 0;
	if (make_runs(query, window, err) < 0)
		return -1;
	return matching->visit(query, window, matching->context, err);
}

int query_windows(struct query *query, query_window_visitor visit, void *context, struct error *err)
{
	struct matching matching = { visit, context };

	return query_all_windows(query, visit_matching, &matching, err);
}

void query_shared_windows(struct query *query, struct query_walk *walk, query_window_visitor visit,
                          void *context)
{
	struct matching matching = { visit, context };

	visit_walk(query, walk, visit_matching, &matching);
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
