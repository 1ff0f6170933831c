/*
 * Deleting profiles: what would go, day by day and type by type, and letting it go.
 *
 * Shape    the plan counts, and takes nothing; a deletion follows it an hour at a time, so
 *          that writes go between, and says how far it is. Profiles that came after the
 *          plan was made go with the rest.
 * Errors   the store's
 * Threads  none: it belongs to its request.
 */
#pragma once

#include "base/arena.h"
#include "storage/store.h"

struct deletion {
	struct store *store;
	struct str tenant;
	const struct selector *selector;
	struct store_range range;
	const struct store_cancel *cancel; /* or NULL */
	struct arena *arena;
};

struct deletion_row {
	int32_t day;     /* from 1970-01-01 */
	struct str type; /* empty: series without one */
	uint64_t profiles;
};

struct deletion_plan {
	struct deletion_row *rows; /* by day, then type */
	size_t count;
	size_t capacity;
	uint64_t profiles; /* of all of them */
};

int deletion_plan_make(const struct deletion *deletion, struct deletion_plan *out,
                       struct error *err);

/* Told after each hour: profiles that went by now. May be NULL. */
struct deletion_progress {
	void (*tell)(void *context, uint64_t removed);
	void *context;
};

int deletion_run(const struct deletion *deletion, const struct deletion_plan *plan,
                 const struct deletion_progress *progress, uint64_t *out_removed,
                 struct error *err);

/* The times of a day that lie in a range. */
struct store_range deletion_day_range(int32_t day, const struct store_range *range);
