/*
 * Where the things of a message stand by the ids that it gave them.
 *
 * Shape    a table when the ids are about as small as the things are many (1 to n, as
 *          most writers count), else a map. Of things with one id the last one counts.
 * Errors   false when the arena is full.
 * Threads  none.
 */
#pragma once

#include "profile/number_map.h"
#include "profile/profile.h"

struct id_index {
	const uint32_t *table; /* by id, or NULL: look into the map */
	size_t table_length;
	struct number_map map;
};

bool id_index_init(struct id_index *index, const uint32_t *ids, size_t count, struct arena *arena);

/* id_index_find() in the map. */
uint32_t id_index_find_sparse(const struct id_index *index, uint32_t id);

/* The index of the thing with `id`, or PROFILE_NONE. */
static inline uint32_t id_index_find(const struct id_index *index, uint32_t id)
{
	if (!index->table)
		return id_index_find_sparse(index, id);
	return id < index->table_length ? index->table[id] : PROFILE_NONE;
}

/* Puts the index in the place of each id. */
void id_index_resolve(const struct id_index *index, uint32_t *ids, size_t count);
