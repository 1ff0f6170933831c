/*
 * The one thread that writes: takes what waits, interns, inserts, commits once for all of
 * it, and answers.
 *
 * Shape    a queue of writes with bounds on its length and bytes, and jobs (deleting,
 *          settings, setting a window aside) that run between batches. An idle writer
 *          commits at once; while it commits, what comes next gathers. Between batches it
 *          moves logs, lets idle windows go and applies retention.
 * Errors   a write fails with ERROR_IO when the store's folder is not there any more.
 *          writer_append(): ERROR_UNAVAILABLE when the queue is full, memory is short or
 *          the store is stopping, ERROR_NO_SPACE when the store is over its budget of
 *          bytes and nothing old is left to delete.
 * Threads  any thread may append and run jobs.
 */
#pragma once

#include "storage/retention.h"
#include "storage/sqlite_store.h"
#include "storage/store_folder.h"
#include "storage/tenant_versions.h"

struct writer;

struct writer_options {
	struct window_set *windows;
	const struct store_folder *folder; /* open for writing */
	struct tenant_versions *versions;
	struct retention retention;
	enum sqlite_store_sync sync;
	size_t queue_max_bytes;
	size_t queue_max_length;
	int64_t idle_ns;       /* after that a window is closed */
	struct budget *budget; /* or NULL */
};

int writer_start(const struct writer_options *options, struct writer **out, struct error *err);

/* Commits what was taken in, then ends the thread. NULL is fine. */
void writer_stop(struct writer *writer);

int writer_append(struct writer *writer, struct store_write *write, struct error *err);

/* Runs a job on the writer's thread and waits for it. */
typedef int (*writer_job)(struct writer *writer, void *context, struct error *err);
int writer_run(struct writer *writer, writer_job run, void *context, struct error *err);

/* From now on another age and another number of bytes; what is over goes at once. */
int writer_set_retention(struct writer *writer, const struct retention *retention,
                         struct error *err);

/*
 * For jobs: changes a window, whose writing side stays open, commits, and moves its log.
 * A change that fails leaves nothing, and a window that could not be written (ERROR_IO)
 * is opened anew for the next one. ERROR_NOT_FOUND when it is not listed any more.
 */
typedef int (*writer_change)(struct window_writer *window, void *context, struct error *err);
int writer_change_window(struct writer *writer, struct window *window, struct str tenant,
                         writer_change change, void *context, struct error *err);

/* For jobs: what the writer has open. */
struct open_windows;
struct open_windows *writer_windows(struct writer *writer);

/* For jobs: closes the window's writing side and puts its files out of the way. */
int writer_set_aside(struct writer *writer, struct window *window, struct error *err);

struct writer_counts {
	uint64_t queue_bytes;
	uint64_t queue_length;
	uint64_t profiles_appended;
	uint64_t profiles_deduplicated;
	uint64_t commits;
};
void writer_count(struct writer *writer, struct writer_counts *out);
