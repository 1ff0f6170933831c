/*
 * The store's own parts, for the files that make it up; callers see store.h.
 *
 * Threads  what is set at opening does not change; the set and the writer guard
 *          themselves.
 */
#pragma once

#include <pthread.h>

#include "base/chunk_cache.h"
#include "base/crew.h"
#include "storage/compactor.h"
#include "storage/sqlite_store.h"
#include "storage/store_folder.h"
#include "storage/tenant_versions.h"
#include "storage/window_set.h"
#include "storage/writer.h"

struct sqlite_store {
	struct store store; /* first: what callers have */
	struct store_folder folder;
	struct budget *budget;      /* or NULL */
	struct chunk_cache *chunks; /* of what queries decode, for the next block or query */
	struct crew *crew;          /* for merges of several windows */
	struct window_set windows;
	struct tenant_versions versions;
	struct writer *writer; /* NULL: read-only, as what follows */
	struct compactor *compactor;
	/*
	 * one deletion at a time: what one takes out of a block for a moment, another
	 * one must not miss
	 */
	pthread_mutex_t removing;
};

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
	return (struct sqlite_store *)(void *)store;
}

/*
 * Puts a window that does not read back out of the way, after a query that found it ended
 * with *err; adds to the message what was done. A read-only store only leaves it out.
 */
void sqlite_store_set_aside(struct sqlite_store *store, struct window *window, struct error *err);

/* ERROR_FORBIDDEN for a read-only store. */
int sqlite_store_need_writer(const struct sqlite_store *store, struct error *err);

/*
 * storage/scan.c, storage/merge.c, storage/remove.c, storage/settings.c, storage/stats.c:
 * as store.h says.
 */
int sqlite_store_series(struct store *store, const struct store_query *asked,
                        store_series_visitor visit, void *context, struct error *err);
int sqlite_store_label_names(struct store *store, const struct store_query *asked,
                             store_text_visitor visit, void *context, struct error *err);
int sqlite_store_label_values(struct store *store, const struct store_query *asked, struct str name,
                              store_text_visitor visit, void *context, struct error *err);
int sqlite_store_scan(struct store *store, const struct store_query *asked,
                      store_point_visitor visit, void *context, struct error *err);
int sqlite_store_scan_samples(struct store *store, const struct store_query *asked,
                              store_samples_visitor visit, void *context, struct error *err);
int sqlite_store_scan_spans(struct store *store, const struct store_query *asked,
                            store_span_visitor visit, void *context, struct error *err);
int sqlite_store_merge(struct store *store, const struct store_query *asked,
                       const struct store_parts *parts, store_sums_visitor visit, void *context,
                       struct error *err);
int sqlite_store_merge_paths(struct store *store, const struct store_query *asked,
                             const struct store_parts *parts, store_paths_visitor visit,
                             void *context, struct error *err);
int sqlite_store_remove(struct store *store, const struct store_query *asked,
                        enum store_removal removal, uint64_t *out_profiles, struct error *err);
int sqlite_store_stats(struct store *store, struct str tenant, struct store_stats *out,
                       struct error *err);
int sqlite_store_days(struct store *store, struct str tenant, store_day_visitor visit,
                      void *context, struct error *err);
int sqlite_store_settings(struct store *store, struct str tenant, store_setting_visitor visit,
                          void *context, struct error *err);
int sqlite_store_put_setting(struct store *store, struct str tenant, struct store_setting *setting,
                             struct error *err);
int sqlite_store_remove_setting(struct store *store, struct str tenant, struct str name,
                                struct error *err);
