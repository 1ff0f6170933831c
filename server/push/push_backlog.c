/*
 * What is taken and what waits, oldest first:
 *
 *	taken      by the thread that delivers: a file of the spool, or an item of memory
 *	spool      files
 *	moving     the item that the keeper is writing to the spool
 *	memory     items
 *
 * With a spool the keeper alone takes items out of memory, unless the spool is in trouble:
 * then they are delivered from memory, once the spool is empty. Every push has its number
 * from the moment it comes, and the number names its file: so an item that was taken from
 * memory, and could not be delivered, still goes before later ones when it is kept at the
 * end.
 */
#include "server/push/push_backlog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/push/push_items.h"
#include "server/push/push_spool.h"

#define READ_RETRY_NS NS_PER_S /* a guess: descriptors come back */

struct push_backlog {
	struct push_backlog_options options;
	struct push_spool_options spool_options;
	pthread_t keeper;   /* if there is a spool */
	struct strbuf file; /* that is taken; of the thread that delivers, as the next one */
	int64_t file_time_unix_ns;

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct push_items memory;
	struct push_item *moving;
	struct push_item *taken;  /* from memory */
	bool is_file_taken;       /* from the spool */
	uint64_t next_number;     /* of the next push that comes */
	struct push_spool *spool; /* NULL: not open yet. It is never closed before the end */
	bool is_in_trouble;       /* the spool cannot be opened, or not be written */
	int64_t try_mono_ns;      /* then the next try */
	bool is_to_secure;        /* what waits is to be synced */
	bool is_closed;
	bool has_kept; /* the keeper has ended */
	uint64_t dropped[PUSH_DROP_COUNT];
	uint64_t spool_drops_said; /* of push_spool_counts, of what was logged */
};

const char *const push_drop_names[PUSH_DROP_COUNT] = {
#define PUSH_DROP(id, name) [PUSH_DROP_##id] = (name),
	PUSH_DROPS
#undef PUSH_DROP
};

/* ---- memory ---- */

/* The mutex is held. Gives how many others had to go. */
static uint64_t put(struct push_backlog *backlog, struct push_item *item)
{
	struct push_items *memory = &backlog->memory;
	uint64_t dropped = 0;

	while (memory->count > 0 && memory->bytes + item->length > backlog->options.memory_bytes) {
		free(push_items_take(memory));
		dropped++;
	}
	item->number = backlog->next_number++;
	push_items_add(memory, item);
	backlog->dropped[PUSH_DROP_MEMORY_FULL] += dropped;
	return dropped;
}

void push_backlog_add(struct push_backlog *backlog, struct str request)
{
	struct push_item *item = push_item_new(request);
	uint64_t dropped;

	pthread_mutex_lock(&backlog->mutex);
	dropped = put(backlog, item);
	pthread_cond_broadcast(&backlog->changed);
	pthread_mutex_unlock(&backlog->mutex);
	if (dropped > 0)
		log_rarely(LOG_WARN, "profiles wait for their server: the oldest were dropped");
}

void push_backlog_count_drop(struct push_backlog *backlog, enum push_drop why)
{
	pthread_mutex_lock(&backlog->mutex);
	backlog->dropped[why]++;
	pthread_mutex_unlock(&backlog->mutex);
}

/* ---- counts ---- */

/* Of something that waits; 0: nothing does. What is taken may have come before the spool. */
static void note_time(struct push_backlog_counts *counts, int64_t unix_ns)
{
	if (unix_ns != 0 && (counts->oldest_unix_ns == 0 || unix_ns < counts->oldest_unix_ns))
		counts->oldest_unix_ns = unix_ns;
}

/* One that is in no list; or NULL. */
static void add_item(struct push_backlog_counts *counts, const struct push_item *item)
{
	if (!item)
		return;
	counts->waiting++;
	counts->waiting_bytes += item->length;
	note_time(counts, item->time_unix_ns);
}

