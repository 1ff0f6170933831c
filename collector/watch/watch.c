#include "collector/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/regular_file.h"
#include "base/uuid.h"
#include "collector/watch/library_file.h"
#include "collector/watch/process_scan.h"
#include "collector/watch/task_events.h"

#define WATCH_LOST_NS   (500 * NS_PER_MS) /* at least between two walks for what was lost */
#define WATCH_LOST_COST 32                /* and as many times what one takes */
#define PATH_BYTES      4096              /* of a mapped file; longer ones are cut by the kernel */

/* Where NVIDIA's installer and the packages of distributions put it. */
static const char *const usual_libraries[] = {
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/run/nvidia/driver/usr/lib64/libcuda.so.1",
	NULL,
};

struct watch {
	struct watch_handlers handlers;
	struct task_events *tasks;
	struct library_table *libraries;
	int epoll;
	int timer;
	struct process_scan_result scan;
	int64_t scanned_ns;    /* when the last walk ended */
	int64_t scan_cost_ns;  /* what it took */
	uint64_t lost_at_scan; /* records that were lost before it */
	uint64_t unopened;     /* drivers, of processes that run */
	struct error trouble;  /* ERROR_NONE: nothing since it was asked for */
};

/* Whose library it is: what its file says of itself is no name. */
static void note_trouble(struct watch *watch, const struct library_mapping *mapping,
                         struct error *err)
{
	(void)error_context(err, "%.*s of process %d", STR_ARGS(str_first(mapping->path, 200)),
	                    (int)mapping->tgid);
	watch->trouble = *err;
}

static void offer(struct watch *watch, const struct library_mapping *mapping)
{
	struct error err = { 0 };
	int descriptor;

	if (library_file_open(mapping, &descriptor, &err) < 0) {
		if (err.code == ERROR_NOT_FOUND) /* it has ended already */
			return;
		watch->unopened++;
		note_trouble(watch, mapping, &err);
		return;
	}
	if (library_table_offer(watch->libraries,
	                        &(struct library_offer){ .descriptor = descriptor,
	                                                 .owner = (uint32_t)mapping->tgid,
	                                                 .now_ns = clock_mono_ns() },
	                        &err) < 0)
		note_trouble(watch, mapping, &err);
}

static void see_mapped_driver(void *context, const struct library_mapping *mapping)
{
	offer(context, mapping);
}

/* The path with a NUL behind it, in `to`. */
static struct str copy_path(struct str path, char to[PATH_BYTES])
{
	const struct str kept = str_first(path, PATH_BYTES - 1);

	if (kept.length > 0)
		memcpy(to, kept.data, kept.length);
	to[kept.length] = '\0';
	return str_make(to, kept.length);
}

static void take_mapping(struct watch *watch, const struct perf_record *record)
{
	char path[PATH_BYTES];
	char build_id[PERF_BUILD_ID_MAX * 2 + 1];
	const struct mapped_file file = {
		.start = record->address,
		.end = record->address + record->length,
		.offset = record->offset,
		.inode = record->inode,
		.path = copy_path(record->path, path),
		.build_id = str_make(build_id, (size_t)record->build_id_length * 2),
	};

	hex_encode(record->build_id, record->build_id_length, build_id);
	if (library_file_is_driver(file.path))
		offer(watch, &(struct library_mapping){ .tgid = (pid_t)record->tgid,
		                                        .start = file.start,
		                                        .end = file.end,
		                                        .inode = file.inode,
		                                        .path = file.path });
	watch->handlers.mapped(watch->handlers.context, record->tgid, &file);
}

static void take_record(void *context, const struct perf_record *record)
{
	struct watch *watch = context;
	const struct watch_handlers *handlers = &watch->handlers;

	switch (record->kind) {
	case PERF_RECORD_KIND_MAPPED:
		take_mapping(watch, record);
		break;
	case PERF_RECORD_KIND_EXEC:
		handlers->execed(handlers->context, record->tgid, record->name);
		break;
	case PERF_RECORD_KIND_NAMED:
		if (record->tid == record->tgid)
			handlers->named(handlers->context, record->tgid, record->name);
		break;
	case PERF_RECORD_KIND_FORK:
		if (record->tgid != record->parent_tgid)
			handlers->forked(handlers->context, record->parent_tgid, record->tgid);
		break;
	case PERF_RECORD_KIND_EXIT:
		if (record->tid == record->tgid)
			handlers->exited(handlers->context, record->tgid);
		break;
	case PERF_RECORD_KIND_LOST:
	case PERF_RECORD_KIND_OTHER:
		break;
	}
}

