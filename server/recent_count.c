#include "server/recent_count.h"

#include "base/clock.h"

void recent_count_init(struct recent_count *recent)
{
	*recent = (struct recent_count){ 0 };
	(void)pthread_mutex_init(&recent->lock, NULL);
}

void recent_count_fini(struct recent_count *recent)
{
	(void)pthread_mutex_destroy(&recent->lock);
}

/* Seconds that have passed since the newest have nothing yet. */
static void go_on(struct recent_count *recent, int64_t second)
{
	int64_t first = recent->newest + 1;

	if (first < second - RECENT_SECONDS + 1)
		first = second - RECENT_SECONDS + 1;
	for (int64_t i = first; i <= second; i++)
		recent->counts[i % RECENT_SECONDS] = 0;
	if (second > recent->newest)
		recent->newest = second;
}

void recent_count_add(struct recent_count *recent, int64_t now_mono_ns, uint64_t count)
{
	(void)pthread_mutex_lock(&recent->lock);
	go_on(recent, now_mono_ns / NS_PER_S);
	recent->counts[recent->newest % RECENT_SECONDS] += count;
	(void)pthread_mutex_unlock(&recent->lock);
}

uint64_t recent_count_sum(struct recent_count *recent, int64_t now_mono_ns)
{
	uint64_t sum = 0;

	(void)pthread_mutex_lock(&recent->lock);
	go_on(recent, now_mono_ns / NS_PER_S);
	for (size_t i = 0; i < RECENT_SECONDS; i++)
		sum += recent->counts[i];
	(void)pthread_mutex_unlock(&recent->lock);
	return sum;
}
