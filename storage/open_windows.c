#include "storage/open_windows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/damaged_file.h"
#include "storage/file_place.h"
#include "storage/window_memory.h"

#define IN_USE_NS    (10 * NS_PER_S) /* a guess */
#define OPEN_MAX_ALL 256             /* a guess: more tenants than that write in turns */
#define OPEN_MIN     4

/* A database, its log and its index; readers that wait have the first two each. */
#define WINDOW_DESCRIPTORS (3 + 2 * WINDOW_IDLE_READERS)

/* Half of the descriptors are for windows that are written, the rest for all else. */
static size_t most_open(void)
{
	struct rlimit limit;
	size_t most;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return OPEN_MAX_ALL;
	most = (size_t)limit.rlim_cur / 2 / WINDOW_DESCRIPTORS;
	if (most < OPEN_MIN)
		return OPEN_MIN;
	return most < OPEN_MAX_ALL ? most : OPEN_MAX_ALL;
}

void open_windows_init(struct open_windows *open, struct window_set *set,
                       enum sqlite_store_sync sync)
{
	*open = (struct open_windows){ .set = set, .sync = sync, .max = most_open() };
}

static void close_at(struct open_windows *open, size_t index)
{
	struct window *window = open->windows[index].window;

	window_writer_close(TAKE(window->writer));
	atomic_store_explicit(&window->writer_bytes, 0, memory_order_relaxed);
	(void)window_set_charge(open->set, window);
	window_set_release(open->set, window);
	open->windows[index] = open->windows[--open->count];
}

void open_windows_fini(struct open_windows *open)
{
	while (open->count > 0)
		close_at(open, open->count - 1);
	free(open->windows);
	*open = (struct open_windows){ 0 };
}

int open_windows_add(struct open_windows *open, struct window *window, struct str tenant,
                     size_t *out_index, struct error *err)
{
	for (size_t i = 0; i < open->count; i++) {
		if (open->windows[i].window == window) {
			*out_index = i;
			return 0;
		}
	}
	if (window_writer_open(window, tenant, open->sync, &window->writer, err) < 0)
		return -1;
	if (open->count == open->capacity) {
		open->capacity = open->capacity ? open->capacity * 2 : 8;
		open->windows = mem_resize(open->windows, open->capacity, sizeof(*open->windows));
	}
	window_set_hold(open->set, window);
	open->windows[open->count] = (struct open_window){
		.window = window,
		.used_mono_ns = clock_mono_ns(),
	};
	*out_index = open->count++;
	return 0;
}

int open_windows_find(struct open_windows *open, struct str tenant, int32_t day, size_t *out_index,
                      struct error *err)
{
	char folder[TENANT_FOLDER_SIZE];
	struct window *window = NULL;
	int result = -1;

	tenant_folder_format(tenant, folder);
	/*
	 * a damaged window is put aside and the day begins anew: nothing waits for a
	 * person
	 */
	for (int attempt = 0; attempt < 2 && result < 0; attempt++) {
		if (window_set_writable(open->set, folder, day, &window, err) < 0)
			return -1;
		result = open_windows_add(open, window, tenant, out_index, err);
		if (result < 0 && err->code == ERROR_CORRUPT) {
			struct error failed;

			if (open_windows_set_aside(open, window, &failed) < 0)
				attempt = 2;
		} else if (result < 0) {
			attempt = 2;
		}
		window_set_release(open->set, window);
	}
	return result;
}

void open_windows_close(struct open_windows *open, struct window *window)
{
	for (size_t i = 0; i < open->count; i++) {
		if (open->windows[i].window == window) {
			close_at(open, i);
			return;
		}
	}
}

void open_windows_renew(struct open_windows *open, struct window *window)
{
	window_close_readers(window);
	open_windows_close(open, window);
}

