#include "server/push/push_spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/push/spool_folder.h"

#define ENTRIES_FIRST 64

struct spool_entry {
	uint64_t sequence;
	int64_t time_unix_ns;
	uint64_t disk_bytes;
};

struct push_spool {
	const struct push_spool_options *options;
	struct spool_folder folder;
	uint64_t base;     /* sequence of the caller's number 0 */
	uint64_t unsynced; /* the first sequence that may not be on the disk yet */

	pthread_mutex_t mutex;       /* guards what follows; nothing on disk is done under it */
	struct spool_entry *entries; /* [first, first + waiting), by sequence */
	size_t capacity;
	size_t first;
	struct spool_entry held; /* disk_bytes is 0: none */
	struct push_spool_counts counts;
};

static uint64_t disk_bytes_of(uint64_t request_length)
{
	const uint64_t bytes = SPOOL_HEAD_BYTES + request_length;

	return (bytes + SPOOL_BLOCK_BYTES - 1) / SPOOL_BLOCK_BYTES * SPOOL_BLOCK_BYTES;
}

/* ---- what waits ---- */

/* Room for one more; the mutex is held. */
static void make_room(struct push_spool *spool)
{
	const size_t count = spool->counts.waiting;

	if (spool->first + count < spool->capacity)
		return;
	if (spool->first > spool->capacity / 2) {
		memmove(spool->entries, spool->entries + spool->first,
		        count * sizeof(*spool->entries));
		spool->first = 0;
		return;
	}
	spool->capacity *= 2;
	spool->entries = mem_resize(spool->entries, spool->capacity, sizeof(*spool->entries));
}

/* The newest; the mutex is held. */
static void put(struct push_spool *spool, const struct spool_entry *entry)
{
	make_room(spool);
	spool->entries[spool->first + spool->counts.waiting++] = *entry;
	spool->counts.waiting_bytes += entry->disk_bytes;
}

/* The mutex is held. */
static struct spool_entry take_oldest(struct push_spool *spool)
{
	const struct spool_entry entry = spool->entries[spool->first++];

	spool->counts.waiting--;
	spool->counts.waiting_bytes -= entry.disk_bytes;
	return entry;
}

bool push_is_too_old(int64_t time_unix_ns, int64_t max_age_ns)
{
	const int64_t now = clock_unix_ns();
	int64_t age;

	return max_age_ns > 0 && !__builtin_sub_overflow(now, time_unix_ns, &age) &&
	       age > max_age_ns;
}

static bool is_too_old(const struct push_spool *spool, const struct spool_entry *entry)
{
	return push_is_too_old(entry->time_unix_ns, spool->options->max_age_ns);
}

static size_t max_files(const struct push_spool *spool)
{
	const size_t max = spool->options->max_files;

	return max > 0 ? max : SPOOL_FILES_USUAL;
}

/* Takes out one that must go so that `more` bytes have room; false: none must. */
static bool take_superfluous(struct push_spool *spool, uint64_t more, struct spool_entry *out)
{
	struct push_spool_counts *counts = &spool->counts;
	bool must_go = false;

	pthread_mutex_lock(&spool->mutex);
	if (counts->waiting > 0 && is_too_old(spool, &spool->entries[spool->first])) {
		counts->dropped_old++;
		must_go = true;
	} else if (counts->waiting > 0 && (counts->waiting >= max_files(spool) ||
	                                   counts->waiting_bytes + counts->held_bytes + more >
	                                           spool->options->max_bytes)) {
		counts->dropped_full++;
		must_go = true;
	}
	if (must_go)
		*out = take_oldest(spool);
	pthread_mutex_unlock(&spool->mutex);
	return must_go;
}

static void drop_superfluous(struct push_spool *spool, uint64_t more)
{
	struct spool_entry entry = { 0 };
	struct error ignored; /* it is dropped all the same, and comes back at the next start */

	while (take_superfluous(spool, more, &entry))
		(void)spool_folder_remove(&spool->folder, entry.sequence, &ignored);
}

struct push_spool_counts push_spool_counts(struct push_spool *spool)
{
	struct push_spool_counts counts;

