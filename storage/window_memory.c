#include "storage/window_memory.h"

void window_set_uncharge(struct window_set *set, struct window *window)
{
	if (set->budget)
		budget_give(set->budget, window->charged);
	set->cache_bytes -= window->charged;
	window->charged = 0;
}

bool window_set_charge(struct window_set *set, struct window *window)
{
	const size_t bytes = atomic_load_explicit(&window->table_bytes, memory_order_relaxed) +
	                     atomic_load_explicit(&window->writer_bytes, memory_order_relaxed) +
	                     atomic_load_explicit(&window->path_bytes, memory_order_relaxed);
	bool fits = true;

	(void)pthread_mutex_lock(&set->lock);
	if (bytes > window->charged) {
		const size_t more = bytes - window->charged;

		fits = !set->budget || budget_take(set->budget, more);
		if (fits) {
			window->charged += more;
			set->cache_bytes += more;
		}
	} else if (bytes < window->charged) {
		const size_t less = window->charged - bytes;

		if (set->budget)
			budget_give(set->budget, less);
		window->charged -= less;
		set->cache_bytes -= less;
	}
	(void)pthread_mutex_unlock(&set->lock);
	return fits;
}

bool window_set_is_over(struct window_set *set)
{
	bool is_over;

	(void)pthread_mutex_lock(&set->lock);
	is_over = set->cache_bytes > set->cache_limit;
	(void)pthread_mutex_unlock(&set->lock);
	return is_over;
}

/*
 * The open window that was not used for longest and that nobody holds. With the lock
 * held.
 */
static struct window *oldest_unused(struct window_set *set, size_t *out_open)
{
	struct window *oldest = NULL;
	size_t open = 0;

	for (size_t i = 0; i < set->list.tenant_count; i++) {
		for (size_t j = 0; j < set->list.tenants[i]->count; j++) {
			struct window *window = set->list.tenants[i]->windows[j];

			if (atomic_load_explicit(&window->table_bytes, memory_order_relaxed) == 0)
				continue;
			open++;
			if (window->references == 1 &&
			    (!oldest || window->used_mono_ns < oldest->used_mono_ns))
				oldest = window;
		}
	}
	*out_open = open;
	return oldest;
}

void window_set_trim(struct window_set *set, int64_t before_mono_ns)
{
	shared_paths_trim(&set->paths, before_mono_ns);
	for (;;) {
		struct window_idle idle = { 0 };
		struct window *oldest;
		size_t open;

		(void)pthread_mutex_lock(&set->lock);
		oldest = oldest_unused(set, &open);
		if (oldest && (open > WINDOW_SET_OPEN_MAX || set->cache_bytes > set->cache_limit ||
		               oldest->used_mono_ns < before_mono_ns)) {
			/* nobody holds it, and nobody can while the set is locked */
			idle = window_detach_idle(oldest);
			window_set_uncharge(set, oldest);
			open--;
		} else {
			oldest = NULL;
		}
		set->open_count = open;
		(void)pthread_mutex_unlock(&set->lock);
		window_free_idle(&idle);
		if (!oldest)
			return;
	}
}

int window_set_make_room(struct window_set *set, struct window *window, struct error *err)
{
	if (window_set_charge(set, window))
		return 0;
	window_set_trim(set, INT64_MAX);
	if (window_set_charge(set, window))
		return 0;
	return error_set(err, ERROR_UNAVAILABLE,
	                 "memory limit: no room for the symbols of a day (%zu bytes)",
	                 atomic_load(&window->table_bytes) + atomic_load(&window->path_bytes));
}

/* As far as that is known. */
static size_t count_sealed(const struct tenant_windows *tenant)
{
	size_t count = 0;

	for (size_t i = 0; i < tenant->count; i++)
		count += atomic_load_explicit(&tenant->windows[i]->seal, memory_order_relaxed) ==
		         WINDOW_SEALED;
	return count;
}

void window_set_count(struct window_set *set, struct window_set_counts *out)
{
	const size_t path_bytes = shared_paths_bytes(&set->paths);
	size_t sealed = 0;

	(void)pthread_mutex_lock(&set->lock);
	(void)oldest_unused(set, &set->open_count);
	for (size_t i = 0; i < set->list.tenant_count; i++)
		sealed += count_sealed(set->list.tenants[i]);
	*out = (struct window_set_counts){
		.windows = set->list.window_count,
		.open = set->open_count,
		.cache_bytes = set->cache_bytes + path_bytes,
		.damaged = set->damaged_count,
		.sealed = sealed,
	};
	(void)pthread_mutex_unlock(&set->lock);
}
