#include "storage/query_walk.h"

int query_walk_begin(struct query_walk *walk, struct window_set *set,
                     const struct store_query *asked, struct error *err)
{
	const struct store_range *range = &asked->range;

	*walk = (struct query_walk){
		.set = set,
		.last_day = day_of(range->end_unix_ns),
		.place = { day_of(range->start_unix_ns), 0 },
	};
	if (range->start_unix_ns > range->end_unix_ns)
		walk->last_day = walk->place.day - 1;
	tenant_folder_format(asked->tenant, walk->folder);
	if (set->follows && window_set_follow(set, walk->folder, err) < 0)
		return -1;
	(void)pthread_mutex_init(&walk->lock, NULL);
	(void)pthread_cond_init(&walk->passed, NULL);
	return 0;
}

int query_walk_end(struct query_walk *walk, struct error *err)
{
	(void)pthread_cond_destroy(&walk->passed);
	(void)pthread_mutex_destroy(&walk->lock);
	if (!walk->has_failed)
		return 0;
	*err = walk->error;
	return -1;
}

size_t query_walk_ahead(struct query_walk *walk, size_t most)
{
	return window_set_ahead(walk->set, walk->folder, walk->place, walk->last_day, most);
}

struct window *query_walk_next(struct query_walk *walk, uint64_t *out_number)
{
	struct window *window = NULL;

	(void)pthread_mutex_lock(&walk->lock);
	if (!walk->has_failed)
		window = window_set_next(walk->set, walk->folder, walk->place, walk->last_day);
	if (window) {
		walk->place = (struct window_place){ window->day, window->number + 1 };
		*out_number = walk->taken++;
	}
	(void)pthread_mutex_unlock(&walk->lock);
	return window;
}

struct window *query_walk_again(struct query_walk *walk, struct window *window)
{
	const struct window_place place = { window->day, window->number };
	struct window *now;

	window_set_release(walk->set, window);
	now = window_set_next(walk->set, walk->folder, place, place.day);
	if (!now || now->number == place.number)
		return now;
	window_set_release(walk->set, now); /* somebody else's */
	return NULL;
}

/* With the lock held. */
static void wait_for_turn(struct query_walk *walk, uint64_t number)
{
	while (walk->turn != number && !walk->has_failed)
		(void)pthread_cond_wait(&walk->passed, &walk->lock);
}

int query_walk_wait(struct query_walk *walk, uint64_t number, struct error *err)
{
	bool has_failed;

	(void)pthread_mutex_lock(&walk->lock);
	wait_for_turn(walk, number);
	has_failed = walk->has_failed;
	(void)pthread_mutex_unlock(&walk->lock);
	return has_failed ? error_set(err, ERROR_CANCELLED, "a window before this one failed") : 0;
}

void query_walk_pass(struct query_walk *walk, uint64_t number, int result, const struct error *err)
{
	(void)pthread_mutex_lock(&walk->lock);
	wait_for_turn(walk, number);
	if (!walk->has_failed && result < 0) {
		walk->has_failed = true;
		walk->error = *err;
	}
	walk->turn = number + 1;
	(void)pthread_cond_broadcast(&walk->passed);
	(void)pthread_mutex_unlock(&walk->lock);
}
