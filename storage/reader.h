/*
 * A read connection to one window: rows of profiles in batches, and blocks.
 *
 * Shape    a visit is one transaction: whatever is read in it belongs to one moment, so
 *          that rows which move into a block meanwhile are seen once. While it lasts the
 *          writer's log grows: a visit does not wait for anybody.
 * Errors   ERROR_NOT_FOUND when the window's file is gone (retention), ERROR_CORRUPT for
 *          damage.
 * Threads  one at a time; a query takes one from the window and gives it back.
 */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "storage/block_table.h"
#include "storage/window_tables.h"

struct reader;
struct window;

int reader_open(struct window *window, struct reader **out, struct error *err);
void reader_close(struct reader *reader);

/* Begins a visit. That part of the window's tables has all that it shows. */
int reader_begin(struct reader *reader, enum window_tables_part part, struct window_tables **out,
                 struct error *err);

/* Ends it; fine when there is none. */
void reader_end(struct reader *reader);

/* The name of the tenant, in the arena. In a visit or not. */
int reader_tenant(struct reader *reader, struct arena *arena, struct str *out, struct error *err);

/* Profiles of one group within times, both ends included. */
struct reader_run {
	uint32_t group;
	int64_t start_unix_ns;
	int64_t end_unix_ns;
};

enum reader_want {
	READER_TOTALS,
	READER_SAMPLES, /* also bodies */
	READER_WHOLE,   /* all that there is */
};

struct reader_row {
	size_t run; /* index of its run */
	int64_t time_unix_ns;
	int64_t seq;
	int64_t sample;
	struct uuid id;
	struct str totals;
	struct str body;       /* READER_SAMPLES, READER_WHOLE */
	struct hash128 origin; /* READER_WHOLE, as what follows; zero: none */
	int64_t duration_ns;
	int64_t received_s;
};

/*
 * What is read, and where the next batch goes on: zeroed but for the first three at
 * first.
 */
struct reader_cursor {
	const struct reader_run *runs;
	size_t run_count;
	enum reader_want want;
	size_t run;
	int64_t time_unix_ns;
	int64_t seq;
	bool within; /* time and seq are those of the last row */
};

/*
 * In a visit: the next rows, in the order of runs, times and numbers; borrowed until the
 * next call. *out_count is 0 at the end.
 */
int reader_next(struct reader *reader, struct reader_cursor *cursor,
                const struct reader_row **out_rows, size_t *out_count, struct error *err);

/* In a visit: sets found[i] for each run that has a row of its own. */
int reader_probe(struct reader *reader, const struct reader_run *runs, size_t run_count,
                 bool *found, struct error *err);

/* In a visit: the oldest and the newest time of a group's rows. */
int reader_bounds(struct reader *reader, uint32_t group, bool *out_any, int64_t *out_oldest,
                  int64_t *out_newest, struct error *err);

/* In a visit: whether there is any row at all. */
int reader_has_rows(struct reader *reader, bool *out, struct error *err);

/* For a statement of the caller's in a visit, which frees it before the visit ends. */
int reader_prepare(struct reader *reader, const char *sql, struct statement **out,
                   struct error *err);

/* In a visit: the window's blocks; NULL when it never had any. */
struct block_table *reader_blocks(struct reader *reader);

/* Rows of one group in one hour. */
struct reader_hour {
	int64_t hour;
	uint32_t group;
	uint32_t family; /* set by whoever knows it */
	uint32_t profile_count;
	int64_t received_s; /* of the one that came last */
};
struct reader_hours {
	struct reader_hour *hours; /* by group, then by hour */
	size_t count;
	size_t capacity;
};

/* All hours that have rows, in the arena. Not in a visit; tables are not read. */
int reader_hours(struct reader *reader, struct arena *arena, struct reader_hours *out,
                 struct error *err);