	pthread_mutex_lock(&spool->mutex);
	counts = spool->counts;
	if (counts.held_bytes > 0)
		counts.oldest_unix_ns = spool->held.time_unix_ns;
	else if (counts.waiting > 0)
		counts.oldest_unix_ns = spool->entries[spool->first].time_unix_ns;
	pthread_mutex_unlock(&spool->mutex);
	return counts;
}

/* ---- life ---- */

/*
 * A file that lies there: entries are in no order yet. There may be more than we would have
 * let be, but not without a bound: what is over it stays for the next process.
 */
static void found(void *context, uint64_t sequence)
{
	struct push_spool *spool = context;
	struct spool_head head = { 0 };
	struct error err;

	if (spool->base <= sequence)
		spool->base = sequence + 1;
	if (spool->counts.waiting >= 2 * max_files(spool))
		return;
	if (spool_folder_look(&spool->folder, sequence, &head, &err) == 0)
		put(spool, &(struct spool_entry){ .sequence = sequence,
		                                  .time_unix_ns = head.time_unix_ns,
		                                  .disk_bytes = disk_bytes_of(head.length) });
	else if (err.code == ERROR_CORRUPT) {
		spool->counts.dropped_damaged++;
		(void)spool_folder_remove(&spool->folder, sequence, &err);
	}
}

static int by_sequence(const void *a, const void *b)
{
	const struct spool_entry *one = a;
	const struct spool_entry *other = b;

	return (one->sequence > other->sequence) - (one->sequence < other->sequence);
}

int push_spool_open(const struct push_spool_options *options, struct push_spool **out,
                    struct error *err)
{
	CLEANUP(push_spool_closep) struct push_spool *spool = mem_zalloc(1, sizeof(*spool));

	spool->options = options;
	spool->folder = (struct spool_folder){ -1, -1 };
	spool->capacity = ENTRIES_FIRST;
	spool->entries = mem_zalloc(spool->capacity, sizeof(*spool->entries));
	pthread_mutex_init(&spool->mutex, NULL);
	if (spool_folder_open(options->path, &spool->folder, err) < 0 ||
	    spool_folder_list(&spool->folder, found, spool, err) < 0)
		return -1;
	qsort(spool->entries, spool->counts.waiting, sizeof(*spool->entries), by_sequence);
	drop_superfluous(spool, 0);
	*out = TAKE(spool);
	return 0;
}

void push_spool_close(struct push_spool *spool)
{
	if (!spool)
		return;
	spool_folder_close(&spool->folder);
	pthread_mutex_destroy(&spool->mutex);
	free(spool->entries);
	free(spool);
}

/* ---- appending ---- */

static int write_file(struct push_spool *spool, uint64_t number, int64_t time_unix_ns,
                      struct str request, struct spool_entry *out, struct error *err)
{
	const struct spool_head head = { .sequence = spool->base + number,
		                         .time_unix_ns = time_unix_ns };

	if (request.length == 0 || request.length > SPOOL_REQUEST_MAX)
		return error_set(err, ERROR_TOO_LARGE, "a push of %zu bytes", request.length);
	if (head.sequence > SPOOL_SEQUENCE_MAX)
		return error_set(err, ERROR_IO, "spool %s: its last file has no successor",
		                 spool->options->path);
	drop_superfluous(spool, disk_bytes_of(request.length));
	if (spool_folder_write(&spool->folder, &head, request, err) < 0 &&
	    (spool_folder_renew(&spool->folder, spool->options->path, err) != 1 ||
	     spool_folder_write(&spool->folder, &head, request, err) < 0))
		return -1;
	*out = (struct spool_entry){ .sequence = head.sequence,
		                     .time_unix_ns = time_unix_ns,
		                     .disk_bytes = disk_bytes_of(request.length) };
	return 0;
}

int push_spool_append(struct push_spool *spool, uint64_t number, int64_t time_unix_ns,
                      struct str request, struct error *err)
{
	struct spool_entry entry = { 0 };

	if (write_file(spool, number, time_unix_ns, request, &entry, err) < 0)
		return -1;
	pthread_mutex_lock(&spool->mutex);
	put(spool, &entry);
	pthread_mutex_unlock(&spool->mutex);
	return 0;
}

int push_spool_keep(struct push_spool *spool, uint64_t number, int64_t time_unix_ns,
                    struct str request, struct error *err)
{
	struct spool_entry entry = { 0 };

