#include "storage/compactor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/compaction.h"
#include "storage/sealer.h"
#include "storage/window_memory.h"
#include "storage/window_writer.h"

#define PASS_MIN_NS (100 * NS_PER_MS) /* between two looks at the windows */
#define PASS_MAX_NS (30 * NS_PER_S)
#define REST_FACTOR 3                  /* times the work: a quarter of one core */
#define NEW_AT_ONCE 4                  /* windows that were never looked at, in one pass */
#define MEMORY_MAX  ((size_t)64 << 20) /* of the list of hours of a window */

struct compactor {
	struct compactor_options options;
	pthread_t thread;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;  /* the thread's */
	pthread_cond_t ran;   /* a pass that was asked for has */
	uint64_t asked;       /* passes */
	uint64_t answered;
	struct error failed; /* of the last such pass; ERROR_NONE: it went well */
	bool stopping;

	/* relaxed: figures */
	_Atomic uint64_t blocks;
	_Atomic uint64_t profiles;
	_Atomic uint64_t cpu_ns;
	_Atomic uint64_t backlog;
	_Atomic uint64_t sealed;

	/* the thread's own */
	bool hurries;     /* somebody waits for this pass */
	size_t new_left;  /* windows that may still be looked at for the first time */
	struct error err; /* the last one of the pass */
	struct sealer sealer;
};

/* One window while it is looked at. */
struct work {
	struct compactor *compactor;
	struct window *window;
	struct reader *reader;
	struct arena *arena;
	struct str tenant;
	struct due_rule rule;
	struct due_blocks due;
};

/* ---- time ---- */

static bool is_stopping(struct compactor *compactor)
{
	bool stopping;

	(void)pthread_mutex_lock(&compactor->lock);
	stopping = compactor->stopping;
	(void)pthread_mutex_unlock(&compactor->lock);
	return stopping;
}

/* Waits until then, or until somebody asks for a pass or the end. With the lock held. */
static void wait_until(struct compactor *compactor, int64_t until_mono_ns)
{
	const struct timespec time = {
		.tv_sec = until_mono_ns / NS_PER_S,
		.tv_nsec = until_mono_ns % NS_PER_S,
	};

	while (!compactor->stopping && compactor->asked == compactor->answered)
		if (pthread_cond_timedwait(&compactor->wake, &compactor->lock, &time) != 0)
			return;
}

/* Counts work of this thread or of the writer's; rests after it unless somebody waits. */
static void rest_after(struct compactor *compactor, int64_t cpu_ns)
{
	atomic_fetch_add_explicit(&compactor->cpu_ns, (uint64_t)cpu_ns, memory_order_relaxed);
	if (compactor->hurries)
		return;
	(void)pthread_mutex_lock(&compactor->lock);
	wait_until(compactor, clock_mono_ns() + REST_FACTOR * cpu_ns);
	(void)pthread_mutex_unlock(&compactor->lock);
}

/* ---- one block ---- */

/* The writer's part. */
struct exchange_job {
	const struct work *work;
	struct block_exchange *exchange;
	int64_t cpu_ns;
};

static int put_block(struct window_writer *window, void *context, struct error *err)
{
	return window_writer_exchange(window, context, err);
}

static int exchange(struct writer *writer, void *context, struct error *err)
{
	struct exchange_job *job = context;
	const int64_t start = clock_thread_cpu_ns();
	const int result = writer_change_window(writer, job->work->window, job->work->tenant,
	                                        put_block, job->exchange, err);

	job->cpu_ns = clock_thread_cpu_ns() - start;
	return result;
}

static void count_block(struct compactor *compactor, uint64_t profiles)
{
	const uint64_t backlog = atomic_load_explicit(&compactor->backlog, memory_order_relaxed);

	atomic_fetch_add_explicit(&compactor->blocks, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&compactor->profiles, profiles, memory_order_relaxed);
	/* this thread alone writes it; later arrivals were not counted */
	atomic_store_explicit(&compactor->backlog, backlog > profiles ? backlog - profiles : 0,
	                      memory_order_relaxed);
}

