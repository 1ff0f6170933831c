/*
 * Deleting profiles: small transactions on the writer's thread, other writes go between
 * them.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "storage/presence.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"
#include "storage/unsealing.h"
#include "storage/window_writer.h"

#define ROWS_AT_ONCE 500 /* of one transaction; a guess */
#define ATTEMPTS     5   /* a window is sealed once a day at most */

static int count_point(void *context, const struct store_point *point, struct error *err)
{
	uint64_t *count = context;

	(void)point;
	(void)err;
	++*count;
	return 0;
}

/* One transaction's work: on fresh rows, or on a block. */
struct slice {
	struct window *window;
	struct str tenant;
	struct window_removal *fresh;
	struct block_removal *in_blocks; /* NULL: fresh rows */
	size_t rows;                     /* that were looked at */
	size_t removed;
	struct block_removed from_block;
};

static int remove_from(struct window_writer *window, void *context, struct error *err)
{
	struct slice *slice = context;

	if (slice->in_blocks)
		return window_writer_remove_blocks(window, slice->in_blocks, &slice->from_block,
		                                   err);
	return window_writer_remove(window, slice->fresh, &slice->rows, &slice->removed, err);
}

static int remove_slice(struct writer *writer, void *context, struct error *err)
{
	struct slice *slice = context;

	return writer_change_window(writer, slice->window, slice->tenant, remove_from, slice, err);
}

/* ---- runs ---- */

/* What goes of a window: a removal for each run, by family and group. */
struct plan {
	struct window_removal *runs;
	size_t count;
};

static void plan_fini(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		mem_freep(&plan->runs[i].keep);
	free(plan->runs);
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

static int by_family(const void *left, const void *right)
{
	const struct window_removal *a = left;
	const struct window_removal *b = right;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

static void make_plan(const struct query *query, const struct query_window *window,
                      struct plan *out)
{
	out->count = window->run_count;
	out->runs = mem_zalloc(out->count, sizeof(*out->runs));
	for (size_t run = 0; run < out->count; run++) {
		const struct reader_run *wanted = &window->runs[run];

		out->runs[run] = (struct window_removal){
			.family = series_view_group(&window->series, wanted->group)->family,
			.group = wanted->group,
			.start_unix_ns = wanted->start_unix_ns,
			.end_unix_ns = wanted->end_unix_ns,
			.keep = kept_series(window, run),
			.going = window->firsts[run + 1] - window->firsts[run],
			.filter = query->asked->filter,
			.limit = ROWS_AT_ONCE,
		};
	}
	qsort(out->runs, out->count, sizeof(*out->runs), by_family);
}

static int run_slice(struct query *query, struct slice *slice, struct error *err)
{
	if (query_check(query, err) < 0)
		return -1;
	return writer_run(query->store->writer, remove_slice, slice, err);
}

static int remove_fresh(struct query *query, struct window *window, struct window_removal *run,
                        uint64_t *removed, struct error *err)
{
	struct slice slice = {
		.window = window,
		.tenant = query->asked->tenant,
		.fresh = run,
	};

	do {
		if (run_slice(query, &slice, err) < 0)
			return -1;
		*removed += slice.removed * run->going;
	} while (slice.rows == ROWS_AT_ONCE);
	return 0;
}

static int remove_family(struct query *query, struct window *window, struct block_removal *family,
                         uint64_t *removed, struct error *err)
{
	struct slice slice = {
		.window = window,
		.tenant = query->asked->tenant,
		.in_blocks = family,
	};

	do {
		if (run_slice(query, &slice, err) < 0)
			return -1;
		*removed += slice.from_block.removed;
	} while (!slice.from_block.done);
	return 0;
}

static int remove_families(struct query *query, struct window *window, const struct plan *plan,
                           uint64_t *removed, struct error *err)
{
	size_t end;

	for (size_t first = 0; first < plan->count; first = end) {
		struct block_removal family = {
			.family = plan->runs[first].family,
			.runs = &plan->runs[first],
		};

		for (end = first; end < plan->count && plan->runs[end].family == family.family;)
			end++;
		family.run_count = end - first;
		if (remove_family(query, window, &family, removed, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- windows ---- */

/* What a deletion has come to. */
struct removing {
	uint64_t removed;
	bool was_replaced; /* a window, before it could be reserved: look again */
};

/* Whether a profile of the runs is in their ranges, as far as that is told without ids. */
static int has_any(struct query *query, struct query_window *window, bool *out, struct error *err)
{
	*out = false;
	for (size_t run = 0; run < window->run_count && !*out; run++)
		if (presence_find(query, window, &window->runs[run], out, err) < 0)
			return -1;
	return 0;
}

/* The window that is to be changed, held and reserved: itself, or what takes its place. */
static int reserve(struct query *query, struct window *window, struct removing *removing,
                   struct window **out, struct error *err)
{
	struct window_set *set = &query->store->windows;

	if (window_is_sealed(window))
		return unsealing_run(set, query->store->writer, window, out, err);
	if (!window_set_reserve(set, window)) {
		removing->was_replaced = true;
		return error_set(err, ERROR_UNAVAILABLE, "%s was sealed just now", window->path);
	}
	window_set_hold(set, window);
	*out = window;
	return 0;
}

/*
 * Fresh rows go first: what becomes part of a block meanwhile is found there.
 */
static int remove_planned(struct query *query, struct window *window, const struct plan *plan,
                          struct removing *removing, struct error *err)
{
	struct window *target;
	int result = 0;

	if (reserve(query, window, removing, &target, err) < 0)
		return -1;
	for (size_t run = 0; run < plan->count && result == 0; run++)
		result = remove_fresh(query, target, &plan->runs[run], &removing->removed, err);
	if (result == 0)
		result = remove_families(query, target, plan, &removing->removed, err);
	window_set_unreserve(&query->store->windows, target);
	window_set_release(&query->store->windows, target);
	return result;
}

/* The visit ends before anything is deleted, since it would hold up the log. */
static int remove_window(struct query *query, struct query_window *window, void *context,
                         struct error *err)
{
	CLEANUP(plan_fini) struct plan plan = { 0 };
	bool any = false;

	if (has_any(query, window, &any, err) < 0)
		return -1;
	if (!any)
		return 0;
	make_plan(query, window, &plan);
	reader_end(window->reader);
	return remove_planned(query, window->window, &plan, context, err);
}

/* What was deleted before a window was sealed is counted, and not found again. */
static int remove_all(struct sqlite_store *store, const struct store_query *asked,
                      struct removing *removing, struct error *err)
{
	int result = -1;

	removing->was_replaced = true;
	for (int attempt = 0; attempt < ATTEMPTS && result < 0 && removing->was_replaced;
	     attempt++) {
		struct query query;

		removing->was_replaced = false;
		query_begin(&query, store, asked, NULL);
		query.part = WINDOW_TABLES_LABELS;
		result = query_windows(&query, remove_window, removing, err);
		query_end(&query);
	}
	return result;
}

int sqlite_store_remove(struct store *store, const struct store_query *asked,
                        enum store_removal removal, uint64_t *out_profiles, struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct removing removing = { 0 };
	uint64_t count = 0;
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
	(void)pthread_mutex_lock(&own->removing);
	result = remove_all(own, asked, &removing, err);
	tenant_versions_move(&own->versions, asked->tenant);
	(void)pthread_mutex_unlock(&own->removing);
	if (result == 0)
		*out_profiles = removing.removed;
	return result;
}
