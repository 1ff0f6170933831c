#include "storage/hash_slots.h"

#include <stdlib.h>

#include "base/mem.h"

#define FIRST_SLOTS 64

struct hash_slots_table {
	struct hash_slots_table *older;
	uint32_t slot_count;      /* a power of two */
	_Atomic uint64_t slots[]; /* hash << 32 | id + 1, 0: empty */
};

static struct hash_slots_table *table_of(const struct hash_slots *slots)
{
	return atomic_load_explicit(&slots->table, memory_order_acquire);
}

void hash_slots_fini(struct hash_slots *slots)
{
	struct hash_slots_table *table = table_of(slots);

	while (table) {
		struct hash_slots_table *older = table->older;

		free(table);
		table = older;
	}
	*slots = (struct hash_slots){ 0 };
}

static size_t table_bytes(uint32_t slot_count)
{
	return sizeof(struct hash_slots_table) + slot_count * sizeof(uint64_t);
}

static void put(struct hash_slots_table *table, uint64_t slot)
{
	const uint32_t mask = table->slot_count - 1;
	uint32_t at = (uint32_t)(slot >> 32) & mask;

	while (atomic_load_explicit(&table->slots[at], memory_order_relaxed) != 0)
		at = (at + 1) & mask;
	/* who finds the id sees what it stands for */
	atomic_store_explicit(&table->slots[at], slot, memory_order_release);
}

static struct hash_slots_table *grow(struct hash_slots *slots)
{
	struct hash_slots_table *old = table_of(slots);
	const uint32_t slot_count = old ? old->slot_count * 2 : FIRST_SLOTS;
	struct hash_slots_table *table = mem_zalloc(1, table_bytes(slot_count));

	table->slot_count = slot_count;
	table->older = old;
	for (uint32_t i = 0; old && i < old->slot_count; i++) {
		const uint64_t slot = atomic_load_explicit(&old->slots[i], memory_order_relaxed);

		if (slot != 0)
			put(table, slot);
	}
	atomic_store_explicit(&slots->table, table, memory_order_release);
	return table;
}

void hash_slots_add(struct hash_slots *slots, uint32_t hash, uint32_t id)
{
	struct hash_slots_table *table = table_of(slots);

	if (!table || slots->count >= table->slot_count / 4 * 3)
		table = grow(slots);
	put(table, (uint64_t)hash << 32 | (id + 1));
	slots->count++;
}

struct hash_probe hash_slots_probe(const struct hash_slots *slots, uint32_t hash)
{
	return (struct hash_probe){ .table = table_of(slots), .hash = hash, .at = hash };
}

uint32_t hash_probe_next(struct hash_probe *probe)
{
	const struct hash_slots_table *table = probe->table;

	while (table) {
		const uint64_t slot = atomic_load_explicit(
			&table->slots[probe->at & (table->slot_count - 1)], memory_order_acquire);

		if (slot == 0)
			return HASH_SLOTS_NONE;
		probe->at++;
		if ((uint32_t)(slot >> 32) == probe->hash)
			return (uint32_t)slot - 1;
	}
	return HASH_SLOTS_NONE;
}

size_t hash_slots_bytes(const struct hash_slots *slots)
{
	size_t bytes = 0;

	for (const struct hash_slots_table *table = table_of(slots); table; table = table->older)
		bytes += table_bytes(table->slot_count);
	return bytes;
}
