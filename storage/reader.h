/*
 * A read connection to one window: rows of profiles in batches.
 *
 * Shape    each batch is one short transaction that copies rows and ends; decoding is
 *          done outside, so that the writer can always move its log.
 * Errors   ERROR_NOT_FOUND when the window's file is gone (retention), ERROR_CORRUPT for
 *          damage.
 * Threads  one at a time; a query takes one from the window and gives it back.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/uuid.h"

struct reader;
struct window;
struct window_tables;

int reader_open(struct window *window, struct reader **out, struct error *err);
void reader_close(struct reader *reader);

/* The window's tables with all that is committed by now. */
int reader_tables(struct reader *reader, struct window_tables **out, struct error *err);

/* Profiles of one group within times, both ends included. */
struct reader_run {
	uint32_t group;
	int64_t start_unix_ns;
	int64_t end_unix_ns;
};

enum reader_want {
	READER_TOTALS,
	READER_SAMPLES, /* also bodies */
};

struct reader_row {
	size_t run; /* index of its run */
	int64_t time_unix_ns;
	int64_t seq;
	int64_t sample;
	struct uuid id;
	struct str totals;
	struct str body; /* READER_SAMPLES */
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
 * The next rows, in the order of runs, times and numbers; borrowed until the next call.
 * *out_count is 0 at the end. Tables are brought up to date before the rows are read.
 */
int reader_next(struct reader *reader, struct reader_cursor *cursor,
                const struct reader_row **out_rows, size_t *out_count, struct error *err);

/* Sets found[i] for each run that has a profile. */
int reader_probe(struct reader *reader, const struct reader_run *runs, size_t run_count,
                 bool *found, struct error *err);

/* The oldest and the newest time of a group. False: it has none. */
int reader_bounds(struct reader *reader, uint32_t group, bool *out_any, int64_t *out_oldest,
                  int64_t *out_newest, struct error *err);