static void offer_usual(struct watch *watch, const char *const *paths)
{
	for (; *paths; paths++) {
		struct error err = { 0 };
		const int descriptor = regular_file_open(AT_FDCWD, *paths, 0);

		if (descriptor >= 0 &&
		    library_table_offer(watch->libraries,
		                        &(struct library_offer){ .descriptor = descriptor,
		                                                 .now_ns = clock_mono_ns() },
		                        &err) < 0)
			watch->trouble = err;
	}
}

void watch_rescan(struct watch *watch)
{
	const int64_t begun_ns = clock_mono_ns();
	struct error err = { 0 };

	watch->lost_at_scan = task_events_lost(watch->tasks);
	if (process_scan(see_mapped_driver, watch, &watch->scan, &err) < 0)
		watch->trouble = err;
	library_table_sweep(watch->libraries, clock_mono_ns());
	watch->scanned_ns = clock_mono_ns();
	watch->scan_cost_ns = watch->scanned_ns - begun_ns;
}

/* Records were lost: maybe that of a driver. Looked for soon, and never all the time. */
static bool is_scan_due(const struct watch *watch)
{
	const int64_t dear_ns = WATCH_LOST_COST * watch->scan_cost_ns;
	const int64_t pause_ns = dear_ns > WATCH_LOST_NS ? dear_ns : WATCH_LOST_NS;

	return task_events_lost(watch->tasks) != watch->lost_at_scan &&
	       clock_mono_ns() - watch->scanned_ns >= pause_ns;
}

static int add_descriptor(struct watch *watch, int descriptor, struct error *err)
{
	struct epoll_event interest = { .events = EPOLLIN };

	if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, descriptor, &interest) < 0)
		return error_set_errno(err, errno, "watching processes");
	return 0;
}

static int open_descriptors(struct watch *watch, struct error *err)
{
	const struct task_event_handler handler = { take_record, watch };
	const struct itimerspec each = {
		.it_interval = { .tv_sec = WATCH_RESCAN_NS / NS_PER_S },
		.it_value = { .tv_sec = WATCH_RESCAN_NS / NS_PER_S },
	};

	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->epoll < 0 || watch->timer < 0 ||
	    timerfd_settime(watch->timer, 0, &each, NULL) < 0)
		return error_set_errno(err, errno, "watching processes");
	if (task_events_open(&handler, &watch->tasks, err) < 0)
		return -1;
	if (add_descriptor(watch, watch->timer, err) < 0)
		return -1;
	return add_descriptor(watch, task_events_descriptor(watch->tasks), err);
}

int watch_open(const struct watch_options *options, const struct library_attacher *attacher,
               const struct watch_handlers *handlers, struct watch **out, struct error *err)
{
	struct watch *watch = mem_zalloc(1, sizeof(*watch));

	watch->handlers = *handlers;
	watch->libraries = library_table_new(attacher);
	watch->epoll = -1;
	watch->timer = -1;
	/* Tasks first: what happens during the walk is told. */
	if (open_descriptors(watch, err) < 0) {
		watch_close(watch);
		return -1;
	}
	offer_usual(watch, options->libraries ? options->libraries : usual_libraries);
	watch_rescan(watch);
	*out = watch;
	return 0;
}

void watch_close(struct watch *watch)
{
	if (!watch)
		return;
	library_table_free(watch->libraries);
	task_events_close(watch->tasks);
	if (watch->timer >= 0)
		(void)close(watch->timer);
	if (watch->epoll >= 0)
		(void)close(watch->epoll);
	free(watch);
}

int watch_descriptor(const struct watch *watch)
{
	return watch->epoll;
}

bool watch_drain(struct watch *watch, size_t limit)
{
	const bool has_more = task_events_drain(watch->tasks, limit);
	uint64_t ticks;

	if (read(watch->timer, &ticks, sizeof(ticks)) == (ssize_t)sizeof(ticks) ||
	    is_scan_due(watch))
		watch_rescan(watch);
	return has_more;
}

struct watch_counts watch_counts(const struct watch *watch)
{
	return (struct watch_counts){
		.libraries = library_table_counts(watch->libraries),
		.processes = watch->scan.processes,
		.unreadable = watch->scan.unreadable,
		.unopened = watch->unopened,
		.lost_records = task_events_lost(watch->tasks),
	};
}

bool watch_trouble(struct watch *watch, struct error *out)
{
	if (watch->trouble.code == ERROR_NONE)
		return false;
	*out = watch->trouble;
	watch->trouble = (struct error){ .code = ERROR_NONE };
	return true;
}
