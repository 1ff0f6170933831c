#include "formats/intern_table.h"

#define FIRST_SLOTS 64
#define ENTRIES_MAX (UINT32_MAX / 2)

/* The slot that holds `key`, or the empty one where it belongs. */
static uint32_t *find_slot(const struct intern_table *table, struct hash128 key)
{
	const size_t mask = table->slot_count - 1;
	size_t at = (size_t)key.low & mask;

	while (table->slots[at] != 0 && !hash128_equal(table->keys[table->slots[at] - 1], key))
		at = (at + 1) & mask;
	return &table->slots[at];
}

static bool grow_slots(struct intern_table *table)
{
	const size_t slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	uint32_t *slots = arena_array(table->arena, slot_count, sizeof(*slots));

	if (!slots)
		return false;
	table->slots = slots;
	table->slot_count = slot_count;
	for (size_t id = 0; id < table->count; id++)
		*find_slot(table, table->keys[id]) = (uint32_t)id + 1;
	return true;
}

uint32_t intern_table_add(struct intern_table *table, struct hash128 key, bool *out_new)
{
	uint32_t *slot;

	if ((table->count + 1) * 4 > table->slot_count * 3 && !grow_slots(table))
		return INTERN_NONE;
	slot = find_slot(table, key);
	*out_new = *slot == 0;
	if (*slot != 0)
		return *slot - 1;

	if (table->count == ENTRIES_MAX ||
	    !ARENA_GROW(table->arena, table->keys, table->count, table->key_capacity))
		return INTERN_NONE;
	table->keys[table->count++] = key;
	*slot = (uint32_t)table->count;
	return *slot - 1;
}
