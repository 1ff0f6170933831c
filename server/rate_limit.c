#include "server/rate_limit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#define SLOT_COUNT 16384 /* a power of two above RATE_LIMIT_TENANTS_MAX: chains stay short */

struct bucket {
	struct bucket *next; /* in its slot */
	double level;        /* bytes that may pass now, as of `at` */
	int64_t at_mono_ns;
	size_t tenant_length;
	char tenant[];
};

struct rate_limit {
	pthread_mutex_t lock; /* guards everything below */
	size_t count;
	size_t hand; /* the slot where the next search for a victim begins */
	struct bucket *slots[SLOT_COUNT];
};

struct rate_limit *rate_limit_new(void)
{
	struct rate_limit *limit = mem_zalloc(1, sizeof(*limit));

	(void)pthread_mutex_init(&limit->lock, NULL);
	return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
	if (!limit)
		return;
	for (size_t i = 0; i < SLOT_COUNT; i++)
		while (limit->slots[i]) {
			struct bucket *bucket = limit->slots[i];

			limit->slots[i] = bucket->next;
			free(bucket);
		}
	(void)pthread_mutex_destroy(&limit->lock);
	free(limit);
}

/* The bucket that was used longest ago among a few: near enough to the fullest. */
static void forget_one(struct rate_limit *limit)
{
	struct bucket **victim = NULL;
	size_t seen = 0;

	while (seen < 8) {
		struct bucket **at = &limit->slots[limit->hand];

		limit->hand = (limit->hand + 1) % SLOT_COUNT;
		for (; *at; at = &(*at)->next, seen++)
			if (!victim || (*at)->at_mono_ns < (*victim)->at_mono_ns)
				victim = at;
	}
	if (victim) {
		struct bucket *bucket = *victim;

		*victim = bucket->next;
		free(bucket);
		limit->count--;
	}
}

static struct bucket *find(const struct rate_limit *limit, struct str tenant, uint64_t hash)
{
	struct bucket *bucket = limit->slots[hash % SLOT_COUNT];

	while (bucket && !str_equal(tenant, (struct str){ bucket->tenant, bucket->tenant_length }))
		bucket = bucket->next;
	return bucket;
}

static struct bucket *find_or_add(struct rate_limit *limit, struct str tenant, double burst,
                                  int64_t now_mono_ns)
{
	const uint64_t hash = hash64(0, tenant.data, tenant.length);
	struct bucket *bucket = find(limit, tenant, hash);

	if (bucket)
		return bucket;
	if (limit->count >= RATE_LIMIT_TENANTS_MAX)
		forget_one(limit);
	bucket = mem_zalloc(1, sizeof(*bucket) + tenant.length);
	memcpy(bucket->tenant, tenant.length ? tenant.data : "", tenant.length);
	bucket->tenant_length = tenant.length;
	bucket->level = burst;
	bucket->at_mono_ns = now_mono_ns;
	bucket->next = limit->slots[hash % SLOT_COUNT];
	limit->slots[hash % SLOT_COUNT] = bucket;
	limit->count++;
	return bucket;
}

static void fill(struct bucket *bucket, double rate, double burst, int64_t now_mono_ns)
{
	if (now_mono_ns > bucket->at_mono_ns) {
		bucket->level +=
			rate * (double)(now_mono_ns - bucket->at_mono_ns) / (double)NS_PER_S;
		bucket->at_mono_ns = now_mono_ns;
	}
	if (bucket->level > burst)
		bucket->level = burst;
}

bool rate_limit_has(struct rate_limit *limit, struct str tenant, double cost, double rate,
                    double burst, int64_t now_mono_ns)
{
	struct bucket *bucket;
	bool passes;

	if (rate <= 0)
		return true;
	(void)pthread_mutex_lock(&limit->lock);
	bucket = find(limit, tenant, hash64(0, tenant.data, tenant.length));
	if (bucket)
		fill(bucket, rate, burst, now_mono_ns);
	passes = cost <= (bucket ? bucket->level : burst);
	(void)pthread_mutex_unlock(&limit->lock);
	return passes;
}

bool rate_limit_take(struct rate_limit *limit, struct str tenant, double cost, double rate,
                     double burst, int64_t now_mono_ns)
{
	struct bucket *bucket;
	bool passes;

	if (rate <= 0)
		return true;
	(void)pthread_mutex_lock(&limit->lock);
	bucket = find_or_add(limit, tenant, burst, now_mono_ns);
	fill(bucket, rate, burst, now_mono_ns);
	passes = cost <= bucket->level;
	if (passes)
		bucket->level -= cost;
	(void)pthread_mutex_unlock(&limit->lock);
	return passes;
}
