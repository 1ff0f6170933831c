#include "storage/writer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/batch.h"
#include "storage/trusted_time.h"
#include "storage/window_memory.h"

#define BATCH_WRITES    512                /* of one commit; a guess */
#define BATCH_BYTES     ((size_t)16 << 20) /* likewise */
#define BATCH_ATTEMPTS  3 /* a window set aside or room made: then what failed is tried again */
#define STARVED_TICK_NS (50 * NS_PER_MS) /* then writes are refused: look again soon */
#define TICK_NS         (10 * NS_PER_S)
#define RETENTION_NS    (60 * NS_PER_S)
#define UNUSED_NS       (600 * NS_PER_S)

struct job {
	writer_job run;
	void *context;
	struct error *err;
	int result;
	bool done;
	struct job *next;
};

struct writer {
	struct writer_options options;
	pthread_t thread;

	pthread_mutex_t lock; /* guards the queues below */
	pthread_cond_t wake;  /* the thread's */
	pthread_cond_t ran;   /* a job has */
	struct store_write *first;
	struct store_write *last;
	size_t length;
	size_t bytes;
	struct job *jobs;
	bool stopping;

	/* relaxed: figures, and a door that may close a moment late */
	_Atomic uint64_t appended;
	_Atomic uint64_t duplicates;
	_Atomic uint64_t commits;
	_Atomic bool starved; /* of memory */
	_Atomic bool full;    /* over the budget of bytes, and nothing may be deleted */

	/* the thread's own */
	struct trusted_time time;
	struct open_windows windows;
	struct batch_write *batch;
	int64_t tick_mono_ns;
	int64_t retention_mono_ns;
};

/* ---- the queue ---- */

static size_t weight(const struct store_write *write)
{
	return write->bytes + write_hashes_bytes(write->prepared);
}

static int refuse(const struct writer *writer, struct error *err)
{
	if (atomic_load_explicit(&writer->full, memory_order_relaxed))
		return error_set(err, ERROR_NO_SPACE,
		                 "the store is over its budget of bytes and nothing old is left");
	if (atomic_load_explicit(&writer->starved, memory_order_relaxed))
		return error_set(err, ERROR_UNAVAILABLE,
		                 "memory limit: no room for more symbols now");
	return 0;
}

/* With the lock held. */
static int enqueue(struct writer *writer, struct store_write *write, struct error *err)
{
	const size_t bytes = weight(write);

	if (writer->stopping)
		return error_set(err, ERROR_UNAVAILABLE, "the store is stopping");
	if (writer->length >= writer->options.queue_max_length)
		return error_set(err, ERROR_UNAVAILABLE, "%zu writes are waiting", writer->length);
	/* one that is larger than the bound goes alone */
	if (writer->length > 0 && writer->bytes + bytes > writer->options.queue_max_bytes)
		return error_set(err, ERROR_UNAVAILABLE, "%zu bytes of writes are waiting",
		                 writer->bytes);
	write->next = NULL;
	if (writer->last)
		writer->last->next = write;
	else
		writer->first = write;
	writer->last = write;
	writer->length++;
	writer->bytes += bytes;
	(void)pthread_cond_signal(&writer->wake);
	return 0;
}

int writer_append(struct writer *writer, struct store_write *write, struct error *err)
{
	struct budget *budget = writer->options.budget;
	struct write_hashes *hashes;
	int result;

	if (refuse(writer, err) < 0)
		return -1;
	hashes = write_hashes_new(write->profiles, write->count, writer->options.folder->key);
	if (budget && !budget_take(budget, write_hashes_bytes(hashes))) {
		write_hashes_free(hashes);
		return error_set(err, ERROR_UNAVAILABLE, "memory limit: no room for a write");
	}
	write->prepared = hashes;
	(void)pthread_mutex_lock(&writer->lock);
	result = enqueue(writer, write, err);
	(void)pthread_mutex_unlock(&writer->lock);
	if (result < 0) {
		write->prepared = NULL;
		if (budget)
			budget_give(budget, write_hashes_bytes(hashes));
		write_hashes_free(hashes);
	}
	return result;
}

