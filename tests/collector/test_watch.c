/*
 * Driver libraries are found wherever and whenever they are mapped: what processes say they
 * did is what was counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/watch/library_probes.h"
#include "collector/watch/task_events.h"
#include "collector/watch/watch.h"
#include "tests/collector/event_log.h"
#include "tests/collector/own_driver.h"
#include "tests/collector/permission.h"
#include "tests/collector/workload_run.h"

#define GIVE_UP_NS   (60 * NS_PER_S)
#define PATH_BYTES   128
#define MAPPINGS_MAX 4096

static char folder[] = "/tmp/test_watch.XXXXXX";
static char library[PATH_BYTES];

/* What the watch told of one process. */
struct told {
	uint32_t tgid;
	size_t drivers; /* mappings of our library */
	size_t execs;
	size_t names;
	size_t exits;
	uint32_t parent;
};

struct fixture {
	struct probe_set *set;
	struct own_probes probes;
	struct watch *watch;
	struct event_log log;
	struct told told[MAPPINGS_MAX];
	size_t told_count;
};

static struct fixture fixture;

static struct told *told_of(struct fixture *of, uint32_t tgid)
{
	for (size_t i = 0; i < of->told_count; i++) {
		if (of->told[i].tgid == tgid)
			return &of->told[i];
	}
	if (of->told_count == MAPPINGS_MAX)
		of->told_count = 0; /* a busy machine */
	of->told[of->told_count] = (struct told){ .tgid = tgid };
	return &of->told[of->told_count++];
}

static void note_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	assert_true(file->end > file->start);
	assert_int_equal(file->path.data[file->path.length], '\0');
	if (str_equals(file->path, library))
		told_of(context, tgid)->drivers++;
}

static void note_exec(void *context, uint32_t tgid, struct str name)
{
	assert_true(name.length < 16);
	told_of(context, tgid)->execs++;
}

static void note_name(void *context, uint32_t tgid, struct str name)
{
	assert_true(name.length < 16);
	told_of(context, tgid)->names++;
}

static void note_fork(void *context, uint32_t parent, uint32_t child)
{
	told_of(context, child)->parent = parent;
}

static void note_exit(void *context, uint32_t tgid)
{
	told_of(context, tgid)->exits++;
}

static void open_watch(void)
{
	static const char *const none[] = { NULL };
	const struct watch_handlers handlers = {
		.mapped = note_mapped,
		.execed = note_exec,
		.named = note_name,
		.forked = note_fork,
		.exited = note_exit,
		.context = &fixture,
	};
	const struct library_attacher attacher = own_probes_attacher(&fixture.probes);
	struct error err = { 0 };

	fixture.probes = (struct own_probes){ .real = library_probes(fixture.set) };
	if (watch_open(&(struct watch_options){ .libraries = none }, &attacher, &handlers,
	               &fixture.watch, &err) < 0)
		fail_msg("%s", err.message);
}

static void close_watch(void)
{
	watch_close(fixture.watch);
	fixture.watch = NULL;
	event_log_reset(&fixture.log);
	fixture.told_count = 0;
}

static void drain(void)
{
	const struct timespec pause = { 0, 1000000 };

	if (fixture.watch)
		(void)watch_drain(fixture.watch, SIZE_MAX);
	if (probe_set_drain(fixture.set, 1000) == 0)
		nanosleep(&pause, NULL);
}

/* Drains until `condition` holds. */
#define WAIT_FOR(condition)                                            \
	do {                                                           \
		const int64_t give_up_ = clock_mono_ns() + GIVE_UP_NS; \
		while (!(condition)) {                                 \
			drain();                                       \
			assert_true(clock_mono_ns() < give_up_);       \
		}                                                      \
	} while (0)

static size_t attached(void)
{
	return fixture.probes.attached;
}

static struct cuda_counters counted(const struct workload *workload)
{
	const struct cuda_event *any = event_log_find(&fixture.log, workload->pid, 0, 0);
	struct process_calls calls;

	assert_non_null(any);
	assert_true(probe_set_calls(fixture.set,
	                            &(struct process_key){ .start_ns = any->process_start_ns,
	                                                   .tgid = any->tgid },
	                            &calls));
	return calls.by_class[CUDA_CLASS_DEVICE];
}

/* Lets a process that has loaded the driver call it, and compares. */
static void assert_all_seen(struct workload *workload)
{
	workload_go_on(workload);
	WAIT_FOR(workload_has_ended(workload) &&
	         event_log_count(&fixture.log, workload->pid, CUDA_EVENT_EXIT) == 1);
	assert_int_equal(counted(workload).alloc_calls, 10);
	/* 1000 + 2000 + ... + 10000 */
	assert_int_equal(counted(workload).alloc_bytes, 55000);
	assert_int_equal(counted(workload).alloc_bytes,
	                 workload_sums(workload, workload->pid).alloc_bytes);
	assert_int_equal(counted(workload).free_calls, 5);
	assert_int_equal(event_log_count(&fixture.log, workload->pid, CUDA_EVENT_ALLOC), 10);
}

