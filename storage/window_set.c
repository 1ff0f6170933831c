#include "storage/window_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define CACHE_LIMIT_ALONE ((size_t)256 << 20) /* of tables, when there is no budget; a guess */

/* ---- holds; all with the lock held ---- */

/* Takes the bytes of a window out of all counts. */
static void uncharge(struct window_set *set, struct window *window)
{
	if (set->budget)
		budget_give(set->budget, window->charged);
	set->cache_bytes -= window->charged;
	window->charged = 0;
}

/*
 * Lets go of one hold; gives the window when it was the last one: free it without the
 * lock.
 */
static struct window *let_go(struct window_set *set, struct window *window)
{
	if (--window->references > 0)
		return NULL;
	uncharge(set, window);
	return window;
}

static struct window *hold(struct window *window)
{
	window->references++;
	window->used_mono_ns = clock_mono_ns();
	return window;
}

static void take_out(struct window_set *set, struct tenant_windows *tenant, struct window *window)
{
	window_list_remove(&set->list, tenant, window);
	window_free(let_go(set, window)); /* the list's own hold */
}

/* The window of a place, made when there is none. */
static struct window *get_window(struct window_set *set, struct tenant_windows *tenant,
                                 struct window_place place)
{
	struct window *window = window_list_get(tenant, place);

	if (window)
		return window;
	window = window_new(set->path, tenant->folder, place.day, place.number, set->key);
	window->folder = tenant->folder;
	window->follows = set->follows;
	window->references = 1;
	window_list_insert(&set->list, tenant, window);
	return window;
}

static bool is_ready(const struct window *window)
{
	return atomic_load_explicit(&window->ready, memory_order_acquire);
}

/* ---- finding files ---- */

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/*
 * Sets errno at the end: 0, or why there is no more. readdir() is safe on a directory that no
 * other thread reads.
 */
static const struct dirent *next_entry(DIR *directory)
{
	errno = 0;
	return readdir(directory); /* NOLINT(concurrency-mt-unsafe) */
}

/* A file that is there. One that took the place of another is another window. */
static void list_window(struct window_set *set, struct tenant_windows *tenant,
                        struct window_place at, uint64_t inode)
{
	struct window *window = get_window(set, tenant, at);

	if (window->inode != 0 && window->inode != inode) {
		take_out(set, tenant, window);
		window = get_window(set, tenant, at);
	}
	window->inode = inode;
	if (!window->left_out)
		atomic_store_explicit(&window->ready, true, memory_order_release);
}

/* Another kind of file under a window's name would stop whoever opens it. */
static bool is_file(DIR *directory, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type == DT_REG)
		return true;
	return fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

/* Adds the windows whose files are there. With the lock held. */
static int list_tenant(struct window_set *set, const char *folder, struct error *err)
{
	CLEANUP(close_folder) DIR *directory = NULL;
	CLEANUP(mem_freep) char *path = mem_zalloc(strlen(set->path) + strlen(folder) + 2, 1);
	struct tenant_windows *tenant = NULL;
	const struct dirent *entry;

	(void)sprintf(path, "%s/%s", set->path, folder);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT || errno == ENOTDIR
		               ? 0
		               : error_set_errno(err, errno, "%s", path);
	while ((entry = next_entry(directory))) {
		struct window_place at;
		const char *rest;

		if (!window_file_parse(entry->d_name, &at.day, &at.number, &rest) || *rest ||
		    !is_file(directory, entry))
			continue;
		if (!tenant)
			tenant = window_list_tenant(&set->list, folder);
		list_window(set, tenant, at, entry->d_ino);
	}
	return errno == 0 ? 0 : error_set_errno(err, errno, "%s", path);
}

static int list_tenants(struct window_set *set, DIR *directory, struct error *err)
{
	const struct dirent *entry;

	while ((entry = next_entry(directory))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= TENANT_FOLDER_SIZE)
			continue;
		if (list_tenant(set, entry->d_name, err) < 0)
			return -1;
	}
	return errno == 0 ? 0 : error_set_errno(err, errno, "%s", set->path);
}

