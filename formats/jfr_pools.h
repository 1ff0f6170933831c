/*
 * The constants of a chunk: what events refer to by keys.
 *
 * Shape    one pass over the checkpoint records, from the header's along their chain,
 *          notes where each constant of the classes that matter stands; other classes are
 *          skipped by their fields. Constants are read when they are asked for, each time
 *          from their beginning, which may be long: who is asked often for one keeps what it
 *          says. Of two constants with one key the one that was met first counts: the chain
 *          leads from the newest record to older ones.
 * Units    places are bytes from the chunk's beginning.
 * Errors   ERROR_INVALID for records that are cut, do not fit their types, or whose chain
 *          comes back to where it was; arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_layout.h"

#define JFR_POOL_NONE UINT32_MAX

enum jfr_pool_class {
	JFR_POOL_STRING,
	JFR_POOL_SYMBOL,
	JFR_POOL_CLASS,
	JFR_POOL_METHOD,
	JFR_POOL_STACK_TRACE,
	JFR_POOL_THREAD_STATE,
	JFR_POOL_CLASSES,
};

/* The slots of constants. */
enum jfr_pool_slot {
	JFR_STRING_TEXT = 0,
	JFR_SYMBOL_TEXT = 0,
	JFR_CLASS_NAME = 0,  /* key of a symbol */
	JFR_METHOD_TYPE = 0, /* key of a class */
	JFR_METHOD_NAME = 1, /* key of a symbol */
	JFR_TRACE_FRAMES = 0,
	JFR_STATE_NAME = 0,
	/* of a stack trace's frames */
	JFR_FRAME_METHOD = 0, /* key */
	JFR_FRAME_LINE = 1,
	JFR_POOL_SLOTS = 2,
};

/* The constants of one class, in the order in which they were met. */
struct jfr_pool {
	uint32_t layout; /* or JFR_LAYOUT_NONE: the chunk does not know the class */
	uint64_t *keys;
	uint32_t *places;
	size_t count;
	size_t key_capacity;
	size_t place_capacity;

	/* entry + 1 by key when is_table, else by hash; 0: none */
	uint32_t *index;
	size_t index_length;
	bool is_table;
};

struct jfr_pools {
	const struct jfr_chunk *chunk;
	const struct jfr_layouts *layouts;
	struct arena *arena;
	uint64_t secret; /* of hashes */
	struct jfr_pool pools[JFR_POOL_CLASSES];
	struct str *texts; /* by entry of the strings' pool; no data: not asked for yet */
	uint32_t frame_layout;
	bool frames_are_numbers; /* compressed ones, and nothing else */
};

int jfr_pools_read(const struct jfr_chunk *chunk, struct jfr_layouts *layouts, struct arena *arena,
                   struct jfr_pools *out, struct error *err);

/* jfr_pools_find() by hash. */
uint32_t jfr_pools_find_hashed(const struct jfr_pools *pools, const struct jfr_pool *pool,
                               uint64_t key);

/* The entry with a key, or JFR_POOL_NONE. */
static inline uint32_t jfr_pools_find(const struct jfr_pools *pools, enum jfr_pool_class class,
                                      uint64_t key)
{
	const struct jfr_pool *pool = &pools->pools[class];

	if (!pool->is_table)
		return jfr_pools_find_hashed(pools, pool, key);
	return key < pool->index_length ? pool->index[key] - 1 : JFR_POOL_NONE;
}

/* The slots of an entry. */
void jfr_pools_get(const struct jfr_pools *pools, enum jfr_pool_class class, uint32_t entry,
                   uint64_t slots[static JFR_POOL_SLOTS]);

/*
 * The string that stands at a place (0: none) which a slot told, in UTF-8; what it refers
 * to when it is a key. False when the arena is full.
 */
bool jfr_pools_text(const struct jfr_pools *pools, uint64_t place, struct str *out);

/* The text of a symbol. False when the arena is full. */
bool jfr_pools_symbol(const struct jfr_pools *pools, uint32_t entry, struct str *out);

/* The frames of a stack trace, leaf first: a reader behind their count. */
struct jfr_reader jfr_pools_frames(const struct jfr_pools *pools, uint32_t trace,
                                   uint64_t *out_count);

/* Takes the slots of the next frame off a reader of frames. */
static inline bool jfr_pools_frame(const struct jfr_pools *pools, struct jfr_reader *reader,
                                   uint64_t slots[static JFR_POOL_SLOTS])
{
	slots[JFR_FRAME_METHOD] = slots[JFR_FRAME_LINE] = 0;
	if (pools->frames_are_numbers)
		return jfr_layout_read_numbers(pools->layouts, pools->frame_layout, reader, slots);
	return jfr_layout_read(pools->layouts, pools->frame_layout, reader, pools->chunk->bytes,
	                       slots);
}
