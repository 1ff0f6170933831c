/*
 * Deleting profiles: small transactions on the writer's thread, other writes go between
 * them.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"
#include "storage/window_writer.h"

#define ROWS_AT_ONCE 500 /* of one transaction; a guess */

static int count_point(void *context, const struct store_point *point, struct error *err)
{
	uint64_t *count = context;

	(void)point;
	(void)err;
	++*count;
	return 0;
}

/* One transaction's work. */
struct slice {
	struct sqlite_store *store;
	struct window *window;
	struct str tenant;
	struct window_removal removal;
	size_t rows;
	size_t removed;
};

static int remove_slice(struct writer *writer, void *context, struct error *err)
{
	struct slice *slice = context;
	struct window_writer *window;

	if (writer_open_window(writer, slice->window, slice->tenant, &window, err) < 0)
		return -1;
	if (window_writer_remove(window, &slice->removal, &slice->rows, &slice->removed, err) < 0 ||
	    window_writer_commit(window, err) < 0) {
		window_writer_rollback(window);
		if (err->code == ERROR_IO)
			writer_renew_window(writer, slice->window);
		return -1;
	}
	return window_writer_tend(window, err);
}

/* Which series of the run's group stay; NULL when none does. */
static bool *kept_series(const struct query_window *window, size_t run)
{
	const struct series_group *group =
		series_view_group(&window->series, window->runs[run].group);
	const size_t going = window->firsts[run + 1] - window->firsts[run];
	bool *keep;

	if (going == group->count)
		return NULL;
	/* as long as a damaged row may ask for */
	keep = mem_zalloc(SAMPLE_SERIES_MAX + group->count, sizeof(*keep));
	for (uint32_t i = 0; i < group->count; i++)
		keep[i] = true;
	for (size_t i = window->firsts[run]; i < window->firsts[run + 1]; i++)
		keep[window->columns[i].column] = false;
	return keep;
}

static int remove_run(struct query *query, struct query_window *window, size_t run,
                      uint64_t *removed, struct error *err)
{
	CLEANUP(mem_freep) bool *keep = kept_series(window, run);
	struct slice slice = {
		.store = query->store,
		.window = window->window,
		.tenant = query->asked->tenant,
		.removal = {
			.group = window->runs[run].group,
			.start_unix_ns = window->runs[run].start_unix_ns,
			.end_unix_ns = window->runs[run].end_unix_ns,
			.keep = keep,
			.filter = query->asked->filter,
			.limit = ROWS_AT_ONCE,
		},
	};

	do {
		if (query_check(query, err) < 0 ||
		    writer_run(query->store->writer, remove_slice, &slice, err) < 0)
			return -1;
		*removed += slice.removed * (window->firsts[run + 1] - window->firsts[run]);
	} while (slice.rows == ROWS_AT_ONCE);
	return 0;
}

static int remove_window(struct query *query, struct query_window *window, void *context,
                         struct error *err)
{
	for (size_t run = 0; run < window->run_count; run++)
		if (remove_run(query, window, run, context, err) < 0)
			return -1;
	return 0;
}

int sqlite_store_remove(struct store *store, const struct store_query *asked,
                        enum store_removal removal, uint64_t *out_profiles, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	uint64_t count = 0;
	struct query query;
	int result;

	if (sample_filter_needs_rows(asked->filter))
		return error_set(err, ERROR_UNIMPLEMENTED,
		                 "whole profiles can be deleted, not those of a span");
	if (removal == STORE_REMOVE_NOTHING) {
		if (sqlite_store_scan(store, asked, count_point, &count, err) < 0)
			return -1;
		*out_profiles = count;
		return 0;
	}
	if (sqlite_store_need_writer(own, err) < 0)
		return -1;
	query_begin(&query, own, asked, NULL);
	result = query_windows(&query, remove_window, &count, err);
	query_end(&query);
	tenant_versions_move(&own->versions, asked->tenant);
	if (result == 0)
		*out_profiles = count;
	return result;
}
