#include "storage/group_times.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "storage/window_name.h"

#define FIRST_CAPACITY 64

struct known_group {
	struct group_bounds bounds;
	bool is_seen; /* somebody has looked */
};

struct group_times {
	struct known_group unknown; /* what is known of a group at first */

	pthread_mutex_t lock; /* guards everything below */
	struct known_group *groups;
	uint32_t count; /* those above are unknown */
	uint32_t capacity;
	uint64_t epoch; /* grows when something is forgotten */
};

struct group_times *group_times_new(int32_t day)
{
	struct group_times *times = mem_zalloc(1, sizeof(*times));

	(void)pthread_mutex_init(&times->lock, NULL);
	times->unknown.bounds = (struct group_bounds){
		.oldest_low = day_start_ns(day),
		.oldest_high = INT64_MAX,
		.newest_low = INT64_MIN,
		.newest_high = day_end_ns(day),
	};
	return times;
}

void group_times_free(struct group_times *times)
{
	if (!times)
		return;
	free(times->groups);
	(void)pthread_mutex_destroy(&times->lock);
	free(times);
}

size_t group_times_bytes(struct group_times *times)
{
	size_t bytes;

	(void)pthread_mutex_lock(&times->lock);
	bytes = sizeof(*times) + times->capacity * sizeof(*times->groups);
	(void)pthread_mutex_unlock(&times->lock);
	return bytes;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What is kept of a group, from now on. With the lock held. */
static struct known_group *need(struct group_times *times, uint32_t group)
{
	if (group >= times->capacity) {
		const uint32_t doubled = times->capacity ? 2 * times->capacity : FIRST_CAPACITY;

		times->capacity = group < doubled ? doubled : group + 1;
		times->groups = mem_resize(times->groups, times->capacity, sizeof(*times->groups));
	}
	while (times->count <= group)
		times->groups[times->count++] = times->unknown;
	return &times->groups[group];
}

/* ---- asking ---- */

static enum group_presence presence(const struct known_group *known, int64_t start, int64_t end)
{
	const struct group_bounds *bounds = &known->bounds;

	if (bounds->oldest_low > bounds->newest_high || end < bounds->oldest_low ||
	    start > bounds->newest_high)
		return GROUP_ABSENT;
	if (bounds->oldest_high == INT64_MAX)
		return GROUP_UNKNOWN;
	if ((start <= bounds->oldest_low && bounds->oldest_high <= end) ||
	    (start <= bounds->newest_low && bounds->newest_high <= end))
		return GROUP_PRESENT;
	return known->is_seen ? GROUP_UNSURE : GROUP_UNKNOWN;
}

enum group_presence group_times_ask(struct group_times *times, uint32_t group,
                                    int64_t start_unix_ns, int64_t end_unix_ns)
{
	enum group_presence found;

	(void)pthread_mutex_lock(&times->lock);
	found = presence(group < times->count ? &times->groups[group] : &times->unknown,
	                 start_unix_ns, end_unix_ns);
	(void)pthread_mutex_unlock(&times->lock);
	return found;
}

/* ---- learning ---- */

uint64_t group_times_epoch(struct group_times *times)
{
	uint64_t epoch;

	(void)pthread_mutex_lock(&times->lock);
	epoch = times->epoch;
	(void)pthread_mutex_unlock(&times->lock);
	return epoch;
}

/*
 * The look has missed what was committed since; but that was added to what is known, so
 * that the oldest of it is not older than oldest_high, nor the newest newer than
 * newest_low.
 */
static void narrow(struct group_bounds *known, const struct group_bounds *seen)
{
	const struct group_bounds before = *known;

	known->oldest_low = max_of(before.oldest_low, min_of(seen->oldest_low, before.oldest_high));
	known->oldest_high = min_of(seen->oldest_high, before.oldest_high);
	known->newest_low = max_of(seen->newest_low, before.newest_low);
	known->newest_high =
		min_of(before.newest_high, max_of(seen->newest_high, before.newest_low));
}

void group_times_learn(struct group_times *times, uint64_t epoch, uint32_t group,
                       const struct group_bounds *bounds)
{
	(void)pthread_mutex_lock(&times->lock);
	if (epoch == times->epoch) {
		struct known_group *known = need(times, group);

		narrow(&known->bounds, bounds);
		known->is_seen = true;
	}
	(void)pthread_mutex_unlock(&times->lock);
}

/* ---- the writer ---- */

void group_times_add(struct group_times *times, uint32_t group, int64_t time_unix_ns)
{
	struct group_bounds *known;

	(void)pthread_mutex_lock(&times->lock);
	known = &need(times, group)->bounds;
	known->oldest_low = min_of(known->oldest_low, time_unix_ns);
	known->oldest_high = min_of(known->oldest_high, time_unix_ns);
	known->newest_low = max_of(known->newest_low, time_unix_ns);
	known->newest_high = max_of(known->newest_high, time_unix_ns);
	(void)pthread_mutex_unlock(&times->lock);
}

void group_times_forget_all(struct group_times *times)
{
	(void)pthread_mutex_lock(&times->lock);
	times->epoch++;
	free(times->groups);
	times->groups = NULL;
	times->count = times->capacity = 0;
	(void)pthread_mutex_unlock(&times->lock);
}

/* ---- a transaction's ---- */

void group_news_add(struct group_news *news, uint32_t group, int64_t time_unix_ns)
{
	if (news->count == news->capacity) {
		news->capacity = news->capacity ? 2 * news->capacity : FIRST_CAPACITY;
		news->items = mem_resize(news->items, news->capacity, sizeof(*news->items));
	}
	news->items[news->count++] = (struct group_news_item){ group, time_unix_ns };
}

void group_news_tell(struct group_news *news, struct group_times *times)
{
	if (news->removes)
		group_times_forget_all(times);
	for (size_t i = 0; i < news->count; i++)
		group_times_add(times, news->items[i].group, news->items[i].time_unix_ns);
	group_news_drop(news);
}

void group_news_drop(struct group_news *news)
{
	news->count = 0;
	news->removes = false;
}

void group_news_fini(struct group_news *news)
{
	free(news->items);
	*news = (struct group_news){ 0 };
}
