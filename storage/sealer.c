#include "storage/sealer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/file_place.h"
#include "storage/open_windows.h"
#include "storage/sealing.h"
#include "storage/window_memory.h"

#define AGAIN_NS   (600 * NS_PER_S)  /* after a failure; a guess */
#define TRIES_TOLD 8                 /* in vain, before it is said */
#define TENANT_MAX ((size_t)1 << 20) /* bytes of a tenant's name, with room */

/* One window while it is sealed. */
struct seal_work {
	struct sealer *sealer;
	struct window *window;
	struct reader *reader;
	struct arena *arena;
	uint64_t commits; /* of the window, before it was looked at */
	const char *fresh;
	int64_t cpu_ns; /* of the writer's */
};

void sealer_init(struct sealer *sealer, const struct sealer_options *options,
                 int64_t last_used_unix_ns)
{
	*sealer = (struct sealer){ .options = *options };
	trusted_time_init(&sealer->time, last_used_unix_ns, clock_boot_ns());
}

/* ---- what is due ---- */

/* When the file or its log was written last; INT64_MAX: there is none. */
static int64_t written_unix_ns(const char *path)
{
	const size_t size = strlen(path) + sizeof("-wal");
	CLEANUP(mem_freep) char *log = mem_zalloc(size, 1);
	struct stat status;
	int64_t written;

	if (stat(path, &status) < 0)
		return INT64_MAX;
	written = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
	(void)snprintf(log, size, "%s-wal", path);
	/* an empty one is made by whoever reads */
	if (stat(log, &status) == 0 && status.st_size > 0 &&
	    status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec > written)
		written = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
	return written;
}

/* A clock that was set back must not stop the work: times far in its future are not believed. */
static bool has_settled(const struct sealer *sealer, int64_t then_unix_ns, int64_t now_unix_ns)
{
	const int64_t after = sealer->options.after_ns;

	return then_unix_ns != INT64_MAX &&
	       (then_unix_ns < now_unix_ns - after || then_unix_ns - after > now_unix_ns);
}

static bool is_due(struct sealer *sealer, struct window *window, enum sealer_haste haste)
{
	const int64_t now = trusted_time_now(&sealer->time, clock_unix_ns(), clock_boot_ns());

	if (atomic_load_explicit(&window->may_have_rows, memory_order_acquire) ||
	    day_end_ns(window->day) >= now - sealer->options.after_ns ||
	    (haste == SEALER_LATER && clock_mono_ns() < window->seal_after_mono_ns))
		return false;
	return has_settled(sealer, written_unix_ns(window->path), now);
}

/* ---- the writer's part ---- */

static int take_place(struct writer *writer, void *context, struct error *err)
{
	struct seal_work *work = context;
	struct window *window = work->window;
	const int64_t start = clock_thread_cpu_ns();
	struct window *sealed = NULL;
	int result = -1;

	if (atomic_load_explicit(&window->commits, memory_order_acquire) != work->commits)
		(void)error_set(err, ERROR_UNAVAILABLE, "%s was written while it was sealed",
		                window->path);
	else
		result = open_windows_replace(writer_windows(writer), window, work->fresh, &sealed,
		                              err);
	if (result == 0) {
		atomic_store_explicit(&sealed->seal, WINDOW_SEALED, memory_order_relaxed);
		atomic_store_explicit(&sealed->may_have_rows, false, memory_order_release);
		window_set_release(work->sealer->options.windows, sealed);
	}
	work->cpu_ns = clock_thread_cpu_ns() - start;
	return result;
}

/* ---- writing it anew ---- */

/* Rests after a piece of work; -1 when it is in vain. */
static int rest(const struct seal_work *work, int64_t start_cpu_ns, struct error *err)
{
	const struct sealer_options *options = &work->sealer->options;

	if (!options->rest(options->context, clock_thread_cpu_ns() - start_cpu_ns))
		return error_set(err, ERROR_UNAVAILABLE, "the store is stopping");
	if (atomic_load_explicit(&work->window->commits, memory_order_acquire) != work->commits)
		return error_set(err, ERROR_UNAVAILABLE, "%s was written while it was sealed",
		                 work->window->path);
	return 0;
}

static int write_all(struct seal_work *work, struct sealing *sealing, struct error *err)
{
	int more;

	do {
		const int64_t start = clock_thread_cpu_ns();

		more = sealing_step(sealing, err);
		if (more < 0 || rest(work, start, err) < 0)
			return -1;
	} while (more > 0);
	return 0;
}

