/*
 * Paths of function names, each once: what the stacks of many windows have in common.
 *
 * Shape    a tree. A path is a name behind another path, whose id is smaller; path 0 is
 *          the root, without a name. Names are there once each, name 0 is "". Both are
 *          made when first asked for, stay as long as the table and never move, so that
 *          a merge over windows needs names only for what it returns.
 * Units    at most PATH_COUNT_MAX paths; some 16 bytes each, 60 and its bytes a name.
 * Errors   PATH_NONE when the budget, or the table, has no room; path_table_error() says
 *          so.
 * Threads  any may hold, view and let go of it. Whoever adds has it locked. An id that a
 *          thread was given (through an atomic, or with the lock) is in every view that
 *          it takes from then on.
 */
#pragma once

#include "base/budget.h"
#include "base/error.h"
#include "profile/column.h"

#define PATH_NONE      UINT32_MAX
#define PATH_COUNT_MAX (UINT32_C(1) << 30)

struct path_table;

struct path {
	uint32_t parent; /* of the root: PATH_NONE */
	uint32_t name;
};

/* Columns as in profile/symbols.h. */
struct paths {
	struct path *const *paths;
	struct str *const *names;
};

/*
 * What a merge hands over, once for each window and part: sums that are above 0, of paths
 * that may be there several times.
 */
struct path_sums {
	struct path_table *table; /* the same one in all of a merge */
	uint32_t part;
	const uint32_t *paths;
	const int64_t *sums;
	size_t count;
};

/* Held once. `number` tells tables apart, also those that are gone. */
struct path_table *path_table_new(uint64_t number, struct budget *budget)
	__attribute__((returns_nonnull));
struct path_table *path_table_hold(struct path_table *table);
void path_table_release(struct path_table *table); /* the last one frees it; NULL is fine */

uint64_t path_table_number(const struct path_table *table);
struct paths path_table_view(const struct path_table *table);

/* Memory that it takes, paths and names that it has, now. */
size_t path_table_bytes(const struct path_table *table);
uint32_t path_table_count(const struct path_table *table);
uint32_t path_table_name_count(const struct path_table *table);

/* For whoever adds. */
void path_table_lock(struct path_table *table);
void path_table_unlock(struct path_table *table);

/* The id of a name, whose bytes are copied when it is new. */
uint32_t path_table_add_name(struct path_table *table, struct str name);

/* The path that a name makes behind `parent`. */
uint32_t path_table_add(struct path_table *table, uint32_t parent, uint32_t name);

/* Fills *err for one of these that failed. Returns -1. */
int path_table_error(struct error *err);

/*
 * What is there already, or PATH_NONE; both lock: a name, and the path of names from the
 * root on.
 */
uint32_t path_table_find_name(struct path_table *table, struct str name);
uint32_t path_table_find(struct path_table *table, const struct str *names, size_t count);

#ifdef __clang_analyzer__ /* which does not look into path_table.c */
#define path_table_error(...) ((void)(path_table_error)(__VA_ARGS__), -1)
#endif