int window_set_open(struct window_set *set, const struct window_set_options *options,
                    struct error *err)
{
	CLEANUP(close_folder) DIR *directory = NULL;
	const size_t size = strlen(options->path) + sizeof("/tenants");

	*set = (struct window_set){
		.key = options->key,
		.follows = options->follows,
		.budget = options->budget,
		/*
		 * caches may take half: requests need the rest, and cannot make caches
		 * give back
		 */
		.cache_limit = options->budget ? options->budget->limit / 2 : CACHE_LIMIT_ALONE,
	};
	(void)pthread_mutex_init(&set->lock, NULL);
	set->path = mem_zalloc(size, 1);
	(void)snprintf(set->path, size, "%s/tenants", options->path);
	directory = opendir(set->path);
	if (!directory) {
		if (errno == ENOENT)
			return 0;
		(void)error_set_errno(err, errno, "%s", set->path);
		window_set_close(set);
		return -1;
	}
	if (list_tenants(set, directory, err) < 0) {
		window_set_close(set);
		return -1;
	}
	return 0;
}

void window_set_close(struct window_set *set)
{
	if (!set->path)
		return;
	for (size_t i = 0; i < set->list.tenant_count; i++) {
		const struct tenant_windows *tenant = set->list.tenants[i];

		for (size_t j = 0; j < tenant->count; j++) {
			if (set->budget)
				budget_give(set->budget, tenant->windows[j]->charged);
			window_free(tenant->windows[j]);
		}
	}
	window_list_fini(&set->list);
	free(set->path);
	(void)pthread_mutex_destroy(&set->lock);
	*set = (struct window_set){ 0 };
}

int window_set_follow(struct window_set *set, const char *folder, struct error *err)
{
	struct tenant_windows *tenant;
	int result;

	(void)pthread_mutex_lock(&set->lock);
	result = list_tenant(set, folder, err);
	tenant = window_list_find(&set->list, folder);
	for (size_t i = tenant ? tenant->count : 0; i-- > 0;) {
		struct window *window = tenant->windows[i];

		if (access(window->path, F_OK) < 0 && errno == ENOENT)
			take_out(set, tenant, window);
	}
	(void)pthread_mutex_unlock(&set->lock);
	return result;
}

/* ---- holding ---- */

struct window *window_set_next(struct window_set *set, const char *folder,
                               struct window_place place, int32_t last_day)
{
	struct window *found = NULL;
	struct tenant_windows *tenant;

	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_find(&set->list, folder);
	for (size_t i = tenant ? window_list_index(tenant, place) : 0; tenant && i < tenant->count;
	     i++) {
		if (tenant->windows[i]->day > last_day)
			break;
		if (is_ready(tenant->windows[i])) {
			found = hold(tenant->windows[i]);
			break;
		}
	}
	(void)pthread_mutex_unlock(&set->lock);
	return found;
}

struct window *window_set_last(struct window_set *set, const char *folder,
                               struct window_place place)
{
	struct window *found = NULL;
	struct tenant_windows *tenant;

	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_find(&set->list, folder);
	for (size_t i = tenant ? window_list_index(tenant, place) : 0; i-- > 0;) {
		if (is_ready(tenant->windows[i])) {
			found = hold(tenant->windows[i]);
			break;
		}
	}
	(void)pthread_mutex_unlock(&set->lock);
	return found;
}

bool window_set_next_tenant(struct window_set *set, char folder[static TENANT_FOLDER_SIZE])
{
	const struct tenant_windows *next = NULL;

	(void)pthread_mutex_lock(&set->lock);
	/* by name */
	for (size_t i = 0; i < set->list.tenant_count && !next; i++)
		if (strcmp(set->list.tenants[i]->folder, folder) > 0)
			next = set->list.tenants[i];
	if (next)
		(void)memcpy(folder, next->folder, TENANT_FOLDER_SIZE);
	(void)pthread_mutex_unlock(&set->lock);
	return next != NULL;
}