static int read_compaction(struct work *work, const struct due_block *due, struct compaction *out,
                           struct error *err)
{
	struct window_tables *tables;
	struct series_view series;
	int result;

	if (reader_begin(work->reader, WINDOW_TABLES_LABELS, &tables, err) < 0)
		return -1;
	series_index_view(tables->series, &series);
	result = compaction_make(work->reader, &series, due, work->compactor->options.budget, out,
	                         err);
	reader_end(work->reader);
	return result;
}

/* Makes one block of the rows; *left counts down. */
static int make_block(struct work *work, const struct due_block *due, uint64_t *left,
                      struct error *err)
{
	CLEANUP(compaction_fini) struct compaction made = { 0 };
	const int64_t start = clock_thread_cpu_ns();
	struct exchange_job job = { .work = work, .exchange = &made.exchange };
	uint64_t taken;
	int result = read_compaction(work, due, &made, err);

	if (result == 0)
		result = writer_run(work->compactor->options.writer, exchange, &job, err);
	if (result == 0) {
		taken = (uint64_t)made.exchange.profile_count;
		*left = made.is_full && *left > taken ? *left - taken : 0;
		count_block(work->compactor, taken);
	}
	rest_after(work->compactor, clock_thread_cpu_ns() - start + job.cpu_ns);
	return result;
}

