#include "profile/number_map.h"

#include "base/uuid.h"

#define FIRST_SLOTS ((size_t)16)

static struct number_map_slot *new_slots(struct arena *arena, size_t count)
{
	struct number_map_slot *slots = arena_array_raw(arena, count, sizeof(*slots));

	if (slots)
		memset(slots, 0xff, count * sizeof(*slots)); /* NUMBER_MAP_NONE everywhere */
	return slots;
}

bool number_map_init(struct number_map *map, struct arena *arena, size_t expected)
{
	const struct uuid random = uuid_random();

	*map = (struct number_map){ .arena = arena, .slot_count = FIRST_SLOTS };
	memcpy(&map->key, random.bytes, sizeof(map->key));
	while (map->slot_count / 3 * 2 < expected && map->slot_count <= SIZE_MAX / 2)
		map->slot_count *= 2;
	map->slots = new_slots(arena, map->slot_count);
	return map->slots != NULL;
}

static struct number_map_slot *place(const struct number_map *map, uint64_t number)
{
	const size_t mask = map->slot_count - 1;
	size_t at = hash64(map->key, &number, sizeof(number)) & mask;

	while (map->slots[at].value != NUMBER_MAP_NONE && map->slots[at].number != number)
		at = (at + 1) & mask;
	return &map->slots[at];
}

static bool grow(struct number_map *map)
{
	const struct number_map old = *map;
	struct number_map_slot *slots = new_slots(map->arena, old.slot_count * 2);

	if (!slots)
		return false;
	map->slots = slots;
	map->slot_count = old.slot_count * 2;
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].value != NUMBER_MAP_NONE)
			*place(map, old.slots[i].number) = old.slots[i];
	return true;
}

uint32_t *number_map_at(struct number_map *map, uint64_t number)
{
	struct number_map_slot *slot;

	if (map->count >= map->slot_count / 3 * 2 && !grow(map))
		return NULL;
	slot = place(map, number);
	if (slot->value == NUMBER_MAP_NONE) {
		slot->number = number;
		map->count++;
	}
	return &slot->value;
}
