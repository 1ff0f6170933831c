#include "collector/live/live_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/uuid.h"

#define FIRST_SLOTS 64

void live_table_init(struct live_table *table, struct budget *budget)
{
	const struct uuid random = uuid_random();

	*table = (struct live_table){ .budget = budget };
	memcpy(&table->key, random.bytes, sizeof(table->key));
}

static size_t slot_bytes(size_t slot_count)
{
	return slot_count * sizeof(struct live_block);
}

void live_table_fini(struct live_table *table)
{
	if (table->slot_count > 0)
		budget_give(table->budget, slot_bytes(table->slot_count));
	free(table->slots);
	*table = (struct live_table){ .budget = table->budget, .key = table->key };
}

static size_t home_of(const struct live_table *table, uint64_t address)
{
	return hash64(table->key, &address, sizeof(address)) & (table->slot_count - 1);
}

/* The slot of `address`, or the empty one where it belongs. */
static size_t place(const struct live_table *table, uint64_t address)
{
	size_t at = home_of(table, address);

	while (table->slots[at].is_used && table->slots[at].address != address)
		at = (at + 1) & (table->slot_count - 1);
	return at;
}

/* Moves all blocks into `slot_count` slots. False when the budget says no. */
static bool resize(struct live_table *table, size_t slot_count)
{
	struct live_table old = *table;

	if (!budget_take(table->budget, slot_bytes(slot_count)))
		return false;
	table->slots = mem_zalloc(slot_count, sizeof(*table->slots));
	table->slot_count = slot_count;
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].is_used)
			table->slots[place(table, old.slots[i].address)] = old.slots[i];
	live_table_fini(&old);
	return true;
}

bool live_table_put(struct live_table *table, uint64_t address, uint64_t bytes, uint32_t sum)
{
	const size_t slots = table->slot_count;
	size_t at;

	if ((table->count + 1) * 4 > slots * 3 && !resize(table, slots ? slots * 2 : FIRST_SLOTS))
		return false;
	at = place(table, address);
	assert(!table->slots[at].is_used);
	table->slots[at] = (struct live_block){ address, bytes, sum, 1 };
	table->count++;
	return true;
}

bool live_table_has(const struct live_table *table, uint64_t address)
{
	return table->count > 0 && table->slots[place(table, address)].is_used;
}

/* Closes the gap at `hole`: blocks behind it that would not be found any more move up. */
static void close_gap(struct live_table *table, size_t hole)
{
	const size_t mask = table->slot_count - 1;

	for (size_t at = (hole + 1) & mask; table->slots[at].is_used; at = (at + 1) & mask) {
		const size_t home = home_of(table, table->slots[at].address);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		table->slots[hole] = table->slots[at];
		hole = at;
	}
	table->slots[hole] = (struct live_block){ 0 };
}

bool live_table_take(struct live_table *table, uint64_t address, struct live_block *out)
{
	size_t at;

	if (table->count == 0)
		return false;
	at = place(table, address);
	if (!table->slots[at].is_used)
		return false;
	*out = table->slots[at];
	close_gap(table, at);
	table->count--;
	if (table->count == 0)
		live_table_fini(table);
	else if (table->slot_count > FIRST_SLOTS && table->count * 8 < table->slot_count)
		(void)resize(table, table->slot_count / 2); /* a full budget: it stays large */
	return true;
}

struct live_block *live_table_next(const struct live_table *table, size_t *cursor)
{
	while (*cursor < table->slot_count) {
		struct live_block *block = &table->slots[(*cursor)++];

		if (block->is_used)
			return block;
	}
	return NULL;
}

void live_table_check(const struct live_table *table)
{
	size_t count = 0;

	assert((table->slot_count & (table->slot_count - 1)) == 0);
	assert(table->count * 4 <= table->slot_count * 3);
	for (size_t i = 0; i < table->slot_count; i++) {
		if (!table->slots[i].is_used)
			continue;
		assert(place(table, table->slots[i].address) == i);
		count++;
	}
	assert(count == table->count);
	assert(budget_used(table->budget) >= slot_bytes(table->slot_count));
}
