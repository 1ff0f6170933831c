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
	uint32_t is_used; /* 0: an empty slot */
};

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
bool live_table_put(struct live_table *table, uint64_t address, uint64_t bytes, uint32_t sum);

bool live_table_has(const struct live_table *table, uint64_t address);

/* Takes the block at `address` out; false when there is none. */
bool live_table_take(struct live_table *table, uint64_t address, struct live_block *out);

/*
 * Each block once, in no order; *cursor is 0 before the first; NULL behind the last. Its
 * sum may be changed.
 */
struct live_block *live_table_next(const struct live_table *table, size_t *cursor);

void live_table_check(const struct live_table *table);
