/*
 * The blocks of one window through one connection: their rows, and their bodies.
 *
 * Shape    a block has one row, which says what it covers, and up to four bodies, which
 *          are read when they are asked for. Lists are in the order of families, hours
 *          and parts.
 * Units    times are Unix nanoseconds; an hour is one of profile time, counted from
 *          1970-01-01.
 * Errors   as storage/database.h; ERROR_CORRUPT for rows that block_table_put() did not
 *          write; arena_error() when an arena is full.
 * Threads  as the connection. The file has its tables of blocks.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "base/arena.h"
#include "storage/block_builder.h"
#include "storage/block_heads.h"
#include "storage/block_rows.h"
#include "storage/block_sums.h"
#include "storage/database.h"

#define BLOCK_HOUR_NS (INT64_C(3600) * 1000000000)

/* The hour that a time falls into. */
static inline int64_t block_hour_of(int64_t unix_ns)
{
	return unix_ns / BLOCK_HOUR_NS - (unix_ns % BLOCK_HOUR_NS < 0);
}

/* The first and the last time of an hour; those at either end of all times are cut. */
static inline int64_t block_hour_first(int64_t hour)
{
	return hour == block_hour_of(INT64_MIN) ? INT64_MIN : hour * BLOCK_HOUR_NS;
}

static inline int64_t block_hour_last(int64_t hour)
{
	return hour == block_hour_of(INT64_MAX) ? INT64_MAX : (hour + 1) * BLOCK_HOUR_NS - 1;
}

struct block_key {
	uint32_t family;
	int64_t hour;
	int64_t part;
};

enum block_body {
	BLOCK_BODY_HEADS,
	BLOCK_BODY_ORIGINS,
	BLOCK_BODY_SUMS,
	BLOCK_BODY_DETAIL,
	BLOCK_BODY_COUNT
};

struct block_row {
	struct block_key key;
	int64_t first_unix_ns;
	int64_t last_unix_ns;
	uint32_t profile_count;
	uint32_t group_count;
	const uint32_t *groups;           /* ascending */
	int64_t bodies[BLOCK_BODY_COUNT]; /* ids; 0: there is none */
};

struct block_listing {
	struct block_row *rows;
	size_t count;
	size_t capacity;
};

/* The place of a group among those of the block. False: it has none of it. */
bool block_row_find(const struct block_row *row, uint32_t group, uint32_t *out_index);

struct block_table;

int block_table_open(struct database *database, struct block_table **out, struct error *err);
void block_table_close(struct block_table *table);

static inline void block_table_closep(struct block_table **table)
{
	block_table_close(*table);
}

/* Adds the family's blocks of the hours [first, last] to the list, in the arena. */
int block_table_list(struct block_table *table, uint32_t family, int64_t first_hour,
                     int64_t last_hour, struct arena *arena, struct block_listing *list,
                     struct error *err);

/* All blocks, in the order of families, hours and parts. */
int block_table_list_all(struct block_table *table, struct arena *arena, struct block_listing *list,
                         struct error *err);

/* A body in the arena. ERROR_CORRUPT also when it is not that of its row. */
int block_table_heads(struct block_table *table, const struct block_row *row, struct arena *arena,
                      struct block_heads *out, struct error *err);
int block_table_sums(struct block_table *table, const struct block_row *row, struct arena *arena,
                     struct block_sums *out, struct error *err);
int block_table_detail(struct block_table *table, const struct block_row *row, struct arena *arena,
                       struct block_detail *out, struct error *err);

/* Appends a body as it is stored. The row has it. */
int block_table_copy_body(struct block_table *table, const struct block_row *row,
                          enum block_body body, struct strbuf *out, struct error *err);

/* One a profile; NULL when the block has none. */
int block_table_origins(struct block_table *table, const struct block_row *row, struct arena *arena,
                        const struct hash128 **out, struct error *err);

/* "block FAMILY/HOUR/PART: what". Returns -1. */
int block_row_damaged(const struct block_row *row, const char *what, struct error *err);

/* The oldest and the newest time of all blocks. */
int block_table_bounds(struct block_table *table, bool *out_any, int64_t *out_oldest,
                       int64_t *out_newest, struct error *err);

/* The latest hour that has a block; INT64_MIN: none has. */
int block_table_last_hour(struct block_table *table, int64_t *out, struct error *err);

/*
 * Within the caller's transaction: puts a block with its bodies (an empty one is left out),
 * behind all parts of its hour. The row's key.part and bodies are set.
 */
int block_table_put(struct block_table *table, struct block_row *row,
                    const struct block_bodies *bodies, struct error *err);

/* Likewise, as they are given: a row, of which the bodies are put by themselves. */
int block_table_put_row(struct block_table *table, const struct block_row *row, struct error *err);
int block_table_put_body(struct block_table *table, int64_t id, struct str body, struct error *err);

/* Likewise: ERROR_NOT_FOUND when the block is not there any more. */
int block_table_delete(struct block_table *table, const struct block_row *row, struct error *err);