static int make_blocks(struct work *work, const struct due_block *due, struct error *err)
{
	uint64_t left = due->profile_count;

	while (left > 0 && due_block_is_due(due, left, &work->rule)) {
		if (is_stopping(work->compactor))
			return 0;
		if (make_block(work, due, &left, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- one window ---- */

static int find_due(struct work *work, struct reader_hours *hours, struct error *err)
{
	struct window_tables *tables;
	struct series_view series;
	int result;

	if (reader_begin(work->reader, WINDOW_TABLES_LABELS, &tables, err) < 0)
		return -1;
	result = window_set_make_room(work->compactor->options.windows, work->window, err);
	if (result == 0) {
		series_index_view(tables->series, &series);
		result = due_blocks_find(hours, &series, &work->rule, work->arena, &work->due, err);
	}
	reader_end(work->reader);
	return result;
}

/* Tables are read only when something may be due. */
static int look_for_due(struct work *work, struct error *err)
{
	const int64_t start = clock_thread_cpu_ns();
	struct reader_hours hours = { 0 };
	int result = 0;

	if (reader_tenant(work->reader, work->arena, &work->tenant, err) < 0 ||
	    reader_hours(work->reader, work->arena, &hours, err) < 0)
		return -1;
	if (hours.count > 0) /* else it stays as it is until something is written */
		atomic_store_explicit(&work->window->may_have_rows, true, memory_order_release);
	if (due_blocks_any(&hours, &work->rule))
		result = find_due(work, &hours, err);
	atomic_fetch_add_explicit(&work->compactor->backlog, work->due.profile_count,
	                          memory_order_relaxed);
	rest_after(work->compactor, clock_thread_cpu_ns() - start);
	return result;
}

/* An hour that fails does not hold up the others. */
static void make_due(struct work *work)
{
	struct compactor *compactor = work->compactor;

	for (size_t i = 0; i < work->due.count && !is_stopping(compactor); i++) {
		struct error err = { 0 };

		if (make_blocks(work, &work->due.blocks[i], &err) == 0)
			continue;
		compactor->err = err;
		if (err.code == ERROR_NOT_FOUND) /* retention was faster */
			return;
		if (err.code != ERROR_UNAVAILABLE)
			log_rarely(LOG_WARN, "making a block of %s: %s; its rows stay as they are",
			           work->window->path, err.message);
	}
}

static void work_on(struct compactor *compactor, struct window *window)
{
	CLEANUP(arena_freep)
	struct arena *arena = arena_new(MEMORY_MAX, compactor->options.budget);
	struct work work = {
		.compactor = compactor,
		.window = window,
		.arena = arena,
		.rule = { clock_unix_ns(), compactor->options.grace_ns },
	};
	struct error err = { 0 };
	int result;

	/* before the look: what is committed from now on is seen, or sets it again */
	atomic_store_explicit(&window->may_have_rows, false, memory_order_release);
	if (window_take_reader(window, &work.reader, &err) < 0) {
		if (err.code != ERROR_NOT_FOUND)
			compactor->err = err;
		return;
	}
	result = look_for_due(&work, &err);
	if (result == 0)
		make_due(&work);
	/* not kept for others: the connection that goes last, the writer's, tidies up */
	reader_close(work.reader);
	if (result == 0)
		return;
	compactor->err = err;
	if (err.code == ERROR_UNAVAILABLE)
		atomic_store_explicit(&window->may_have_rows, true, memory_order_release);
	else
		log_rarely(LOG_WARN, "looking for blocks to make in %s: %s", window->path,
		           err.message);
}

/* ---- all windows ---- */

static bool wants_look(struct compactor *compactor, const struct window *window)
{
	if (!atomic_load_explicit(&window->may_have_rows, memory_order_acquire))
		return false;
	/* never opened by this process: there is no hurry, and opening costs */
	if (!compactor->hurries &&
	    atomic_load_explicit(&window->table_bytes, memory_order_relaxed) == 0) {
		if (compactor->new_left == 0)
			return false;
		compactor->new_left--;
	}
	return true;
}

/* The sealer's pace is the compactor's. */
static bool rest_of_sealer(void *context, int64_t cpu_ns)
{
	struct compactor *compactor = context;

	rest_after(compactor, cpu_ns);
	return !is_stopping(compactor);
}

static void seal(struct compactor *compactor, struct window *window)
{
	struct error err;

	if (sealer_look(&compactor->sealer, window, compactor->hurries ? SEALER_NOW : SEALER_LATER,
	                &err))
		atomic_fetch_add_explicit(&compactor->sealed, 1, memory_order_relaxed);
	else if (err.code != ERROR_NONE && err.code != ERROR_NOT_FOUND)
		compactor->err = err;
}

static void look_at(struct compactor *compactor, struct window *window)
{
	if (window_is_sealed(window)) {
		/* nothing comes to it any more */
		atomic_store_explicit(&window->may_have_rows, false, memory_order_release);
		return;
	}
	if (wants_look(compactor, window))
		work_on(compactor, window);
	seal(compactor, window);
}

static void pass_tenant(struct compactor *compactor, const char *folder)
{
	struct window_set *set = compactor->options.windows;
	struct window_place place = { INT32_MIN, 0 };
	struct window *window;

	while (!is_stopping(compactor) &&
	       (window = window_set_next(set, folder, place, INT32_MAX))) {
		place = (struct window_place){ window->day, window->number + 1 };
		look_at(compactor, window);
		window_set_release(set, window);
	}
}

static void pass(struct compactor *compactor)
{
	char folder[TENANT_FOLDER_SIZE] = "";

	compactor->err = (struct error){ 0 };
	compactor->new_left = NEW_AT_ONCE;
	atomic_store_explicit(&compactor->backlog, 0, memory_order_relaxed);
	while (window_set_next_tenant(compactor->options.windows, folder))
		pass_tenant(compactor, folder);
}

static uint64_t work_done(const struct compactor *compactor)
{
	return atomic_load_explicit(&compactor->blocks, memory_order_relaxed) +
	       atomic_load_explicit(&compactor->sealed, memory_order_relaxed);
}

/* Passes that were asked for end when one has found nothing to make. */
static void pass_until_done(struct compactor *compactor)
{
	uint64_t before;

	do {
		before = work_done(compactor);
		pass(compactor);
	} while (!is_stopping(compactor) && work_done(compactor) != before);
}

static int64_t pause_ns(const struct compactor *compactor)
{
	const int64_t pause = compactor->options.grace_ns / 4;

	if (pause < PASS_MIN_NS)
		return PASS_MIN_NS;
	return pause < PASS_MAX_NS ? pause : PASS_MAX_NS;
}

/*
 * Owns nothing but what it reads. Waits for the next pass; ends when told to.
 */
static void *compact_on(void *argument)
{
	struct compactor *compactor = argument;

	log_name_thread("compactor");
	(void)pthread_mutex_lock(&compactor->lock);
	while (!compactor->stopping) {
		uint64_t asked;

		wait_until(compactor, clock_mono_ns() + pause_ns(compactor));
		asked = compactor->asked;
		compactor->hurries = asked != compactor->answered;
		(void)pthread_mutex_unlock(&compactor->lock);
		if (compactor->hurries)
			pass_until_done(compactor);
		else
			pass(compactor);
		(void)pthread_mutex_lock(&compactor->lock);
		compactor->answered = asked;
		compactor->failed = compactor->err;
		(void)pthread_cond_broadcast(&compactor->ran);
	}
	(void)pthread_mutex_unlock(&compactor->lock);
	return NULL;
}

/* ---- life ---- */

int compactor_start(const struct compactor_options *options, struct compactor **out,
                    struct error *err)
{
	struct compactor *compactor = mem_zalloc(1, sizeof(*compactor));
	pthread_condattr_t attributes;
	int result;

	compactor->options = *options;
	sealer_init(&compactor->sealer,
	            &(struct sealer_options){
			    .windows = options->windows,
			    .writer = options->writer,
			    .after_ns = options->seal_after_ns,
			    .budget = options->budget,
			    .rest = rest_of_sealer,
			    .context = compactor,
		    },
	            options->last_used_unix_ns);
	(void)pthread_mutex_init(&compactor->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&compactor->wake, &attributes);
	(void)pthread_cond_init(&compactor->ran, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	result = pthread_create(&compactor->thread, NULL, compact_on, compactor);
	if (result != 0) {
		free(compactor);
		return error_set_errno(err, result, "the compactor's thread");
	}
	*out = compactor;
	return 0;
}

void compactor_stop(struct compactor *compactor)
{
	if (!compactor)
		return;
	(void)pthread_mutex_lock(&compactor->lock);
	compactor->stopping = true;
	(void)pthread_cond_broadcast(&compactor->wake);
	(void)pthread_cond_broadcast(&compactor->ran);
	(void)pthread_mutex_unlock(&compactor->lock);
	(void)pthread_join(compactor->thread, NULL);
	(void)pthread_cond_destroy(&compactor->wake);
	(void)pthread_cond_destroy(&compactor->ran);
	(void)pthread_mutex_destroy(&compactor->lock);
	free(compactor);
}

int compactor_run(struct compactor *compactor, struct error *err)
{
	uint64_t mine;
	int result = 0;

	(void)pthread_mutex_lock(&compactor->lock);
	mine = ++compactor->asked;
	(void)pthread_cond_signal(&compactor->wake);
	while (compactor->answered < mine && !compactor->stopping)
		(void)pthread_cond_wait(&compactor->ran, &compactor->lock);
	if (compactor->answered < mine) {
		result = error_set(err, ERROR_UNAVAILABLE, "the store is stopping");
	} else if (compactor->failed.code != ERROR_NONE) {
		*err = compactor->failed;
		result = -1;
	}
	(void)pthread_mutex_unlock(&compactor->lock);
	return result;
}

void compactor_count(struct compactor *compactor, struct compactor_counts *out)
{
	*out = (struct compactor_counts){
		.blocks = atomic_load_explicit(&compactor->blocks, memory_order_relaxed),
		.profiles = atomic_load_explicit(&compactor->profiles, memory_order_relaxed),
		.cpu_ns = atomic_load_explicit(&compactor->cpu_ns, memory_order_relaxed),
		.backlog = atomic_load_explicit(&compactor->backlog, memory_order_relaxed),
		.sealed = atomic_load_explicit(&compactor->sealed, memory_order_relaxed),
	};
}
