/*
 * The physical memory of one process: what has a handle, and where it is mapped.
 *
 * Shape    memory lives as long as it has a reference (its creation, a retained handle) or a
 *          mapping. One unmapping may cover several mappings. It is told when it begins and
 *          when it has ended: what it covers is nobody's in between, and is mapped again
 *          where it failed.
 *          Memory that another process allocated has LIVE_BLOCK_NO_SUM for its sum.
 * Units    bytes; addresses and handles as the driver gives them.
 * Errors   false: not known, or no room.
 * Threads  none: the collector's.
 * Source   collector specification 2.3, "Virtual memory management"
 *
 * Invariants, asserted by physical_memory_check():
 *   1. a block has a handle in the table if and only if it has references;
 *   2. it has as many mappings as the table of mappings and what is being unmapped say;
 *   3. a block without references and mappings is not there.
 */
#pragma once

#include "collector/live/live_table.h"

struct physical_block {
	uint64_t handle;
	uint64_t bytes;
	uint32_t sum; /* of its owner */
	uint32_t references;
	uint32_t mappings; /* also those that are being unmapped */
	uint32_t next;     /* unused blocks: the next one */
};

/* A mapping that its thread is unmapping. */
struct physical_unmapping {
	struct live_block mapping; /* its sum is the number of the block */
	uint32_t tid;
};

struct physical_memory;

/* A block lives no longer. */
typedef void (*physical_freed)(struct physical_memory *memory, const struct physical_block *block);

struct physical_memory {
	struct budget *budget;
	physical_freed freed;
	struct live_table handles;  /* handle -> number of the block, in `sum` */
	struct live_table mappings; /* address -> the same */
	struct physical_block *blocks;
	uint32_t count; /* used or not */
	uint32_t capacity;
	uint32_t unused; /* the first one, or PHYSICAL_NONE */
	struct physical_unmapping *unmappings;
	size_t unmapping_count;
	size_t unmapping_capacity;
};

#define PHYSICAL_NONE UINT32_MAX

/* The budget outlives it. `freed` is called from within the functions below. */
void physical_memory_init(struct physical_memory *memory, struct budget *budget,
                          physical_freed freed);
void physical_memory_fini(struct physical_memory *memory);

/* New memory with one reference. A handle that is known has been released unseen. */
bool physical_memory_add(struct physical_memory *memory, uint64_t handle, uint64_t bytes,
                         uint32_t sum);

/* One more reference to what is mapped at `address`; it is `handle` now. */
bool physical_memory_retain(struct physical_memory *memory, uint64_t handle, uint64_t address);

/* One reference less; false: no such handle. */
bool physical_memory_release(struct physical_memory *memory, uint64_t handle);

/* The block of a handle, or NULL; until the next change. */
struct physical_block *physical_memory_find(const struct physical_memory *memory, uint64_t handle);

/* The reference that a release took is there again; false: the block is gone. */
bool physical_memory_restore(struct physical_memory *memory, uint64_t handle, uint32_t number);

/* The number of a block that was found. */
uint32_t physical_memory_number(const struct physical_memory *memory,
                                const struct physical_block *block);

bool physical_memory_map(struct physical_memory *memory, uint64_t address, uint64_t bytes,
                         uint64_t handle);

void physical_memory_unmap(struct physical_memory *memory, uint32_t tid, uint64_t address,
                           uint64_t bytes);

enum unmap_outcome {
	UNMAP_DONE,
	UNMAP_FAILED
};

void physical_memory_unmapped(struct physical_memory *memory, uint32_t tid,
                              enum unmap_outcome outcome);

/* Each block once; *cursor is 0 before the first; NULL behind the last. Its sum may change. */
struct physical_block *physical_memory_next(const struct physical_memory *memory, size_t *cursor);

void physical_memory_check(const struct physical_memory *memory);