/* A folder below `parent`, if there is none: a power cut does not take it away again. */
static int make_one(const char *parent, const char *path)
{
	CLEANUP(close_folder) DIR *directory = NULL;

	if (mkdir(path, 0750) < 0)
		return errno == EEXIST ? 0 : -1;
	directory = opendir(parent);
	return !directory || fsync(dirfd(directory)) < 0 ? -1 : 0;
}

int window_set_make_folder(const struct window_set *set, const char *folder, struct error *err)
{
	CLEANUP(mem_freep) char *path = mem_zalloc(strlen(set->path) + strlen(folder) + 2, 1);
	CLEANUP(mem_freep)
	char *store = mem_strndup(set->path, strlen(set->path) - strlen("/tenants"));

	(void)sprintf(path, "%s/%s", set->path, folder);
	if (make_one(set->path, path) == 0)
		return 0;
	if (errno != ENOENT || make_one(store, set->path) < 0 || make_one(set->path, path) < 0)
		return error_set_errno(err, errno, "folder of a tenant, %s", path);
	return 0;
}

int window_set_writable(struct window_set *set, const char *folder, int32_t day,
                        struct window **out, struct error *err)
{
	struct tenant_windows *tenant;
	size_t behind;

	if (window_set_make_folder(set, folder, err) < 0)
		return -1;
	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_tenant(&set->list, folder);
	/* the day's last file is the one that is not sealed */
	behind = window_list_index(tenant, (struct window_place){ day, UINT32_MAX });
	if (behind > 0 && tenant->windows[behind - 1]->day == day)
		*out = hold(tenant->windows[behind - 1]);
	else
		*out = hold(get_window(set, tenant, (struct window_place){ day, 1 }));
	(void)pthread_mutex_unlock(&set->lock);
	return 0;
}

bool window_set_is_listed(struct window_set *set, const struct window *window)
{
	bool listed;

	(void)pthread_mutex_lock(&set->lock);
	listed = window->listed;
	(void)pthread_mutex_unlock(&set->lock);
	return listed;
}

void window_set_hold(struct window_set *set, struct window *window)
{
	(void)pthread_mutex_lock(&set->lock);
	(void)hold(window);
	(void)pthread_mutex_unlock(&set->lock);
}

void window_set_release(struct window_set *set, struct window *window)
{
	struct window *last;

	if (!window)
		return;
	(void)pthread_mutex_lock(&set->lock);
	last = let_go(set, window);
	(void)pthread_mutex_unlock(&set->lock);
	window_free(last);
}

void window_set_remove(struct window_set *set, struct window *window)
{
	bool removed;

	(void)pthread_mutex_lock(&set->lock);
	removed = window->listed;
	if (removed)
		window_list_remove(&set->list, window_list_find(&set->list, window->folder),
		                   window);
	(void)pthread_mutex_unlock(&set->lock);
	if (removed)
		window_set_release(set, window); /* the list's own hold */
}

/* ---- memory ---- */

bool window_set_charge(struct window_set *set, struct window *window)
{
	const size_t bytes = atomic_load_explicit(&window->table_bytes, memory_order_relaxed) +
	                     atomic_load_explicit(&window->writer_bytes, memory_order_relaxed);
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
			uncharge(set, oldest);
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

void window_set_note_damage(struct window_set *set, struct window *left_out)
{
	(void)pthread_mutex_lock(&set->lock);
	set->damaged_count++;
	if (left_out) {
		left_out->left_out = true;
		atomic_store_explicit(&left_out->ready, false, memory_order_release);
	}
	(void)pthread_mutex_unlock(&set->lock);
}

void window_set_count(struct window_set *set, struct window_set_counts *out)
{
	(void)pthread_mutex_lock(&set->lock);
	(void)oldest_unused(set, &set->open_count);
	*out = (struct window_set_counts){
		.windows = set->list.window_count,
		.open = set->open_count,
		.cache_bytes = set->cache_bytes,
		.damaged = set->damaged_count,
	};
	(void)pthread_mutex_unlock(&set->lock);
}
