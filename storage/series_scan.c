/*
 * Series, names and values of labels: what is answered without a sample being read, and
 * mostly without the file.
 */
#include "storage/presence.h"
#include "storage/series_match.h"
#include "storage/sqlite_store_parts.h"

#define LABELS_BYTES_MAX ((size_t)1 << 20) /* of one set: SERIES_LABELS_MAX labels fit well */

/* ---- presence ---- */

/* Whether a series of the window has a profile in range, in any of its groups. */
static int find_series(struct query *query, struct query_window *window, uint32_t series, bool *out,
                       struct error *err)
{
	const struct series_view *view = &window->series;
	const struct store_range *range = &query->asked->range;

	*out = false;
	for (const struct series_place *place = series_view_newest(view, series); place && !*out;
	     place = series_view_previous(view, place)) {
		const struct reader_run run = { place->group, range->start_unix_ns,
			                        range->end_unix_ns };

		if (presence_find(query, window, &run, out, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- series ---- */

struct series_scan {
	store_series_visitor visit;
	void *context;
	struct arena *arena;
	struct arena *labels; /* of one series */
	bool *seen;           /* by the query's number */
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

/* Tells a series that no window before had a profile of. */
static int visit_new(struct query *query, struct query_window *window, uint32_t series,
                     uint32_t number, struct series_scan *scan, struct error *err)
{
	struct label_set labels;
	bool found;

	if (query_check(query, err) < 0 || find_series(query, window, series, &found, err) < 0)
		return -1;
	if (!found)
		return 0;
	scan->seen[number] = true;
	/* once each: not worth keeping */
	arena_reset(scan->labels);
	if (series_view_labels(&window->series, series, scan->labels, &labels, err) < 0)
		return -1;
	return scan->visit(scan->context, &labels, err);
}

/* Series by series: most are known from other windows, and cost no more than that. */
static int series_window(struct query *query, struct query_window *window, void *context,
                         struct error *err)
{
	struct series_scan *scan = context;
	struct series_ids ids;

	if (series_match(&window->series, query->asked->selector, scan->arena, &ids, err) < 0 ||
	    need_seen(scan, query->numbers.count + ids.count, err) < 0)
		return -1;
	for (uint32_t i = 0; i < ids.count; i++) {
		const struct series_entry *entry = series_view_series(&window->series, ids.ids[i]);
		bool is_new;
		const uint32_t number = id_map_add(&query->numbers, entry->fingerprint, &is_new);

		if (!scan->seen[number] &&
		    visit_new(query, window, ids.ids[i], number, scan, err) < 0)
			return -1;
	}
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
	query.part = WINDOW_TABLES_LABELS;
	scan.labels = arena_new(LABELS_BYTES_MAX, query.store->budget);
	result = query_all_windows(&query, series_window, &scan, err);
	arena_free(scan.labels);
	query_end(&query);
	return result;
}

/* ---- values and names ---- */

struct label_scan {
	struct str name; /* of values; names are asked for when it has no data */
	store_text_visitor visit;
	void *context;
};

/* One window in which labels are looked for. */
struct label_window {
	struct query *query;
	struct query_window *window;
	const struct label_index *labels;
	const struct label_scan *scan;
	uint32_t name;  /* id of scan->name */
	bool *told;     /* by value, or by name */
	uint32_t limit; /* values or names there are marks for */
};

/* Whether any series with the value has a profile in range: mostly the first has. */
static int find_value(const struct label_window *at, uint32_t value, bool *out, struct error *err)
{
	struct postings_cursor cursor =
		postings_read(&label_index_value(at->labels, value)->series);
	const uint32_t *ids;
	uint32_t count;

	*out = false;
	while (!*out && postings_next(&cursor, &ids, &count))
		for (uint32_t i = 0; i < count && ids[i] < at->window->series.series_count && !*out;
		     i++)
			if (find_series(at->query, at->window, ids[i], out, err) < 0)
				return -1;
	return 0;
}

static int tell(const struct label_window *at, struct str text, struct error *err)
{
	return at->scan->visit(at->scan->context, text, err);
}

/* All values of a name; for names, the first one that is found tells it. */
static int tell_values(const struct label_window *at, uint32_t name, struct error *err)
{
	const struct label_name *owner = label_index_name(at->labels, name);
	const bool wants_values = at->scan->name.data != NULL;

	for (uint32_t id = label_name_newest(owner); id != LABEL_NONE;
	     id = label_value_previous(label_index_value(at->labels, id))) {
		bool found;

		if (query_check(at->query, err) < 0 || find_value(at, id, &found, err) < 0)
			return -1;
		if (!found)
			continue;
		if (!wants_values)
			return tell(at, owner->text, err);
		if (tell(at, label_index_value(at->labels, id)->text, err) < 0)
			return -1;
	}
	return 0;
}

/* Without a selector: what the index has, as far as it has a profile in range. */
static int tell_all(const struct label_window *at, struct error *err)
{
	const uint32_t names = label_index_name_count(at->labels);

	if (at->scan->name.data)
		return tell_values(at, at->name, err);
	for (uint32_t name = 0; name < names; name++)
		if (tell_values(at, name, err) < 0)
			return -1;
	return 0;
}

/* Which mark a value of a series sets: its own, or its name's. LABEL_NONE: none. */
static uint32_t mark_of(const struct label_window *at, uint32_t value)
{
	const uint32_t name = label_index_value(at->labels, value)->name;

	if (!at->scan->name.data)
		return name;
	return name == at->name ? value : LABEL_NONE;
}

/* Tells what is new of a series that has a profile. */
static int tell_series(const struct label_window *at, const struct series_entry *entry,
                       struct error *err)
{
	for (uint32_t i = 0; i < entry->value_count; i++) {
		const uint32_t mark = mark_of(at, entry->values[i]);

		if (mark >= at->limit || at->told[mark])
			continue;
		at->told[mark] = true;
		if (tell(at,
		         at->scan->name.data ? label_index_value(at->labels, mark)->text
		                             : label_index_name(at->labels, mark)->text,
		         err) < 0)
			return -1;
	}
	return 0;
}

static bool has_news(const struct label_window *at, const struct series_entry *entry)
{
	for (uint32_t i = 0; i < entry->value_count; i++) {
		const uint32_t mark = mark_of(at, entry->values[i]);

		if (mark < at->limit && !at->told[mark])
			return true;
	}
	return false;
}

/* With a selector: series by series, as long as they have something new. */
static int tell_matching(struct label_window *at, struct error *err)
{
	const struct store_query *asked = at->query->asked;
	struct series_ids ids;

	at->limit = at->scan->name.data ? label_index_value_count(at->labels)
	                                : label_index_name_count(at->labels);
	at->told = arena_array(asked->arena, at->limit, sizeof(*at->told));
	if (!at->told)
		return arena_error(asked->arena, err);
	if (series_match(&at->window->series, asked->selector, asked->arena, &ids, err) < 0)
		return -1;
	for (uint32_t i = 0; i < ids.count; i++) {
		const struct series_entry *entry =
			series_view_series(&at->window->series, ids.ids[i]);
		bool found;

		if (!has_news(at, entry))
			continue;
		if (query_check(at->query, err) < 0 ||
		    find_series(at->query, at->window, ids.ids[i], &found, err) < 0 ||
		    (found && tell_series(at, entry, err) < 0))
			return -1;
	}
	return 0;
}

static int label_window(struct query *query, struct query_window *window, void *context,
                        struct error *err)
{
	const struct label_scan *scan = context;
	struct label_window at = {
		.query = query,
		.window = window,
		.labels = &window->series.index->labels,
		.scan = scan,
	};

	if (scan->name.data) {
		at.name = label_index_find_name(at.labels, scan->name);
		if (at.name == LABEL_NONE)
			return 0;
	}
	return query->asked->selector && query->asked->selector->count > 0 ? tell_matching(&at, err)
	                                                                   : tell_all(&at, err);
}

static int scan_labels(struct store *store, const struct store_query *asked,
                       struct label_scan *scan, struct error *err)
{
	struct query query;
	int result;

	query_begin(&query, sqlite_store_of(store), asked, NULL);
	query.part = WINDOW_TABLES_LABELS;
	result = query_all_windows(&query, label_window, scan, err);
	query_end(&query);
	return result;
}

int sqlite_store_label_names(struct store *store, const struct store_query *asked,
                             store_text_visitor visit, void *context, struct error *err)
{
	struct label_scan scan = { .visit = visit, .context = context };

	return scan_labels(store, asked, &scan, err);
}

int sqlite_store_label_values(struct store *store, const struct store_query *asked, struct str name,
                              store_text_visitor visit, void *context, struct error *err)
{
	struct label_scan scan = { .name = name, .visit = visit, .context = context };

	if (!name.data)
		scan.name = STR("");
	return scan_labels(store, asked, &scan, err);
}
