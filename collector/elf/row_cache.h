/*
 * The rows of the addresses that stacks pass through, which are few.
 *
 * Shape    a fixed table, sets of two; the older of a set makes room. Keyed by the number of
 *          a module, which is never used again, and the address in it: processes share rows,
 *          and a row cannot be wrong.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collector/elf/unwind_row.h"

#define ROW_CACHE_SETS 8192 /* of two rows: about 2 MB */

struct row_cache;

struct row_cache *row_cache_new(void) __attribute__((returns_nonnull));
void row_cache_free(struct row_cache *cache);
DEFINE_FREEP(row_cache)

/*
 * The row of an address: *out_known says whether it is there. When not, the returned place
 * is to be filled by the caller; `has_rule` of it tells addresses without a row.
 */
struct row_cache_entry {
	uint64_t address;
	uint32_t module; /* 0: empty */
	uint32_t has_rule;
	struct unwind_row row;
};

struct row_cache_entry *row_cache_find(struct row_cache *cache, uint32_t module, uint64_t address,
                                       bool *out_known);
