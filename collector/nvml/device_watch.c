#include "collector/nvml/device_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "collector/nvml/nvml_library.h"

enum watch_state {
	WATCH_STARTING, /* the library is loaded */
	WATCH_WAITING,
	WATCH_READING,
	WATCH_OFF, /* for good */
};

struct device_watch {
	/* set before the thread starts; the owner's */
	pthread_t thread;
	bool has_thread;
	char *path;
	char *host_root;
	enum nvml_pids pids;
	int64_t hang_ns;
	int64_t close_ns;
	int told; /* an eventfd */

	pthread_mutex_t lock; /* guards the rest, but for what is the thread's own */
	pthread_cond_t changed;
	enum watch_state state;
	bool is_asked;
	bool is_closed;
	bool has_ended;    /* the thread */
	bool is_abandoned; /* by its owner: the thread releases everything */
	bool has_picture;  /* that was not taken */
	int64_t begun_mono_ns;
	bool is_hang_told;
	enum device_trouble trouble;
	struct error why;
	struct device_picture picture;

	/* the thread's own */
	struct nvml_calls calls;
	struct device_picture reading;
};

static void lock(struct device_watch *watch)
{
	(void)pthread_mutex_lock(&watch->lock);
}

static void unlock(struct device_watch *watch)
{
	(void)pthread_mutex_unlock(&watch->lock);
}

static void free_watch(struct device_watch *watch)
{
	if (watch->told >= 0)
		(void)close(watch->told);
	(void)pthread_cond_destroy(&watch->changed);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch->path);
	free(watch->host_root);
	free(watch);
}

static void tell(const struct device_watch *watch)
{
	const uint64_t one = 1;

	if (write(watch->told, &one, sizeof(one)) < 0)
		return; /* it was told before */
}

/* ---- the thread ---- */

static void fail(struct device_watch *watch, enum device_trouble trouble, const struct error *why)
{
	lock(watch);
	watch->trouble = trouble;
	watch->why = *why;
	watch->begun_mono_ns = 0; /* it has returned */
	unlock(watch);
	tell(watch);
}

static bool start(struct device_watch *watch)
{
	struct error err;

	if (nvml_library_open(watch->path, watch->host_root, &watch->calls, &err) == 0)
		return true;
	fail(watch, err.code == ERROR_NOT_FOUND ? DEVICE_TROUBLE_ABSENT : DEVICE_TROUBLE_BROKEN,
	     &err);
	return false;
}

static void read_once(struct device_watch *watch)
{
	struct error err;

	if (nvml_reader_read(&watch->calls, watch->pids, &watch->reading, &err) < 0) {
		fail(watch, DEVICE_TROUBLE_FAILED, &err);
		return;
	}
	lock(watch);
	watch->picture = watch->reading;
	watch->has_picture = true;
	unlock(watch);
	tell(watch);
}

/* Waits until somebody asks; false when it is the end. */
static bool wait_for_question(struct device_watch *watch)
{
	bool is_asked;

	lock(watch);
	watch->state = WATCH_WAITING;
	watch->begun_mono_ns = 0;
	watch->is_hang_told = false;
	while (!watch->is_asked && !watch->is_closed)
		(void)pthread_cond_wait(&watch->changed, &watch->lock);
	is_asked = !watch->is_closed;
	watch->is_asked = false;
	watch->state = WATCH_READING;
	watch->begun_mono_ns = clock_mono_ns();
	unlock(watch);
	return is_asked;
}

static void *run(void *context)
{
	struct device_watch *watch = context;
	bool is_abandoned;

	log_name_thread("devices");
	if (start(watch))
		do
			read_once(watch);
		while (wait_for_question(watch));
	lock(watch);
	watch->state = WATCH_OFF;
	watch->begun_mono_ns = 0;
	watch->has_ended = true;
	is_abandoned = watch->is_abandoned;
	(void)pthread_cond_broadcast(&watch->changed);
	unlock(watch);
	if (is_abandoned) {
		(void)pthread_detach(pthread_self());
		free_watch(watch);
	}
	return NULL;
}

