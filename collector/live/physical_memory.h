/*
 * The physical memory of one process: what has a handle, and where it is mapped.
 *
 * Shape    memory lives as long as it has a reference (its creation, a retained handle) or a
 *          mapping. Mappings are apart: what is mapped where another one lies says that this
 *          was unmapped unseen. One unmapping may cover several mappings. It is told when it
 *          begins and when it has ended: if that well, what lay in it at the beginning is
 *          gone; what was mapped there meanwhile by another thread is newer, and stays.
 *          UNMAPPINGS_MAX threads have a place for what they are unmapping; one that takes
 *          another's, and one that begins anew, says that the one before has ended well.
 *          No call costs more than the mappings that it ends, each of which was made.
 *          Memory that another process allocated has LIVE_BLOCK_NO_SUM for its sum.
 * Units    bytes; addresses and handles as the driver gives them.
 * Errors   false: not known, or no room, or too much of it.
 * Threads  none: the collector's.
 * Source   collector specification 2.3, "Virtual memory management"
 *
 * Invariants, asserted by physical_memory_check():
 *   1. a block has a handle in the table if and only if it has references;
 *   2. it has as many mappings as the tree of mappings says;
 *   3. a block without references and mappings is not there.
 */
#pragma once

#include "collector/live/live_table.h"
#include "collector/live/range_tree.h"

#define UNMAPPINGS_MAX      32  /* threads; a guess, as the next one */
#define UNMAPPING_NEWER_MAX 256 /* mappings that were made meanwhile where something is unmapped */

struct physical_block {
	uint64_t handle;
	uint64_t bytes;
	uint32_t sum; /* of its owner */
	uint32_t references;
	uint32_t mappings;
	uint32_t next; /* unused blocks: the next one */
};

/* What a thread is unmapping; an empty range: nothing. */
struct physical_unmapping {
	uint64_t start;
	uint64_t end;
	uint64_t begun; /* behind so many mappings */
	uint32_t tid;
};

struct physical_memory;

/* A block lives no longer. */
typedef void (*physical_freed)(struct physical_memory *memory, const struct physical_block *block);

struct physical_memory {
	struct budget *budget;
	physical_freed freed;
	struct live_table handles;  /* handle -> number of the block, in `sum` */
	struct range_tree mappings; /* addresses -> the same */
	struct physical_block *blocks;
	uint32_t count; /* used or not */
	uint32_t capacity;
	uint32_t unused;    /* the first one, or PHYSICAL_NONE */
	uint64_t map_count; /* since the start */
	struct physical_unmapping unmappings[UNMAPPINGS_MAX];
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

bool physical_memory_unmap(struct physical_memory *memory, uint32_t tid, uint64_t address,
                           uint64_t bytes);

enum unmap_outcome {
	UNMAP_DONE,
	UNMAP_FAILED
};

bool physical_memory_unmapped(struct physical_memory *memory, uint32_t tid,
                              enum unmap_outcome outcome);

/* Each block once; *cursor is 0 before the first; NULL behind the last. Its sum may change. */
struct physical_block *physical_memory_next(const struct physical_memory *memory, size_t *cursor);

void physical_memory_check(const struct physical_memory *memory);
