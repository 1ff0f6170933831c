/*
 * The values of the series of a block, a column each; and other columns of numbers.
 *
 * Shape    rows stand in runs (what a stack has in a group), and each run has a key (the
 *          stack). A column is coded as it is smallest: as numbers; as steps, or steps of
 *          steps, from row to row of a run; or as an earlier series' values times a factor
 *          that belongs to the key, or to the run. Arithmetic wraps.
 * Errors   ERROR_CORRUPT for bytes that block_values_encode() did not write; arena_error()
 *          when the arena is full.
 * Threads  none; what was decoded may be read by many.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "storage/block_numbers.h"

/* How rows lie: in runs that are read whole, or one by one. */
enum block_layout {
	BLOCK_LAYOUT_RUNS,
	BLOCK_LAYOUT_SINGLE, /* no steps */
};

/* What is encoded. */
struct block_columns {
	enum block_layout layout;
	uint32_t row_count;
	uint32_t series_count;
	uint32_t key_count;
	uint32_t run_count;     /* of single ones: row_count */
	const uint32_t *firsts; /* run_count + 1: the rows of each run; NULL: run i is row i */
	const uint32_t *keys;   /* of each run */
	const int64_t *const *values; /* a column each series */
};

/* Appends the columns. `spare` has room for the larger of rows and keys. */
void block_values_encode(const struct block_columns *columns, int64_t *spare, struct strbuf *out);

/* One column that is one run, such as the times of profiles. */
void block_values_encode_one(const int64_t *values, uint32_t count, int64_t *spare,
                             struct strbuf *out);

enum block_coding {
	BLOCK_CODING_NUMBERS = 0,
	BLOCK_CODING_STEPS = 1,
	BLOCK_CODING_STEPS_OF_STEPS = 2,
	BLOCK_CODING_MULTIPLE = 3,        /* a factor a key */
	BLOCK_CODING_MULTIPLE_BY_RUN = 4, /* a factor a run */
};

struct block_column {
	enum block_coding coding;
	uint32_t base;                /* of a multiple: an earlier one that is none */
	struct block_numbers numbers; /* one a row; of a multiple: the factors */
};

/* What a reader knows of the columns from elsewhere. */
struct block_shape {
	uint32_t row_count;
	uint32_t series_count;
	uint32_t key_count;
	uint32_t run_count;
};

struct block_values {
	struct block_shape shape;
	const struct block_column *columns;
};

int block_values_decode(struct byte_cursor *cursor, const struct block_shape *shape,
                        struct arena *arena, struct block_values *out, struct error *err);

/* The column that block_values_encode_one() wrote, whole. */
int block_values_decode_one(struct byte_cursor *cursor, uint32_t count, struct arena *arena,
                            int64_t **out, struct error *err);

/* One series, ready to be read: a multiple has its base's numbers. */
struct block_series {
	struct block_numbers numbers;
	enum block_coding coding; /* of the base */
	uint64_t factor;          /* when there are no factors */
	const int64_t *by_key;    /* or NULL */
	const int64_t *by_run;    /* or NULL */
};

int block_values_open(const struct block_values *values, uint32_t series, struct arena *arena,
                      struct block_series *out, struct error *err);

/* Whether numbers and factors are those of keys: runs need not be told apart. */
static inline bool block_series_is_plain(const struct block_series *series)
{
	return series->coding == BLOCK_CODING_NUMBERS && !series->by_run;
}

/* By which the numbers of a run are multiplied. */
static inline uint64_t block_series_factor(const struct block_series *series, uint32_t key,
                                           uint32_t run)
{
	if (series->by_run)
		return (uint64_t)series->by_run[run];
	return series->by_key ? (uint64_t)series->by_key[key] : series->factor;
}

/* The values of rows [first, first + count), a whole run. */
void block_series_read(const struct block_series *series, size_t first, size_t count, uint32_t key,
                       uint32_t run, int64_t *out);
