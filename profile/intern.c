#include "profile/intern.h"

#define FIRST_SLOTS 64

/* The slot that holds `key`, or the empty one where it belongs. */
static uint32_t *place(const struct intern *intern, struct hash128 key)
{
	const uint32_t mask = intern->slot_count - 1;
	uint32_t at = (uint32_t)key.low & mask;

	while (intern->slots[at] && !hash128_equal(intern->keys[intern->slots[at] - 1], key))
		at = (at + 1) & mask;
	return &intern->slots[at];
}

static bool grow_slots(struct intern *intern, struct arena *arena)
{
	const uint32_t slot_count = intern->slot_count ? intern->slot_count * 2 : FIRST_SLOTS;
	uint32_t *slots;

	if (intern->count >= INTERN_MAX / 2)
		return false;
	slots = arena_array(arena, slot_count, sizeof(*slots));
	if (!slots)
		return false;
	intern->slots = slots;
	intern->slot_count = slot_count;
	for (uint32_t id = 0; id < intern->count; id++)
		*place(intern, intern->keys[id]) = id + 1;
	return true;
}

uint32_t intern_find(const struct intern *intern, struct hash128 key)
{
	const uint32_t slot = intern->slot_count ? *place(intern, key) : 0;

	return slot ? slot - 1 : INTERN_NONE;
}

uint32_t intern_add(struct intern *intern, struct arena *arena, struct hash128 key, bool *out_new)
{
	uint32_t *slot;

	if ((uint64_t)(intern->count + 1) * 3 > (uint64_t)intern->slot_count * 2 &&
	    !grow_slots(intern, arena))
		return INTERN_NONE;
	slot = place(intern, key);
	*out_new = *slot == 0;
	if (*slot)
		return *slot - 1;
	if (!ARENA_GROW(arena, intern->keys, intern->count, intern->key_capacity))
		return INTERN_NONE;
	intern->keys[intern->count] = key;
	*slot = ++intern->count;
	return intern->count - 1;
}
