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
#include "storage/window_folder.h"
#include "storage/window_memory.h"

#define CACHE_LIMIT_ALONE ((size_t)256 << 20) /* of tables, when there is no budget; a guess */

/* ---- holds; all with the lock held ---- */

/*
 * Lets go of one hold; gives the window when it was the last one: free it without the
 * lock.
 */
static struct window *let_go(struct window_set *set, struct window *window)
{
	if (--window->references > 0)
		return NULL;
	window_set_uncharge(set, window);
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

/* A file that is there. One that took the place of another is another window. */
static void list_window(struct window_set *set, struct tenant_windows *tenant,
                        const struct window_folder_file *file)
{
	struct window *window = get_window(set, tenant, file->place);

	if (window->inode != 0 && window->inode != file->inode) {
		take_out(set, tenant, window);
		window = get_window(set, tenant, file->place);
	}
	window->inode = file->inode;
	if (!window->left_out)
		atomic_store_explicit(&window->ready, true, memory_order_release);
}

struct listing {
	struct window_set *set;
	const char *folder;
	bool may_remove; /* what others left: this process writes, and has only begun */
};

static void list_file(void *context, const struct window_folder_file *file)
{
	const struct listing *listing = context;
	struct window_set *set = listing->set;

	if (!*file->rest)
		list_window(set, window_list_tenant(&set->list, listing->folder), file);
	else if (listing->may_remove && window_file_is_passing(file->rest))
		(void)unlinkat(file->folder_fd, file->name, 0);
}

/* Adds the windows whose files are there. With the lock held. */
static int list_tenant(struct window_set *set, const char *folder, struct error *err)
{
	struct listing listing = { .set = set, .folder = folder };

	return window_folder_files(set->path, folder, list_file, &listing, err);
}

static int list_first(void *context, const struct folder *tenants, const char *name,
                      struct error *err)
{
	struct window_set *set = context;
	struct listing listing = { .set = set, .folder = name, .may_remove = !set->follows };

	return window_folder_files(tenants->path, name, list_file, &listing, err);
}

int window_set_open(struct window_set *set, const struct window_set_options *options,
                    struct error *err)
{
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
	shared_paths_init(&set->paths, set->budget);
	set->path = mem_zalloc(size, 1);
	(void)snprintf(set->path, size, "%s/tenants", options->path);
	if (window_folder_tenants(set->path, list_first, set, err) == 0)
		return 0;
	window_set_close(set);
	return -1;
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
	shared_paths_fini(&set->paths);
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

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

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

size_t window_set_ahead(struct window_set *set, const char *folder, struct window_place place,
                        int32_t last_day, size_t most)
{
	const struct tenant_windows *tenant;
	size_t count = 0;

	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_find(&set->list, folder);
	for (size_t i = tenant ? window_list_index(tenant, place) : 0;
	     tenant && i < tenant->count && count < most; i++) {
		if (tenant->windows[i]->day > last_day)
			break;
		count += is_ready(tenant->windows[i]);
	}
	(void)pthread_mutex_unlock(&set->lock);
	return count;
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
	const struct tenant_windows *next;

	(void)pthread_mutex_lock(&set->lock);
	next = window_list_next(&set->list, folder);
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

/* The day's last file, or a first one. It is held. With the lock held. */
static struct window *last_of_day(struct window_set *set, struct tenant_windows *tenant,
                                  int32_t day)
{
	const size_t behind = window_list_index(tenant, (struct window_place){ day, UINT32_MAX });

	if (behind > 0 && tenant->windows[behind - 1]->day == day)
		return hold(tenant->windows[behind - 1]);
	return hold(get_window(set, tenant, (struct window_place){ day, 1 }));
}

int window_set_writable(struct window_set *set, const char *folder, int32_t day,
                        struct window **out, struct error *err)
{
	struct tenant_windows *tenant;
	struct window *last;

	if (window_set_make_folder(set, folder, err) < 0)
		return -1;
	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_tenant(&set->list, folder);
	last = last_of_day(set, tenant, day);
	(void)pthread_mutex_unlock(&set->lock);
	if (!window_is_sealed(last)) {
		*out = last;
		return 0;
	}
	(void)pthread_mutex_lock(&set->lock);
	*out = hold(get_window(set, tenant, (struct window_place){ day, last->number + 1 }));
	(void)pthread_mutex_unlock(&set->lock);
	window_set_release(set, last);
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

/* ---- replacing ---- */

bool window_set_reserve(struct window_set *set, struct window *window)
{
	bool is_mine;

	(void)pthread_mutex_lock(&set->lock);
	is_mine = window->listed && !window->is_going;
	window->changers += is_mine;
	(void)pthread_mutex_unlock(&set->lock);
	return is_mine;
}

void window_set_unreserve(struct window_set *set, struct window *window)
{
	(void)pthread_mutex_lock(&set->lock);
	window->changers--;
	(void)pthread_mutex_unlock(&set->lock);
}

bool window_set_begin_replacing(struct window_set *set, struct window *window)
{
	bool may_go;

	(void)pthread_mutex_lock(&set->lock);
	may_go = window->listed && window->changers == 0;
	window->is_going = may_go;
	(void)pthread_mutex_unlock(&set->lock);
	return may_go;
}

void window_set_give_up_replacing(struct window_set *set, struct window *window)
{
	(void)pthread_mutex_lock(&set->lock);
	window->is_going = false;
	(void)pthread_mutex_unlock(&set->lock);
}

struct window *window_set_replace(struct window_set *set, struct window *window)
{
	const struct window_place place = { window->day, window->number };
	struct tenant_windows *tenant;
	struct window *fresh;
	struct window *last;

	(void)pthread_mutex_lock(&set->lock);
	tenant = window_list_find(&set->list, window->folder);
	window_list_remove(&set->list, tenant, window);
	last = let_go(set, window);
	fresh = get_window(set, tenant, place);
	atomic_store_explicit(&fresh->ready, true, memory_order_release);
	(void)hold(fresh);
	(void)pthread_mutex_unlock(&set->lock);
	window_free(last);
	return fresh;
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
