#include "profile/id_index.h"

#define TABLE_SLACK 1024 /* entries that a table may have beyond 4 for each thing. A guess */

static bool make_table(struct id_index *index, const uint32_t *ids, size_t count,
                       struct arena *arena)
{
	uint32_t *table = arena_array_raw(arena, index->table_length, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < index->table_length; i++)
		table[i] = PROFILE_NONE;
	for (size_t i = 0; i < count; i++)
		table[ids[i]] = (uint32_t)i;
	index->table = table;
	return true;
}

static bool make_map(struct id_index *index, const uint32_t *ids, size_t count, struct arena *arena)
{
	if (!number_map_init(&index->map, arena, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t *value = number_map_at(&index->map, ids[i]);

		if (!value)
			return false;
		*value = (uint32_t)i;
	}
	return true;
}

bool id_index_init(struct id_index *index, const uint32_t *ids, size_t count, struct arena *arena)
{
	uint32_t greatest = 0;

	for (size_t i = 0; i < count; i++)
		greatest = ids[i] > greatest ? ids[i] : greatest;
	*index = (struct id_index){ .table_length = (size_t)greatest + 1 };
	if (greatest <= 4 * count + TABLE_SLACK)
		return make_table(index, ids, count, arena);
	return make_map(index, ids, count, arena);
}

uint32_t id_index_find_sparse(const struct id_index *index, uint32_t id)
{
	const uint32_t found = number_map_find(&index->map, id);

	return found == NUMBER_MAP_NONE ? PROFILE_NONE : found;
}

void id_index_resolve(const struct id_index *index, uint32_t *ids, size_t count)
{
	const uint32_t *table = index->table;
	const size_t length = index->table_length;

	if (table)
		for (size_t i = 0; i < count; i++)
			ids[i] = ids[i] < length ? table[ids[i]] : PROFILE_NONE;
	else
		for (size_t i = 0; i < count; i++)
			ids[i] = id_index_find_sparse(index, ids[i]);
}