static struct workload start_waiting(void)
{
	struct workload workload = workload_start(library, "late", (uint64_t[]){ 10, 0 }, NULL);

	WAIT_FOR(workload_is_ready(&workload, 1));
	return workload;
}

/* Until it has the driver loaded, and waits before its first call. */
static void let_load(struct workload *workload)
{
	workload_go_on(workload);
	WAIT_FOR(workload_is_ready(workload, 2));
}

/* On one CPU, more mappings for execution than its buffer takes. */
static void fill_buffer(void)
{
	const int file = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	for (size_t i = 0; i < TASK_BUFFERS_MAX / 64; i++) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

		assert_ptr_not_equal(page, MAP_FAILED);
		assert_int_equal(munmap(page, 4096), 0);
	}
	assert_int_equal(close(file), 0);
}

/* Its record was lost among those of others: it is looked for, long before the next walk. */
static void a_driver_whose_record_was_lost_is_looked_for(void **state)
{
	const int64_t opened_ns = clock_mono_ns();
	struct workload workload;
	cpu_set_t before;
	cpu_set_t one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	own_driver_copy(library);
	open_watch();
	workload = start_waiting();
	fill_buffer();
	workload_go_on(&workload);
	while (!workload_is_ready(&workload, 2)) {
		assert_false(workload_has_ended(&workload));
		sched_yield();
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	WAIT_FOR(attached() == 1);
	assert_true(clock_mono_ns() - opened_ns < WATCH_RESCAN_NS);
	assert_true(watch_counts(fixture.watch).lost_records > 0);
	assert_int_equal(told_of(&fixture, (uint32_t)workload.pid)->drivers, 0);
	assert_all_seen(&workload);
	workload_fini(&workload);
	close_watch();
	assert_int_equal(unlink(library), 0);
}

static void a_driver_that_is_loaded_late_is_seen(void **state)
{
	struct workload workload;
	const struct told *told;

	(void)state;
	own_driver_copy(library);
	open_watch();
	assert_int_equal(attached(), 0);
	workload = start_waiting();
	let_load(&workload);
	WAIT_FOR(attached() == 1);
	assert_int_equal(watch_counts(fixture.watch).libraries.libraries, 1);
	assert_int_equal(watch_counts(fixture.watch).libraries.functions,
	                 CUDA_FUNCTION_COMMON_COUNT);
	assert_all_seen(&workload);
	WAIT_FOR(told_of(&fixture, (uint32_t)workload.pid)->exits == 1);
	told = told_of(&fixture, (uint32_t)workload.pid);
	assert_int_equal(told->parent, getpid());
	assert_int_equal(told->execs, 1);
	assert_int_equal(told->drivers, 1);
	workload_fini(&workload);
	close_watch();
	assert_int_equal(unlink(library), 0);
}

static void a_driver_that_is_loaded_already_is_seen(void **state)
{
	struct workload workload;

	(void)state;
	own_driver_copy(library);
	workload = start_waiting();
	let_load(&workload);
	open_watch();
	assert_int_equal(attached(), 1);
	assert_true(watch_counts(fixture.watch).processes > 1);
	assert_all_seen(&workload);
	workload_fini(&workload);
	close_watch();
	assert_int_equal(unlink(library), 0);
}

static void a_driver_that_was_deleted_is_seen(void **state)
{
	struct workload workload;

	(void)state;
	if (!permission_follows_mappings())
		skip();
	own_driver_copy(library);
	workload = start_waiting();
	let_load(&workload);
	assert_int_equal(unlink(library), 0);
	open_watch();
	assert_int_equal(attached(), 1);
	assert_all_seen(&workload);
	workload_fini(&workload);
	close_watch();
}

/* An update of the driver: old processes keep the old file, new ones have the new. */
static void a_driver_that_is_replaced_is_seen_in_both(void **state)
{
	char newer[PATH_BYTES + 8];
	struct workload before;
	struct workload after;

	(void)state;
	own_driver_copy(library);
	open_watch();
	before = start_waiting();
	let_load(&before);
	WAIT_FOR(attached() == 1);
	(void)snprintf(newer, sizeof(newer), "%s.new", library);
	own_driver_copy(newer);
	assert_int_equal(rename(newer, library), 0);
	after = start_waiting();
	let_load(&after);
	WAIT_FOR(attached() == 2);
	assert_all_seen(&after);
	assert_all_seen(&before);
	workload_fini(&before);
	workload_fini(&after);
	close_watch();
	assert_int_equal(unlink(library), 0);
}

/* In a mount namespace of its own, where that path is another file than here. */
static void hide_in_namespace(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, NULL) < 0)
		_exit(126);
	own_driver_copy(library);
}