	if (write_file(spool, number, time_unix_ns, request, &entry, err) < 0 ||
	    spool_folder_sync_file(&spool->folder, entry.sequence, err) < 0 ||
	    spool_folder_sync_names(&spool->folder, err) < 0)
		return -1;
	return 0;
}

/* Of those that wait, how many come before the first that may not be on the disk. */
static size_t count_synced(const struct push_spool *spool)
{
	const struct spool_entry *entries = spool->entries + spool->first;
	size_t low = 0;
	size_t high = spool->counts.waiting;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (entries[middle].sequence < spool->unsynced)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first one that may not be on the disk; false: there is none. */
static bool find_unsynced(struct push_spool *spool, uint64_t *out)
{
	bool is_found = true;
	size_t synced;

	pthread_mutex_lock(&spool->mutex);
	synced = count_synced(spool);
	if (spool->counts.held_bytes > 0 && spool->held.sequence >= spool->unsynced)
		*out = spool->held.sequence;
	else if (synced < spool->counts.waiting)
		*out = spool->entries[spool->first + synced].sequence;
	else
		is_found = false;
	pthread_mutex_unlock(&spool->mutex);
	return is_found;
}

int push_spool_sync(struct push_spool *spool, struct error *err)
{
	uint64_t sequence = 0;
	bool is_any = false;

	while (find_unsynced(spool, &sequence)) {
		if (spool_folder_sync_file(&spool->folder, sequence, err) < 0)
			return -1;
		spool->unsynced = sequence + 1;
		is_any = true;
	}
	return is_any ? spool_folder_sync_names(&spool->folder, err) : 0;
}

/* ---- taking ---- */

/* False: nothing waits. */
static bool hold_oldest(struct push_spool *spool)
{
	bool waits;

	pthread_mutex_lock(&spool->mutex);
	waits = spool->counts.waiting > 0;
	if (waits) {
		spool->held = take_oldest(spool);
		spool->counts.held_bytes = spool->held.disk_bytes;
	}
	pthread_mutex_unlock(&spool->mutex);
	return waits;
}

/* What is held is nobody's any more; the mutex is held too. */
static void forget_held(struct push_spool *spool)
{
	spool->counts.held_bytes = 0;
}

/* The oldest waits again, where it was. */
static void put_back(struct push_spool *spool)
{
	pthread_mutex_lock(&spool->mutex);
	if (spool->first == 0) {
		make_room(spool);
		memmove(spool->entries + 1, spool->entries,
		        spool->counts.waiting * sizeof(*spool->entries));
		spool->first = 1;
	}
	spool->entries[--spool->first] = spool->held;
	spool->counts.waiting++;
	spool->counts.waiting_bytes += spool->held.disk_bytes;
	forget_held(spool);
	pthread_mutex_unlock(&spool->mutex);
}

static void drop_held(struct push_spool *spool, uint64_t *count)
{
	struct error ignored;

	(void)push_spool_settle(spool, &ignored);
	pthread_mutex_lock(&spool->mutex);
	(*count)++;
	pthread_mutex_unlock(&spool->mutex);
}

int push_spool_take(struct push_spool *spool, struct strbuf *bytes, struct str *out_request,
                    int64_t *out_time_unix_ns, struct error *err)
{
	struct spool_head head = { 0 };

	while (hold_oldest(spool)) {
		if (is_too_old(spool, &spool->held)) {
			drop_held(spool, &spool->counts.dropped_old);
			continue;
		}
		if (spool_folder_read(&spool->folder, spool->held.sequence, bytes, &head,
		                      out_request, err) == 0) {
			*out_time_unix_ns = head.time_unix_ns;
			return 1;
		}
		if (err->code == ERROR_UNAVAILABLE) {
			put_back(spool);
			return -1;
		}
		drop_held(spool, &spool->counts.dropped_damaged);
	}
	return 0;
}

int push_spool_settle(struct push_spool *spool, struct error *err)
{
	const int result = spool_folder_remove(&spool->folder, spool->held.sequence, err);

	pthread_mutex_lock(&spool->mutex);
	forget_held(spool);
	pthread_mutex_unlock(&spool->mutex);
	return result;
}
