/*
 * The windows of a query in their order, taken by the thread of the query or by several
 * that share them.
 *
 * Shape    each window that is taken has a number, from 0. What is found in windows is
 *          handed over in the order of numbers: a thread waits for its turn, and passes it
 *          on when it is through with its window. The first window, in this order, that
 *          fails ends the walk with its error; what comes behind it is not handed over.
 * Threads  any number, each with one window at a time.
 */
#pragma once

#include "storage/store.h"
#include "storage/window_set.h"

struct query_walk {
	struct window_set *set;
	char folder[TENANT_FOLDER_SIZE];
	int32_t last_day;

	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t passed;
	struct window_place place; /* of the next window, or before it */
	uint64_t taken;
	uint64_t turn; /* the number of the window that may hand over */
	bool has_failed;
	struct error error;
};

int query_walk_begin(struct query_walk *walk, struct window_set *set,
                     const struct store_query *asked, struct error *err);

/* Nobody takes windows any more. -1 when one of them failed. */
int query_walk_end(struct query_walk *walk, struct error *err);

/* How many windows are ahead, up to `most`. */
size_t query_walk_ahead(struct query_walk *walk, size_t most);

/* The next window, held; NULL: there is none, or the walk has failed. */
struct window *query_walk_next(struct query_walk *walk, uint64_t *out_number);

/* Lets go of a window that another file has replaced; what is in its place now, held, or NULL. */
struct window *query_walk_again(struct query_walk *walk, struct window *window);

/* Waits until all windows before have been passed. -1 when one of them failed. */
int query_walk_wait(struct query_walk *walk, uint64_t number, struct error *err);

/* After each window, with the result of its visit and the error of one that failed. */
void query_walk_pass(struct query_walk *walk, uint64_t number, int result, const struct error *err);