/* The mutex is held. */
static void add_spool(const struct push_backlog *backlog, struct push_backlog_counts *counts)
{
	const struct push_spool_counts spool = push_spool_counts(backlog->spool);

	counts->dropped[PUSH_DROP_SPOOL_FULL] += spool.dropped_full;
	counts->dropped[PUSH_DROP_TOO_OLD] += spool.dropped_old;
	counts->dropped[PUSH_DROP_DAMAGED] += spool.dropped_damaged;
	counts->spool_waiting = spool.waiting + (spool.held_bytes > 0);
	counts->waiting += counts->spool_waiting;
	counts->spool_bytes = spool.waiting_bytes + spool.held_bytes;
	counts->waiting_bytes += counts->spool_bytes;
	note_time(counts, spool.oldest_unix_ns);
}

struct push_backlog_counts push_backlog_counts(struct push_backlog *backlog)
{
	struct push_backlog_counts counts = { 0 };

	pthread_mutex_lock(&backlog->mutex);
	memcpy(counts.dropped, backlog->dropped, sizeof(counts.dropped));
	counts.waiting = backlog->memory.count;
	counts.waiting_bytes = backlog->memory.bytes;
	counts.is_spooling = backlog->spool && !backlog->is_in_trouble;
	if (backlog->spool)
		add_spool(backlog, &counts);
	add_item(&counts, backlog->taken);
	add_item(&counts, backlog->moving);
	if (backlog->memory.oldest)
		note_time(&counts, backlog->memory.oldest->time_unix_ns);
	pthread_mutex_unlock(&backlog->mutex);
	return counts;
}

/* ---- the keeper: from memory to the spool ---- */

/* For as long as the mutex is not held here, moving and spool are this thread's. */
static void note_trouble(struct push_backlog *backlog, const struct error *err)
{
	if (!backlog->is_in_trouble)
		log_error("%s; profiles wait in memory", err->message);
	backlog->is_in_trouble = true;
	backlog->try_mono_ns = clock_mono_ns() + backlog->options.spool_retry_ns;
}

static void note_success(struct push_backlog *backlog)
{
	if (backlog->is_in_trouble)
		log_info("spool %s: it is written again", backlog->options.spool_path);
	backlog->is_in_trouble = false;
}

/* What age, a bound or a damage has cost since it was said last; the mutex is held. */
static void say_drops(struct push_backlog *backlog)
{
	const struct push_spool_counts counts = push_spool_counts(backlog->spool);
	const uint64_t drops = counts.dropped_full + counts.dropped_old + counts.dropped_damaged;

	if (drops > backlog->spool_drops_said)
		log_rarely(LOG_WARN,
		           "spool %s: pushes were dropped: %llu over its bound, %llu too old, %llu "
		           "damaged since the start",
		           backlog->options.spool_path, (unsigned long long)counts.dropped_full,
		           (unsigned long long)counts.dropped_old,
		           (unsigned long long)counts.dropped_damaged);
	backlog->spool_drops_said = drops;
}

/* The mutex is held on both ends, as in all that follows. */
static void open_spool(struct push_backlog *backlog)
{
	struct push_spool *spool = NULL;
	struct error err = { 0 };
	size_t waiting;
	int result;

	pthread_mutex_unlock(&backlog->mutex);
	result = push_spool_open(&backlog->spool_options, &spool, &err);
	pthread_mutex_lock(&backlog->mutex);
	if (result < 0) {
		note_trouble(backlog, &err);
		return;
	}
	backlog->spool = spool;
	backlog->is_in_trouble = false;
	waiting = push_spool_counts(spool).waiting;
	log_info("spool %s: %zu push%s there", backlog->options.spool_path, waiting,
	         waiting == 1 ? " waits" : "es wait");
	say_drops(backlog);
}

static void move_one(struct push_backlog *backlog)
{
	struct push_item *item = push_items_take(&backlog->memory);
	struct error err = { 0 };
	int result;

	backlog->moving = item;
	pthread_mutex_unlock(&backlog->mutex);
	result = push_spool_append(backlog->spool, item->number, item->time_unix_ns,
	                           push_item_request(item), &err);
	pthread_mutex_lock(&backlog->mutex);
	backlog->moving = NULL;
	if (result == 0 || err.code == ERROR_TOO_LARGE) {
		backlog->dropped[PUSH_DROP_TOO_LARGE] += result < 0;
		note_success(backlog);
		free(item);
		return;
	}
	push_items_put_back(&backlog->memory, item);
	note_trouble(backlog, &err);
}

