/*
 * The store, as everybody else sees it: append, series, scan, merge, delete.
 *
 * Shape    one interface with one implementation today (storage/sqlite_store.h). A second
 *          one on a distributed engine fills the same table of functions; callers do not
 *          change. Tenants never see each other. A profile that was answered is visible
 *          to the next query. Ranges are inclusive at both ends.
 * Units    times are Unix nanoseconds.
 * Errors   ERROR_UNAVAILABLE: the queue is full or the store is stopping; ERROR_NO_SPACE:
 *          the disk is full; ERROR_CORRUPT: bytes did not read back (the window is set
 *          aside); ERROR_CANCELLED, ERROR_TIMED_OUT: the query's caller went away.
 * Threads  any thread may call anything; visitors run on the caller's thread.
 * Source   docs/architecture.md, docs/formats/store.md
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/path_table.h"
#include "profile/sample_filter.h"
#include "profile/selector.h"
#include "profile/series_profile.h"
#include "profile/symbols.h"

#define STORE_SKIP UINT32_MAX /* a series that a query leaves out */

struct store;

/* ---- writing ---- */

/*
 * All profiles of one request. It belongs to the caller and must stay as it is until
 * done() has been called, once, on the store's writer thread, with err->code ERROR_NONE
 * when everything is committed. done() only hands on; it does not block.
 */
struct store_write {
	struct str tenant;
	const struct series_profile *profiles;
	size_t count;
	size_t bytes; /* of memory that waits with it: counts against the queue's bound */
	void (*done)(struct store_write *write, const struct error *err);
	void *context;
	struct store_write *next; /* the store's own */
	void *prepared;           /* the store's own */
};

/* ---- reading ---- */

/*
 * Set from another thread, or by time: the query ends with ERROR_CANCELLED or
 * ERROR_TIMED_OUT. Several may wait for one query: it ends when none does any more.
 */
struct store_cancel {
	const _Atomic bool *gone; /* or NULL */
	int64_t deadline_mono_ns; /* 0: none */
	/* who waits too: may be set while the query runs, and stays until it is over */
	const struct store_cancel *_Atomic also;
};

struct store_range {
	int64_t start_unix_ns;
	int64_t end_unix_ns;
};

struct store_query {
	struct str tenant;
	const struct selector *selector;
	struct store_range range;
	const struct sample_filter *filter; /* or NULL */
	const struct store_cancel *cancel;  /* or NULL */
	struct arena *arena;                /* for what the query needs while it runs */
};

/*
 * Parts: a merge can keep apart what must not be added up (the sources of a gauge).
 * part_of() gives a series its part (below count) or STORE_SKIP; ranges (one a part, or
 * NULL) narrow the query's. No parts: one, number 0.
 */
struct store_parts {
	uint32_t (*part_of)(void *context, const struct label_set *labels);
	void *context;
	size_t count;
	const struct store_range *ranges;
};

/* One profile of one series. Everything is borrowed until the visitor returns. */
struct store_point {
	/*
	 * dense from 0 in this query; equal label sets of several windows have one number
	 */
	uint32_t series;
	const struct label_set *labels;
	int64_t time_unix_ns;
	int64_t total;
	const struct uuid *profile_id;
};

/* One row with a span. */
struct store_span {
	uint32_t series;
	const struct label_set *labels;
	int64_t time_unix_ns;
	int64_t value;
	uint64_t span_id;
	const uint8_t *trace_id; /* TRACE_ID_SIZE bytes */
};

/*
 * The samples of one profile of one series that pass the filter, by stack: ids ascend, and
 * may be there more than once. They are of `window`, a number within this query: in
 * another window the same stack has another id.
 */
struct store_samples {
	uint32_t series;
	const struct label_set *labels;
	int64_t time_unix_ns;
	uint32_t window;
	const struct symbols *symbols;
	const uint32_t *stacks;
	const int64_t *values;
	size_t count;
};

/* Visitors return 0 to go on and -1 with *err filled to stop. */
typedef int (*store_series_visitor)(void *context, const struct label_set *labels,
                                    struct error *err);
typedef int (*store_text_visitor)(void *context, struct str text, struct error *err);
typedef int (*store_point_visitor)(void *context, const struct store_point *point,
                                   struct error *err);
typedef int (*store_samples_visitor)(void *context, const struct store_samples *samples,
                                     struct error *err);