static uint64_t size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static int put_in_place(struct seal_work *work, struct sealing *sealing, struct error *err)
{
	const struct sealer_options *options = &work->sealer->options;
	const uint64_t before = size_of(work->window->path);
	const uint64_t after = size_of(sealing_path(sealing));
	struct error ignored;

	work->fresh = sealing_path(sealing);
	if (writer_run(options->writer, take_place, work, err) < 0)
		return -1;
	if (file_place_sync(work->window->path, &ignored) < 0)
		log_rarely(LOG_WARN, "%s; a power cut may bring back the file as it was",
		           ignored.message);
	(void)options->rest(options->context, work->cpu_ns);
	log_info("%s is sealed: %llu bytes became %llu", work->window->path,
	         (unsigned long long)before, (unsigned long long)after);
	return 0;
}

static int seal_visited(struct seal_work *work, const struct window_tables *tables,
                        struct error *err)
{
	CLEANUP(sealing_endp) struct sealing *sealing = NULL;
	struct sealing_source source = {
		.reader = work->reader,
		.tables = tables,
		.day = work->window->day,
		.path = work->window->path,
		.budget = work->sealer->options.budget,
	};

	if (window_set_make_room(work->sealer->options.windows, work->window, err) < 0 ||
	    reader_tenant(work->reader, work->arena, &source.tenant, err) < 0 ||
	    sealing_begin(&source, &sealing, err) < 0 || write_all(work, sealing, err) < 0)
		return -1;
	reader_end(work->reader); /* its moment holds up the log */
	return put_in_place(work, sealing, err);
}

static int seal(struct seal_work *work, struct error *err)
{
	const int64_t start = clock_thread_cpu_ns();
	struct window_tables *tables;
	int result;

	if (reader_begin(work->reader, WINDOW_TABLES_ALL, &tables, err) < 0 ||
	    rest(work, start, err) < 0)
		return -1;
	result = seal_visited(work, tables, err);
	reader_end(work->reader);
	return result;
}

/* ---- one window ---- */

int64_t sealer_wait_ns(unsigned tries)
{
	const int64_t wait = tries < 16 ? NS_PER_S << tries : AGAIN_NS;

	return wait < AGAIN_NS ? wait : AGAIN_NS;
}

/*
 * Most often it is gone soon: a reader, or another job that was faster. What stays, such as
 * a window that memory.limit has no room for, must not cost half a seal at every look.
 */
static void wait_for_it(struct window *window, const struct error *err)
{
	window->seal_after_mono_ns = clock_mono_ns() + sealer_wait_ns(++window->seal_tries);
	if (window->seal_tries >= TRIES_TOLD)
		log_rarely(LOG_WARN, "sealing %s was tried %u times: %s; trying again later",
		           window->path, window->seal_tries, err->message);
}

static void note_failure(struct sealer *sealer, struct window *window, const struct error *err)
{
	window->seal_after_mono_ns = clock_mono_ns() + AGAIN_NS;
	switch (err->code) {
	case ERROR_UNAVAILABLE:
		wait_for_it(window, err);
		return;
	case ERROR_NOT_FOUND: /* retention was faster */
		return;
	case ERROR_CORRUPT:
		window->seal_after_mono_ns = INT64_MAX;
		log_warn("%s does not read back and is not sealed: %s", window->path, err->message);
		return;
	case ERROR_NO_SPACE:
		if (!sealer->has_told_full)
			log_warn("no room to seal %s: %s; trying again later", window->path,
			         err->message);
		sealer->has_told_full = true;
		return;
	default:
		log_rarely(LOG_WARN, "sealing %s: %s; trying again later", window->path,
		           err->message);
	}
}

bool sealer_look(struct sealer *sealer, struct window *window, enum sealer_haste haste,
                 struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = NULL;
	struct seal_work work = { .sealer = sealer, .window = window };
	int result;

	*err = (struct error){ 0 };
	if (!is_due(sealer, window, haste))
		return false;
	arena = arena_new(TENANT_MAX, sealer->options.budget);
	work.arena = arena;
	/* before the look: what is committed after this is not in it */
	work.commits = atomic_load_explicit(&window->commits, memory_order_acquire);
	result = reader_open(window, &work.reader, err);
	if (result == 0)
		result = seal(&work, err);
	reader_close(work.reader);
	if (result < 0)
		note_failure(sealer, window, err);
	else
		sealer->has_told_full = false;
	return result == 0;
}
