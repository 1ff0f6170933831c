#include "server/senders.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"

struct senders {
	uint64_t secret;      /* of the hashes */
	pthread_mutex_t lock; /* guards everything below */
	struct hash128 keys[SENDERS_MAX];
	struct sender items[SENDERS_MAX];
	size_t count;
};

struct senders *senders_new(void)
{
	struct senders *senders = mem_zalloc(1, sizeof(*senders));
	const struct uuid random = uuid_random();

	memcpy(&senders->secret, random.bytes, sizeof(senders->secret));
	(void)pthread_mutex_init(&senders->lock, NULL);
	return senders;
}

void senders_free(struct senders *senders)
{
	if (!senders)
		return;
	(void)pthread_mutex_destroy(&senders->lock);
	free(senders);
}

static struct hash128 key_of(const struct senders *senders, const struct sender_note *note)
{
	const struct hash128 parts[] = {
		hash128_str(senders->secret, note->tenant),
		hash128_str(senders->secret, note->address),
		hash128_str(senders->secret, note->agent),
		hash128_str(senders->secret, str_of(note->route)),
	};

	return hash128(senders->secret, parts, sizeof(parts));
}

static void keep(struct str text, char *to, size_t room)
{
	const struct str kept = str_first(text, room - 1);

	if (kept.length > 0)
		memcpy(to, kept.data, kept.length);
	to[kept.length] = '\0';
}

/* A free place, or that of whom nothing was heard of for the longest. */
static size_t take_place(struct senders *senders)
{
	size_t oldest = 0;

	if (senders->count < SENDERS_MAX)
		return senders->count++;
	for (size_t i = 1; i < SENDERS_MAX; i++)
		if (senders->items[i].last_unix_ns < senders->items[oldest].last_unix_ns)
			oldest = i;
	return oldest;
}

static struct sender *find(struct senders *senders, const struct sender_note *note,
                           struct hash128 key)
{
	struct sender *sender;
	size_t at;

	for (size_t i = 0; i < senders->count; i++)
		if (hash128_equal(senders->keys[i], key))
			return &senders->items[i];
	at = take_place(senders);
	senders->keys[at] = key;
	sender = &senders->items[at];
	*sender = (struct sender){ .first_unix_ns = note->time_unix_ns, .route = note->route };
	keep(note->tenant, sender->tenant, sizeof(sender->tenant));
	keep(note->address, sender->address, sizeof(sender->address));
	keep(note->agent, sender->agent, sizeof(sender->agent));
	return sender;
}

void senders_note(struct senders *senders, const struct sender_note *note)
{
	const struct hash128 key = key_of(senders, note);
	struct sender *sender;

	(void)pthread_mutex_lock(&senders->lock);
	sender = find(senders, note, key);
	sender->last_unix_ns = note->time_unix_ns;
	sender->writes++;
	(void)pthread_mutex_unlock(&senders->lock);
}

static int compare_senders(const void *left, const void *right)
{
	const struct sender *a = left;
	const struct sender *b = right;

	if (a->last_unix_ns != b->last_unix_ns)
		return a->last_unix_ns > b->last_unix_ns ? -1 : 1;
	return strcmp(a->address, b->address);
}

size_t senders_list(struct senders *senders, struct str tenant, struct sender *out, size_t max)
{
	struct sender *own = mem_zalloc(SENDERS_MAX, sizeof(*own));
	size_t count = 0;

	(void)pthread_mutex_lock(&senders->lock);
	for (size_t i = 0; i < senders->count; i++)
		if (str_equals(tenant, senders->items[i].tenant))
			own[count++] = senders->items[i];
	(void)pthread_mutex_unlock(&senders->lock);
	if (count > 1)
		qsort(own, count, sizeof(*own), compare_senders);
	if (count > max)
		count = max;
	if (count > 0)
		memcpy(out, own, count * sizeof(*out));
	free(own);
	return count;
}
