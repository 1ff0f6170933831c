/*
 * The oldest and the newest profile of a tenant: asked of the outermost windows that have
 * any. What each of its days takes on the disk.
 */
#include "base/clock.h"
#include "storage/day_files.h"
#include "storage/query.h"
#include "storage/sqlite_store_parts.h"
#include "storage/window_memory.h"

static void widen(struct store_stats *stats, int64_t oldest, int64_t newest)
{
	if (!stats->any || oldest < stats->oldest_unix_ns)
		stats->oldest_unix_ns = oldest;
	if (!stats->any || newest > stats->newest_unix_ns)
		stats->newest_unix_ns = newest;
	stats->any = true;
}

static int bounds_of_blocks(struct reader *reader, struct store_stats *out, struct error *err)
{
	int64_t oldest;
	int64_t newest;
	bool any;

	if (!reader_blocks(reader))
		return 0;
	if (block_table_bounds(reader_blocks(reader), &any, &oldest, &newest, err) < 0)
		return -1;
	if (any)
		widen(out, oldest, newest);
	return 0;
}

static int bounds_of_groups(struct reader *reader, const struct window_tables *tables,
                            struct store_stats *out, struct error *err)
{
	struct series_view view;

	series_index_view(tables->series, &view);
	for (uint32_t group = 0; group < view.group_count; group++) {
		int64_t oldest;
		int64_t newest;
		bool any;

		if (reader_bounds(reader, group, &any, &oldest, &newest, err) < 0)
			return -1;
		if (any)
			widen(out, oldest, newest);
	}
	return 0;
}

static int bounds_of_window(struct sqlite_store *store, struct window *window,
                            struct store_stats *out, struct error *err)
{
	struct window_tables *tables;
	struct reader *reader;
	int result;

	*out = (struct store_stats){ 0 };
	if (window_take_reader(window, &reader, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	result = reader_begin(reader, WINDOW_TABLES_LABELS, &tables, err);
	if (result == 0) {
		(void)window_set_charge(&store->windows, window);
		result = bounds_of_blocks(reader, out, err);
	}
	if (result == 0)
		result = bounds_of_groups(reader, tables, out, err);
	reader_end(reader);
	if (result < 0)
		reader_close(reader);
	else
		window_give_reader(window, reader);
	return result;
}

enum direction {
	FROM_OLDEST,
	FROM_NEWEST,
};

/* The next window from one end; *place moves behind it. It is held. */
static struct window *next_window(struct window_set *set, const char *folder,
                                  enum direction direction, struct window_place *place)
{
	struct window *window = direction == FROM_OLDEST
	                                ? window_set_next(set, folder, *place, INT32_MAX)
	                                : window_set_last(set, folder, *place);

	if (window) /* last() gives what lies before the place */
		*place = (struct window_place){ window->day,
			                        window->number + (direction == FROM_OLDEST) };
	return window;
}

/* The bounds of the first day from one end that has any profile, in all of its files. */
static int outermost(struct sqlite_store *store, const char *folder, enum direction direction,
                     struct store_stats *out, struct error *err)
{
	struct window_set *set = &store->windows;
	struct window_place place = { direction == FROM_OLDEST ? INT32_MIN : INT32_MAX, 0 };
	struct window *window;
	int32_t day = 0;
	int result = 0;

	while (result == 0 && (window = next_window(set, folder, direction, &place))) {
		struct store_stats found;
		const bool is_over = out->any && window->day != day;

		day = window->day;
		if (!is_over) {
			result = bounds_of_window(store, window, &found, err);
			if (result == 0 && found.any)
				widen(out, found.oldest_unix_ns, found.newest_unix_ns);
			else if (result < 0 && err->code == ERROR_CORRUPT)
				sqlite_store_set_aside(store, window, err);
		}
		window_set_release(set, window);
		if (is_over)
			return 0;
	}
	return result;
}

int sqlite_store_stats(struct store *store, struct str tenant, struct store_stats *out,
                       struct error *err)
{
	struct sqlite_store *own = sqlite_store_of(store);
	struct store_stats oldest = { 0 };
	struct store_stats newest = { 0 };
	char folder[TENANT_FOLDER_SIZE];

	tenant_folder_format(tenant, folder);
	if (own->windows.follows && window_set_follow(&own->windows, folder, err) < 0)
		return -1;
	if (outermost(own, folder, FROM_OLDEST, &oldest, err) < 0 ||
	    outermost(own, folder, FROM_NEWEST, &newest, err) < 0)
		return -1;
	*out = (struct store_stats){
		.any = oldest.any && newest.any,
		.oldest_unix_ns = oldest.oldest_unix_ns,
		.newest_unix_ns = newest.newest_unix_ns,
	};
	return 0;
}

int sqlite_store_days(struct store *store, struct str tenant, store_day_visitor visit,
                      void *context, struct error *err)
{
	CLEANUP(day_files_list_fini) struct day_files_list list = { 0 };
	char folder[TENANT_FOLDER_SIZE];

	tenant_folder_format(tenant, folder);
	if (day_files_list(sqlite_store_of(store)->folder.path, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		const struct day_files *day = &list.days[i];

		if (strcmp(day->folder, folder) == 0 &&
		    visit(context, &(struct store_day){ day->day * NS_PER_DAY, day->bytes }, err) <
		            0)
			return -1;
	}
	return 0;
}
