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

bool live_table_put(struct live_table *table, const struct live_block *block)
{
	const size_t slots = table->slot_count;
	size_t at;

	if ((table->count + 1) * 4 > slots * 3 && !resize(table, slots ? slots * 2 : FIRST_SLOTS))
		return false;
	at = place(table, block->address);
	assert(!table->slots[at].is_used);
	table->slots[at] = *block;
	table->slots[at].is_used = 1;
	table->count++;
	return true;
}

bool live_table_find(const struct live_table *table, uint64_t address, struct live_block *out)
{
	if (table->count == 0)
		return false;
	*out = table->slots[place(table, address)];
	return out->is_used;
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

static void shrink(struct live_table *table)
{
	if (table->count == 0)
		live_table_fini(table);
	else if (table->slot_count > FIRST_SLOTS && table->count * 8 < table->slot_count)
		(void)resize(table, table->slot_count / 2); /* a full budget: it stays large */
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
	shrink(table);
	return true;
}

/*
 * A gap is closed by blocks from behind it, which are looked at then: some of them, around
 * the end of the slots, for the second time.
 */
void live_table_sweep(struct live_table *table, live_block_goes goes, const void *context,
                      void (*taken)(void *taker, const struct live_block *block), void *taker)
{
	for (size_t at = 0; at < table->slot_count; at++) {
		while (table->slots[at].is_used && goes(context, &table->slots[at])) {
			const struct live_block block = table->slots[at];

			close_gap(table, at);
			table->count--;
			taken(taker, &block);
		}
	}
	shrink(table);
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
