/*
 * All windows of a store: which there are, who holds them, what they may keep in memory.
 *
 * Shape    found by listing folders; a file is opened when somebody asks for it. A window
 *          that is held stays whole, also when its file is unlinked meanwhile. Tables and
 *          connections of windows that nobody holds are given back, the longest unused
 *          first, when there are too many or memory is short.
 * Threads  any. `lock` guards the list and what window.h says; it is never held while
 *          files are read.
 */
#pragma once

#include "base/budget.h"
#include "storage/shared_paths.h"
#include "storage/window_list.h"

#define WINDOW_SET_OPEN_MAX 32 /* windows with tables or connections that nobody holds; a guess */

struct window_set {
	char *path; /* of the folder of tenants */
	uint64_t key;
	bool follows; /* read-only: folders are listed again for each query */
	struct budget *budget;
	size_t cache_limit;
	struct shared_paths paths; /* what stacks of all windows are made of */

	pthread_mutex_t lock; /* guards everything below */
	struct window_list list;
	size_t cache_bytes;
	size_t open_count;
	uint64_t damaged_count;
};

struct window_set_options {
	const char *path; /* of the store */
	uint64_t key;
	bool follows;
	struct budget *budget; /* or NULL */
};

int window_set_open(struct window_set *set, const struct window_set_options *options,
                    struct error *err);

/* Nobody holds a window any more. Fine on a zeroed one. */
void window_set_close(struct window_set *set);

/* Looks for files of a tenant that another process made or removed. */
int window_set_follow(struct window_set *set, const char *folder, struct error *err);

/*
 * The first readable window at or behind `place`, up to last_day; NULL when there is
 * none. It is held.
 */
struct window *window_set_next(struct window_set *set, const char *folder,
                               struct window_place place, int32_t last_day);

/* How many there are, up to `most`. */
size_t window_set_ahead(struct window_set *set, const char *folder, struct window_place place,
                        int32_t last_day, size_t most);

/* The last one at or before last_day, likewise. */
struct window *window_set_last(struct window_set *set, const char *folder,
                               struct window_place place);

/*
 * Replaces a tenant's folder ("" at first) by that of the next tenant which has windows,
 * or had. False at the end.
 */
bool window_set_next_tenant(struct window_set *set, char folder[static TENANT_FOLDER_SIZE]);

/* A tenant's folder, and the one of all tenants: somebody may have removed them. */
int window_set_make_folder(const struct window_set *set, const char *folder, struct error *err);

/* The window that new profiles of the day go to; made when there is none. It is held. */
int window_set_writable(struct window_set *set, const char *folder, int32_t day,
                        struct window **out, struct error *err);

/* Whether the set still has a window that the caller holds. */
bool window_set_is_listed(struct window_set *set, const struct window *window);

void window_set_hold(struct window_set *set, struct window *window);
void window_set_release(struct window_set *set, struct window *window);

/*
 * From now on nothing takes the window's place, until the other call: for those who change it
 * in several steps. False when it is not in the set any more, or is about to go.
 */
bool window_set_reserve(struct window_set *set, struct window *window);
void window_set_unreserve(struct window_set *set, struct window *window);

/*
 * For the writer's thread: from now on nobody reserves the window, since another file takes the
 * place of its own. False when somebody has, or it is not in the set. Either of the other calls
 * ends it; the second one gives the new window, held.
 */
bool window_set_begin_replacing(struct window_set *set, struct window *window);
void window_set_give_up_replacing(struct window_set *set, struct window *window);
struct window *window_set_replace(struct window_set *set, struct window *window);

/* Takes a window out of the list; its file is gone or damaged. */
void window_set_remove(struct window_set *set, struct window *window);

/*
 * Counts a damaged window; `left_out` (or NULL) is one that stays where it is and is not
 * read any more.
 */
void window_set_note_damage(struct window_set *set, struct window *left_out);
