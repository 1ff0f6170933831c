/*
 * The windows that the writer has open.
 *
 * Shape    few: today's of each tenant, and those that late profiles went to. Each is
 *          held as long as it is open. Between batches no more stay open than the
 *          process's file descriptors allow.
 * Threads  the writer thread only.
 */
#pragma once

#include "storage/window_set.h"
#include "storage/window_writer.h"

struct open_window {
	struct window *window;
	int64_t used_mono_ns;
	bool failed;      /* in the batch at hand */
	struct error err; /* why */
};

struct open_windows {
	struct window_set *set;
	enum sqlite_store_sync sync;
	struct open_window *windows;
	size_t count;
	size_t capacity;
	size_t max;   /* that stay open between batches */
	bool starved; /* the budget has no room for what tables take */
};

void open_windows_init(struct open_windows *open, struct window_set *set,
                       enum sqlite_store_sync sync);
void open_windows_fini(struct open_windows *open);

/* The index of the window for a tenant's day. */
int open_windows_find(struct open_windows *open, struct str tenant, int32_t day, size_t *out_index,
                      struct error *err);

/* The same for a window that is known. */
int open_windows_add(struct open_windows *open, struct window *window, struct str tenant,
                     size_t *out_index, struct error *err);

/* Closes a window's writing side, if it is open. */
void open_windows_close(struct open_windows *open, struct window *window);

/*
 * Closes it, and what readers have handed back, after it could not be written: connections keep
 * in mind what was refused to one of them (SQLite shares a log's index, and opens it for reading
 * only when it could not be opened for writing). The next write opens it anew.
 */
void open_windows_renew(struct open_windows *open, struct window *window);

/* Closes, takes out of the list, and renames the files to *.damaged. */
int open_windows_set_aside(struct open_windows *open, struct window *window, struct error *err);

/*
 * Closes the window's writing side, and gives the file `fresh` (storage/file_place.h) the place
 * of its own. *out is the new window, held. ERROR_NOT_FOUND when the set has it no more;
 * ERROR_UNAVAILABLE when somebody is changing it, or reads its log.
 */
int open_windows_replace(struct open_windows *open, struct window *window, const char *fresh,
                         struct window **out, struct error *err);

/* Moves logs that have grown. */
void open_windows_tend(struct open_windows *open);

/*
 * Counts memory; closes what was not used since before_mono_ns, more when there are too
 * many or memory is short.
 */
void open_windows_trim(struct open_windows *open, int64_t before_mono_ns);
