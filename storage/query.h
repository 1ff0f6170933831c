/*
 * The way of a query through the windows: which are in range, which series match, which
 * rows are read.
 *
 * Shape    windows come one after the other, each held while it is looked at, and seen at
 *          one moment; their matching series become runs of rows. A window that is gone
 *          meanwhile (retention) is passed over; one that does not read back is set aside
 *          and the query ends with ERROR_CORRUPT.
 * Threads  the caller's; a query belongs to one. Several queries of several threads may
 *          share a walk: each visits the windows that it takes.
 */
#pragma once

#include "base/id_map.h"
#include "storage/query_walk.h"
#include "storage/reader.h"
#include "storage/store.h"

struct sqlite_store;

struct query {
	struct sqlite_store *store;
	const struct store_query *asked;
	const struct store_parts *parts; /* or NULL */
	enum window_tables_part
		part;          /* of the windows' tables; all unless set after query_begin() */
	struct arena *scratch; /* of one row or block; reset by whoever decodes */
	struct arena *held;    /* of the window that is looked at */
	struct id_map numbers; /* fingerprint -> series of this query */
	struct query_walk *walk;
	uint64_t window; /* its number in the walk */
};

/* A column of a group that the query wants. */
struct query_column {
	uint32_t group;
	uint32_t column;
	uint32_t series; /* of the window */
	uint32_t number; /* of the query */
	uint32_t part;
	struct label_set labels; /* of query_labels(); NULL until they are asked for */
};

/*
 * One window while it is looked at. Run i wants columns[firsts[i], firsts[i + 1]); runs are
 * by part, then by group.
 */
struct query_window {
	struct window *window;
	struct reader *reader;
	uint64_t times_epoch; /* of window->times, before the visit began */
	struct window_tables *tables;
	struct series_view series;
	struct query_column *columns;
	struct reader_run *runs;
	size_t *firsts;
	size_t column_count;
	size_t run_count;
	struct query_window_blocks *blocks; /* of storage/query_blocks.h; NULL: not yet listed */
};

typedef int (*query_window_visitor)(struct query *query, struct query_window *window, void *context,
                                    struct error *err);

void query_begin(struct query *query, struct sqlite_store *store, const struct store_query *asked,
                 const struct store_parts *parts);
void query_end(struct query *query);

/* Calls visit for each window in range, in a visit of its reader; it has no columns yet. */
int query_all_windows(struct query *query, query_window_visitor visit, void *context,
                      struct error *err);

/* The same for each window with a matching series, with its columns and runs. */
int query_windows(struct query *query, query_window_visitor visit, void *context,
                  struct error *err);

/*
 * The same for the windows of a walk that nobody else takes. What fails is the walk's error.
 * A visitor that calls what is the caller's calls query_wait() before.
 */
void query_shared_windows(struct query *query, struct query_walk *walk, query_window_visitor visit,
                          void *context);

/* In a visit: waits until the windows before are through. -1 when one of them failed. */
int query_wait(const struct query *query, struct error *err);

/*
 * Counts what a window's tables take now; makes room by giving back what nobody uses.
 */
int query_charge(struct query *query, struct window *window, struct error *err);

/* -1 when the caller went away or the time is up. */
int query_check(const struct query *query, struct error *err);

/* Labels of a column; they stay as long as the query's arena and the window do. */
int query_labels(struct query *query, const struct query_window *window,
                 struct query_column *column, const struct label_set **out, struct error *err);

/* Calls visit for each fresh row of the runs [first, end). */
typedef int (*query_row_visitor)(struct query *query, struct query_window *window,
                                 const struct reader_row *row, void *context, struct error *err);
struct query_range {
	size_t first;
	size_t end;
	enum reader_want want;
};
int query_rows(struct query *query, struct query_window *window, struct query_range range,
               query_row_visitor visit, void *context, struct error *err);