static void secure(struct push_backlog *backlog)
{
	struct error err = { 0 };
	int result;

	backlog->is_to_secure = false;
	pthread_mutex_unlock(&backlog->mutex);
	result = push_spool_sync(backlog->spool, &err);
	pthread_mutex_lock(&backlog->mutex);
	if (result < 0)
		note_trouble(backlog, &err);
	else
		note_success(backlog);
}

static bool has_work(const struct push_backlog *backlog)
{
	return !backlog->spool || backlog->memory.count > 0 || backlog->is_to_secure;
}

/* Waits until there is something to do, and the time for it; false: it is time to end. */
static bool wait_for_work(struct push_backlog *backlog)
{
	while (!backlog->is_closed) {
		if (!has_work(backlog)) {
			pthread_cond_wait(&backlog->changed, &backlog->mutex);
			continue;
		}
		if (!backlog->is_in_trouble || clock_mono_ns() >= backlog->try_mono_ns)
			return true;
		(void)pthread_cond_timedwait(
			&backlog->changed, &backlog->mutex,
			&(struct timespec){ .tv_sec = backlog->try_mono_ns / NS_PER_S,
		                            .tv_nsec = backlog->try_mono_ns % NS_PER_S });
	}
	return false;
}

static void work(struct push_backlog *backlog)
{
	if (!backlog->spool) {
		open_spool(backlog);
	} else if (backlog->memory.count > 0) {
		move_one(backlog);
		say_drops(backlog);
	} else {
		secure(backlog);
	}
	pthread_cond_broadcast(&backlog->changed);
}

/* Each thing that is left to be done, until one fails, trouble or not. */
static void work_at_end(struct push_backlog *backlog)
{
	backlog->try_mono_ns = 0;
	backlog->is_to_secure = true;
	while (has_work(backlog) && backlog->try_mono_ns == 0)
		work(backlog);
}

static void *keep(void *context)
{
	struct push_backlog *backlog = context;

	log_name_thread("spool");
	pthread_mutex_lock(&backlog->mutex);
	while (wait_for_work(backlog))
		work(backlog);
	work_at_end(backlog);
	backlog->has_kept = true;
	pthread_cond_broadcast(&backlog->changed);
	pthread_mutex_unlock(&backlog->mutex);
	return NULL;
}

/* ---- the thread that delivers ---- */

/* Whether memory is delivered from, and not only the spool; the mutex is held. */
static bool may_take_item(const struct push_backlog *backlog)
{
	return backlog->memory.count > 0 && !backlog->moving &&
	       (!backlog->options.spool_path || backlog->is_in_trouble || backlog->has_kept);
}

/* Whether something may still come; the mutex is held. */
static bool is_over(const struct push_backlog *backlog)
{
	return backlog->is_closed && backlog->memory.count == 0 && !backlog->moving &&
	       (!backlog->options.spool_path || backlog->has_kept);
}

/* Of the spool, without the mutex, which is held on both ends: 1, 0 or -1 as it says. */
static int take_file(struct push_backlog *backlog, struct push_taken *out)
{
	struct error err = { 0 };
	int result;

	if (!backlog->spool)
		return 0;
	pthread_mutex_unlock(&backlog->mutex);
	result = push_spool_take(backlog->spool, &backlog->file, &out->request, &out->time_unix_ns,
	                         &err);
	if (result < 0)
		log_rarely(LOG_WARN, "%s; it is read again", err.message);
	pthread_mutex_lock(&backlog->mutex);
	return result;
}

static void wait_a_moment(struct push_backlog *backlog)
{
	const int64_t end = clock_mono_ns() + READ_RETRY_NS;
	const struct timespec until = { .tv_sec = end / NS_PER_S, .tv_nsec = end % NS_PER_S };

	while (!backlog->is_closed && clock_mono_ns() < end)
		(void)pthread_cond_timedwait(&backlog->changed, &backlog->mutex, &until);
}

static struct push_taken take_item(struct push_backlog *backlog)
{
	struct push_item *item = push_items_take(&backlog->memory);

	backlog->taken = item;
	return (struct push_taken){ .request = push_item_request(item),
		                    .time_unix_ns = item->time_unix_ns };
}