/* Takes what waits, up to a batch's bounds. With the lock held. */
static size_t take_batch(struct writer *writer)
{
	size_t count = 0;
	size_t bytes = 0;

	while (writer->first && count < BATCH_WRITES && bytes < BATCH_BYTES) {
		struct store_write *write = writer->first;
		const size_t own = weight(write);

		writer->first = write->next;
		if (!writer->first)
			writer->last = NULL;
		writer->length--;
		writer->bytes -= own;
		bytes += own;
		writer->batch[count++] = (struct batch_write){ .write = write };
	}
	return count;
}

/* ---- retention ---- */

static void close_window(void *context, struct window *window)
{
	open_windows_close(context, window);
}

/* What may be too old is told by a clock that did not just jump. */
static int64_t retention_now(struct writer *writer)
{
	const bool was_ahead = writer->time.is_ahead;
	const int64_t unix_ns = clock_unix_ns();
	const int64_t now = trusted_time_now(&writer->time, unix_ns, clock_boot_ns());

	if (writer->time.is_ahead && !was_ahead)
		log_warn(
			"the clock is %lld s ahead of when the store was last in use: that makes no "
			"profile too old for an hour",
			(long long)((unix_ns - now) / NS_PER_S));
	store_folder_note_use(writer->options.folder, now);
	return now;
}

/* Gives how many days went. */
static size_t apply_retention(struct writer *writer)
{
	const struct retention *retention = &writer->options.retention;
	struct retention_result result = { 0 };
	struct error err;

	if (retention_run(retention, writer->options.windows, retention_now(writer), close_window,
	                  &writer->windows, &result, &err) < 0)
		log_rarely(LOG_WARN, "retention: %s; trying again in a minute", err.message);
	else if (result.days_deleted > 0)
		log_info("retention: %zu days deleted, %llu bytes left", result.days_deleted,
		         (unsigned long long)result.bytes);
	atomic_store_explicit(&writer->full, result.bytes > retention->max_bytes,
	                      memory_order_relaxed);
	writer->retention_mono_ns = clock_mono_ns();
	return result.days_deleted;
}

/* ---- the thread ---- */

static bool any_to_retry(const struct batch_write *batch, size_t count, enum error_code code)
{
	for (size_t i = 0; i < count; i++)
		if (batch[i].err.code == code)
			return true;
	return false;
}

/* Only what failed for this reason is tried again; the rest keeps its error. */
static void run_again(struct writer *writer, struct batch_write *batch, size_t count,
                      enum error_code code, struct batch_counts *counts)
{
	struct batch_write *again = mem_zalloc(count, sizeof(*again));
	size_t *places = mem_zalloc(count, sizeof(*places));
	size_t again_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (batch[i].err.code == code) {
			places[again_count] = i;
			again[again_count++] = batch[i];
		}
	}
	batch_run(&writer->windows, again, again_count, clock_unix_ns(), counts);
	for (size_t i = 0; i < again_count; i++)
		batch[places[i]] = again[i];
	free(again);
	free(places);
}

/*
 * Whether the store's folder is still ours. Else all writes have failed, and the windows
 * are let go: should the folder come back, they are opened anew.
 */
static bool has_folder(struct writer *writer, struct batch_write *batch, size_t count)
{
	struct error err;

	if (store_folder_check(writer->options.folder, &err) == 0)
		return true;
	log_rarely(LOG_ERROR, "%s; writes are refused", err.message);
	open_windows_trim(&writer->windows, INT64_MAX);
	for (size_t i = 0; i < count; i++)
		batch[i].err = err;
	return false;
}

static void commit_batch(struct writer *writer, size_t count, struct batch_counts *counts)
{
	struct batch_write *batch = writer->batch;

	if (!has_folder(writer, batch, count))
		return;
	for (size_t i = 0; i < count; i++)
		batch[i].err.code = ERROR_UNAVAILABLE; /* not yet committed */
	batch_run(&writer->windows, batch, count, clock_unix_ns(), counts);
	for (int attempt = 1; attempt < BATCH_ATTEMPTS; attempt++) {
		if (any_to_retry(batch, count, ERROR_CORRUPT) && !has_folder(writer, batch, count))
			return;
		if (any_to_retry(batch, count, ERROR_CORRUPT))
			run_again(writer, batch, count, ERROR_CORRUPT, counts);
		if (any_to_retry(batch, count, ERROR_NO_SPACE) && apply_retention(writer) > 0)
			run_again(writer, batch, count, ERROR_NO_SPACE, counts);
	}
}