/* While somebody holds the window: the set lets it go. */
static int set_aside(struct open_windows *open, struct window *window, struct error *err)
{
	CLEANUP(mem_freep) char *aside = NULL;

	open_windows_close(open, window);
	if (damaged_file_set_aside(window->path, &aside, err) < 0)
		return -1;
	window_set_remove(open->set, window);
	window_set_note_damage(open->set, NULL);
	if (!aside)
		log_error("window %s is gone; the rest is served", window->path);
	else
		log_error("window %s is damaged; it is set aside as %s, the rest is served",
		          window->path, strrchr(aside, '/') + 1);
	return 0;
}

int open_windows_set_aside(struct open_windows *open, struct window *window, struct error *err)
{
	int result;

	window_set_hold(open->set, window);
	result = set_aside(open, window, err);
	window_set_release(open->set, window);
	return result;
}

/* A log that nobody closed well is moved into the file first. */
static int move_log(const struct open_windows *open, struct window *window, struct error *err)
{
	if (window_is_sealed(window))
		return 0;
	return window_file_settle(window->path, open->sync, err);
}

int open_windows_replace(struct open_windows *open, struct window *window, const char *fresh,
                         struct window **out, struct error *err)
{
	if (!window_set_is_listed(open->set, window))
		return error_set(err, ERROR_NOT_FOUND, "the window is gone");
	if (!window_set_begin_replacing(open->set, window))
		return error_set(err, ERROR_UNAVAILABLE, "%s is being changed", window->path);
	open_windows_close(open, window);
	if (move_log(open, window, err) < 0 || file_place_take(fresh, window->path, err) < 0) {
		window_set_give_up_replacing(open->set, window);
		return -1;
	}
	*out = window_set_replace(open->set, window);
	return 0;
}

void open_windows_tend(struct open_windows *open)
{
	struct error err;

	for (size_t i = 0; i < open->count; i++)
		if (window_writer_tend(open->windows[i].window->writer, &err) < 0)
			log_rarely(LOG_WARN, "moving the log of %s: %s; trying again",
			           open->windows[i].window->path, err.message);
}

/* Counts all open windows; false when one does not fit. */
static bool charge(struct open_windows *open)
{
	bool fits = true;

	for (size_t i = 0; i < open->count; i++)
		fits = window_set_charge(open->set, open->windows[i].window) && fits;
	return fits;
}

static size_t longest_idle(const struct open_windows *open)
{
	size_t oldest = 0;

	for (size_t i = 1; i < open->count; i++)
		if (open->windows[i].used_mono_ns < open->windows[oldest].used_mono_ns)
			oldest = i;
	return oldest;
}

/* Those used last stay. */
static void close_surplus(struct open_windows *open)
{
	if (open->count <= open->max)
		return;
	while (open->count > open->max)
		close_at(open, longest_idle(open));
	window_set_trim(open->set, 0); /* what they leave in memory counts, too */
}

/* Caches beyond their share: queries would find no room as long as a window is open. */
static void close_for_queries(struct open_windows *open)
{
	while (open->count > 0 && window_set_is_over(open->set)) {
		const size_t oldest = longest_idle(open);

		if (open->windows[oldest].used_mono_ns > clock_mono_ns() - IN_USE_NS)
			return;
		close_at(open, oldest);
		window_set_trim(open->set, 0);
	}
}

void open_windows_trim(struct open_windows *open, int64_t before_mono_ns)
{
	for (size_t i = open->count; i-- > 0;)
		if (open->windows[i].used_mono_ns < before_mono_ns)
			close_at(open, i);
	close_surplus(open);
	open->starved = !charge(open);
	if (!open->starved) {
		close_for_queries(open);
		return;
	}
	window_set_trim(open->set, INT64_MAX);
	open->starved = !charge(open);
	/* those in use stay: what else takes memory, requests, gives it back soon */
	while (open->starved && open->count > 0) {
		const size_t oldest = longest_idle(open);

		if (open->windows[oldest].used_mono_ns > clock_mono_ns() - IN_USE_NS)
			return;
		close_at(open, oldest);
		window_set_trim(open->set, INT64_MAX);
		open->starved = !charge(open);
	}
}
