/*
 * What all parts of a block share: its limits, and ranges of its profiles.
 *
 * Shape    a block holds the profiles of some groups whose series stand for each other (one
 *          family) and that lie in one hour. Its profiles have an order, (group, time,
 *          seq), and are named by their place in it. Four bodies: heads (what is known of
 *          each profile), origins, sums (by group and stack), detail (every row).
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_PROFILES_MAX 8192                /* profiles of a block */
#define BLOCK_ROWS_MAX     (UINT32_C(1) << 20) /* rows of a block that has two profiles */
#define BLOCK_STACKS_MAX   (UINT32_C(1) << 26) /* stacks of its window: a table of them is kept */
#define BLOCK_VALUES_MAX   (UINT32_C(1) << 22) /* rows times series of such a one */

/* Profiles [first, end) of a block. Where there are many they ascend and do not meet. */
struct block_span {
	uint32_t first;
	uint32_t end;
};

/*
 * Whether a body may have so many rows. Columns of equal numbers take no bytes, so that the
 * limit of blocks bounds them; a profile that is alone in its block may have more, and then
 * its stacks take a bit each.
 */
static inline bool block_may_have_rows(uint64_t rows, size_t payload_bytes)
{
	return rows <= BLOCK_ROWS_MAX || (rows <= UINT32_MAX && rows / 8 <= payload_bytes);
}