static void answer(struct writer *writer, struct batch_write *entry)
{
	struct store_write *write = entry->write;
	struct write_hashes *hashes = write->prepared;

	tenant_versions_move(writer->options.versions, write->tenant);
	if (writer->options.budget)
		budget_give(writer->options.budget, write_hashes_bytes(hashes));
	write->prepared = NULL;
	write_hashes_free(hashes);
	write->done(write, &entry->err); /* the write may be gone now */
}

static void run_batch(struct writer *writer, size_t count)
{
	struct batch_counts counts = { 0 };

	if (count == 0)
		return;
	commit_batch(writer, count, &counts);
	atomic_fetch_add_explicit(&writer->appended, counts.stored, memory_order_relaxed);
	atomic_fetch_add_explicit(&writer->duplicates, counts.duplicates, memory_order_relaxed);
	atomic_fetch_add_explicit(&writer->commits, counts.commits, memory_order_relaxed);
	for (size_t i = 0; i < count; i++)
		answer(writer, &writer->batch[i]);
	open_windows_tend(&writer->windows);
	open_windows_trim(&writer->windows, clock_mono_ns() - writer->options.idle_ns);
	atomic_store_explicit(&writer->starved, writer->windows.starved, memory_order_relaxed);
}

static void tick(struct writer *writer)
{
	const int64_t now = clock_mono_ns();

	if (now - writer->retention_mono_ns >= RETENTION_NS)
		(void)apply_retention(writer);
	if (now - writer->tick_mono_ns < TICK_NS && !writer->windows.starved)
		return;
	writer->tick_mono_ns = now;
	open_windows_trim(&writer->windows, now - writer->options.idle_ns);
	window_set_trim(writer->options.windows, now - UNUSED_NS);
	atomic_store_explicit(&writer->starved, writer->windows.starved, memory_order_relaxed);
}

/* Waits for work until the next tick. With the lock held. */
static void wait_for_work(struct writer *writer)
{
	const int64_t until =
		clock_mono_ns() + (writer->windows.starved ? STARVED_TICK_NS : TICK_NS);
	const struct timespec time = {
		.tv_sec = until / NS_PER_S,
		.tv_nsec = until % NS_PER_S,
	};

	while (!writer->first && !writer->jobs && !writer->stopping)
		if (pthread_cond_timedwait(&writer->wake, &writer->lock, &time) != 0)
			return;
}

static void run_jobs(struct writer *writer, struct job *jobs)
{
	while (jobs) {
		struct job *job = jobs;

		jobs = job->next;
		job->result = job->run(writer, job->context, job->err);
		(void)pthread_mutex_lock(&writer->lock);
		job->done = true;
		(void)pthread_cond_broadcast(&writer->ran);
		(void)pthread_mutex_unlock(&writer->lock);
	}
}

/*
 * Owns every writing connection. Waits for writes, jobs or the next tick; ends when told
 * to stop and nothing waits.
 */
static void *write_on(void *argument)
{
	struct writer *writer = argument;
	bool over = false;

	log_name_thread("writer");
	(void)apply_retention(writer);
	while (!over) {
		struct job *jobs;
		size_t count;

		(void)pthread_mutex_lock(&writer->lock);
		wait_for_work(writer);
		count = take_batch(writer);
		jobs = TAKE(writer->jobs);
		over = writer->stopping && count == 0 && !jobs;
		(void)pthread_mutex_unlock(&writer->lock);
		run_batch(writer, count);
		run_jobs(writer, jobs);
		tick(writer);
	}
	open_windows_fini(&writer->windows);
	return NULL;
}

/* ---- jobs ---- */