typedef int (*store_span_visitor)(void *context, const struct store_span *span, struct error *err);
typedef int (*store_sums_visitor)(void *context, const struct stack_sums *sums, struct error *err);
typedef int (*store_paths_visitor)(void *context, const struct path_sums *sums, struct error *err);

struct store_stats {
	bool any;
	int64_t oldest_unix_ns;
	int64_t newest_unix_ns;
};

enum store_removal {
	STORE_REMOVE,
	STORE_REMOVE_NOTHING, /* only count */
};

struct store_setting {
	struct str name;
	struct str value;
	int64_t modified_unix_ms;
};
typedef int (*store_setting_visitor)(void *context, const struct store_setting *setting,
                                     struct error *err);

/* What a UTC day of a tenant takes. */
struct store_day {
	int64_t start_unix_ns;
	uint64_t bytes;
};
typedef int (*store_day_visitor)(void *context, const struct store_day *day, struct error *err);

/* What the store costs now, for /metrics. */
struct store_usage {
	uint64_t disk_bytes; /* everything: databases, WAL, temporary files */
	uint64_t wal_bytes;
	uint64_t window_count;
	uint64_t open_window_count;
	uint64_t sealed_window_count; /* as far as that is known yet */
	uint64_t cache_bytes;         /* symbol tables in memory */
	uint64_t queue_bytes;
	uint64_t queue_length;
	uint64_t profiles_appended;
	uint64_t profiles_deduplicated;
	uint64_t commits;
	uint64_t blocks_made;
	uint64_t profiles_compacted; /* that went into them, once for all series of each */
	uint64_t compaction_cpu_ns;  /* of making them, and of putting them in their place */
	uint64_t compaction_backlog; /* profiles that wait for a block that is due */
	uint64_t damaged_windows;    /* set aside (or left out) since the store was opened */
};

struct store_operations {
	int (*append)(struct store *store, struct store_write *write, struct error *err);
	int (*series)(struct store *store, const struct store_query *query,
	              store_series_visitor visit, void *context, struct error *err);
	int (*label_names)(struct store *store, const struct store_query *query,
	                   store_text_visitor visit, void *context, struct error *err);
	int (*label_values)(struct store *store, const struct store_query *query, struct str name,
	                    store_text_visitor visit, void *context, struct error *err);
	int (*scan)(struct store *store, const struct store_query *query, store_point_visitor visit,
	            void *context, struct error *err);
	int (*scan_samples)(struct store *store, const struct store_query *query,
	                    store_samples_visitor visit, void *context, struct error *err);
	int (*scan_spans)(struct store *store, const struct store_query *query,
	                  store_span_visitor visit, void *context, struct error *err);
	int (*merge)(struct store *store, const struct store_query *query,
	             const struct store_parts *parts, store_sums_visitor visit, void *context,
	             struct error *err);
	int (*merge_paths)(struct store *store, const struct store_query *query,
	                   const struct store_parts *parts, store_paths_visitor visit,
	                   void *context, struct error *err);
	int (*remove)(struct store *store, const struct store_query *query,
	              enum store_removal removal, uint64_t *out_profiles, struct error *err);
	bool (*version)(struct store *store, struct str tenant, uint64_t *out);
	int (*stats)(struct store *store, struct str tenant, struct store_stats *out,
	             struct error *err);
	int (*settings)(struct store *store, struct str tenant, store_setting_visitor visit,
	                void *context, struct error *err);
	int (*put_setting)(struct store *store, struct str tenant, struct store_setting *setting,
	                   struct error *err);
	int (*remove_setting)(struct store *store, struct str tenant, struct str name,
	                      struct error *err);
	int (*days)(struct store *store, struct str tenant, store_day_visitor visit, void *context,
	            struct error *err);
	void (*usage)(struct store *store, struct store_usage *out);
	void (*close)(struct store *store);
};

struct store {
	const struct store_operations *operations;
};

/* Takes the write in, or refuses it (then done() is not called). */
static inline MUST_CHECK int store_append(struct store *store, struct store_write *write,
                                          struct error *err)
{
	return store->operations->append(store, write, err);
}

/* Each label set that has a profile in the range, once, in no order. */
static inline int store_series(struct store *store, const struct store_query *query,
                               store_series_visitor visit, void *context, struct error *err)
{
	return store->operations->series(store, query, visit, context, err);
}

