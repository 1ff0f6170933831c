/*
 * The live blocks of one process, by address.
 *
 * Shape    open addressing with linear probes and keyed hashes; what is taken out leaves
 *          no grave behind, and a table that has become empty gives its memory back. A
 *          block has some number of its owner: which sum it counts in.
 * Units    bytes; 24 of memory a slot, at most three quarters of the slots are used.
 * Errors   live_table_put() says false when the budget is used up.
 * Threads  none: the collector's.
 *
 * Invariants, asserted by live_table_check():
 *   1. slot_count is 0 or a power of two, and count * 4 <= slot_count * 3;
 *   2. no address stands in two slots, and between a block and its hash's slot there is
 *      no empty one;
 *   3. the budget was asked for exactly what the slots take.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"

struct live_block {
	uint64_t address;
	uint64_t bytes;
	uint32_t sum;
	uint16_t context; /* of the driver, where it is known (device_contexts.h); 0: not */
	uint16_t is_used; /* 0: an empty slot */
};

#define LIVE_BLOCK_NO_SUM UINT32_MAX /* known, and counts nowhere: memory of somebody else */

struct live_table {
	struct budget *budget;
	struct live_block *slots;
	size_t slot_count;
	size_t count;
	uint64_t key;
};

/* The budget outlives the table. */
void live_table_init(struct live_table *table, struct budget *budget);
void live_table_fini(struct live_table *table);

/* Adds a block whose address is not there. */
bool live_table_put(struct live_table *table, const struct live_block *block);

/* The block at `address`; false when there is none. */
bool live_table_find(const struct live_table *table, uint64_t address, struct live_block *out);

/* Takes the block at `address` out; false when there is none. */
bool live_table_take(struct live_table *table, uint64_t address, struct live_block *out);

/* Whether a block goes; asked more than once of some. */
typedef bool (*live_block_goes)(const void *context, const struct live_block *block);

/* Takes out what goes; `taken` is called for each. */
void live_table_sweep(struct live_table *table, live_block_goes goes, const void *context,
                      void (*taken)(void *taker, const struct live_block *block), void *taker);

/*
 * Each block once, in no order; *cursor is 0 before the first; NULL behind the last. Its
 * sum may be changed.
 */
struct live_block *live_table_next(const struct live_table *table, size_t *cursor);

void live_table_check(const struct live_table *table);
