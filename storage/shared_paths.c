#include "storage/shared_paths.h"

#include "base/clock.h"

#define LIMIT_ALONE ((size_t)64 << 20) /* without a budget; some 50 services; a guess */
#define SHARE       8                  /* of the budget, one part of so many */

void shared_paths_init(struct shared_paths *shared, struct budget *budget)
{
	*shared = (struct shared_paths){
		.budget = budget,
		.limit = budget && budget->limit / SHARE < LIMIT_ALONE ? budget->limit / SHARE
		                                                       : LIMIT_ALONE,
	};
	(void)pthread_mutex_init(&shared->lock, NULL);
}

void shared_paths_fini(struct shared_paths *shared)
{
	path_table_release(shared->current);
	(void)pthread_mutex_destroy(&shared->lock);
}

struct path_table *shared_paths_take(struct shared_paths *shared)
{
	struct path_table *table;
	struct path_table *old = NULL;

	(void)pthread_mutex_lock(&shared->lock);
	if (shared->current && path_table_bytes(shared->current) > shared->limit)
		old = TAKE(shared->current);
	if (!shared->current)
		shared->current = path_table_new(++shared->made, shared->budget);
	table = path_table_hold(shared->current);
	shared->used_mono_ns = clock_mono_ns();
	(void)pthread_mutex_unlock(&shared->lock);
	path_table_release(old);
	return table;
}

void shared_paths_trim(struct shared_paths *shared, int64_t before_mono_ns)
{
	struct path_table *old = NULL;

	(void)pthread_mutex_lock(&shared->lock);
	if (shared->current && shared->used_mono_ns < before_mono_ns)
		old = TAKE(shared->current);
	(void)pthread_mutex_unlock(&shared->lock);
	path_table_release(old);
}

size_t shared_paths_bytes(struct shared_paths *shared)
{
	size_t bytes;

	(void)pthread_mutex_lock(&shared->lock);
	bytes = shared->current ? path_table_bytes(shared->current) : 0;
	(void)pthread_mutex_unlock(&shared->lock);
	return bytes;
}