/*
 * The names of labels, and the values of one name, that series with a profile in the range
 * have: in no order, some perhaps several times, each borrowed by the visitor. The query's
 * filter is not asked.
 */
static inline int store_label_names(struct store *store, const struct store_query *query,
                                    store_text_visitor visit, void *context, struct error *err)
{
	return store->operations->label_names(store, query, visit, context, err);
}

static inline int store_label_values(struct store *store, const struct store_query *query,
                                     struct str name, store_text_visitor visit, void *context,
                                     struct error *err)
{
	return store->operations->label_values(store, query, name, visit, context, err);
}

/*
 * Each profile in the range, in no order; reads no samples (unless the filter asks for
 * rows: then total is what passes).
 */
static inline int store_scan(struct store *store, const struct store_query *query,
                             store_point_visitor visit, void *context, struct error *err)
{
	return store->operations->scan(store, query, visit, context, err);
}

/* Each profile in the range with its samples, in no order; windows one after the other. */
static inline int store_scan_samples(struct store *store, const struct store_query *query,
                                     store_samples_visitor visit, void *context, struct error *err)
{
	return store->operations->scan_samples(store, query, visit, context, err);
}

/* Each row with a span, in no order. */
static inline int store_scan_spans(struct store *store, const struct store_query *query,
                                   store_span_visitor visit, void *context, struct error *err)
{
	return store->operations->scan_spans(store, query, visit, context, err);
}

/* Sums per stack, once for each window and part that has any; borrowed by the visitor. */
static inline int store_merge(struct store *store, const struct store_query *query,
                              const struct store_parts *parts, store_sums_visitor visit,
                              void *context, struct error *err)
{
	return store->operations->merge(store, query, parts, visit, context, err);
}

/*
 * The same per path of function names, which windows have in common; what a window has of a
 * stack counts when it is above 0. The table may be held for longer.
 */
static inline int store_merge_paths(struct store *store, const struct store_query *query,
                                    const struct store_parts *parts, store_paths_visitor visit,
                                    void *context, struct error *err)
{
	return store->operations->merge_paths(store, query, parts, visit, context, err);
}

/* Deletes the matching profiles, or only counts them. */
static inline MUST_CHECK int store_remove(struct store *store, const struct store_query *query,
                                          enum store_removal removal, uint64_t *out_profiles,
                                          struct error *err)
{
	return store->operations->remove(store, query, removal, out_profiles, err);
}

/*
 * A number that grows before a write, or a removal, of the tenant's is answered. As long as
 * it stays, an answer that was begun after it was asked for is as good as a new one. False:
 * nobody can say, since another process writes.
 */
static inline bool store_version(struct store *store, struct str tenant, uint64_t *out)
{
	return store->operations->version(store, tenant, out);
}

static inline int store_stats(struct store *store, struct str tenant, struct store_stats *out,
                              struct error *err)
{
	return store->operations->stats(store, tenant, out, err);
}

/* Settings of a tenant by name. */
static inline int store_settings(struct store *store, struct str tenant,
                                 store_setting_visitor visit, void *context, struct error *err)
{
	return store->operations->settings(store, tenant, visit, context, err);
}

/* ERROR_EXISTS when a newer one is there; modified_unix_ms <= 0 becomes now. */
static inline MUST_CHECK int store_put_setting(struct store *store, struct str tenant,
                                               struct store_setting *setting, struct error *err)
{
	return store->operations->put_setting(store, tenant, setting, err);
}

/* Success when there is none; ERROR_EXISTS when one is newer than now. */
static inline MUST_CHECK int store_remove_setting(struct store *store, struct str tenant,
                                                  struct str name, struct error *err)
{
	return store->operations->remove_setting(store, tenant, name, err);
}

/* Days of a tenant that take anything, the oldest first. */
static inline int store_days(struct store *store, struct str tenant, store_day_visitor visit,
                             void *context, struct error *err)
{
	return store->operations->days(store, tenant, visit, context, err);
}

static inline void store_usage(struct store *store, struct store_usage *out)
{
	store->operations->usage(store, out);
}

/* Commits what was taken in, then closes. NULL is fine. */
static inline void store_close(struct store *store)
{
	if (store)
		store->operations->close(store);
}

static inline void store_closep(struct store **store)
{
	store_close(*store);
}