/* ---- the owner ---- */

static void init_lock(struct device_watch *watch)
{
	pthread_condattr_t attributes;

	(void)pthread_mutex_init(&watch->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&watch->changed, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

struct device_watch *device_watch_open(const struct device_watch_options *options)
{
	struct device_watch *watch = mem_zalloc(1, sizeof(*watch));

	watch->path = mem_strdup(options->path);
	watch->host_root = mem_strdup(options->host_root);
	watch->pids = options->pids;
	watch->hang_ns = options->hang_ns ? options->hang_ns : DEVICE_HANG_NS;
	watch->close_ns = options->close_ns ? options->close_ns : DEVICE_CLOSE_NS;
	watch->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch->begun_mono_ns = clock_mono_ns();
	init_lock(watch);
	watch->has_thread = pthread_create(&watch->thread, NULL, run, watch) == 0;
	if (watch->has_thread)
		return watch;
	watch->state = WATCH_OFF;
	watch->trouble = DEVICE_TROUBLE_BROKEN;
	(void)error_set(&watch->why, ERROR_UNAVAILABLE, "no thread asks the devices");
	tell(watch);
	return watch;
}

/* Whether the thread has ended by then. */
static bool wait_for_end(struct device_watch *watch, int64_t until_mono_ns)
{
	const struct timespec until = { (time_t)(until_mono_ns / NS_PER_S),
		                        (long)(until_mono_ns % NS_PER_S) };

	while (!watch->has_ended)
		if (pthread_cond_timedwait(&watch->changed, &watch->lock, &until) != 0)
			break;
	return watch->has_ended;
}

void device_watch_close(struct device_watch *watch)
{
	bool has_ended = true;

	if (!watch)
		return;
	if (watch->has_thread) {
		lock(watch);
		watch->is_closed = true;
		(void)pthread_cond_broadcast(&watch->changed);
		has_ended = wait_for_end(watch, clock_mono_ns() + watch->close_ns);
		watch->is_abandoned = !has_ended;
		unlock(watch);
		if (has_ended)
			(void)pthread_join(watch->thread, NULL);
	}
	if (has_ended)
		free_watch(watch);
}

int device_watch_descriptor(const struct device_watch *watch)
{
	return watch->told;
}

bool device_watch_ask(struct device_watch *watch)
{
	bool comes_soon;

	lock(watch);
	comes_soon = watch->state == WATCH_WAITING;
	watch->is_asked = true;
	(void)pthread_cond_broadcast(&watch->changed);
	unlock(watch);
	return comes_soon;
}

bool device_watch_take(struct device_watch *watch, struct device_picture *out)
{
	bool has_picture;
	uint64_t count;

	if (read(watch->told, &count, sizeof(count)) < 0)
		count = 0; /* nothing was told since */
	lock(watch);
	has_picture = watch->has_picture;
	if (has_picture)
		*out = watch->picture;
	watch->has_picture = false;
	unlock(watch);
	return has_picture;
}

static bool begins_to_hang(const struct device_watch *watch)
{
	return watch->begun_mono_ns != 0 && !watch->is_hang_told &&
	       clock_mono_ns() - watch->begun_mono_ns > watch->hang_ns;
}

enum device_trouble device_watch_trouble(struct device_watch *watch, struct error *out)
{
	enum device_trouble trouble;

	lock(watch);
	trouble = watch->trouble;
	if (trouble != DEVICE_TROUBLE_NONE)
		*out = watch->why;
	watch->trouble = DEVICE_TROUBLE_NONE;
	if (trouble == DEVICE_TROUBLE_NONE && begins_to_hang(watch)) {
		watch->is_hang_told = true;
		trouble = DEVICE_TROUBLE_HANGS;
		(void)error_set(out, ERROR_TIMED_OUT, "NVML has not answered for %lld s",
		                (long long)(watch->hang_ns / NS_PER_S));
	}
	unlock(watch);
	return trouble;
}