/* The spool may get something while it is not looked at: it is, again, before any item. */
bool push_backlog_take(struct push_backlog *backlog, struct push_taken *out)
{
	bool is_taken = false;
	int result;

	pthread_mutex_lock(&backlog->mutex);
	while (!is_taken) {
		result = take_file(backlog, out);
		if (result == 1) {
			backlog->is_file_taken = true;
			backlog->file_time_unix_ns = out->time_unix_ns;
			is_taken = true;
		} else if (result < 0) {
			if (backlog->is_closed)
				break;
			wait_a_moment(backlog);
		} else if (backlog->spool && push_spool_counts(backlog->spool).waiting > 0) {
			continue;
		} else if (may_take_item(backlog)) {
			*out = take_item(backlog);
			is_taken = true;
		} else if (is_over(backlog)) {
			break;
		} else {
			pthread_cond_wait(&backlog->changed, &backlog->mutex);
		}
	}
	pthread_mutex_unlock(&backlog->mutex);
	return is_taken;
}

void push_backlog_settle(struct push_backlog *backlog)
{
	struct error err = { 0 };

	if (backlog->is_file_taken && push_spool_settle(backlog->spool, &err) < 0)
		log_rarely(LOG_WARN, "%s: it may be sent again", err.message);
	pthread_mutex_lock(&backlog->mutex);
	free(backlog->taken);
	backlog->taken = NULL;
	backlog->is_file_taken = false;
	pthread_mutex_unlock(&backlog->mutex);
}

bool push_backlog_expire(struct push_backlog *backlog)
{
	const int64_t since = backlog->is_file_taken ? backlog->file_time_unix_ns
	                                             : backlog->taken->time_unix_ns;

	if (!push_is_too_old(since, backlog->options.max_age_ns))
		return false;
	push_backlog_count_drop(backlog, PUSH_DROP_TOO_OLD);
	push_backlog_settle(backlog);
	return true;
}

void push_backlog_secure(struct push_backlog *backlog)
{
	pthread_mutex_lock(&backlog->mutex);
	backlog->is_to_secure = backlog->options.spool_path != NULL;
	pthread_cond_broadcast(&backlog->changed);
	pthread_mutex_unlock(&backlog->mutex);
}

/* ---- life ---- */

struct push_backlog *push_backlog_new(const struct push_backlog_options *options)
{
	struct push_backlog *backlog = mem_zalloc(1, sizeof(*backlog));
	pthread_condattr_t attributes;

	backlog->options = *options;
	backlog->spool_options = (struct push_spool_options){
		.path = options->spool_path,
		.max_bytes = options->spool_bytes,
		.max_age_ns = options->max_age_ns,
	};
	push_items_init(&backlog->memory);
	strbuf_init(&backlog->file, SPOOL_FILE_MAX);
	pthread_mutex_init(&backlog->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&backlog->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (options->spool_path && pthread_create(&backlog->keeper, NULL, keep, backlog) != 0)
		abort(); /* no thread at start: nothing would work */
	return backlog;
}

void push_backlog_close(struct push_backlog *backlog)
{
	pthread_mutex_lock(&backlog->mutex);
	backlog->is_closed = true;
	pthread_cond_broadcast(&backlog->changed);
	pthread_mutex_unlock(&backlog->mutex);
}

/* What was taken from memory and not delivered: false when there is none, too. */
static bool keep_taken(struct push_backlog *backlog)
{
	const struct push_item *item = backlog->taken;
	struct error err;

	return item && backlog->spool &&
	       push_spool_keep(backlog->spool, item->number, item->time_unix_ns,
	                       push_item_request(item), &err) == 0;
}

void push_backlog_free(struct push_backlog *backlog, size_t *out_lost, size_t *out_kept)
{
	struct push_spool_counts spool = { 0 };
	bool is_kept;

	push_backlog_close(backlog);
	if (backlog->options.spool_path)
		pthread_join(backlog->keeper, NULL);
	is_kept = keep_taken(backlog);
	if (backlog->spool) /* what is kept may have cost others their place */
		spool = push_spool_counts(backlog->spool);
	*out_kept = spool.waiting + (spool.held_bytes > 0) + is_kept;
	*out_lost = backlog->memory.count + (backlog->taken && !is_kept);
	push_items_fini(&backlog->memory);
	free(backlog->taken);
	push_spool_close(backlog->spool);
	strbuf_fini(&backlog->file);
	pthread_cond_destroy(&backlog->changed);
	pthread_mutex_destroy(&backlog->mutex);
	free(backlog);
}
