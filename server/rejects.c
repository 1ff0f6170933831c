#include "server/rejects.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct rejects {
	pthread_mutex_t lock; /* guards everything below */
	struct reject *all;   /* oldest first */
	size_t count;
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 400, "invalid" },      { 422, "invalid" },      { 401, "no_tenant" },
	{ 405, "wrong_method" }, { 408, "cut_off" },      { 413, "too_large" },
	{ 415, "content_type" }, { 429, "rate_limited" }, { 501, "not_offered" },
	{ 503, "busy" },         { 504, "too_late" },     { 507, "disk_full" },
};

const char *reject_reason(int status)
{
	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return REJECT_REASON_OTHER;
}

struct rejects *rejects_new(void)
{
	struct rejects *rejects = mem_zalloc(1, sizeof(*rejects));

	(void)pthread_mutex_init(&rejects->lock, NULL);
	rejects->all = mem_zalloc(REJECTS_MAX, sizeof(*rejects->all));
	return rejects;
}

void rejects_free(struct rejects *rejects)
{
	if (!rejects)
		return;
	(void)pthread_mutex_destroy(&rejects->lock);
	free(rejects->all);
	free(rejects);
}

static bool is_of(const struct reject *reject, struct str tenant)
{
	return str_equal(REJECT_VIEW(reject->tenant), tenant);
}

/* Whose place a new one takes: the tenant's oldest, or the oldest of all. */
static size_t oldest(const struct rejects *rejects, struct str tenant)
{
	size_t first = rejects->count;
	size_t own = 0;

	for (size_t i = rejects->count; i > 0; i--) {
		if (!is_of(&rejects->all[i - 1], tenant))
			continue;
		first = i - 1;
		own++;
	}
	if (own >= REJECTS_PER_TENANT)
		return first;
	return rejects->count < REJECTS_MAX ? rejects->count : 0;
}

void rejects_add(struct rejects *rejects, const struct reject *reject)
{
	size_t place;

	(void)pthread_mutex_lock(&rejects->lock);
	place = oldest(rejects, REJECT_VIEW(reject->tenant));
	if (place < rejects->count) {
		rejects->count--;
		memmove(&rejects->all[place], &rejects->all[place + 1],
		        (rejects->count - place) * sizeof(*rejects->all));
	}
	rejects->all[rejects->count++] = *reject;
	(void)pthread_mutex_unlock(&rejects->lock);
}

size_t rejects_list(struct rejects *rejects, struct str tenant, struct reject *out, size_t max)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&rejects->lock);
	for (size_t i = rejects->count; i > 0 && count < max; i--)
		if (is_of(&rejects->all[i - 1], tenant))
			out[count++] = rejects->all[i - 1];
	(void)pthread_mutex_unlock(&rejects->lock);
	return count;
}
