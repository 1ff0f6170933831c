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
