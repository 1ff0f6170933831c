/*
 * The table of function names and paths that all queries of a store share, so that most
 * of them find in it what they need.
 *
 * Shape    the current table. When it has grown to its limit, or nobody asked for it for
 *          a while, the next query begins another one; the old one stays with whoever
 *          holds it.
 * Units    bytes.
 * Threads  any; guards itself.
 */
#pragma once

#include <pthread.h>

#include "profile/path_table.h"

struct shared_paths {
	struct budget *budget; /* or NULL */
	size_t limit;          /* of one table */

	pthread_mutex_t lock; /* guards everything below */
	struct path_table *current;
	uint64_t made; /* tables so far */
	int64_t used_mono_ns;
};

void shared_paths_init(struct shared_paths *shared, struct budget *budget);
void shared_paths_fini(struct shared_paths *shared);

/* The table for a query that begins now; it is held. */
struct path_table *shared_paths_take(struct shared_paths *shared);

/* Lets go of a table that no query asked for since before_mono_ns. */
void shared_paths_trim(struct shared_paths *shared, int64_t before_mono_ns);

size_t shared_paths_bytes(struct shared_paths *shared);