int writer_run(struct writer *writer, writer_job run, void *context, struct error *err)
{
	struct job job = { .run = run, .context = context, .err = err };
	struct job **last = &writer->jobs;

	(void)pthread_mutex_lock(&writer->lock);
	if (writer->stopping) {
		(void)pthread_mutex_unlock(&writer->lock);
		return error_set(err, ERROR_UNAVAILABLE, "the store is stopping");
	}
	while (*last)
		last = &(*last)->next;
	*last = &job;
	(void)pthread_cond_signal(&writer->wake);
	while (!job.done)
		(void)pthread_cond_wait(&writer->ran, &writer->lock);
	(void)pthread_mutex_unlock(&writer->lock);
	return job.result;
}

/* The writer's thread alone reads and changes its retention. */
static int set_retention(struct writer *writer, void *context, struct error *err)
{
	const struct retention *wanted = context;

	(void)err;
	writer->options.retention.age_ns = wanted->age_ns;
	writer->options.retention.max_bytes = wanted->max_bytes;
	(void)apply_retention(writer);
	return 0;
}

int writer_set_retention(struct writer *writer, const struct retention *retention,
                         struct error *err)
{
	struct retention wanted = *retention;

	return writer_run(writer, set_retention, &wanted, err);
}

int writer_change_window(struct writer *writer, struct window *window, struct str tenant,
                         writer_change change, void *context, struct error *err)
{
	size_t index;

	if (!window_set_is_listed(writer->options.windows, window))
		return error_set(err, ERROR_NOT_FOUND, "the window is gone");
	if (open_windows_add(&writer->windows, window, tenant, &index, err) < 0)
		return -1;
	if (change(window->writer, context, err) < 0 ||
	    window_writer_commit(window->writer, err) < 0) {
		window_writer_rollback(window->writer);
		if (err->code == ERROR_IO)
			open_windows_renew(&writer->windows, window);
		return -1;
	}
	return window_writer_tend(window->writer, err);
}

struct open_windows *writer_windows(struct writer *writer)
{
	return &writer->windows;
}

int writer_set_aside(struct writer *writer, struct window *window, struct error *err)
{
	if (!window_set_is_listed(writer->options.windows, window))
		return 0; /* somebody was faster */
	return open_windows_set_aside(&writer->windows, window, err);
}

/* ---- life ---- */

int writer_start(const struct writer_options *options, struct writer **out, struct error *err)
{
	struct writer *writer = mem_zalloc(1, sizeof(*writer));
	pthread_condattr_t attributes;
	int result;

	writer->options = *options;
	writer->batch = mem_zalloc(BATCH_WRITES, sizeof(*writer->batch));
	open_windows_init(&writer->windows, options->windows, options->sync);
	trusted_time_init(&writer->time, options->folder->last_used_unix_ns, clock_boot_ns());
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&writer->wake, &attributes);
	(void)pthread_cond_init(&writer->ran, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	result = pthread_create(&writer->thread, NULL, write_on, writer);
	if (result != 0) {
		free(writer->batch);
		free(writer);
		return error_set_errno(err, result, "the writer's thread");
	}
	*out = writer;
	return 0;
}

void writer_stop(struct writer *writer)
{
	if (!writer)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	(void)pthread_cond_signal(&writer->wake);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	(void)pthread_cond_destroy(&writer->wake);
	(void)pthread_cond_destroy(&writer->ran);
	(void)pthread_mutex_destroy(&writer->lock);
	free(writer->batch);
	free(writer);
}

void writer_count(struct writer *writer, struct writer_counts *out)
{
	(void)pthread_mutex_lock(&writer->lock);
	*out = (struct writer_counts){
		.queue_bytes = writer->bytes,
		.queue_length = writer->length,
	};
	(void)pthread_mutex_unlock(&writer->lock);
	out->profiles_appended = atomic_load_explicit(&writer->appended, memory_order_relaxed);
	out->profiles_deduplicated =
		atomic_load_explicit(&writer->duplicates, memory_order_relaxed);
	out->commits = atomic_load_explicit(&writer->commits, memory_order_relaxed);
}
