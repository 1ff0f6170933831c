#include "storage/batch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

struct batch {
	struct open_windows *windows;
	int64_t now_unix_ns;
	int64_t now_mono_ns;
	struct batch_counts counts;
};

/*
 * The writing side of the window for a profile; its index stays until the batch is over.
 */
static int find_window(struct batch *batch, const struct store_write *write,
                       const struct series_profile *profile, struct open_window **out,
                       struct error *err)
{
	size_t index;

	if (open_windows_find(batch->windows, write->tenant, day_of(profile->time_unix_ns), &index,
	                      err) < 0)
		return -1;
	*out = &batch->windows->windows[index];
	return 0;
}

static void fail_window(struct open_window *window, const struct error *err)
{
	window_writer_rollback(window->window->writer);
	window->failed = true;
	window->err = *err;
}

static int add_profile(struct batch *batch, const struct store_write *write, size_t index,
                       struct error *err)
{
	const struct series_profile *profile = &write->profiles[index];
	const struct profile_hashes hashes = write_hashes_of(write->prepared, index);
	enum window_writer_added added;
	struct open_window *window;

	if (find_window(batch, write, profile, &window, err) < 0)
		return -1;
	if (window->failed) {
		*err = window->err;
		return -1;
	}
	window->used_mono_ns = batch->now_mono_ns;
	if (window_writer_add(window->window->writer, profile, &hashes, batch->now_unix_ns, &added,
	                      err) < 0) {
		/*
		 * a profile that is too large is its sender's fault, the rest the
		 * window's
		 */
		if (err->code != ERROR_TOO_LARGE)
			fail_window(window, err);
		return -1;
	}
	if (added == WINDOW_WRITER_STORED)
		batch->counts.stored++;
	else
		batch->counts.duplicates++;
	return 0;
}

static void add_write(struct batch *batch, struct batch_write *write)
{
	struct error err;

	for (size_t i = 0; i < write->write->count; i++) {
		if (add_profile(batch, write->write, i, &err) < 0) {
			write->err = err;
			return;
		}
	}
	write->err.code = ERROR_NONE;
}

static void commit_windows(struct batch *batch)
{
	for (size_t i = 0; i < batch->windows->count; i++) {
		struct open_window *window = &batch->windows->windows[i];
		struct error err;

		if (!window_writer_is_dirty(window->window->writer))
			continue;
		batch->counts.commits++;
		if (window_writer_commit(window->window->writer, &err) < 0)
			fail_window(window, &err);
	}
}

/* A write whose profiles went to a window that failed has failed. */
static void settle_write(struct batch *batch, struct batch_write *write)
{
	for (size_t i = 0; i < write->write->count && write->err.code == ERROR_NONE; i++) {
		struct open_window *window;
		struct error err;

		if (find_window(batch, write->write, &write->write->profiles[i], &window, &err) < 0)
			write->err = err;
		else if (window->failed)
			write->err = window->err;
	}
}

static bool any_failed(const struct open_windows *windows)
{
	for (size_t i = 0; i < windows->count; i++)
		if (windows->windows[i].failed)
			return true;
	return false;
}

/* Damaged windows go out of the way, those that could not be written are opened anew. */
static void settle_windows(struct open_windows *windows)
{
	for (size_t i = windows->count; i-- > 0;) {
		struct window *window = windows->windows[i].window;
		const bool failed = windows->windows[i].failed;
		const enum error_code code = windows->windows[i].err.code;
		struct error ignored;

		windows->windows[i].failed = false;
		if (failed && code == ERROR_CORRUPT) {
			(void)open_windows_set_aside(windows, window, &ignored);
		} else if (failed && code == ERROR_IO) {
			open_windows_renew(windows, window);
		}
	}
}

void batch_run(struct open_windows *windows, struct batch_write *writes, size_t count,
               int64_t now_unix_ns, struct batch_counts *counts)
{
	struct batch batch = {
		.windows = windows,
		.now_unix_ns = now_unix_ns,
		.now_mono_ns = clock_mono_ns(),
	};
	CLEANUP(mem_freep) bool *mine = mem_zalloc(count + 1, sizeof(*mine));

	for (size_t i = 0; i < count; i++) {
		mine[i] = writes[i].err.code != ERROR_NONE;
		if (mine[i])
			add_write(&batch, &writes[i]);
	}
	commit_windows(&batch);
	for (size_t i = 0; any_failed(windows) && i < count; i++)
		if (mine[i])
			settle_write(&batch, &writes[i]);
	settle_windows(windows);
	counts->stored += batch.counts.stored;
	counts->duplicates += batch.counts.duplicates;
	counts->commits += batch.counts.commits;
}
