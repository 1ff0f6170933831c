#include "profile/intern.h"

#define FIRST_SLOTS 64

/* The slot that holds `key`, or the empty one where it belongs. */
static struct intern_slot *place(const struct intern *intern, struct hash128 key)
{
	const uint32_t mask = intern->slot_count - 1;
	const uint32_t tag = (uint32_t)(key.low >> 32);
	uint32_t at = (uint32_t)key.low & mask;

	for (;; at = (at + 1) & mask) {
		struct intern_slot *slot = &intern->slots[at];

		if (slot->id == 0 ||
		    (slot->tag == tag && hash128_equal(intern->keys[slot->id - 1], key)))
			return slot;
	}
}

static void fill(struct intern_slot *slot, uint32_t id, struct hash128 key)
{
	*slot = (struct intern_slot){ id + 1, (uint32_t)(key.low >> 32) };
}

static bool take_slots(struct intern *intern, struct arena *arena, uint32_t slot_count)
{
	struct intern_slot *slots = arena_array(arena, slot_count, sizeof(*slots));

	if (!slots)
		return false;
	intern->slots = slots;
	intern->slot_count = slot_count;
	for (uint32_t id = 0; id < intern->count; id++)
		fill(place(intern, intern->keys[id]), id, intern->keys[id]);
	return true;
}

/* At most two thirds of the slots are taken. */
static bool needs_slots(const struct intern *intern, size_t count)
{
	return (uint64_t)count * 3 > (uint64_t)intern->slot_count * 2;
}

bool intern_reserve(struct intern *intern, struct arena *arena, size_t count)
{
	uint64_t slot_count = intern->slot_count ? intern->slot_count : FIRST_SLOTS;
	struct hash128 *keys;

	if (count >= INTERN_MAX / 2)
		return false;
	while (count * 3 > slot_count * 2)
		slot_count *= 2;
	if (needs_slots(intern, count) && !take_slots(intern, arena, (uint32_t)slot_count))
		return false;
	if (count <= intern->key_capacity)
		return true;
	keys = arena_resize(arena, intern->keys, intern->key_capacity * sizeof(*keys),
	                    count * sizeof(*keys));
	if (!keys)
		return false;
	intern->keys = keys;
	intern->key_capacity = count;
	return true;
}

uint32_t intern_find(const struct intern *intern, struct hash128 key)
{
	return intern->slot_count ? place(intern, key)->id - 1 : INTERN_NONE;
}

uint32_t intern_add(struct intern *intern, struct arena *arena, struct hash128 key, bool *out_new)
{
	const uint32_t id = intern->count;
	struct intern_slot *slot;

	if (needs_slots(intern, (size_t)id + 1) &&
	    (id >= INTERN_MAX / 2 ||
	     !take_slots(intern, arena, intern->slot_count ? intern->slot_count * 2 : FIRST_SLOTS)))
		return INTERN_NONE;
	slot = place(intern, key);
	*out_new = slot->id == 0;
	if (slot->id)
		return slot->id - 1;
	if (!ARENA_GROW(arena, intern->keys, id, intern->key_capacity))
		return INTERN_NONE;
	intern->keys[id] = key;
	fill(slot, id, key);
	intern->count++;
	return id;
}