static void a_driver_in_another_mount_namespace_is_seen(void **state)
{
	struct workload workload;

	(void)state;
	open_watch();
	workload =
		workload_start_prepared(library, "late", (uint64_t[]){ 10, 0 }, hide_in_namespace);
	WAIT_FOR(workload_is_ready(&workload, 1) || workload_has_ended(&workload));
	if (workload.has_ended) { /* no mount namespaces here */
		workload_fini(&workload);
		close_watch();
		skip();
	}
	assert_true(access(library, F_OK) < 0);
	let_load(&workload);
	WAIT_FOR(attached() == 1);
	assert_all_seen(&workload);
	workload_fini(&workload);
	close_watch();
}

/* Two overlays over one driver: two files to us, one to the kernel. */
static void mount_overlay(void)
{
	char options[PATH_BYTES * 3];
	char upper[PATH_BYTES];
	char work[PATH_BYTES];

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(126);
	(void)snprintf(upper, sizeof(upper), "%s/overlay", folder);
	(void)snprintf(work, sizeof(work), "%s/empty", folder);
	(void)snprintf(options, sizeof(options), "lowerdir=%s/lower:%s", folder, work);
	if (mount("overlay", upper, "overlay", MS_RDONLY, options) < 0)
		_exit(126);
}

static const char *const overlay_folders[] = { "overlay", "empty", "lower" };

static void make_overlay_folders(void)
{
	char path[PATH_BYTES + 32];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, overlay_folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/lower/libcuda.so.1", folder);
	own_driver_copy(path);
}

static void remove_overlay_folders(void)
{
	char path[PATH_BYTES + 32];

	(void)snprintf(path, sizeof(path), "%s/lower/libcuda.so.1", folder);
	assert_int_equal(unlink(path), 0);
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, overlay_folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static void one_driver_below_two_overlays_counts_once(void **state)
{
	char path[PATH_BYTES + 32];
	struct workload workloads[2];
	size_t started = 0;
	bool has_overlays = true;

	(void)state;
	make_overlay_folders();
	(void)snprintf(path, sizeof(path), "%s/overlay/libcuda.so.1", folder);
	open_watch();
	while (started < 2 && has_overlays) {
		struct workload *workload = &workloads[started++];

		*workload =
			workload_start_prepared(path, "late", (uint64_t[]){ 10, 0 }, mount_overlay);
		WAIT_FOR(workload_is_ready(workload, 1) || workload_has_ended(workload));
		has_overlays = !workload->has_ended;
		if (!has_overlays)
			break;
		let_load(workload);
		WAIT_FOR(attached() == started);
	}
	for (size_t i = 0; i < started; i++) {
		if (has_overlays)
			assert_all_seen(&workloads[i]);
		workload_fini(&workloads[i]);
	}
	close_watch();
	remove_overlay_folders();
	if (!has_overlays)
		skip();
}

static void a_file_that_only_has_the_name_is_refused(void **state)
{
	struct error trouble = { 0 };
	void *memory;
	int file;

	(void)state;
	open_watch();
	file = open(library, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, 4096), 0);
	own_driver_mark(file);
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	WAIT_FOR(fixture.probes.refused == 1);
	assert_true(watch_counts(fixture.watch).libraries.refused >= 1);
	assert_int_equal(attached(), 0);
	assert_true(watch_trouble(fixture.watch, &trouble));
	assert_int_equal(trouble.code, ERROR_INVALID);
	assert_false(watch_trouble(fixture.watch, &trouble));
	assert_int_equal(munmap(memory, 4096), 0);
	(void)close(file);
	close_watch();
	assert_int_equal(unlink(library), 0);
}

static int set_up(void **state)
{
	const struct probe_set_handlers handlers = { .event = event_log_add,
		                                     .context = &fixture.log };
	struct error err = { 0 };

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(library, sizeof(library), "%s/libcuda.so.1", folder);
	if (probe_set_open(&(struct probe_set_options){ .storm_limit = 0 }, &handlers, &fixture.set,
	                   &err) < 0)
		fail_msg("%s", err.message);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	probe_set_close(fixture.set);
	event_log_fini(&fixture.log);
	return rmdir(folder);
}

int main(void)
{
	const char *reason = permission_missing();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_driver_that_is_loaded_late_is_seen),
		cmocka_unit_test(a_driver_whose_record_was_lost_is_looked_for),
		cmocka_unit_test(a_driver_that_is_loaded_already_is_seen),
		cmocka_unit_test(a_driver_that_was_deleted_is_seen),
		cmocka_unit_test(a_driver_that_is_replaced_is_seen_in_both),
		cmocka_unit_test(a_driver_in_another_mount_namespace_is_seen),
		cmocka_unit_test(one_driver_below_two_overlays_counts_once),
		cmocka_unit_test(a_file_that_only_has_the_name_is_refused),
	};

	if (reason) {
		printf("%s\n", reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
