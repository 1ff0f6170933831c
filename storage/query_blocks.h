/*
 * The blocks of a window that a query wants, one after the other.
 *
 * Shape    those of the families that the runs belong to, within the query's hours.
 * Errors   as storage/block_table.h
 * Threads  the caller's.
 * Source   docs/formats/store.md, "Blocks"
 */
#pragma once

#include "storage/query_block.h"

typedef int (*query_block_visitor)(struct query *query, struct query_window *window,
                                   struct query_block *block, void *context, struct error *err);

/*
 * Calls visit for each block in which the runs of the range, which are of one part, may
 * have profiles.
 */
int query_blocks(struct query *query, struct query_window *window, struct query_range range,
                 query_block_visitor visit, void *context, struct error *err);
