/*
 * Making one block: of the fresh rows of a family's hour, and of smaller blocks of it.
 *
 * Shape    everything is read in one visit, outside of the writer. A block that is full
 *          ends between groups where that is possible; what is left over is for the next
 *          one. Blocks of the hour are taken in when they are not much larger than what
 *          comes to them, so that many small ones do not stay, and a large one is not
 *          made anew for a few late profiles.
 * Errors   as storage/reader.h and storage/block_builder.h
 * Threads  none.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/block_exchange.h"
#include "storage/due_blocks.h"

struct budget;

/* What replaces what; everything is owned by it. */
struct compaction {
	struct arena *arena;
	struct block_exchange exchange;
	struct block_bodies bodies;
	bool is_full; /* fresh profiles are left for another block */
};

/* In a visit of the reader; compaction_fini() afterwards in any case. */
int compaction_make(struct reader *reader, const struct series_view *series,
                    const struct due_block *due, struct budget *budget, struct compaction *out,
                    struct error *err);
void compaction_fini(struct compaction *compaction);
