#include "storage/postings.h"

#include <assert.h>

#define FIRST_CAPACITY 4
#define LAST_CAPACITY  1024 /* chunks double up to this, so that little of one is unused */

struct postings_chunk {
	struct postings_chunk *next;
	uint32_t capacity;
	uint32_t used; /* of the thread that adds */
	uint32_t ids[];
};

static struct postings_chunk *add_chunk(struct postings *list, struct arena *arena)
{
	struct postings_chunk *last = list->last;
	const uint32_t doubled = last ? last->capacity * 2 : FIRST_CAPACITY;
	const uint32_t capacity = doubled < LAST_CAPACITY ? doubled : LAST_CAPACITY;
	struct postings_chunk *chunk =
		arena_alloc_raw(arena, sizeof(*chunk) + capacity * sizeof(chunk->ids[0]));

	if (!chunk)
		return NULL;
	*chunk = (struct postings_chunk){ .capacity = capacity };
	if (last)
		last->next = chunk;
	else
		list->chunks = chunk;
	list->last = chunk;
	return chunk;
}

bool postings_add(struct postings *list, uint32_t id, struct arena *arena)
{
	const uint32_t count = atomic_load_explicit(&list->count, memory_order_relaxed);
	struct postings_chunk *chunk = list->last;

	if (count == 0) {
		list->first = id;
	} else {
		if (!chunk || chunk->used == chunk->capacity)
			chunk = add_chunk(list, arena);
		if (!chunk)
			return false;
		chunk->ids[chunk->used++] = id;
	}
	/* a reader that sees the count sees the id, and the chunk that it stands in */
	atomic_store_explicit(&list->count, count + 1, memory_order_release);
	return true;
}

struct postings_cursor postings_read(const struct postings *list)
{
	return (struct postings_cursor){ .list = list, .left = postings_count(list) };
}

bool postings_next(struct postings_cursor *cursor, const uint32_t **out_ids, uint32_t *out_count)
{
	const struct postings *list = cursor->list;
	const struct postings_chunk *chunk = cursor->chunk;

	if (cursor->left == 0)
		return false;
	if (list) {
		*out_ids = &list->first;
		*out_count = 1;
		cursor->list = NULL;
		/* written once, before there is a second id */
		cursor->chunk = cursor->left > 1 ? list->chunks : NULL;
	} else if (chunk) {
		*out_ids = chunk->ids;
		*out_count = cursor->left < chunk->capacity ? cursor->left : chunk->capacity;
		/* one behind this is there when ids in it are counted */
		cursor->chunk = cursor->left > chunk->capacity ? chunk->next : NULL;
	} else {
		return false;
	}
	cursor->left -= *out_count;
	return true;
}

void postings_check(const struct postings *list)
{
	struct postings_cursor cursor = postings_read(list);
	const uint32_t *ids;
	uint32_t seen = 0;
	uint32_t count;
	uint32_t before = 0;

	while (postings_next(&cursor, &ids, &count)) {
		for (uint32_t i = 0; i < count; i++) {
			assert((seen == 0 && i == 0) || ids[i] > before);
			before = ids[i];
		}
		seen += count;
	}
	assert(seen == postings_count(list));
}
