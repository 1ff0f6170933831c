/*
 * The values of the series of a block, a column each, and other columns of numbers.
 *
 * Shape    each column is coded as it is smallest: as numbers; as steps, or steps of
 *          steps, from row to row of a run; or as an earlier series' values times a factor
 *          that belongs to a key (a stack), wrapping.
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

/* How rows lie. */
enum block_layout {
	BLOCK_LAYOUT_RUNS,  /* rows of one key stand together and are read together */
	BLOCK_LAYOUT_MIXED, /* in any order, any part is read */
};

struct block_shape {
	enum block_layout layout;
	uint32_t row_count;
	uint32_t series_count;
	uint32_t key_count; /* 1: `keys` is NULL */
};

/*
 * Appends the columns. `keys` is the key of each row, or NULL for one key. Its arena is
 * for scratch.
 */
int block_values_encode(const struct block_shape *shape, const uint32_t *keys,
                        const int64_t *const *values, struct arena *scratch, struct strbuf *out,
                        struct error *err);

enum block_coding {
	BLOCK_CODING_NUMBERS = 0,
	BLOCK_CODING_STEPS = 1,
	BLOCK_CODING_STEPS_OF_STEPS = 2,
	BLOCK_CODING_MULTIPLE = 3,
};

struct block_column {
	enum block_coding coding;
	uint32_t base;                /* of a multiple */
	struct block_numbers numbers; /* one a row; of a multiple: the factors, one a key */
};

struct block_values {
	struct block_shape shape;
	const struct block_column *columns;
};

int block_values_decode(struct byte_cursor *cursor, const struct block_shape *shape,
                        struct arena *arena, struct block_values *out, struct error *err);

/* One series, ready to be read: multiples are resolved. */
struct block_series {
	struct block_numbers numbers;
	enum block_coding coding; /* not a multiple */
	uint64_t factor;          /* when `factors` is NULL */
	const uint64_t *factors;  /* one a key */
};

int block_values_open(const struct block_values *values, uint32_t series, struct arena *arena,
                      struct block_series *out, struct error *err);

/* Rows [first, first + count), a whole run, of one key. */
void block_series_run(const struct block_series *series, size_t first, size_t count, uint32_t key,
                      int64_t *out);

/* All rows of a column that has one key. */
int block_values_all(const struct block_values *values, uint32_t series, struct arena *arena,
                     int64_t **out, struct error *err);
