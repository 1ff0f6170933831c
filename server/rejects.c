#include "server/rejects.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"

#define NOBODY  UINT32_MAX
#define BUCKETS 1024 /* a power of two */

/* A reject, between the older and the newer one of all. */
struct place {
	struct reject reject;
	uint32_t older;
	uint32_t newer;
	uint32_t newer_own; /* of its tenant */
	uint32_t owner;
};

/* A tenant that has at least one. */
struct owner {
	uint32_t oldest;
	uint32_t newest;
	uint32_t count;
	uint32_t next; /* of its bucket, or of those that are free */
};

struct rejects {
	uint64_t secret;      /* of the hashes */
	pthread_mutex_t lock; /* guards everything below */
	struct place *places;
	size_t count;
	uint32_t oldest;
	uint32_t newest;
	struct owner *owners;
	uint32_t free_owner;
	uint32_t buckets[BUCKETS]; /* owners, by hash of their names */
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 400, "invalid" },     { 422, "invalid" },      { 401, "no_tenant" },
	{ 404, "no_route" },    { 405, "wrong_method" }, { 408, "cut_off" },
	{ 413, "too_large" },   { 415, "content_type" }, { 429, "rate_limited" },
	{ 501, "not_offered" }, { 503, "busy" },         { 504, "too_late" },
	{ 507, "disk_full" },
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
	const struct uuid random = uuid_random();

	memcpy(&rejects->secret, random.bytes, sizeof(rejects->secret));
	(void)pthread_mutex_init(&rejects->lock, NULL);
	rejects->places = mem_zalloc(REJECTS_MAX, sizeof(*rejects->places));
	rejects->owners = mem_zalloc(REJECTS_MAX, sizeof(*rejects->owners));
	rejects->oldest = rejects->newest = NOBODY;
	for (uint32_t i = 0; i < REJECTS_MAX; i++)
		rejects->owners[i].next = i + 1 < REJECTS_MAX ? i + 1 : NOBODY;
	for (size_t i = 0; i < BUCKETS; i++)
		rejects->buckets[i] = NOBODY;
	return rejects;
}

void rejects_free(struct rejects *rejects)
{
	if (!rejects)
		return;
	(void)pthread_mutex_destroy(&rejects->lock);
	free(rejects->places);
	free(rejects->owners);
	free(rejects);
}

/* ---- tenants ---- */

static uint32_t *bucket_of(struct rejects *rejects, struct str tenant)
{
	return &rejects->buckets[hash64(rejects->secret, tenant.data, tenant.length) &
	                         (BUCKETS - 1)];
}

static struct str name_of(const struct rejects *rejects, uint32_t owner)
{
	return REJECT_VIEW(rejects->places[rejects->owners[owner].oldest].reject.tenant);
}

/* The owner of that name, or NOBODY. */
static uint32_t find_owner(struct rejects *rejects, struct str tenant)
{
	uint32_t owner = *bucket_of(rejects, tenant);

	while (owner != NOBODY && !str_equal(name_of(rejects, owner), tenant))
		owner = rejects->owners[owner].next;
	return owner;
}

/* An owner for the reject at `place`, which will be its first. */
static uint32_t make_owner(struct rejects *rejects, struct str tenant, uint32_t place)
{
	uint32_t *bucket = bucket_of(rejects, tenant);
	const uint32_t owner = rejects->free_owner;
	struct owner *made = &rejects->owners[owner];

	rejects->free_owner = made->next;
	*made = (struct owner){ .oldest = place, .newest = place, .next = *bucket };
	*bucket = owner;
	return owner;
}

static void free_owner(struct rejects *rejects, struct str tenant, uint32_t owner)
{
	uint32_t *link = bucket_of(rejects, tenant);

	while (*link != owner)
		link = &rejects->owners[*link].next;
	*link = rejects->owners[owner].next;
	rejects->owners[owner].next = rejects->free_owner;
	rejects->free_owner = owner;
}

/* ---- rejects ---- */

/* Takes off a reject that is the oldest of its tenant. */
static void drop(struct rejects *rejects, uint32_t at)
{
	const struct place *place = &rejects->places[at];
	struct owner *owner = &rejects->owners[place->owner];

	if (--owner->count == 0)
		free_owner(rejects, REJECT_VIEW(place->reject.tenant), place->owner);
	else
		owner->oldest = place->newer_own;
	if (place->older == NOBODY)
		rejects->oldest = place->newer;
	else
		rejects->places[place->older].newer = place->newer;
	if (place->newer == NOBODY)
		rejects->newest = place->older;
	else
		rejects->places[place->newer].older = place->older;
}

/* Where a new one goes: into the place of the tenant's oldest, or of the oldest of all. */
static uint32_t make_place(struct rejects *rejects, struct str tenant)
{
	const uint32_t owner = find_owner(rejects, tenant);
	uint32_t place = rejects->oldest;

	if (owner != NOBODY && rejects->owners[owner].count >= REJECTS_PER_TENANT)
		place = rejects->owners[owner].oldest;
	else if (rejects->count < REJECTS_MAX)
		return (uint32_t)rejects->count++;
	drop(rejects, place);
	return place;
}

static void put(struct rejects *rejects, uint32_t at, const struct reject *reject)
{
	const struct str tenant = REJECT_VIEW(reject->tenant);
	struct place *place = &rejects->places[at];
	uint32_t owner = find_owner(rejects, tenant);

	if (owner == NOBODY)
		owner = make_owner(rejects, tenant, at);
	else
		rejects->places[rejects->owners[owner].newest].newer_own = at;
	rejects->owners[owner].newest = at;
	rejects->owners[owner].count++;
	*place = (struct place){ *reject, rejects->newest, NOBODY, NOBODY, owner };
	if (place->older == NOBODY)
		rejects->oldest = at;
	else
		rejects->places[place->older].newer = at;
	rejects->newest = at;
}

void rejects_add(struct rejects *rejects, const struct reject *reject)
{
	(void)pthread_mutex_lock(&rejects->lock);
	put(rejects, make_place(rejects, REJECT_VIEW(reject->tenant)), reject);
	(void)pthread_mutex_unlock(&rejects->lock);
}

size_t rejects_list(struct rejects *rejects, struct str tenant, struct reject *out, size_t max)
{
	size_t count = 0;
	uint32_t owner;

	(void)pthread_mutex_lock(&rejects->lock);
	owner = find_owner(rejects, tenant);
	for (uint32_t at = owner == NOBODY ? NOBODY : rejects->newest; at != NOBODY && count < max;
	     at = rejects->places[at].older)
		if (rejects->places[at].owner == owner)
			out[count++] = rejects->places[at].reject;
	(void)pthread_mutex_unlock(&rejects->lock);
	return count;
}
